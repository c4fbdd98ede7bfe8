package dev.warmpath.worker.kvcache;

import dev.warmpath.protocol.block.BlockHashChain;
import java.util.Arrays;
import java.util.Objects;

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
 * the free queue: first to blocks of no further use, then to the least recently released ones (vLLM's rule since June
 * 2026). Several blocks may carry one key: two sequences computed the same tokens side by side. They hang together in a
 * ring in the order in which they got it, and a lookup takes the eldest.
 *
 * <p>Everything lies in arrays by block id, about 150 bytes a block with token verification; no operation allocates.
 * An error changes nothing.
 */
final class BlockPool {

    /** Stands for a position that is skipped: never free, never counted, never keyed. */
    static final int NULL_BLOCK = 0;
    /** No block: the answer to a lookup that misses. */
    static final int NO_BLOCK = -1;
    /** A block's group is noted in a byte. */
    static final int MAX_GROUPS = 128;

    private static final int UNKEYED = -1;
    private static final int WORDS = BlockHashChain.WORDS_PER_HASH;
    private static final int KEY_WORD = WORDS - 1;

    private final int blockCount;
    private final int blockSize;
    private final boolean verifyTokens;
    private final boolean unkeyedToTail;
    private final KvEventLog log;

    private final FreeQueue free;
    private final int[] references;

    /** The eldest block under each key. */
    private final KeyTable eldestByKey;
    /** Rings of the blocks under one key, from elder to younger; the eldest's elder is the youngest. */
    private final int[] younger;
    private final int[] elder;
    /** Where in its chain a keyed block stands, or {@link #UNKEYED}. */
    private final int[] chainIndex;
    /** Which layers' keys and values a keyed block holds. */
    private final byte[] groups;
    /** [blockCount, WORDS], of keyed blocks. Package-private so that a test can forge a collision. */
    final long[] hashes;
    /** [blockCount, blockSize], of keyed blocks; empty without verification. */
    private final int[] tokens;

    private int keyedCount;
    private final int[] keyCounts = new int[MAX_GROUPS];
    private long collisions;
    private long evictions;

    BlockPool(KvCacheSettings settings, FreeOrder freeOrder, KvEventLog log) {
        this.blockCount = settings.blockCount();
        this.blockSize = settings.blockSize();
        this.verifyTokens = settings.verifyTokens();
        this.unkeyedToTail = settings.prefixCaching() && freeOrder == FreeOrder.RELEASE_ORDER;
        this.log = log;
        free = new FreeQueue(blockCount);
        free.remove(NULL_BLOCK);
        references = new int[blockCount];
        eldestByKey = new KeyTable(settings.prefixCaching() ? blockCount : 0);
        younger = new int[blockCount];
        elder = new int[blockCount];
        chainIndex = new int[blockCount];
        Arrays.fill(chainIndex, UNKEYED);
        groups = new byte[blockCount];
        hashes = new long[settings.prefixCaching() ? blockCount * WORDS : 0];
        tokens = new int[settings.prefixCaching() && verifyTokens ? blockCount * blockSize : 0];
    }

    /** Blocks without the null block. */
    int usableCount() {
        return blockCount - 1;
    }

    /** Blocks that nobody holds, those with a key among them. */
    int freeCount() {
        return free.size();
    }

    boolean isHeld(int block) {
        return references[block] > 0;
    }

    boolean isKeyed(int block) {
        return chainIndex[block] != UNKEYED;
    }

    int references(int block) {
        return references[block];
    }

    /** True if an allocation may take the block: nobody holds it, and it is not the null block. */
    boolean isFree(int block) {
        return references[block] == 0 && block != NULL_BLOCK;
    }

    /** Different keys of all groups together, however many blocks carry them. */
    int keyCount() {
        return eldestByKey.size();
    }

    /** Different keys of one group, however many blocks carry them. */
    int keyCount(int group) {
        return keyCounts[group];
    }

    /** Blocks looked at under the right key with another hash or other tokens. */
    long collisions() {
        return collisions;
    }

    /** Keys lost to an allocation. */
    long evictions() {
        return evictions;
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

    /** Takes the block at the head of the free queue, evicting its content. @throws IllegalStateException if none is free */
    int allocate() {
        int block = free.popFirst();
        if (unkey(block)) {
            evictions++;
        }
        references[block] = 1;
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
            if (block == NULL_BLOCK || --references[block] > 0) {
                continue;
            }
            if (unkeyedToTail || isKeyed(block)) {
                free.append(block);
            } else {
                free.insertAfter(lastOfHead, block);
                lastOfHead = block;
            }
        }
    }

    /** Lets go of one block, the null block included. @throws IllegalStateException if it is not held */
    void release(int block) {
        requireHeld(block);
        if (block == NULL_BLOCK || --references[block] > 0) {
            return;
        }
        if (unkeyedToTail || isKeyed(block)) {
            free.append(block);
        } else {
            free.prepend(block);
        }
    }

    /**
     * The eldest block that holds a block of a chain for a group of layers: equal in all 32 bytes of its hash and, if so
     * set, in its tokens.
     *
     * @param chainTokens the chain's tokens from its first on
     * @return {@link #NO_BLOCK} if none does
     */
    int find(BlockHashChain chain, int index, int[] chainTokens, int group) {
        int eldest = eldestByKey.get(tableKey(chain.key(index), group));
        if (eldest == KeyTable.ABSENT) {
            return NO_BLOCK;
        }
        int block = eldest;
        do {
            if (holds(block, chain, index, chainTokens, group)) {
                return block;
            }
            collisions++;
            block = younger[block];
        } while (block != eldest);
        return NO_BLOCK;
    }

