// The one device that the fake driver and the fake cuBLASLt share: what is on it, its memory and its streams.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <vector>

#include "kernel_table.h"

namespace fake {

// enum cudaError_enum in cuda.h
constexpr int SUCCESS = 0;
constexpr int INVALID_VALUE = 1;
constexpr int OUT_OF_MEMORY = 2;
constexpr int NOT_INITIALIZED = 3;
constexpr int NO_DEVICE = 100;
constexpr int INVALID_DEVICE = 101;
constexpr int INVALID_IMAGE = 200;
constexpr int INVALID_CONTEXT = 201;
constexpr int NO_BINARY_FOR_GPU = 209;
constexpr int INVALID_HANDLE = 400;
constexpr int ILLEGAL_STATE = 401;
constexpr int NOT_FOUND = 500;
constexpr int NOT_READY = 600;
constexpr int LAUNCH_FAILED = 719;
constexpr int STREAM_CAPTURE_UNSUPPORTED = 900;
constexpr int STREAM_CAPTURE_INVALIDATED = 901;

// Work as a stream keeps it, and work as a graph keeps it. A graph's is called whenever it enters a stream, looks at
// the host's memory of that moment if it needs any, and gives what the stream runs later.
using Work = std::function<void()>;
using RecordedWork = std::function<Work()>;

enum class Kind { DEVICE, PINNED };

struct Allocation {
    Kind kind;
    size_t bytes;
    unsigned char* mapping;  // ends in the guard page
    size_t mappingBytes;
};

struct Graph {
    std::vector<RecordedWork> work;
};

struct Stream {
    std::deque<Work> queue;
    uint64_t entered = 0;  // work that was put in so far
    uint64_t done = 0;     // of which so much has run
    std::shared_ptr<Graph> capture;
    bool captureIsInvalid = false;
};

struct Event {
    bool timed;
    std::shared_ptr<Stream> stream;  // of the last record; null before
    uint64_t position = 0;           // complete when so much of the stream has run
    uint64_t nanos = 0;              // when it ran
    bool asked = false;              // a first query says "not ready", as the device might
};

struct Function {
    const emulator::Kernel* kernel;
    uint64_t module;
    size_t dynamicShared = 48 << 10;
    int sharedPercent = -1;  // of what L1 and shared memory divide; -1: the driver chooses
};

struct InjectedFailure {
    int callsUntil;
    int code;
};

struct Device {
    std::recursive_mutex mutex;

    int count, major, minor, driverVersion, multiprocessors, kernelsFrom;
    uint64_t memoryBytes;

    bool initialised;
    uint64_t generation = 0;  // of the contexts: a reset ends them all
    int lost;                 // the sticky error, or 0
    std::string complaint;    // the last sentence that was said

    std::map<uintptr_t, Allocation> allocations;  // by address
    std::map<uintptr_t, Allocation> freed;
    uint64_t deviceBytes;
    uint64_t nextHandle = 0x10000;
    std::map<int, int> contexts;  // retained how often, by device
    std::map<uint64_t, std::shared_ptr<Stream>> streams;
    std::map<uint64_t, std::shared_ptr<Event>> events;
    std::set<uint64_t> modules;
    std::map<uint64_t, Function> functions;
    std::map<uint64_t, std::shared_ptr<Graph>> graphs, executableGraphs;
    std::set<uint64_t> cublasObjects;

    std::map<std::string, int> calls, kernelCalls;
    std::map<std::string, InjectedFailure> failures;

    uint64_t handle() { return nextHandle += 16; }
};

extern Device& device;

constexpr uint64_t CONTEXT_OF_DEVICE = 0xC0DE0000;  // the handle of device 0's; then consecutive
void make_current(uint64_t context);                // for the calling thread; 0: none

// ---- Calls and their ends.

enum class Needs { NOTHING, INITIALISED, CONTEXT, CONTEXT_TO_RELEASE };

// The frame of every exported function, under the device's lock: counts the call, fails it if a test said so, checks
// what the function needs, and turns refuse() into its code. Once the device is lost every function that needs a
// context says so; those that release something do it nevertheless.
int call(const char* function, Needs needs, const std::function<void()>& body);

// Ends the call with a code; the sentence goes to the standard error.
[[noreturn]] void refuse(int code, const char* format, ...) __attribute__((format(printf, 2, 3)));

// Ends the call with a code, without a word: for what callers may well ask for.
[[noreturn]] void answer(int code);

// An error that shows in all later calls, too.
void lose_device(const char* format, ...) __attribute__((format(printf, 1, 2)));

// ---- Memory. Addresses of the device are the host's.

uint64_t allocate(Kind kind, size_t bytes);
void free_memory(Kind kind, uint64_t address);

// Refuses unless all of it lies in one allocation of this kind.
unsigned char* memory(Kind kind, uint64_t address, size_t bytes, const char* what);
unsigned char* device_memory(uint64_t address, size_t bytes, const char* what);

// ---- Streams.

template <typename T>
T& by_handle(std::map<uint64_t, T>& among, uint64_t handle, const char* what) {
    const auto found = among.find(handle);
    if (found == among.end()) {
        refuse(INVALID_HANDLE, "0x%llx is no %s", static_cast<unsigned long long>(handle), what);
    }
    return found->second;
}

// Puts work into a stream, or into the graph that is captured from it.
void submit(uint64_t stream, const RecordedWork& work);

void enter(Stream& stream, Work work);
void run_until(Stream& stream, uint64_t position);
void run_everything();

// For calls that wait for the device, or may: not while a stream is captured.
void refuse_while_capturing();
Stream& idle_stream(uint64_t handle);

}  // namespace fake
