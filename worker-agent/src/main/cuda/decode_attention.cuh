// Attention of one new token a sequence over the paged cache: split over the keys, query heads of a KV head packed.
//
// The idea. Decode reads every key and value once and does little with them, so the kernel is a gather that never waits.
// A block of threads (CTA) takes one KV head of one piece of one sequence's context, a run of cache blocks; its four
// warps take every fourth cache block each, and share nothing until the end:
//
//     block table   b0   b1   b2   b3   b4   b5   b6   b7   b8 …
//     warp          0    1    2    3    0    1    2    3    0
//
//     warp's ring in shared memory (stage = keys and values of one cache block, filled by cp.async)
//     [ stage 0: K 16 x D | V 16 x D ][ stage 1 ][ stage 2 ]      one is used, the others are on their way
//
// All G query heads of the KV head are rows of one 16-row tensor-core tile (rows from G on are zero), so that a key is
// read once for all of them (packed grouped queries: FlashAttention's PackGQA, TensorRT-LLM's XQA). Per cache block
//
//     S[16 x 16] = Q[16 x D] K'[D x 16]         D / 16 steps, Q in registers for good
//     P = exp2(S * scale - maximum)             the running maximum and sum of FlashAttention-2 (Dao 2023), base 2
//     O[16 x D] += P[16 x 16] V[16 x D]         D / 8 tiles of fp32 accumulators in registers
//
// A lane (g = lane / 4, t = lane % 4) holds rows g and g + 8 of S, P and O, so a row's maximum wants two shuffles among
// four lanes; its sum is added up once, at the end. Then the four warps' O, maximum and sum are merged through shared
// memory. A piece that is a whole context is written as it is; of others a partial result is kept, which
// wp_reduce_partials adds up (Flash-Decoding, Dao et al. 2023). The host plans the pieces.
//
// e4m3 rows lie packed in shared memory and are widened in registers. A 16-byte chunk is then 16 elements of which lane
// t gets elements 4t … 4t + 3 as one word: bytes 0 and 2 make one operand register, bytes 1 and 3 the other. For keys
// that permutes the D elements of a chunk, and Q is loaded permuted the same way; for values, loaded transposed, the
// first register belongs to the even columns of O, the second to the odd ones.
//
// What masks: the last block of a context is gathered only as far as it is filled, the rest is zeros, never what lies
// in the cache (stale NaN times a weight of 0 is NaN); scores of the rest become minus infinity.
//
// Cost of a bf16 cache block at D = 128, a warp: 8 KiB gathered by 16 cp.async, 16 ldmatrix.x4, 32 mma, about 60
// instructions of softmax, 64 multiplications when the maximum has grown; 3 stages of 4 warps are 96 KiB a CTA, two
// CTAs an SM on sm_90, so that 128 KiB an SM are on their way, a few times what 4.3 TB/s at 1 µs ask for.
#pragma once

#include "paged_cache.cuh"

constexpr int DECODE_WARPS = 4;
constexpr int DECODE_ROWS = 16;  // query heads of one KV head, at most

// What the plan says of a piece: int32 in the order of the fields.
struct DecodePiece {
    int sequence;
    int row;         // of qkv and output
    int firstBlock;  // index into the sequence's block table
    int blockCount;
    int partial;     // where the partial result goes; -1: the piece is the whole context
    int unused[3];
};

template <int D, typename KV>
struct DecodeShape {
    static constexpr int ROW_BYTES = D * static_cast<int>(sizeof(KV));
    static constexpr int CHUNKS = ROW_BYTES / 16;
    static constexpr int TILE_BYTES = BLOCK_TOKENS * ROW_BYTES;
    static constexpr int STAGE_BYTES = 2 * TILE_BYTES;
    // The smaller a stage, the more of them keep the same amount of memory traffic under way.
    static constexpr int STAGES = STAGE_BYTES >= 8192 ? 3 : STAGE_BYTES >= 4096 ? 4 : STAGE_BYTES >= 2048 ? 6 : 8;
    static constexpr int RING_BYTES = STAGES * STAGE_BYTES;
    // Accumulators of a warp on their way to the merge, 8 floats more a row so that rows lie in different banks.
    static constexpr int MERGE_STRIDE = D + 8;
    static_assert(DECODE_ROWS * MERGE_STRIDE * sizeof(float) <= RING_BYTES, "a warp's accumulators fit into its ring");
};

