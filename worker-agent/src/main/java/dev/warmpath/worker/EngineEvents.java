package dev.warmpath.worker;

import dev.warmpath.protocol.block.HashSettings;
import dev.warmpath.protocol.generate.GenerateRequest;
import dev.warmpath.worker.foreign.event.AssumedBlocks;
import dev.warmpath.worker.foreign.event.EventCounts;
import dev.warmpath.worker.foreign.event.EventSource;
import dev.warmpath.worker.foreign.event.EventSubscription;
import dev.warmpath.worker.foreign.generate.EngineFacts;
import dev.warmpath.worker.foreign.generate.EngineKind;
import dev.warmpath.worker.foreign.generate.KnownCache;
import dev.warmpath.worker.routerlink.KvEventPublisher;
import java.util.Objects;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * What is known of the cache of an engine that this worker stands beside, on the way to routers: what it tells, or else
 * what it was sent.
 */
final class EngineEvents implements AutoCloseable {

    private static final Logger log = LoggerFactory.getLogger(EngineEvents.class);

    private final @Nullable EventSubscription subscription;
    private final int blockCount;
    private final boolean assumed;
    private final KnownCache cache;
    private final Runnable whenRestarted;

    private EngineEvents(@Nullable EventSubscription subscription, int blockCount, boolean assumed,
            KnownCache cache, Runnable whenRestarted) {
        this.subscription = subscription;
        this.blockCount = blockCount;
        this.assumed = assumed;
        this.cache = cache;
        this.whenRestarted = whenRestarted;
    }

    /**
     * Follows the engine, if it publishes events.
     * @throws SettingsException if what is set for that cannot be
     */
    static EngineEvents follow(EngineProperties properties, EngineFacts engine, HashSettings hash,
            KvEventPublisher publisher) {
        EngineFacts.Cache cache = engine.cache();
        int blocks = cache == null ? properties.assumedBlocks() : cache.blockCount() - 1;
        if (cache != null && !cache.reusesPrefixes()) {
            log.warn("the engine reuses no prefixes: routers send requests here by load alone");
            return new EngineEvents(null, blocks, /* assumed */ false, _ -> 0, () -> { });
        }
        EventSource source = source(properties, engine);
        if (source == null) {
            int assumed = Math.min(blocks, properties.assumedBlocks());
            log.warn("the engine tells nothing of its cache: that it holds the last {} blocks that it was sent is "
                    + "assumed, and routers are told so. {}", assumed, advice(engine.kind()));
            var sent = new AssumedBlocks(hash, assumed, publisher::publish);
            return new EngineEvents(null, blocks, /* assumed */ true, new KnownCache() {
                @Override
                public int expectedTokens(GenerateRequest request) {
                    return sent.expectedTokens(request);
                }

                @Override
                public int sent(GenerateRequest request) {
                    return sent.sent(request);
                }
            }, sent::clear);
        }
        if (source.replayEndpoint() == null) {
            log.warn("the engine keeps no events to be told again: what it holds is known from now on only, and after "
                    + "a gap anew");
        }
        if (cache == null) {
            throw new SettingsException("the engine's events cannot be followed: it does not tell how many blocks of "
                    + "how many tokens it has", "Have it tell its metrics (no --disable-log-stats), or leave "
                    + "warmpath.engine.events.endpoint unset");
        }
        log.info("following the engine's events at {}", source);
        try {
            return new EngineEvents(new EventSubscription(source, hash, blocks + 1, publisher::publish), blocks,
                    /* assumed */ false, new HeldPrefix(publisher, hash)::tokens, /* its events tell */ () -> { });
        } catch (IllegalArgumentException e) {
            throw new SettingsException("the engine's events cannot be followed: " + e.getMessage(),
                    "Set warmpath.engine.events.endpoint, and replay-endpoint");
        }
    }

    private static String advice(EngineKind kind) {
        return switch (kind) {
            case VLLM, SGLANG -> "To have it told, start the engine with --kv-events-config "
                    + "'{\"enable_kv_cache_events\":true,\"publisher\":\"zmq\", …}'; if it was, set "
                    + "warmpath.engine.events.endpoint: not every release says where its events are. "
                    + "docs/engines.md has the whole flag";
            case OPENAI -> "No flag changes that; docs/engines.md has the engines that tell";
        };
    }

    /**
     * Where they are: as it is set, or else as the engine says.
     *
     * @return null if it publishes none, or does not say where
     * @throws SettingsException if nobody can connect there, or it is not known which one is meant
     */
    static @Nullable EventSource source(EngineProperties properties, EngineFacts engine) {
        try {
            return sourceOf(properties, engine);
        } catch (IllegalArgumentException e) {
            throw new SettingsException("the engine's events cannot be followed: " + e.getMessage(),
                    "Set warmpath.engine.events.endpoint, and replay-endpoint");
        }
    }

    private static @Nullable EventSource sourceOf(EngineProperties properties, EngineFacts engine) {
        EngineProperties.Events set = properties.events();
        if (properties.rank() == null && engine.eventSources().size() > 1) {
            throw new SettingsException("the engine has " + engine.eventSources().size() + " ranks, each with a cache "
                    + "of its own", "Start a worker for each, and set warmpath.engine.rank from 0 on");
        }
        EngineFacts.EventSource told = engine.eventSources().get(properties.rank() == null ? 0 : properties.rank());
        if (set.endpoint() == null && told == null) {
            return null;
        }
        String host = Objects.requireNonNull(properties.url()).getHost();
        String endpoint = set.endpoint() != null ? set.endpoint() : reachable(told.endpoint(), host);
        String replay = set.replayEndpoint() != null ? set.replayEndpoint()
                : set.endpoint() != null || told.replayEndpoint() == null ? null
                : reachable(told.replayEndpoint(), host);
        String topic = set.topic() != null ? set.topic() : set.endpoint() != null ? "" : told.topic();
        return new EventSource(endpoint, replay, topic, EventSource.DEFAULT_REPLAY_PATIENCE);
    }

    /** What is bound at every address is reached where the engine's HTTP server is. */
    private static String reachable(String bound, String host) {
        return bound.replaceFirst("^tcp://(\\*|0\\.0\\.0\\.0|\\[::])(?=:)", "tcp://" + host);
    }

    /** Blocks of its cache that can hold tokens, or as many as it is taken to have. */
    int blockCount() {
        return blockCount;
    }

    /** What routers are told of, as far as the engine's requests are concerned. */
    KnownCache cache() {
        return cache;
    }

    /** The engine was started anew, with an empty cache. */
    void engineRestarted() {
        whenRestarted.run();
    }

    /** Whether what routers are told is what the engine was sent, and not what it told. */
    boolean isAssumed() {
        return assumed;
    }

    /** Whether what it tells can come now. While it cannot, routers go on by what it told last. */
    boolean isFollowing() {
        return subscription != null && subscription.isAlive() && subscription.isConnected();
    }

    EventCounts counts() {
        return subscription == null ? EventCounts.NONE : subscription.counts();
    }

    @Override
    public void close() {
        if (subscription != null) {
            subscription.close();
        }
    }
}
