package dev.warmpath.worker.foreign.event;

import java.time.Duration;
import java.util.concurrent.TimeUnit;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Whether somebody is there who can send events, and the line in the log that says so. ZeroMQ itself is silent about an
 * address at which nobody is, or somebody who speaks otherwise: it tries again for ever. A connection counts from when
 * the other end has spoken as ZeroMQ does. That there is none is said once it has lasted, and then once when there is;
 * one that comes and goes is told of once, at its first.
 */
final class EventConnection {

    /** Longer than ZeroMQ takes to connect again, shorter than anybody waits for an explanation. */
    static final Duration PATIENCE = Duration.ofSeconds(30);

    private static final Logger LOG = LoggerFactory.getLogger(EventConnection.class);

    private final String endpoint;
    private final long patienceNanos;
    private boolean there;
    private boolean wasThere;
    private long sinceNanos;
    private boolean missed;

    EventConnection(String endpoint, Duration patience, long nowNanos) {
        this.endpoint = endpoint;
        this.patienceNanos = patience.toNanos();
        this.sinceNanos = nowNanos;
    }

    boolean isThere() {
        return there;
    }

    void made() {
        if (missed) {
            LOG.warn("the engine's events at {} are followed again", endpoint);
        } else if (!wasThere) {
            LOG.info("connected to the engine's events at {}", endpoint);
        }
        there = true;
        wasThere = true;
        missed = false;
    }

    void lost(long nowNanos) {
        if (there) {
            there = false;
            sinceNanos = nowNanos;
        }
    }

    /** To be called now and then, at the latest when {@link #nanosUntilMissed} have passed. */
    void look(long nowNanos) {
        if (nanosUntilMissed(nowNanos) <= 0) {
            missed = true;
            LOG.warn("no engine's events can be reached at {} for {} s: routers are told nothing new of its cache. "
                    + "Look whether the engine runs and was started with --kv-events-config, with "
                    + "\"publisher\":\"zmq\" and this endpoint, and whether warmpath.engine.events.endpoint is set to "
                    + "another one",
                    endpoint, TimeUnit.NANOSECONDS.toSeconds(nowNanos - sinceNanos));
        }
    }

    /** @return {@link Long#MAX_VALUE} while there is nothing to be said */
    long nanosUntilMissed(long nowNanos) {
        return there || missed ? Long.MAX_VALUE : sinceNanos + patienceNanos - nowNanos;
    }
}
