// What the fake cuBLASLt shares with the fake driver: the one device, its memory and its streams.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>

namespace fake {

constexpr int INVALID_VALUE = 1;

// Work as a stream keeps it, and work as a graph keeps it. A graph's is called whenever it enters a stream, looks at
// the host's memory of that moment if it needs any, and gives what the stream runs later.
using Work = std::function<void()>;
using RecordedWork = std::function<Work()>;

enum class Needs { NOTHING, INITIALISED, CONTEXT, CONTEXT_TO_RELEASE };

// The frame of every exported function, under the device's lock: counts the call, fails it if a test said so, checks
// what the function needs, and turns refuse() into its code. Once the device is lost every function that needs a
// context says so; those that release something do it nevertheless.
int call(const char* function, Needs needs, const std::function<void()>& body);

// Ends the call with a code; the sentence goes to the standard error.
[[noreturn]] void refuse(int code, const char* format, ...) __attribute__((format(printf, 2, 3)));

// Throws the code without a word: for what callers may well ask for.
[[noreturn]] void answer(int code);

// Host address of device memory that is allocated from address to address + bytes; else refuses.
unsigned char* device_memory(uint64_t address, size_t bytes, const char* what);

// Puts work into a stream, or into the graph that is captured from it.
void submit(uint64_t stream, const RecordedWork& work);

// Counted by fake_live("cublas"); handles are never used twice.
uint64_t new_cublas_object();
void drop_cublas_object(uint64_t handle);
bool is_cublas_object(uint64_t handle);

}  // namespace fake