// Columns of O that a lane's accumulators belong to: tile, and which of the row's two.
template <typename KV>
__device__ __forceinline__ int decode_column(int tile, int which) {
    const int lane = lane_index() % 4;
    return sizeof(KV) == 2 ? tile * 8 + lane * 2 + which : tile / 2 * 16 + lane * 4 + which * 2 + tile % 2;
}

// The fragments of Q for one step of 16 elements, in the order in which the step's keys will lie in their registers.
// elements: this row's 16.
__device__ __forceinline__ void query_pairs(const bf16* elements, unsigned& low, unsigned& high, bf16*) {
    const unsigned* const words = reinterpret_cast<const unsigned*>(elements);
    low = words[lane_index() % 4];
    high = words[4 + lane_index() % 4];
}

__device__ __forceinline__ void query_pairs(const bf16* elements, unsigned& low, unsigned& high, e4m3*) {
    const unsigned* const words = reinterpret_cast<const unsigned*>(elements);
    const unsigned first = words[lane_index() % 4 * 2];
    const unsigned second = words[lane_index() % 4 * 2 + 1];
    low = (first & 0xFFFFu) | second << 16;
    high = first >> 16 | (second & 0xFFFF0000u);
}

template <int D, typename KV>
__device__ __forceinline__ void load_query(const bf16* query, int group, unsigned (&fragments)[D / 16][4]) {
#pragma unroll
    for (int half = 0; half < 2; half++) {
        const int head = lane_index() / 4 + half * 8;
#pragma unroll
        for (int step = 0; step < D / 16; step++) {
            fragments[step][half] = 0;
            fragments[step][half + 2] = 0;
            if (head < group) {
                query_pairs(query + head * D + step * 16, fragments[step][half], fragments[step][half + 2],
                            static_cast<KV*>(nullptr));
            }
        }
    }
}

// One warp's share: its rows of Q, and the softmax so far over the keys it has seen.
template <int D, typename KV>
class DecodeWarp {
public:
    typedef DecodeShape<D, KV> Shape;

    unsigned query[D / 16][4];
    float output[D / 8][4];    // not yet divided by the sum
    float maximum[2];          // of rows g and g + 8, scaled
    float sum[2];              // of this lane's columns only

    __device__ __forceinline__ DecodeWarp(const bf16* queryRows, int group) {
        load_query<D, KV>(queryRows, group, query);
#pragma unroll
        for (int half = 0; half < 2; half++) {
            maximum[half] = MINUS_INFINITY;
            sum[half] = 0;
        }
#pragma unroll
        for (int tile = 0; tile < D / 8; tile++) {
#pragma unroll
            for (int i = 0; i < 4; i++) {
                output[tile][i] = 0;
            }
        }
    }

    // One cache block in shared memory, of which `keys` keys count (1 to 16).
    __device__ __forceinline__ void attend(const unsigned char* stage, int keys, float scaleLog2) {
        float scores[2][4] = {};
        multiply_keys(stage, scores, static_cast<KV*>(nullptr));
        if (keys < BLOCK_TOKENS) {
            mask(scores, keys);
        }
        raise_maximum(scores, scaleLog2);
        unsigned weights[4];
        weigh(scores, weights, scaleLog2);
        multiply_values(stage + Shape::TILE_BYTES, weights, static_cast<KV*>(nullptr));
    }

private:
    // A matrix of ldmatrix is 8 tokens by one chunk. For keys, matrices 0 and 1 are successive chunks of tokens 0 to 7,
    // 2 and 3 of tokens 8 to 15; for values (transposed) 0 and 1 are one chunk of both halves of the tokens.
    __device__ __forceinline__ static int key_offset() {
        const int lane = lane_index();
        return swizzled<Shape::ROW_BYTES>(lane % 8 + lane / 16 * 8, lane / 8 % 2);
    }

