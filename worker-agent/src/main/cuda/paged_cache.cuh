// How the paged cache lies in device memory, and how its tiles lie in shared memory.
//
//   plane (keys or values of one layer)
//     bf16     [block]  rows [kvHead][16 tokens][D]
//     e4m3     [block]  rows [kvHead][16 tokens][D] | scales [kvHead][16 tokens], float32
//
// A block of one head is one contiguous run of 16 * D elements, 4 KiB for bf16 at D = 128: it is gathered through the
// block table by asynchronous 16-byte copies, a run at a time (PagedAttention, Kwon et al. 2023, with the layout that
// keeps a head's tokens together).
//
// A row of e4m3, a head's key or value of one token, has a scale: largest magnitude / 448. Numbers are what their codes
// say, times the scale. Attention never multiplies them out: a score is multiplied by the scale of its key, a weight
// by the scale of its value, as vLLM's fp8_per_token_head has it. Scales are float32, not less, so that the largest
// number of a row is kept as it is; in keys with a bias that is the one on which scores depend most. They are 4 / D of
// the rows. Behind the rows of all heads they leave these where they were: with an even number of heads, a row of 128
// bytes is one line of L2.
//
// In shared memory a tile is rows of tokens, and a row is cut into chunks of 16 bytes. ldmatrix reads one chunk of 8
// rows at a time; were rows stored straight, those 8 chunks would share a few banks. So the chunks of a row change
// places (XOR swizzle), and any 8 successive rows, at one chunk, cover all 32 banks once:
//
//   256-byte rows, 128-byte rows     chunk ^ row % 8              (128 bytes are all banks; bit 3 of a chunk stays)
//   64-byte rows, 2 to all banks     chunk ^ row / 2 % 4
//   32-byte rows, 4 to all banks     chunk ^ row / 4 % 2
#pragma once

#include "ptx.cuh"

typedef unsigned char e4m3;  // the bits of an 8-bit float: 4 of exponent, 3 of mantissa

constexpr float MINUS_INFINITY = -__builtin_huge_valf();

template <typename KV>
constexpr bool SCALED = sizeof(KV) == sizeof(e4m3);

// Bytes of the scales of one head's rows in a block.
constexpr int SCALE_BYTES = BLOCK_TOKENS * static_cast<int>(sizeof(float));

// Elements between the start of a plane and one head's rows of a block.
template <typename KV>
__device__ __forceinline__ long long block_start(int block, int kvHeads, int kvHead, int headSize) {
    if constexpr (SCALED<KV>) {
        return static_cast<long long>(block) * (kvHeads * (BLOCK_TOKENS * headSize + SCALE_BYTES))
                + kvHead * (BLOCK_TOKENS * headSize);
    } else {
        return (static_cast<long long>(block) * kvHeads + kvHead) * (BLOCK_TOKENS * headSize);
    }
}

// Bytes from one head's rows of a block to their scales; the same in all blocks.
__device__ __forceinline__ int scales_start(int kvHeads, int kvHead, int headSize) {
    return (kvHeads - kvHead) * (BLOCK_TOKENS * headSize) + kvHead * SCALE_BYTES;
}

// Bytes from one row of a shared tile to the next: a power of 2, since places are found bit by bit. Rows of 96 elements
// leave a quarter of theirs unused.
template <int D, typename T>
constexpr int ROW_STRIDE = (D == 96 ? 128 : D) * static_cast<int>(sizeof(T));

// Bytes between the start of a tile and a 16-byte chunk of one of its rows. Bits go their ways separately, so
// swizzled(a ^ b, c ^ d) is swizzled(a, c) ^ swizzled(b, d): a lane computes its own part once and flips constant bits.
template <int rowBytes>
__device__ __forceinline__ int swizzled(int row, int chunk) {
    constexpr int CHUNKS = rowBytes / 16;
    constexpr int ROWS_OF_ALL_BANKS = CHUNKS >= 8 ? 1 : 8 / CHUNKS;
    constexpr int MASK = (CHUNKS < 8 ? CHUNKS : 8) - 1;
    return row * rowBytes + (chunk ^ (row / ROWS_OF_ALL_BANKS & MASK)) * 16;
}

// The blocks that one warp gathers: of a stretch of a sequence's block table the first `width` of every `stride`. Each
// is read one step before it is needed; past the tokens that count, nothing is read and the block is the null block.
template <int stride, int width>
class BlockWalk {
public:
    // table: the first block of this warp; tokens: from that block on to the end of the stretch.
    __device__ __forceinline__ BlockWalk(const int* table, int tokens) : table(table) { read(tokens); }

    // The next blocks. tokens: from the first of them on to the end of the stretch.
    __device__ __forceinline__ void take(int (&blocks)[width], int tokens) {
#pragma unroll
        for (int i = 0; i < width; i++) {
            blocks[i] = next[i];
        }
        table += stride;
        read(tokens - stride * BLOCK_TOKENS);
    }

private:
    const int* table;
    int next[width];

    __device__ __forceinline__ void read(int tokens) {
#pragma unroll
        for (int i = 0; i < width; i++) {
            next[i] = tokens > i * BLOCK_TOKENS ? table[i] : 0;
        }
    }
};

// Rows that a warp gathers at a time: by all of its lanes, but for rows of 96 elements by 24.
template <int D, typename T>
constexpr int GATHERED_ROWS = 512 / ROW_STRIDE<D, T>;

// One block of one head of one plane into 16 swizzled rows in shared memory: as many tokens as are asked for, zeros for
// the rest, of which nothing is read. By one warp; it reads up to 512 bytes in a row.
template <int D, typename T>
__device__ __forceinline__ void gather_block(unsigned char* rows, const T* block, int tokens) {
    constexpr int STRIDE = ROW_STRIDE<D, T>;
    constexpr int ROW_BYTES = D * static_cast<int>(sizeof(T));
    constexpr int CHUNKS = ROW_BYTES / 16;
    constexpr int ROWS = GATHERED_ROWS<D, T>;
    const int row = lane_index() / CHUNKS;
    const int offset = swizzled<STRIDE>(row, lane_index() % CHUNKS);
    const unsigned char* const source = reinterpret_cast<const unsigned char*>(block) + lane_index() * 16;
    if (ROWS * CHUNKS == 32 || row < ROWS) {
#pragma unroll
        for (int rest = 0; rest < BLOCK_TOKENS; rest += ROWS) {
            cp_async_16(rows + (offset ^ swizzled<STRIDE>(rest, 0)), source + rest * ROW_BYTES, row + rest < tokens);
        }
    }
}

// The scales of one block of one head into shared memory: 16 of keys, 16 of values, zeros past `tokens`, whose weights
// are 0 and must not meet a stale NaN. By one warp; keys, values: where the head's scales begin.
__device__ __forceinline__ void gather_scales(float* target, const e4m3* keys, const e4m3* values, int tokens) {
    const int token = lane_index() % BLOCK_TOKENS;
    const e4m3* const source = lane_index() < BLOCK_TOKENS ? keys : values;
    cp_async_4(target + lane_index(), source + token * sizeof(float), token < tokens);
}
