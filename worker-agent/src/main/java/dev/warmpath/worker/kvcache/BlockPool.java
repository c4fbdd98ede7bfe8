package dev.warmpath.worker.kvcache;

import dev.warmpath.protocol.block.BlockHashChain;
import java.util.Objects;
import java.util.Set;

/**
 * The blocks: who is held how often, who is free in which order, who carries which key.
 *
 * <pre>
 *              allocate                          release, keyed: to the tail, deepest first
 *   free  ----------------->  held (n times)  -----------------------------------------+
 *   ^ head        ^  touch (hit)  |                                                    |
 *   |             +---------------+-- release, without a key: to the head              |
 *   +----------------------------------------------------------------------------------+
 * </pre>
 *
 * <p>A free block keeps its key, and its content can be hit, until it is allocated again. That happens from the head of
 * the free queue: by default first to blocks of no further use, then to the least recently released ones
 * ({@link FreeOrder}).
 *
 * <p>Everything lies in arrays by block id; no operation allocates but {@link #unkeyBuiltOn}. A block takes 16 bytes
 * here and 33 for its key, beside the hash and the tokens themselves (see {@link BlockKeys}). An error changes nothing.
 */
final class BlockPool {

    /** Stands for a position that is skipped: never free, never counted, never keyed. */
    static final int NULL_BLOCK = 0;
    /** No block: the answer to a lookup that misses. */
    static final int NO_BLOCK = -1;

    private static final long NO_TIME = Long.MIN_VALUE;
    /** Last uses are noted in units of 2^24 ns, about 17 ms: an int of them is two years. */
    private static final int USE_SHIFT = 24;

    private final int blockCount;
    private final boolean unkeyedToTail;
    private final KvEventLog log;

    private final FreeQueue free;
    private final int[] references;
    /** When each was last taken, hit or let go, in units of 2^{@link #USE_SHIFT} ns from 1 on; 0 = never. */
    private final int[] lastUses;
    private final BlockKeys keys;
    private final BlockAges ages;
    private long evictions;
    /** The first time that was told; the clock may begin anywhere. */
    private long firstNanos = NO_TIME;
    /** The time that was told last. */
    private int useTime = 1;

    BlockPool(KvCacheSettings settings, KvEventLog log) {
        this.blockCount = settings.blockCount();
        this.unkeyedToTail = settings.prefixCaching() && settings.freeOrder() == FreeOrder.RELEASE_ORDER;
        this.log = log;
        free = new FreeQueue(blockCount);
        free.remove(NULL_BLOCK);
        references = new int[blockCount];
        lastUses = new int[blockCount];
        keys = new BlockKeys(settings);
        ages = new BlockAges(blockCount);
    }

    /** What happens from here on happens now. @param nowNanos a monotonic clock */
    void at(long nowNanos) {
        firstNanos = firstNanos == NO_TIME ? nowNanos : firstNanos;
        useTime = 1 + (int) (nowNanos - firstNanos >>> USE_SHIFT);
        ages.at(nowNanos);
    }

    /** A time, since the first that was told; 0 before. */
    long atMillis(long nowNanos) {
        return firstNanos == NO_TIME ? 0 : (nowNanos - firstNanos) / 1_000_000;
    }

    /** A time of last use, rounded up to its unit's end, so that 0 is never. */
    static long useMillis(int lastUse) {
        return (Integer.toUnsignedLong(lastUse) << USE_SHIFT) / 1_000_000;
    }

    long lastUseMillis(int block) {
        return useMillis(lastUses[block]);
    }

    void copyTo(PoolImage image) {
        System.arraycopy(references, 0, image.references, 0, blockCount);
        System.arraycopy(lastUses, 0, image.lastUses, 0, blockCount);
        keys.copyTo(image.chainIndexes, image.keys);
        image.nextCount = free.copyFirst(image.next);
    }

    /** Blocks without the null block. */
    int usableCount() {
        return blockCount - 1;
    }

