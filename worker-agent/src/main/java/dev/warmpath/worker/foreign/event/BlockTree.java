package dev.warmpath.worker.foreign.event;

import static dev.warmpath.protocol.block.BlockHashChain.WORDS_PER_HASH;

import dev.warmpath.protocol.event.KeySetDigest;
import java.util.Arrays;

/**
 * The blocks that an engine holds, found by its handles: our hash of each, its parent, and how many copies there are.
 *
 * <p>52 bytes a block in pages of {@link #PAGE} blocks, which are never moved, and an open-addressed index of one
 * {@code int} a slot, between four and two thirds full, which grows by half: 58 to 61 bytes a block in all. A removal
 * closes the gap behind it in the index, hence no tombstones; the freed block's place is used again.
 */
final class BlockTree {

    /** No block: the parent of a prompt's first one, and what is not found. */
    static final int NONE = -1;

    private static final int PAGE_BITS = 10;
    private static final int PAGE = 1 << PAGE_BITS;
    private static final int LONGS = 1 + WORDS_PER_HASH;
    private static final int INTS = 3;
    private static final int PARENT = 0;
    private static final int CHILDREN = 1;
    private static final int COPIES = 2;
    private static final int SMALLEST_INDEX = 96;

    /** [pages][PAGE * 5]: the handle and the four words of our hash. */
    private long[][] hashes = {};
    /** [pages][PAGE * 3]: parent, number of children, number of copies; of a free place the next free one, -, 0. */
    private int[][] links = {};
    private int placeCount;
    private int firstFree = NONE;
    private int size;
    /** Block + 1 by handle; 0 is free. */
    private int[] index = new int[SMALLEST_INDEX];

    int size() {
        return size;
    }

    int find(long handle) {
        return index[slotOf(handle)] - 1;
    }

    /**
     * Adds the first copy of a block that is not here.
     *
     * @param parent a block that is here, or {@link #NONE}
     * @param hash   [4] our hash of it
     */
    int add(long handle, int parent, long[] hash) {
        if (size * 3L >= index.length * 2L) {
            growIndex();
        }
        int block = place();
        long[] page = hashes[block >>> PAGE_BITS];
        int at = longsAt(block);
        page[at] = handle;
        System.arraycopy(hash, 0, page, at + 1, WORDS_PER_HASH);
        setLink(block, PARENT, parent);
        setLink(block, CHILDREN, 0);
        setLink(block, COPIES, 1);
        if (parent != NONE) {
            setLink(parent, CHILDREN, link(parent, CHILDREN) + 1);
        }
        index[slotOf(handle)] = block + 1;
        size++;
        return block;
    }

    void addCopy(int block) {
        setLink(block, COPIES, link(block, COPIES) + 1);
    }

    /** @return copies that are left */
    int removeCopy(int block) {
        int left = link(block, COPIES) - 1;
        setLink(block, COPIES, left);
        return left;
    }

    /** Removes a block without children, whatever copies there are. */
    void remove(int block) {
        int parent = link(block, PARENT);
        if (parent != NONE) {
            setLink(parent, CHILDREN, link(parent, CHILDREN) - 1);
        }
        closeHole(slotOf(handle(block)));
        setLink(block, COPIES, 0);
        setLink(block, PARENT, firstFree);
        firstFree = block;
        size--;
    }

    /** True if the block was not removed. */
    boolean isHeld(int block) {
        return link(block, COPIES) > 0;
    }

    boolean hasChildren(int block) {
        return link(block, CHILDREN) > 0;
    }

    int parent(int block) {
        return link(block, PARENT);
    }

    /** The last word of our hash. */
    long key(int block) {
        return hashes[block >>> PAGE_BITS][longsAt(block) + WORDS_PER_HASH];
    }

    void copyHash(int block, long[] target) {
        System.arraycopy(hashes[block >>> PAGE_BITS], longsAt(block) + 1, target, 0, WORDS_PER_HASH);
    }

    /**
     * All blocks whose chain of parents goes through a block, in no particular order. Looks at every block there is, at
     * each but once: for what does not happen in an engine that gives up a chain from its end.
     */
    int[] descendants(int ancestor) {
        var below = new boolean[placeCount];
        var known = new boolean[placeCount];
        below[ancestor] = known[ancestor] = true;
        int[] found = new int[size];
        int count = 0;
        for (int block = 0; block < placeCount; block++) {
            if (known[block] || !isHeld(block)) {
                continue;
            }
            int end = block;
            while (end != NONE && !known[end]) {
                end = link(end, PARENT);
            }
            boolean isBelow = end != NONE && below[end];
            for (int at = block; at != end; at = link(at, PARENT)) {
                known[at] = true;
                below[at] = isBelow;
                if (isBelow) {
                    found[count++] = at;
                }
            }
        }
        return Arrays.copyOf(found, count);
    }

    void clear() {
        hashes = new long[0][];
        links = new int[0][];
        index = new int[SMALLEST_INDEX];
        placeCount = 0;
        firstFree = NONE;
        size = 0;
    }

    private int place() {
        if (firstFree != NONE) {
            int free = firstFree;
            firstFree = link(free, PARENT);
            return free;
        }
        if (placeCount == hashes.length << PAGE_BITS) {
            hashes = Arrays.copyOf(hashes, hashes.length + 1);
            links = Arrays.copyOf(links, links.length + 1);
            hashes[hashes.length - 1] = new long[PAGE * LONGS];
            links[links.length - 1] = new int[PAGE * INTS];
        }
        return placeCount++;
    }

    private static int longsAt(int block) {
        return (block & PAGE - 1) * LONGS;
    }

    private int link(int block, int which) {
        return links[block >>> PAGE_BITS][(block & PAGE - 1) * INTS + which];
    }

    private void setLink(int block, int which, int value) {
        links[block >>> PAGE_BITS][(block & PAGE - 1) * INTS + which] = value;
    }

    private long handle(int block) {
        return hashes[block >>> PAGE_BITS][longsAt(block)];
    }

    /** Where the handle is, or the free slot where it would go. */
    private int slotOf(long handle) {
        int slot = home(handle);
        while (index[slot] != 0 && handle(index[slot] - 1) != handle) {
            slot = next(slot);
        }
        return slot;
    }

    /** At mixed handle / 2^32 of the slots, so that their number need not be a power of two. */
    private int home(long handle) {
        return (int) ((KeySetDigest.mix(handle) >>> Integer.SIZE) * index.length >>> Integer.SIZE);
    }

    private int next(int slot) {
        return slot + 1 == index.length ? 0 : slot + 1;
    }

    /** Steps of a probe from one slot to another. */
    private int distance(int from, int to) {
        return to >= from ? to - from : to - from + index.length;
    }

    private void closeHole(int emptied) {
        int hole = emptied;
        for (int slot = next(hole); index[slot] != 0; slot = next(slot)) {
            if (distance(home(handle(index[slot] - 1)), slot) >= distance(hole, slot)) {
                index[hole] = index[slot];
                hole = slot;
            }
        }
        index[hole] = 0;
    }

    private void growIndex() {
        int[] old = index;
        index = new int[old.length + old.length / 2];
        for (int entry : old) {
            if (entry != 0) {
                index[slotOf(handle(entry - 1))] = entry;
            }
        }
    }
}
