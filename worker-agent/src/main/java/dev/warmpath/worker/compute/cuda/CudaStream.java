package dev.warmpath.worker.compute.cuda;

import dev.warmpath.worker.compute.ComputeException;
import java.lang.foreign.MemorySegment;

/**
 * A queue of the device: what is enqueued runs in order, beside the host and beside other streams. Host segments must
 * be pinned and stay untouched until the copy is passed. A copy larger than either side is an
 * {@link IllegalArgumentException}: neither library nor device would notice.
 */
final class CudaStream extends DeviceObject {

    private final CudaDriver driver;

    CudaStream(CudaDevice device, CudaDriver driver) {
        super(device, "stream", driver.createStream(), driver::destroyStream);
        this.driver = driver;
    }

    /** Enqueues a copy of the whole segment to the start of {@code target}. */
    void copyToDevice(MemorySegment source, DevicePointer target) {
        target.requireBytes(source.byteSize());
        driver.copyToDevice(target.address(), addressOf(source), source.byteSize(), handle());
    }

    /** Enqueues a copy that fills the segment from the start of {@code source}. */
    void copyToHost(DevicePointer source, MemorySegment target) {
        source.requireBytes(target.byteSize());
        driver.copyToHost(addressOf(target), source.address(), target.byteSize(), handle());
    }

    /** Enqueues a copy of all of {@code source} to the start of {@code target}; they do not overlap. */
    void copy(DevicePointer source, DevicePointer target) {
        target.requireBytes(source.bytes());
        driver.copyOnDevice(target.address(), source.address(), source.bytes(), handle());
    }

    /** Enqueues setting every byte. */
    void fill(DevicePointer target, byte value) {
        driver.fill(target.address(), value, target.bytes(), handle());
    }

    /** Marks this place in the queue. */
    void record(CudaEvent event) {
        driver.recordEvent(event.handle(), handle());
    }

    /** What is enqueued later waits until the event's recording so far is passed. */
    void waitFor(CudaEvent event) {
        driver.waitEvent(handle(), event.handle());
    }

    /** Waits until everything enqueued is done. */
    void synchronize() {
        driver.synchronizeStream(handle());
    }

    /** From now on what is enqueued is not run but remembered. The thread allocates nothing and waits for nothing. */
    void beginCapture() {
        driver.beginCapture(handle());
    }

    /** Ends the capture; nothing of it has run. */
    CudaGraph endCapture() {
        return CudaGraph.instantiate(device, driver, driver.endCapture(handle()));
    }

    /** Ends a capture in which something failed and forgets what it holds. */
    void abandonCapture() {
        long captured;
        try {
            captured = driver.endCapture(handle());
        } catch (ComputeException invalidated) {
            return;   // the failure has invalidated the capture: there is no graph, and the stream is out of it
        }
        driver.destroyGraph(captured);
    }

    /** Heap memory has no address that lasts. */
    private static long addressOf(MemorySegment host) {
        if (!host.isNative()) {
            throw new IllegalArgumentException("the device cannot reach memory of the Java heap");
        }
        return host.address();
    }
}
