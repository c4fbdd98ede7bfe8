// Step 0 of compute/Sampling.java, of rows that ask for it, in place. Four kernels around those of sampling.cuh:
//
//   adjust_scan   what is gone afterwards of the raw logits: whether they are usable, and the sum of their softmax
//   adjust        masks, biases and penalties, and the raw logits of the entries for later; each slice of a row by a
//                 block of its own, so that nobody waits for others
//   adjust_cut    min-p, once sampling.cuh's scan has found the largest adjusted logit, which stays
//   adjust_settle after the draw: tells masked from unusable, and the log-probability by the raw logits
//
// Numbers are float32, each operation rounded by itself, as on processors: so logits come out equal.
#pragma once

#include "sampling.cuh"

namespace adjustment {

__device__ __forceinline__ bool is_adjusted(const int* modes, int row, const int* live) {
    return (live == nullptr || row < *live) && modes[row] != PLAIN;
}

__device__ __forceinline__ bool is_in(int id, sampling::Range range) { return id >= range.begin && id < range.end; }

// What is unusable stays so.
__device__ __forceinline__ float masked(float logit) {
    return logit < bits_float(0x7F800000u) ? bits_float(0xFF800000u) : logit;
}

struct Penalties {
    float repetition;
    float frequency;
    float presence;

    __device__ __forceinline__ float operator()(float logit, int note) const {
        const int count = note / ONCE;
        float result = logit;
        if (count > 0 || (note & PROMPT) != 0) {
            result = result > 0 ? result / repetition : result * repetition;
        }
        if (count > 0) {
            result = subtract(subtract(result, multiply(frequency, static_cast<float>(count))), presence);
        }
        const float most = bits_float(0x7F7FFFFFu);  // what is finite stays so
        const bool isFinite = logit >= -most && logit <= most;
        return !isFinite ? result : result > most ? most : result < -most ? -most : result;
    }
};

}  // namespace adjustment

// Grid (rows, SAMPLE_SLICES).
extern "C" __global__ void __launch_bounds__(SAMPLE_THREADS)
wp_adjust_scan(const float* logits, int vocabulary, const int* logprobs, const int* modes, sampling::Slice* raw,
               const int* live) {
    REQUIRE_THREADS(SAMPLE_THREADS);
    SHARED(sampling::Exchange, exchange, 1);
    const int row = block_index_x();
    if (!adjustment::is_adjusted(modes, row, live)) {
        return;
    }
    const float* rowLogits = logits + static_cast<long long>(row) * vocabulary;
    const sampling::Range range = sampling::slice_range(block_index_y(), vocabulary);
    sampling::Slice& slice = raw[row * SAMPLE_SLICES + block_index_y()];
    sampling::scan(rowLogits, range, slice, exchange[0]);
    if (logprobs[row] != 0) {
        sampling::add_softmax(rowLogits, range, slice, exchange[0]);
    }
}

