// Causal attention of many new tokens a sequence over the paged cache, their own keys included: whole prompts, and
// chunks of prompts on a cached prefix.
//
// The idea is FlashAttention-2 (Dao 2023) with keys and values gathered through the block table. A block of threads
// (CTA) takes one query head and up to 128 successive tokens of one sequence (a tile of the host's list, so that
// lengths may differ at will; longest first, so that the last CTAs are short). It goes over the keys 64 at a time:
//
//               keys 0 … 63   64 … 127   128 … 191
//     warp 0   +------------+----------+----------+   rows 0 … 15      S = Q K'
//     warp 1   |            |          | \        |   rows 16 … 31     P = exp2(S * scale - maximum)
//     warp 2   |  all seen  | all seen |   \      |   rows 32 … 47     O += P V
//     warp 3   |            |          |     \    |   rows 48 … 63
//     warp 0   |            |          |          |   rows 64 … 79     in the registers that
//      …       +------------+----------+----------+    …               attention_rows.cuh draws
//                                        masked: only keys past a warp's first position
//
// A warp owns the 16-row tiles w and w + 4, so each fragment of keys and values that it reads from shared memory serves
// two tensor-core tiles, and at most 64 rows keep all four warps busy with one.
//
//     shared memory     [ Q 128 x D ][ K 64 x D | V 64 x D ][ K | V ]     bf16, rows swizzled (paged_cache.cuh)
//                                     used                   on its way
//
// One barrier a turn: it says that this turn's keys are there for all and the other buffer is left by all; then the
// next keys are sent for, 4 cache blocks by cp.async, and have the whole turn to come. Keys past the last row of the
// tile are never read; they are zeros, and masked for every row that counts.
//
// e4m3 keys and values come into a buffer of their own and are widened to the one bf16 buffer once for all four warps,
// for a second barrier: [ Q ][ K | V bf16 ][ K | V e4m3 ][ scales ][ scales on their way ]. S is multiplied by those of
// keys, P by those of values. The rest is the same.
//
// A query head reads its KV head by itself; the heads that share it are neighbours in the grid and meet in L2.
//
// Cost of 64 keys at D = 128, a warp with two tiles: 256 mma, 80 ldmatrix.x4, 68 exp2, 16 cp.async, about 450 other
// instructions; 128 multiplications more when a maximum has grown, 130 more where it masks; of e4m3, widening and about
// 170 for scales. 96 KiB and 255 registers a thread, so two CTAs an SM on sm_90: one multiplies while the other weighs.
// Fragments and copies are 192 KiB of shared-memory traffic a turn, 1,536 clocks; 1,024 mma take about 1,650 at
// Hopper's published rate of mma.sync.
#pragma once

#include "attention_rows.cuh"

constexpr int PREFILL_KEYS = 64;  // one cache block for each warp to gather
constexpr int PREFILL_BLOCKS = PREFILL_KEYS / BLOCK_TOKENS;
static_assert(PREFILL_BLOCKS == PREFILL_WARPS, "each warp gathers one cache block a turn");

// What the host's list says of a tile: int32 in the order of the fields.
struct alignas(16) PrefillTile {
    int sequence;
    int firstRow;       // of qkv and output
    int firstPosition;  // of that row in its sequence
    int rowCount;       // 1 to PREFILL_ROWS

    __device__ __forceinline__ int key_count() const { return firstPosition + rowCount; }
};

// What a CTA works on: in shared memory, since the loop has no register to spare for what is used once a turn.
struct PrefillWork {
    PrefillTile tile;  // positions from firstBlock on
    int kvHead;
    int firstBlock;    // of the sequence's table; 0 without a window
    int hidden;        // keys from there on that a window hides from row 0; row r sees r fewer of them. May be below 0

    // Begins with the turn in which row 0 sees its first key.
    __device__ __forceinline__ void leave_hidden(int window) {
        const int first = tile.firstPosition - window + 1;
        const int base = first > 0 ? first / PREFILL_KEYS * PREFILL_KEYS : 0;
        tile.firstPosition -= base;
        firstBlock = base / BLOCK_TOKENS;
        hidden = first - base;
    }
};

