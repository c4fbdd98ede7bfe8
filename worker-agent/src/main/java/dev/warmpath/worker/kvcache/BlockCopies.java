package dev.warmpath.worker.kvcache;

import java.util.Arrays;

/**
 * The block copies that must be done before the next forward pass, in this order: a later one may read what an earlier
 * one wrote, and write what an earlier one read. Filled by the cache, emptied by whoever had them done.
 */
public final class BlockCopies {

    /** From where to where. Device blocks count from 0, the null block; host blocks from 0 too. */
    public enum Direction { WITHIN_DEVICE, TO_HOST, TO_DEVICE }

    private Direction[] directions = new Direction[16];
    private int[] sources = new int[16];
    private int[] targets = new int[16];
    private int size;

    BlockCopies() {}

    public int size() {
        return size;
    }

    /** @param i 0 to {@link #size} - 1, in the order of doing */
    public Direction direction(int i) {
        requireIndex(i);
        return directions[i];
    }

    public int source(int i) {
        requireIndex(i);
        return sources[i];
    }

    public int target(int i) {
        requireIndex(i);
        return targets[i];
    }

    /** All are done. */
    public void clear() {
        size = 0;
    }

    void add(Direction direction, int source, int target) {
        if (size == sources.length) {
            directions = Arrays.copyOf(directions, size * 2);
            sources = Arrays.copyOf(sources, size * 2);
            targets = Arrays.copyOf(targets, size * 2);
        }
        directions[size] = direction;
        sources[size] = source;
        targets[size++] = target;
    }

    @Override
    public String toString() {
        var text = new StringBuilder("[");
        for (int i = 0; i < size; i++) {
            text.append(i == 0 ? "" : ", ").append(directions[i]).append(' ')
                    .append(sources[i]).append("->").append(targets[i]);
        }
        return text.append(']').toString();
    }

    private void requireIndex(int i) {
        if (i >= size) {
            throw new IndexOutOfBoundsException("copy " + i + " of " + size);
        }
    }
}
