// Weights that stay blocks on the card: whole numbers of 4 to 8 bits with scales in common, as GGUF files have them. A
// lane takes 32 neighbours of a row, a group, apart in its registers. What becomes of them is one number in both
// kernels: what WeightBlock.java says they are worth in float32, to the bit, rounded to bf16.
//
// A part of a weight, rows of one format, lies field by field: all blocks' codes, then all blocks' next field and so
// on, each in the order of the blocks. So codes begin at multiples of 16 and are read 16 bytes at a time, where blocks
// of 34 or 210 bytes one behind the other would begin anywhere; and not a byte is added.
//
//   of a block   codes n            fifths, upper bits h   scales                  of
//   Q8_0         32 bytes                                  d 2                     32 elements
//   Q4_0         16                                        d 2                     32
//   Q4_1         16                                        d, m 4                  32
//   Q5_0         16                 4                      d 2                     32
//   Q5_1         16                 4                      d, m 4                  32
//   Q4_K         128                                       d, m, s 16              256
//   Q5_K         128                32                     d, m, s 16              256
//   Q6_K         128                64                     scales 16, then d 2     256
//
// What the fields hold is drawn in SmallBlocks.java and SuperBlocks.java. Rows of bf16, which a weight may have beside
// those of blocks, are a format like the others: 64 bytes of 32 elements.
#pragma once

#include "matmul.cuh"

__device__ __forceinline__ unsigned short load_2(const unsigned char* global) {
    return *reinterpret_cast<const unsigned short*>(global);
}

__device__ __forceinline__ unsigned load_4(const unsigned char* global) {
    return *reinterpret_cast<const unsigned*>(global);
}

// For what neighbouring groups read, too: through L1.
__device__ __forceinline__ Vector16 shared_16(const unsigned char* global) {
    return *reinterpret_cast<const Vector16*>(global);
}

// code - offset, exactly, for codes below 2^23: cheaper than converting a whole number.
template <int offset>
__device__ __forceinline__ float code_less(unsigned code) {
    return bits_float(0x4B000000u | code) - (8388608.0f + offset);
}

// ---- The formats. `load` begins with what a lane has to read of a group, `prepare` takes apart what the group has in
// common, `value(i)` is element i of 32, known to the compiler. `group` counts from the part's first row on.

struct BlocksQ8_0 {
    static constexpr int ELEMENTS = 32;

    Vector16 codes[2];
    unsigned short scale;
    float unit;

    __device__ __forceinline__ void load(const unsigned char* blocks, long long count, long long group) {
        codes[0] = load_16(blocks + 32 * group);
        codes[1] = load_16(blocks + 32 * group + 16);
        scale = load_2(blocks + 32 * count + 2 * group);
    }

    __device__ __forceinline__ void prepare() { unit = half_to_float(scale); }

    // A signed byte plus 128 is the byte with its sign turned.
    __device__ __forceinline__ float value(int i) const {
        const unsigned word = codes[i / 16].words[i % 16 / 4] ^ 0x80808080u;
        return unit * code_less<128>(word >> 8 * (i % 4) & 255u);
    }
};

template <int bits, bool hasMinimum>
struct SmallBlocks {
    static constexpr int ELEMENTS = 32;
    static constexpr int OFFSET = hasMinimum ? 0 : 1 << (bits - 1);

    Vector16 nibbles;
    unsigned fifths;
    unsigned scales;
    float unit;
    float least;

    __device__ __forceinline__ void load(const unsigned char* blocks, long long count, long long group) {
        nibbles = load_16(blocks + 16 * group);
        const unsigned char* rest = blocks + 16 * count;
        if (bits == 5) {
            fifths = load_4(rest + 4 * group);
            rest += 4 * count;
        }
        scales = hasMinimum ? load_4(rest + 4 * group) : load_2(rest + 2 * group);
    }

    __device__ __forceinline__ void prepare() {
        unit = half_to_float(static_cast<unsigned short>(scales));
        least = hasMinimum ? half_to_float(static_cast<unsigned short>(scales >> 16)) : 0.0f;
    }

    __device__ __forceinline__ float value(int i) const {
        unsigned code = nibbles.words[i % 16 / 4] >> (8 * (i % 4) + 4 * (i / 16)) & 15u;
        if (bits == 5) {
            code |= (fifths >> i & 1u) << 4;
        }
        const float product = unit * code_less<OFFSET>(code);
        return hasMinimum ? product + least : product;
    }
};