template <int D>
struct PrefillShape {
    static constexpr int ROW_BYTES = ROW_STRIDE<D, bf16>;
    static constexpr int CHUNKS = D * 2 / 16;
    static constexpr int ROWS = D > 128 ? PREFILL_ROWS / 2 : PREFILL_ROWS;  // of a tile, at a time
    static constexpr int QUERY_BYTES = ROWS * ROW_BYTES;
    static constexpr int KEYS_BYTES = PREFILL_KEYS * ROW_BYTES;  // values have as many
    static constexpr int SCALES = 3 * KEYS_BYTES;  // of e4m3: from the buffer of keys for use to the scales
};

// Of the keys and the values of a turn: by block, first those of keys.
constexpr int PREFILL_SCALE_BYTES = PREFILL_BLOCKS * 2 * SCALE_BYTES;

// The rows of one warp: TILES tiles of 16, 64 rows apart.
template <int D, typename KV, int TILES>
class PrefillWarp {
public:
    typedef PrefillShape<D> Shape;

    // The 64 keys and values of a turn, in shared memory.
    template <typename Rule>
    __device__ __forceinline__ void attend(const unsigned char* query, const unsigned char* keys,
                                           const PrefillWork& work, int turn, const Rule& rule) {
        float scores[TILES][PREFILL_KEYS / 8][4] = {};
        multiply_keys(query, keys, scores);
        if constexpr (SCALED<KV>) {
            rows.multiply_columns(scores, scales(keys));
        }
        if constexpr (Rule::SHAPED) {
            if (rule.capInside > 0) {
                rows.cap(scores, rule.capInside, rule.capOutside);
            }
            const int hidden = work.hidden - turn * PREFILL_KEYS;  // from row 0 of the CTA; from row r, r more
            if (hidden + first_row(TILES - 1) + 15 > 0) {
                rows.mask_before(scores, [=](int tile, int half) {
                    return hidden + first_row(tile) + lane_index() / 4 + half * 8;
                });
            }
        }
        const int visible = work.tile.firstPosition + 1 - turn * PREFILL_KEYS;  // to row 0; to row r, r more
        if (visible + first_row(0) < PREFILL_KEYS) {
            rows.mask(scores, [=](int tile, int half) {
                return visible + first_row(tile) + lane_index() / 4 + half * 8;
            });
        }
        rows.weigh(scores, rule.scaleLog2);
        if constexpr (SCALED<KV>) {
            rows.multiply_columns(scores, scales(keys) + BLOCK_TOKENS);
        }
        rows.add_values(scores, keys + Shape::KEYS_BYTES);
    }

    // To row 0 of the CTA at `target`, by way of the warp's own rows of Q in shared memory, which nobody else reads.
    __device__ __forceinline__ void write(unsigned char* query, bf16* target, int rowCount, int targetStride) const {
#pragma unroll
        for (int tile = 0; tile < TILES; tile++) {
#pragma unroll
            for (int half = 0; half < 2; half++) {
                const int row = first_row(tile) + lane_index() / 4 + half * 8;
                const float inverse = 1 / rows.total(tile, half);
#pragma unroll
                for (int i = 0; i < D / 8; i++) {
                    const float* const pair = &rows.output[tile][i][2 * half];
                    *reinterpret_cast<unsigned*>(query + swizzled<Shape::ROW_BYTES>(row, i) + lane_index() % 4 * 4) =
                            pack_bf16(pair[0] * inverse, pair[1] * inverse);
                }
            }
        }
        sync_warp();
#pragma unroll
        for (int tile = 0; tile < TILES; tile++) {
#pragma unroll
            for (int item = lane_index(); item < 16 * Shape::CHUNKS; item += 32) {
                const int row = first_row(tile) + item / Shape::CHUNKS;
                const int chunk = item % Shape::CHUNKS;
                if (row < rowCount) {
                    store_16(target + static_cast<long long>(row) * targetStride + chunk * 8,
                             *reinterpret_cast<const Vector16*>(query + swizzled<Shape::ROW_BYTES>(row, chunk)));
                }
            }
        }
    }

private:
    AttentionRows<D, TILES> rows;

