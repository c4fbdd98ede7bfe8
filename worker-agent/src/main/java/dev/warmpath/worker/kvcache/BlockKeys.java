package dev.warmpath.worker.kvcache;

import dev.warmpath.protocol.block.BlockHashChain;
import java.nio.ByteBuffer;
import java.util.Arrays;
import java.util.BitSet;
import java.util.HashSet;
import java.util.Objects;
import java.util.Set;
import java.util.stream.IntStream;

/**
 * Which block carries which key: the hash of the tokens that it holds, and the group of layers whose keys and values
 * those are. Several blocks may carry one key, when sequences computed the same tokens side by side. They hang together
 * in a ring in the order in which they got it, and a lookup takes the eldest that is settled.
 *
 * <p>A block takes 33 bytes and a bit here, and 32 for the hash, and 4 for each of its tokens if they are verified.
 */
final class BlockKeys {

    /** A block's group is noted in a byte. */
    static final int MAX_GROUPS = 128;

    /** Stands for the place in its chain of a block that carries no key. */
    static final int UNKEYED = -1;
    private static final int WORDS = BlockHashChain.WORDS_PER_HASH;
    private static final int KEY_WORD = WORDS - 1;
    /** What every virtual machine gives. */
    private static final int MAX_ARRAY_LENGTH = Integer.MAX_VALUE - 8;

    /** Of the group with the largest blocks. */
    private final int mostTokens;
    private final boolean verifyTokens;

    /** The eldest block under each key. */
    private final KeyTable eldest;
    /** Rings of the blocks under one key, from elder to younger; the eldest's elder is the youngest. */
    private final int[] younger;
    private final int[] elder;
    /** Where in its chain a keyed block stands, or {@link #UNKEYED}. */
    private final int[] chainIndex;
    private final byte[] groups;
    /** Of keyed blocks that are not the first of their chain: the lower half of the key of the block before. */
    private final int[] parentTags;
    /** [blockCount, WORDS], of keyed blocks. Package-private so that a test can forge a collision. */
    final long[] hashes;
    /** [blockCount, mostTokens], of keyed blocks; empty without verification. */
    private final int[] tokens;

    /** Of keyed blocks: those whose content a step in flight computes. */
    private final BitSet unsettled;

    private final int[] keyCounts = new int[MAX_GROUPS];
    private int keyedCount;
    private long collisions;

    /** @throws IllegalArgumentException if the settings ask for arrays longer than there can be */
    BlockKeys(KvCacheSettings settings) {
        mostTokens = settings.largestBlockSize();
        verifyTokens = settings.verifyTokens();
        int blockCount = settings.prefixCaching() ? settings.blockCount() : 0;
        requireIndexable(blockCount, WORDS, "words of hash");
        hashes = new long[blockCount * WORDS];
        if (verifyTokens) {
            requireIndexable(blockCount, mostTokens, "tokens to verify");
        }
        tokens = new int[verifyTokens ? blockCount * mostTokens : 0];
        eldest = new KeyTable(blockCount);
        younger = new int[blockCount];
        elder = new int[blockCount];
        groups = new byte[blockCount];
        parentTags = new int[blockCount];
        unsettled = new BitSet(blockCount);
        chainIndex = new int[settings.blockCount()];
        Arrays.fill(chainIndex, UNKEYED);
    }

    boolean isKeyed(int block) {
        return chainIndex[block] != UNKEYED;
    }

    /** The 64-bit key of a keyed block, the same in every group. */
    long key(int block) {
        return hashes[block * WORDS + KEY_WORD];
    }

    /** The 32 bytes of a keyed block's hash; a new array. */
    byte[] hash(int block) {
        ByteBuffer hash = ByteBuffer.allocate(WORDS * Long.BYTES);
        hash.asLongBuffer().put(hashes, block * WORDS, WORDS);
        return hash.array();
    }

    /** The first tokens of a keyed block, if they are kept; a new array. */
    int[] tokens(int block, int count) {
        return Arrays.copyOfRange(tokens, block * mostTokens, block * mostTokens + count);
    }

    /** Copies where in its chain each block stands, or {@link #UNKEYED}, and the keys of those that carry one. */
    void copyTo(int[] indexes, long[] keys) {
        System.arraycopy(chainIndex, 0, indexes, 0, chainIndex.length);
        for (int block = 0; block < chainIndex.length; block++) {
            keys[block] = chainIndex[block] == UNKEYED ? 0 : hashes[block * WORDS + KEY_WORD];
        }
    }

