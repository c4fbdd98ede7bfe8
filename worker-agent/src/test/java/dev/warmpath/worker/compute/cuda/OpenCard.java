package dev.warmpath.worker.compute.cuda;

import static java.lang.foreign.ValueLayout.JAVA_FLOAT;
import static java.lang.foreign.ValueLayout.JAVA_INT;
import static java.lang.foreign.ValueLayout.JAVA_SHORT;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;

/** An emulated device and a stream on it, with arrays carried there and back. */
final class OpenCard implements AutoCloseable {

    final FakeCuda fake = FakeCuda.open();
    final CudaDevice device = fake.openDevice();
    final CudaStream stream = device.newStream();

    DevicePointer upload(int... values) {
        return upload(MemorySegment.ofArray(values), "ints");
    }

    DevicePointer upload(short... values) {
        return upload(MemorySegment.ofArray(values), "shorts");
    }

    private DevicePointer upload(MemorySegment values, String owner) {
        PinnedMemory pinned = device.allocatePinned(values.byteSize(), owner);
        pinned.segment().copyFrom(values);
        DevicePointer pointer = device.allocate(values.byteSize(), owner);
        stream.copyToDevice(pinned.segment(), pointer);
        stream.synchronize();
        pinned.close();
        return pointer;
    }

    int[] ints(DevicePointer source) {
        return download(source).toArray(JAVA_INT);
    }

    short[] shorts(DevicePointer source) {
        return download(source).toArray(JAVA_SHORT);
    }

    float[] floats(DevicePointer source) {
        return download(source).toArray(JAVA_FLOAT);
    }

    /** What lies there once the stream is done. */
    MemorySegment download(DevicePointer source) {
        PinnedMemory pinned = device.allocatePinned(source.bytes(), "download");
        stream.copyToHost(source, pinned.segment());
        stream.synchronize();
        MemorySegment copy = MemorySegment.ofArray(new byte[(int) source.bytes()]).copyFrom(pinned.segment());
        pinned.close();
        // a heap array of bytes is aligned to bytes only
        return Arena.ofAuto().allocate(source.bytes(), 16).copyFrom(copy);
    }

    @Override
    public void close() {
        device.close();
    }
}
