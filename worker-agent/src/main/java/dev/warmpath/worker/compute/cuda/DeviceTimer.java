package dev.warmpath.worker.compute.cuda;

import static dev.warmpath.worker.compute.cuda.KernelSizes.SKINNY_OUTPUTS;
import static dev.warmpath.worker.compute.cuda.KernelSizes.SKINNY_THREADS;

import dev.warmpath.worker.compute.CopyDirection;

/** Times on the card itself, by its own clock; for benchmarks. Each call waits for what it times. */
public final class DeviceTimer {

    /** So many times the L2 cache is written before each repetition: nothing of the one before is left in it. */
    private static final long FLUSHES = 4;
    /** Then so many times it is read: lines that were only written would be written back while something is timed. */
    private static final long READS = 2;
    /** Numbers in a row of the matrix that is read: a long row gives one number, so that next to nothing is written. */
    private static final int READ_COLUMNS = 4096;

    private final CudaBackend backend;
    private final CudaDevice device;
    private final CudaStream stream;

    DeviceTimer(CudaBackend backend, CudaDevice device, CudaStream stream) {
        this.backend = backend;
        this.device = device;
        this.stream = stream;
    }

    /**
     * Runs operations once, captures them as a graph with the rows with which a step is replayed, and replays it, every
     * time with a cold L2 cache. The graph is launched while the cache is being flushed: launching is not timed where
     * the flush, which writes {@value #FLUSHES} times the cache, takes longer than it; otherwise the rest of it is.
     * @param operations enqueues operations of one backend; writes nothing, submits nothing
     * @return nanoseconds of each repetition, in their order
     */
    public long[] nanos(Runnable operations, int warmUps, int repetitions) {
        try (var reservation = new Reservation(device); var graph = backend.capture(operations)) {
            DevicePointer flushed = reservation.allocate(FLUSHES * device.l2Bytes(), "flushing the L2 cache");
            int rows = Math.toIntExact(READS * device.l2Bytes() / (READ_COLUMNS * (long) Short.BYTES));
            DevicePointer products = reservation.allocate((long) rows * Short.BYTES, "flushing the L2 cache");
            return time(warmUps, repetitions, () -> flush(flushed, rows, products), () -> graph.launch(stream));
        }
    }

    /** Leaves the cache full of other data that memory has, too. */
    private void flush(DevicePointer other, int rows, DevicePointer products) {
        stream.fill(other, (byte) 0);
        Kernel product = device.kernel("wp_skinny_matmul_bf16_m1");
        product.launch(stream, Math.ceilDiv(rows, SKINNY_OUTPUTS), 1, SKINNY_THREADS, 0, product.arguments()
                .pointer(other).pointer(other).pointer(products).integer(rows).integer(READ_COLUMNS));
    }

    /** Copies within the card's memory. @return nanoseconds of each repetition, which reads and writes {@code bytes} */
    public long[] copyNanos(long bytes, int repetitions) {
        backend.synchronize();
        try (var reservation = new Reservation(device)) {
            DevicePointer source = reservation.allocate(bytes, "a timed copy");
            DevicePointer target = reservation.allocate(bytes, "a timed copy");
            stream.fill(source, (byte) 1);
            return time(1, repetitions, () -> { }, () -> stream.copy(source, target));
        }
    }

    /**
     * Plain copies between device and pinned host memory.
     * @param direction to the host or to the device
     * @return nanoseconds of each repetition
     */
    public long[] hostCopyNanos(long bytes, CopyDirection direction, int repetitions) {
        backend.synchronize();
        try (var reservation = new Reservation(device)) {
            DevicePointer memory = reservation.allocate(bytes, "a timed copy");
            var host = reservation.with(device.allocatePinned(bytes, "a timed copy")).segment();
            host.fill((byte) 1);
            stream.fill(memory, (byte) 1);
            Runnable copy = switch (direction) {
                case DEVICE_TO_HOST -> () -> stream.copyToHost(memory, host);
                case HOST_TO_DEVICE -> () -> stream.copyToDevice(host, memory);
                case DEVICE_TO_DEVICE -> throw new IllegalArgumentException("a copy within the device: copyNanos");
            };
            return time(1, repetitions, () -> { }, copy);
        }
    }

    private long[] time(int warmUps, int repetitions, Runnable before, Runnable timed) {
        long[] nanos = new long[repetitions];
        try (var start = device.newEvent(true); var end = device.newEvent(true)) {
            for (int i = -warmUps; i < repetitions; i++) {
                before.run();
                stream.record(start);
                timed.run();
                stream.record(end);
                end.synchronize();
                if (i >= 0) {
                    nanos[i] = end.nanosSince(start);
                }
            }
        }
        return nanos;
    }

    /** Waits for everything enqueued, copies to and from the host tier included. */
    public void synchronize() {
        backend.synchronize();
    }
}
