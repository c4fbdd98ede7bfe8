package dev.warmpath.worker.compute.cuda;

import static java.lang.foreign.ValueLayout.ADDRESS;
import static java.lang.foreign.ValueLayout.JAVA_BYTE;
import static java.lang.foreign.ValueLayout.JAVA_INT;
import static java.lang.foreign.ValueLayout.JAVA_LONG;

import dev.warmpath.worker.compute.ComputeException;
import dev.warmpath.worker.compute.DeviceLostException;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.nio.ByteBuffer;
import java.util.UUID;
import java.util.concurrent.atomic.AtomicReference;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/**
 * The functions of the driver API ({@code cuda.h}) that we use, all of them in drivers from CUDA 12.0 on, by the names
 * that the library exports. Handles ({@code CUstream} and so on), device pointers and host addresses are longs here;
 * segments are used for what C writes into. Every return code other than success becomes a {@link ComputeException}
 * with function, name and number, or a {@link DeviceLostException} where the device is lost with it.
 */
record CudaDriver(
        NativeFunction cuInit,                      // (unsigned flags)
        NativeFunction cuDriverGetVersion,          // (int* version)
        NativeFunction cuGetErrorName,              // (CUresult, const char** name)
        NativeFunction cuDeviceGetCount,            // (int* count)
        NativeFunction cuDeviceGet,                 // (CUdevice*, int ordinal)
        NativeFunction cuDeviceGetName,             // (char* name, int length, CUdevice)
        NativeFunction cuDeviceGetUuid,             // (CUuuid* 16 bytes, CUdevice)
        NativeFunction cuDeviceTotalMem,            // (size_t* bytes, CUdevice)
        NativeFunction cuDeviceGetAttribute,        // (int* value, CUdevice_attribute, CUdevice)
        NativeFunction cuDevicePrimaryCtxRetain,    // (CUcontext*, CUdevice)
        NativeFunction cuDevicePrimaryCtxRelease,   // (CUdevice)
        NativeFunction cuCtxSetCurrent,             // (CUcontext)
        NativeFunction cuCtxSynchronize,            // (void)
        NativeFunction cuMemGetInfo,                // (size_t* free, size_t* total)
        NativeFunction cuMemAlloc,                  // (CUdeviceptr*, size_t bytes)
        NativeFunction cuMemFree,                   // (CUdeviceptr)
        NativeFunction cuMemHostAlloc,              // (void**, size_t bytes, unsigned flags)
        NativeFunction cuMemFreeHost,               // (void*)
        NativeFunction cuMemcpyHtoDAsync,           // (CUdeviceptr target, const void* source, size_t, CUstream)
        NativeFunction cuMemcpyDtoHAsync,           // (void* target, CUdeviceptr source, size_t, CUstream)
        NativeFunction cuMemcpyDtoDAsync,           // (CUdeviceptr target, CUdeviceptr source, size_t, CUstream)
        NativeFunction cuMemsetD8Async,             // (CUdeviceptr, unsigned char value, size_t, CUstream)
        NativeFunction cuStreamCreate,              // (CUstream*, unsigned flags)
        NativeFunction cuStreamDestroy,             // (CUstream)
        NativeFunction cuStreamSynchronize,         // (CUstream)
        NativeFunction cuStreamWaitEvent,           // (CUstream, CUevent, unsigned flags)
        NativeFunction cuStreamBeginCapture,        // (CUstream, CUstreamCaptureMode)
        NativeFunction cuStreamEndCapture,          // (CUstream, CUgraph*)
        NativeFunction cuEventCreate,               // (CUevent*, unsigned flags)
        NativeFunction cuEventDestroy,              // (CUevent)
        NativeFunction cuEventRecord,               // (CUevent, CUstream)
        NativeFunction cuEventQuery,                // (CUevent)
        NativeFunction cuEventSynchronize,          // (CUevent)
        NativeFunction cuEventElapsedTime,          // (float* milliseconds, CUevent start, CUevent end)
        NativeFunction cuGraphInstantiateWithFlags, // (CUgraphExec*, CUgraph, unsigned long long flags)
        NativeFunction cuGraphLaunch,               // (CUgraphExec, CUstream)
        NativeFunction cuGraphExecDestroy,          // (CUgraphExec)
        NativeFunction cuGraphDestroy,              // (CUgraph)
        NativeFunction cuModuleLoadData,            // (CUmodule*, const void* image)
        NativeFunction cuModuleUnload,              // (CUmodule)
        NativeFunction cuModuleGetFunction,         // (CUfunction*, CUmodule, const char* name)
        NativeFunction cuFuncSetAttribute,          // (CUfunction, CUfunction_attribute, int value)
        NativeFunction cuLaunchKernel,              // (CUfunction, unsigned grid[3], unsigned block[3],
                                                    //  unsigned sharedBytes, CUstream, void** parameters, void** extra)
        AtomicReference<@Nullable String> loss) {   // why the device was lost; null while it is not

    // enum cudaError_enum in cuda.h
    private static final int SUCCESS = 0;
    static final int OUT_OF_MEMORY = 2;
    static final int NO_DEVICE = 100;
    private static final int NOT_READY = 600;

    private static final int STREAM_NON_BLOCKING = 1;               // CUstream_flags
    private static final int EVENT_DEFAULT = 0;                     // CUevent_flags
    private static final int EVENT_DISABLE_TIMING = 2;
    private static final int CAPTURE_MODE_RELAXED = 2;              // CUstreamCaptureMode
    private static final int MAX_DYNAMIC_SHARED_SIZE_BYTES = 8;     // CUfunction_attribute
    private static final int PREFERRED_SHARED_MEMORY_CARVEOUT = 9;
    private static final int CARVEOUT_MAX_SHARED = 100;             // CUshared_carveout

    /** @throws CudaUnavailableException if the library lacks one of the functions */
    static CudaDriver bind(SharedLibrary library) throws CudaUnavailableException {
        return new CudaDriver(
                library.function("cuInit", JAVA_INT, JAVA_INT),
                library.function("cuDriverGetVersion", JAVA_INT, ADDRESS),
                library.function("cuGetErrorName", JAVA_INT, JAVA_INT, ADDRESS),
                library.function("cuDeviceGetCount", JAVA_INT, ADDRESS),
                library.function("cuDeviceGet", JAVA_INT, ADDRESS, JAVA_INT),
                library.function("cuDeviceGetName", JAVA_INT, ADDRESS, JAVA_INT, JAVA_INT),
                library.function("cuDeviceGetUuid_v2", JAVA_INT, ADDRESS, JAVA_INT),
                library.function("cuDeviceTotalMem_v2", JAVA_INT, ADDRESS, JAVA_INT),
                library.function("cuDeviceGetAttribute", JAVA_INT, ADDRESS, JAVA_INT, JAVA_INT),
                library.function("cuDevicePrimaryCtxRetain", JAVA_INT, ADDRESS, JAVA_INT),
                library.function("cuDevicePrimaryCtxRelease_v2", JAVA_INT, JAVA_INT),
                library.function("cuCtxSetCurrent", JAVA_INT, JAVA_LONG),
                library.function("cuCtxSynchronize", JAVA_INT),
                library.function("cuMemGetInfo_v2", JAVA_INT, ADDRESS, ADDRESS),
                library.function("cuMemAlloc_v2", JAVA_INT, ADDRESS, JAVA_LONG),
                library.function("cuMemFree_v2", JAVA_INT, JAVA_LONG),
                library.function("cuMemHostAlloc", JAVA_INT, ADDRESS, JAVA_LONG, JAVA_INT),
                library.function("cuMemFreeHost", JAVA_INT, JAVA_LONG),
                library.function("cuMemcpyHtoDAsync_v2", JAVA_INT, JAVA_LONG, JAVA_LONG, JAVA_LONG, JAVA_LONG),
                library.function("cuMemcpyDtoHAsync_v2", JAVA_INT, JAVA_LONG, JAVA_LONG, JAVA_LONG, JAVA_LONG),
                library.function("cuMemcpyDtoDAsync_v2", JAVA_INT, JAVA_LONG, JAVA_LONG, JAVA_LONG, JAVA_LONG),
                library.function("cuMemsetD8Async", JAVA_INT, JAVA_LONG, JAVA_BYTE, JAVA_LONG, JAVA_LONG),
                library.function("cuStreamCreate", JAVA_INT, ADDRESS, JAVA_INT),
                library.function("cuStreamDestroy_v2", JAVA_INT, JAVA_LONG),
                library.function("cuStreamSynchronize", JAVA_INT, JAVA_LONG),
                library.function("cuStreamWaitEvent", JAVA_INT, JAVA_LONG, JAVA_LONG, JAVA_INT),
                library.function("cuStreamBeginCapture_v2", JAVA_INT, JAVA_LONG, JAVA_INT),
                library.function("cuStreamEndCapture", JAVA_INT, JAVA_LONG, ADDRESS),
                library.function("cuEventCreate", JAVA_INT, ADDRESS, JAVA_INT),
                library.function("cuEventDestroy_v2", JAVA_INT, JAVA_LONG),
                library.function("cuEventRecord", JAVA_INT, JAVA_LONG, JAVA_LONG),
                library.function("cuEventQuery", JAVA_INT, JAVA_LONG),
                library.function("cuEventSynchronize", JAVA_INT, JAVA_LONG),
                // its _v2, which CUDA 13's header stands for, is missing in drivers before; this one is in all
                library.function("cuEventElapsedTime", JAVA_INT, ADDRESS, JAVA_LONG, JAVA_LONG),
                library.function("cuGraphInstantiateWithFlags", JAVA_INT, ADDRESS, JAVA_LONG, JAVA_LONG),
                library.function("cuGraphLaunch", JAVA_INT, JAVA_LONG, JAVA_LONG),
                library.function("cuGraphExecDestroy", JAVA_INT, JAVA_LONG),
                library.function("cuGraphDestroy", JAVA_INT, JAVA_LONG),
                library.function("cuModuleLoadData", JAVA_INT, ADDRESS, ADDRESS),
                library.function("cuModuleUnload", JAVA_INT, JAVA_LONG),
                library.function("cuModuleGetFunction", JAVA_INT, ADDRESS, JAVA_LONG, ADDRESS),
                library.function("cuFuncSetAttribute", JAVA_INT, JAVA_LONG, JAVA_INT, JAVA_INT),
                library.function("cuLaunchKernel", JAVA_INT, JAVA_LONG, JAVA_INT, JAVA_INT, JAVA_INT, JAVA_INT,
                        JAVA_INT, JAVA_INT, JAVA_INT, JAVA_LONG, ADDRESS, ADDRESS),
                new AtomicReference<>());
    }

    // ---- driver and devices

    /** @return the code: having no device is no failure of the call */
    int init() {
        return cuInit.invoke(0);
    }

    /** 12040 is CUDA 12.4: the newest that this driver runs. */
    int driverVersion() {
        return (int) result(cuDriverGetVersion);
    }

    int deviceCount() {
        return (int) result(cuDeviceGetCount);
    }

    int device(int ordinal) {
        return (int) result(cuDeviceGet, ordinal);
    }

    String deviceName(int device) {
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment name = arena.allocate(256);
            check(cuDeviceGetName.invoke(name, (int) name.byteSize(), device), cuDeviceGetName);
            return name.getString(0);
        }
    }

    /** As {@code nvidia-smi} writes it behind {@code GPU-} or {@code MIG-}. */
    String uuid(int device) {
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment bytes = arena.allocate(16);
            check(cuDeviceGetUuid.invoke(bytes, device), cuDeviceGetUuid);
            ByteBuffer halves = bytes.asByteBuffer();               // big-endian
            return new UUID(halves.getLong(), halves.getLong()).toString();
        }
    }

    long totalBytes(int device) {
        return result(cuDeviceTotalMem, device);
    }

    /** @param attribute of {@code CUdevice_attribute} */
    int attribute(int attribute, int device) {
        return (int) result(cuDeviceGetAttribute, attribute, device);
    }

    // ---- context

    long retainPrimaryContext(int device) {
        return result(cuDevicePrimaryCtxRetain, device);
    }

    void releasePrimaryContext(int device) {
        check(cuDevicePrimaryCtxRelease.invoke(device), cuDevicePrimaryCtxRelease);
    }

    /** @param context 0 for none */
    void setCurrentContext(long context) {
        check(cuCtxSetCurrent.call(context), cuCtxSetCurrent);
    }

    void synchronizeContext() {
        check(cuCtxSynchronize.invoke(), cuCtxSynchronize);
    }

    // ---- memory

    /** @return free, then total bytes of the current context's device */
    long[] memoryInfo() {
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment free = arena.allocate(JAVA_LONG);
            MemorySegment total = arena.allocate(JAVA_LONG);
            check(cuMemGetInfo.invoke(free, total), cuMemGetInfo);
            return new long[] {free.get(JAVA_LONG, 0), total.get(JAVA_LONG, 0)};
        }
    }

    /** @param attempted for the message, asked for only if it fails */
    long allocate(long bytes, Supplier<String> attempted) {
        return result(cuMemAlloc, attempted, bytes);
    }

    void free(long pointer) {
        check(cuMemFree.call(pointer), cuMemFree);
    }

    /** Pinned host memory. @param attempted for the message, asked for only if it fails */
    long allocateHost(long bytes, Supplier<String> attempted) {
        return result(cuMemHostAlloc, attempted, bytes, 0);
    }

    void freeHost(long address) {
        check(cuMemFreeHost.call(address), cuMemFreeHost);
    }

    void copyToDevice(long target, long host, long bytes, long stream) {
        check(cuMemcpyHtoDAsync.call(target, host, bytes, stream), cuMemcpyHtoDAsync);
    }

    void copyToHost(long host, long source, long bytes, long stream) {
        check(cuMemcpyDtoHAsync.call(host, source, bytes, stream), cuMemcpyDtoHAsync);
    }

    void copyOnDevice(long target, long source, long bytes, long stream) {
        check(cuMemcpyDtoDAsync.call(target, source, bytes, stream), cuMemcpyDtoDAsync);
    }

    void fill(long target, byte value, long bytes, long stream) {
        check(cuMemsetD8Async.call(target, value, bytes, stream), cuMemsetD8Async);
    }

    // ---- streams and events

    /** A stream that does not wait for the default stream, nor it for this one. */
    long createStream() {
        return result(cuStreamCreate, STREAM_NON_BLOCKING);
    }

    void destroyStream(long stream) {
        check(cuStreamDestroy.call(stream), cuStreamDestroy);
    }

    void synchronizeStream(long stream) {
        check(cuStreamSynchronize.call(stream), cuStreamSynchronize);
    }

    void waitEvent(long stream, long event) {
        check(cuStreamWaitEvent.call(stream, event, 0), cuStreamWaitEvent);
    }

    /** Relaxed: the stricter modes end the capture when a library sets itself up late, as cuBLASLt may. */
    void beginCapture(long stream) {
        check(cuStreamBeginCapture.invoke(stream, CAPTURE_MODE_RELAXED), cuStreamBeginCapture);
    }

    /** @return the graph; the stream is out of capture whether this fails or not */
    long endCapture(long stream) {
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment graph = arena.allocate(JAVA_LONG);
            check(cuStreamEndCapture.invoke(stream, graph), cuStreamEndCapture);
            return graph.get(JAVA_LONG, 0);
        }
    }

    long createEvent(boolean timed) {
        return result(cuEventCreate, timed ? EVENT_DEFAULT : EVENT_DISABLE_TIMING);
    }

    void destroyEvent(long event) {
        check(cuEventDestroy.call(event), cuEventDestroy);
    }

    void recordEvent(long event, long stream) {
        check(cuEventRecord.call(event, stream), cuEventRecord);
    }

    boolean isPassed(long event) {
        int code = cuEventQuery.call(event);
        if (code == NOT_READY) {
            return false;
        }
        check(code, cuEventQuery);
        return true;
    }

    void synchronizeEvent(long event) {
        check(cuEventSynchronize.call(event), cuEventSynchronize);
    }

    float elapsedMillis(long start, long end) {
        return Float.intBitsToFloat((int) result(cuEventElapsedTime, start, end));
    }

    // ---- graphs

    long instantiate(long graph) {
        return result(cuGraphInstantiateWithFlags, graph, 0L);
    }

    void launchGraph(long executable, long stream) {
        check(cuGraphLaunch.call(executable, stream), cuGraphLaunch);
    }

    void destroyExecutable(long executable) {
        check(cuGraphExecDestroy.call(executable), cuGraphExecDestroy);
    }

    void destroyGraph(long graph) {
        check(cuGraphDestroy.call(graph), cuGraphDestroy);
    }

    // ---- kernels

    long loadModule(MemorySegment image) {
        return result(cuModuleLoadData, image);
    }

    void unloadModule(long module) {
        check(cuModuleUnload.call(module), cuModuleUnload);
    }

    long function(long module, String name) {
        try (Arena arena = Arena.ofConfined()) {
            return result(cuModuleGetFunction, () -> name, module, arena.allocateFrom(name));
        }
    }

    /** Lets a kernel's launches ask for that much dynamic shared memory; 48 KiB need no permission. */
    void permitSharedBytes(long function, int bytes, Kernel kernel) {
        check(cuFuncSetAttribute.invoke(function, MAX_DYNAMIC_SHARED_SIZE_BYTES, bytes), cuFuncSetAttribute,
                () -> kernel + " with " + bytes + " bytes of shared memory");
    }

    /** Has multiprocessors give as much as they can of what L1 and shared memory divide to the latter for a kernel. */
    void preferSharedMemory(long function, Kernel kernel) {
        check(cuFuncSetAttribute.invoke(function, PREFERRED_SHARED_MEMORY_CARVEOUT, CARVEOUT_MAX_SHARED),
                cuFuncSetAttribute, () -> kernel + " with all shared memory there is");
    }

    /** @param parameters addresses of the parameters, in order */
    void launch(long function, int gridX, int gridY, int threads, int sharedBytes, long stream,
            MemorySegment parameters, Kernel kernel) {
        int code = cuLaunchKernel.call(function, gridX, gridY, 1, threads, 1, 1, sharedBytes, stream, parameters,
                MemorySegment.NULL);
        if (code != SUCCESS) {
            throw failure(code, cuLaunchKernel, "%s on a grid of %d x %d, %d threads each, %d bytes of shared memory"
                    .formatted(kernel, gridX, gridY, threads, sharedBytes));
        }
    }

    // ---- codes

    /** Runs a function that writes its result, at most 8 bytes, where its first parameter points. */
    private long result(NativeFunction function, Object... others) {
        return result(function, null, others);
    }

    private long result(NativeFunction function, @Nullable Supplier<String> attempted, Object... others) {
        try (Arena arena = Arena.ofConfined()) {
            // zeroed and little-endian: a result of 4 bytes reads the same as one of 8
            MemorySegment cell = arena.allocate(JAVA_LONG);
            Object[] arguments = new Object[others.length + 1];
            arguments[0] = cell;
            System.arraycopy(others, 0, arguments, 1, others.length);
            check(function.invoke(arguments), function, attempted);
            return cell.get(JAVA_LONG, 0);
        }
    }

    private void check(int code, NativeFunction function) {
        if (code != SUCCESS) {
            throw failure(code, function, null);
        }
    }

    private void check(int code, NativeFunction function, @Nullable Supplier<String> attempted) {
        if (code != SUCCESS) {
            throw failure(code, function, attempted == null ? null : attempted.get());
        }
    }

    private RuntimeException failure(int code, NativeFunction function, @Nullable String attempted) {
        String message = function.name() + ": " + codeText(code) + (attempted == null ? "" : ", " + attempted);
        if (!isLoss(code)) {
            return new ComputeException(message);
        }
        loss.compareAndSet(null, message);
        return new DeviceLostException(message);
    }

    /** Once lost, ever lost: a later call might wait for the device without end. @throws DeviceLostException */
    void requireDevice() {
        String message = loss.get();
        if (message != null) {
            throw new DeviceLostException(message);
        }
    }

    /** Such as {@code CUDA_ERROR_OUT_OF_MEMORY (2)}. */
    @SuppressWarnings("restricted")   // the driver's names are constants of the library, ended by a zero
    String codeText(int code) {
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment name = arena.allocate(ADDRESS);
            boolean known = cuGetErrorName.invoke(code, name) == SUCCESS;
            return (known ? name.get(ADDRESS, 0).reinterpret(Long.MAX_VALUE).getString(0) : "unknown error")
                    + " (" + code + ")";
        }
    }

    /**
     * Codes after which the process can do nothing more with the device. For most {@code cuda.h} says so ("the process
     * must be terminated and relaunched"); the others mean that context, memory or driver are no longer to be trusted.
     */
    private static boolean isLoss(int code) {
        return switch (code) {
            case 4,         // DEINITIALIZED: the driver is shutting down
                 201,       // INVALID_CONTEXT: the one that is current here was destroyed
                 214,       // ECC_UNCORRECTABLE
                 220,       // NVLINK_UNCORRECTABLE
                 226,       // CONTAINED
                 700,       // ILLEGAL_ADDRESS
                 702,       // LAUNCH_TIMEOUT
                 709,       // CONTEXT_IS_DESTROYED
                 710,       // ASSERT
                 714,       // HARDWARE_STACK_ERROR
                 715,       // ILLEGAL_INSTRUCTION
                 716,       // MISALIGNED_ADDRESS
                 717,       // INVALID_ADDRESS_SPACE
                 718,       // INVALID_PC
                 719,       // LAUNCH_FAILED
                 721,       // TENSOR_MEMORY_LEAK
                 810,       // MPS_CLIENT_TERMINATED
                 999        // UNKNOWN
                    -> true;
            default -> false;
        };
    }
}
