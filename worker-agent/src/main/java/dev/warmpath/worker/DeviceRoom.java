package dev.warmpath.worker;

import dev.warmpath.worker.compute.CacheShape;
import dev.warmpath.worker.compute.ComputeBackend;
import java.util.Locale;
import java.util.OptionalLong;
import org.jspecify.annotations.Nullable;

/**
 * What a device with memory of its own has for a cache, in bytes.
 *
 * @param total  all its memory
 * @param free   what nobody holds now, this process or another
 * @param beside what of that the backend takes beside the cache's blocks, now and once steps run
 */
record DeviceRoom(long total, long free, long beside) {

    /** @return null if caches lie on the heap */
    static @Nullable DeviceRoom of(ComputeBackend backend, CacheShape shape, int hostBlockCount) {
        OptionalLong free = backend.freeMemory();
        return free.isEmpty() ? null : new DeviceRoom(backend.totalMemory().orElseThrow(), free.getAsLong(),
                backend.bytesBesideCache(shape, hostBlockCount));
    }

    /** What blocks may take. */
    long bytes() {
        return Math.max(0, free - beside);
    }

    /** The calculation, a clause. */
    String arithmetic() {
        return String.format(Locale.ROOT, "of the device's %,d bytes %,d are free; less %,d for what goes beside the "
                + "cache, %,d are left", total, free, beside, bytes());
    }
}
