package dev.warmpath.worker.kvcache;

/**
 * The blocks that nobody holds, in the order in which they are given away. A ring of links through two arrays, closed
 * by a sentinel: every operation is a handful of writes wherever the block stands, and none allocates.
 */
final class FreeQueue {

    /** As a cursor, the place before the first block; as an answer, that behind the last. */
    static final int END = -1;
    private static final int UNLINKED = -1;

    /** [capacity + 1]; the last element is the sentinel: its next is the head, its previous the tail. */
    private final int[] next;
    private final int[] previous;
    private final int sentinel;
    private int size;

    /** A queue of the blocks 0 to {@code capacity - 1}, in this order. */
    FreeQueue(int capacity) {
        next = new int[capacity + 1];
        previous = new int[capacity + 1];
        sentinel = capacity;
        next[sentinel] = previous[sentinel] = sentinel;
        for (int block = 0; block < capacity; block++) {
            link(previous[sentinel], block, sentinel);
        }
    }

    int size() {
        return size;
    }

    boolean contains(int block) {
        return next[block] != UNLINKED;
    }

    /** @throws IllegalStateException if the queue is empty */
    int popFirst() {
        int block = next[sentinel];
        if (block == sentinel) {
            throw new IllegalStateException("the free queue is empty");
        }
        remove(block);
        return block;
    }

    /** @throws IllegalStateException if the block is not in the queue */
    void remove(int block) {
        if (!contains(block)) {
            throw new IllegalStateException("block " + block + " is not in the free queue");
        }
        next[previous[block]] = next[block];
        previous[next[block]] = previous[block];
        next[block] = previous[block] = UNLINKED;
        size--;
    }

    /** Puts a block last. @throws IllegalStateException if it is in the queue already */
    void append(int block) {
        requireAbsent(block);
        link(previous[sentinel], block, sentinel);
    }

    /**
     * Puts a block behind another one, or first. Several blocks come to stand before all others in their own order if
     * each is put behind the one before.
     *
     * @param cursor a block of the queue, or {@link #END}
     * @throws IllegalStateException if the block is in the queue already, or the cursor is not
     */
    void insertAfter(int cursor, int block) {
        requireAbsent(block);
        int before = position(cursor);
        link(before, block, next[before]);
    }

    /**
     * The block behind another one, or the first.
     *
     * @param cursor a block of the queue, or {@link #END}
     * @return {@link #END} behind the last
     * @throws IllegalStateException if the cursor is not in the queue
     */
    int after(int cursor) {
        int follower = next[position(cursor)];
        return follower == sentinel ? END : follower;
    }

    /** Copies the blocks from the head on, as many as there is room for. @return how many */
    int copyFirst(int[] target) {
        int count = 0;
        for (int block = next[sentinel]; block != sentinel && count < target.length; block = next[block]) {
            target[count++] = block;
        }
        return count;
    }

    /** The blocks from head to tail, for tests and audits. @throws IllegalStateException if the links are broken */
    int[] listing() {
        int[] blocks = new int[size];
        int block = END;
        for (int i = 0; i < size; i++) {
            int follower = after(block);
            if (follower == END || previous[follower] != position(block)) {
                throw new IllegalStateException("free queue of " + size + " is broken after " + i + " blocks");
            }
            blocks[i] = block = follower;
        }
        if (after(block) != END) {
            throw new IllegalStateException("free queue of " + size + " goes on after its tail " + block);
        }
        return blocks;
    }

    private int position(int cursor) {
        if (cursor == END) {
            return sentinel;
        }
        if (!contains(cursor)) {
            throw new IllegalStateException("block " + cursor + " is not in the free queue");
        }
        return cursor;
    }

    private void requireAbsent(int block) {
        if (contains(block)) {
            throw new IllegalStateException("block " + block + " is in the free queue already");
        }
    }

    private void link(int before, int block, int after) {
        next[before] = block;
        previous[block] = before;
        next[block] = after;
        previous[after] = block;
        size++;
    }
}
