package dev.warmpath.worker.compute.cuda;

import java.lang.foreign.MemorySegment;

/** Host memory that the device reaches by itself, so that copies run beside the host's work. Content undefined at first. */
final class PinnedMemory extends DeviceObject {

    PinnedMemory(CudaDevice device) {
        super(device);
    }

    /** The memory; dead once this is closed. */
    MemorySegment segment() {
        throw new UnsupportedOperationException();
    }

    @Override
    void release() {
        throw new UnsupportedOperationException();
    }
}
