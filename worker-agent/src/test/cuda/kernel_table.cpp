// All kernels of the project and those of the emulator's own tests, compiled for the host. build.sh writes a line
// KERNEL(name) for every __global__ function that the preprocessor leaves, so that none is forgotten.
#include "kernel_table.h"

#include <tuple>
#include <type_traits>

#include "emulator_test_kernels.cu"
#include "kernels.cu"

namespace emulator {
namespace {

template <typename T>
void add_pointer(std::vector<const void*>& found, T value) {
    if constexpr (std::is_pointer_v<T>) {
        found.push_back(value);
    }
}

template <auto kernel>
struct Bound;

template <typename... Parameters, void (*kernel)(Parameters...)>
struct Bound<kernel> {
    using Arguments = std::tuple<Parameters...>;

    template <size_t... i>
    static Arguments read(void* const* parameters, std::index_sequence<i...>) {
        return Arguments{*static_cast<Parameters*>(parameters[i])...};
    }

    static std::shared_ptr<void> copy(void* const* parameters) {
        return std::make_shared<Arguments>(read(parameters, std::index_sequence_for<Parameters...>{}));
    }

    static std::vector<const void*> pointers(const void* copied) {
        std::vector<const void*> found;
        std::apply([&](auto... values) { (add_pointer(found, values), ...); }, *static_cast<const Arguments*>(copied));
        return found;
    }

    static void body(void* copied) { std::apply(kernel, *static_cast<Arguments*>(copied)); }

    static Kernel entry(const char* name) { return {name, copy, pointers, body, sizeof...(Parameters)}; }
};

}  // namespace

const std::vector<Kernel>& kernels() {
    using namespace planted;
#define KERNEL(name) Bound<name>::entry(#name),
    static const std::vector<Kernel> table = {
#include "kernel_names.inc"
    };
#undef KERNEL
    return table;
}

const Kernel* find_kernel(const std::string& name) {
    for (const Kernel& kernel : kernels()) {
        if (name == kernel.name) {
            return &kernel;
        }
    }
    return nullptr;
}

}  // namespace emulator