    // Behind all buffers of keys and values.
    __device__ __forceinline__ static const float* scales(const unsigned char* keys) {
        return reinterpret_cast<const float*>(keys + Shape::SCALES);
    }

    // The first of the CTA's rows that belong to one of this warp's tiles.
    __device__ __forceinline__ static int first_row(int tile) { return (warp_index() + tile * PREFILL_WARPS) * 16; }

    __device__ __forceinline__ static void multiply_keys(const unsigned char* query, const unsigned char* keys,
                                                         float (&scores)[TILES][PREFILL_KEYS / 8][4]) {
        const int lane = lane_index();
        // Matrices 0 and 1 of a load of Q are rows 0 to 7 and 8 to 15 of one chunk; of K, successive chunks of 8 keys.
        const int queryOffset = swizzled<Shape::ROW_BYTES>(lane % 16, lane / 16);
        const int keyOffset = swizzled<Shape::ROW_BYTES>(lane % 8 + lane / 16 * 8, lane / 8 % 2);
#pragma unroll
        for (int step = 0; step < D / 16; step++) {
            const int flip = swizzled<Shape::ROW_BYTES>(0, 2 * step);
            unsigned rows[TILES][4];
#pragma unroll
            for (int tile = 0; tile < TILES; tile++) {
                ldmatrix_x4(rows[tile], query + first_row(tile) * Shape::ROW_BYTES + (queryOffset ^ flip));
            }
#pragma unroll
            for (int block = 0; block < PREFILL_BLOCKS; block++) {
                unsigned key[4];
                ldmatrix_x4(key, keys + block * BLOCK_TOKENS * Shape::ROW_BYTES + (keyOffset ^ flip));
#pragma unroll
                for (int tile = 0; tile < TILES; tile++) {
                    mma_bf16(scores[tile][2 * block], rows[tile], key[0], key[1]);
                    mma_bf16(scores[tile][2 * block + 1], rows[tile], key[2], key[3]);
                }
            }
        }
    }
};

// The keys and values of one KV head, brought into shared memory turn by turn: 64 of each, as bf16, for all warps. Each
// warp gathers one of a turn's four cache blocks.
template <int D, typename KV, bool shaped>
class PrefillKeys {
public:
    typedef PrefillShape<D> Shape;

    // buffers: of 4 * KEYS_BYTES for bf16; for e4m3 2 * KEYS_BYTES for use, half as many for gathering, and scales.
    __device__ __forceinline__ PrefillKeys(const PrefillWork& work, unsigned char* buffers, const KV* keys,
                                           const KV* values, const int* table, int kvHeads)
        : work(work), buffers(buffers), keys(keys), values(values), kvHeads(kvHeads),
          walk(table + warp_index(), work.tile.key_count() - warp_index() * BLOCK_TOKENS) {}

    // Sends for keys 64 * turn … + 63, zeros past the last row's; turns 0, 1, 2 …
    __device__ __forceinline__ void gather(int turn) {
        unsigned char* const target = WIDE ? buffers + turn % 2 * (2 * Shape::KEYS_BYTES) : gathered();
        const int tokens = work.tile.key_count() - turn * PREFILL_KEYS - warp_index() * BLOCK_TOKENS;
        int block[1];
        walk.take(block, tokens);
        // a block that is hidden from row 0 is from all rows, and may be anybody's: there are such in the first turn
        const int seen = shaped && turn == 0 && (warp_index() + 1) * BLOCK_TOKENS <= work.hidden ? 0 : tokens;
        const long long start = block_start<KV>(block[0], kvHeads, work.kvHead, D);
        unsigned char* const rows = target + warp_index() * BLOCK_TOKENS * ROW_BYTES;
        gather_block<D>(rows, keys + start, seen);
        gather_block<D>(rows + PREFILL_KEYS * ROW_BYTES, values + start, seen);
        if constexpr (SCALED<KV>) {
            const long long scales = start + scales_start(kvHeads, work.kvHead, D);
            gather_scales(gathered_scales() + warp_index() * 2 * BLOCK_TOKENS, keys + scales, values + scales, seen);
        }
        cp_async_commit();
    }

