// A CUDA driver on which nothing is early by chance: a stream's work runs only when the host synchronises or when other
// work that runs waits for it, so that whoever reads a result, reuses a buffer or frees memory too soon is found out.
//
// - Copies to and from the host take pinned memory only; the rule is ours, for speed. What a copy will read is compared
//   with what it was at the call: changing it in between is an error. What a copy will write is poisoned at the call.
// - Device memory ends at a page without access and starts as poison; what is freed is never accessible again.
// - Kernels get their parameters as they were at the launch; pointers have to point into device memory.
// - An error of a kernel is sticky, as on a device: from then on every function fails, but releases still release.
// - Anything that the runner does not use is refused with a sentence on the standard error.
#include <time.h>

#include <cstdio>
#include <cstring>

#include "fake_device.h"
#include "ptx.cuh"

using namespace fake;

namespace {

const std::map<int, const char*> ERROR_NAMES = {
    {0, "CUDA_SUCCESS"},
    {1, "CUDA_ERROR_INVALID_VALUE"},
    {2, "CUDA_ERROR_OUT_OF_MEMORY"},
    {3, "CUDA_ERROR_NOT_INITIALIZED"},
    {4, "CUDA_ERROR_DEINITIALIZED"},
    {100, "CUDA_ERROR_NO_DEVICE"},
    {101, "CUDA_ERROR_INVALID_DEVICE"},
    {200, "CUDA_ERROR_INVALID_IMAGE"},
    {201, "CUDA_ERROR_INVALID_CONTEXT"},
    {209, "CUDA_ERROR_NO_BINARY_FOR_GPU"},
    {214, "CUDA_ERROR_ECC_UNCORRECTABLE"},
    {218, "CUDA_ERROR_INVALID_PTX"},
    {220, "CUDA_ERROR_NVLINK_UNCORRECTABLE"},
    {222, "CUDA_ERROR_UNSUPPORTED_PTX_VERSION"},
    {400, "CUDA_ERROR_INVALID_HANDLE"},
    {401, "CUDA_ERROR_ILLEGAL_STATE"},
    {500, "CUDA_ERROR_NOT_FOUND"},
    {600, "CUDA_ERROR_NOT_READY"},
    {700, "CUDA_ERROR_ILLEGAL_ADDRESS"},
    {701, "CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES"},
    {702, "CUDA_ERROR_LAUNCH_TIMEOUT"},
    {709, "CUDA_ERROR_CONTEXT_IS_DESTROYED"},
    {710, "CUDA_ERROR_ASSERT"},
    {714, "CUDA_ERROR_HARDWARE_STACK_ERROR"},
    {715, "CUDA_ERROR_ILLEGAL_INSTRUCTION"},
    {716, "CUDA_ERROR_MISALIGNED_ADDRESS"},
    {717, "CUDA_ERROR_INVALID_ADDRESS_SPACE"},
    {718, "CUDA_ERROR_INVALID_PC"},
    {719, "CUDA_ERROR_LAUNCH_FAILED"},
    {800, "CUDA_ERROR_NOT_PERMITTED"},
    {801, "CUDA_ERROR_NOT_SUPPORTED"},
    {802, "CUDA_ERROR_SYSTEM_NOT_READY"},
    {900, "CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED"},
    {901, "CUDA_ERROR_STREAM_CAPTURE_INVALIDATED"},
    {999, "CUDA_ERROR_UNKNOWN"},
};

uint64_t now_nanos() {
    timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return static_cast<uint64_t>(now.tv_sec) * 1000000000u + static_cast<uint64_t>(now.tv_nsec);
}

// A copy from the host that is under way, and what the host held when it was asked for. Later copies to the host that
// run before it change that; nobody else may.
struct Leaving {
    const unsigned char* host;
    std::vector<unsigned char> bytes;

