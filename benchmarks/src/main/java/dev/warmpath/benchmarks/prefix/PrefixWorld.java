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
    static final int SHORT_CHAIN = 256;
    static final int LONG_CHAIN = 6_250;

    private static final int SHORT_CHAINS = 4_096;
    private static final int FOUR_DEPTH_CHAINS = 32;
    private static final int HUNDRED_DEPTH_CHAINS = 4;
    private static final int POPULAR_PREFIXES = 10_000;
    private static final int POPULAR_BLOCKS = 100;

    /** Where the keys come from that no chain asks for. */
    public enum Distribution {
        /** No key has two holders. */
        DISTINCT,
        /** Half of the pairs are of 10,000 prefixes of 100 blocks, drawn by each worker with odds of 1 / rank. */
        ZIPF
    }

    final SplittableRandom random = new SplittableRandom(20261121);
    /** Whole at one worker. */
    final BlockHashChain[] whole = new BlockHashChain[SHORT_CHAINS];
    /** Each up to a random block at one worker. */
    final BlockHashChain[] partial = new BlockHashChain[SHORT_CHAINS];
    /** Of 6,250 blocks, four workers at random depths. */
    final BlockHashChain[] fourDepths = new BlockHashChain[FOUR_DEPTH_CHAINS];
    /** Of 6,250 blocks, every worker at a random depth. */
    final BlockHashChain[] hundredDepths = new BlockHashChain[HUNDRED_DEPTH_CHAINS];
    /** [worker][block] */
    final long[][] keys = new long[WORKERS][BLOCKS_PER_WORKER];

    private final int[] count = new int[WORKERS];

    /** @param chains whether the chains' blocks are among the keys */
    PrefixWorld(Distribution distribution, boolean chains) {
        if (chains) {
            addChains();
        }
        if (distribution == Distribution.ZIPF) {
            addPopular();
        }
        for (int worker = 0; worker < WORKERS; worker++) {
            while (count[worker] < BLOCKS_PER_WORKER) {
                keys[worker][count[worker]++] = random.nextLong();
            }
        }
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

    private void addChains() {
        for (int i = 0; i < SHORT_CHAINS; i++) {
            whole[i] = chain(SHORT_CHAIN);
            hold(i % WORKERS, whole[i], SHORT_CHAIN);
            partial[i] = chain(SHORT_CHAIN);
            hold(i % WORKERS, partial[i], random.nextInt(1, SHORT_CHAIN));
        }
        for (int i = 0; i < FOUR_DEPTH_CHAINS; i++) {
            fourDepths[i] = chain(LONG_CHAIN);
            for (int j = 0; j < 4; j++) {
                hold((4 * i + j) % WORKERS, fourDepths[i], random.nextInt(1, LONG_CHAIN));
            }
        }
        for (int i = 0; i < HUNDRED_DEPTH_CHAINS; i++) {
            hundredDepths[i] = chain(LONG_CHAIN);
            for (int worker = 0; worker < WORKERS; worker++) {
                hold(worker, hundredDepths[i], random.nextInt(1, LONG_CHAIN));
            }
        }
    }

    private BlockHashChain chain(int blocks) {
        return BlockHashChain.of(HashSettings.ofBlockSize(4), ExtraKeys.NONE,
                random.ints(4L * blocks, 0, 1 << 20).toArray());
    }

    private void hold(int worker, BlockHashChain chain, int blocks) {
        for (int block = 0; block < blocks; block++) {
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
            for (int prefixes = 0; prefixes < BLOCKS_PER_WORKER / 2 / POPULAR_BLOCKS; prefixes++) {
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
