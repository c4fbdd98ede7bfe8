package dev.warmpath.worker.compute.cuda;

/** A mark in a stream: passed once everything that was enqueued before it is done. */
final class CudaEvent extends DeviceObject {

    CudaEvent(CudaDevice device, boolean timed) {
        super(device);
    }

    /** Waits until the mark's last recording is passed; at once if it was never recorded. */
    void synchronize() {
        throw new UnsupportedOperationException();
    }

    /** Whether the mark's last recording is passed. */
    boolean isPassed() {
        throw new UnsupportedOperationException();
    }

    /** Nanoseconds on the device from {@code start} to this mark, both timed and passed; the resolution is about 500. */
    long nanosSince(CudaEvent start) {
        throw new UnsupportedOperationException();
    }

    @Override
    void release() {
        throw new UnsupportedOperationException();
    }
}