    int group(int block) {
        return groups[block];
    }

    void setSettled(int block, boolean settled) {
        unsettled.set(block, !settled);
    }

    boolean isSettled(int block) {
        return !unsettled.get(block);
    }

    /** Different keys of one group. */
    int keyCount(int group) {
        return keyCounts[group];
    }

    /** Blocks looked at under the right key with another hash or other tokens. */
    long collisions() {
        return collisions;
    }

    /**
     * The eldest block that carries a block of a chain for a group: equal in all 32 bytes of its hash and, if so set,
     * in its tokens. A settled one goes before one whose content may be lost with a step that fails.
     *
     * @param chain       in blocks of the group's size
     * @param chainTokens the chain's tokens from its first on
     * @return {@link BlockPool#NO_BLOCK} if none does
     */
    int find(BlockHashChain chain, int index, int[] chainTokens, int group) {
        int slot = slotOf(chain.key(index), group);
        if (slot == KeyTable.NONE) {
            return BlockPool.NO_BLOCK;
        }
        int first = eldest.block(slot);
        int block = first;
        int found = BlockPool.NO_BLOCK;
        do {
            if (!holds(block, chain, index, chainTokens)) {
                collisions++;
            } else if (isSettled(block)) {
                return block;
            } else if (found == BlockPool.NO_BLOCK) {
                found = block;
            }
            block = younger[block];
        } while (block != first);
        return found;
    }

    /**
     * Gives an unkeyed block the key of a full block of a chain.
     *
     * @param group 0 to {@link #MAX_GROUPS} - 1
     * @return true if it is the only one under this key
     */
    boolean add(int block, BlockHashChain chain, int index, int[] chainTokens, int group) {
        Objects.checkIndex(group, MAX_GROUPS);
        chain.copyHash(index, hashes, block * WORDS);
        if (verifyTokens) {
            int count = chain.blockSize();
            System.arraycopy(chainTokens, index * count, tokens, block * mostTokens, count);
        }
        chainIndex[block] = index;
        groups[block] = (byte) group;
        parentTags[block] = index == 0 ? 0 : (int) chain.key(index - 1);
        keyedCount++;
        boolean only = joinRing(block);
        keyCounts[group] += only ? 1 : 0;
        return only;
    }

    /** Takes a keyed block's key away. @return true if it was the only one under this key */
    boolean remove(int block) {
        boolean only = leaveRing(block);
        keyCounts[groups[block]] -= only ? 1 : 0;
        keyedCount--;
        chainIndex[block] = UNKEYED;
        return only;
    }

    /**
     * All that carries one of these keys, in any group, and all that was built on it, key by key: so what lies behind a
     * key that nobody carries any more is not found. Looks at every block.
     *
     * @param keys      gets the keys of what is found
     * @param orphansToo whether blocks count as found, too, whose parent's key nobody carries: only windows leave such
     * @return the blocks, the deepest first; a new array
     */
    int[] builtOn(Set<Long> keys, boolean orphansToo) {
        long[] byDepth = IntStream.range(0, parentTags.length)
                .filter(this::isKeyed)
                .mapToLong(block -> (long) chainIndex[block] << Integer.SIZE | block)
                .sorted()
                .toArray();
        // one pair of keys in four billion has the same half: then more is found, with all that was built on it, or an
        // orphan passes for the child of another
        Set<Integer> tags = new HashSet<>();
        keys.forEach(key -> tags.add(key.intValue()));
        Set<Integer> carried = new HashSet<>();
        int[] found = new int[byDepth.length];
        int count = 0;
        for (long each : byDepth) {                                 // parents come before their children
            int block = (int) each;
            boolean inside = chainIndex[block] > 0;
            if (keys.contains(key(block)) || inside && tags.contains(parentTags[block])
                    || inside && orphansToo && !carried.contains(parentTags[block])) {
                keys.add(key(block));
                tags.add((int) key(block));
                found[found.length - ++count] = block;
            }
            if (orphansToo) {
                carried.add((int) key(block));
            }
        }
        return Arrays.copyOfRange(found, found.length - count, found.length);
    }

