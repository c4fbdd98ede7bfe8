package dev.warmpath.worker.compute.cuda;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.Locale;

/** Host memory that the device reaches by itself, so that copies run beside the host's work. Undefined at first. */
final class PinnedMemory extends DeviceObject {

    private final MemorySegment segment;

    @SuppressWarnings("restricted")   // the driver gave that many bytes there
    private PinnedMemory(CudaDevice device, CudaDriver driver, long address, long bytes, Arena arena) {
        super(device, "pinned memory", address, pinned -> {
            arena.close();
            driver.freeHost(pinned);
        });
        segment = MemorySegment.ofAddress(address).reinterpret(bytes, arena, null);
    }

    static PinnedMemory allocate(CudaDevice device, CudaDriver driver, long bytes, String owner) {
        long address = driver.allocateHost(bytes,
                () -> String.format(Locale.ROOT, "%,d bytes of pinned memory for %s", bytes, owner));
        return new PinnedMemory(device, driver, address, bytes, Arena.ofShared());
    }

    /** The memory; dead once this is closed. */
    MemorySegment segment() {
        return segment;
    }
}
