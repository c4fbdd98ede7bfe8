package dev.warmpath.worker.scheduler;

import static dev.warmpath.worker.scheduler.Requests.prompt;
import static dev.warmpath.worker.scheduler.Requests.request;
import static org.assertj.core.api.Assertions.assertThat;

import com.sun.management.ThreadMXBean;
import java.lang.management.ManagementFactory;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class SchedulerAllocationTest {

    private static final int SEQUENCES = 64;
    private static final int BLOCK_SIZE = 16;
    private static final int WINDOWS = 60;

    /** All sequences are equally long: between the moments when their own arrays grow there must be nothing at all. */
    @ParameterizedTest(name = "async {0}, {1} steps")
    @CsvSource({"false, 1", "true, 1", "false, 4", "true, 4"})
    void a_turn_allocates_nothing_while_everybody_decodes(boolean async, int steps) {
        var bean = (ThreadMXBean) ManagementFactory.getThreadMXBean();
        var settings = SchedulerSettings.of(4096, SEQUENCES, 128).withAsyncScheduling(async).withSteps(steps);
        var world = new SchedulerWorld(settings, 60_000, BLOCK_SIZE, 8_192);
        for (int i = 0; i < SEQUENCES; i++) {
            world.submit(request("r" + i, BLOCK_SIZE, prompt(30 * i, 40), 8_000));
        }
        int[] drawn = new int[SEQUENCES];
        int quiet = 0;
        for (int window = 0; window < WINDOWS; window++) {
            long before = bean.getCurrentThreadAllocatedBytes();
            for (int turn = 0; turn < BLOCK_SIZE; turn++) {
                turn(world.scheduler, drawn);
            }
            quiet += bean.getCurrentThreadAllocatedBytes() == before ? 1 : 0;
        }
        assertThat(quiet).as("windows of 16 turns without any allocation").isGreaterThan(WINDOWS / 2);
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
