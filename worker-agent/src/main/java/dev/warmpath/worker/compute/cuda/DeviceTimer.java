package dev.warmpath.worker.compute.cuda;

import dev.warmpath.worker.compute.CopyDirection;

/** Times on the card itself, by its own clock; for benchmarks. */
public final class DeviceTimer {

    DeviceTimer() {
    }

    /**
     * Records operations, captures them as a graph and replays it, every time with a cold L2 cache.
     * @param operations enqueues operations of one backend; writes nothing, submits nothing
     * @return nanoseconds of each repetition, in their order
     */
    public long[] nanos(Runnable operations, int warmUps, int repetitions) {
        throw new UnsupportedOperationException();
    }

    /** Copies within the device's memory. @return nanoseconds of each repetition; each reads and writes {@code bytes} */
    public long[] copyNanos(long bytes, int repetitions) {
        throw new UnsupportedOperationException();
    }

    /** Plain copies between device and pinned host memory. @return nanoseconds of each repetition */
    public long[] hostCopyNanos(long bytes, CopyDirection direction, int repetitions) {
        throw new UnsupportedOperationException();
    }

    /** Waits for everything enqueued, copies to and from the host tier included. */
    public void synchronize() {
        throw new UnsupportedOperationException();
    }
}