    bool overlaps(const unsigned char* from, size_t count) const {
        return host < from + count && from < host + bytes.size();
    }
};
std::vector<std::weak_ptr<Leaving>> leaving;

template <typename Action>
void for_each_leaving(const unsigned char* host, size_t bytes, const Action& action) {
    leaving.erase(std::remove_if(leaving.begin(), leaving.end(), [](const auto& copy) { return copy.expired(); }),
                  leaving.end());
    for (const auto& weak : leaving) {
        const std::shared_ptr<Leaving> copy = weak.lock();
        if (copy->overlaps(host, bytes)) {
            action(*copy);
        }
    }
}

void copy_to_device(uint64_t target, uint64_t source, size_t bytes, uint64_t stream) {
    submit(stream, [=]() -> Work {
        const unsigned char* host = memory(Kind::PINNED, source, bytes, "source of a copy to the device");
        unsigned char* card = device_memory(target, bytes, "target of a copy to the device");
        auto copy = std::make_shared<Leaving>(Leaving{host, {host, host + bytes}});
        leaving.push_back(copy);
        return [=] {
            if (memcmp(copy->bytes.data(), host, bytes) != 0) {
                lose_device("pinned memory was changed while a copy of %zu bytes from it was under way", bytes);
            }
            memcpy(card, copy->bytes.data(), bytes);
        };
    });
}

void copy_to_host(uint64_t target, uint64_t source, size_t bytes, uint64_t stream) {
    submit(stream, [=]() -> Work {
        unsigned char* host = memory(Kind::PINNED, target, bytes, "target of a copy to the host");
        const unsigned char* card = device_memory(source, bytes, "source of a copy to the host");
        bool isLeaving = false;
        for_each_leaving(host, bytes, [&](Leaving&) { isLeaving = true; });
        if (!isLeaving) {
            emulator::poison(host, bytes);
        }
        return [=] {
            memcpy(host, card, bytes);
            for_each_leaving(host, bytes, [](Leaving& copy) {
                copy.bytes.assign(copy.host, copy.host + copy.bytes.size());
            });
        };
    });
}

// ---- Kernels.

struct Grid {
    unsigned x, y, threads;
    size_t sharedBytes;
};

// Static and dynamic together; a kernel that wants more than 48 KiB of the latter has to ask before.
size_t shared_limit() {
    if (device.major == 8) {
        return (device.minor == 0 || device.minor == 7 ? 163 : 99) << 10;
    }
    return 227 << 10;
}

void run_kernel(const emulator::Kernel& kernel, const Grid& grid, const std::shared_ptr<void>& arguments) {
    device.kernelCalls[kernel.name]++;
    const emulator::Launch launch = {kernel.name,        static_cast<int>(grid.x), static_cast<int>(grid.y),
                                     static_cast<int>(grid.threads), grid.sharedBytes, shared_limit(),
                                     kernel.body,        arguments.get()};
    if (const char* sentence = emulator::run(launch)) {
        lose_device("%s", sentence);
    }
}

void launch(const Function& function, const Grid& grid, void* const* parameters, uint64_t stream) {
    const emulator::Kernel& kernel = *function.kernel;
    if (grid.x == 0 || grid.y == 0 || grid.y > 65535 || grid.threads == 0 || grid.threads > 1024) {
        refuse(INVALID_VALUE, "%s: a grid of %u x %u blocks of %u threads", kernel.name, grid.x, grid.y, grid.threads);
    }
    if (grid.threads % 32 != 0) {
        refuse(INVALID_VALUE, "%s: %u threads are not whole warps", kernel.name, grid.threads);
    }
    if (grid.sharedBytes > function.dynamicShared) {
        refuse(INVALID_VALUE, "%s: %zu bytes of shared memory, %zu were asked for before", kernel.name,
               grid.sharedBytes, function.dynamicShared);
    }
    for (size_t i = 0; i < kernel.parameterCount; i++) {
        if (parameters == nullptr || parameters[i] == nullptr) {
            refuse(INVALID_VALUE, "%s: parameter %zu of %zu is missing", kernel.name, i, kernel.parameterCount);
        }
    }
    const std::shared_ptr<void> arguments = kernel.copy(parameters);
    for (const void* pointer : kernel.pointers(arguments.get())) {
        if (pointer != nullptr) {
            device_memory(reinterpret_cast<uint64_t>(pointer), 0, kernel.name);
        }
        if (reinterpret_cast<uint64_t>(pointer) % 16 != 0) {
            refuse(INVALID_VALUE, "%s: pointer %p is no multiple of 16", kernel.name, pointer);
        }
    }
    submit(stream, [=]() -> Work { return [=] { run_kernel(*function.kernel, grid, arguments); }; });
}

int attribute(int number) {
    switch (number) {
        case 1: return 1024;                                      // threads per block
        case 8: return 48 << 10;                                  // shared memory per block
        case 10: return 32;                                       // warp size
        case 13: return 1980000;                                  // clock rate, kHz
        case 16: return device.multiprocessors;
        case 38: return 1 << 20;                                  // L2 cache, bytes
        case 39: return 2048;                                     // threads per multiprocessor
        case 75: return device.major;
        case 76: return device.minor;
        case 81: return static_cast<int>(shared_limit()) + 1024;  // shared memory per multiprocessor
        case 97: return static_cast<int>(shared_limit());         // shared memory per block, if asked for
        default: refuse(INVALID_VALUE, "device attribute %d is none that the fake knows", number);
    }
}

void check_device(int ordinal) {
    if (ordinal < 0 || ordinal >= device.count) {
        answer(INVALID_DEVICE);
    }
}

}  // namespace

