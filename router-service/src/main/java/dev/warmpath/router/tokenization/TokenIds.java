package dev.warmpath.router.tokenization;

import java.util.Arrays;

/** Token ids while a prompt is put together. */
final class TokenIds {
    private int[] ids = new int[256];
    private int count;

    void add(int id) {
        reserve(1);
        ids[count++] = id;
    }

    void addAll(int[] more) {
        reserve(more.length);
        System.arraycopy(more, 0, ids, count, more.length);
        count += more.length;
    }

    private void reserve(int more) {
        if (count + more > ids.length) {
            ids = Arrays.copyOf(ids, Math.max(2 * ids.length, count + more));
        }
    }

    int[] toArray() {
        return Arrays.copyOf(ids, count);
    }
}
