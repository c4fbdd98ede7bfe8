package dev.warmpath.protocol.pool;

import dev.warmpath.protocol.event.EventFormatException;
import java.util.Arrays;
import java.util.BitSet;
import java.util.List;

/**
 * The pool as it stood between two steps of the engine, or what changed in it since the frame before. Only the blocks
 * are told as changes; all else is whole in each frame. Nobody writes to its arrays and its set.
 *
 * @param sample   counts up by one from frame to frame, but for a whole one, which may come after a gap
 * @param atMillis when that was, since the worker's start
 * @param whole    true: a block that {@code blocks} does not name is held by nobody, carries no key and was never used
 * @param held     true while the engine is stepped by hand
 * @param blocks   all that have something to say, or those that changed
 * @param next     the first {@link #MAX_NEXT} free blocks, in the order in which they would be taken
 * @param hostUsed the blocks of swap space that are in use
 * @param requests the first {@link #MAX_REQUESTS} that run, in order of admission, and then wait, in order of service
 */
public record PoolFrame(
        long sample,
        long atMillis,
        boolean whole,
        boolean held,
        PoolShape shape,
        PoolCounters counters,
        PoolBlocks blocks,
        int[] next,
        BitSet hostUsed,
        List<PoolRequest> requests) {

    public static final int MAX_NEXT = 256;
    public static final int MAX_REQUESTS = 256;

    public PoolFrame {
        int before = -1;
        for (int id : blocks.ids()) {
            if (id <= before || id >= shape.blockCount()) {
                throw new EventFormatException(
                        "block " + id + " behind block " + before + " of " + shape.blockCount() + " is not possible");
            }
            before = id;
        }
        for (int id : next) {
            if (id < 0 || id >= shape.blockCount()) {
                throw new EventFormatException("block " + id + " of " + shape.blockCount() + " cannot come next");
            }
        }
        if (hostUsed.length() > shape.hostBlockCount()) {
            throw new EventFormatException("host block " + (hostUsed.length() - 1) + " of " + shape.hostBlockCount()
                    + " cannot be in use");
        }
        if (next.length > MAX_NEXT || requests.size() > MAX_REQUESTS) {
            throw new EventFormatException(next.length + " next blocks and " + requests.size()
                    + " requests are too many, " + MAX_NEXT + " and " + MAX_REQUESTS + " are allowed");
        }
        requests = List.copyOf(requests);
    }

    @Override
    public boolean equals(Object other) {
        return other instanceof PoolFrame frame && frame.sample == sample && frame.atMillis == atMillis
                && frame.whole == whole && frame.held == held && frame.shape.equals(shape)
                && frame.counters.equals(counters) && frame.blocks.equals(blocks) && Arrays.equals(frame.next, next)
                && frame.hostUsed.equals(hostUsed) && frame.requests.equals(requests);
    }

    @Override
    public int hashCode() {
        return Long.hashCode(sample) * 31 + blocks.hashCode();
    }
}
