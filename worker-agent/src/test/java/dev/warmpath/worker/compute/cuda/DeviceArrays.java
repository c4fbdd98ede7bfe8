package dev.warmpath.worker.compute.cuda;

import dev.warmpath.worker.compute.Bf16;
import dev.warmpath.worker.compute.CacheType;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.util.function.UnaryOperator;
import org.jspecify.annotations.Nullable;

/** Arrays in a device's memory and single kernels over them, for tests: on the emulated device or on a card. */
final class DeviceArrays implements AutoCloseable {

    private static final int GUARD = 256;
    private static final byte POISON = (byte) 0xFF;     // NaN, whatever the type; as an integer no index that exists

    private final CudaDevice device;
    private final CudaStream stream;
    private final @Nullable FakeCuda fake;
    private final Arena arena = Arena.ofConfined();

    private DeviceArrays(CudaDevice device, @Nullable FakeCuda fake) {
        this.device = device;
        this.stream = device.newStream();
        this.fake = fake;
    }

    /** For tests that are {@link OnEmulatedDevice}. */
    static DeviceArrays emulated() {
        var fake = FakeCuda.open();
        return new DeviceArrays(fake.openDevice(), fake);
    }

    /** For tests that are {@link OnCard}. */
    static DeviceArrays onCard() {
        try {
            return new DeviceArrays(CudaDevice.open(CudaBackends.FIRST_CARD), null);
        } catch (CudaUnavailableException refused) {
            throw new AssertionError(refused);
        }
    }

    /** Draws another order of the emulated device's warps and lanes. */
    void schedule(long seed) {
        if (fake != null) {
            fake.schedule(seed);
        }
    }

    DevicePointer bytes(byte... values) {
        return put(arena.allocateFrom(ValueLayout.JAVA_BYTE, values));
    }

    DevicePointer ints(int... values) {
        return put(arena.allocateFrom(ValueLayout.JAVA_INT, values));
    }

    DevicePointer longs(long... values) {
        return put(arena.allocateFrom(ValueLayout.JAVA_LONG, values));
    }

    DevicePointer floats(float... values) {
        return put(arena.allocateFrom(ValueLayout.JAVA_FLOAT, values));
    }

    /** Values that bfloat16 holds, or they are rounded. */
    DevicePointer bf16(float... values) {
        short[] bits = new short[values.length];
        for (int i = 0; i < bits.length; i++) {
            bits[i] = Bf16.of(values[i]);
        }
        return put(arena.allocateFrom(ValueLayout.JAVA_SHORT, bits));
    }

    /** Memory full of NaN, with more of it behind, which {@link #guardIsWhole} looks at. */
    DevicePointer empty(long bytes) {
        DevicePointer pointer = device.allocate(bytes + GUARD, "test output");
        stream.fill(pointer, POISON);
        return pointer;
    }

    private DevicePointer put(MemorySegment values) {
        DevicePointer pointer = device.allocate(Math.max(values.byteSize(), 16), "test input");
        try (PinnedMemory pinned = device.allocatePinned(values.byteSize(), "test input")) {
            pinned.segment().copyFrom(values);
            stream.copyToDevice(pinned.segment(), pointer);
            stream.synchronize();
        }
        return pointer;
    }

    /** Launches without dynamic shared memory and waits. */
    void run(String kernel, int gridX, int gridY, int threads, UnaryOperator<Arguments> arguments) {
        run(device.kernel(kernel), gridX, gridY, threads, 0, arguments);
    }

    /** Launches and waits. */
    void run(Kernel kernel, int gridX, int gridY, int threads, int sharedBytes, UnaryOperator<Arguments> arguments) {
        kernel.launch(stream, gridX, gridY, threads, sharedBytes, arguments.apply(kernel.arguments()));
        stream.synchronize();
    }

    CacheKernels cacheKernels(CacheType type, int headSize) {
        return CacheKernels.of(device, type, headSize);
    }

    MemorySegment read(DevicePointer pointer, long bytes) {
        MemorySegment values = arena.allocate(bytes, Long.BYTES);
        try (PinnedMemory pinned = device.allocatePinned(bytes, "test result")) {
            stream.copyToHost(pointer, pinned.segment());
            stream.synchronize();
            values.copyFrom(pinned.segment());
        }
        return values;
    }

    int[] readInts(DevicePointer pointer, int count) {
        return read(pointer, 4L * count).toArray(ValueLayout.JAVA_INT);
    }

    float[] readFloats(DevicePointer pointer, int count) {
        return read(pointer, 4L * count).toArray(ValueLayout.JAVA_FLOAT);
    }

    float[] readBf16(DevicePointer pointer, int count) {
        short[] bits = read(pointer, 2L * count).toArray(ValueLayout.JAVA_SHORT);
        float[] values = new float[count];
        for (int i = 0; i < count; i++) {
            values[i] = Bf16.toFloat(bits[i]);
        }
        return values;
    }

    /** Whether what {@link #empty} gave is still poison from that byte on. */
    boolean guardIsWhole(DevicePointer output, long from) {
        byte[] guard = read(output.plus(from, output.bytes() - from), output.bytes() - from)
                .toArray(ValueLayout.JAVA_BYTE);
        for (byte value : guard) {
            if (value != POISON) {
                return false;
            }
        }
        return true;
    }

    @Override
    public void close() {
        device.close();
        arena.close();
    }
}
