package dev.warmpath.worker.scheduler;

import static dev.warmpath.worker.scheduler.Requests.prompt;
import static org.assertj.core.api.Assertions.assertThat;

import org.junit.jupiter.api.Test;

/** The numerator and denominator of {@code warmpath.kv.fragmentation}, small enough to count by hand. */
class FragmentationTest {

    @Test
    void only_the_tails_of_last_blocks_are_unused() {
        var world = new SchedulerWorld(SchedulerSettings.of(64, 4, 8), /* blockCount */ 20, /* blockSize */ 4, 64);
        Sequence[] ab = world.submit(prompt(0, 5), prompt(1000, 10));
        assertThat(world.scheduler.unusedSlots()).as("nobody runs").isZero();

        world.step();
        assertThat(usedSlots(world)).as("5 tokens in 2 blocks, 10 in 3").isEqualTo(20);
        assertThat(world.scheduler.unusedSlots()).as("3 and 2").isEqualTo(5);

        world.step();
        assertThat(usedSlots(world)).isEqualTo(20);
        assertThat(world.scheduler.unusedSlots()).as("each has stored one token more").isEqualTo(3);

        world.scheduler.cancel(ab[0]);
        assertThat(usedSlots(world)).as("3 blocks are left").isEqualTo(12);
        assertThat(world.scheduler.unusedSlots()).as("11 tokens in them").isEqualTo(1);
    }

    @Test
    void a_shared_prefix_is_full_and_leaves_nothing_unused() {
        var world = new SchedulerWorld(SchedulerSettings.of(64, 4, 8), 20, 4, 64);
        world.submit(prompt(0, 9), prompt(0, 10));
        world.step();

        assertThat(usedSlots(world)).as("2 blocks for both, and a last one each").isEqualTo(16);
        assertThat(world.scheduler.unusedSlots()).as("3 behind the ninth token, 2 behind the tenth").isEqualTo(5);
    }

    private static int usedSlots(SchedulerWorld world) {
        return (world.cache.usableBlocks() - world.cache.freeBlocks()) * world.blockSize;
    }
}
