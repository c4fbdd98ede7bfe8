// Kernels that touch each number about once: inputs of a step, embedding, norms, activation, gather. Rows are of bf16,
// row-major, a multiple of 8 columns long; sums are fp32.
//
// `live`: null, or the number of rows that count in a replayed graph of a larger bucket. The rows after them are loaded
// like the others wherever their content cannot lead astray, so that no load has to wait for `live`; nothing is stored.
#pragma once

#include "ptx.cuh"

__device__ __forceinline__ bool is_live(int row, const int* live) { return live == nullptr || row < *live; }

// A plain load: for data that many blocks read, or that this launch writes.
__device__ __forceinline__ Vector16 cached_16(const bf16* global) { return *reinterpret_cast<const Vector16*>(global); }

// Loads of 4096 columns are under way before the first store.
__device__ __forceinline__ void copy_row(const bf16* source, bf16* target, int columns) {
    constexpr int LOADS = 4;
    constexpr int STRIDE = 8 * ROW_THREADS;
    for (int first = 8 * thread_index(); first < columns; first += LOADS * STRIDE) {
        Vector16 values[LOADS];
#pragma unroll
        for (int load = 0; load < LOADS; load++) {
            if (first + load * STRIDE < columns) {
                values[load] = cached_16(source + first + load * STRIDE);
            }
        }
#pragma unroll
        for (int load = 0; load < LOADS; load++) {
            if (first + load * STRIDE < columns) {
                store_16(target + first + load * STRIDE, values[load]);
            }
        }
    }
}

struct alignas(16) ScatterEntry {
    unsigned long long target;  // device address, a multiple of 4
    unsigned int offset;        // of the values from the start of the staging area, a multiple of 16
    unsigned int bytes;         // a multiple of 4
};

// Puts the values of a step, which crossed in one copy, where they belong. Grid (entries,
// SCATTER_BLOCKS).
extern "C" __global__ void __launch_bounds__(SCATTER_THREADS) wp_scatter_writes(const unsigned char* staging, int entryCount) {
    REQUIRE_THREADS(SCATTER_THREADS);
    if (block_index_x() >= entryCount) {
        return;
    }
    const ScatterEntry entry = reinterpret_cast<const ScatterEntry*>(staging)[block_index_x()];
    const unsigned char* source = staging + entry.offset;
    unsigned char* target = reinterpret_cast<unsigned char*>(entry.target);
    const unsigned first = static_cast<unsigned>(block_index_y() * SCATTER_THREADS + thread_index());
    const unsigned stride = SCATTER_BLOCKS * SCATTER_THREADS;
    const unsigned vectors = entry.target % 16 == 0 ? entry.bytes / 16 : 0;
    for (unsigned i = first; i < vectors; i += stride) {
        store_16(target + 16ull * i, load_16(source + 16ull * i));
    }
    for (unsigned i = 4 * vectors + first; i < entry.bytes / 4; i += stride) {
        reinterpret_cast<unsigned*>(target)[i] = reinterpret_cast<const unsigned*>(source)[i];
    }
}

// tokens[row] = drawn[sources[row]] where sources[row] is not negative; nothing drawn (-1) feeds 0, which nobody reads
// on its own. Grid ceil(rows / ROW_THREADS).
extern "C" __global__ void __launch_bounds__(ROW_THREADS)
wp_feed_tokens(const int* drawn, const int* sources, int* tokens, int rows, const int* live) {
    REQUIRE_THREADS(ROW_THREADS);
    const int row = block_index_x() * ROW_THREADS + thread_index();
    if (row < rows && is_live(row, live) && sources[row] >= 0) {
        const int token = drawn[sources[row]];
        tokens[row] = token < 0 ? 0 : token;
    }
}

// hidden[row] = table[tokens[row]]. Grid rows.
extern "C" __global__ void __launch_bounds__(ROW_THREADS)
wp_embed(const int* tokens, const bf16* table, bf16* hidden, int columns, const int* live) {
    REQUIRE_THREADS(ROW_THREADS);
    const int row = block_index_x();
    if (is_live(row, live)) {
        copy_row(table + static_cast<long long>(tokens[row]) * columns, hidden + static_cast<long long>(row) * columns,
                 columns);
    }
}

// output[row] = input[rowIndexes[row]]. Grid rows.
extern "C" __global__ void __launch_bounds__(ROW_THREADS)
wp_gather_rows(const bf16* input, const int* rowIndexes, bf16* output, int columns, const int* live) {
    REQUIRE_THREADS(ROW_THREADS);
    const int row = block_index_x();
    if (is_live(row, live)) {
        copy_row(input + static_cast<long long>(rowIndexes[row]) * columns,
                 output + static_cast<long long>(row) * columns, columns);
    }
}

