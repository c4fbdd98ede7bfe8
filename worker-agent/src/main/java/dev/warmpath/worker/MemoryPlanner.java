package dev.warmpath.worker;

import dev.warmpath.worker.compute.MemoryPlace;
import dev.warmpath.worker.model.ModelConfig;
import java.util.Locale;
import org.jspecify.annotations.Nullable;
import org.springframework.util.unit.DataSize;

/**
 * Shares a machine's memory out among the workers of one fleet, before any of them is started:
 * <pre>
 *   machine   what the system keeps │ routers │ worker │ worker │ …
 *   worker    heap: what its model holds there │ KV cache, swap space │ slack, of which half is for new objects
 *             beside: weights that lie there │ buffers of connections │ the JVM itself
 * </pre>
 * A cache of processors lies on the heap; a device has memory of its own, of which its workers get equal parts.
 */
final class MemoryPlanner {

    /** Buffers of connections: a worker has a few, to routers; {@code -XX:MaxDirectMemorySize}. */
    static final long DIRECT_BYTES = 128 << 20;
    /** Classes, compiled code, threads and the collector's books, once everything has been compiled. */
    private static final long JVM_BYTES = 224 << 20;
    /** A heap may grow so far where there is room: garbage is collected seldom then. */
    private static final long USUAL_HEAP_BYTES = 1 << 30;
    private static final long MOST_SLACK = 512 << 20;
    private static final int SLACK_SHARE = 8;
    /** The system's part of the memory, one in so many. */
    private static final int SYSTEM_SHARE = 16;

    private final Preflight.Ready start;
    private final KvProperties kv;
    private final Given given;

    /**
     * What there is.
     *
     * @param machineBytes memory of the machine, or of the container
     * @param besideBytes  what of that goes to other processes of the fleet
     * @param heap         what the heap of each worker is to be; null: as it follows
     * @param shareWeights whether several workers keep weights in common, where these lie beside the heap
     */
    record Given(long machineBytes, long besideBytes, @Nullable DataSize heap, boolean shareWeights) {

        private long systemBytes() {
            return machineBytes / SYSTEM_SHARE;
        }

        /** What one of so many workers may take. @param shared bytes that all of them have in common */
        private long share(int workers, long shared) {
            return Math.max(0, machineBytes - systemBytes() - besideBytes - shared) / workers;
        }
    }

    /** @param kv the cache's size, as far as it is given */
    MemoryPlanner(Preflight.Ready start, KvProperties kv, Given given) {
        this.start = start;
        this.kv = kv;
        this.given = given;
    }

    /** @throws SettingsException if there is too little of anything for so many workers */
    MemoryPlan plan(int workers) {
        requireMemory(workers);
        KvProperties size = kv.isOpen() && start.isOnDevice() ? kv.withMemory(deviceShare(workers)) : kv;
        int context = start.fittingContext(size, tokens -> room(workers, tokens));
        ModelConfig config = start.config().withContextLength(context);
        HeapRoom room = room(workers, context);
        CachePlan cache = CachePlan.of(config, start.backend(), size, start.scheduler(), room);
        if (size.isOpen()) {
            size = size.withMemory(DataSize.ofBytes(cache.size().memoryBytes()));
        }
        long onHeap = start.isOnDevice() ? cache.bookBytes() : bytes(size, cache);
        long most = mostHeap(workers, context);
        long heap = given.heap() != null ? most
                : Math.min(most, Math.max(USUAL_HEAP_BYTES, room.held() + onHeap + slack(most)));
        return new MemoryPlan(workers, heap, slack(most) / 2,
                room.held() + onHeap + HeapRoom.LEAST_SLACK + beside(workers, context), shared(workers, context), size,
                config, cache);
    }

    /** Cache and swap space. */
    private static long bytes(KvProperties size, CachePlan cache) {
        long memory = size.memory() != null ? size.memory().toBytes() : cache.size().bytes();
        return memory + size.swapSpace().toBytes();
    }

    private long mostHeap(int workers, int context) {
        return given.heap() != null ? given.heap().toBytes()
                : given.share(workers, shared(workers, context)) - beside(workers, context);
    }

