// Attention of one new token a sequence, or of a few behind a long context, over the paged cache: split over keys,
// query heads of a KV head packed.
//
// The idea. Decode reads every key and value once and does little with them, so the kernel is a gather that never
// waits. A block of threads (CTA) takes one KV head of one piece of one sequence's context, a run of cache blocks. Its
// four warps take every fourth of them (every fourth pair, where blocks are small) and share nothing until the end:
//
//     block table   b0   b1   b2   b3   b4   b5   b6   b7   b8 …
//     warp          0    1    2    3    0    1    2    3    0
//
//     a warp's ring in shared memory; a stage is the keys and values of one turn, filled by cp.async; of e4m3 with
//     the scales behind them
//     [ stage 0: K 16 x D | V 16 x D ][ stage 1 ][ stage 2 ]      one is used, the others are on their way
//
// All G query heads of the KV head are rows of one 16-row tensor-core tile, so that a key is read once for all of them
// (packed grouped queries: FlashAttention's PackGQA, TensorRT-LLM's XQA). Where several tokens of a sequence are new,
// as many as fit follow each other in the tile, token by token; rows behind the last are zero. A turn of a warp, in
// the registers that attention_rows.cuh draws:
//
//     S[16 x 16] = Q[16 x D] K'[D x 16]         D / 16 steps; Q stays in registers
//     P = exp2(S * scale - maximum)
//     O[16 x D] += P[16 x 16] V[16 x D]         D / 8 tiles
//
// In the end the four warps' O, maxima and sums are merged through shared memory. A piece that is a whole context is
// written as it is; of others a partial result is kept, which wp_reduce_partials adds up (Flash-Decoding, Dao et al.
// 2023). The host plans the pieces.
//
// e4m3 rows lie packed in shared memory and are widened in registers. A 16-byte chunk is then 16 elements of which lane
// t gets elements 4t … 4t + 3 as one word: bytes 0 and 2 make one operand register, bytes 1 and 3 the other. For keys
// that permutes the D elements of a chunk, and Q is loaded permuted the same way; for values, loaded transposed, the
// first register belongs to the even columns of O, the second to the odd ones. S is multiplied by the keys' scales, P
// by the values', after its sum is taken: 2 multiplications for each key and row, none for an element.
//
// What masks: the last block of a context is gathered only as far as it is filled, the rest is zeros, never what lies
// in the cache (stale NaN times a weight of 0 is NaN); scores of the rest become minus infinity, and so do those of the
// keys behind a token of the tile that is not its last.
//
// Cost of 8 KiB of keys and values at D = 128, a warp: 16 cp.async, 16 ldmatrix.x4. Of bf16 (16 keys) 32 mma and about
// 250 instructions in all, of e4m3 (32 keys) 64 mma and about 1,000, of which 580 widen and 54 are for scales; 64
// multiplications more when a maximum has grown. At 4.3 TB/s an SM of an H200 has 1,750 issue slots for 8 KiB. Three
// stages of four warps are 96 KiB a CTA, two CTAs an SM on sm_90: while all wait, 128 KiB an SM are on their way, four
// times what 4.3 TB/s at 1 µs ask for.
#pragma once

#include "attention_rows.cuh"

static_assert(DECODE_ROWS == 16, "the rows of a matrix instruction");

// What the plan says of a piece: int32 in the order of the fields.
struct DecodePiece {
    int sequence;
    int row;         // of qkv and output: the first token's
    int firstBlock;  // index into the sequence's block table
    int tokens;      // from there on; 0: the context is empty
    int partial;     // where the first token's partial result goes; -1: the piece is the whole context
    int queries;     // tokens whose attention this is, in successive rows
    int later;       // positions of the last one's context after this piece; each token before it sees one less
    int stride;      // from a token's partial result to the next one's

