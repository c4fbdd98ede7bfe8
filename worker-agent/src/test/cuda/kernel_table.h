// The emulated kernels by name.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

namespace emulator {

struct Kernel {
    const char* name;
    // Copies the parameters behind cuLaunchKernel's pointers, as the kernel's signature says.
    std::shared_ptr<void> (*copy)(void* const* parameters);
    // The values of those that are pointers.
    std::vector<const void*> (*pointers)(const void* copied);
    void (*body)(void* copied);
    size_t parameterCount;
};

const Kernel* find_kernel(const std::string& name);  // null if there is none
const std::vector<Kernel>& kernels();

}  // namespace emulator