    /**
     * Gives a held block the key of a full block of a chain.
     *
     * @param group 0 to {@link #MAX_GROUPS} - 1
     * @throws IllegalStateException if it has a key, or is not held, or is the null block
     */
    void key(int block, BlockHashChain chain, int index, int[] chainTokens, int group) {
        if (isKeyed(block) || references[block] == 0) {
            throw new IllegalStateException("block " + block + " cannot be keyed: chain index " + chainIndex[block]
                    + ", references " + references[block]);
        }
        for (int word = 0; word < WORDS; word++) {
            hashes[block * WORDS + word] = chain.word(index, word);
        }
        if (verifyTokens) {
            System.arraycopy(chainTokens, index * blockSize, tokens, block * blockSize, blockSize);
        }
        chainIndex[block] = index;
        groups[block] = (byte) group;
        keyedCount++;
        boolean first = joinRing(block);
        keyCounts[group] += first ? 1 : 0;
        log.stored(block, keyOf(block), group, first);
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
        boolean last = leaveRing(block);
        chainIndex[block] = UNKEYED;
        keyedCount--;
        keyCounts[groups[block]] -= last ? 1 : 0;
        log.removed(block, keyOf(block), groups[block], last);
        return true;
    }

    /** Forgets every key; the order of the free queue stays. @return false, and nothing changes, if a block is held */
    boolean reset() {
        if (free.size() != usableCount()) {
            return false;
        }
        eldestByKey.clear();
        Arrays.fill(chainIndex, UNKEYED);
        Arrays.fill(keyCounts, 0);
        keyedCount = 0;
        log.cleared();
        return true;
    }

    /** Every key of a group once, those nearer to the root of their chain first; a new array. */
    long[] keysParentFirst(int group) {
        // a counting sort by place in the chain
        int[] startOf = new int[highestChainIndex() + 2];
        for (int slot = 0; slot < eldestByKey.slotCount(); slot++) {
            int block = eldestByKey.valueAt(slot);
            if (block != KeyTable.ABSENT && groups[block] == group) {
                startOf[chainIndex[block] + 1]++;
            }
        }
        for (int index = 1; index < startOf.length; index++) {
            startOf[index] += startOf[index - 1];
        }
        long[] keys = new long[keyCounts[group]];
        for (int slot = 0; slot < eldestByKey.slotCount(); slot++) {
            int block = eldestByKey.valueAt(slot);
            if (block != KeyTable.ABSENT && groups[block] == group) {
                keys[startOf[chainIndex[block]]++] = keyOf(block);
            }
        }
        return keys;
    }

    private int highestChainIndex() {
        int highest = UNKEYED;
        for (int index : chainIndex) {
            highest = Math.max(highest, index);
        }
        return highest;
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
        checkKeys();
    }

    private void checkKeys() {
        int found = 0;
        for (int slot = 0; slot < eldestByKey.slotCount(); slot++) {
            int eldest = eldestByKey.valueAt(slot);
            if (eldest == KeyTable.ABSENT) {
                continue;
            }
            int block = eldest;
            do {
                require(isKeyed(block) && tableKey(keyOf(block), groups[block]) == eldestByKey.keyAt(slot), block,
                        "under a key not its own");
                require(elder[younger[block]] == block, block, "in a broken ring");
                found++;
                block = younger[block];
            } while (block != eldest && found <= keyedCount);
        }
        int keyed = 0;
        for (int index : chainIndex) {
            keyed += index == UNKEYED ? 0 : 1;
        }
        if (found != keyedCount || keyed != keyedCount) {
            throw new IllegalStateException(
                    keyedCount + " keyed blocks counted, " + keyed + " marked, " + found + " found by their keys");
        }
    }

    private void require(boolean condition, int block, String state) {
        if (!condition) {
            throw new IllegalStateException("block " + block + " is " + state + ": references " + references[block]
                    + ", chain index " + chainIndex[block]);
        }
    }

    private void requireHeld(int block) {
        if (block != NULL_BLOCK && references[block] == 0) {
            throw new IllegalStateException("block " + block + " is not held");
        }
    }

    private boolean holds(int block, BlockHashChain chain, int index, int[] chainTokens, int group) {
        if (groups[block] != group) {
            return false;
        }
        for (int word = 0; word < WORDS; word++) {
            if (hashes[block * WORDS + word] != chain.word(index, word)) {
                return false;
            }
        }
        return !verifyTokens || Arrays.equals(
                tokens, block * blockSize, (block + 1) * blockSize,
                chainTokens, index * blockSize, (index + 1) * blockSize);
    }

    private long keyOf(int block) {
        return hashes[block * WORDS + KEY_WORD];
    }

    private static long tableKey(long key, int group) {
        return key + group * 0x9e3779b97f4a7c15L;
    }

    /** @return true if the block is the only one under its key */
    private boolean joinRing(int block) {
        long key = tableKey(keyOf(block), groups[block]);
        int eldest = eldestByKey.get(key);
        if (eldest == KeyTable.ABSENT) {
            eldestByKey.put(key, block);
            younger[block] = elder[block] = block;
            return true;
        }
        int youngest = elder[eldest];
        younger[youngest] = block;
        elder[block] = youngest;
        younger[block] = eldest;
        elder[eldest] = block;
        return false;
    }

    /** @return true if the block was the only one under its key */
    private boolean leaveRing(int block) {
        long key = tableKey(keyOf(block), groups[block]);
        int follower = younger[block];
        if (follower == block) {
            eldestByKey.remove(key);
            return true;
        }
        younger[elder[block]] = follower;
        elder[follower] = elder[block];
        if (eldestByKey.get(key) == block) {
            eldestByKey.put(key, follower);
        }
        return false;
    }
}