    // The plan has room for as many pieces as the grid has, also where it has fewer.
    __device__ __forceinline__ DecodePiece(const int* plan, int index) {
        const Vector16 place = load_16(plan + 4 + 8 * index);
        const Vector16 target = load_16(plan + 8 + 8 * index);
        sequence = static_cast<int>(place.words[0]);
        row = static_cast<int>(place.words[1]);
        firstBlock = static_cast<int>(place.words[2]);
        tokens = static_cast<int>(place.words[3]);
        partial = static_cast<int>(target.words[0]);
        queries = static_cast<int>(target.words[1]);
        later = static_cast<int>(target.words[2]);
        stride = static_cast<int>(target.words[3]);
    }

    // Leaves the blocks out that a window hides from all tokens: nobody may read those. What is left may be nothing, and
    // is only a part of what the plan counted on: the plan is one for all layers.
    // Returns how many keys are hidden from the first token, of each later one one more; less than a block if any.
    __device__ __forceinline__ int leave_hidden(int window) {
        const int position = firstBlock * BLOCK_TOKENS + tokens + later - queries;  // of the first token
        const int hidden = position - firstBlock * BLOCK_TOKENS - window + 1;
        int blocks = hidden > 0 ? hidden / BLOCK_TOKENS : 0;
        if (blocks * BLOCK_TOKENS > tokens) {
            blocks = (tokens + BLOCK_TOKENS - 1) / BLOCK_TOKENS;
        }
        firstBlock += blocks;
        tokens -= blocks * BLOCK_TOKENS;
        return hidden - blocks * BLOCK_TOKENS;
    }
};

template <int D, typename KV>
struct DecodeShape {
    static constexpr bool WIDE = sizeof(KV) == sizeof(bf16);
    static constexpr int ROW_BYTES = ROW_STRIDE<D, KV>;
    static constexpr int CHUNKS = D * static_cast<int>(sizeof(KV)) / 16;
    static constexpr int TILE_BYTES = BLOCK_TOKENS * ROW_BYTES;
    // Small blocks come two a stage: half the shuffles and barriers a byte, twice the independent multiplications.
    static constexpr int STAGE_BLOCKS = TILE_BYTES < 4096 ? 2 : 1;
    static constexpr int STAGE_KEYS = STAGE_BLOCKS * BLOCK_TOKENS;
    static constexpr int STAGE_BYTES = 2 * STAGE_BLOCKS * TILE_BYTES;
    // The smaller a stage, the more of them keep the same amount of memory traffic under way.
    static constexpr int STAGES = STAGE_BYTES >= 16384 ? 2 : STAGE_BYTES >= 8192 ? 3 : STAGE_BYTES >= 4096 ? 4 : 6;
    // Of each block the scales of keys, then of values.
    static constexpr int STAGE_SCALE_BYTES = SCALED<KV> ? STAGE_BLOCKS * 2 * SCALE_BYTES : 0;
    static constexpr int STAGE_STRIDE = STAGE_BYTES + STAGE_SCALE_BYTES;
    static constexpr int RING_BYTES = STAGES * STAGE_STRIDE;
    // Accumulators of a warp on their way to the merge, 8 floats more a row so that rows lie in different banks.
    static constexpr int MERGE_STRIDE = D + 8;
    static constexpr int MERGE_BYTES = DECODE_ROWS * MERGE_STRIDE * static_cast<int>(sizeof(float));
    static_assert(MERGE_BYTES + DECODE_ROWS * 8 <= RING_BYTES, "a warp's sums and statistics fit into its ring");
};

// The column of a row's output that an accumulator of this lane belongs to; which: 0 or 1, of the two.
template <typename KV>
__device__ __forceinline__ int decode_column(int tile, int which) {
    const int t = lane_index() % 4;
    return sizeof(KV) == sizeof(bf16) ? tile * 8 + t * 2 + which : tile / 2 * 16 + t * 4 + which * 2 + tile % 2;
}

