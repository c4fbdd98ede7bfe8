package dev.warmpath.router.prefix;

import dev.warmpath.protocol.block.BlockHashChain;
import java.util.Arrays;
import org.jspecify.annotations.Nullable;

/**
 * The keys that every worker announces, and the question they are kept for: how many leading blocks of a prompt does
 * each worker hold? Safe for use by several threads.
 *
 * <p>One {@link WorkerKeys} per worker, found by its ordinal. A prefix-closed worker (D9) holds an unbroken run of any
 * chain, so its length is found by halving: W workers and D blocks cost W log D look-ups. Any other worker is walked
 * block by block. A worker's batch is seen whole or not at all.
 */
public final class PrefixIndex {

    /** Replaced as a whole, so that readers need no lock. Absent where no worker has that ordinal. */
    private volatile @Nullable WorkerKeys[] workers = new @Nullable WorkerKeys[0];

    /**
     * @param ordinal      small, not used by another worker now
     * @param blockCount   the worker's pool, in blocks: it cannot hold more keys
     * @param prefixClosed whether the worker announces a key only while all its ancestors are held
     */
    public synchronized WorkerKeys add(int ordinal, int blockCount, boolean prefixClosed) {
        var keys = new WorkerKeys(blockCount, prefixClosed);
        @Nullable WorkerKeys[] copy = Arrays.copyOf(workers, Math.max(workers.length, ordinal + 1));
        if (copy[ordinal] != null) {
            throw new IllegalStateException("ordinal " + ordinal + " is in use");
        }
        copy[ordinal] = keys;
        workers = copy;
        return keys;
    }

    /** The worker is in no match that begins from now on. */
    public synchronized void remove(int ordinal) {
        @Nullable WorkerKeys[] copy = workers.clone();
        copy[ordinal] = null;
        workers = copy;
    }

    /**
     * How many leading blocks each worker holds.
     *
     * @param maxBlocks where to stop counting, usually {@code HashSettings.reusableBlocks}
     */
    public PrefixMatch match(BlockHashChain chain, int maxBlocks) {
        @Nullable WorkerKeys[] now = workers;
        int limit = Math.min(maxBlocks, chain.blockCount());
        int[] blocks = new int[now.length];
        for (int ordinal = 0; ordinal < now.length; ordinal++) {
            WorkerKeys keys = now[ordinal];
            blocks[ordinal] = keys == null ? 0 : keys.match(chain, limit);
        }
        return new PrefixMatch(blocks);
    }

    /** Whether this worker announces the key. */
    public boolean holds(int ordinal, long key) {
        @Nullable WorkerKeys[] now = workers;
        WorkerKeys keys = ordinal < now.length ? now[ordinal] : null;
        return keys != null && keys.contains(key);
    }

    /** Number of keys that this worker announces; 0 for an unknown one. */
    public int keyCount(int ordinal) {
        @Nullable WorkerKeys[] now = workers;
        WorkerKeys keys = ordinal < now.length ? now[ordinal] : null;
        return keys == null ? 0 : keys.size();
    }
}