    // The keys of a turn that were sent for, values KEYS_BYTES after them; sends for those of the next turn if there
    // are any. A collective of the block; what it returned before is gone.
    __device__ __forceinline__ const unsigned char* take(int turn) {
        const bool more = (turn + 1) * PREFILL_KEYS < work.tile.key_count();
        cp_async_wait<0>();
        sync_block();  // for all; and all are done with the turn before
        if constexpr (WIDE) {
            if (more) {
                gather(turn + 1);
            }
            return buffers + turn % 2 * (2 * Shape::KEYS_BYTES);
        } else {
            widen();
            if (more) {
                gather(turn + 1);  // over what the same thread has just widened
            }
            sync_block();
            return buffers;
        }
    }

private:
    static constexpr bool WIDE = sizeof(KV) == sizeof(bf16);
    static constexpr int ROW_BYTES = ROW_STRIDE<D, KV>;

    const PrefillWork& work;
    unsigned char* buffers;
    const KV* keys;
    const KV* values;
    int kvHeads;
    BlockWalk<PREFILL_WARPS, 1> walk;

    __device__ __forceinline__ unsigned char* gathered() const { return buffers + 2 * Shape::KEYS_BYTES; }
    __device__ __forceinline__ float* gathered_scales() const {
        return reinterpret_cast<float*>(buffers + Shape::SCALES + PREFILL_SCALE_BYTES);
    }

    // Every thread widens the chunks that it gathered and moves the scale, so it waits for nobody else's. Keys and
    // values are two runs of as many rows, in both buffers.
    __device__ __forceinline__ void widen() const {
        reinterpret_cast<float*>(buffers + Shape::SCALES)[thread_index()] = gathered_scales()[thread_index()];
        constexpr int CHUNKS = D * static_cast<int>(sizeof(KV)) / 16;
        constexpr int LANES = GATHERED_ROWS<D, KV> * CHUNKS;
        const int warpRow = warp_index() * BLOCK_TOKENS;
#pragma unroll 1
        for (int item = lane_index() < LANES ? lane_index() : 2 * BLOCK_TOKENS * CHUNKS;
             item < 2 * BLOCK_TOKENS * CHUNKS; item += LANES) {
            const int row = warpRow + item / CHUNKS % BLOCK_TOKENS + item / (BLOCK_TOKENS * CHUNKS) * PREFILL_KEYS;
            const int chunk = item % CHUNKS;
            const Vector16 narrow =
                    *reinterpret_cast<const Vector16*>(gathered() + swizzled<ROW_BYTES>(row, chunk));
#pragma unroll
            for (int half = 0; half < 2; half++) {
                Vector16 wide;
#pragma unroll
                for (int i = 0; i < 4; i++) {
                    wide.words[i] = e4m3x2_to_bf16x2(narrow.words[2 * half + i / 2] >> (i % 2 * 16));
                }
                *reinterpret_cast<Vector16*>(buffers + swizzled<Shape::ROW_BYTES>(row, 2 * chunk + half)) = wide;
            }
        }
    }
};

template <int D, int TILES>
__device__ __forceinline__ void load_prefill_query(unsigned char* query, const bf16* rows, int rowStride,
                                                   int rowCount) {
    typedef PrefillShape<D> Shape;
#pragma unroll
    for (int item = thread_index(); item < TILES * PREFILL_WARPS * 16 * Shape::CHUNKS; item += PREFILL_WARPS * 32) {
        const int row = item / Shape::CHUNKS;
        const int chunk = item % Shape::CHUNKS;
        cp_async_16(query + swizzled<Shape::ROW_BYTES>(row, chunk),
                    rows + static_cast<long long>(row) * rowStride + chunk * 8, row < rowCount);
    }
}