    __device__ __forceinline__ static int value_offset() {
        return swizzled<Shape::ROW_BYTES>(lane_index() % 16, lane_index() / 16);
    }

    __device__ __forceinline__ void multiply_keys(const unsigned char* tile, float (&scores)[2][4], bf16*) {
        const int offset = key_offset();
#pragma unroll
        for (int step = 0; step < D / 16; step++) {
            unsigned key[4];
            ldmatrix_x4(key, tile + (offset ^ swizzled<Shape::ROW_BYTES>(0, 2 * step)));
            mma_bf16(scores[0], query[step], key[0], key[1]);
            mma_bf16(scores[1], query[step], key[2], key[3]);
        }
    }

    __device__ __forceinline__ void multiply_keys(const unsigned char* tile, float (&scores)[2][4], e4m3*) {
        const int offset = key_offset();
#pragma unroll
        for (int step = 0; step < D / 16; step += 2) {
            unsigned key[4];
            ldmatrix_x4(key, tile + (offset ^ swizzled<Shape::ROW_BYTES>(0, step)));
#pragma unroll
            for (int i = 0; i < 4; i++) {
                mma_bf16(scores[i / 2], query[step + i % 2], e4m3_evens_to_bf16x2(key[i]),
                         e4m3_evens_to_bf16x2(key[i] >> 8));
            }
        }
    }

    __device__ __forceinline__ static void mask(float (&scores)[2][4], int keys) {
#pragma unroll
        for (int i = 0; i < 8; i++) {
            if (i / 4 * 8 + lane_index() % 4 * 2 + i % 2 >= keys) {
                scores[i / 4][i % 4] = MINUS_INFINITY;
            }
        }
    }

    __device__ __forceinline__ void raise_maximum(const float (&scores)[2][4], float scaleLog2) {
        float factor[2];
#pragma unroll
        for (int half = 0; half < 2; half++) {
            float highest = fmaxf(fmaxf(scores[0][2 * half], scores[0][2 * half + 1]),
                                  fmaxf(scores[1][2 * half], scores[1][2 * half + 1]));
            highest = fmaxf(highest, shuffle_xor(highest, 1));
            highest = fmaxf(highest, shuffle_xor(highest, 2));
            highest = fmaxf(maximum[half], highest * scaleLog2);
            factor[half] = exp2_fast(maximum[half] - highest);
            maximum[half] = highest;
            sum[half] *= factor[half];
        }
        // Mostly nothing has grown: all factors are 1.
        if (warp_ballot(factor[0] != 1 || factor[1] != 1) != 0) {
#pragma unroll
            for (int tile = 0; tile < D / 8; tile++) {
#pragma unroll
                for (int i = 0; i < 4; i++) {
                    output[tile][i] *= factor[i / 2];
                }
            }
        }
    }

    __device__ __forceinline__ void weigh(float (&scores)[2][4], unsigned (&weights)[4], float scaleLog2) {
#pragma unroll
        for (int i = 0; i < 8; i++) {
            const int half = i % 4 / 2;
            scores[i / 4][i % 4] = exp2_fast(scores[i / 4][i % 4] * scaleLog2 - maximum[half]);
            sum[half] += scores[i / 4][i % 4];
        }
#pragma unroll
        for (int i = 0; i < 4; i++) {
            weights[i] = pack_bf16(scores[i / 2][i % 2 * 2], scores[i / 2][i % 2 * 2 + 1]);
        }
    }

    __device__ __forceinline__ void multiply_values(const unsigned char* tile, const unsigned (&weights)[4], bf16*) {
        const int offset = value_offset();
#pragma unroll
        for (int pair = 0; pair < D / 16; pair++) {
            unsigned value[4];
            ldmatrix_x4_trans(value, tile + (offset ^ swizzled<Shape::ROW_BYTES>(0, 2 * pair)));
            mma_bf16(output[2 * pair], weights, value[0], value[1]);
            mma_bf16(output[2 * pair + 1], weights, value[2], value[3]);
        }
    }

