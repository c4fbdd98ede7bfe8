package dev.warmpath.router.fleetlink.log;

import dev.warmpath.protocol.event.EventFormatException;
import dev.warmpath.protocol.fleet.FleetToken;
import dev.warmpath.protocol.fleet.Registration;
import dev.warmpath.protocol.redis.Checkpoint;
import dev.warmpath.protocol.redis.StreamId;
import dev.warmpath.router.fleet.Fleet;
import dev.warmpath.router.fleet.FleetWorker;
import dev.warmpath.router.fleet.RegistrationOutcome;
import dev.warmpath.router.metrics.RouterMetrics;
import dev.warmpath.router.prefix.KvEventApplier;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import tools.jackson.core.JacksonException;
import tools.jackson.databind.json.JsonMapper;

/**
 * Makes a router that begins to read Redis know, at once, whoever holds a lease there: registers it with the fleet
 * under the same checks as if it had come by itself, and gives its follower the checkpoint to begin with. Only the
 * fleet's token makes a lease good; only heartbeats prolong the one that the router has given.
 */
final class LeaseHolders {

    private static final Logger log = LoggerFactory.getLogger(LeaseHolders.class);

    private final Fleet fleet;
    private final Consumer<FleetWorker> newcomers;
    private final EventLog events;
    private final RouterMetrics metrics;
    private final FleetToken token;
    private final JsonMapper json;

    LeaseHolders(Fleet fleet, Consumer<FleetWorker> newcomers, EventLog events, RouterMetrics metrics,
            FleetToken token, JsonMapper json) {
        this.fleet = fleet;
        this.newcomers = newcomers;
        this.events = events;
        this.metrics = metrics;
        this.token = token;
        this.json = json;
    }

    /**
     * Looks one worker's lease and checkpoint up.
     *
     * @param maxBytes a longer checkpoint is not asked for: the worker is followed directly
     * @return the place behind which the worker's stream continues the checkpoint; null if none was handed out
     */
    @Nullable StreamId admit(RedisContents redis, String workerId, long epoch, long maxBytes) {
        FleetWorker known = fleet.worker(workerId, epoch);
        return offerCheckpoint(redis, known == null ? join(redis, workerId, epoch) : known, workerId, epoch, maxBytes);
    }

    private @Nullable FleetWorker join(RedisContents redis, String workerId, long epoch) {
        String lease = redis.lease(workerId, epoch);
        Registration registration = lease == null ? null : registration(lease, workerId, epoch);
        return registration == null ? null : register(registration);
    }

    private @Nullable StreamId offerCheckpoint(
            RedisContents redis, @Nullable FleetWorker worker, String workerId, long epoch, long maxBytes) {
        LogInbox inbox = worker == null ? null : events.inbox(workerId, epoch);
        if (worker == null || inbox == null || worker.events().position().sequence() != KvEventApplier.NO_SEQUENCE) {
            return null;
        }
        long bytes = redis.checkpointLength(workerId);
        if (bytes > maxBytes / 2) {                                // binary content counts a quarter more than its length
            log.warn("checkpoint of worker {} in Redis has {} bytes, this router's heap has room for {}: it is followed "
                    + "directly", workerId, bytes, maxBytes / 2);
            return null;
        }
        Checkpoint checkpoint = checkpoint(redis, workerId, epoch);
        if (checkpoint == null) {
            return null;
        }
        inbox.put(checkpoint.snapshot());
        return StreamId.parse(checkpoint.streamId());
    }

    private @Nullable Registration registration(String lease, String workerId, long epoch) {
        String text = token.open(lease);
        if (text == null) {
            log.warn("lease of worker {} epoch {} in Redis is not sealed with this fleet's token", workerId, epoch);
            return null;
        }
        try {
            Registration registration = json.readValue(text, Registration.class);
            if (registration != null && workerId.equals(registration.workerId()) && epoch == registration.epoch()) {
                return registration;
            }
            log.warn("lease of worker {} epoch {} in Redis is somebody else's: {}", workerId, epoch, registration);
        } catch (JacksonException e) {
            log.warn("lease of worker {} epoch {} in Redis is no registration: {}", workerId, epoch,
                    e.getOriginalMessage());
        }
        return null;
    }

    private @Nullable FleetWorker register(Registration registration) {
        return switch (fleet.register(registration)) {
            case RegistrationOutcome.Refused(var _, var _) -> null;
            case RegistrationOutcome.Accepted(var worker, var isNew) -> {
                if (isNew) {
                    newcomers.accept(worker);
                }
                yield worker;
            }
        };
    }

    private @Nullable Checkpoint checkpoint(RedisContents redis, String workerId, long epoch) {
        try {
            Checkpoint checkpoint = redis.checkpoint(workerId);
            return checkpoint == null || checkpoint.snapshot().epoch() != epoch
                    || !checkpoint.snapshot().workerId().equals(workerId) ? null : checkpoint;
        } catch (EventFormatException e) {
            metrics.batchRejected();
            log.warn("checkpoint of worker {} in Redis cannot be used: {}", workerId, e.getMessage());
            return null;
        }
    }
}