// Q4_K and Q5_K.
template <int bits>
struct ScaledBlocks {
    static constexpr int ELEMENTS = 256;

    Vector16 nibbles[2];
    Vector16 fifths[2];
    Vector16 scales;
    int inBlock;  // of 8 groups
    float unit;
    float least;

    __device__ __forceinline__ void load(const unsigned char* blocks, long long count, long long group) {
        const long long block = group / 8;
        inBlock = static_cast<int>(group % 8);
        const unsigned char* codes = blocks + 128 * block + 32 * (inBlock / 2);
        nibbles[0] = load_16(codes);
        nibbles[1] = load_16(codes + 16);
        const unsigned char* rest = blocks + 128 * count;
        if (bits == 5) {
            fifths[0] = shared_16(rest + 32 * block);
            fifths[1] = shared_16(rest + 32 * block + 16);
            rest += 32 * count;
        }
        scales = shared_16(rest + 16 * block);
    }

    __device__ __forceinline__ void prepare() {
        const int shift = 8 * (inBlock % 4);
        const unsigned first = scales.words[1] >> shift;   // s[g % 4], s[g % 4 + 4], s[g % 4 + 8] in their lower bytes
        const unsigned second = scales.words[2] >> shift;
        const unsigned third = scales.words[3] >> shift;
        const bool upper = inBlock >= 4;
        const unsigned scale = upper ? (third & 15u) | (first >> 2 & 48u) : first & 63u;
        const unsigned minimum = upper ? (third >> 4 & 15u) | (second >> 2 & 48u) : second & 63u;
        unit = half_to_float(static_cast<unsigned short>(scales.words[0])) * code_less<0>(scale);
        least = -half_to_float(static_cast<unsigned short>(scales.words[0] >> 16)) * code_less<0>(minimum);
    }

    __device__ __forceinline__ float value(int i) const {
        unsigned code = nibbles[i / 16].words[i % 16 / 4] >> (8 * (i % 4) + 4 * (inBlock % 2)) & 15u;
        if (bits == 5) {
            code |= (fifths[i / 16].words[i % 16 / 4] >> (8 * (i % 4) + inBlock) & 1u) << 4;
        }
        return unit * code_less<0>(code) + least;
    }
};

struct BlocksQ6_K {
    static constexpr int ELEMENTS = 256;

    Vector16 nibbles[2];
    Vector16 uppers[2];
    unsigned short scales;  // of 16 elements each
    unsigned short scale;
    int quarter;            // of half a block
    float unit[2];

    __device__ __forceinline__ void load(const unsigned char* blocks, long long count, long long group) {
        const long long block = group / 8;
        const int inBlock = static_cast<int>(group % 8);
        const int half = inBlock / 4;
        quarter = inBlock % 4;
        const unsigned char* codes = blocks + 128 * block + 64 * half + 32 * (quarter % 2);
        nibbles[0] = load_16(codes);
        nibbles[1] = load_16(codes + 16);
        const unsigned char* rest = blocks + 128 * count;
        uppers[0] = load_16(rest + 64 * block + 32 * half);
        uppers[1] = load_16(rest + 64 * block + 32 * half + 16);
        rest += 64 * count;
        scales = load_2(rest + 16 * block + 2 * inBlock);
        scale = load_2(rest + 16 * count + 2 * block);
    }

    __device__ __forceinline__ void prepare() {
        const float all = half_to_float(scale);
        unit[0] = all * static_cast<float>(static_cast<signed char>(scales & 255));
        unit[1] = all * static_cast<float>(static_cast<signed char>(scales >> 8));
    }

    __device__ __forceinline__ float value(int i) const {
        const unsigned low = nibbles[i / 16].words[i % 16 / 4] >> (8 * (i % 4) + 4 * (quarter / 2)) & 15u;
        const unsigned high = uppers[i / 16].words[i % 16 / 4] >> (8 * (i % 4) + 2 * quarter) & 3u;
        return unit[i / 16] * code_less<32>(low | high << 4);
    }
};

struct BlocksBf16 {
    static constexpr int ELEMENTS = 32;

    Vector16 numbers[4];