// Signatures as in cuda.h; handles and device pointers are numbers.
extern "C" {

int cuInit(unsigned flags) {
    return call(__func__, Needs::NOTHING, [&] {
        if (flags != 0) {
            refuse(INVALID_VALUE, "cuInit takes no flags");
        }
        if (device.count == 0) {
            answer(NO_DEVICE);
        }
        device.initialised = true;
    });
}

int cuDriverGetVersion(int* version) {
    return call(__func__, Needs::NOTHING, [&] { *version = device.driverVersion; });
}

int cuGetErrorName(int code, const char** name) {
    const auto found = ERROR_NAMES.find(code);
    *name = found == ERROR_NAMES.end() ? nullptr : found->second;
    return found == ERROR_NAMES.end() ? INVALID_VALUE : SUCCESS;
}

int cuDeviceGetCount(int* count) {
    return call(__func__, Needs::INITIALISED, [&] { *count = device.count; });
}

int cuDeviceGet(int* result, int ordinal) {
    return call(__func__, Needs::INITIALISED, [&] {
        check_device(ordinal);
        *result = ordinal;
    });
}

int cuDeviceGetName(char* name, int length, int ordinal) {
    return call(__func__, Needs::INITIALISED, [&] {
        check_device(ordinal);
        snprintf(name, static_cast<size_t>(length), "Emulated device %d", ordinal);
    });
}

// 00000000-0000-0000-0000-0000000000NN
int cuDeviceGetUuid_v2(unsigned char* uuid, int ordinal) {
    return call(__func__, Needs::INITIALISED, [&] {
        check_device(ordinal);
        memset(uuid, 0, 15);
        uuid[15] = static_cast<unsigned char>(ordinal);
    });
}

int cuDeviceTotalMem_v2(size_t* bytes, int ordinal) {
    return call(__func__, Needs::INITIALISED, [&] {
        check_device(ordinal);
        *bytes = device.memoryBytes;
    });
}

int cuDeviceGetAttribute(int* value, int number, int ordinal) {
    return call(__func__, Needs::INITIALISED, [&] {
        check_device(ordinal);
        *value = attribute(number);
    });
}

int cuDevicePrimaryCtxRetain(uint64_t* context, int ordinal) {
    return call(__func__, Needs::INITIALISED, [&] {
        check_device(ordinal);
        device.contexts[ordinal]++;
        *context = CONTEXT_OF_DEVICE + static_cast<uint64_t>(ordinal);
    });
}

int cuDevicePrimaryCtxRelease_v2(int ordinal) {
    return call(__func__, Needs::INITIALISED, [&] {
        if (device.contexts[ordinal] == 0) {
            refuse(INVALID_CONTEXT, "the context of device %d is released more often than retained", ordinal);
        }
        device.contexts[ordinal]--;
    });
}

int cuCtxSetCurrent(uint64_t context) {
    return call(__func__, Needs::INITIALISED, [&] {
        if (context != 0 && device.contexts[static_cast<int>(context - CONTEXT_OF_DEVICE)] == 0) {
            refuse(INVALID_CONTEXT, "0x%llx is no context", static_cast<unsigned long long>(context));
        }
        make_current(context);
    });
}

int cuCtxSynchronize() {
    return call(__func__, Needs::CONTEXT, [&] {
        refuse_while_capturing();
        run_everything();
    });
}

int cuMemGetInfo_v2(size_t* free, size_t* total) {
    return call(__func__, Needs::CONTEXT, [&] {
        *free = device.memoryBytes - device.deviceBytes;
        *total = device.memoryBytes;
    });
}

int cuMemAlloc_v2(uint64_t* address, size_t bytes) {
    return call(__func__, Needs::CONTEXT, [&] {
        refuse_while_capturing();
        if (bytes == 0) {
            refuse(INVALID_VALUE, "an allocation of no bytes");
        }
        if (bytes > device.memoryBytes - device.deviceBytes) {
            answer(OUT_OF_MEMORY);
        }
        *address = allocate(Kind::DEVICE, bytes);
    });
}

int cuMemFree_v2(uint64_t address) {
    return call(__func__, Needs::CONTEXT_TO_RELEASE, [&] {
        refuse_while_capturing();
        run_everything();  // as the device does
        free_memory(Kind::DEVICE, address);
    });
}

int cuMemHostAlloc(uint64_t* address, size_t bytes, unsigned) {
    return call(__func__, Needs::CONTEXT, [&] {
        refuse_while_capturing();
        if (bytes == 0) {
            refuse(INVALID_VALUE, "an allocation of no bytes");
        }
        *address = allocate(Kind::PINNED, bytes);
    });
}

int cuMemFreeHost(uint64_t address) {
    return call(__func__, Needs::CONTEXT_TO_RELEASE, [&] {
        refuse_while_capturing();
        run_everything();
        free_memory(Kind::PINNED, address);
    });
}

int cuMemcpyHtoDAsync_v2(uint64_t target, uint64_t source, size_t bytes, uint64_t stream) {
    return call(__func__, Needs::CONTEXT, [&] {
        memory(Kind::PINNED, source, bytes, "source of a copy to the device");
        device_memory(target, bytes, "target of a copy to the device");
        copy_to_device(target, source, bytes, stream);
    });
}

int cuMemcpyDtoHAsync_v2(uint64_t target, uint64_t source, size_t bytes, uint64_t stream) {
    return call(__func__, Needs::CONTEXT, [&] {
        memory(Kind::PINNED, target, bytes, "target of a copy to the host");
        device_memory(source, bytes, "source of a copy to the host");
        copy_to_host(target, source, bytes, stream);
    });
}

int cuMemcpyDtoDAsync_v2(uint64_t target, uint64_t source, size_t bytes, uint64_t stream) {
    return call(__func__, Needs::CONTEXT, [&] {
        unsigned char* to = device_memory(target, bytes, "target of a copy");
        const unsigned char* from = device_memory(source, bytes, "source of a copy");
        submit(stream, [=]() -> Work { return [=] { memmove(to, from, bytes); }; });
    });
}

int cuMemsetD8Async(uint64_t target, unsigned char value, size_t bytes, uint64_t stream) {
    return call(__func__, Needs::CONTEXT, [&] {
        unsigned char* to = device_memory(target, bytes, "target of a fill");
        submit(stream, [=]() -> Work { return [=] { memset(to, value, bytes); }; });
    });
}

int cuStreamCreate(uint64_t* stream, unsigned flags) {
    return call(__func__, Needs::CONTEXT, [&] {
        if (flags != 1) {
            refuse(INVALID_VALUE, "streams of ours are non-blocking: flags 1, not %u", flags);
        }
        *stream = device.handle();
        device.streams[*stream] = std::make_shared<Stream>();
    });
}

int cuStreamDestroy_v2(uint64_t handle) {
    return call(__func__, Needs::CONTEXT_TO_RELEASE, [&] {
        Stream& stream = *by_handle(device.streams, handle, "stream");
        run_until(stream, stream.entered);
        device.streams.erase(handle);
    });
}

int cuStreamSynchronize(uint64_t handle) {
    return call(__func__, Needs::CONTEXT, [&] {
        Stream& stream = idle_stream(handle);
        run_until(stream, stream.entered);
    });
}

int cuStreamWaitEvent(uint64_t handle, uint64_t eventHandle, unsigned) {
    return call(__func__, Needs::CONTEXT, [&] {
        Stream& stream = idle_stream(handle);
        const Event& event = *by_handle(device.events, eventHandle, "event");
        if (event.stream) {
            enter(stream, [from = event.stream, position = event.position] { run_until(*from, position); });
        }
    });
}

int cuStreamBeginCapture_v2(uint64_t handle, int mode) {
    return call(__func__, Needs::CONTEXT, [&] {
        Stream& stream = idle_stream(handle);
        if (mode < 0 || mode > 2) {
            refuse(INVALID_VALUE, "capture mode %d", mode);
        }
        stream.capture = std::make_shared<Graph>();
        stream.captureIsInvalid = false;
    });
}

int cuStreamEndCapture(uint64_t handle, uint64_t* graph) {
    return call(__func__, Needs::CONTEXT, [&] {
        Stream& stream = *by_handle(device.streams, handle, "stream");
        *graph = 0;
        if (!stream.capture) {
            refuse(ILLEGAL_STATE, "the stream is not captured");
        }
        const std::shared_ptr<Graph> captured = std::move(stream.capture);
        stream.capture = nullptr;
        if (stream.captureIsInvalid) {
            answer(STREAM_CAPTURE_INVALIDATED);
        }
        *graph = device.handle();
        device.graphs[*graph] = captured;
    });
}

int cuEventCreate(uint64_t* event, unsigned flags) {
    return call(__func__, Needs::CONTEXT, [&] {
        if (flags & ~3u) {
            refuse(INVALID_VALUE, "event flags %u", flags);
        }
        *event = device.handle();
        device.events[*event] = std::make_shared<Event>();
        device.events[*event]->timed = (flags & 2) == 0;
    });
}

int cuEventDestroy_v2(uint64_t handle) {
    return call(__func__, Needs::CONTEXT_TO_RELEASE, [&] {
        by_handle(device.events, handle, "event");
        device.events.erase(handle);
    });
}

int cuEventRecord(uint64_t handle, uint64_t streamHandle) {
    return call(__func__, Needs::CONTEXT, [&] {
        const std::shared_ptr<Event> event = by_handle(device.events, handle, "event");
        idle_stream(streamHandle);
        event->stream = by_handle(device.streams, streamHandle, "stream");
        enter(*event->stream, [event] { event->nanos = now_nanos(); });
        event->position = event->stream->entered;
        event->asked = false;
    });
}

int cuEventQuery(uint64_t handle) {
    return call(__func__, Needs::CONTEXT, [&] {
        Event& event = *by_handle(device.events, handle, "event");
        if (event.stream && event.stream->done < event.position) {
            if (!event.asked) {
                event.asked = true;
                answer(NOT_READY);
            }
            run_until(*event.stream, event.position);
        }
    });
}

int cuEventSynchronize(uint64_t handle) {
    return call(__func__, Needs::CONTEXT, [&] {
        Event& event = *by_handle(device.events, handle, "event");
        if (event.stream) {
            run_until(*event.stream, event.position);
        }
    });
}

int cuEventElapsedTime(float* milliseconds, uint64_t startHandle, uint64_t endHandle) {
    return call(__func__, Needs::CONTEXT, [&] {
        const Event& start = *by_handle(device.events, startHandle, "event");
        const Event& end = *by_handle(device.events, endHandle, "event");
        for (const Event* event : {&start, &end}) {
            if (!event->timed || !event->stream) {
                refuse(INVALID_HANDLE, "an event without a time");
            }
            if (event->stream->done < event->position) {
                answer(NOT_READY);
            }
        }
        *milliseconds = static_cast<float>(static_cast<double>(end.nanos - start.nanos) / 1e6);
    });
}

int cuGraphInstantiateWithFlags(uint64_t* executable, uint64_t graph, uint64_t flags) {
    return call(__func__, Needs::CONTEXT, [&] {
        if (flags != 0) {
            refuse(INVALID_VALUE, "graph flags %llu", static_cast<unsigned long long>(flags));
        }
        const std::shared_ptr<Graph> source = by_handle(device.graphs, graph, "graph");
        *executable = device.handle();
        device.executableGraphs[*executable] = std::make_shared<Graph>(*source);
    });
}

int cuGraphLaunch(uint64_t executable, uint64_t stream) {
    return call(__func__, Needs::CONTEXT, [&] {
        const Graph& graph = *by_handle(device.executableGraphs, executable, "executable graph");
        idle_stream(stream);
        for (const RecordedWork& work : graph.work) {
            submit(stream, work);
        }
    });
}

int cuGraphExecDestroy(uint64_t executable) {
    return call(__func__, Needs::CONTEXT_TO_RELEASE, [&] {
        by_handle(device.executableGraphs, executable, "executable graph");
        device.executableGraphs.erase(executable);
    });
}

int cuGraphDestroy(uint64_t graph) {
    return call(__func__, Needs::CONTEXT_TO_RELEASE, [&] {
        by_handle(device.graphs, graph, "graph");
        device.graphs.erase(graph);
    });
}

int cuModuleLoadData(uint64_t* module, const void* image) {
    return call(__func__, Needs::CONTEXT, [&] {
        refuse_while_capturing();
        uint32_t magic;
        memcpy(&magic, image, sizeof magic);
        if (magic != 0xBA55ED50) {
            answer(INVALID_IMAGE);
        }
        if (device.major * 10 + device.minor < device.kernelsFrom) {
            answer(NO_BINARY_FOR_GPU);
        }
        *module = device.handle();
        device.modules.insert(*module);
    });
}

int cuModuleUnload(uint64_t module) {
    return call(__func__, Needs::CONTEXT_TO_RELEASE, [&] {
        if (device.modules.erase(module) == 0) {
            refuse(INVALID_HANDLE, "0x%llx is no module", static_cast<unsigned long long>(module));
        }
        run_everything();
        for (auto function = device.functions.begin(); function != device.functions.end();) {
            function = function->second.module == module ? device.functions.erase(function) : std::next(function);
        }
    });
}

int cuModuleGetFunction(uint64_t* function, uint64_t module, const char* name) {
    return call(__func__, Needs::CONTEXT, [&] {
        const emulator::Kernel* kernel = emulator::find_kernel(name);
        if (device.modules.count(module) == 0) {
            refuse(INVALID_HANDLE, "0x%llx is no module", static_cast<unsigned long long>(module));
        }
        if (kernel == nullptr) {
            answer(NOT_FOUND);
        }
        *function = device.handle();
        device.functions[*function] = {kernel, module};
    });
}

int cuFuncSetAttribute(uint64_t function, int number, int value) {
    return call(__func__, Needs::CONTEXT, [&] {
        Function& changed = by_handle(device.functions, function, "function");
        constexpr int MAX_DYNAMIC_SHARED_SIZE_BYTES = 8;
        constexpr int PREFERRED_SHARED_MEMORY_CARVEOUT = 9;
        if (number == PREFERRED_SHARED_MEMORY_CARVEOUT && value >= -1 && value <= 100) {
            changed.sharedPercent = value;
            return;
        }
        if (number != MAX_DYNAMIC_SHARED_SIZE_BYTES || value < 0 || static_cast<size_t>(value) > shared_limit()) {
            refuse(INVALID_VALUE, "%s: attribute %d = %d", changed.kernel->name, number, value);
        }
        changed.dynamicShared = static_cast<size_t>(value);
    });
}

int cuLaunchKernel(uint64_t function, unsigned gridX, unsigned gridY, unsigned gridZ, unsigned threadsX,
                   unsigned threadsY, unsigned threadsZ, unsigned sharedBytes, uint64_t stream, void** parameters,
                   void** extra) {
    return call(__func__, Needs::CONTEXT, [&] {
        if (gridZ != 1 || threadsY != 1 || threadsZ != 1 || extra != nullptr) {
            refuse(INVALID_VALUE, "kernels of ours have grids (x, y, 1), blocks (x, 1, 1) and no extra");
        }
        launch(by_handle(device.functions, function, "function"), {gridX, gridY, threadsX, sharedBytes}, parameters,
               stream);
    });
}

}  // extern "C"
