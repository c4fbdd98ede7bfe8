package dev.warmpath.planner.simulation;

import dev.warmpath.protocol.block.BlockHashChain;
import dev.warmpath.protocol.block.HashSettings;
import dev.warmpath.protocol.event.KvEventBatch;
import dev.warmpath.protocol.fleet.Heartbeat;
import dev.warmpath.protocol.fleet.ModelDescription;
import dev.warmpath.protocol.fleet.Protocol;
import dev.warmpath.protocol.fleet.Registration;
import dev.warmpath.protocol.fleet.RevisionParts;
import dev.warmpath.protocol.fleet.RouterId;
import dev.warmpath.router.fleet.Fleet;
import dev.warmpath.router.fleet.FleetWorker;
import dev.warmpath.router.fleet.RegistrationCheck;
import dev.warmpath.router.fleet.RegistrationOutcome;
import dev.warmpath.router.models.ServedModel;
import dev.warmpath.router.prefix.ApplyOutcome;
import dev.warmpath.router.prefix.PrefixIndex;
import dev.warmpath.router.routing.RequestRouter;
import dev.warmpath.router.routing.RouteResult;
import dev.warmpath.router.routing.RouteResult.Placed;
import dev.warmpath.router.routing.RoutingPolicy;
import dev.warmpath.router.routing.TokenizedPrompt;
import dev.warmpath.tokenization.ModelFiles;
import dev.warmpath.tokenization.ModelTokenizer;
import java.net.URI;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.time.Instant;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Set;

/** A router's real fleet, index and books, over a policy. What it is told comes when it is told. */
final class SimulatedRouter {

    private static final String MODEL = "simulated";
    private static final ModelTokenizer TOKENIZER = new ModelTokenizer(new ModelFiles("""
            {"version": "1.0", "added_tokens": [], "model": {"type": "BPE", "vocab": {"a": 0}, "merges": []}}
            """.getBytes(StandardCharsets.UTF_8), "{}".getBytes(StandardCharsets.UTF_8), null, null));

    private final RouterId id;
    private final PrefixIndex index = new PrefixIndex();
    private final Fleet fleet;
    private final RequestRouter router;
    private final Map<String, FleetWorker> members = new HashMap<>();
    private final ServedModel model;

    SimulatedRouter(List<SimulatedWorker> workers, SimulatedFleet.Settings settings, HashSettings hashing,
            RoutingPolicy policy, Timeline timeline, RouterId id) {
        this.id = id;
        fleet = new Fleet(index, new RegistrationCheck(true, () -> Instant.EPOCH.plusNanos(timeline.nanos())),
                Duration.ofDays(365), workers.size(), timeline::nanos, _ -> true);
        router = new RequestRouter(fleet, index, policy, timeline::nanos, id);
        String none = "0".repeat(64);
        var parts = new RevisionParts(none, none, none, none, none, hashing.algorithm(), hashing.seed(),
                hashing.blockSize(), settings.contextLength());
        var description = new ModelDescription(MODEL, parts.revision(), parts, 0, settings.contextLength());
        for (SimulatedWorker worker : workers) {
            var registration = new Registration(Protocol.VERSION, worker.id(), SimulatedWorker.EPOCH,
                    URI.create("http://127.0.0.1:1"), description, settings.blockCount(), settings.maxSequences(),
                    true);
            if (!(fleet.register(registration) instanceof RegistrationOutcome.Accepted(FleetWorker member, _))) {
                throw new IllegalStateException(worker.id() + " is refused");
            }
            members.put(worker.id(), member);
            apply(worker.emptySnapshot());
            fleet.indexed(member);
        }
        fleet.modelLoaded(description.revision(), TOKENIZER);
        model = Objects.requireNonNull(fleet.model(MODEL));
    }

    RouterId id() {
        return id;
    }

    /** @param tokens only read, as is their chain */
    Placed place(int[] tokens, BlockHashChain chain) {
        RouteResult result = router.route(new TokenizedPrompt(model, tokens, chain), Set.of());
        if (result instanceof Placed placed) {
            return placed;
        }
        throw new IllegalStateException("not placed: " + result);
    }

    void apply(KvEventBatch batch) {
        ApplyOutcome outcome = Objects.requireNonNull(members.get(batch.workerId())).events().apply(batch);
        if (!(outcome instanceof ApplyOutcome.Applied)) {
            throw new IllegalStateException("a batch of " + batch.workerId() + " is not applied: " + outcome);
        }
    }

    void hear(Heartbeat heartbeat) {
        fleet.heartbeat(heartbeat);
    }
}