// A row's two registers of Q for 16 elements, in the order in which keys will have them.
template <typename KV>
__device__ __forceinline__ void query_pairs(const bf16* elements, unsigned& low, unsigned& high) {
    const unsigned* const words = reinterpret_cast<const unsigned*>(elements);
    const int t = lane_index() % 4;
    if constexpr (sizeof(KV) == sizeof(bf16)) {
        low = words[t];
        high = words[t + 4];
    } else {
        low = (words[2 * t] & 0xFFFFu) | words[2 * t + 1] << 16;
        high = words[2 * t] >> 16 | (words[2 * t + 1] & 0xFFFF0000u);
    }
}

// The tile: `group` heads of the first token, those of the next one, and so on. stride: from a token to the next.
template <int D, typename KV>
__device__ __forceinline__ void load_query(const bf16* query, int stride, int queries, int group,
                                           unsigned (&fragments)[D / 16][4]) {
#pragma unroll
    for (int half = 0; half < 2; half++) {
        const int row = lane_index() / 4 + half * 8;
        const int token = row / group;
        const bf16* const head = query + static_cast<long long>(token) * stride + (row - token * group) * D;
#pragma unroll
        for (int step = 0; step < D / 16; step++) {
            fragments[step][half] = 0;
            fragments[step][half + 2] = 0;
            if (token < queries) {
                query_pairs<KV>(head + step * 16, fragments[step][half], fragments[step][half + 2]);
            }
        }
    }
}

// One warp's share: the tile's rows of Q, and their attention to the keys that the warp has seen.
template <int D, typename KV>
class DecodeWarp {
public:
    typedef DecodeShape<D, KV> Shape;
    typedef AttentionRows<D, 1> Rows;

    Rows rows;

    // hidden: keys of the piece that a window hides from the first token
    __device__ __forceinline__ DecodeWarp(const bf16* queryRows, int stride, const DecodePiece& piece, int group,
                                          int hiddenBefore)
        : mostBefore(hiddenBefore - piece.tokens + piece.queries - 1) {
        load_query<D, KV>(queryRows, stride, piece.queries, group, query);
        mostHidden = hidden_from(0, piece);
#pragma unroll
        for (int half = 0; half < 2; half++) {
            const int token = (lane_index() / 4 + half * 8) / group;
            hidden[half] = hidden_from(token, piece);
            before[half] = hiddenBefore - piece.tokens + token;
        }
    }

    // One stage of the ring, with `keys` keys of the piece from its first on, at least 1.
    template <typename Rule>
    __device__ __forceinline__ void attend(const unsigned char* stage, int keys, const Rule& rule) {
        float scores[1][Shape::STAGE_KEYS / 8][4] = {};
        multiply_keys(stage, scores[0]);
        const float* const scales = reinterpret_cast<const float*>(stage + Shape::STAGE_BYTES);
        if constexpr (SCALED<KV>) {
            Rows::multiply_columns(scores, scales);
        }
        if constexpr (Rule::SHAPED) {
            if (rule.capInside > 0) {
                Rows::cap(scores, rule.capInside, rule.capOutside);
            }
            if (mostBefore + keys > 0) {
                Rows::mask_before(scores, [=](int, int half) { return before[half] + keys; });
            }
        }
        if (keys - mostHidden < Shape::STAGE_KEYS) {
            Rows::mask(scores, [=](int, int half) { return keys - hidden[half]; });
        }
        rows.weigh(scores, rule.scaleLog2);
        if constexpr (SCALED<KV>) {
            Rows::multiply_columns(scores, scales + BLOCK_TOKENS);
        }
        add_values(scores, stage + Shape::STAGE_BYTES / 2);
    }

private:
    unsigned query[D / 16][4];
    int mostHidden;
    int hidden[2];   // by half: of the piece's last keys so many are behind the row's token
    int mostBefore;  // where scores are shaped, likewise: hidden by a window, less all keys of the piece
    int before[2];

    __device__ static __forceinline__ int hidden_from(int token, const DecodePiece& piece) {
        const int behind = piece.queries - 1 - token - piece.later;
        return behind > 0 ? behind : 0;
    }

