package dev.warmpath.router.prefix;

import static org.assertj.core.api.Assertions.assertThat;

import dev.warmpath.protocol.block.BlockHashChain;
import dev.warmpath.protocol.block.ExtraKeys;
import dev.warmpath.protocol.block.HashSettings;
import dev.warmpath.protocol.event.BlockChange;
import dev.warmpath.protocol.event.KeySet;
import dev.warmpath.protocol.event.KvEventBatch;
import dev.warmpath.protocol.event.Medium;
import dev.warmpath.router.prefix.ApplyOutcome.Applied;
import java.util.ArrayList;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Random;
import java.util.Set;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** Workers come, go, store, evict and are reloaded at random; the index must answer as their sets do. */
class PrefixIndexModelTest {

    private static final int BLOCKS = 60;
    private static final int MOST_WORKERS = 70;

    private final PrefixIndex index = new PrefixIndex();
    private final List<BlockHashChain> chains = new ArrayList<>();
    private final List<Worker> workers = new ArrayList<>();
    private int mostWorkers = MOST_WORKERS;
    private long changedKeys;

    @Test
    void two_thousand_random_steps_in_each_of_eight_worlds() {
        for (int seed = 0; seed < 8; seed++) {
            new PrefixIndexModelTest().run(seed, 2_000);
        }
    }

    @Tag("full")
    @Test
    void twenty_thousand_random_steps_in_each_of_fifty_worlds() {
        for (int seed = 100; seed < 150; seed++) {
            new PrefixIndexModelTest().run(seed, 20_000);
        }
    }

    @Test
    void a_hundred_thousand_keys_come_and_go_in_worlds_of_one_ten_and_a_thousand_workers() {
        for (int mostWorkers : new int[] {1, 10, 1_000}) {
            new PrefixIndexModelTest().runKeys(mostWorkers, 100_000);
        }
    }

    @Tag("full")
    @Test
    void ten_million_keys_come_and_go_in_worlds_of_one_ten_and_a_thousand_workers() {
        for (int mostWorkers : new int[] {1, 10, 1_000}) {
            new PrefixIndexModelTest().runKeys(mostWorkers, 10_000_000);
        }
    }

    /** A worker and the set that it announces. */
    private final class Worker {
        final boolean closed;
        final WorkerKeys keys;
        final KvEventApplier applier;
        final Set<Long> held = new LinkedHashSet<>();
        final KeySet announced = new KeySet();
        long sequence;

        Worker(boolean closed) {
            this.closed = closed;
            keys = index.add(8 * BLOCKS, closed);
            applier = new KvEventApplier("w", 1, keys);
        }

        void load() {
            apply(true, List.of(stored(held)));
        }

        /** The first blocks of a chain, and what was there of the others. */
        List<BlockChange> store(BlockHashChain chain, int depth) {
            List<Long> added = new ArrayList<>();
            for (int block = 0; block < depth; block++) {
                if (held.add(chain.key(block))) {
                    added.add(chain.key(block));
                }
            }
            return List.of(stored(added));
        }

        /** A chain from its end down to a depth; blocks that another chain goes on from stay in a closed worker. */
        List<BlockChange> evict(BlockHashChain chain, int depth) {
            Set<Long> needed = new LinkedHashSet<>();
            for (BlockHashChain other : chains) {
                for (int block = leading(other, BLOCKS) - 1; closed && other != chain && block >= 0; block--) {
                    needed.add(other.key(block));
                }
            }
            List<Long> removed = new ArrayList<>();
            for (int block = BLOCKS - 1; block >= depth; block--) {
                if (!needed.contains(chain.key(block)) && held.remove(chain.key(block))) {
                    removed.add(chain.key(block));
                }
            }
            return List.of(new BlockChange.Removed(Medium.DEVICE, removed.stream().mapToLong(key -> key).toArray()));
        }

        List<BlockChange> clear() {
            held.clear();
            return List.of(new BlockChange.Cleared());
        }

        void apply(boolean snapshot, List<BlockChange> changes) {
            if (snapshot) {
                announced.clear();
            }
            changes.forEach(announced::apply);
            changedKeys += changes.stream().mapToInt(BlockChange::keyCount).sum();
            sequence += snapshot ? 0 : 1;
            assertThat(applier.apply(new KvEventBatch("w", 1, sequence, snapshot, changes, announced.size(),
                    announced.digest()))).isEqualTo(new Applied(sequence));
        }

        int leading(BlockHashChain chain, int limit) {
            int blocks = 0;
            while (blocks < limit && held.contains(chain.key(blocks))) {
                blocks++;
            }
            return blocks;
        }
    }