// drawn: of the step before, by `sources`. Grid (rows, SAMPLE_SLICES).
extern "C" __global__ void __launch_bounds__(SAMPLE_THREADS)
wp_adjust(float* logits, int vocabulary, const int* modes, const int* starts, const int* sources, const int* drawn,
          const float* repetitions, const float* frequencies, const float* presences, int* ids, const float* biases,
          const int* notes, float* raws, const int* live) {
    REQUIRE_THREADS(SAMPLE_THREADS);
    SHARED(int, counted, 1);
    const int row = block_index_x();
    if (!adjustment::is_adjusted(modes, row, live)) {
        return;
    }
    float* const rowLogits = logits + static_cast<long long>(row) * vocabulary;
    const sampling::Range range = sampling::slice_range(block_index_y(), vocabulary);
    const bool allowedOnly = modes[row] == ALLOWED_ONLY;
    const int last = sources[row] < 0 ? NO_TOKEN : drawn[sources[row]];
    const int begin = starts[row] + thread_index();
    const int end = starts[row + 1];
    const adjustment::Penalties penalize = {repetitions[row], frequencies[row], presences[row]};
    if (thread_index() == 0) {
        counted[0] = adjustment::is_in(last, range) ? 0 : 1;
    }
    sync_block();
    for (int entry = begin; entry < end; entry += SAMPLE_THREADS) {
        const int id = ids[entry];
        if (notes[entry] >= 0 && adjustment::is_in(id, range)) {
            raws[entry] = rowLogits[id];
            if (id == last) {
                counted[0] = 1;
            }
        }
    }
    sync_block();
    if (counted[0] == 0 && thread_index() == 0) {  // the free entry is this slice's
        ids[end - 1] = last;
        raws[end - 1] = rowLogits[last];
    }
    if (allowedOnly) {
        sync_block();
        for (int id = range.begin + thread_index(); id < range.end; id += SAMPLE_THREADS) {
            rowLogits[id] = adjustment::masked(rowLogits[id]);
        }
    }
    sync_block();
    // by the thread that has kept the raw logit; the free entry's note is 0, and its id may be another slice's by now
    for (int entry = begin; entry < end; entry += SAMPLE_THREADS) {
        const int id = ids[entry];
        const int note = notes[entry];
        if (note >= 0 && adjustment::is_in(id, range) && (!allowedOnly || (note & ALLOWED) != 0)) {
            rowLogits[id] = penalize(raws[entry] + biases[entry], note + (id == last ? ONCE : 0));
        }
    }
    sync_block();
    for (int entry = begin; entry < end; entry += SAMPLE_THREADS) {
        const int note = notes[entry];
        const bool bans = note == BAN || (note < 0 && last >= 0 && note == BAN - 1 - last);
        if (bans && adjustment::is_in(ids[entry], range)) {
            rowLogits[ids[entry]] = adjustment::masked(rowLogits[ids[entry]]);
        }
    }
}

// left: of the adjusted logits. Grid (rows, SAMPLE_SLICES).
extern "C" __global__ void __launch_bounds__(SAMPLE_THREADS)
wp_adjust_cut(float* logits, int vocabulary, const int* modes, const float* cuts, const sampling::RowSlices* left,
              const int* live) {
    REQUIRE_THREADS(SAMPLE_THREADS);
    const int row = block_index_x();
    if (!adjustment::is_adjusted(modes, row, live) || !(cuts[row] > bits_float(0xFF800000u))) {
        return;
    }
    const sampling::Largest largest = sampling::largest_of(left[row].slices);
    if (largest.id == NO_TOKEN) {
        return;
    }
    float* const rowLogits = logits + static_cast<long long>(row) * vocabulary;
    const sampling::Range range = sampling::slice_range(block_index_y(), vocabulary);
    const float least = largest.logit + cuts[row];
    for (int id = range.begin + thread_index(); id < range.end; id += SAMPLE_THREADS) {
        if (rowLogits[id] < least) {
            rowLogits[id] = bits_float(0xFF800000u);
        }
    }
}

// raw: as wp_adjust_scan left them. Grid rows.
extern "C" __global__ void __launch_bounds__(ROW_THREADS)
wp_adjust_settle(const float* logits, int vocabulary, const int* logprobs, const int* modes, const int* starts,
                 const int* ids, const int* notes, const float* raws, const sampling::Slice* raw, int* tokens,
                 float* drawnLogprobs, const int* live) {
    REQUIRE_THREADS(ROW_THREADS);
    SHARED(float, logit, 1);
    const int row = block_index_x();
    if (!adjustment::is_adjusted(modes, row, live)) {
        return;
    }
    const sampling::Slice* const slices = raw + row * SAMPLE_SLICES;
    const int token = tokens[row];
    sync_block();
    if (token == NO_TOKEN) {
        if (thread_index() == 0 && sampling::largest_of(slices).id != NO_TOKEN) {
            tokens[row] = MASKED;
        }
        return;
    }
    if (logprobs[row] == 0) {
        return;
    }
    if (thread_index() == 0) {
        logit[0] = logits[static_cast<long long>(row) * vocabulary + token];
    }
    sync_block();
    for (int entry = starts[row] + thread_index(); entry < starts[row + 1]; entry += ROW_THREADS) {
        if (notes[entry] >= 0 && ids[entry] == token) {
            logit[0] = raws[entry];
        }
    }
    sync_block();
    if (thread_index() == 0) {
        drawnLogprobs[row] = sampling::logprob(logit, slices, sampling::largest_of(slices).logit);
    }
}
