package dev.warmpath.worker.poolfeed;

import dev.warmpath.protocol.pool.PoolBlocks;
import dev.warmpath.protocol.pool.PoolCounters;
import dev.warmpath.protocol.pool.PoolFrame;
import dev.warmpath.protocol.pool.PoolRequest;
import dev.warmpath.protocol.pool.PoolShape;
import dev.warmpath.worker.engine.EngineBooks;
import dev.warmpath.worker.engine.EngineSnapshot;
import dev.warmpath.worker.kvcache.KvCacheSettings;
import dev.warmpath.worker.kvcache.PoolImage;
import java.util.ArrayList;
import java.util.List;
import java.util.function.IntPredicate;
import java.util.stream.IntStream;

/**
 * An engine's books as they stood between two steps. The engine's thread copies arrays and a few hundred requests; what
 * is to be told of them is worked out on the reader's.
 *
 * @param image     written again when the sample after the next is taken
 * @param copyNanos how long the engine's thread was at it
 */
record PoolSample(PoolShape shape, PoolImage image, EngineSnapshot snapshot, List<PoolRequest> requests, boolean held,
        long copyNanos) {

    /** On the engine's thread. @param image of the same pool, which nobody reads any more */
    static PoolSample take(EngineBooks books, PoolImage image) {
        long start = System.nanoTime();
        KvCacheSettings settings = books.pool().settings();
        var shape = new PoolShape(settings.blockSize(), settings.blockCount(),
                Math.min(settings.hostBlockCount(), PoolShape.MAX_HOST_BLOCKS), settings.groups().size());
        books.pool().copyTo(image, books.nowNanos());
        List<PoolRequest> requests = requests(books);
        return new PoolSample(shape, image, books.snapshot(), requests, books.held(), System.nanoTime() - start);
    }

    private static List<PoolRequest> requests(EngineBooks books) {
        var parts = new LatestParts(books);
        List<PoolRequest> requests = new ArrayList<>();
        books.forEachAlive(sequence -> {
            if (requests.size() < PoolFrame.MAX_REQUESTS) {
                requests.add(parts.describe(sequence));
            }
        });
        return requests;
    }

    /** All of it. */
    PoolFrame whole(long number) {
        return frame(number, true, blocks(block -> !image.isUntouched(block)));
    }

    /** What is not as it was in another sample of the same pool. */
    PoolFrame changes(long number, PoolSample before) {
        return frame(number, false, blocks(block -> !image.isSame(block, before.image)));
    }

    private PoolFrame frame(long number, boolean whole, PoolBlocks blocks) {
        return new PoolFrame(number, image.atMillis(), whole, held, shape, counters(), blocks, image.next(),
                image.hostUsed().get(0, shape.hostBlockCount()), requests);
    }

    private PoolBlocks blocks(IntPredicate told) {
        int[] ids = IntStream.range(0, image.blockCount()).filter(told).toArray();
        int[] references = new int[ids.length];
        boolean[] keyed = new boolean[ids.length];
        long[] keys = new long[ids.length];
        long[] lastUseMillis = new long[ids.length];
        for (int i = 0; i < ids.length; i++) {
            references[i] = image.references(ids[i]);
            keyed[i] = image.isKeyed(ids[i]);
            keys[i] = image.key(ids[i]);
            lastUseMillis[i] = image.lastUseMillis(ids[i]);
        }
        return new PoolBlocks(ids, references, keyed, keys, lastUseMillis);
    }

    private PoolCounters counters() {
        int keyed = 0;
        for (int block = 0; block < image.blockCount(); block++) {
            keyed += image.isKeyed(block) ? 1 : 0;
        }
        EngineSnapshot.Pool pool = snapshot.pool();
        EngineSnapshot.PrefixCache cache = snapshot.prefixCache();
        EngineSnapshot.Work work = snapshot.work();
        return new PoolCounters(pool.usedBlocks(), pool.freeBlocks(), keyed, cache.queriedTokens(), cache.hitTokens(),
                work.computedTokens(), work.generatedTokens(), work.steps(), work.recomputePreemptions(),
                work.swapPreemptions(), cache.evictions(), snapshot.load().running(), snapshot.load().waiting());
    }
}