    __device__ __forceinline__ void multiply_values(const unsigned char* tile, const unsigned (&weights)[4], e4m3*) {
        const int offset = value_offset();
#pragma unroll
        for (int chunk = 0; chunk < D / 16; chunk += 2) {
            unsigned value[4];
            ldmatrix_x4_trans(value, tile + (offset ^ swizzled<Shape::ROW_BYTES>(0, chunk)));
#pragma unroll
            for (int i = 0; i < 4; i++) {
                const int shift = i % 2 * 8;  // even columns, then odd
                mma_bf16(output[2 * chunk + i], weights, e4m3_evens_to_bf16x2(value[i / 2 * 2] >> shift),
                         e4m3_evens_to_bf16x2(value[i / 2 * 2 + 1] >> shift));
            }
        }
    }
};

// Maximum (log2 domain) and sum of a row's weights, by warp; the merge's other half lies in the rings.
struct DecodeStats {
    float maximum;
    float sum;
};

template <int D, typename KV>
__device__ __forceinline__ void leave_for_merge(const DecodeWarp<D, KV>& warp, float* accumulators,
                                                DecodeStats* stats) {
#pragma unroll
    for (int half = 0; half < 2; half++) {
        const int row = lane_index() / 4 + half * 8;
        float sum = warp.sum[half];
        sum += shuffle_xor(sum, 1);
        sum += shuffle_xor(sum, 2);
        if (lane_index() % 4 == 0) {
            stats[row] = {warp.maximum[half], sum};
        }
#pragma unroll
        for (int tile = 0; tile < D / 8; tile++) {
#pragma unroll
            for (int which = 0; which < 2; which++) {
                accumulators[row * DecodeShape<D, KV>::MERGE_STRIDE + decode_column<KV>(tile, which)] =
                        warp.output[tile][2 * half + which];
            }
        }
    }
}

// What each warp's accumulators count for in the piece's result; all of them 0 where no key was seen.
struct DecodeMerge {
    float factors[DECODE_WARPS];
    DecodeStats total;

    __device__ __forceinline__ DecodeMerge(const DecodeStats* stats, int row) {
        total = {MINUS_INFINITY, 0};
#pragma unroll
        for (int warp = 0; warp < DECODE_WARPS; warp++) {
            total.maximum = fmaxf(total.maximum, stats[warp * DECODE_ROWS + row].maximum);
        }
        const float highest = total.maximum == MINUS_INFINITY ? 0 : total.maximum;
#pragma unroll
        for (int warp = 0; warp < DECODE_WARPS; warp++) {
            factors[warp] = exp2_fast(stats[warp * DECODE_ROWS + row].maximum - highest);
            total.sum += factors[warp] * stats[warp * DECODE_ROWS + row].sum;
        }
        const float inverse = total.sum > 0 ? 1 / total.sum : 0;
#pragma unroll
        for (int warp = 0; warp < DECODE_WARPS; warp++) {
            factors[warp] *= inverse;
        }
    }
};

