package dev.warmpath.router.prefix;

import static org.assertj.core.api.Assertions.assertThat;

import dev.warmpath.protocol.block.BlockHashChain;
import dev.warmpath.protocol.block.ExtraKeys;
import dev.warmpath.protocol.block.HashSettings;
import dev.warmpath.protocol.event.KeySetDigest;
import java.util.BitSet;
import java.util.Random;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;

class PrefixSearchTest {

    private static final int BLOCKS = 40;

    private final BlockHashChain chain = BlockHashChain.of(
            HashSettings.ofBlockSize(4), ExtraKeys.NONE, IntStream.range(0, 4 * BLOCKS).toArray());
    private final KeyTable table = new KeyTable();
    private final Guesses guesses = new Guesses();

    @Test
    void whatever_is_guessed_the_answer_is_what_is_held() {
        for (int ordinal = 0; ordinal < 5; ordinal++) {
            hold(ordinal, new int[] {20, 20, 25, 0, 40}[ordinal]);
        }
        for (int guess = 1; guess <= 50; guess++) {
            for (int second = 1; second <= 50; second++) {
                guesses.remember(mixedKey(0), guess);
                if (guess < BLOCKS) {
                    guesses.remember(mixedKey(guess), second);
                }
                HolderSteps steps = search(BLOCKS, 0, 1, 2, 3, 4);
                assertThat(IntStream.range(0, 5).map(steps::blocks)).containsExactly(20, 20, 25, 0, 40);
            }
        }
    }

    @Test
    void a_search_leaves_behind_how_long_the_runs_of_several_holders_were() {
        hold(0, 20);
        hold(1, 20);
        hold(2, 25);
        hold(3, 30);
        search(BLOCKS, 0, 1, 2, 3);

        assertThat(guesses.of(mixedKey(0))).isEqualTo(20);
        assertThat(guesses.of(mixedKey(20))).isEqualTo(5);
        assertThat(guesses.of(mixedKey(25))).as("of worker 3 alone").isEqualTo(Guesses.NO_GUESS);
        table.remove(mixedKey(19), 0);
        table.remove(mixedKey(19), 1);
        assertThat(search(BLOCKS, 0, 1, 2, 3).blocks(1)).isEqualTo(19);
        assertThat(guesses.of(mixedKey(0))).isEqualTo(19);
    }

    @Test
    void a_guess_is_another_keys_or_too_long_to_be_kept_or_right() {
        guesses.remember(5L << 20, 7);
        assertThat(guesses.of(5L << 20)).isEqualTo(7);
        assertThat(guesses.of(6L << 20)).isEqualTo(Guesses.NO_GUESS);
        guesses.remember(6L << 20, 1 << 20);
        assertThat(guesses.of(5L << 20)).isEqualTo(7);
    }

    /** Ordinals 64 to 67 are being loaded or wait for the sweep: they hold anything, and count for nobody. */
    @Test
    void sets_that_differ_in_ordinals_that_nobody_sees_make_no_difference() {
        var random = new Random(1);
        hold(0, 17);
        hold(1, 33);
        for (int i = 0; i < 100; i++) {
            table.add(mixedKey(random.nextInt(BLOCKS)), 64 + random.nextInt(4));
            HolderSteps steps = search(BLOCKS, 0, 1);
            assertThat(steps.blocks(0)).isEqualTo(17);
            assertThat(steps.blocks(1)).isEqualTo(33);
        }
    }

    @Test
    void a_worker_that_says_it_is_closed_and_is_not_misleads_nobody_and_ends_at_one_of_its_gaps() {
        var random = new Random(2);
        for (int round = 0; round < 2_000; round++) {
            var world = new PrefixSearchTest();
            int[] depths = random.ints(4, 0, BLOCKS + 1).toArray();
            for (int ordinal = 0; ordinal < 4; ordinal++) {
                world.hold(ordinal, depths[ordinal]);
            }
            var held = new BitSet();
            for (int i = 0; i < 30; i++) {
                int block = random.nextInt(BLOCKS);
                held.set(block);
                world.table.add(world.mixedKey(block), 4);
            }
            HolderSteps steps = world.search(BLOCKS, 0, 1, 2, 3, 4);

            assertThat(IntStream.range(0, 4).map(steps::blocks).toArray()).isEqualTo(depths);
            int blocks = steps.blocks(4);
            assertThat(held.get(blocks)).isFalse();
            assertThat(blocks == 0 || held.get(0) && held.get(blocks - 1)).isTrue();
        }
    }

    @Test
    void every_depth_is_found_at_every_limit_by_halving_and_by_walking() {
        for (int depth = 0; depth <= BLOCKS; depth++) {
            var world = new PrefixSearchTest();
            world.hold(0, depth);
            world.hold(1, depth / 2);
            for (int limit = 0; limit <= BLOCKS; limit++) {
                HolderSteps halved = world.search(limit, 0, 1);
                assertThat(halved.blocks(0)).isEqualTo(Math.min(depth, limit));
                assertThat(halved.blocks(1)).isEqualTo(Math.min(depth / 2, limit));
                HolderSteps walked = new PrefixSearch(world.table, world.guesses, chain, limit).walk(bits(0, 1));
                assertThat(walked.blocks(0)).isEqualTo(Math.min(depth, limit));
                assertThat(walked.blocks(1)).isEqualTo(Math.min(depth / 2, limit));
            }
        }
    }

    private HolderSteps search(int limit, int... ordinals) {
        return new PrefixSearch(table, guesses, chain, limit).searchClosed(bits(ordinals));
    }

    private void hold(int ordinal, int blocks) {
        for (int block = 0; block < blocks; block++) {
            table.add(mixedKey(block), ordinal);
        }
    }

    private long mixedKey(int block) {
        return KeySetDigest.mix(chain.key(block));
    }

    private static long[] bits(int... ordinals) {
        var bits = new BitSet();
        for (int ordinal : ordinals) {
            bits.set(ordinal);
        }
        return bits.toLongArray();
    }
}
