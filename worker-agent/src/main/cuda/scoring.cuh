// How likely tokens are by rows of logits, which stay: what compute/ScoredTokens.java says of it. Two kernels:
//
//   score_scan  each slice of a row by a block of its own: largest and softmax as for sampling.cuh, with the same sums
//               to the bit; how many logits are at least the target's; the slice's likeliest tokens, best first
//   score       a block per row: adds up, and puts the slices' likeliest in order
//
// The likeliest are picked one by one. Each thread knows the best of its own tokens that is not picked yet, so a pick
// is a maximum over the block, after which only the picked one's thread looks at its tokens again.
#pragma once

#include "sampling.cuh"

namespace scoring {

// A token's standing: greater for a larger logit, among equals for a lower id. No token has 0.
typedef unsigned long long Standing;

constexpr Standing NOBODY = 0;

// What is left of a row between the kernels: device memory.
struct alignas(16) RowScores {
    sampling::Slice slices[SAMPLE_SLICES];
    Standing likeliest[SAMPLE_SLICES * MOST_LIKELIEST];  // NOBODY where a slice has no more tokens
    int atLeast[SAMPLE_SLICES];
};
static_assert(sizeof(RowScores) == SCORED_ROW_BYTES, "the host makes room for so much");

__device__ __forceinline__ Standing standing_of(int id, float logit) {
    return static_cast<Standing>(sampling::to_key(logit)) << 32 | (0xFFFFFFFFu - static_cast<unsigned>(id));
}

__device__ __forceinline__ int id_of(Standing standing) {
    return static_cast<int>(0xFFFFFFFFu - static_cast<unsigned>(standing));
}

__device__ __forceinline__ float logit_of(Standing standing) {
    return sampling::from_key(static_cast<unsigned>(standing >> 32));
}

// Of all threads of a block.
__device__ __forceinline__ Standing block_max(Standing own, sampling::Exchange& exchange) {
#pragma unroll
    for (int mask = 16; mask > 0; mask >>= 1) {
        const unsigned high = shuffle_xor(static_cast<unsigned>(own >> 32), mask);
        const unsigned low = shuffle_xor(static_cast<unsigned>(own), mask);
        const Standing other = static_cast<Standing>(high) << 32 | low;
        own = other > own ? other : own;
    }
    if (lane_index() == 0) {
        exchange.largest[warp_index()] = static_cast<unsigned>(own >> 32);
        exchange.smallest[warp_index()] = static_cast<unsigned>(own);
    }
    sync_block();
#pragma unroll 1
    for (int warp = 0; warp < sampling::WARPS; warp++) {
        const Standing other = static_cast<Standing>(exchange.largest[warp]) << 32 | exchange.smallest[warp];
        own = other > own ? other : own;
    }
    sync_block();
    return own;
}

// The best below a bound of those tokens of a slice that are this thread's.
__device__ __forceinline__ Standing best_below(const float* row, sampling::Range range, Standing bound) {
    Standing best = NOBODY;
#pragma unroll 4
    for (int id = range.begin + thread_index(); id < range.end; id += SAMPLE_THREADS) {
        const Standing standing = standing_of(id, row[id]);
        best = standing > best && standing < bound ? standing : best;
    }
    return best;
}

// Leaves a slice's `count` likeliest.
__device__ __forceinline__ void pick(const float* row, sampling::Range range, int count, Standing* likeliest,
                                     sampling::Exchange& exchange) {
    Standing own = best_below(row, range, ~NOBODY);
#pragma unroll 1
    for (int place = 0; place < count; place++) {
        const Standing best = block_max(own, exchange);
        if (thread_index() == 0) {
            likeliest[place] = best;
        }
        if (own == best && best != NOBODY) {
            own = best_below(row, range, best);
        }
    }
}

// How many logits of a slice are at least as large as one.
__device__ __forceinline__ int count_at_least(const float* row, sampling::Range range, float logit,
                                              sampling::Exchange& exchange) {
    int count = 0;
    for (int id = range.begin + thread_index(); id < range.end; id += SAMPLE_THREADS) {
        count += row[id] >= logit ? 1 : 0;
    }
    return static_cast<int>(sampling::block_sum(static_cast<double>(count), exchange));
}

__device__ __forceinline__ bool is_asked(const int* targets, const int* counts, int row) {
    return targets[row] >= 0 || counts[row] > 0;
}

}  // namespace scoring