    /** Blocks that nobody holds, those with a key among them. */
    int freeCount() {
        return free.size();
    }

    boolean isKeyed(int block) {
        return keys.isKeyed(block);
    }

    int references(int block) {
        return references[block];
    }

    /** True if an allocation may take the block: nobody holds it, and it is not the null block. */
    boolean isFree(int block) {
        return references[block] == 0 && block != NULL_BLOCK;
    }

    /** Different keys of one group, however many blocks carry them. */
    int keyCount(int group) {
        return keys.keyCount(group);
    }

    /** Blocks looked at under the right key with another hash or other tokens. */
    long collisions() {
        return keys.collisions();
    }

    /** Keys lost to an allocation. */
    long evictions() {
        return evictions;
    }

    /** How long blocks stay and lie idle. */
    BlockAges ages() {
        return ages;
    }

    int[] freeListing() {
        return free.listing();
    }

    /**
     * Takes blocks from the head of the free queue, evicting what they hold, and adds them to the table.
     *
     * @throws IllegalStateException if fewer are free
     */
    void allocate(int count, BlockTable table) {
        if (count > free.size()) {
            throw new IllegalStateException(count + " blocks wanted, " + free.size() + " are free");
        }
        for (int i = 0; i < count; i++) {
            table.add(allocate());
        }
    }

    /** Takes the first free block, evicting what it holds. @throws IllegalStateException if none is free */
    int allocate() {
        int block = free.popFirst();
        if (unkey(block)) {
            evictions++;
            ages.evicted(block);
        }
        ages.allocated(block);
        references[block] = 1;
        lastUses[block] = useTime;
        return block;
    }

    /** Holds a block once more; a free one leaves the queue and keeps its key. */
    void touch(int block) {
        if (block == NULL_BLOCK) {
            return;
        }
        if (references[block] == 0) {
            free.remove(block);
        }
        references[block]++;
        lastUses[block] = useTime;
        ages.touched(block);
    }

    /**
     * Lets go of every block of a table and empties it, the last first. Where those come to stand that become free is
     * said by the {@link FreeOrder}; the ones that go to the head keep the order of their release.
     *
     * @throws IllegalStateException if one of them is not held
     */
    void release(BlockTable table) {
        release(table, 0, table.blockCount());
        table.clear();
    }

    /**
     * Lets go of some blocks of a table, the last first, in the same way. Their entries stay as they are: the caller
     * replaces them.
     *
     * @param from the first entry
     * @param to   the one behind the last
     * @throws IllegalStateException if one of them is not held
     */
    void release(BlockTable table, int from, int to) {
        for (int i = from; i < to; i++) {
            requireHeld(table.block(i));
        }
        int lastOfHead = FreeQueue.END;
        for (int i = to - 1; i >= from; i--) {
            int block = table.block(i);
            if (letGo(block)) {
                free.insertAfter(lastOfHead, block);
                lastOfHead = block;
            }
        }
    }

    /** Lets go of one block, the null block included. @throws IllegalStateException if it is not held */
    void release(int block) {
        requireHeld(block);
        if (letGo(block)) {
            free.insertAfter(FreeQueue.END, block);
        }
    }

    /**
     * The eldest block that holds a block of a chain for a group of layers, a settled one if there is any.
     *
     * @param chainTokens the chain's tokens from its first on
     * @return {@link #NO_BLOCK} if none does
     */
    int find(BlockHashChain chain, int index, int[] chainTokens, int group) {
        return keys.find(chain, index, chainTokens, group);
    }

    /**
     * Gives a held block the key of a full block of a chain.
     *
     * @param group 0 to {@link BlockKeys#MAX_GROUPS} - 1
     * @throws IllegalStateException if it has a key, or is not held, or is the null block
     */
    void key(int block, BlockHashChain chain, int index, int[] chainTokens, int group) {
        if (isKeyed(block) || references[block] == 0) {
            throw new IllegalStateException("block " + block + " takes no key: it is " + keys.describe(block)
                    + " and has " + references[block] + " references");
        }
        boolean first = keys.add(block, chain, index, chainTokens, group);
        log.stored(block, keys.key(block), group, first);
    }

