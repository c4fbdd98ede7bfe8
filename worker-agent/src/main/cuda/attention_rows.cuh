// Rows of attention as one warp computes them, a number of keys at a time: the running softmax of FlashAttention-2
// (Dao 2023), in base 2, with everything in registers.
//
// Rows come in tiles of 16, the height of a tensor-core fragment. Of a tile, lane (g = lane / 4, t = lane % 4) holds
// rows g and g + 8; of 8 columns it holds 2t and 2t + 1. So scores (columns are keys), weights and output (columns are
// elements of a head) lie alike: scores[tile][keys / 8][4], output[tile][D / 8][4], where
//
//     [0], [1]   row g,     columns 2t, 2t + 1
//     [2], [3]   row g + 8, columns 2t, 2t + 1
//
// and what Q K' gives is, packed to bf16, what P V takes. A row's maximum wants two shuffles among four lanes; its sum
// stays apart in them until the end.
#pragma once

#include "paged_cache.cuh"

// The maximum of no keys: below any score, yet a number, so that a row which sees none of some keys needs no care. Of
// what is minus infinity the weight at it is 0.
constexpr float NO_SCORE = -1e30f;

// What becomes of a product of query and key: its scale, as an exponent of 2. Most models have no more.
struct PlainScores {
    static constexpr bool SHAPED = false;
    float scaleLog2;
};

// Those of layers with a window or a cap.
struct ShapedScores {
    static constexpr bool SHAPED = true;
    float scaleLog2;
    int window;        // positions that a token sees, its own included; more than any context has: all
    float capInside;   // a product x becomes capOutside * tanh(capInside * x); 0: it stays
    float capOutside;
};

template <int D, int TILES>
class AttentionRows {
public:
    float output[TILES][D / 8][4] = {};  // not yet divided by the sum

    __device__ __forceinline__ AttentionRows() {
#pragma unroll
        for (int tile = 0; tile < TILES; tile++) {
#pragma unroll
            for (int half = 0; half < 2; half++) {
                maximum[tile][half] = NO_SCORE;
            }
        }
    }

    // Takes out the keys that a row does not see. seen(tile, half): how many of these keys row g + 8 * half does.
    template <int keyTiles, typename Seen>
    __device__ __forceinline__ static void mask(float (&scores)[TILES][keyTiles][4], Seen seen) {
#pragma unroll
        for (int tile = 0; tile < TILES; tile++) {
#pragma unroll
            for (int half = 0; half < 2; half++) {
                const int end = seen(tile, half);
#pragma unroll
                for (int i = 0; i < 2 * keyTiles; i++) {
                    if (i / 2 * 8 + lane_index() % 4 * 2 + i % 2 >= end) {
                        scores[tile][i / 2][2 * half + i % 2] = MINUS_INFINITY;
                    }
                }
            }
        }
    }

    // Takes out the keys before those that a row sees. hidden(tile, half): how many of these keys those are.
    template <int keyTiles, typename Hidden>
    __device__ __forceinline__ static void mask_before(float (&scores)[TILES][keyTiles][4], Hidden hidden) {
#pragma unroll
        for (int tile = 0; tile < TILES; tile++) {
#pragma unroll
            for (int half = 0; half < 2; half++) {
                const int start = hidden(tile, half);
#pragma unroll
                for (int i = 0; i < 2 * keyTiles; i++) {
                    if (i / 2 * 8 + lane_index() % 4 * 2 + i % 2 < start) {
                        scores[tile][i / 2][2 * half + i % 2] = MINUS_INFINITY;
                    }
                }
            }
        }
    }

    // Bounds products, before any is taken out: tanh z = 1 - 2 / (exp(2z) + 1).
    template <int keyTiles>
    __device__ __forceinline__ static void cap(float (&scores)[TILES][keyTiles][4], float inside, float outside) {
        const float exponent = 2.0f * 1.4426950408889634f * inside;
#pragma unroll
        for (int tile = 0; tile < TILES; tile++) {
#pragma unroll
            for (int i = 0; i < 4 * keyTiles; i++) {
                float& score = scores[tile][i / 4][i % 4];
                score = outside - divide_fast(2.0f * outside, exp2_fast(exponent * score) + 1.0f);
            }
        }
    }

    // Scores to weights, at the maximum of all keys so far. The weights of a row that has seen none yet are 0.
    template <int keyTiles>
    __device__ __forceinline__ void weigh(float (&scores)[TILES][keyTiles][4], float scaleLog2) {
        raise_maximum(scores, scaleLog2);
#pragma unroll
        for (int tile = 0; tile < TILES; tile++) {
#pragma unroll
            for (int i = 0; i < 4 * keyTiles; i++) {
                float& weight = scores[tile][i / 4][i % 4];
                const int half = i % 4 / 2;
                weight = exp2_fast(weight * scaleLog2 - maximum[tile][half]);
                sum[tile][half] += weight;
            }
        }
    }

