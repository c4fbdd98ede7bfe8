package dev.warmpath.router.live;

import com.fasterxml.jackson.annotation.JsonInclude;
import dev.warmpath.protocol.pool.PoolBlocks;
import dev.warmpath.protocol.pool.PoolCopy;
import dev.warmpath.protocol.pool.PoolFrame;
import dev.warmpath.router.fleet.FleetWorker;
import java.util.Base64;
import java.util.BitSet;
import java.util.List;
import org.jspecify.annotations.Nullable;
import tools.jackson.databind.PropertyNamingStrategies.SnakeCaseStrategy;
import tools.jackson.databind.annotation.JsonNaming;

/**
 * A pool, or what changed in it, as a page draws it. A block is one byte: the code of its
 * {@link dev.warmpath.protocol.pool.BlockState} in the lower three bits, how many sequences hold it in the upper five.
 *
 * @param whole     true: {@code cells} has every block; false: {@code changed} has those that are not as they were in
 *                  the picture before
 * @param sample    counts up by one from picture to picture; behind a gap the next whole one is to be waited for
 * @param blocks    the null block among them
 * @param cells     a byte a block, in Base64
 * @param changed   pairs of a block and its byte
 * @param host      a byte for each block of swap space, 1 where it is in use, in Base64; null if it is as before
 * @param next      free blocks in the order in which they would be taken
 * @param counters  since the worker's start
 * @param held      true while the worker is stepped by hand
 */
@JsonInclude(JsonInclude.Include.NON_NULL)
@JsonNaming(SnakeCaseStrategy.class)
record PoolPicture(String worker, long epoch, boolean whole, long sample, int blockSize, int blocks, int hostBlocks,
        int groups, @Nullable String cells, int @Nullable [] changed, @Nullable String host, int[] next,
        Counters counters, boolean held, List<Request> requests) {

    private static final int MOST_REFERENCES = 31;
    private static final int REFERENCES_SHIFT = 3;

    /** As {@link dev.warmpath.protocol.pool.PoolCounters}. */
    @JsonNaming(SnakeCaseStrategy.class)
    record Counters(long usedBlocks, long freeBlocks, long cachedBlocks, long queriedTokens, long hitTokens,
            long computedTokens, long generatedTokens, long steps, long recomputePreemptions, long swapPreemptions,
            long evictions, long running, long waiting) {}

    /** As {@link dev.warmpath.protocol.pool.PoolRequest}. */
    @JsonNaming(SnakeCaseStrategy.class)
    record Request(String id, int choice, String state, int promptTokens, int cachedTokens, int computedTokens,
            int drawnTokens, int scheduledTokens) {}

    /** A worker without a pool to look at. */
    record Unavailable(String worker, String unavailable) {}

    /** All of it. @param copy which the last frame has been applied to */
    static PoolPicture whole(FleetWorker worker, PoolCopy copy, PoolFrame last) {
        byte[] cells = new byte[copy.blockCount()];
        for (int block = 0; block < cells.length; block++) {
            cells[block] = cell(copy, block);
        }
        return of(worker, last, Base64.getEncoder().encodeToString(cells), null, /* hostToo */ true);
    }

    /** What a frame has changed that was applied last. @param before the frame before */
    static PoolPicture changes(FleetWorker worker, PoolCopy copy, PoolFrame last, PoolFrame before) {
        PoolBlocks blocks = last.blocks();
        int[] changed = new int[2 * blocks.count()];
        for (int i = 0; i < blocks.count(); i++) {
            changed[2 * i] = blocks.ids()[i];
            changed[2 * i + 1] = Byte.toUnsignedInt(cell(copy, blocks.ids()[i]));
        }
        return of(worker, last, null, changed, /* hostToo */ !last.hostUsed().equals(before.hostUsed()));
    }

    private static PoolPicture of(FleetWorker worker, PoolFrame frame, @Nullable String cells,
            int @Nullable [] changed, boolean hostToo) {
        var shape = frame.shape();
        var counters = frame.counters();
        return new PoolPicture(worker.id(), worker.epoch(), cells != null, frame.sample(), shape.blockSize(),
                shape.blockCount(), shape.hostBlockCount(), shape.groupCount(), cells, changed,
                hostToo ? bytes(frame.hostUsed(), shape.hostBlockCount()) : null, frame.next(),
                new Counters(counters.usedBlocks(), counters.freeBlocks(), counters.cachedBlocks(),
                        counters.queriedTokens(), counters.hitTokens(), counters.computedTokens(),
                        counters.generatedTokens(), counters.steps(), counters.recomputePreemptions(),
                        counters.swapPreemptions(), counters.evictions(), counters.running(), counters.waiting()),
                frame.held(),
                frame.requests().stream().map(each -> new Request(each.id(), each.choice(),
                        Texts.lower(each.state()), each.promptTokens(), each.cachedTokens(), each.computedTokens(),
                        each.drawnTokens(), each.scheduledTokens())).toList());
    }

    private static byte cell(PoolCopy copy, int block) {
        int references = Math.min(copy.references(block), MOST_REFERENCES);
        return (byte) (copy.state(block).code() | references << REFERENCES_SHIFT);
    }

    private static String bytes(BitSet used, int count) {
        byte[] bytes = new byte[count];
        used.stream().forEach(block -> bytes[block] = 1);
        return Base64.getEncoder().encodeToString(bytes);
    }
}