    /**
     * Takes a block's key away, held or not; others under the same key keep theirs.
     *
     * @return false if it had none
     * @throws IndexOutOfBoundsException if there is no such block
     */
    boolean unkey(int block) {
        if (!isKeyed(Objects.checkIndex(block, blockCount))) {
            return false;
        }
        boolean last = keys.remove(block);
        log.removed(block, keys.key(block), keys.group(block), last);
        return true;
    }

    /**
     * Takes keys away, wherever a block carries them, held or not and in every group, and with them those of everything
     * that was built on them: the deepest first. See {@link BlockKeys#builtOn}.
     *
     * @param gone gets all keys that were taken away
     * @return how many blocks lost their key
     */
    int unkeyBuiltOn(Set<Long> gone, boolean orphansToo) {
        int[] found = keys.builtOn(gone, orphansToo);
        for (int block : found) {
            unkey(block);
        }
        return found.length;
    }

    /** The 64-bit key of a keyed block. */
    long key(int block) {
        return keys.key(block);
    }

    /** Notes whether what a keyed block holds is there for good, or may be lost with a step that fails. */
    void setSettled(int block, boolean settled) {
        keys.setSettled(block, settled);
    }

    /** True if a block's key cannot be withdrawn any more. */
    boolean isSettled(int block) {
        return keys.isSettled(block);
    }

    /** Forgets every key; the order of the free queue stays. @return false, and nothing changes, if a block is held */
    boolean reset() {
        if (free.size() != usableCount()) {
            return false;
        }
        keys.clear();
        log.cleared();
        return true;
    }

    /** Takes the keys of all free blocks away, from the head of the queue on. @return how many had one */
    int unkeyFree() {
        int unkeyed = 0;
        for (int block : free.listing()) {
            unkeyed += unkey(block) ? 1 : 0;
        }
        return unkeyed;
    }

    /** Every key of a group once, in no order; a new array. */
    long[] keysOf(int group) {
        return keys.keysOf(group);
    }

    /**
     * Audits the books: every block is held, free or null (I1), free ones and only they are queued (I2), keyed ones and
     * only they are found under their key (I3).
     *
     * @throws IllegalStateException naming the first thing that is wrong
     */
    void checkIntegrity() {
        int held = 0;
        for (int block = 0; block < blockCount; block++) {
            held += references[block] > 0 ? 1 : 0;
            boolean queued = free.contains(block);
            require(queued == (references[block] == 0 && block != NULL_BLOCK), block, queued ? "queued" : "not queued");
        }
        if (free.listing().length + held + 1 != blockCount) {
            throw new IllegalStateException(
                    free.size() + " free blocks, " + held + " held ones and null are not " + blockCount);
        }
        keys.checkIntegrity();
    }

    /** The keys, to look at. */
    BlockKeys keys() {
        return keys;
    }

    /** Gives up one hold, and appends a block that is free by that to the tail. @return true if it goes to the head */
    private boolean letGo(int block) {
        if (block == NULL_BLOCK) {
            return false;
        }
        lastUses[block] = useTime;
        if (--references[block] > 0) {
            return false;
        }
        boolean toTail = unkeyedToTail || isKeyed(block);
        if (toTail) {
            free.append(block);
        }
        return !toTail;
    }

    private void require(boolean condition, int block, String state) {
        if (!condition) {
            throw new IllegalStateException(
                    "block " + block + " is " + state + " with " + references[block] + " references");
        }
    }

    private void requireHeld(int block) {
        if (block != NULL_BLOCK && references[block] == 0) {
            throw new IllegalStateException("block " + block + " is not held");
        }
    }
}
