package dev.warmpath.worker.compute.cuda;

import static java.lang.foreign.ValueLayout.ADDRESS;
import static java.lang.foreign.ValueLayout.JAVA_INT;
import static java.lang.foreign.ValueLayout.JAVA_LONG;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;

/**
 * The fake driver's functions called by hand, past our binding: a context for the calling thread, a stream, a module.
 * Its device memory is the host's, so that a test may look at it.
 */
@SuppressWarnings("restricted")  // the lengths are those just allocated
final class RawDriver {

    private final FakeCuda fake;
    private final long stream;
    private final long module;

    RawDriver(FakeCuda fake) {
        this.fake = fake;
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment context = arena.allocate(JAVA_LONG);
            call("cuInit", 0);
            call("cuDevicePrimaryCtxRetain", context, 0);
            call("cuCtxSetCurrent", context.get(JAVA_LONG, 0));
            stream = newStream();
            module = created("cuModuleLoadData", FakeCuda.image());
        }
    }

    long stream() {
        return stream;
    }

    long newStream() {
        return created("cuStreamCreate", 1);
    }

    MemorySegment device(long bytes) {
        return MemorySegment.ofAddress(created("cuMemAlloc_v2", bytes)).reinterpret(bytes);
    }

    MemorySegment pinned(long bytes) {
        return MemorySegment.ofAddress(created("cuMemHostAlloc", bytes, 0)).reinterpret(bytes);
    }

    int copyToDevice(MemorySegment device, MemorySegment host) {
        return call("cuMemcpyHtoDAsync_v2", device.address(), host.address(), host.byteSize(), stream);
    }

    int copyToHost(MemorySegment host, MemorySegment device) {
        return call("cuMemcpyDtoHAsync_v2", host.address(), device.address(), host.byteSize(), stream);
    }

    int synchronize() {
        return call("cuStreamSynchronize", stream);
    }

    /** @return the code of the launch, or of the wait for its end */
    int run(String kernel, int blocks, int threads, int sharedBytes, Object... parameters) {
        int code = launch(kernel, blocks, threads, sharedBytes, parameters);
        return code == 0 ? synchronize() : code;
    }

    /** @param parameters Integer, Long, or MemorySegment for a pointer, as in the kernel's signature */
    int launch(String kernel, int blocks, int threads, int sharedBytes, Object... parameters) {
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment table = arena.allocate(ADDRESS, Math.max(1, parameters.length));
            for (int i = 0; i < parameters.length; i++) {
                table.setAtIndex(ADDRESS, i, switch (parameters[i]) {
                    case Integer value -> arena.allocateFrom(JAVA_INT, value);
                    case Long value -> arena.allocateFrom(JAVA_LONG, value);
                    case MemorySegment pointer -> arena.allocateFrom(JAVA_LONG, pointer.address());
                    default -> throw new IllegalArgumentException(parameters[i].toString());
                });
            }
            long function = created("cuModuleGetFunction", module, arena.allocateFrom(kernel));
            return call("cuLaunchKernel", function, blocks, 1, 1, threads, 1, 1, sharedBytes, stream, table,
                    MemorySegment.NULL);
        }
    }

    /** What a function leaves in its first argument. @throws AssertionError if it fails */
    long created(String function, Object... others) {
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment cell = arena.allocate(JAVA_LONG);
            Object[] arguments = new Object[others.length + 1];
            arguments[0] = cell;
            System.arraycopy(others, 0, arguments, 1, others.length);
            int code = call(function, arguments);
            if (code != 0) {
                throw new AssertionError(function + ": " + code + " " + fake.complaint());
            }
            return cell.get(JAVA_LONG, 0);
        }
    }

    int call(String function, Object... arguments) {
        return (int) fake.call(JAVA_INT, function, arguments);
    }
}
