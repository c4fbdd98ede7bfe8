// New keys and values into the paged cache, with the rotation of positions; whole blocks from place to place.
#pragma once

#include "paged_cache.cuh"

// The unit of work is 8 successive elements: a 16-byte chunk of bf16.
struct alignas(16) Floats4 {
    float values[4];
};

__device__ __forceinline__ void unpack_8(const void* source, float (&values)[8]) {
    const Vector16 packed = *static_cast<const Vector16*>(source);
#pragma unroll
    for (int i = 0; i < 4; i++) {
        values[2 * i] = low_float(packed.words[i]);
        values[2 * i + 1] = high_float(packed.words[i]);
    }
}

__device__ __forceinline__ void read_8(const float* source, float (&values)[8]) {
#pragma unroll
    for (int i = 0; i < 8; i += 4) {
        const Floats4 four = *reinterpret_cast<const Floats4*>(source + i);
#pragma unroll
        for (int k = 0; k < 4; k++) {
            values[i + k] = four.values[k];
        }
    }
}

__device__ __forceinline__ void store_8(bf16* target, const float (&values)[8]) {
    Vector16 packed;
#pragma unroll
    for (int i = 0; i < 4; i++) {
        packed.words[i] = pack_bf16(values[2 * i], values[2 * i + 1]);
    }
    store_16(target, packed);
}

// Over their row's scale.
__device__ __forceinline__ void store_8(e4m3* target, const float (&values)[8], float scale) {
    const float inverse = 1.0f / scale;
    unsigned long long packed = 0;
#pragma unroll
    for (int i = 0; i < 8; i++) {
        packed |= static_cast<unsigned long long>(to_e4m3(values[i] * inverse)) << (8 * i);
    }
    *reinterpret_cast<unsigned long long*>(target) = packed;
}

// Turns 8 pairs that lie half of what is turned apart (the convention of GPT-NeoX and of Llama's published weights).
__device__ __forceinline__ void rotate_8(float (&first)[8], float (&second)[8], const float* cosines,
                                         const float* sines) {
    float cosine[8];
    float sine[8];
    read_8(cosines, cosine);
    read_8(sines, sine);
#pragma unroll
    for (int i = 0; i < 8; i++) {
        const float a = first[i];
        const float b = second[i];
        first[i] = a * cosine[i] - b * sine[i];
        second[i] = b * cosine[i] + a * sine[i];
    }
}

__device__ __forceinline__ void load_8(const bf16* row, const float* bias, int element, float (&values)[8]) {
    unpack_8(row + element, values);
    if (bias != nullptr) {
        float addends[8];
        read_8(bias + element, addends);
#pragma unroll
        for (int i = 0; i < 8; i++) {
            values[i] += addends[i];
        }
    }
}

__device__ __forceinline__ float sum_of_squares(const float (&first)[8], const float (&second)[8]) {
    float sum = 0;
#pragma unroll
    for (int i = 0; i < 8; i++) {
        sum += first[i] * first[i] + second[i] * second[i];
    }
    return sum;
}

__device__ __forceinline__ void scale_8(float (&values)[8], float scale, const float* weights) {
    float weight[8];
    read_8(weights, weight);
#pragma unroll
    for (int i = 0; i < 8; i++) {
        values[i] *= scale * weight[i];
    }
}

// The largest magnitude; NaN is none.
__device__ __forceinline__ float largest_of(const float (&first)[8], const float (&second)[8]) {
    float largest = 0;
#pragma unroll
    for (int i = 0; i < 8; i++) {
        largest = fmaxf(largest, fmaxf(fabsf(first[i]), fabsf(second[i])));
    }
    return largest;
}

// The scale of a row, of which `shares` successive threads, from place * shares on, each know the largest magnitude of
// a part: always finite; 1 where all is 0, or so little that nothing is left of it. A collective of the block; takes:
// whether the thread has a row.
__device__ __forceinline__ float row_scale(float* parts, float largest, bool takes, int place, int shares) {
    constexpr float LARGEST_E4M3 = 448;
    constexpr float LARGEST_FLOAT = 3.402823466e38f;
    constexpr float NEXT_TO_NOTHING = 1e-30f;  // the inverse of its scale is still a float
    parts[thread_index()] = largest;
    sync_block();
    float most = 0;
    if (takes) {
        for (int i = 0; i < shares; i++) {
            most = fmaxf(most, parts[place * shares + i]);
        }
    }
    sync_block();
    return most > NEXT_TO_NOTHING ? fminf(most, LARGEST_FLOAT) / LARGEST_E4M3 : 1;
}

