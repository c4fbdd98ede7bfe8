// Kernels with one planted mistake each, and the same without it: what the emulator has to find.
#include "ptx.cuh"

namespace planted {

// Every thread writes a number, then reads its neighbour's in the next warp. Right with the barrier only.
template <bool barrier>
__device__ void pass_on(const int* input, int* output) {
    SHARED(int, numbers, 128);
    numbers[thread_index()] = input[thread_index()];
    if (barrier) {
        sync_block();
    }
    output[thread_index()] = numbers[(thread_index() + 32) % 128];
}

extern "C" __global__ void test_pass_on(const int* input, int* output) { pass_on<true>(input, output); }
extern "C" __global__ void test_pass_on_without_barrier(const int* input, int* output) {
    pass_on<false>(input, output);
}

// The same inside each warp.
template <bool barrier>
__device__ void pass_to_neighbour(const int* input, int* output) {
    SHARED(int, numbers, 128);
    numbers[thread_index()] = input[thread_index()];
    if (barrier) {
        sync_warp();
    }
    output[thread_index()] = numbers[thread_index() ^ 1];
}

extern "C" __global__ void test_pass_to_neighbour(const int* input, int* output) {
    pass_to_neighbour<true>(input, output);
}
extern "C" __global__ void test_pass_to_neighbour_without_barrier(const int* input, int* output) {
    pass_to_neighbour<false>(input, output);
}

// A buffer used twice: without the barrier between, a fast warp's second round overwrites what a slow one still reads.
template <bool barrier>
__device__ void pass_on_twice(const int* input, int* output) {
    SHARED(int, numbers, 128);
    int sum = 0;
    for (int round = 0; round < 2; round++) {
        numbers[thread_index()] = input[thread_index()] * (round + 1);
        sync_block();
        sum += numbers[(thread_index() + 32) % 128];
        if (barrier) {
            sync_block();
        }
    }
    output[thread_index()] = sum;
}

extern "C" __global__ void test_pass_on_twice(const int* input, int* output) { pass_on_twice<true>(input, output); }
extern "C" __global__ void test_pass_on_twice_without_barrier(const int* input, int* output) {
    pass_on_twice<false>(input, output);
}

// Copies 16 bytes a thread through dynamic shared memory in two groups, reads when at most `pending` are under way.
template <int pending>
__device__ void copy_in_groups(const unsigned char* input, unsigned char* output) {
    DYNAMIC_SHARED(tile);
    const int own = thread_index() * 16;
    const int half = 128 * 16;
    cp_async_16(tile + own, input + own, true);
    cp_async_commit();
    cp_async_16(tile + half + own, input + half + own, thread_index() % 2 == 0);
    cp_async_commit();
    cp_async_wait<pending>();
    sync_block();
    store_16(output + own, *reinterpret_cast<Vector16*>(tile + own));
    store_16(output + half + own, *reinterpret_cast<Vector16*>(tile + half + own));
}

extern "C" __global__ void test_copy_in_groups(const unsigned char* input, unsigned char* output) {
    REQUIRE_THREADS(128);
    copy_in_groups<0>(input, output);
}
extern "C" __global__ void test_copy_waits_for_one_group(const unsigned char* input, unsigned char* output) {
    copy_in_groups<1>(input, output);
}

// Copies 4 bytes a thread, of which every third is not valid, and looks before and after the wait.
extern "C" __global__ void test_copy_words(const unsigned* input, unsigned* before, unsigned* after) {
    SHARED(unsigned, words, 32);
    cp_async_4(&words[lane_index()], input + lane_index(), lane_index() % 3 != 2);
    cp_async_commit();
    before[lane_index()] = words[lane_index()];
    cp_async_wait<0>();
    after[lane_index()] = words[lane_index()];
}

// Writes to shared memory that a copy is on its way to, and waits for the copy or not.
extern "C" __global__ void test_write_under_copy(const unsigned char* input, int waits) {
    SHARED(Vector16, tile, 32);
    cp_async_16(&tile[lane_index()], input, true);
    cp_async_commit();
    if (lane_index() == 5) {
        tile[5].words[0] = 0;
    }
    if (waits) {
        cp_async_wait<0>();
    }
}

extern "C" __global__ void test_shuffle_in_half_a_warp(int* output) {
    if (lane_index() < 16) {
        output[thread_index()] = shuffle_xor(thread_index(), 1);
    }
}

extern "C" __global__ void test_barrier_in_one_warp(int* output) {
    if (warp_index() == 0) {
        sync_block();
    }
    output[thread_index()] = 1;
}

extern "C" __global__ void test_different_shuffles(int* output) {
    if (lane_index() % 2 == 0) {
        output[thread_index()] = shuffle_xor(thread_index(), 2);
    } else {
        output[thread_index()] = shuffle_xor(thread_index(), 2);
    }
}

// Writes one byte where it is told in dynamic shared memory and in a static array of 64 bytes.
extern "C" __global__ void test_shared_write(int dynamicIndex, int staticIndex) {
    DYNAMIC_SHARED(bytes);
    SHARED(unsigned char, array, 64);
    unsigned char* const begin = array;
    if (thread_index() == 0) {
        bytes[dynamicIndex] = 1;
        begin[staticIndex] = 1;
    }
}

extern "C" __global__ void test_global_write(unsigned char* target, long long index) {
    if (thread_index() == 0) {
        target[index] = 1;
    }
}

extern "C" __global__ void test_load_16(const unsigned char* source, int offset, unsigned char* target) {
    store_16(target, load_16(source + offset));
}

extern "C" __global__ void test_load_4(const unsigned char* source, int offset, int* target) {
    *target = *reinterpret_cast<const int*>(source + offset);
}

extern "C" __global__ void test_shift(unsigned* target, int distance) { *target <<= distance; }

extern "C" __global__ void test_array(int* target, int index) {
    SHARED(int, array, 4);
    array[index] = 5;
    *target = array[index];
}

extern "C" __global__ void test_divide(int* target, int divisor) { target[thread_index()] /= divisor; }

// target[16, 8] = a[16, 16] * b by one warp; b is [16, 8], or its transpose [8, 16].
template <bool transposed, bool barrier>
__device__ void multiply(const bf16* a, const bf16* b, float* target) {
    SHARED(bf16, left, 16 * 16);
    SHARED(bf16, right, 16 * 8);
    const int lane = lane_index();
    for (int i = lane; i < 256; i += 32) {
        left[i] = a[i];
    }
    for (int i = lane; i < 128; i += 32) {
        right[i] = b[i];
    }
    if (barrier) {
        sync_warp();
    }
    unsigned leftFragments[4];
    unsigned rightFragments[2];
    ldmatrix_x4(leftFragments, left + lane % 16 * 16 + lane / 16 * 8);
    if (transposed) {
        ldmatrix_x2(rightFragments, right + lane % 8 * 16 + lane / 8 % 2 * 8);
    } else {
        ldmatrix_x2_trans(rightFragments, right + lane % 16 * 8);
    }
    float sums[4] = {};
    mma_bf16(sums, leftFragments, rightFragments[0], rightFragments[1]);
    float* const row = target + lane / 4 * 8 + lane % 4 * 2;
    row[0] = sums[0];
    row[1] = sums[1];
    row[64] = sums[2];
    row[65] = sums[3];
}

extern "C" __global__ void test_multiply(const bf16* a, const bf16* b, float* target) {
    multiply<false, true>(a, b, target);
}
extern "C" __global__ void test_multiply_transposed(const bf16* a, const bf16* b, float* target) {
    multiply<true, true>(a, b, target);
}
extern "C" __global__ void test_multiply_without_barrier(const bf16* a, const bf16* b, float* target) {
    multiply<false, false>(a, b, target);
}

// What each lane gets of the collectives over lane numbers.
extern "C" __global__ void test_collectives(float* sums, int* lanes) {
    const int lane = lane_index();
    sums[lane] = warp_sum(static_cast<float>(lane));
    sums[32 + lane] = warp_max(static_cast<float>(lane * 7 % 32));
    sums[64 + lane] = static_cast<float>(warp_sum(0.5 * lane));
    lanes[lane] = shuffle_up(lane, 3);
    lanes[32 + lane] = shuffle(lane, 5);
    lanes[64 + lane] = static_cast<int>(warp_ballot(lane % 4 == 1));
}

extern "C" __global__ void test_numbers(const float* input, bf16* rounded, unsigned char* packed, float* back,
                                        int count) {
    for (int i = thread_index(); i < count; i += 32) {
        rounded[i] = to_bf16(input[i]);
        packed[i] = to_e4m3(input[i]);
        back[i] = from_e4m3(packed[i]);
    }
}

extern "C" __global__ void test_e4m3(const unsigned char* codes, float* values, unsigned* pairs, unsigned char* back) {
    for (int i = thread_index(); i < 256; i += 32) {
        values[i] = from_e4m3(codes[i]);
        pairs[i] = e4m3x2_to_bf16x2(codes[i] | codes[255 - i] << 8);
        back[i] = to_e4m3(values[i]);
    }
}

}  // namespace planted