// ---- Norms: a block of NORM_THREADS per row.

__device__ __forceinline__ float sum_of_squares(Vector16 values) {
    float sum = 0;
#pragma unroll
    for (int i = 0; i < 4; i++) {
        const float low = low_float(values.words[i]);
        const float high = high_float(values.words[i]);
        sum += low * low + high * high;
    }
    return sum;
}

__device__ __forceinline__ Vector16 sum_of(Vector16 a, Vector16 b) {
    Vector16 sum;
#pragma unroll
    for (int i = 0; i < 4; i++) {
        sum.words[i] = pack_bf16(low_float(a.words[i]) + low_float(b.words[i]),
                                 high_float(a.words[i]) + high_float(b.words[i]));
    }
    return sum;
}

struct alignas(16) Weights8 {
    float values[8];
};

__device__ __forceinline__ Vector16 scaled(Vector16 values, float scale, const Weights8& weights) {
    Vector16 result;
#pragma unroll
    for (int i = 0; i < 4; i++) {
        result.words[i] = pack_bf16(low_float(values.words[i]) * scale * weights.values[2 * i],
                                    high_float(values.words[i]) * scale * weights.values[2 * i + 1]);
    }
    return result;
}

// A row of an RMS norm: of `input`, or of bf16(input + addend), which then replaces the input. A thread keeps what it
// has read of rows of up to 8192 columns, and reads longer ones again; of the weights, which are twice as large, half as
// many are on their way with the row.
template <bool adds>
struct NormRow {
    static constexpr int KEPT = 4;
    static constexpr int KEPT_WEIGHTS = 2;
    static constexpr int STRIDE = 8 * NORM_THREADS;

    bf16* input;
    const bf16* addend;
    const float* weight;
    int columns;

    __device__ __forceinline__ Vector16 values(int column) const {
        const Vector16 own = cached_16(input + column);
        return adds ? sum_of(own, cached_16(addend + column)) : own;
    }

    __device__ __forceinline__ void store(bf16* output, int column, Vector16 values, float scale,
                                          const Weights8& weights) {
        if (adds) {
            store_16(input + column, values);
        }
        store_16(output + column, scaled(values, scale, weights));
    }

    __device__ __forceinline__ Weights8 weights_at(int column) const {
        return *reinterpret_cast<const Weights8*>(weight + column);
    }

    // warpSums: 8 floats of shared memory.
    __device__ __forceinline__ void norm(float epsilon, bf16* output, bool live, float* warpSums) {
        const int first = 8 * thread_index();
        Vector16 kept[KEPT];
        Weights8 weights[KEPT_WEIGHTS];
        float squares = 0;
#pragma unroll
        for (int i = 0; i < KEPT; i++) {
            if (first + i * STRIDE < columns) {
                kept[i] = values(first + i * STRIDE);
            }
        }
#pragma unroll
        for (int i = 0; i < KEPT_WEIGHTS; i++) {
            if (first + i * STRIDE < columns) {
                weights[i] = weights_at(first + i * STRIDE);
            }
        }
#pragma unroll
        for (int i = 0; i < KEPT; i++) {
            if (first + i * STRIDE < columns) {
                squares += sum_of_squares(kept[i]);
            }
        }
        for (int column = first + KEPT * STRIDE; column < columns; column += STRIDE) {
            squares += sum_of_squares(values(column));
        }
        squares = warp_sum(squares);
        if (lane_index() == 0) {
            warpSums[warp_index()] = squares;
        }
        sync_block();
        float total = 0;
#pragma unroll
        for (int warp = 0; warp < 8; warp++) {
            total += warpSums[warp];
        }
        if (!live) {
            return;
        }
        const float scale = 1.0f / sqrtf(total / static_cast<float>(columns) + epsilon);
#pragma unroll
        for (int i = 0; i < KEPT; i++) {
            if (first + i * STRIDE < columns) {
                store(output, first + i * STRIDE, kept[i], scale,
                      i < KEPT_WEIGHTS ? weights[i] : weights_at(first + i * STRIDE));
            }
        }
        for (int column = first + KEPT * STRIDE; column < columns; column += STRIDE) {
            store(output, column, values(column), scale, weights_at(column));
        }
    }
};

// output = input / sqrt(mean(input²) + epsilon) * weight; the output may be the input. Grid rows.
extern "C" __global__ void __launch_bounds__(NORM_THREADS)
wp_rms_norm(const bf16* input, const float* weight, float epsilon, bf16* output, int columns, const int* live) {
    REQUIRE_THREADS(NORM_THREADS);
    SHARED(float, warpSums, 8);
    const long long start = static_cast<long long>(block_index_x()) * columns;
    NormRow<false> row{const_cast<bf16*>(input) + start, nullptr, weight, columns};
    row.norm(epsilon, output + start, is_live(block_index_x(), live), warpSums);
}

