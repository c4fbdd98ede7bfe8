package dev.warmpath.router.routing;

import static dev.warmpath.router.fleet.TestWorkers.CHECK;
import static dev.warmpath.router.fleet.TestWorkers.MODEL;
import static dev.warmpath.router.fleet.TestWorkers.TOKENIZER;
import static dev.warmpath.router.fleet.TestWorkers.registration;
import static org.assertj.core.api.Assertions.assertThat;

import dev.warmpath.protocol.block.BlockHashChain;
import dev.warmpath.protocol.event.BlockChange;
import dev.warmpath.protocol.event.BlockChange.Stored;
import dev.warmpath.protocol.event.KeySet;
import dev.warmpath.protocol.event.KvEventBatch;
import dev.warmpath.protocol.event.Medium;
import dev.warmpath.protocol.fleet.Heartbeat;
import dev.warmpath.protocol.fleet.Registration;
import dev.warmpath.router.fleet.Fleet;
import dev.warmpath.router.fleet.FleetWorker;
import dev.warmpath.router.fleet.RegistrationOutcome;
import dev.warmpath.router.health.HealthState;
import dev.warmpath.router.models.ServedModel;
import dev.warmpath.router.prefix.PrefixIndex;
import dev.warmpath.router.routing.RouteResult.Placed;
import java.time.Duration;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Random;
import org.junit.jupiter.api.BeforeEach;

/** A fleet of two workers a and b: 1,000 blocks of 16 tokens and 8 sequences each, on a clock that the test sets. */
abstract class TwoWorkers {

    long now;
    final PrefixIndex index = new PrefixIndex();
    final Fleet fleet = new Fleet(index, CHECK, Duration.ofDays(1), 10, () -> now, _ -> false);
    private final Map<FleetWorker, KeySet> announced = new HashMap<>();
    private final Random random = new Random(11);
    FleetWorker a;
    FleetWorker b;
    ServedModel model;

    @BeforeEach
    void two_workers_are_ready() {
        a = ready("a");
        b = ready("b");
        fleet.modelLoaded(MODEL.revision(), TOKENIZER);
        model = Objects.requireNonNull(fleet.model("tiny"));
    }

    void two_workers_are_there_anew() {
        fleet.everyone().forEach(worker -> fleet.remove(worker, "it goes"));
        announced.clear();
        two_workers_are_ready();
    }

    FleetWorker ready(String id) {
        return ready(registration(id, 1));
    }

    FleetWorker ready(Registration registration) {
        FleetWorker worker = joining(registration);
        announced.put(worker, new KeySet());
        worker.events().apply(new KvEventBatch(worker.id(), 1, 0, true, List.of(), 0, 0));
        fleet.indexed(worker);
        return worker;
    }

    /** Not in the index yet. */
    FleetWorker joining(Registration registration) {
        return ((RegistrationOutcome.Accepted) fleet.register(registration)).worker();
    }

    void eject(FleetWorker worker) {
        for (int i = 0; i < 7; i++) {
            worker.health().failed("worker_lost", now, now);
        }
        assertThat(worker.health().state(now)).isEqualTo(HealthState.EJECTED);
    }

    /** The worker announces all full blocks of it. */
    void compute(FleetWorker worker, int[] tokens) {
        BlockHashChain chain = prompt(tokens).chain();
        long[] keys = new long[chain.blockCount()];
        for (int i = 0; i < keys.length; i++) {
            keys[i] = chain.key(i);
        }
        announce(worker, new Stored(Medium.DEVICE, keys));
    }

    void forgetAll(FleetWorker worker) {
        announce(worker, new BlockChange.Cleared());
    }

    private void announce(FleetWorker worker, BlockChange change) {
        KeySet keys = Objects.requireNonNull(announced.get(worker));
        keys.apply(change);
        worker.events().apply(new KvEventBatch(worker.id(), 1, worker.events().position().sequence() + 1, false,
                List.of(change), keys.size(), keys.digest()));
    }

    /** A heartbeat of an idle worker. @param missing batches that it has published and that have not come */
    void hear(FleetWorker worker, int missing) {
        KeySet keys = Objects.requireNonNull(announced.get(worker));
        fleet.heartbeat(new Heartbeat(worker.id(), 1, 0, 0, 1_000, 0, worker.events().position().sequence() + missing,
                keys.size(), keys.digest()));
    }

    static void finish(Placed placed) {
        placed.inFlight().firstToken();
        placed.inFlight().close();
    }

    TokenizedPrompt prompt(int[] tokens) {
        return TokenizedPrompt.of(model, tokens);
    }

    int[] randomTokens(int count) {
        return random.ints(count, 0, 500).toArray();
    }
}