    __device__ __forceinline__ void load(const unsigned char* blocks, long long, long long group) {
#pragma unroll
        for (int i = 0; i < 4; i++) {
            numbers[i] = load_16(blocks + 64 * group + 16 * i);
        }
    }

    __device__ __forceinline__ void prepare() {}

    __device__ __forceinline__ float value(int i) const {
        const unsigned pair = numbers[i / 8].words[i % 8 / 2];
        return i % 2 == 0 ? low_float(pair) : high_float(pair);
    }
};

template <typename Format>
__device__ __forceinline__ long long block_count(int rows, int columns) {
    return static_cast<long long>(rows) * (columns / Format::ELEMENTS);
}

// ---- Widening.

// output[r] = row `rowIndexes[r] + shift` of the part, where it has one; without indexes row r + shift. Columns a
// multiple of 32. Grid (rows, ceil(columns / 32 / ROW_THREADS)).
template <typename Format>
__device__ __forceinline__ void widen_row(const unsigned char* blocks, int partRows, int columns,
                                          const int* rowIndexes, int shift, bf16* output, const int* live) {
    const int groups = columns / GROUP_ELEMENTS;
    const int group = block_index_y() * ROW_THREADS + thread_index();
    if (group >= groups || (live != nullptr && block_index_x() >= *live)) {
        return;
    }
    const int row = (rowIndexes == nullptr ? block_index_x() : rowIndexes[block_index_x()]) + shift;
    if (row < 0 || row >= partRows) {
        return;
    }
    Format values;
    values.load(blocks, block_count<Format>(partRows, columns), static_cast<long long>(row) * groups + group);
    values.prepare();
    bf16* const target = output + static_cast<long long>(block_index_x()) * columns + GROUP_ELEMENTS * group;
#pragma unroll
    for (int i = 0; i < GROUP_ELEMENTS; i += 8) {
        Vector16 rounded;
#pragma unroll
        for (int word = 0; word < 4; word++) {
            rounded.words[word] = pack_bf16(values.value(i + 2 * word), values.value(i + 2 * word + 1));
        }
        store_16(target + i, rounded);
    }
}

// ---- The product.

// A lane's part of the product of 16 rows of the weight with up to PRODUCT_TILE_ROWS * tiles rows of the input, after
// the pattern of SkinnyProduct: the four lanes that share rows take a group each, 32 consecutive numbers, for what the
// fragments of 8 products call columns t, t + 1, t + 8, t + 9. A chunk is 128 deep, and chunk c belongs to warp c % 8.
template <typename Format, int tiles>
struct BlockProduct {
    // Chunks of a warp under way. With four tiles there is more to compute in a chunk, by the three other warps of a
    // quarter of an SM, than a load takes, and registers are short.
    static constexpr int STAGES = tiles == 1 ? 2 : 1;
    static constexpr int CHUNK = 4;         // groups
    static constexpr int STEP = 8 * CHUNK;  // of all warps

    struct Chunk {
        Format low;
        Format high;
    };

    const unsigned char* blocks;
    long long count;
    long long lowRow;   // first group
    long long highRow;
    const bf16* inputRows[tiles];
    int groups;
    float d[tiles][4];

    __device__ __forceinline__ BlockProduct(const bf16* input, const unsigned char* blocks, int firstOutput,
                                            int outputs, int depth, int rows)
        : blocks(blocks), count(block_count<Format>(outputs, depth)), groups(depth / GROUP_ELEMENTS) {
        const int group = lane_index() / 4;
        lowRow = static_cast<long long>(min(firstOutput + group, outputs - 1)) * groups;
        highRow = static_cast<long long>(min(firstOutput + group + 8, outputs - 1)) * groups;
#pragma unroll
        for (int tile = 0; tile < tiles; tile++) {
            inputRows[tile] = input + static_cast<long long>(min(PRODUCT_TILE_ROWS * tile + group, rows - 1)) * depth;
#pragma unroll
            for (int i = 0; i < 4; i++) {
                d[tile][i] = 0;
            }
        }
    }

    // This lane's group of a chunk; past the end the row's last one, which meets zeros.
    __device__ __forceinline__ int group_of(int start) const {
        return min(start + lane_index() % 4, groups - 1);
    }

    __device__ __forceinline__ void load(Chunk& chunk, int start) const {
        chunk.low.load(blocks, count, lowRow + group_of(start));
        chunk.high.load(blocks, count, highRow + group_of(start));
    }

