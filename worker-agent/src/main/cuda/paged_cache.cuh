// How the paged cache lies in device memory, and how its tiles lie in shared memory.
//
//   plane (keys or values of one layer)  [block][kvHead][16 tokens][D]     element bf16 or e4m3
//
// A block of one head is one contiguous run of 16 * D elements, 4 KiB for bf16 at D = 128: it is gathered through the
// block table by asynchronous 16-byte copies, a run at a time (PagedAttention, Kwon et al. 2023, with the layout that
// keeps a head's tokens together).
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

// Elements between the start of a plane and one head's part of a block.
__device__ __forceinline__ long long block_start(int block, int kvHeads, int kvHead, int headSize) {
    return (static_cast<long long>(block) * kvHeads + kvHead) * (BLOCK_TOKENS * headSize);
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