template <int D, typename KV, int TILES, typename Rule>
__device__ __forceinline__ void prefill_rows(const PrefillWork& work, unsigned char* query, const bf16* queryRows,
                                             int queryStride, PrefillKeys<D, KV, Rule::SHAPED>& keys, bf16* output,
                                             int queryHeads, const Rule& rule) {
    load_prefill_query<D, TILES>(query, queryRows, queryStride, work.tile.rowCount);
    keys.gather(0);
    PrefillWarp<D, KV, TILES> warp;
    for (int turn = 0; turn * PREFILL_KEYS < work.tile.key_count(); turn++) {
        const unsigned char* const taken = keys.take(turn);
        warp.attend(query, taken, work, turn, rule);
    }
    const long long firstRow = work.tile.firstRow;
    warp.write(query, output + (firstRow * queryHeads + block_index_x()) * D, work.tile.rowCount, queryHeads * D);
}

// The rows of a tile from `first` on that the block works on at a time.
template <int D, typename KV, typename Rule>
__device__ __forceinline__ void prefill_part(const PrefillTile* tile, int first, PrefillWork* works,
                                             unsigned char* query, const bf16* qkv, int qkvStride, const KV* keys,
                                             const KV* values, const int* blockTables, int tableStride, bf16* output,
                                             int queryHeads, int kvHeads, const Rule& rule) {
    constexpr int ROWS = PrefillShape<D>::ROWS;
    const PrefillWork& work = works[0];
    if (thread_index() == 0) {
        works[0] = {*tile, block_index_x() / (queryHeads / kvHeads), 0, 0};
        if constexpr (ROWS < PREFILL_ROWS) {
            PrefillTile& part = works[0].tile;
            part.firstRow += first;
            part.firstPosition += first;
            part.rowCount = part.rowCount - first < ROWS ? part.rowCount - first : ROWS;
        }
        if constexpr (Rule::SHAPED) {
            works[0].leave_hidden(rule.window);
        }
    }
    sync_block();
    const int* const table = blockTables + static_cast<long long>(work.tile.sequence) * tableStride;
    PrefillKeys<D, KV, Rule::SHAPED> gathered(work, query + PrefillShape<D>::QUERY_BYTES, keys, values,
                                              Rule::SHAPED ? table + work.firstBlock : table, kvHeads);
    const bf16* const queryRows = qkv + static_cast<long long>(work.tile.firstRow) * qkvStride + block_index_x() * D;
    if constexpr (ROWS == PREFILL_ROWS) {
        if (work.tile.rowCount > PREFILL_ROWS / 2) {
            prefill_rows<D, KV, 2>(work, query, queryRows, qkvStride, gathered, output, queryHeads, rule);
            return;
        }
    }
    prefill_rows<D, KV, 1>(work, query, queryRows, qkvStride, gathered, output, queryHeads, rule);
}

template <int D, typename KV, typename Rule>
__device__ __forceinline__ void prefill_attention(const bf16* qkv, int qkvStride, const KV* keys, const KV* values,
                                                  const int* blockTables, int tableStride, const int* tiles,
                                                  bf16* output, int queryHeads, int kvHeads, const Rule& rule) {
    REQUIRE_THREADS(PREFILL_WARPS * 32);
    DYNAMIC_SHARED(query);
    SHARED(PrefillWork, works, 1);
    const PrefillTile* const tile = reinterpret_cast<const PrefillTile*>(tiles) + block_index_y();
    prefill_part<D>(tile, 0, works, query, qkv, qkvStride, keys, values, blockTables, tableStride, output, queryHeads,
                    kvHeads, rule);
    if constexpr (PrefillShape<D>::ROWS < PREFILL_ROWS) {
        if (tile->rowCount > PrefillShape<D>::ROWS) {
            sync_block();  // all are done with shared memory
            prefill_part<D>(tile, PrefillShape<D>::ROWS, works, query, qkv, qkvStride, keys, values, blockTables,
                            tableStride, output, queryHeads, kvHeads, rule);
        }
    }
}

