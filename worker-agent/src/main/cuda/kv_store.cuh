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

__device__ __forceinline__ void store_8(e4m3* target, const float (&values)[8]) {
    unsigned long long packed = 0;
#pragma unroll
    for (int i = 0; i < 8; i++) {
        packed |= static_cast<unsigned long long>(to_e4m3(values[i])) << (8 * i);
    }
    *reinterpret_cast<unsigned long long*>(target) = packed;
}

// Turns 8 pairs that lie half a head apart (the convention of GPT-NeoX and of Llama's published weights).
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

// One token a block. A thread takes 8 pairs of a query or key head, or 8 elements of a value head, and rounds once:
// from the fp32 rotation to what is stored. Keys in qkv stay unturned, since attention reads the cache only.
//
// Cost: a token's qkv row is read once; its queries and, in the cache, its keys and values are written once.
template <typename KV>
__device__ __forceinline__ void rotate_store(bf16* qkv, const float* rotary, const int* positions, const int* slots,
                                             KV* keys, KV* values, int queryHeads, int kvHeads, int headSize,
                                             const int* live) {
    REQUIRE_THREADS(ROW_THREADS);
    const int token = block_index_x();
    if (live != nullptr && token >= *live) {
        return;
    }
    const int half = headSize / 2;
    const int slot = slots[token];
    const float* cosines = rotary + static_cast<long long>(positions[token]) * headSize;
    bf16* const row = qkv + static_cast<long long>(token) * (queryHeads + 2 * kvHeads) * headSize;
    bf16* const valueRow = row + (queryHeads + kvHeads) * headSize;

    const int chunksOfHalf = half / 8;
    const int turnedHeads = slot >= 0 ? queryHeads + kvHeads : queryHeads;
    for (int item = thread_index(); item < turnedHeads * chunksOfHalf; item += ROW_THREADS) {
        const int head = item / chunksOfHalf;
        const int element = item % chunksOfHalf * 8;
        bf16* const vector = row + head * headSize + element;
        float first[8];
        float second[8];
        unpack_8(vector, first);
        unpack_8(vector + half, second);
        rotate_8(first, second, cosines + element, cosines + half + element);
        if (head < queryHeads) {
            store_8(vector, first);
            store_8(vector + half, second);
        } else {
            KV* const target = keys + block_start(slot / BLOCK_TOKENS, kvHeads, head - queryHeads, headSize)
                    + slot % BLOCK_TOKENS * headSize + element;
            store_8(target, first);
            store_8(target + half, second);
        }
    }
    if (slot < 0) {
        return;
    }
    const int chunks = headSize / 8;
    for (int item = thread_index(); item < kvHeads * chunks; item += ROW_THREADS) {
        const int head = item / chunks;
        const int element = item % chunks * 8;
        float vector[8];
        unpack_8(valueRow + head * headSize + element, vector);
        store_8(values + block_start(slot / BLOCK_TOKENS, kvHeads, head, headSize) + slot % BLOCK_TOKENS * headSize
                        + element,
                vector);
    }
}

extern "C" __global__ void __launch_bounds__(ROW_THREADS)
wp_rotate_store_bf16(bf16* qkv, const float* rotary, const int* positions, const int* slots, bf16* keys, bf16* values,
                     int queryHeads, int kvHeads, int headSize, const int* live) {
    rotate_store(qkv, rotary, positions, slots, keys, values, queryHeads, kvHeads, headSize, live);
}

extern "C" __global__ void __launch_bounds__(ROW_THREADS)
wp_rotate_store_fp8(bf16* qkv, const float* rotary, const int* positions, const int* slots, e4m3* keys, e4m3* values,
                    int queryHeads, int kvHeads, int headSize, const int* live) {
    rotate_store(qkv, rotary, positions, slots, keys, values, queryHeads, kvHeads, headSize, live);
}

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
