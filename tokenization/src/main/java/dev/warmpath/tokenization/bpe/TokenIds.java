package dev.warmpath.tokenization.bpe;

import java.util.Arrays;

/** Token ids while a prompt is put together. One thread. */
public final class TokenIds {
    private int[] ids = new int[256];
    private int count;

    public void add(int id) {
        if (count == ids.length) {
            reserve(1);
        }
        ids[count++] = id;
    }

    public void addAll(int[] more) {
        addAll(more, 0, more.length);
    }

    /** Adds {@code more[from, to)}. */
    void addAll(int[] more, int from, int to) {
        reserve(to - from);
        System.arraycopy(more, from, ids, count, to - from);
        count += to - from;
    }

    private void reserve(int more) {
        if (count + more > ids.length) {
            ids = Arrays.copyOf(ids, Math.max(2 * ids.length, count + more));
        }
    }

    public int get(int index) {
        return ids[index];
    }

    public int count() {
        return count;
    }

    /** Makes one of each run of an id, among those from {@code from} on. */
    void fuse(int from, int id) {
        int kept = from;
        for (int i = from; i < count; i++) {
            if (i == from || ids[i] != id || ids[i - 1] != id) {
                ids[kept++] = ids[i];
            }
        }
        count = kept;
    }

    /** Takes back all ids but the first {@code kept}. */
    void cutTo(int kept) {
        count = kept;
    }

    public int[] toArray() {
        return Arrays.copyOf(ids, count);
    }

    /** The ids from {@code from} on. */
    public int[] toArray(int from) {
        return Arrays.copyOfRange(ids, from, count);
    }
}
