package dev.warmpath.router.prefix;

import static org.assertj.core.api.Assertions.assertThat;

import dev.warmpath.protocol.block.BlockHashChain;
import dev.warmpath.protocol.block.ExtraKeys;
import dev.warmpath.protocol.block.HashSettings;
import dev.warmpath.protocol.event.BlockChange;
import dev.warmpath.protocol.event.KeySet;
import dev.warmpath.protocol.event.KvEventBatch;
import dev.warmpath.protocol.event.Medium;
import java.util.Arrays;
import java.util.List;
import java.util.Objects;
import java.util.Random;
import java.util.concurrent.Callable;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;

/** Matches while others write: no answer may be one that no moment of the match could have given. */
class PrefixIndexReadersTest {

    private static final int BLOCKS = 300;
    private static final int CHANGES = 400;
    private static final int MOVES = 50_000;
    private static final int WALKED_BLOCKS = 80;

    private final BlockHashChain chain = BlockHashChain.of(HashSettings.ofBlockSize(4), ExtraKeys.NONE,
            new Random(3).ints(4L * BLOCKS, 0, 1 << 20).toArray());
    private final PrefixIndex index = new PrefixIndex();
    private final AtomicBoolean quiet = new AtomicBoolean();

    /** Holds between {@code least} and {@code most} blocks of the chain at any time, and others to fill the tables. */
    private final class Writer implements Callable<Integer> {
        final int least;
        final int most;
        final WorkerKeys keys = index.add(100_000, true);
        final KvEventApplier applier = new KvEventApplier("w", 1, keys);
        final KeySet set = new KeySet();
        long sequence;

        Writer(int least, int most) {
            this.least = least;
            this.most = most;
            apply(true, stored(0, least));
        }

        /** @return blocks held in the end */
        @Override
        public Integer call() {
            var random = new Random(least);
            int held = least;
            for (int i = 0; i < CHANGES; i++) {
                int next = least + random.nextInt(most - least + 1);
                apply(false, next > held ? stored(held, next) : removed(held, next));
                held = next;
                long[] others = random.longs(40).toArray();
                apply(false, new BlockChange.Stored(Medium.DEVICE, others));
                apply(false, new BlockChange.Removed(Medium.DEVICE, others));
                if (i % 100 == 0) {
                    apply(true, new BlockChange.Stored(Medium.DEVICE, set.toArray()));
                    index.sweep();
                }
            }
            return held;
        }

        private void apply(boolean snapshot, BlockChange change) {
            set.apply(change);
            sequence += snapshot ? 0 : 1;
            assertThat(applier.apply(new KvEventBatch("w", 1, sequence, snapshot, List.of(change), set.size(),
                    set.digest()))).isInstanceOf(ApplyOutcome.Applied.class);
        }
    }

    @Test
    void every_answer_lies_between_the_bounds_and_is_exact_when_all_is_quiet() throws Exception {
        List<Writer> writers = Stream.of(new Writer(5, 5), new Writer(10, 290), new Writer(100, 120),
                new Writer(0, 300), new Writer(300, 300)).toList();
        try (var threads = Executors.newCachedThreadPool()) {
            List<Future<Long>> readers = Stream.of(1, 2).map(_ -> threads.submit(() -> read(writers))).toList();
            List<Future<Integer>> ends = writers.stream().map(threads::submit).toList();
            int[] held = new int[writers.size()];
            for (int i = 0; i < held.length; i++) {
                held[i] = ends.get(i).get();
            }
            quiet.set(true);
            index.checkIntegrity();
            for (Future<Long> reader : readers) {
                assertThat(reader.get()).isPositive();
            }
            PrefixMatch match = index.match(chain, BLOCKS);
            assertThat(writers.stream().mapToInt(writer -> match.blocks(writer.keys)).toArray()).isEqualTo(held);
        }
    }

    /**
     * A worker whose depth moves by one block at a time. What has been done before a match and what was begun before
     * its end bound the answer: with nothing between, it is exact.
     */
    private final class Walker implements Callable<Integer> {
        final int[] depths;
        final AtomicInteger begun = new AtomicInteger();
        final AtomicInteger done = new AtomicInteger();
        final WorkerKeys keys;

        Walker(int seed, boolean closed) {
            keys = index.add(BLOCKS, closed);
            depths = new int[MOVES];
            var random = new Random(seed);
            for (int i = 1; i < MOVES; i++) {
                int step = depths[i - 1] == 0 ? 1 : depths[i - 1] == WALKED_BLOCKS ? -1 : 2 * random.nextInt(2) - 1;
                depths[i] = depths[i - 1] + step;
            }
            keys.apply(new KvEventBatch("w", 1, 0, true, List.of(), 0, 0));
        }

        @Override
        public Integer call() {
            Copy copy = Objects.requireNonNull(keys.visible());
            for (int i = 1; i < MOVES; i++) {
                long[] key = {chain.key(Math.min(depths[i - 1], depths[i]))};
                begun.set(i);
                if (depths[i] > depths[i - 1]) {
                    index.add(copy, key, BLOCKS);
                } else {
                    index.remove(copy, key);
                }
                done.set(i);
            }
            return depths[MOVES - 1];
        }

        void check(int doneBefore, int answer) {
            int[] possible = Arrays.copyOfRange(depths, doneBefore, begun.get() + 1);
            assertThat(answer).isBetween(Arrays.stream(possible).min().orElseThrow(),
                    Arrays.stream(possible).max().orElseThrow());
        }
    }

    /** Beside them, others make and drop sets of holders, so that ids are given away again, are reloaded and swept. */
    @Test
    void each_answer_is_one_that_some_moment_of_the_match_could_have_given() throws Exception {
        List<Walker> walkers = List.of(new Walker(1, true), new Walker(2, true), new Walker(3, true),
                new Walker(4, false));
        List<Writer> writers = List.of(new Writer(10, 290), new Writer(64, 64));
        try (var threads = Executors.newCachedThreadPool()) {
            List<Future<Integer>> ends =
                    Stream.concat(walkers.stream(), writers.stream()).map(threads::submit).toList();
            Future<Long> reader = threads.submit(() -> {
                long matches = 0;
                while (!quiet.get() || matches == 0) {
                    int[] done = walkers.stream().mapToInt(walker -> walker.done.get()).toArray();
                    PrefixMatch match = index.match(chain, BLOCKS);
                    for (int i = 0; i < done.length; i++) {
                        walkers.get(i).check(done[i], match.blocks(walkers.get(i).keys));
                    }
                    assertThat(match.blocks(writers.getLast().keys)).isEqualTo(64);
                    matches++;
                }
                return matches;
            });
            for (Future<Integer> end : ends) {
                end.get();
            }
            quiet.set(true);
            assertThat(reader.get()).isPositive();
            index.checkIntegrity();
        }
    }

    private long read(List<Writer> writers) {
        long matches = 0;
        while (!quiet.get() || matches == 0) {
            PrefixMatch match = index.match(chain, BLOCKS);
            for (Writer writer : writers) {
                assertThat(match.blocks(writer.keys)).isBetween(writer.least, writer.most);
            }
            matches++;
            Thread.yield();
        }
        return matches;
    }

    private BlockChange stored(int from, int to) {
        return new BlockChange.Stored(Medium.DEVICE, IntStream.range(from, to).mapToLong(chain::key).toArray());
    }

    private BlockChange removed(int from, int to) {
        long[] keys = IntStream.range(to, from).map(i -> from - 1 - (i - to)).mapToLong(chain::key).toArray();
        return new BlockChange.Removed(Medium.DEVICE, keys);
    }
}