// 16 elements of a row of e4m3; share: of the threads of a row, whose first stores the scale.
__device__ __forceinline__ void store_scaled(e4m3* plane, int slot, int kvHeads, int head, int headSize, int share,
                                             const float (&first)[8], int element, const float (&second)[8], int next,
                                             float scale) {
    e4m3* const rows = plane + block_start<e4m3>(slot / BLOCK_TOKENS, kvHeads, head, headSize);
    e4m3* const row = rows + slot % BLOCK_TOKENS * headSize;
    store_8(row + element, first, scale);
    store_8(row + next, second, scale);
    if (share == 0) {
        reinterpret_cast<float*>(rows + scales_start(kvHeads, head, headSize))[slot % BLOCK_TOKENS] = scale;
    }
}

// What becomes of the heads of a row, in this order; null: not that.
struct HeadWork {
    const float* bias;       // [(queryHeads + 2 * kvHeads) * headSize]
    const float* queryNorm;  // [headSize], as keyNorm; both or none
    const float* keyNorm;
    float epsilon;
    const float* rotary;  // [positions][turned]: cosines, then sines
    int turned;           // leading elements of a head, a multiple of 16; 0: none
};

// One token a block. A thread takes 16 elements of a query or key head, 8 pairs of it where it is turned, or 8 elements
// of a value head, and rounds once: from what fp32 has made of them to what is stored. Keys in qkv stay as they were,
// since attention reads the cache only. Where rows are kept as e4m3, a thread takes 16 elements of a value head, too.
//
// Cost: a token's qkv row is read once; its queries and, in the cache, its keys and values are written once. Norms cost
// two barriers for each 128 / (headSize / 16) heads; scales likewise, for as many heads of keys or values.
template <typename KV>
__device__ __forceinline__ void rotate_store(bf16* qkv, HeadWork work, const int* positions, const int* slots, KV* keys,
                                             KV* values, int queryHeads, int kvHeads, int headSize, const int* live) {
    REQUIRE_THREADS(ROW_THREADS);
    SHARED(float, parts, ROW_THREADS);
    const int token = block_index_x();
    if (live != nullptr && token >= *live) {
        return;
    }
    const int slot = slots[token];
    const float* const cosines = work.rotary + static_cast<long long>(positions[token]) * work.turned;
    bf16* const row = qkv + static_cast<long long>(token) * (queryHeads + 2 * kvHeads) * headSize;

    const int shares = headSize / 16;  // threads of a head
    const int together = ROW_THREADS / shares;
    const int place = thread_index() / shares;
    const int share = thread_index() % shares;
    const int half = work.turned / 2;
    const bool turns = share * 8 < half;
    const int element = turns ? share * 8 : work.turned + (share * 8 - half) * 2;
    const int next = turns ? element + half : element + 8;
    const int heads = slot >= 0 ? queryHeads + kvHeads : queryHeads;
    for (int firstHead = 0; firstHead < heads; firstHead += together) {
        const int head = firstHead + place;
        const bool takes = place < together && head < heads;
        bf16* const vector = row + head * headSize;
        float first[8];
        float second[8];
        if (takes) {
            const float* const bias = work.bias == nullptr ? nullptr : work.bias + head * headSize;
            load_8(vector, bias, element, first);
            load_8(vector, bias, next, second);
        }
        if (work.queryNorm != nullptr) {
            parts[thread_index()] = takes ? sum_of_squares(first, second) : 0;
            sync_block();
            if (takes) {
                float total = 0;
                for (int i = 0; i < shares; i++) {
                    total += parts[place * shares + i];
                }
                const float scale = 1.0f / sqrtf(total / static_cast<float>(headSize) + work.epsilon);
                const float* const weights = head < queryHeads ? work.queryNorm : work.keyNorm;
                scale_8(first, scale, weights + element);
                scale_8(second, scale, weights + next);
            }
            sync_block();
        }
        if (!takes && !SCALED<KV>) {
            continue;
        }
        if (takes && turns) {
            rotate_8(first, second, cosines + element, cosines + half + element);
        }
        float scale = 1;
        if constexpr (SCALED<KV>) {
            if (firstHead + together > queryHeads) {  // all threads or none: some of these heads may be keys
                scale = row_scale(parts, takes ? largest_of(first, second) : 0, takes, place, shares);
            }
            if (!takes) {
                continue;
            }
        }
        if (head < queryHeads) {
            store_8(vector + element, first);
            store_8(vector + next, second);
        } else if constexpr (SCALED<KV>) {
            store_scaled(keys, slot, kvHeads, head - queryHeads, headSize, share, first, element, second, next, scale);
        } else {
            KV* const target = keys + block_start<KV>(slot / BLOCK_TOKENS, kvHeads, head - queryHeads, headSize)
                    + slot % BLOCK_TOKENS * headSize;
            store_8(target + element, first);
            store_8(target + next, second);
        }
    }
    if (slot < 0) {
        return;
    }
    const int valueStart = (queryHeads + kvHeads) * headSize;
    if constexpr (SCALED<KV>) {
        const float* const bias = work.bias == nullptr ? nullptr : work.bias + valueStart;
        for (int firstHead = 0; firstHead < kvHeads; firstHead += together) {
            const int head = firstHead + place;
            const bool takes = place < together && head < kvHeads;
            float first[8] = {};
            float second[8] = {};
            if (takes) {
                load_8(row + valueStart, bias, head * headSize + share * 16, first);
                load_8(row + valueStart, bias, head * headSize + share * 16 + 8, second);
            }
            const float scale = row_scale(parts, largest_of(first, second), takes, place, shares);
            if (takes) {
                store_scaled(values, slot, kvHeads, head, headSize, share, first, share * 16, second, share * 16 + 8,
                             scale);
            }
        }
    } else {
        const int chunks = headSize / 8;
        for (int item = thread_index(); item < kvHeads * chunks; item += ROW_THREADS) {
            const int head = item / chunks;
            const int chunk = item % chunks * 8;
            float vector[8];
            load_8(row + valueStart, work.bias == nullptr ? nullptr : work.bias + valueStart, head * headSize + chunk,
                   vector);
            store_8(values + block_start<KV>(slot / BLOCK_TOKENS, kvHeads, head, headSize)
                            + slot % BLOCK_TOKENS * headSize + chunk,
                    vector);
        }
    }
}