    void clear() {
        eldest.clear();
        Arrays.fill(chainIndex, UNKEYED);
        Arrays.fill(keyCounts, 0);
        keyedCount = 0;
    }

    /** Every key of a group once, in no order; a new array. */
    long[] keysOf(int group) {
        long[] keys = new long[keyCounts[group]];
        int count = 0;
        for (int slot = 0; slot < eldest.slotCount(); slot++) {
            int block = eldest.block(slot);
            if (block != BlockPool.NULL_BLOCK && groups[block] == group) {
                keys[count++] = key(block);
            }
        }
        return keys;
    }

    /**
     * Audits: keyed blocks, and only they, are found under their key (I3), and the counts are right.
     *
     * @throws IllegalStateException naming the first thing that is wrong
     */
    void checkIntegrity() {
        int found = 0;
        int[] keysFound = new int[MAX_GROUPS];
        for (int slot = 0; slot < eldest.slotCount(); slot++) {
            int first = eldest.block(slot);
            if (first == BlockPool.NULL_BLOCK) {
                continue;
            }
            keysFound[groups[first]]++;
            int block = first;
            do {
                require(isKeyed(block), block, "not keyed but found under a key");
                require(slotOf(key(block), groups[block]) == slot, block, "found under a key not its own");
                require(elder[younger[block]] == block, block, "in a broken ring");
                found++;
                block = younger[block];
            } while (block != first && found <= keyedCount);
        }
        int marked = 0;
        for (int index : chainIndex) {
            marked += index == UNKEYED ? 0 : 1;
        }
        if (found != keyedCount || marked != keyedCount) {
            throw new IllegalStateException(
                    keyedCount + " keyed blocks counted, " + marked + " marked, " + found + " found by their keys");
        }
        if (!Arrays.equals(keysFound, keyCounts)) {
            throw new IllegalStateException("keys per group " + Arrays.toString(keyCounts) + " counted, "
                    + Arrays.toString(keysFound) + " found");
        }
    }

    /** For messages. */
    String describe(int block) {
        return isKeyed(block) ? "keyed as block " + chainIndex[block] + " of its chain" : "unkeyed";
    }

    private boolean holds(int block, BlockHashChain chain, int index, int[] chainTokens) {
        int count = chain.blockSize();
        return chain.hashEquals(index, hashes, block * WORDS) && (!verifyTokens || Arrays.equals(
                tokens, block * mostTokens, block * mostTokens + count,
                chainTokens, index * count, (index + 1) * count));
    }

    private boolean joinRing(int block) {
        int slot = slotOf(key(block), groups[block]);
        if (slot == KeyTable.NONE) {
            eldest.add(tag(key(block), groups[block]), block);
            younger[block] = elder[block] = block;
            return true;
        }
        int first = eldest.block(slot);
        int last = elder[first];
        younger[last] = block;
        elder[block] = last;
        younger[block] = first;
        elder[first] = block;
        return false;
    }

    private boolean leaveRing(int block) {
        // by the block itself and not by its key: no other block's hash is looked at
        int slot = eldest.find(tag(key(block), groups[block]), block);
        int follower = younger[block];
        if (follower == block) {
            eldest.remove(slot);
            return true;
        }
        younger[elder[block]] = follower;
        elder[follower] = elder[block];
        if (slot != KeyTable.NONE) {
            eldest.replace(slot, follower);
        }
        return false;
    }

    private int slotOf(long key, int group) {
        int tag = tag(key, group);
        int slot = eldest.find(tag);
        while (slot != KeyTable.NONE) {
            int block = eldest.block(slot);
            if (key(block) == key && groups[block] == group) {
                break;
            }
            slot = eldest.findNext(slot, tag);
        }
        return slot;
    }

    /** Sets the groups apart, in which the same key is common. */
    private static int tag(long key, int group) {
        return (int) key + group * 0x9e3779b9;
    }

    private static void requireIndexable(int blockCount, int perBlock, String what) {
        if ((long) blockCount * perBlock > MAX_ARRAY_LENGTH) {
            throw new IllegalArgumentException(blockCount + " blocks have " + (long) blockCount * perBlock + " "
                    + what + ", at most " + MAX_ARRAY_LENGTH + " can be kept");
        }
    }

    private void require(boolean condition, int block, String state) {
        if (!condition) {
            throw new IllegalStateException("block " + block + " is " + state + ": chain index " + chainIndex[block]);
        }
    }
}