    __device__ __forceinline__ void add(Chunk& chunk, int start) {
        const bool counts = start + lane_index() % 4 < groups;
        const int column = GROUP_ELEMENTS * group_of(start);
        chunk.low.prepare();
        chunk.high.prepare();
#pragma unroll
        for (int i = 0; i < GROUP_ELEMENTS; i += 8) {
            unsigned a[2][4];
#pragma unroll
            for (int half = 0; half < 2; half++) {
                const int k = i + 4 * half;
                a[half][0] = pack_bf16(chunk.low.value(k), chunk.low.value(k + 1));
                a[half][1] = pack_bf16(chunk.high.value(k), chunk.high.value(k + 1));
                a[half][2] = pack_bf16(chunk.low.value(k + 2), chunk.low.value(k + 3));
                a[half][3] = pack_bf16(chunk.high.value(k + 2), chunk.high.value(k + 3));
            }
#pragma unroll
            for (int tile = 0; tile < tiles; tile++) {
                const Vector16 x = *reinterpret_cast<const Vector16*>(inputRows[tile] + column + i);
#pragma unroll
                for (int half = 0; half < 2; half++) {
                    mma_bf16(d[tile], a[half], counts ? x.words[2 * half] : 0, counts ? x.words[2 * half + 1] : 0);
                }
            }
        }
    }

    // Adds the warp's share of the depth.
    __device__ __forceinline__ void run() {
        Chunk stages[STAGES];
        const int first = CHUNK * warp_index();
#pragma unroll
        for (int stage = 0; stage < STAGES; stage++) {
            if (first + stage * STEP < groups) {
                load(stages[stage], first + stage * STEP);
            }
        }
        for (int start = first; start < groups; start += STAGES * STEP) {
#pragma unroll
            for (int stage = 0; stage < STAGES; stage++) {
                if (start + stage * STEP < groups) {
                    add(stages[stage], start + stage * STEP);
                }
                if (start + (STAGES + stage) * STEP < groups) {
                    load(stages[stage], start + (STAGES + stage) * STEP);
                }
            }
        }
    }
};

// output[r][o] for the part's `outputs`, rows of the output `stride` numbers apart. sums: shared memory
// [warp of 8][output of SKINNY_OUTPUTS][row of PRODUCT_TILE_ROWS * tiles].
template <typename Format, int tiles>
__device__ __forceinline__ void block_product(const bf16* input, const unsigned char* blocks, void* output,
                                              int isFloat, int outputs, int depth, int rows, int stride, float* sums) {
    constexpr int ROWS = PRODUCT_TILE_ROWS * tiles;
    const int firstOutput = SKINNY_OUTPUTS * block_index_x();
    BlockProduct<Format, tiles> product(input, blocks, firstOutput, outputs, depth, rows);
    product.run();

    float* own = sums + (SKINNY_OUTPUTS * warp_index() + lane_index() / 4) * ROWS + 2 * (lane_index() % 4);
#pragma unroll
    for (int tile = 0; tile < tiles; tile++) {
        own[PRODUCT_TILE_ROWS * tile] = product.d[tile][0];
        own[PRODUCT_TILE_ROWS * tile + 1] = product.d[tile][1];
        own[8 * ROWS + PRODUCT_TILE_ROWS * tile] = product.d[tile][2];
        own[8 * ROWS + PRODUCT_TILE_ROWS * tile + 1] = product.d[tile][3];
    }
    sync_block();
    for (int i = thread_index(); i < SKINNY_OUTPUTS * rows; i += SKINNY_THREADS) {
        const int row = i / SKINNY_OUTPUTS;
        const int column = i % SKINNY_OUTPUTS;
        if (firstOutput + column >= outputs) {
            continue;
        }
        float sum = 0;
#pragma unroll
        for (int warp = 0; warp < 8; warp++) {
            sum += sums[(SKINNY_OUTPUTS * warp + column) * ROWS + row];
        }
        const long long at = static_cast<long long>(row) * stride + firstOutput + column;
        if (isFloat) {
            store_number(static_cast<float*>(output) + at, sum);
        } else {
            store_number(static_cast<bf16*>(output) + at, sum);
        }
    }
}