template <int D, typename KV>
__device__ __forceinline__ void decode_attention(const bf16* qkv, int qkvStride, const KV* keys, const KV* values,
                                                 const int* blockTables, int tableStride, const int* contextLengths,
                                                 const int* plan, float* partialOutputs, float* partialStats,
                                                 bf16* output, int queryHeads, int kvHeads, float scaleLog2) {
    typedef DecodeShape<D, KV> Shape;
    REQUIRE_THREADS(DECODE_WARPS * 32);
    DYNAMIC_SHARED(rings);
    SHARED(DecodeStats, stats, DECODE_WARPS * DECODE_ROWS);
    if (block_index_y() >= plan[0]) {
        return;
    }
    const DecodePiece piece = reinterpret_cast<const DecodePiece*>(plan + 4)[block_index_y()];
    const int kvHead = block_index_x();
    const int group = queryHeads / kvHeads;
    const int warpIndex = warp_index();

    const int firstToken = piece.firstBlock * BLOCK_TOKENS;
    const int allTokens = contextLengths[piece.sequence] - firstToken;
    const int tokens = allTokens < piece.blockCount * BLOCK_TOKENS ? allTokens : piece.blockCount * BLOCK_TOKENS;
    const int blocks = (tokens + BLOCK_TOKENS - 1) / BLOCK_TOKENS;
    const int turns = (blocks - warpIndex + DECODE_WARPS - 1) / DECODE_WARPS;  // at most 0: nothing for this warp

    BlockWalk<DECODE_WARPS> walk(
            blockTables + static_cast<long long>(piece.sequence) * tableStride + piece.firstBlock + warpIndex, turns > 0);
    unsigned char* const ring = rings + warpIndex * Shape::RING_BYTES;
    auto gather = [&](int turn) {
        if (turn < turns) {
            const long long start = block_start(walk.take(turn + 1 < turns), kvHeads, kvHead, D);
            const int left = tokens - (turn * DECODE_WARPS + warpIndex) * BLOCK_TOKENS;
            unsigned char* const stage = ring + turn % Shape::STAGES * Shape::STAGE_BYTES;
            gather_block<Shape::ROW_BYTES>(stage, keys + start, left);
            gather_block<Shape::ROW_BYTES>(stage + Shape::TILE_BYTES, values + start, left);
        }
        cp_async_commit();  // also when empty: a stage is a group
    };
#pragma unroll
    for (int turn = 0; turn < Shape::STAGES - 1; turn++) {
        gather(turn);
    }

    const bf16* const query = qkv + static_cast<long long>(piece.row) * qkvStride + kvHead * group * D;
    DecodeWarp<D, KV> warp(query, group);
    for (int turn = 0; turn < turns; turn++) {
        cp_async_wait<Shape::STAGES - 2>();
        sync_warp();  // this stage is there for all lanes, and all have left the one that is filled next
        gather(turn + Shape::STAGES - 1);
        const int left = tokens - (turn * DECODE_WARPS + warpIndex) * BLOCK_TOKENS;
        warp.attend(ring + turn % Shape::STAGES * Shape::STAGE_BYTES, left < BLOCK_TOKENS ? left : BLOCK_TOKENS,
                    scaleLog2);
    }
    cp_async_wait<0>();
    sync_warp();
    leave_for_merge(warp, reinterpret_cast<float*>(ring), stats + warpIndex * DECODE_ROWS);
    sync_block();

    const int head0 = kvHead * group;
    for (int item = thread_index(); item < group * (D / 2); item += DECODE_WARPS * 32) {
        const int row = item / (D / 2);
        const int column = item % (D / 2) * 2;
        const DecodeMerge merge(stats, row);
        float low = 0;
        float high = 0;
#pragma unroll
        for (int other = 0; other < DECODE_WARPS; other++) {
            const float* const accumulators = reinterpret_cast<const float*>(rings + other * Shape::RING_BYTES)
                    + row * Shape::MERGE_STRIDE + column;
            low += merge.factors[other] * accumulators[0];
            high += merge.factors[other] * accumulators[1];
        }
        if (piece.partial < 0) {
            bf16* const target = output + (static_cast<long long>(piece.row) * queryHeads + head0 + row) * D + column;
            *reinterpret_cast<unsigned*>(target) = pack_bf16(low, high);
        } else {
            const long long partialRow = static_cast<long long>(piece.partial) * queryHeads + head0 + row;
            float* const target = partialOutputs + partialRow * D + column;
            target[0] = low;
            target[1] = high;
            if (column == 0) {
                partialStats[partialRow * 2] = merge.total.maximum;
                partialStats[partialRow * 2 + 1] = merge.total.sum;
            }
        }
    }
}

