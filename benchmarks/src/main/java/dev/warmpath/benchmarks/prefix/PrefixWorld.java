package dev.warmpath.benchmarks.prefix;

import dev.warmpath.protocol.block.BlockHashChain;
import dev.warmpath.protocol.block.ExtraKeys;
import dev.warmpath.protocol.block.HashSettings;
import dev.warmpath.protocol.event.BlockChange;
import dev.warmpath.protocol.event.KeySetDigest;
import dev.warmpath.protocol.event.KvEventBatch;
import dev.warmpath.protocol.event.Medium;
import dev.warmpath.router.prefix.ApplyOutcome.Applied;
import dev.warmpath.router.prefix.KvEventApplier;
import dev.warmpath.router.prefix.PrefixIndex;
import dev.warmpath.router.prefix.WorkerKeys;
import java.util.Arrays;
import java.util.List;
import java.util.SplittableRandom;

/** 100 workers with 100,000 blocks each, and the chains to ask for. Seeded: equal worlds in every run. */
final class PrefixWorld {

    static final int WORKERS = 100;
    static final int BLOCKS_PER_WORKER = 100_000;
    /** Of each worker's blocks, the first are of chains and popular prefixes; the others come and go. */
    static final int LASTING_BLOCKS = BLOCKS_PER_WORKER * 4 / 5;

    private static final int POPULAR_PREFIXES = 10_000;
    private static final int POPULAR_BLOCKS = 100;

    private final SplittableRandom random = new SplittableRandom(20261121);
    final BlockHashChain[] chains;
    /** [worker][block] */
    final long[][] keys = new long[WORKERS][BLOCKS_PER_WORKER];

    private final int[] count = new int[WORKERS];

    /** Without chains. */
    PrefixWorld(Distribution distribution) {
        this(distribution, Held.WHOLE, 0);
    }

    /** With as many chains as there is room for: no two matches in a row find their lines in the cache. */
    PrefixWorld(Distribution distribution, Held held) {
        this(distribution, held, WORKERS * (LASTING_BLOCKS - popularBlocks(distribution)) / held.pairs());
    }

    private PrefixWorld(Distribution distribution, Held held, int chainCount) {
        if (distribution == Distribution.ZIPF) {
            addPopular();
        }
        chains = new BlockHashChain[chainCount];
        Arrays.parallelSetAll(chains, i -> chain(new SplittableRandom(i), held.blocks));
        for (int i = 0; i < chainCount; i++) {
            for (int j = 0; j < held.holders; j++) {
                hold((held.holders * i + j) % WORKERS, chains[i],
                        held == Held.WHOLE ? held.blocks : random.nextInt(1, held.blocks));
            }
        }
        for (int worker = 0; worker < WORKERS; worker++) {
            while (count[worker] < BLOCKS_PER_WORKER) {
                keys[worker][count[worker]++] = random.nextLong();
            }
        }
    }

    private static int popularBlocks(Distribution distribution) {
        return distribution == Distribution.ZIPF ? BLOCKS_PER_WORKER / 2 : 0;
    }

    /** One worker in an index, with its set after the last batch. */
    static final class Member {
        final WorkerKeys copy;
        final KvEventApplier applier;
        private final KeySetDigest digest = new KeySetDigest();
        private long sequence;

        Member(PrefixIndex index) {
            copy = index.add(BLOCKS_PER_WORKER, true);
            applier = new KvEventApplier("w", 1, copy);
        }

        KvEventBatch snapshot(long[] keys) {
            digest.clear();
            for (long key : keys) {
                digest.add(key);
            }
            return batch(true, List.of(new BlockChange.Stored(Medium.DEVICE, keys)));
        }

        /** Some keys go, others come; none of the first is missing, none of the second is there. */
        KvEventBatch change(long[] removed, long[] stored) {
            for (int i = 0; i < removed.length; i++) {
                digest.remove(removed[i]);
                digest.add(stored[i]);
            }
            sequence++;
            return batch(false, List.of(
                    new BlockChange.Removed(Medium.DEVICE, removed), new BlockChange.Stored(Medium.DEVICE, stored)));
        }

        private KvEventBatch batch(boolean snapshot, List<BlockChange> changes) {
            return new KvEventBatch("w", 1, sequence, snapshot, changes, digest.count(), digest.value());
        }

        void apply(KvEventBatch batch) {
            if (!(applier.apply(batch) instanceof Applied)) {
                throw new IllegalStateException("batch " + batch.sequence() + " was not applied");
            }
        }
    }

    /** A new index with every worker's keys. */
    Member[] load(PrefixIndex index) {
        var members = new Member[WORKERS];
        for (int worker = 0; worker < WORKERS; worker++) {
            members[worker] = new Member(index);
            members[worker].apply(members[worker].snapshot(keys[worker]));
        }
        return members;
    }

    private static BlockHashChain chain(SplittableRandom random, int blocks) {
        return BlockHashChain.of(HashSettings.ofBlockSize(4), ExtraKeys.NONE,
                random.ints(4L * blocks, 0, 1 << 20).toArray());
    }

    /** Fewer where the worker is full. */
    private void hold(int worker, BlockHashChain chain, int blocks) {
        for (int block = 0; block < blocks && count[worker] < LASTING_BLOCKS; block++) {
            keys[worker][count[worker]++] = chain.key(block);
        }
    }

    private void addPopular() {
        double[] odds = new double[POPULAR_PREFIXES];
        double sum = 0;
        for (int rank = 0; rank < POPULAR_PREFIXES; rank++) {
            sum += 1.0 / (rank + 1);
            odds[rank] = sum;
        }
        for (int worker = 0; worker < WORKERS; worker++) {
            boolean[] held = new boolean[POPULAR_PREFIXES];
            for (int prefixes = 0; prefixes < popularBlocks(Distribution.ZIPF) / POPULAR_BLOCKS; prefixes++) {
                int rank;
                do {
                    int place = Arrays.binarySearch(odds, random.nextDouble(sum));
                    rank = place < 0 ? ~place : place;
                } while (held[rank]);
                held[rank] = true;
                for (int block = 0; block < POPULAR_BLOCKS; block++) {
                    keys[worker][count[worker]++] = KeySetDigest.mix(rank * POPULAR_BLOCKS + block + 1L);
                }
            }
        }
    }
}
