package dev.warmpath.protocol.pool;

import dev.warmpath.protocol.event.EventFormatException;
import java.util.Arrays;

/**
 * Some blocks of a pool, each with all that a frame says of it: parallel arrays, never written after construction.
 *
 * @param ids           ascending, none twice
 * @param references    how many sequences hold each
 * @param keyed         whether it carries a key
 * @param keys          the last 8 bytes of its hash; 0 where it carries none
 * @param lastUseMillis when it was last taken, hit or let go, in milliseconds since the worker's start, rounded up by
 *                      at most 17, so that it may lie behind the frame's own time; 0 = never
 */
public record PoolBlocks(int[] ids, int[] references, boolean[] keyed, long[] keys, long[] lastUseMillis) {

    public static final PoolBlocks NONE =
            new PoolBlocks(new int[0], new int[0], new boolean[0], new long[0], new long[0]);

    public PoolBlocks {
        int count = ids.length;
        if (references.length != count || keyed.length != count || keys.length != count
                || lastUseMillis.length != count) {
            throw new EventFormatException(count + " blocks with " + references.length + " references, "
                    + keyed.length + " marks, " + keys.length + " keys and " + lastUseMillis.length + " times");
        }
    }

    public int count() {
        return ids.length;
    }

    @Override
    public boolean equals(Object other) {
        return other instanceof PoolBlocks(var i, var r, var d, var k, var l)
                && Arrays.equals(i, ids) && Arrays.equals(r, references) && Arrays.equals(d, keyed)
                && Arrays.equals(k, keys) && Arrays.equals(l, lastUseMillis);
    }

    @Override
    public int hashCode() {
        return Arrays.hashCode(ids) * 31 + Arrays.hashCode(keys);
    }

    @Override
    public String toString() {
        return "PoolBlocks[ids=" + Arrays.toString(ids) + ", references=" + Arrays.toString(references) + ", keyed="
                + Arrays.toString(keyed) + ", keys=" + Arrays.toString(keys) + ", lastUseMillis="
                + Arrays.toString(lastUseMillis) + "]";
    }
}
