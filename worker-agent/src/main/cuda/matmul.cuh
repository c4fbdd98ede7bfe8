// output [m, outputs] = input [m, depth] · weight [outputs, depth]ᵀ for 1 to 8 rows, where reading the weight is all
// that counts: it is read once, at what memory gives.
//
// A block has 16 outputs, the height of a matrix fragment; the rows of the input are its width. Sums do not care for
// the order of their terms, so a lane takes 16 bytes, 8 consecutive numbers, of a weight row and of an input row for
// what the fragments of two products call columns t, t + 1, t + 8, t + 9 each: weights go from global memory into
// fragments with neither shared memory nor a shuffle between.
//
//   depth →    | chunk 0: 64 | chunk 1 | …    Chunk c belongs to warp c % 8. A warp has 4 of its chunks under way,
//   16 outputs |  128 bytes  |         |      2 KiB each: 64 KiB a block, where Little's law asks for 26 KiB of an SM
//                                             of an H200 (4.3 TB/s, 0.8 µs). At last the 8 warps' sums are added.
//
// No load asks whether its data count: rows past the last output or input row are read as the last one, whose results
// nobody stores, and the last chunk repeats numbers of its rows that meet zeros. The input comes through L1, which
// keeps it for the next blocks. An input row's results do not depend on the other rows, to the last bit.
#pragma once

#include "ptx.cuh"

__device__ __forceinline__ void store_number(float* target, float value) { *target = value; }
__device__ __forceinline__ void store_number(bf16* target, float value) { *target = to_bf16(value); }

// A lane's part of the product of 16 weight rows with m input rows.
template <int m>
struct SkinnyProduct {
    static constexpr int CHUNK = 64;

    // A lane's part of a chunk: numbers 8t to 8t + 7 of both halves, of weight rows g and g + 8 and of input row g;
    // g = lane / 4, t = lane % 4.
    struct Chunk {
        Vector16 low[2];
        Vector16 high[2];
        Vector16 input[2];
    };

    const bf16* lowRow;
    const bf16* highRow;
    const bf16* inputRow;
    int depth;
    float d[4];

    __device__ __forceinline__ SkinnyProduct(const bf16* input, const bf16* weight, int firstOutput, int outputs,
                                             int depth)
        : depth(depth), d{0, 0, 0, 0} {
        const int group = lane_index() / 4;
        lowRow = weight + static_cast<long long>(min_of(firstOutput + group, outputs - 1)) * depth;
        highRow = weight + static_cast<long long>(min_of(firstOutput + group + 8, outputs - 1)) * depth;
        inputRow = input + static_cast<long long>(min_of(group, m - 1)) * depth;
    }

    __device__ static __forceinline__ int min_of(int a, int b) { return a < b ? a : b; }

    // Where this lane's 8 numbers of a half are.
    __device__ static __forceinline__ int column(int chunkStart, int half) {
        return chunkStart + 32 * half + 8 * (lane_index() % 4);
    }

    __device__ __forceinline__ void load(Chunk& chunk, int chunkStart) const {
#pragma unroll
        for (int half = 0; half < 2; half++) {
            const int k = min_of(column(chunkStart, half), depth - 8);
            chunk.low[half] = load_16(lowRow + k);
            chunk.high[half] = load_16(highRow + k);
            chunk.input[half] = *reinterpret_cast<const Vector16*>(inputRow + k);
        }
    }

    __device__ __forceinline__ void add(const Chunk& chunk, int chunkStart) {
#pragma unroll
        for (int half = 0; half < 2; half++) {
            const bool counts = column(chunkStart, half) < depth;
#pragma unroll
            for (int word = 0; word < 4; word += 2) {
                const unsigned a[4] = {chunk.low[half].words[word], chunk.high[half].words[word],
                                       chunk.low[half].words[word + 1], chunk.high[half].words[word + 1]};
                mma_bf16(d, a, counts ? chunk.input[half].words[word] : 0,
                         counts ? chunk.input[half].words[word + 1] : 0);
            }
        }
    }

    // Adds the warp's share of the depth.
    __device__ __forceinline__ void run() {
        constexpr int STAGES = 4;
        constexpr int STEP = 8 * CHUNK;
        Chunk stages[STAGES];
        const int first = CHUNK * warp_index();
#pragma unroll
        for (int stage = 0; stage < STAGES; stage++) {
            if (first + stage * STEP < depth) {
                load(stages[stage], first + stage * STEP);
            }
        }
        for (int start = first; start < depth; start += STAGES * STEP) {
#pragma unroll
            for (int stage = 0; stage < STAGES; stage++) {
                if (start + stage * STEP < depth) {
                    add(stages[stage], start + stage * STEP);
                }
                if (start + (STAGES + stage) * STEP < depth) {
                    load(stages[stage], start + (STAGES + stage) * STEP);
                }
            }
        }
    }
};

// sums: shared memory [warp of 8][output of 16][row of 8].
template <int m, typename Out>
__device__ __forceinline__ void skinny_matmul(const bf16* input, const bf16* weight, Out* output, int outputs,
                                              int depth, float* sums) {
    const int firstOutput = SKINNY_OUTPUTS * block_index_x();
    SkinnyProduct<m> product(input, weight, firstOutput, outputs, depth);
    product.run();

    float* own = sums + 128 * warp_index() + 8 * (lane_index() / 4) + 2 * (lane_index() % 4);
    own[0] = product.d[0];
    own[1] = product.d[1];
    own[64] = product.d[2];
    own[65] = product.d[3];
    sync_block();
    const int row = thread_index() / SKINNY_OUTPUTS;
    const int column = thread_index() % SKINNY_OUTPUTS;
    if (row < m && firstOutput + column < outputs) {
        float sum = 0;
#pragma unroll
        for (int warp = 0; warp < 8; warp++) {
            sum += sums[128 * warp + 8 * column + row];
        }
        store_number(output + static_cast<long long>(row) * outputs + firstOutput + column, sum);
    }
}

// Grid ceil(outputs / SKINNY_OUTPUTS); depth a multiple of 8 and at least 8. Two blocks fit an SM.
#define SKINNY_MATMUL(name, m, Out)                                                                                \
    extern "C" __global__ void __launch_bounds__(SKINNY_THREADS, 2)                                                \
        name(const bf16* input, const bf16* weight, Out* output, int outputs, int depth) {                         \
        REQUIRE_THREADS(SKINNY_THREADS);                                                                           \
        SHARED(float, sums, 8 * 128);                                                                              \
        skinny_matmul<m>(input, weight, output, outputs, depth, sums);                                             \
    }

SKINNY_MATMUL(wp_skinny_matmul_bf16_m1, 1, bf16)
SKINNY_MATMUL(wp_skinny_matmul_bf16_m2, 2, bf16)
SKINNY_MATMUL(wp_skinny_matmul_bf16_m4, 4, bf16)
SKINNY_MATMUL(wp_skinny_matmul_bf16_m8, 8, bf16)
SKINNY_MATMUL(wp_skinny_matmul_f32_m1, 1, float)
SKINNY_MATMUL(wp_skinny_matmul_f32_m2, 2, float)
SKINNY_MATMUL(wp_skinny_matmul_f32_m4, 4, float)
SKINNY_MATMUL(wp_skinny_matmul_f32_m8, 8, float)
