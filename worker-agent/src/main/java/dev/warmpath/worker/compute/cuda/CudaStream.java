package dev.warmpath.worker.compute.cuda;

import java.lang.foreign.MemorySegment;

/**
 * A queue of the device: what is enqueued runs in order, beside the host and beside other streams. Host segments must
 * be pinned and stay untouched until the copy is passed.
 */
final class CudaStream extends DeviceObject {

    CudaStream(CudaDevice device) {
        super(device);
    }

    /** Enqueues a copy of the whole segment to the start of {@code target}. */
    void copyToDevice(MemorySegment source, DevicePointer target) {
        throw new UnsupportedOperationException();
    }

    /** Enqueues a copy that fills the segment from the start of {@code source}. */
    void copyToHost(DevicePointer source, MemorySegment target) {
        throw new UnsupportedOperationException();
    }

    /** Enqueues a copy of all of {@code source} to the start of {@code target}; they do not overlap. */
    void copy(DevicePointer source, DevicePointer target) {
        throw new UnsupportedOperationException();
    }

    /** Enqueues setting every byte. */
    void fill(DevicePointer target, byte value) {
        throw new UnsupportedOperationException();
    }

    /** Marks this place in the queue. */
    void record(CudaEvent event) {
        throw new UnsupportedOperationException();
    }

    /** What is enqueued later waits until the event's recording so far is passed. */
    void waitFor(CudaEvent event) {
        throw new UnsupportedOperationException();
    }

    /** Waits until everything enqueued is done. */
    void synchronize() {
        throw new UnsupportedOperationException();
    }

    /** From now on what is enqueued is not run but remembered. The thread allocates nothing and waits for nothing. */
    void beginCapture() {
        throw new UnsupportedOperationException();
    }

    /** Ends the capture; nothing of it has run. */
    CudaGraph endCapture() {
        throw new UnsupportedOperationException();
    }

    /** Ends a capture in which something failed and forgets what it holds. */
    void abandonCapture() {
        throw new UnsupportedOperationException();
    }

    @Override
    void release() {
        throw new UnsupportedOperationException();
    }
}