    private void run(int seed, int steps) {
        var random = new Random(seed);
        makeChains(random);
        for (int step = 0; step < steps; step++) {
            step(random);
            if (step % 20 == 0) {
                compare(random, "seed " + seed + ", step " + step);
            }
            if (step % 200 == 0) {
                index.checkIntegrity();
            }
        }
        end(random, seed);
    }

    /** Until so many keys have come or gone; all workers are compared the more seldom the more there are. */
    private void runKeys(int workersAtMost, long keys) {
        mostWorkers = workersAtMost;
        var random = new Random(mostWorkers);
        makeChains(random);
        while (workers.size() < (mostWorkers + 1) / 2) {
            join(random);
        }
        for (int step = 0; changedKeys < keys; step++) {
            step(random);
            if (step % (20 + mostWorkers) == 0) {
                compare(random, mostWorkers + " workers, step " + step);
                index.checkIntegrity();
            }
        }
        end(random, mostWorkers);
    }

    private void end(Random random, int seed) {
        index.sweep();
        index.checkIntegrity();
        compare(random, "seed " + seed);
        PrefixIndex.Stats stats = index.stats();
        assertThat(stats.retired()).isZero();
        assertThat(stats.entries()).isEqualTo(workers.stream().mapToLong(worker -> worker.held.size()).sum());
        assertThat(stats.keys()).isEqualTo(workers.stream().flatMap(worker -> worker.held.stream()).distinct().count());
        List.copyOf(workers).forEach(this::remove);
        index.sweep();
        index.checkIntegrity();
        assertThat(index.stats()).usingRecursiveComparison().ignoringFields("bytes")
                .isEqualTo(new PrefixIndex.Stats(0, 0, 0, 0, 0, 0));
    }

    /** Eight chains, each with the beginning of an earlier one. */
    private void makeChains(Random random) {
        List<int[]> prompts = new ArrayList<>();
        for (int i = 0; i < 8; i++) {
            int[] prompt = random.ints(4L * BLOCKS, 0, 1 << 20).toArray();
            if (i > 0) {
                System.arraycopy(prompts.get(random.nextInt(i)), 0, prompt, 0, random.nextInt(4 * BLOCKS));
            }
            prompts.add(prompt);
            chains.add(BlockHashChain.of(HashSettings.ofBlockSize(4), ExtraKeys.NONE, prompt));
        }
    }

    private void step(Random random) {
        if (workers.isEmpty() || workers.size() < mostWorkers && random.nextInt(20) == 0) {
            join(random);
            return;
        }
        Worker worker = workers.get(random.nextInt(workers.size()));
        BlockHashChain chain = chains.get(random.nextInt(chains.size()));
        switch (random.nextInt(40)) {
            case 0 -> worker.load();
            case 1 -> worker.apply(false, worker.clear());
            case 2 -> remove(worker);
            case 3 -> index.sweep();
            default -> worker.apply(false, random.nextInt(5) < 3
                    ? worker.store(chain, 1 + random.nextInt(BLOCKS))
                    : worker.evict(chain, random.nextInt(BLOCKS)));
        }
    }

    private void join(Random random) {
        var worker = new Worker(random.nextInt(4) > 0);
        workers.add(worker);
        worker.load();
    }

    private void remove(Worker worker) {
        workers.remove(worker);
        index.remove(worker.keys);
        assertThat(index.match(chains.getFirst(), BLOCKS).blocks(worker.keys)).isZero();
    }

    private void compare(Random random, String when) {
        var matched = new MatchedBlocks(workers.stream().map(worker -> worker.keys).toList());
        for (BlockHashChain chain : chains) {
            int limit = random.nextInt(4) == 0 ? random.nextInt(BLOCKS) : BLOCKS;
            PrefixMatch match = index.match(chain, limit);
            matched.read(match);
            for (int place = 0; place < workers.size(); place++) {
                int leading = workers.get(place).leading(chain, limit);
                assertThat(match.blocks(workers.get(place).keys)).as(when).isEqualTo(leading);
                assertThat(matched.at(place)).as(when).isEqualTo(leading);
            }
            long key = chain.key(random.nextInt(BLOCKS));
            assertThat(index.holders(key)).as(when).containsExactlyInAnyOrderElementsOf(
                    workers.stream().filter(worker -> worker.held.contains(key)).map(worker -> worker.keys).toList());
        }
        for (Worker worker : workers) {
            assertThat(worker.keys.size()).as(when).isEqualTo(worker.held.size());
        }
    }

    private static BlockChange stored(Iterable<Long> keys) {
        List<Long> list = new ArrayList<>();
        keys.forEach(list::add);
        return new BlockChange.Stored(Medium.DEVICE, list.stream().mapToLong(key -> key).toArray());
    }
}