// Grid ceil(outputs / SKINNY_OUTPUTS); depth a multiple of 32; up to PRODUCT_TILE_ROWS * tiles rows. Two blocks fit an
// SM.
#define BLOCK_PRODUCT(name, Format, tiles)                                                                          \
    extern "C" __global__ void __launch_bounds__(SKINNY_THREADS, 2)                                                 \
        name(const bf16* input, const unsigned char* blocks, void* output, int isFloat, int outputs, int depth,     \
             int rows, int stride) {                                                                                \
        REQUIRE_THREADS(SKINNY_THREADS);                                                                            \
        SHARED(float, sums, 8 * SKINNY_OUTPUTS * PRODUCT_TILE_ROWS * tiles);                                        \
        block_product<Format, tiles>(input, blocks, output, isFloat, outputs, depth, rows, stride, sums);           \
    }

#define WIDEN(name, Format)                                                                                         \
    extern "C" __global__ void __launch_bounds__(ROW_THREADS)                                                       \
        name(const unsigned char* blocks, int partRows, int columns, const int* rowIndexes, int shift, bf16* output, \
             const int* live) {                                                                                     \
        REQUIRE_THREADS(ROW_THREADS);                                                                               \
        widen_row<Format>(blocks, partRows, columns, rowIndexes, shift, output, live);                              \
    }

using BlocksQ4_0 = SmallBlocks<4, false>;
using BlocksQ4_1 = SmallBlocks<4, true>;
using BlocksQ5_0 = SmallBlocks<5, false>;
using BlocksQ5_1 = SmallBlocks<5, true>;
using BlocksQ4_K = ScaledBlocks<4>;
using BlocksQ5_K = ScaledBlocks<5>;

BLOCK_PRODUCT(wp_block_product_q8_0_m8, BlocksQ8_0, 1)
BLOCK_PRODUCT(wp_block_product_q4_0_m8, BlocksQ4_0, 1)
BLOCK_PRODUCT(wp_block_product_q4_1_m8, BlocksQ4_1, 1)
BLOCK_PRODUCT(wp_block_product_q5_0_m8, BlocksQ5_0, 1)
BLOCK_PRODUCT(wp_block_product_q5_1_m8, BlocksQ5_1, 1)
BLOCK_PRODUCT(wp_block_product_q4_k_m8, BlocksQ4_K, 1)
BLOCK_PRODUCT(wp_block_product_q5_k_m8, BlocksQ5_K, 1)
BLOCK_PRODUCT(wp_block_product_q6_k_m8, BlocksQ6_K, 1)
BLOCK_PRODUCT(wp_block_product_bf16_m8, BlocksBf16, 1)
BLOCK_PRODUCT(wp_block_product_q8_0_m32, BlocksQ8_0, PRODUCT_TILES)
BLOCK_PRODUCT(wp_block_product_q4_0_m32, BlocksQ4_0, PRODUCT_TILES)
BLOCK_PRODUCT(wp_block_product_q4_1_m32, BlocksQ4_1, PRODUCT_TILES)
BLOCK_PRODUCT(wp_block_product_q5_0_m32, BlocksQ5_0, PRODUCT_TILES)
BLOCK_PRODUCT(wp_block_product_q5_1_m32, BlocksQ5_1, PRODUCT_TILES)
BLOCK_PRODUCT(wp_block_product_q4_k_m32, BlocksQ4_K, PRODUCT_TILES)
BLOCK_PRODUCT(wp_block_product_q5_k_m32, BlocksQ5_K, PRODUCT_TILES)
BLOCK_PRODUCT(wp_block_product_q6_k_m32, BlocksQ6_K, PRODUCT_TILES)
BLOCK_PRODUCT(wp_block_product_bf16_m32, BlocksBf16, PRODUCT_TILES)

WIDEN(wp_widen_q8_0, BlocksQ8_0)
WIDEN(wp_widen_q4_0, BlocksQ4_0)
WIDEN(wp_widen_q4_1, BlocksQ4_1)
WIDEN(wp_widen_q5_0, BlocksQ5_0)
WIDEN(wp_widen_q5_1, BlocksQ5_1)
WIDEN(wp_widen_q4_k, BlocksQ4_K)
WIDEN(wp_widen_q5_k, BlocksQ5_K)
WIDEN(wp_widen_q6_k, BlocksQ6_K)
WIDEN(wp_widen_bf16, BlocksBf16)
