#include "fake_device.h"

#include <sys/mman.h>

#include <algorithm>
#include <cstdarg>
#include <cstdio>
#include <cstring>

#include "ptx.cuh"

namespace fake {

// Never destroyed: other threads may still call when the process ends.
Device& device = *new Device;

namespace {

struct Refused {
    int code;
};

thread_local uint64_t currentContext = 0;  // 0: none
thread_local uint64_t currentGeneration = 0;

bool is_sticky(int code) {
    return code == 214 || code == 220 || code == 700 || code == 702 || code == 710 || (code >= 714 && code <= 719)
        || code == 999;
}

void say(const char* format, va_list values) {
    char text[2048];
    vsnprintf(text, sizeof text, format, values);
    device.complaint = text;
    fprintf(stderr, "emulated device: %s\n", text);
}

}  // namespace

void lose_device(const char* format, ...) {
    va_list values;
    va_start(values, format);
    say(format, values);
    va_end(values);
    device.lost = LAUNCH_FAILED;
}

void answer(int code) { throw Refused{code}; }

void refuse(int code, const char* format, ...) {
    va_list values;
    va_start(values, format);
    say(format, values);
    va_end(values);
    throw Refused{code};
}

void make_current(uint64_t context) {
    currentContext = context;
    currentGeneration = device.generation;
}

int call(const char* function, Needs needs, const std::function<void()>& body) {
    const std::lock_guard lock(device.mutex);
    device.calls[function]++;
    const auto failure = device.failures.find(function);
    if (failure != device.failures.end() && --failure->second.callsUntil == 0) {
        const int code = failure->second.code;
        device.failures.erase(failure);
        if (is_sticky(code)) {
            device.lost = code;
        } else {
            return code;
        }
    }
    if (needs != Needs::NOTHING && !device.initialised) {
        return NOT_INITIALIZED;
    }
    const bool hasContext = currentContext != 0 && currentGeneration == device.generation
        && device.contexts[static_cast<int>(currentContext - CONTEXT_OF_DEVICE)] > 0;
    const bool usesDevice = needs == Needs::CONTEXT || needs == Needs::CONTEXT_TO_RELEASE;
    if (usesDevice && !hasContext) {
        return INVALID_CONTEXT;
    }
    if (needs == Needs::CONTEXT && device.lost) {
        return device.lost;
    }
    try {
        body();
    } catch (const Refused& refused) {
        return refused.code;
    }
    return usesDevice ? device.lost : SUCCESS;
}

// ---- Memory.

constexpr size_t PAGE = 4096;
constexpr size_t POISONED_AT_EACH_END = 32 << 20;  // of large allocations, which stay zero between

size_t round_up(size_t value, size_t unit) { return (value + unit - 1) / unit * unit; }

uint64_t allocate(Kind kind, size_t bytes) {
    const size_t mappingBytes = round_up(bytes, PAGE) + PAGE;
    void* mapped = mmap(nullptr, mappingBytes, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (mapped == MAP_FAILED) {
        answer(OUT_OF_MEMORY);
    }
    auto* mapping = static_cast<unsigned char*>(mapped);
    mprotect(mapping + mappingBytes - PAGE, PAGE, PROT_NONE);
    unsigned char* begin = mapping + mappingBytes - PAGE - round_up(bytes, 16);
    const size_t ends = std::min(POISONED_AT_EACH_END, static_cast<size_t>(mapping + mappingBytes - PAGE - begin));
    emulator::poison(mapping, static_cast<size_t>(begin - mapping));
    emulator::poison(begin, ends);
    emulator::poison(mapping + mappingBytes - PAGE - ends, ends);
    const auto address = reinterpret_cast<uintptr_t>(begin);
    device.allocations[address] = {kind, bytes, mapping, mappingBytes};
    device.deviceBytes += kind == Kind::DEVICE ? bytes : 0;
    return address;
}

void release(uint64_t address, const Allocation& allocation) {
    auto* begin = reinterpret_cast<unsigned char*>(address);
    unsigned char* end = begin + allocation.bytes;
    if (!emulator::poisoned(allocation.mapping, static_cast<size_t>(begin - allocation.mapping))) {
        lose_device("something was written before the start of an allocation of %zu bytes", allocation.bytes);
    }
    if (!emulator::poisoned(end, round_up(allocation.bytes, 16) - allocation.bytes)) {
        lose_device("something was written past the end of an allocation of %zu bytes", allocation.bytes);
    }
    mmap(allocation.mapping, allocation.mappingBytes, PROT_NONE,
         MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0);
    device.deviceBytes -= allocation.kind == Kind::DEVICE ? allocation.bytes : 0;
}

void free_memory(Kind kind, uint64_t address) {
    const auto found = device.allocations.find(address);
    if (found == device.allocations.end() || found->second.kind != kind) {
        refuse(INVALID_VALUE, "freed 0x%llx, which is no allocation%s", static_cast<unsigned long long>(address),
               device.freed.count(address) ? " any more" : "");
    }
    const Allocation allocation = found->second;
    device.allocations.erase(found);
    device.freed[address] = allocation;
    release(address, allocation);
}

const Allocation* find(const std::map<uintptr_t, Allocation>& among, uintptr_t address, uintptr_t* begin) {
    auto next = among.upper_bound(address);
    if (next == among.begin()) {
        return nullptr;
    }
    --next;
    *begin = next->first;
    return &next->second;
}

unsigned char* memory(Kind kind, uint64_t address, size_t bytes, const char* what) {
    uintptr_t begin = 0;
    const Allocation* allocation = find(device.allocations, address, &begin);
    if (allocation == nullptr || allocation->kind != kind || address + bytes > begin + allocation->bytes) {
        refuse(INVALID_VALUE, "%s, 0x%llx to + %zu, is not inside %s memory", what,
               static_cast<unsigned long long>(address), bytes, kind == Kind::DEVICE ? "device" : "pinned");
    }
    return reinterpret_cast<unsigned char*>(address);
}

bool describe(const void* where, char* text, size_t capacity) {
    const auto address = reinterpret_cast<uintptr_t>(where);
    uintptr_t begin = 0;
    for (const auto* among : {&device.allocations, &device.freed}) {
        const Allocation* found = find(*among, address, &begin);
        const bool isFreed = among == &device.freed;
        if (found != nullptr && address < begin + round_up(found->bytes, 16) + PAGE) {
            snprintf(text, capacity, "%zu bytes from the start of %s allocation of %zu bytes",
                     static_cast<size_t>(address - begin), isFreed ? "a freed" : "an", found->bytes);
            return true;
        }
    }
    return false;
}

unsigned char* device_memory(uint64_t address, size_t bytes, const char* what) {
    return memory(Kind::DEVICE, address, bytes, what);
}

// ---- Streams.

void run_until(Stream& stream, uint64_t position) {
    while (stream.done < position && !device.lost) {
        const Work work = std::move(stream.queue.front());
        stream.queue.pop_front();
        work();
        stream.done++;
    }
}

void enter(Stream& stream, Work work) {
    stream.queue.push_back(std::move(work));
    stream.entered++;
}

void run_everything() {
    for (auto& [handle, stream] : device.streams) {
        run_until(*stream, stream->entered);
    }
}

void refuse_while_capturing() {
    for (auto& [handle, stream] : device.streams) {
        if (stream->capture) {
            stream->captureIsInvalid = true;
            refuse(STREAM_CAPTURE_UNSUPPORTED, "a call that may wait for the device, while a stream is captured");
        }
    }
}

Stream& idle_stream(uint64_t handle) {
    Stream& stream = *by_handle(device.streams, handle, "stream");
    if (stream.capture) {
        stream.captureIsInvalid = true;
        refuse(STREAM_CAPTURE_UNSUPPORTED, "not for a stream that is captured");
    }
    return stream;
}

void submit(uint64_t handle, const RecordedWork& work) {
    Stream& stream = *by_handle(device.streams, handle, "stream");
    if (stream.capture) {
        stream.capture->work.push_back(work);
    } else {
        enter(stream, work());
    }
}

namespace {

void reset() {
    for (const auto& [address, allocation] : device.allocations) {
        munmap(allocation.mapping, allocation.mappingBytes);
    }
    for (const auto& [address, allocation] : device.freed) {
        munmap(allocation.mapping, allocation.mappingBytes);
    }
    device.allocations.clear();
    device.freed.clear();
    device.deviceBytes = 0;
    device.contexts.clear();
    device.streams.clear();
    device.events.clear();
    device.modules.clear();
    device.functions.clear();
    device.graphs.clear();
    device.executableGraphs.clear();
    device.cublasObjects.clear();
    device.calls.clear();
    device.kernelCalls.clear();
    device.failures.clear();
    device.complaint.clear();
    device.lost = 0;
    device.initialised = false;
    device.generation++;
    device.count = 1;
    device.major = 9;
    device.minor = 0;
    device.driverVersion = 13000;
    device.memoryBytes = 1ull << 30;
    device.multiprocessors = 8;
    device.kernelsFrom = 80;
    emulator::describe_address = describe;
    emulator::schedule(1);
}

const bool isReset = (reset(), true);

}  // namespace
}  // namespace fake

using namespace fake;

extern "C" {

// ---- For the tests.

void fake_reset() {
    const std::lock_guard lock(device.mutex);
    reset();
}

void fake_devices(int count, int major, int minor, uint64_t bytes, int driverVersion) {
    const std::lock_guard lock(device.mutex);
    device.count = count;
    device.major = major;
    device.minor = minor;
    device.memoryBytes = bytes;
    device.driverVersion = driverVersion;
}

void fake_multiprocessors(int count) {
    const std::lock_guard lock(device.mutex);
    device.multiprocessors = count;
}

// Images hold kernels for cards from this compute capability on: 80 unless said.
void fake_architecture(int lowest) {
    const std::lock_guard lock(device.mutex);
    device.kernelsFrom = lowest;
}

// The nth call from now fails, 1 is the next; a sticky code stays for all later ones.
void fake_fail(const char* function, int nth, int code) {
    const std::lock_guard lock(device.mutex);
    device.failures[function] = {nth, code};
}

int fake_calls(const char* function) {
    const std::lock_guard lock(device.mutex);
    return device.calls[function];
}

int fake_kernel_calls(const char* name) {
    const std::lock_guard lock(device.mutex);
    return device.kernelCalls[name];
}

// What a kernel's preferred share of shared memory was set to, in percent; -1: nothing yet.
int fake_shared_percent(const char* name) {
    const std::lock_guard lock(device.mutex);
    for (const auto& entry : device.functions) {
        if (std::string(name) == entry.second.kernel->name) {
            return entry.second.sharedPercent;
        }
    }
    return -1;
}

// How many there are of a kind; -1 if the kind is unknown.
int fake_live(const char* kind) {
    const std::lock_guard lock(device.mutex);
    const std::string name = kind;
    auto allocations = [](Kind wanted) {
        return static_cast<int>(std::count_if(device.allocations.begin(), device.allocations.end(),
                                              [=](const auto& entry) { return entry.second.kind == wanted; }));
    };
    auto contexts = [] {
        int count = 0;
        for (const auto& [ordinal, retained] : device.contexts) {
            count += retained;
        }
        return count;
    };
    return name == "device"    ? allocations(Kind::DEVICE)
         : name == "pinned"    ? allocations(Kind::PINNED)
         : name == "stream"    ? static_cast<int>(device.streams.size())
         : name == "event"     ? static_cast<int>(device.events.size())
         : name == "module"    ? static_cast<int>(device.modules.size())
         : name == "graph"     ? static_cast<int>(device.graphs.size())
         : name == "graphExec" ? static_cast<int>(device.executableGraphs.size())
         : name == "context"   ? contexts()
         : name == "cublas"    ? static_cast<int>(device.cublasObjects.size())
                               : -1;
}

void fake_schedule(uint64_t seed) {
    const std::lock_guard lock(device.mutex);
    emulator::schedule(seed);
}

// The last sentence that was said on the standard error, empty if there was none since the reset. Valid until the next.
const char* fake_complaint() {
    const std::lock_guard lock(device.mutex);
    return device.complaint.c_str();
}

// Name of a kernel by index; null past the last.
const char* fake_kernel_name(int index) {
    const auto& table = emulator::kernels();
    return static_cast<size_t>(index) < table.size() ? table[static_cast<size_t>(index)].name : nullptr;
}

}  // extern "C"
