// cuBLASLt as far as the runner uses it: D = A^T * B with columns contiguous, A and B bf16, D bf16 or float, sums in
// float over the depth in its order. An algorithm is good for the shape that it was chosen for only. Anything else is
// refused with a sentence on the standard error.
#include <cstring>
#include <map>
#include <memory>
#include <vector>

#include "fake_device.h"
#include "ptx.cuh"

namespace fake {
namespace {

// cublasStatus_t in cublas_api.h
constexpr int STATUS_NOT_INITIALIZED = 1;
constexpr int STATUS_INVALID_VALUE = 7;
constexpr int STATUS_EXECUTION_FAILED = 13;
constexpr int STATUS_NOT_SUPPORTED = 15;

constexpr int R_32F = 0;  // cudaDataType, library_types.h
constexpr int R_16BF = 14;
constexpr int COMPUTE_32F = 68;

constexpr size_t WORKSPACE_BYTES = 64 << 10;  // what an algorithm here wants, and fills with poison
constexpr int ALIGNMENT = 16;

struct Product {
    bool transposesA, transposesB;
};

struct Layout {
    int type;
    uint64_t rows, columns, leading;
};

struct Preference {
    uint64_t workspaceBytes;
};

struct Shape {  // rows of D = outputs, columns of D = rows of the activations, `stride` numbers apart
    uint64_t outputs, rows, depth, stride;
    int outputType;
};

bool operator==(const Shape& a, const Shape& b) {
    return a.outputs == b.outputs && a.rows == b.rows && a.depth == b.depth && a.stride == b.stride
        && a.outputType == b.outputType;
}

struct Algorithm {  // the 64 bytes of cublasLtMatmulAlgo_t
    uint64_t mark;
    Shape shape;
    unsigned char rest[64 - sizeof(uint64_t) - sizeof(Shape)];
};
static_assert(sizeof(Algorithm) == 64, "cublasLtMatmulAlgo_t has 64 bytes");

struct HeuristicResult {  // cublasLtMatmulHeuristicResult_t
    Algorithm algorithm;
    size_t workspaceBytes;
    int state;
    float waves;
    int reserved[4];
};
static_assert(sizeof(HeuristicResult) == 96, "cublasLtMatmulHeuristicResult_t has 96 bytes");

constexpr uint64_t ALGORITHM_MARK = 0x5741524D50415448;

// By handle; the device knows which of them are live.
std::map<uint64_t, Product> products;
std::map<uint64_t, Layout> layouts;
std::map<uint64_t, Preference> preferences;

// Codes from 100 on are the driver's.
int status(int code) { return code < 100 ? code : code == 201 ? STATUS_NOT_INITIALIZED : STATUS_EXECUTION_FAILED; }

int cublas_call(const char* function, const std::function<void()>& body) {
    return status(call(function, Needs::CONTEXT, body));
}

int cublas_release(const char* function, const std::function<void()>& body) {
    return status(call(function, Needs::CONTEXT_TO_RELEASE, body));
}

void check_handle(uint64_t handle, const char* what) {
    if (device.cublasObjects.count(handle) == 0) {
        refuse(STATUS_INVALID_VALUE, "0x%llx is no %s", static_cast<unsigned long long>(handle), what);
    }
}

template <typename T>
T& object(std::map<uint64_t, T>& among, uint64_t handle, const char* what) {
    const auto found = among.find(handle);
    check_handle(found == among.end() ? 0 : handle, what);
    return found->second;
}

template <typename T>
void create(std::map<uint64_t, T>& among, uint64_t* handle, const T& value) {
    *handle = *device.cublasObjects.insert(device.handle()).first;
    among[*handle] = value;
}

void destroy(uint64_t handle, const char* what) {
    check_handle(handle, what);
    device.cublasObjects.erase(handle);
}

Shape check_shape(uint64_t product, uint64_t aLayout, uint64_t bLayout, uint64_t cLayout, uint64_t dLayout) {
    const Product& transposed = object(products, product, "product");
    const Layout& a = object(layouts, aLayout, "layout of A");
    const Layout& b = object(layouts, bLayout, "layout of B");
    const Layout& c = object(layouts, cLayout, "layout of C");
    const Layout& d = object(layouts, dLayout, "layout of D");
    if (!transposed.transposesA || transposed.transposesB) {
        refuse(STATUS_NOT_SUPPORTED, "products of ours transpose A and not B");
    }
    if (a.type != R_16BF || b.type != R_16BF || (d.type != R_16BF && d.type != R_32F) || c.type != d.type) {
        refuse(STATUS_NOT_SUPPORTED, "types A %d, B %d, C %d, D %d", a.type, b.type, c.type, d.type);
    }
    if (a.rows != b.rows || d.rows != a.columns || d.columns != b.columns || c.rows != d.rows
        || c.columns != d.columns) {
        refuse(STATUS_INVALID_VALUE, "A [%llu, %llu], B [%llu, %llu] and D [%llu, %llu] do not fit",
               static_cast<unsigned long long>(a.rows), static_cast<unsigned long long>(a.columns),
               static_cast<unsigned long long>(b.rows), static_cast<unsigned long long>(b.columns),
               static_cast<unsigned long long>(d.rows), static_cast<unsigned long long>(d.columns));
    }
    if (a.leading != a.rows || b.leading != b.rows || c.leading != d.leading) {
        refuse(STATUS_NOT_SUPPORTED, "columns of A and B lie one behind the other, those of C as those of D");
    }
    return {d.rows, d.columns, a.rows, d.leading, d.type};
}

size_t bytes_of(int type) { return type == R_32F ? 4 : 2; }

#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__)
#define FOR_WIDER_PROCESSORS_TOO __attribute__((target_clones("avx2", "default")))
#else
#define FOR_WIDER_PROCESSORS_TOO
#endif

constexpr uint64_t PANEL = 16;  // outputs at a time
constexpr uint64_t STRIP = 4;   // rows at a time

// sums[STRIP][PANEL] = strip[depth][STRIP] times panel[depth][PANEL], each sum in the order of the depth.
FOR_WIDER_PROCESSORS_TOO void multiply_strip(const float* strip, const float* panel, uint64_t depth, float* sums) {
    float kept[STRIP][PANEL] = {};
    for (uint64_t k = 0; k < depth; k++) {
        for (uint64_t row = 0; row < STRIP; row++) {
            for (uint64_t output = 0; output < PANEL; output++) {
                kept[row][output] += strip[k * STRIP + row] * panel[k * PANEL + output];
            }
        }
    }
    memcpy(sums, kept, sizeof kept);
}

// From `count` rows of bf16 to floats [depth][width]; rows past the end are zeros.
std::vector<float> interleave(const bf16* rows, uint64_t count, uint64_t width, uint64_t depth) {
    std::vector<float> floats(width * depth);
    for (uint64_t row = 0; row < count; row++) {
        for (uint64_t k = 0; k < depth; k++) {
            floats[k * width + row] = to_float(rows[row * depth + k]);
        }
    }
    return floats;
}

void multiply(const Shape& shape, const bf16* weight, const bf16* input, unsigned char* output) {
    std::vector<std::vector<float>> strips;
    for (uint64_t row = 0; row < shape.rows; row += STRIP) {
        strips.push_back(interleave(input + row * shape.depth, min(STRIP, shape.rows - row), STRIP, shape.depth));
    }
    for (uint64_t first = 0; first < shape.outputs; first += PANEL) {
        const uint64_t width = min(PANEL, shape.outputs - first);
        const std::vector<float> panel = interleave(weight + first * shape.depth, width, PANEL, shape.depth);
        for (uint64_t row = 0; row < shape.rows; row++) {
            float sums[STRIP * PANEL];
            if (row % STRIP == 0) {
                multiply_strip(strips[row / STRIP].data(), panel.data(), shape.depth, sums);
            }
            for (uint64_t i = 0; i < width; i++) {
                const float sum = sums[row % STRIP * PANEL + i];
                const uint64_t index = row * shape.stride + first + i;
                if (shape.outputType == R_32F) {
                    reinterpret_cast<float*>(output)[index] = sum;
                } else {
                    reinterpret_cast<bf16*>(output)[index] = to_bf16(sum);
                }
            }
        }
    }
}

}  // namespace
}  // namespace fake