// The names that the host looks up; a macro, since a template has no C name. Launch bounds: two CTAs an SM, at most 255
// registers a thread; of the largest heads one, whose accumulators leave room for 64 rows at a time.
// dynamic shared bytes: bf16 384 bytes a byte of a row, of the largest heads 320; fp8 64 less, and 1,024 for scales
//            D = 256     128 and 96      64       32
//   bf16     163,840         98,304  49,152   24,576
//   fp8      132,096         82,944  41,984   21,504
#define PREFILL_ATTENTION_KERNEL(name, D, KV)                                                                          \
    extern "C" __global__ void __launch_bounds__(PREFILL_WARPS * 32, 2)                                                \
    name(const bf16* qkv, int qkvStride, const KV* keys, const KV* values, const int* blockTables, int tableStride,    \
         const int* tiles, bf16* output, int queryHeads, int kvHeads, float scaleLog2) {                               \
        prefill_attention<D, KV>(qkv, qkvStride, keys, values, blockTables, tableStride, tiles, output, queryHeads,    \
                                 kvHeads, PlainScores{scaleLog2});                                                     \
    }

#define SHAPED_PREFILL_ATTENTION_KERNEL(name, D, KV, blocksPerMultiprocessor)                                          \
    extern "C" __global__ void __launch_bounds__(PREFILL_WARPS * 32, blocksPerMultiprocessor)                          \
    name(const bf16* qkv, int qkvStride, const KV* keys, const KV* values, const int* blockTables,                     \
         int tableStride, const int* tiles, bf16* output, int queryHeads, int kvHeads, float scaleLog2,                \
         int window, float capInside, float capOutside) {                                                              \
        prefill_attention<D, KV>(qkv, qkvStride, keys, values, blockTables, tableStride, tiles, output, queryHeads,    \
                                 kvHeads, ShapedScores{scaleLog2, window, capInside, capOutside});                     \
    }

PREFILL_ATTENTION_KERNEL(wp_prefill_attention_bf16_d32, 32, bf16)
PREFILL_ATTENTION_KERNEL(wp_prefill_attention_bf16_d64, 64, bf16)
PREFILL_ATTENTION_KERNEL(wp_prefill_attention_bf16_d128, 128, bf16)
PREFILL_ATTENTION_KERNEL(wp_prefill_attention_fp8_d32, 32, e4m3)
PREFILL_ATTENTION_KERNEL(wp_prefill_attention_fp8_d64, 64, e4m3)
PREFILL_ATTENTION_KERNEL(wp_prefill_attention_fp8_d128, 128, e4m3)

SHAPED_PREFILL_ATTENTION_KERNEL(wp_prefill_attention_bf16_d32_shaped, 32, bf16, 2)
SHAPED_PREFILL_ATTENTION_KERNEL(wp_prefill_attention_bf16_d64_shaped, 64, bf16, 2)
SHAPED_PREFILL_ATTENTION_KERNEL(wp_prefill_attention_bf16_d128_shaped, 128, bf16, 2)
SHAPED_PREFILL_ATTENTION_KERNEL(wp_prefill_attention_fp8_d32_shaped, 32, e4m3, 2)
SHAPED_PREFILL_ATTENTION_KERNEL(wp_prefill_attention_fp8_d64_shaped, 64, e4m3, 2)
SHAPED_PREFILL_ATTENTION_KERNEL(wp_prefill_attention_fp8_d128_shaped, 128, e4m3, 2)

// Heads of fewer models: with a window or without.
SHAPED_PREFILL_ATTENTION_KERNEL(wp_prefill_attention_bf16_d96_shaped, 96, bf16, 2)
SHAPED_PREFILL_ATTENTION_KERNEL(wp_prefill_attention_fp8_d96_shaped, 96, e4m3, 2)
SHAPED_PREFILL_ATTENTION_KERNEL(wp_prefill_attention_bf16_d256_shaped, 256, bf16, 1)
SHAPED_PREFILL_ATTENTION_KERNEL(wp_prefill_attention_fp8_d256_shaped, 256, e4m3, 1)