// residual = bf16(residual + addend); output = the norm of that. Grid rows.
extern "C" __global__ void __launch_bounds__(NORM_THREADS) wp_add_rms_norm(bf16* residual, const bf16* addend,
                                                                  const float* weight, float epsilon, bf16* output,
                                                                  int columns, const int* live) {
    REQUIRE_THREADS(NORM_THREADS);
    SHARED(float, warpSums, 8);
    const long long start = static_cast<long long>(block_index_x()) * columns;
    NormRow<true> row{residual + start, addend + start, weight, columns};
    row.norm(epsilon, output + start, is_live(block_index_x(), live), warpSums);
}

// ---- Activation.

__device__ __forceinline__ float logistic_of(float x, float exponent) {
    return x / (1.0f + exp2_fast(-1.4426950408889634f * exponent));
}

struct Silu {
    __device__ __forceinline__ float operator()(float x) const { return logistic_of(x, x); }
};

// The tanh form, as GateActivation says.
struct GeluTanh {
    __device__ __forceinline__ float operator()(float x) const {
        return logistic_of(x, 1.5957691216057308f * x + 0.07135481627260025f * x * x * x);
    }
};

// output = activation(gate) * up of gateUp rows [gate of n, up of n], n = columns. Grid (rows,
// ceil(n / 8 / GATE_THREADS)).
template <typename Activation>
__device__ __forceinline__ void gate_row(const bf16* gateUp, bf16* output, int columns, const int* live) {
    REQUIRE_THREADS(GATE_THREADS);
    const Activation activation;
    const int column = 8 * (block_index_y() * GATE_THREADS + thread_index());
    if (column >= columns) {
        return;
    }
    const long long row = block_index_x();
    const Vector16 gate = cached_16(gateUp + row * 2 * columns + column);
    const Vector16 up = cached_16(gateUp + row * 2 * columns + columns + column);
    Vector16 result;
#pragma unroll
    for (int i = 0; i < 4; i++) {
        result.words[i] = pack_bf16(activation(low_float(gate.words[i])) * low_float(up.words[i]),
                                    activation(high_float(gate.words[i])) * high_float(up.words[i]));
    }
    if (is_live(block_index_x(), live)) {
        store_16(output + row * columns + column, result);
    }
}

extern "C" __global__ void __launch_bounds__(GATE_THREADS)
wp_gate_silu(const bf16* gateUp, bf16* output, int columns, const int* live) {
    gate_row<Silu>(gateUp, output, columns, live);
}

extern "C" __global__ void __launch_bounds__(GATE_THREADS)
wp_gate_gelu_tanh(const bf16* gateUp, bf16* output, int columns, const int* live) {
    gate_row<GeluTanh>(gateUp, output, columns, live);
}

// ---- In place.

// rows *= factor. Grid (rows, ceil(columns / 8 / GATE_THREADS)).
extern "C" __global__ void __launch_bounds__(GATE_THREADS)
wp_scale(bf16* rows, float factor, int columns, const int* live) {
    REQUIRE_THREADS(GATE_THREADS);
    const int column = 8 * (block_index_y() * GATE_THREADS + thread_index());
    if (column >= columns || !is_live(block_index_x(), live)) {
        return;
    }
    bf16* const at = rows + static_cast<long long>(block_index_x()) * columns + column;
    const Vector16 values = cached_16(at);
    Vector16 result;
#pragma unroll
    for (int i = 0; i < 4; i++) {
        result.words[i] = pack_bf16(low_float(values.words[i]) * factor, high_float(values.words[i]) * factor);
    }
    store_16(at, result);
}

// logits = cap * tanh(logits / cap), with tanh z = 1 - 2 / (exp(2z) + 1): off by few ulp of the cap. Rows begin
// anywhere: a thread takes every GATE_THREADS-th of 8 * GATE_THREADS. Grid (rows, ceil(columns / 8 / GATE_THREADS)).
extern "C" __global__ void __launch_bounds__(GATE_THREADS)
wp_soft_cap(float* logits, float cap, int columns, const int* live) {
    REQUIRE_THREADS(GATE_THREADS);
    if (!is_live(block_index_x(), live)) {
        return;
    }
    float* const row = logits + static_cast<long long>(block_index_x()) * columns;
    const int first = 8 * GATE_THREADS * block_index_y() + thread_index();
#pragma unroll
    for (int i = 0; i < 8; i++) {
        const int column = first + i * GATE_THREADS;
        if (column < columns) {
            const float power = exp2_fast(2.0f * 1.4426950408889634f / cap * row[column]);
            row[column] = cap - divide_fast(2.0f * cap, power + 1.0f);
        }
    }
}
