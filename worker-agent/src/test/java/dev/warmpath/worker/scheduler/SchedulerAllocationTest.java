package dev.warmpath.worker.scheduler;

import static dev.warmpath.worker.scheduler.Requests.prompt;
import static dev.warmpath.worker.scheduler.Requests.request;
import static org.assertj.core.api.Assertions.assertThat;

import com.sun.management.ThreadMXBean;
import java.lang.management.ManagementFactory;
import java.util.BitSet;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class SchedulerAllocationTest {

    private static final int SEQUENCES = 64;
    private static final int BLOCK_SIZE = 16;
    private static final int BLOCKS = 20_000;
    private static final int TURNS = 960;
    private static final int WARM_UP_TURNS = 40;
    /** Worlds that do the same: what the virtual machine allocates for itself happens once, and never in all of them. */
    private static final int WORLDS = 3;

    /**
     * All sequences are equally long, so that what they grow by is allocated in the same turns; in all others there must
     * be nothing at all. With {@code waits}, one stands in the queue that is tried in every turn and finds no blocks.
     *
     * @param hashGrowths turns in which the hashes of 25 blocks double, on the way to 87 or 267
     */
    @ParameterizedTest(name = "async {0}, {1} steps, {2}, one waits in vain: {3}")
    @CsvSource({
        "false, 1, FCFS, false, 1", "true, 1, FCFS, false, 1", "false, 4, FCFS, false, 3", "true, 4, FCFS, false, 3",
        "false, 1, FCFS, true, 1", "true, 1, PRIORITY, true, 1", "false, 4, PRIORITY, false, 3"
    })
    void a_turn_allocates_nothing_but_what_the_sequences_grow_by(
            boolean async, int steps, SchedulingPolicy policy, boolean waits, int hashGrowths) {
        BitSet loud = loudTurns(async, steps, policy, waits);
        for (int world = 1; world < WORLDS; world++) {
            loud.and(loudTurns(async, steps, policy, waits));
        }
        assertThat(loud.cardinality()).as("turns of 960 that allocated though no sequence's tokens or table grew")
                .isEqualTo(hashGrowths);
    }

    private static BitSet loudTurns(boolean async, int steps, SchedulingPolicy policy, boolean waits) {
        var bean = (ThreadMXBean) ManagementFactory.getThreadMXBean();
        var settings = SchedulerSettings.of(/* maxBatchedTokens */ 40_000, 2 * SEQUENCES, 8).withPolicy(policy)
                .withAsyncScheduling(async).withSteps(steps);
        var world = new SchedulerWorld(settings, BLOCKS, BLOCK_SIZE, /* contextLength */ 310_000);
        var sequences = new Sequence[SEQUENCES];
        for (int i = 0; i < SEQUENCES; i++) {
            sequences[i] = world.submit(request("r" + i, BLOCK_SIZE, prompt(1_000 * i, 400), 8_000));
        }
        int[] drawn = new int[2 * SEQUENCES];
        for (int turn = 0; turn < WARM_UP_TURNS; turn++) {
            if (turn == 2 && waits) {
                // 18,689 of 19,999 blocks, of which more than 1,600 are held
                world.submit(request("in vain", BLOCK_SIZE, prompt(90_000, 299_000), 8));
            }
            turn(world.scheduler, drawn);
        }

        var loudTurns = new BitSet(TURNS);
        for (int turn = 0; turn < TURNS; turn++) {
            world.cache.drainChanges(); // or the log would grow, too
            long placesBefore = places(sequences);
            long before = bean.getCurrentThreadAllocatedBytes();
            turn(world.scheduler, drawn);
            boolean loud = bean.getCurrentThreadAllocatedBytes() != before;
            loudTurns.set(turn, loud && places(sequences) == placesBefore);
        }

        assertThat(world.scheduler.runningCount()).isEqualTo(SEQUENCES);
        assertThat(world.scheduler.waitingCount()).isEqualTo(waits ? 1 : 0);
        return loudTurns;
    }

    private static long places(Sequence[] sequences) {
        long places = 0;
        for (Sequence sequence : sequences) {
            places += sequence.tokens().tokens().length + sequence.tokens().table().blocks().length;
        }
        return places;
    }

    private static void turn(Scheduler scheduler, int[] drawn) {
        scheduler.schedule(0);
        if (scheduler.mayWorkAhead()) {
            return;
        }
        ScheduledBatch oldest = scheduler.oldestInFlight();
        for (int step = 0; step < oldest.stepCount(); step++) {
            scheduler.settle(oldest, drawn);
        }
    }
}
