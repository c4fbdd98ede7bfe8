package dev.warmpath.worker.kvcache;

import static dev.warmpath.worker.kvcache.BlockPool.NULL_BLOCK;

import java.util.Arrays;
import java.util.BitSet;

/**
 * A copy of a pool's books, made on the engine's thread by {@link PoolView#copyTo} and read on another one while the
 * engine goes on. Made to be written again and again; 20 bytes a block.
 */
public final class PoolImage {

    /** So many free blocks are listed in the order in which they would be taken. */
    public static final int MOST_NEXT = 256;

    /** The time of a block that was never used. */
    static final int NEVER = 0;

    // [blockCount] each
    final int[] references;
    final int[] chainIndexes;
    final long[] keys;
    final int[] lastUses;

    final int[] next = new int[MOST_NEXT];
    int nextCount;
    final BitSet hostUsed;
    long atMillis;

    public PoolImage(int blockCount, int hostBlockCount) {
        references = new int[blockCount];
        chainIndexes = new int[blockCount];
        keys = new long[blockCount];
        lastUses = new int[blockCount];
        hostUsed = new BitSet(hostBlockCount);
    }

    public int blockCount() {
        return references.length;
    }

    /** When it was made, since the first step of the engine. */
    public long atMillis() {
        return atMillis;
    }

    public int references(int block) {
        return references[block];
    }

    public boolean isKeyed(int block) {
        return chainIndexes[block] != BlockKeys.UNKEYED;
    }

    /** 0 if it carries none. */
    public long key(int block) {
        return keys[block];
    }

    /** When it was last taken, hit or let go, rounded up by some milliseconds; 0 = never. */
    public long lastUseMillis(int block) {
        return BlockPool.useMillis(lastUses[block]);
    }

    /** True if nobody holds it, it carries no key and was never used; so is the null block. */
    public boolean isUntouched(int block) {
        return block == NULL_BLOCK || references[block] == 0 && !isKeyed(block) && lastUses[block] == NEVER;
    }

    /** True if a block is here as it is there. */
    public boolean isSame(int block, PoolImage other) {
        return references[block] == other.references[block] && lastUses[block] == other.lastUses[block]
                && keys[block] == other.keys[block] && isKeyed(block) == other.isKeyed(block);
    }

    /** The free blocks that would be taken next, in this order; a new array. */
    public int[] next() {
        return Arrays.copyOf(next, nextCount);
    }

    /** The blocks of swap space that are in use; a new set. */
    public BitSet hostUsed() {
        return (BitSet) hostUsed.clone();
    }
}