    __device__ __forceinline__ void multiply_keys(const unsigned char* keys,
                                                  float (&scores)[Shape::STAGE_KEYS / 8][4]) const {
        // Matrices 0 and 1 of a load are successive chunks of tokens 0 to 7, 2 and 3 of tokens 8 to 15.
        const int lane = lane_index();
        const int offset = swizzled<Shape::ROW_BYTES>(lane % 8 + lane / 16 * 8, lane / 8 % 2);
#pragma unroll
        for (int chunk = 0; chunk < Shape::CHUNKS; chunk += 2) {
#pragma unroll
            for (int block = 0; block < Shape::STAGE_BLOCKS; block++) {
                unsigned key[4];
                ldmatrix_x4(key, keys + block * Shape::TILE_BYTES + (offset ^ swizzled<Shape::ROW_BYTES>(0, chunk)));
                if constexpr (Shape::WIDE) {
                    mma_bf16(scores[2 * block], query[chunk / 2], key[0], key[1]);
                    mma_bf16(scores[2 * block + 1], query[chunk / 2], key[2], key[3]);
                } else {
#pragma unroll
                    for (int i = 0; i < 4; i++) {
                        mma_bf16(scores[2 * block + i / 2], query[chunk + i % 2], e4m3_evens_to_bf16x2(key[i]),
                                 e4m3_evens_to_bf16x2(key[i] >> 8));
                    }
                }
            }
        }
    }

    __device__ __forceinline__ void add_values(const float (&weights)[1][Shape::STAGE_KEYS / 8][4],
                                               const unsigned char* values) {
        if constexpr (Shape::WIDE) {
            rows.add_values(weights, values);
        } else {
            const int offset = swizzled<Shape::ROW_BYTES>(lane_index() % 16, lane_index() / 16);
#pragma unroll
            for (int block = 0; block < Shape::STAGE_BLOCKS; block++) {
                unsigned weight[4];
                Rows::pack(weights[0], block, weight);
#pragma unroll
                for (int chunk = 0; chunk < Shape::CHUNKS; chunk += 2) {
                    unsigned value[4];
                    ldmatrix_x4_trans(value, values + block * Shape::TILE_BYTES
                                                     + (offset ^ swizzled<Shape::ROW_BYTES>(0, chunk)));
#pragma unroll
                    for (int i = 0; i < 4; i++) {
                        const int shift = i % 2 * 8;  // even columns of a chunk, then odd ones
                        mma_bf16(rows.output[0][2 * chunk + i], weight,
                                 e4m3_evens_to_bf16x2(value[i / 2 * 2] >> shift),
                                 e4m3_evens_to_bf16x2(value[i / 2 * 2 + 1] >> shift));
                    }
                }
            }
        }
    }
};

// Maximum (log2 domain) and sum of a row's weights, by warp; the merge's other half lies in the rings.
struct DecodeStats {
    float maximum;
    float sum;
};
static_assert(sizeof(DecodeStats) == 8, "what a ring has room for");

// Where the statistics of a warp's rows lie, and how far from those of the next warp: by themselves, or, where scales
// have taken their room, behind the accumulators. So heads of 128 still fit into the 99 KiB that a block has on sm_86
// and sm_89, to the byte.
template <typename Shape, bool scaled>
struct DecodeStatsPlace {
    static constexpr int STRIDE = scaled ? Shape::RING_BYTES / static_cast<int>(sizeof(DecodeStats)) : DECODE_ROWS;

    __device__ __forceinline__ static DecodeStats* first(unsigned char* rings) {
        if constexpr (scaled) {
            return reinterpret_cast<DecodeStats*>(rings + Shape::MERGE_BYTES);
        } else {
            SHARED(DecodeStats, stats, DECODE_WARPS * DECODE_ROWS);
            return stats;
        }
    }
};

template <int D, typename KV>
__device__ __forceinline__ void leave_for_merge(const AttentionRows<D, 1>& rows, float* accumulators,
                                                DecodeStats* stats) {
#pragma unroll
    for (int half = 0; half < 2; half++) {
        const int row = lane_index() / 4 + half * 8;
        const float total = rows.total(0, half);
        if (lane_index() % 4 == 0) {
            stats[row] = {rows.highest(0, half), total};
        }
#pragma unroll
        for (int i = 0; i < D / 4; i++) {
            accumulators[row * DecodeShape<D, KV>::MERGE_STRIDE + decode_column<KV>(i / 2, i % 2)] =
                    rows.output[0][i / 2][2 * half + i % 2];
        }
    }
}