using namespace fake;

// Signatures as in cublasLt.h; handles and device pointers are numbers.
extern "C" {

int cublasLtCreate(uint64_t* handle) {
    return cublas_call(__func__, [&] {
        *handle = *device.cublasObjects.insert(device.handle()).first;
    });
}

int cublasLtDestroy(uint64_t handle) {
    return cublas_release(__func__, [&] { destroy(handle, "library handle"); });
}

int cublasLtMatmulDescCreate(uint64_t* product, int computeType, int scaleType) {
    return cublas_call(__func__, [&] {
        if (computeType != COMPUTE_32F || scaleType != R_32F) {
            refuse(STATUS_NOT_SUPPORTED, "compute type %d, scale type %d", computeType, scaleType);
        }
        create(products, product, {false, false});
    });
}

int cublasLtMatmulDescSetAttribute(uint64_t product, int attribute, const void* value, size_t bytes) {
    return cublas_call(__func__, [&] {
        Product& changed = object(products, product, "product");
        int32_t operation = -1;
        if (bytes != sizeof operation || (attribute != 3 && attribute != 4)) {  // TRANSA, TRANSB
            refuse(STATUS_NOT_SUPPORTED, "product attribute %d of %zu bytes", attribute, bytes);
        }
        memcpy(&operation, value, sizeof operation);
        if (operation != 0 && operation != 1) {  // N, T
            refuse(STATUS_INVALID_VALUE, "operation %d", operation);
        }
        (attribute == 3 ? changed.transposesA : changed.transposesB) = operation == 1;
    });
}

int cublasLtMatmulDescDestroy(uint64_t product) {
    return cublas_release(__func__, [&] { destroy(product, "product"); });
}

int cublasLtMatrixLayoutCreate(uint64_t* layout, int type, uint64_t rows, uint64_t columns, int64_t leading) {
    return cublas_call(__func__, [&] {
        if (rows == 0 || columns == 0 || leading < static_cast<int64_t>(rows)) {
            refuse(STATUS_NOT_SUPPORTED, "a layout of %llu x %llu with %lld from column to column",
                   static_cast<unsigned long long>(rows), static_cast<unsigned long long>(columns),
                   static_cast<long long>(leading));
        }
        if (static_cast<uint64_t>(leading) * bytes_of(type) % ALIGNMENT != 0) {
            refuse(STATUS_NOT_SUPPORTED, "columns every %lld elements are not aligned to %d bytes",
                   static_cast<long long>(leading), ALIGNMENT);
        }
        create(layouts, layout, {type, rows, columns, static_cast<uint64_t>(leading)});
    });
}

int cublasLtMatrixLayoutDestroy(uint64_t layout) {
    return cublas_release(__func__, [&] { destroy(layout, "layout"); });
}

int cublasLtMatmulPreferenceCreate(uint64_t* preference) {
    return cublas_call(__func__, [&] { create(preferences, preference, {0}); });
}

int cublasLtMatmulPreferenceSetAttribute(uint64_t preference, int attribute, const void* value, size_t bytes) {
    return cublas_call(__func__, [&] {
        Preference& changed = object(preferences, preference, "preference");
        if (attribute == 1 && bytes == sizeof changed.workspaceBytes) {
            memcpy(&changed.workspaceBytes, value, bytes);
        } else if (bytes != 4 || (attribute != 3 && (attribute < 5 || attribute > 8))) {  // reduction, alignments
            refuse(STATUS_NOT_SUPPORTED, "preference %d of %zu bytes", attribute, bytes);
        }
    });
}

int cublasLtMatmulPreferenceDestroy(uint64_t preference) {
    return cublas_release(__func__, [&] { destroy(preference, "preference"); });
}

int cublasLtMatmulAlgoGetHeuristic(uint64_t handle, uint64_t product, uint64_t a, uint64_t b, uint64_t c, uint64_t d,
                                   uint64_t preference, int requested, HeuristicResult* results, int* returned) {
    return cublas_call(__func__, [&] {
        check_handle(handle, "library handle");
        if (requested < 1) {
            refuse(STATUS_INVALID_VALUE, "%d algorithms asked for", requested);
        }
        const Shape shape = check_shape(product, a, b, c, d);
        *returned = object(preferences, preference, "preference").workspaceBytes < WORKSPACE_BYTES ? 0 : 1;
        if (*returned == 1) {
            results[0] = {};
            results[0].algorithm.mark = ALGORITHM_MARK;
            results[0].algorithm.shape = shape;
            results[0].workspaceBytes = WORKSPACE_BYTES;
            results[0].waves = 1;
        }
    });
}

int cublasLtMatmul(uint64_t handle, uint64_t product, const float* alpha, uint64_t a, uint64_t aLayout, uint64_t b,
                   uint64_t bLayout, const float* beta, uint64_t c, uint64_t cLayout, uint64_t d, uint64_t dLayout,
                   const Algorithm* algorithm, uint64_t workspace, size_t workspaceBytes, uint64_t stream) {
    return cublas_call(__func__, [&] {
        check_handle(handle, "library handle");
        const Shape shape = check_shape(product, aLayout, bLayout, cLayout, dLayout);
        if (algorithm == nullptr || algorithm->mark != ALGORITHM_MARK || !(algorithm->shape == shape)) {
            refuse(STATUS_INVALID_VALUE, "the algorithm was chosen for another shape");
        }
        if (*alpha != 1 || *beta != 0 || c != d) {
            refuse(STATUS_NOT_SUPPORTED, "alpha %g, beta %g", *alpha, *beta);
        }
        if (workspaceBytes < WORKSPACE_BYTES || (a | b | d | workspace) % ALIGNMENT != 0) {
            refuse(STATUS_INVALID_VALUE, "a workspace of %zu bytes, or a matrix that is not aligned", workspaceBytes);
        }
        unsigned char* scratch = device_memory(workspace, workspaceBytes, "cuBLASLt's workspace");
        const auto* weight =
            reinterpret_cast<const bf16*>(device_memory(a, shape.outputs * shape.depth * 2, "a product's A"));
        const auto* input =
            reinterpret_cast<const bf16*>(device_memory(b, shape.rows * shape.depth * 2, "a product's B"));
        unsigned char* output =
            device_memory(
            d, ((shape.rows - 1) * shape.stride + shape.outputs) * bytes_of(shape.outputType), "a product's D");
        submit(stream, [=]() -> Work {
            return [=] {
                emulator::poison(scratch, WORKSPACE_BYTES);
                multiply(shape, weight, input, output);
            };
        });
    });
}

}  // extern "C"