// Adds up the pieces of one row and head: one warp, whose lanes hold D / 32 successive elements each. A piece counts by
// its sum at the common maximum; a row of which no piece saw a key is zeros.
template <int D>
__device__ __forceinline__ void reduce_partials(const int* plan, const float* partialOutputs, const float* partialStats,
                                                bf16* output, int queryHeads) {
    constexpr int ELEMENTS = D / 32;
    struct alignas(ELEMENTS * sizeof(float)) Slice {
        float elements[ELEMENTS];
    };
    REQUIRE_THREADS(32);
    if (block_index_y() >= plan[1]) {
        return;
    }
    const int* const item = plan + plan[2] + block_index_y() * 4;
    const int row = item[0];
    const int partials = item[2];
    const int head = block_index_x();
    const long long first = static_cast<long long>(item[1]) * queryHeads + head;

    float maximum = MINUS_INFINITY;
    for (int piece = lane_index(); piece < partials; piece += 32) {
        maximum = fmaxf(maximum, partialStats[(first + static_cast<long long>(piece) * queryHeads) * 2]);
    }
    maximum = warp_max(maximum);
    const float highest = maximum == MINUS_INFINITY ? 0 : maximum;

    float sum = 0;
    Slice total = {};
    for (int start = 0; start < partials; start += 32) {
        float weight = 0;
        if (start + lane_index() < partials) {
            const float* const stats = partialStats + (first + static_cast<long long>(start + lane_index()) * queryHeads) * 2;
            weight = stats[1] * exp2_fast(stats[0] - highest);
        }
        sum += weight;
        const int end = partials - start < 32 ? partials - start : 32;
#pragma unroll 8
        for (int piece = 0; piece < end; piece++) {
            const long long partialRow = first + static_cast<long long>(start + piece) * queryHeads;
            const Slice slice = reinterpret_cast<const Slice*>(partialOutputs + partialRow * D)[lane_index()];
            const float pieceWeight = shuffle(weight, piece);
#pragma unroll
            for (int i = 0; i < ELEMENTS; i++) {
                total.elements[i] += pieceWeight * slice.elements[i];
            }
        }
    }
    sum = warp_sum(sum);
    const float inverse = sum > 0 ? 1 / sum : 0;
    bf16* const target = output + (static_cast<long long>(row) * queryHeads + head) * D + lane_index() * ELEMENTS;
#pragma unroll
    for (int i = 0; i < ELEMENTS; i++) {
        target[i] = to_bf16(total.elements[i] * inverse);
    }
}

// The names that the host looks up. Launch bounds: the least CTAs an SM that the shared memory leaves room for on
// sm_90, at most 4.
// dynamic shared bytes: 4 * STAGES * STAGE_BYTES
//            D = 128          64           32
//   bf16   98,304 (96 KiB)  65,536       49,152
//   fp8    65,536           49,152       32,768
#define DECODE_ATTENTION_KERNEL(name, D, KV, blocksPerMultiprocessor)                                                  \
    extern "C" __global__ void __launch_bounds__(DECODE_WARPS * 32, blocksPerMultiprocessor)                           \
    name(const bf16* qkv, int qkvStride, const KV* keys, const KV* values, const int* blockTables, int tableStride,    \
         const int* contextLengths, const int* plan, float* partialOutputs, float* partialStats, bf16* output,         \
         int queryHeads, int kvHeads, float scaleLog2) {                                                               \
        decode_attention<D, KV>(qkv, qkvStride, keys, values, blockTables, tableStride, contextLengths, plan,          \
                                partialOutputs, partialStats, output, queryHeads, kvHeads, scaleLog2);                 \
    }

DECODE_ATTENTION_KERNEL(wp_decode_attention_bf16_d32, 32, bf16, 4)
DECODE_ATTENTION_KERNEL(wp_decode_attention_bf16_d64, 64, bf16, 3)
DECODE_ATTENTION_KERNEL(wp_decode_attention_bf16_d128, 128, bf16, 2)
DECODE_ATTENTION_KERNEL(wp_decode_attention_fp8_d32, 32, e4m3, 4)
DECODE_ATTENTION_KERNEL(wp_decode_attention_fp8_d64, 64, e4m3, 4)
DECODE_ATTENTION_KERNEL(wp_decode_attention_fp8_d128, 128, e4m3, 3)

#define REDUCE_PARTIALS_KERNEL(name, D)                                                                                \
    extern "C" __global__ void __launch_bounds__(32)                                                                   \
    name(const int* plan, const float* partialOutputs, const float* partialStats, bf16* output, int queryHeads) {      \
        reduce_partials<D>(plan, partialOutputs, partialStats, output, queryHeads);                                    \
    }

REDUCE_PARTIALS_KERNEL(wp_reduce_partials_d32, 32)
REDUCE_PARTIALS_KERNEL(wp_reduce_partials_d64, 64)
REDUCE_PARTIALS_KERNEL(wp_reduce_partials_d128, 128)