    // Multiplies each column by its key's factor. factors: in shared memory, of each block of keys 32, of which the
    // first 16 count. A lane reads one of a block and gets the others by shuffles: reading its 4, prefill spilled.
    template <int keyTiles>
    __device__ __forceinline__ static void multiply_columns(float (&scores)[TILES][keyTiles][4],
                                                            const float* factors) {
#pragma unroll
        for (int block = 0; block < keyTiles / 2; block++) {
            const float own = factors[block * 2 * BLOCK_TOKENS + lane_index() % BLOCK_TOKENS];
#pragma unroll
            for (int i = 0; i < 4; i++) {  // of the block's 16 columns this lane's: 2t, 2t + 1, 2t + 8, 2t + 9
                const float factor = shuffle(own, lane_index() % 4 * 2 + i % 2 + i / 2 * 8);
#pragma unroll
                for (int tile = 0; tile < TILES; tile++) {
                    scores[tile][2 * block + i / 2][i % 2] *= factor;
                    scores[tile][2 * block + i / 2][i % 2 + 2] *= factor;
                }
            }
        }
    }

    // Weights of 16 keys as the left operand of a multiplication.
    template <int keyTiles>
    __device__ __forceinline__ static void pack(const float (&weights)[keyTiles][4], int block,
                                                unsigned (&fragments)[4]) {
#pragma unroll
        for (int i = 0; i < 4; i++) {
            const float* const pair = &weights[2 * block + i / 2][i % 2 * 2];
            fragments[i] = pack_bf16(pair[0], pair[1]);
        }
    }

    // Adds weights times values; values: bf16 in shared memory, a swizzled row of D for each key.
    template <int keyTiles>
    __device__ __forceinline__ void add_values(const float (&weights)[TILES][keyTiles][4],
                                               const unsigned char* values) {
        constexpr int ROW_BYTES = ROW_STRIDE<D, bf16>;
        // Transposed, matrices 0 and 1 of a load are one chunk of both halves of 16 keys, 2 and 3 the chunk after it.
        const int offset = swizzled<ROW_BYTES>(lane_index() % 16, lane_index() / 16);
#pragma unroll
        for (int block = 0; block < keyTiles / 2; block++) {
            unsigned rows[TILES][4];
#pragma unroll
            for (int tile = 0; tile < TILES; tile++) {
                pack(weights[tile], block, rows[tile]);
            }
#pragma unroll
            for (int pair = 0; pair < D / 16; pair++) {
                unsigned value[4];
                ldmatrix_x4_trans(value, values + block * BLOCK_TOKENS * ROW_BYTES
                                                 + (offset ^ swizzled<ROW_BYTES>(0, 2 * pair)));
#pragma unroll
                for (int tile = 0; tile < TILES; tile++) {
                    mma_bf16(output[tile][2 * pair], rows[tile], value[0], value[1]);
                    mma_bf16(output[tile][2 * pair + 1], rows[tile], value[2], value[3]);
                }
            }
        }
    }

    // The highest score so far of row g + 8 * half, scaled; NO_SCORE if it has seen no key.
    __device__ __forceinline__ float highest(int tile, int half) const { return maximum[tile][half]; }

    // All weights so far of row g + 8 * half. A collective.
    __device__ __forceinline__ float total(int tile, int half) const {
        const float pair = sum[tile][half] + shuffle_xor(sum[tile][half], 1);
        return pair + shuffle_xor(pair, 2);
    }

private:
    float maximum[TILES][2];   // of the scaled scores
    float sum[TILES][2] = {};  // of this lane's columns

    template <int keyTiles>
    __device__ __forceinline__ void raise_maximum(const float (&scores)[TILES][keyTiles][4], float scaleLog2) {
        float factor[TILES][2];
        bool grown = false;
#pragma unroll
        for (int tile = 0; tile < TILES; tile++) {
#pragma unroll
            for (int half = 0; half < 2; half++) {
                float raised = scores[tile][0][2 * half];
#pragma unroll
                for (int i = 1; i < 2 * keyTiles; i++) {
                    raised = fmaxf(raised, scores[tile][i / 2][2 * half + i % 2]);
                }
                raised = fmaxf(raised, shuffle_xor(raised, 1));
                raised = fmaxf(raised, shuffle_xor(raised, 2));
                raised = fmaxf(maximum[tile][half], raised * scaleLog2);
                factor[tile][half] = exp2_fast(maximum[tile][half] - raised);
                maximum[tile][half] = raised;
                sum[tile][half] *= factor[tile][half];
                grown = grown || factor[tile][half] != 1;
            }
        }
        if (warp_ballot(grown) == 0) {
            return;  // mostly: after the first keys, a higher score is rare
        }
#pragma unroll
        for (int tile = 0; tile < TILES; tile++) {
#pragma unroll
            for (int i = 0; i < D / 2; i++) {
                output[tile][i / 4][i % 4] *= factor[tile][i % 4 / 2];
            }
        }
    }
};