// What each warp's accumulators count for in the piece's result: those that have seen no key, nothing, since their sum
// is 0. stride: from a warp's statistics to the next one's.
template <int stride>
struct DecodeMerge {
    float factors[DECODE_WARPS];
    DecodeStats total;

    __device__ __forceinline__ DecodeMerge(const DecodeStats* stats, int row) {
        total = {NO_SCORE, 0};
#pragma unroll
        for (int warp = 0; warp < DECODE_WARPS; warp++) {
            total.maximum = fmaxf(total.maximum, stats[warp * stride + row].maximum);
        }
#pragma unroll
        for (int warp = 0; warp < DECODE_WARPS; warp++) {
            factors[warp] = exp2_fast(stats[warp * stride + row].maximum - total.maximum);
            total.sum += factors[warp] * stats[warp * stride + row].sum;
        }
        const float inverse = total.sum > 0 ? 1 / total.sum : 0;
#pragma unroll
        for (int warp = 0; warp < DECODE_WARPS; warp++) {
            factors[warp] *= inverse;
        }
    }
};

template <int D, typename KV, typename Rule>
__device__ __forceinline__ void decode_attention(const bf16* qkv, int qkvStride, const KV* keys, const KV* values,
                                                 const int* blockTables, int tableStride, const int* plan,
                                                 float* partialOutputs, float* partialStats, bf16* output,
                                                 int queryHeads, int kvHeads, Rule rule) {
    typedef DecodeShape<D, KV> Shape;
    typedef DecodeStatsPlace<Shape, SCALED<KV>> StatsPlace;
    REQUIRE_THREADS(DECODE_WARPS * 32);
    DYNAMIC_SHARED(rings);
    DecodeStats* const stats = StatsPlace::first(rings);
    // Read beside the count, not after it: each load that waits for another is a cold 1 µs before the first key.
    DecodePiece piece(plan, block_index_y());
    if (block_index_y() >= plan[0]) {
        return;
    }
    int hiddenBefore = 0;
    if constexpr (Rule::SHAPED) {
        hiddenBefore = piece.leave_hidden(rule.window);
    }
    const int kvHead = block_index_x();
    const int group = queryHeads / kvHeads;
    const int warpIndex = warp_index();

    // Stage s of warp w has the keys from (4 * s + w) * STAGE_KEYS of the piece on.
    const int ahead = piece.tokens - warpIndex * Shape::STAGE_KEYS;  // from this warp's first key on; none: not above 0
    const int* const table = blockTables + static_cast<long long>(piece.sequence) * tableStride + piece.firstBlock;
    BlockWalk<DECODE_WARPS * Shape::STAGE_BLOCKS, Shape::STAGE_BLOCKS> walk(table + warpIndex * Shape::STAGE_BLOCKS,
                                                                            ahead);
    unsigned char* const ring = rings + warpIndex * Shape::RING_BYTES;
    auto gather = [&](int turn) {
        const int left = ahead - turn * (DECODE_WARPS * Shape::STAGE_KEYS);
        if (left > 0) {
            int blocks[Shape::STAGE_BLOCKS];
            walk.take(blocks, left);
            unsigned char* const stage = ring + turn % Shape::STAGES * Shape::STAGE_STRIDE;
#pragma unroll
            for (int i = 0; i < Shape::STAGE_BLOCKS; i++) {
                const long long start = block_start<KV>(blocks[i], kvHeads, kvHead, D);
                unsigned char* const tile = stage + i * Shape::TILE_BYTES;
                gather_block<D>(tile, keys + start, left - i * BLOCK_TOKENS);
                gather_block<D>(tile + Shape::STAGE_BYTES / 2, values + start, left - i * BLOCK_TOKENS);
                if constexpr (SCALED<KV>) {
                    const long long scales = start + scales_start(kvHeads, kvHead, D);
                    gather_scales(reinterpret_cast<float*>(stage + Shape::STAGE_BYTES + i * 2 * SCALE_BYTES),
                                  keys + scales, values + scales, left - i * BLOCK_TOKENS);
                }
            }
        }
        cp_async_commit();  // also when empty: a stage is a group
    };
#pragma unroll
    for (int turn = 0; turn < Shape::STAGES - 1; turn++) {
        gather(turn);
    }

    const bf16* const query = qkv + static_cast<long long>(piece.row) * qkvStride + kvHead * group * D;
    DecodeWarp<D, KV> warp(query, qkvStride, piece, group, hiddenBefore);
    int left = ahead;
    for (int turn = 0; left > 0; turn++) {
        cp_async_wait<Shape::STAGES - 2>();
        sync_warp();  // this stage is there for all lanes, and all have left the one that is filled next
        gather(turn + Shape::STAGES - 1);
        warp.attend(ring + turn % Shape::STAGES * Shape::STAGE_STRIDE, left, rule);
        left -= DECODE_WARPS * Shape::STAGE_KEYS;
    }
    cp_async_wait<0>();
    sync_warp();
    leave_for_merge<D, KV>(warp.rows, reinterpret_cast<float*>(ring), stats + warpIndex * StatsPlace::STRIDE);
    sync_block();

    for (int item = thread_index(); item < piece.queries * group * (D / 2); item += DECODE_WARPS * 32) {
        const int row = item / (D / 2);
        const int column = item % (D / 2) * 2;
        const int token = row / group;
        const int head = kvHead * group + row - token * group;
        const DecodeMerge<StatsPlace::STRIDE> merge(stats, row);
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
            bf16* const target =
                    output + (static_cast<long long>(piece.row + token) * queryHeads + head) * D + column;
            *reinterpret_cast<unsigned*>(target) = pack_bf16(low, high);
        } else {
            const long long partialRow =
                    static_cast<long long>(piece.partial + token * piece.stride) * queryHeads + head;
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
// its sum at the common maximum: one that saw no key, nothing; a row of which none did is zeros.
template <int D>
__device__ __forceinline__ void reduce_partials(const int* plan, const float* partialOutputs, const float* partialStats,
                                                bf16* output, int queryHeads) {
    constexpr int ELEMENTS = D / 32;
    struct alignas(ELEMENTS % 2 == 0 ? ELEMENTS * sizeof(float) : sizeof(float)) Slice {
        float elements[ELEMENTS];
    };
    REQUIRE_THREADS(REDUCE_THREADS);
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
    const float highest = warp_max(maximum);

    float sum = 0;
    Slice total = {};
    for (int start = 0; start < partials; start += 32) {
        float weight = 0;
        if (start + lane_index() < partials) {
            const float* const stats =
                    partialStats + (first + static_cast<long long>(start + lane_index()) * queryHeads) * 2;
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

// The names that the host looks up; a macro, since a template has no C name. Launch bounds: as many CTAs as the shared
// memory of an SM of sm_90 holds.
// dynamic shared bytes: 4 * STAGES * STAGE_STRIDE
//            D = 256     128 and 96      64       32
//   bf16     131,072         98,304  98,304   65,536
//   fp8       99,840        101,376  69,632   55,296
#define DECODE_ATTENTION_KERNEL(name, D, KV, blocksPerMultiprocessor)                                                  \
    extern "C" __global__ void __launch_bounds__(DECODE_WARPS * 32, blocksPerMultiprocessor)                           \
    name(const bf16* qkv, int qkvStride, const KV* keys, const KV* values, const int* blockTables, int tableStride,    \
         const int* plan, float* partialOutputs, float* partialStats, bf16* output, int queryHeads, int kvHeads,       \
         float scaleLog2) {                                                                                            \
        decode_attention<D, KV>(qkv, qkvStride, keys, values, blockTables, tableStride, plan, partialOutputs,          \
                                partialStats, output, queryHeads, kvHeads, PlainScores{scaleLog2});                    \
    }

#define SHAPED_DECODE_ATTENTION_KERNEL(name, D, KV, blocksPerMultiprocessor)                                           \
    extern "C" __global__ void __launch_bounds__(DECODE_WARPS * 32, blocksPerMultiprocessor)                           \
    name(const bf16* qkv, int qkvStride, const KV* keys, const KV* values, const int* blockTables,                     \
         int tableStride, const int* plan, float* partialOutputs, float* partialStats, bf16* output,                   \
         int queryHeads, int kvHeads, float scaleLog2, int window, float capInside, float capOutside) {                \
        decode_attention<D, KV>(qkv, qkvStride, keys, values, blockTables, tableStride, plan, partialOutputs,          \
                                partialStats, output, queryHeads, kvHeads,                                             \
                                ShapedScores{scaleLog2, window, capInside, capOutside});                               \
    }

DECODE_ATTENTION_KERNEL(wp_decode_attention_bf16_d32, 32, bf16, 3)
DECODE_ATTENTION_KERNEL(wp_decode_attention_bf16_d64, 64, bf16, 2)
DECODE_ATTENTION_KERNEL(wp_decode_attention_bf16_d128, 128, bf16, 2)
DECODE_ATTENTION_KERNEL(wp_decode_attention_fp8_d32, 32, e4m3, 4)
DECODE_ATTENTION_KERNEL(wp_decode_attention_fp8_d64, 64, e4m3, 3)
DECODE_ATTENTION_KERNEL(wp_decode_attention_fp8_d128, 128, e4m3, 2)

SHAPED_DECODE_ATTENTION_KERNEL(wp_decode_attention_bf16_d32_shaped, 32, bf16, 3)
SHAPED_DECODE_ATTENTION_KERNEL(wp_decode_attention_bf16_d64_shaped, 64, bf16, 2)
SHAPED_DECODE_ATTENTION_KERNEL(wp_decode_attention_bf16_d128_shaped, 128, bf16, 2)
SHAPED_DECODE_ATTENTION_KERNEL(wp_decode_attention_fp8_d32_shaped, 32, e4m3, 4)
SHAPED_DECODE_ATTENTION_KERNEL(wp_decode_attention_fp8_d64_shaped, 64, e4m3, 3)
SHAPED_DECODE_ATTENTION_KERNEL(wp_decode_attention_fp8_d128_shaped, 128, e4m3, 2)

// Heads of fewer models: with a window or without.
SHAPED_DECODE_ATTENTION_KERNEL(wp_decode_attention_bf16_d96_shaped, 96, bf16, 2)
SHAPED_DECODE_ATTENTION_KERNEL(wp_decode_attention_fp8_d96_shaped, 96, e4m3, 2)
SHAPED_DECODE_ATTENTION_KERNEL(wp_decode_attention_bf16_d256_shaped, 256, bf16, 1)
SHAPED_DECODE_ATTENTION_KERNEL(wp_decode_attention_fp8_d256_shaped, 256, e4m3, 1)

#define REDUCE_PARTIALS_KERNEL(name, D)                                                                                \
    extern "C" __global__ void __launch_bounds__(REDUCE_THREADS)                                                       \
    name(const int* plan, const float* partialOutputs, const float* partialStats, bf16* output, int queryHeads) {      \
        reduce_partials<D>(plan, partialOutputs, partialStats, output, queryHeads);                                    \
    }

REDUCE_PARTIALS_KERNEL(wp_reduce_partials_d32, 32)
REDUCE_PARTIALS_KERNEL(wp_reduce_partials_d64, 64)
REDUCE_PARTIALS_KERNEL(wp_reduce_partials_d96, 96)
REDUCE_PARTIALS_KERNEL(wp_reduce_partials_d128, 128)
REDUCE_PARTIALS_KERNEL(wp_reduce_partials_d256, 256)