    /** What all workers have in common. */
    private long shared(int workers, int context) {
        return workers > 1 && given.shareWeights ? start.besideHeap(context) : 0;
    }

    /** Of a process, what is neither its heap nor shared. */
    private long beside(int workers, int context) {
        return start.besideHeap(context) - shared(workers, context) + DIRECT_BYTES + JVM_BYTES;
    }

    private static long slack(long heap) {
        return Math.clamp(heap / SLACK_SHARE, HeapRoom.LEAST_SLACK, MOST_SLACK);
    }

    private HeapRoom room(int workers, int context) {
        long most = mostHeap(workers, context);
        long longLived = most - slack(most) + HeapRoom.LEAST_SLACK;
        // a heap that is given is all there is: what its new objects have is no room, as the worker will find
        return new HeapRoom(given.heap() != null ? Math.min(longLived, most - slack(most) / 2) : longLived,
                start.heldOnHeap(context),
                given.heap() != null ? HeapRoom.By.OPERATOR : HeapRoom.By.MACHINE);
    }

    private DataSize deviceShare(int workers) {
        long free = start.backend().freeMemory().orElseThrow() / workers;
        long taken = start.footprint().bytes(MemoryPlace.DEVICE, start.config().contextLength())
                + start.backend().bytesBesideCache(start.config().cacheShape(kv.blockSize()), /* hostBlockCount */ 0);
        if (free <= taken) {
            throw new SettingsException(String.format(Locale.ROOT, "the device has %s free for each worker, and the "
                    + "model takes %s of it", Megabytes.text(free), Megabytes.text(taken)),
                    "Start fewer workers, or compute on processors by warmpath.compute.backend=vector");
        }
        return DataSize.ofMegabytes((free - taken) / Megabytes.BYTES);
    }

    /** Whether the least that can be started has room: said in full, for it is what most people run into. */
    private void requireMemory(int workers) {
        int context = start.leastContext();
        long cache = start.isOnDevice() ? 0 : leastCache(context) + kv.swapSpace().toBytes();
        long heap = given.heap() != null ? given.heap().toBytes()
                : start.heldOnHeap(context) + cache + HeapRoom.LEAST_SLACK;
        long shared = shared(workers, context);
        long process = heap + beside(workers, context);
        if (process > given.share(workers, shared)) {
            long all = shared + workers * process + given.besideBytes() + given.systemBytes();
            throw new SettingsException(String.format(Locale.ROOT, "this machine has %s, which is %s too little: %s "
                    + "%s (a heap of %s, of which the KV cache takes %s for a context of %,d tokens; %s beside it for "
                    + "weights%s; %s for the JVM and its buffers), routers and whatever else belongs to the fleet %s, "
                    + "the system %s",
                    Megabytes.text(given.machineBytes()), Megabytes.text(all - given.machineBytes()),
                    workers == 1 ? "a worker takes" : workers + " workers take, each,", Megabytes.text(process),
                    Megabytes.text(heap), Megabytes.text(cache), context, Megabytes.text(start.besideHeap(context)),
                    shared > 0 ? ", once for all of them" : "", Megabytes.text(DIRECT_BYTES + JVM_BYTES),
                    Megabytes.text(given.besideBytes()), Megabytes.text(given.systemBytes())),
                    remedy(workers));
        }
    }

    private String remedy(int workers) {
        String less = given.heap() != null ? "Lower -Xmx, or take" : kv.memory() != null
                ? "Lower warmpath.kv.memory, or take" : workers > 1 ? "Start fewer workers, or take" : "Take";
        return less + " a smaller model, one of fewer bits a weight, or a machine with more memory";
    }

    private long leastCache(int context) {
        ModelConfig config = start.config().withContextLength(context);
        if (kv.blockCount() != null) {
            return kv.blockCount() * start.backend().bytesPerBlock(config.cacheShape(kv.blockSize()));
        }
        return kv.memory() != null ? kv.memory().toBytes()
                : CachePlan.leastMemory(config, start.backend(), kv, start.scheduler());
    }
}