// Row r of the logits is asked for and told at firstRow + r. Grid (rows, SAMPLE_SLICES).
extern "C" __global__ void __launch_bounds__(SAMPLE_THREADS)
wp_score_scan(const float* logits, int vocabulary, const int* targets, const int* counts, int firstRow,
              scoring::RowScores* left) {
    REQUIRE_THREADS(SAMPLE_THREADS);
    SHARED(sampling::Exchange, exchange, 1);
    const int row = block_index_x();
    const int asked = firstRow + row;
    if (!scoring::is_asked(targets, counts, asked)) {
        return;
    }
    const float* rowLogits = logits + static_cast<long long>(row) * vocabulary;
    const int index = block_index_y();
    const sampling::Range range = sampling::slice_range(index, vocabulary);
    sampling::Slice& slice = left[row].slices[index];
    sampling::scan(rowLogits, range, slice, exchange[0]);
    sampling::add_softmax(rowLogits, range, slice, exchange[0]);
    if (targets[asked] >= 0) {
        const int atLeast = scoring::count_at_least(rowLogits, range, rowLogits[targets[asked]], exchange[0]);
        if (thread_index() == 0) {
            left[row].atLeast[index] = atLeast;
        }
    }
    scoring::pick(rowLogits, range, counts[asked], left[row].likeliest + index * MOST_LIKELIEST, exchange[0]);
}

// logprobs, ranks: [rows, 1], of the targets; topIds, topLogprobs: [rows, MOST_LIKELIEST]. Grid rows.
extern "C" __global__ void __launch_bounds__(ROW_THREADS)
wp_score(const float* logits, int vocabulary, const int* targets, const int* counts, int firstRow,
         const scoring::RowScores* left, float* logprobs, int* ranks, int* topIds, float* topLogprobs) {
    REQUIRE_THREADS(ROW_THREADS);
    const int row = block_index_x();
    const int asked = firstRow + row;
    if (!scoring::is_asked(targets, counts, asked)) {
        return;
    }
    const scoring::RowScores& scores = left[row];
    const sampling::Largest largest = sampling::largest_of(scores.slices);
    if (largest.id == NO_TOKEN) {
        if (thread_index() == 0) {
            ranks[asked] = UNUSABLE;
        }
        return;
    }
    if (thread_index() == 0) {
        int rank = 1;
        if (targets[asked] >= 0) {
            rank = 0;
            for (int slice = 0; slice < SAMPLE_SLICES; slice++) {
                rank += scores.atLeast[slice];
            }
            logprobs[asked] = sampling::logprob(logits + static_cast<long long>(row) * vocabulary + targets[asked],
                                                scores.slices, largest.logit);
        }
        ranks[asked] = rank;
    }
    const int count = counts[asked];
    for (int candidate = thread_index(); candidate < SAMPLE_SLICES * count; candidate += ROW_THREADS) {
        const scoring::Standing own = scores.likeliest[candidate / count * MOST_LIKELIEST + candidate % count];
        int before = own == scoring::NOBODY ? count : 0;
        for (int slice = 0; slice < SAMPLE_SLICES && before < count; slice++) {
            for (int place = 0; place < count && scores.likeliest[slice * MOST_LIKELIEST + place] > own; place++) {
                before++;
            }
        }
        if (before < count) {
            const float logit = scoring::logit_of(own);
            topIds[asked * MOST_LIKELIEST + before] = scoring::id_of(own);
            topLogprobs[asked * MOST_LIKELIEST + before] = sampling::logprob(&logit, scores.slices, largest.logit);
        }
    }
}