// The names that the host looks up.
#define ROTATE_STORE_KERNEL(name, KV)                                                                                  \
    extern "C" __global__ void __launch_bounds__(ROW_THREADS)                                                          \
    name(bf16* qkv, const float* bias, const float* queryNorm, const float* keyNorm, float epsilon,                    \
         const float* rotary, int turned, const int* positions, const int* slots, KV* keys, KV* values,                \
         int queryHeads, int kvHeads, int headSize, const int* live) {                                                 \
        rotate_store(qkv, {bias, queryNorm, keyNorm, epsilon, rotary, turned}, positions, slots, keys, values,         \
                     queryHeads, kvHeads, headSize, live);                                                             \
    }

ROTATE_STORE_KERNEL(wp_rotate_store_bf16, bf16)
ROTATE_STORE_KERNEL(wp_rotate_store_fp8, e4m3)

constexpr int COPY_DEPTH = 4;  // loads of a thread under way before its first store

// One block of one plane a CUDA block: `bytes` from pairs[2 * x] to pairs[2 * x + 1]. No block may be both a source and
// a target of one launch.
extern "C" __global__ void __launch_bounds__(COPY_THREADS)
wp_copy_blocks(const unsigned char* source, unsigned long long sourceBlockStride, unsigned long long sourcePlaneStride,
               unsigned char* target, unsigned long long targetBlockStride, unsigned long long targetPlaneStride,
               const int* pairs, int bytes) {
    REQUIRE_THREADS(COPY_THREADS);
    const int pair = block_index_x();
    const int plane = block_index_y();
    const unsigned char* const from = source + pairs[2 * pair] * sourceBlockStride + plane * sourcePlaneStride;
    unsigned char* const to = target + pairs[2 * pair + 1] * targetBlockStride + plane * targetPlaneStride;
    for (int start = thread_index() * 16; start < bytes; start += COPY_DEPTH * COPY_THREADS * 16) {
        Vector16 chunks[COPY_DEPTH];
#pragma unroll
        for (int i = 0; i < COPY_DEPTH; i++) {
            const int offset = start + i * COPY_THREADS * 16;
            if (offset < bytes) {
                chunks[i] = load_16(from + offset);
            }
        }
#pragma unroll
        for (int i = 0; i < COPY_DEPTH; i++) {
            const int offset = start + i * COPY_THREADS * 16;
            if (offset < bytes) {
                store_16(to + offset, chunks[i]);
            }
        }
    }
}
