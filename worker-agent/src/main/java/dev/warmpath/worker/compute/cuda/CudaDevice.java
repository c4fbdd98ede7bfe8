package dev.warmpath.worker.compute.cuda;

import java.lang.foreign.MemorySegment;

/** An open device: libraries loaded, context retained, kernels loaded. One thread uses it at a time. */
public final class CudaDevice implements AutoCloseable {

    /** Opens the device with the kernels of this build. */
    public static CudaDevice open(CudaSettings settings) throws CudaUnavailableException {
        throw new UnsupportedOperationException();
    }

    /** Opens the device with other kernels. @param kernelImage fatbin, native */
    static CudaDevice open(CudaSettings settings, MemorySegment kernelImage) throws CudaUnavailableException {
        throw new UnsupportedOperationException();
    }

    /** The card's name. */
    public String name() {
        throw new UnsupportedOperationException();
    }

    /** As the driver says it: 12040 is CUDA 12.4. */
    public int driverVersion() {
        throw new UnsupportedOperationException();
    }

    public int multiprocessors() {
        throw new UnsupportedOperationException();
    }

    /** Major times ten plus minor: 90 is sm_90. */
    public int computeCapability() {
        throw new UnsupportedOperationException();
    }

    public long freeBytes() {
        throw new UnsupportedOperationException();
    }

    public long totalBytes() {
        throw new UnsupportedOperationException();
    }

    /** One line for the log: card, memory, driver, libraries. */
    public String describe() {
        throw new UnsupportedOperationException();
    }

    /**
     * Makes the device's context the calling thread's, if it is not yet. Every call of this package does so by itself.
     * @throws IllegalStateException on a virtual thread, whose carrier may change under it, or if the device is closed
     */
    void enter() {
        throw new UnsupportedOperationException();
    }

    /**
     * Memory of undefined content, aligned to 256 bytes at least.
     * @throws dev.warmpath.worker.compute.ComputeException if the device has no room, with owner, bytes, free and total
     */
    DevicePointer allocate(long bytes, String owner) {
        throw new UnsupportedOperationException();
    }

    /** Frees what {@link #allocate} gave, once nothing that was enqueued uses it. */
    void free(DevicePointer pointer) {
        throw new UnsupportedOperationException();
    }

    PinnedMemory allocatePinned(long bytes, String owner) {
        throw new UnsupportedOperationException();
    }

    CudaStream newStream() {
        throw new UnsupportedOperationException();
    }

    CudaEvent newEvent(boolean timed) {
        throw new UnsupportedOperationException();
    }

    /** The kernel of that name, the same object each time. */
    Kernel kernel(String name) {
        throw new UnsupportedOperationException();
    }

    GemmPlans gemm() {
        throw new UnsupportedOperationException();
    }

    /** Waits for the device, frees everything that is left and lets the context go. Closing again does nothing. */
    @Override
    public void close() {
        throw new UnsupportedOperationException();
    }
}
