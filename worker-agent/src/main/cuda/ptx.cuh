// The device as the kernels see it: bf16 and e4m3 numbers, 16-byte loads, asynchronous copies, matrix fragments,
// warp collectives. Every line of PTX and every intrinsic of the project is in this file, so that the kernels are plain
// C++ and can also be compiled for the host: with WARMPATH_EMULATED the same names come from the tests' emulator.h.
//
// Rules for kernels: one-dimensional blocks of a multiple of 32 threads; whatever is called a collective below is
// reached by all 32 lanes of a warp (or all threads of a block) together, at the same place of the program; nobody ends
// before the others' last collective; shared memory comes from SHARED and DYNAMIC_SHARED only.
#pragma once

#include "kernel_sizes.cuh"

typedef unsigned short bf16;  // the bits of a bfloat16

struct alignas(16) Vector16 {
    unsigned int words[4];
};

#ifdef WARMPATH_EMULATED
#include "emulator.h"
#else

// ---- Where a thread is; all blocks and the first two grid dimensions are all we use.
__device__ __forceinline__ int thread_index() { return static_cast<int>(threadIdx.x); }
__device__ __forceinline__ int lane_index() { return static_cast<int>(threadIdx.x & 31); }
__device__ __forceinline__ int warp_index() { return static_cast<int>(threadIdx.x >> 5); }
__device__ __forceinline__ int block_index_x() { return static_cast<int>(blockIdx.x); }
__device__ __forceinline__ int block_index_y() { return static_cast<int>(blockIdx.y); }

// A kernel's promise about its launch; only the emulator checks it.
#define REQUIRE_THREADS(count)

// ---- Shared memory. Both kinds are 16-byte aligned and hold no defined value when the block starts.
#define SHARED(type, name, count) __shared__ alignas(16) type name[count]
#define DYNAMIC_SHARED(name)                                        \
    extern __shared__ __align__(16) unsigned char dynamic_shared[]; \
    unsigned char* const name = dynamic_shared

// The 32-bit address that ldmatrix and cp.async take.
__device__ __forceinline__ unsigned shared_address(const void* shared) {
    return static_cast<unsigned>(__cvta_generic_to_shared(shared));
}

// ---- Bits.
__device__ __forceinline__ unsigned float_bits(float value) { return __float_as_uint(value); }
__device__ __forceinline__ float bits_float(unsigned bits) { return __uint_as_float(bits); }

// Rounds to nearest even; NaN becomes 0x7FFF.
__device__ __forceinline__ bf16 to_bf16(float value) {
    bf16 result;
    asm("cvt.rn.bf16.f32 %0, %1;" : "=h"(result) : "f"(value));
    return result;
}

// Both rounded to nearest even; low in bits 0 to 15.
__device__ __forceinline__ unsigned pack_bf16(float low, float high) {
    unsigned result;
    asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(result) : "f"(high), "f"(low));
    return result;
}

// Exactly, subnormal numbers included.
__device__ __forceinline__ float half_to_float(unsigned short binary16) {
    float result;
    asm("cvt.f32.f16 %0, %1;" : "=f"(result) : "h"(binary16));
    return result;
}

// ---- Global memory, 16 bytes at a time; addresses are multiples of 16.
// For data that is read once and that nobody writes during this launch: it passes by L1.
__device__ __forceinline__ Vector16 load_16(const void* global) {
    Vector16 value;
    asm volatile("ld.global.nc.L1::no_allocate.v4.u32 {%0, %1, %2, %3}, [%4];"
                 : "=r"(value.words[0]), "=r"(value.words[1]), "=r"(value.words[2]), "=r"(value.words[3])
                 : "l"(global));
    return value;
}

__device__ __forceinline__ void store_16(void* global, Vector16 value) {
    asm volatile("st.global.v4.u32 [%0], {%1, %2, %3, %4};" ::"l"(global), "r"(value.words[0]), "r"(value.words[1]),
                 "r"(value.words[2]), "r"(value.words[3])
                 : "memory");
}

// ---- Asynchronous copies from global to shared memory, 16 bytes a thread, at multiples of 16.
// What a thread copied is there for this thread after its wait, for others after a barrier that follows the wait. An
// invalid copy fills with zeros and does not read global memory.
__device__ __forceinline__ void cp_async_16(void* shared, const void* global, bool valid) {
    asm volatile("cp.async.cg.shared.global.L2::128B [%0], [%1], 16, %2;" ::"r"(shared_address(shared)), "l"(global),
                 "r"(valid ? 16 : 0)
                 : "memory");
}

// Likewise of 4 bytes, at a multiple of 4.
__device__ __forceinline__ void cp_async_4(void* shared, const void* global, bool valid) {
    asm volatile("cp.async.ca.shared.global [%0], [%1], 4, %2;" ::"r"(shared_address(shared)), "l"(global),
                 "r"(valid ? 4 : 0)
                 : "memory");
}

// Ends a group: the copies of this thread since its last group.
__device__ __forceinline__ void cp_async_commit() { asm volatile("cp.async.commit_group;" ::: "memory"); }

// Returns when at most `pending` of this thread's groups, the youngest, are still under way.
template <int pending>
__device__ __forceinline__ void cp_async_wait() {
    asm volatile("cp.async.wait_group %0;" ::"n"(pending) : "memory");
}

// ---- Matrix fragments: 8x8 matrices of bf16 from shared memory; collectives of a warp.
// Lane i names row i % 8 of matrix i / 8: 16 bytes at a multiple of 16. Of each matrix a lane gets row lane / 4,
// columns 2 * (lane % 4) and the next; transposed: column lane / 4, rows 2 * (lane % 4) and the next. x2 reads the rows
// of the first 16 lanes only.
__device__ __forceinline__ void ldmatrix_x4(unsigned (&r)[4], const void* sharedRow) {
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
                 : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3])
                 : "r"(shared_address(sharedRow))
                 : "memory");
}

__device__ __forceinline__ void ldmatrix_x4_trans(unsigned (&r)[4], const void* sharedRow) {
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, %3}, [%4];"
                 : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3])
                 : "r"(shared_address(sharedRow))
                 : "memory");
}

__device__ __forceinline__ void ldmatrix_x2(unsigned (&r)[2], const void* sharedRow) {
    asm volatile("ldmatrix.sync.aligned.m8n8.x2.shared.b16 {%0, %1}, [%2];"
                 : "=r"(r[0]), "=r"(r[1])
                 : "r"(shared_address(sharedRow))
                 : "memory");
}

__device__ __forceinline__ void ldmatrix_x2_trans(unsigned (&r)[2], const void* sharedRow) {
    asm volatile("ldmatrix.sync.aligned.m8n8.x2.trans.shared.b16 {%0, %1}, [%2];"
                 : "=r"(r[0]), "=r"(r[1])
                 : "r"(shared_address(sharedRow))
                 : "memory");
}

// d[16, 8] += a[16, 16] * b[16, 8], a collective of a warp. With g = lane / 4 and t = 2 * (lane % 4) a lane holds
//   a: rows g, g + 8, g, g + 8 at columns t, t, t + 8, t + 8 (and the next column);
//   b: column g at rows t and t + 8 (and the next row);
//   d: row g at columns t and t + 1, then row g + 8.
__device__ __forceinline__ void mma_bf16(float (&d)[4], const unsigned (&a)[4], unsigned b0, unsigned b1) {
    asm volatile(
        "mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 "
        "{%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
        : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
}

// ---- Warp collectives over T = float, double, int, unsigned.
template <typename T>
__device__ __forceinline__ T shuffle_xor(T value, int mask) { return __shfl_xor_sync(0xFFFFFFFFu, value, mask); }

template <typename T>
__device__ __forceinline__ T shuffle(T value, int lane) { return __shfl_sync(0xFFFFFFFFu, value, lane); }

// The value of the lane `delta` before; the first `delta` lanes keep their own.
template <typename T>
__device__ __forceinline__ T shuffle_up(T value, int delta) { return __shfl_up_sync(0xFFFFFFFFu, value, delta); }

__device__ __forceinline__ unsigned warp_ballot(bool vote) { return __ballot_sync(0xFFFFFFFFu, vote); }
__device__ __forceinline__ void sync_warp() { __syncwarp(); }

// The collective of a whole block.
__device__ __forceinline__ void sync_block() { __syncthreads(); }

// Returns what was there before; target in shared memory, T = int, unsigned, double.
template <typename T>
__device__ __forceinline__ T atomic_add(T* target, T value) { return atomicAdd(target, value); }

// 2 to the power of x, two units in the last place; results below the normal range are 0.
__device__ __forceinline__ float exp2_fast(float x) {
    float result;
    asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(result) : "f"(x));
    return result;
}

// a / b, two units in the last place; 0 where b is above 2^126, infinity included, and a is not.
__device__ __forceinline__ float divide_fast(float a, float b) { return __fdividef(a, b); }

// Rounded by themselves: the compiler makes no fused operation of them.
__device__ __forceinline__ float multiply(float a, float b) { return __fmul_rn(a, b); }
__device__ __forceinline__ float subtract(float a, float b) { return __fsub_rn(a, b); }

// Bytes 0 and 2 of a word, two e4m3 numbers, as two bf16, byte 0 in bits 0 to 15. Both get their exponent where a shift
// by four puts it, 120 too low; the multiplication mends that exactly, subnormal numbers included. The code for NaN
// becomes 480.
__device__ __forceinline__ unsigned e4m3_evens_to_bf16x2(unsigned word) {
    const unsigned unscaled = (word << 8 & 0x80008000u) | (word << 4 & 0x07F007F0u);
    unsigned result;
    asm("fma.rn.bf16x2 %0, %1, %2, %3;" : "=r"(result) : "r"(unscaled), "r"(0x7B807B80u), "r"(0x80008000u));
    return result;
}

// Bytes 0 and 1 likewise.
__device__ __forceinline__ unsigned e4m3x2_to_bf16x2(unsigned pair) {
    return e4m3_evens_to_bf16x2(__byte_perm(pair, 0, 0x4140));
}

#endif

// ---- Everything below is arithmetic on the above, the same on the device and emulated.

__device__ __forceinline__ float to_float(bf16 value) { return bits_float(static_cast<unsigned>(value) << 16); }
__device__ __forceinline__ float low_float(unsigned pair) { return bits_float(pair << 16); }
__device__ __forceinline__ float high_float(unsigned pair) { return bits_float(pair & 0xFFFF0000u); }

// Rounds to nearest even, beyond ±448 (infinity included) to ±448; NaN becomes 0x7F: what cvt.rn.satfinite.e4m3x2
// does, which sm_80 does not have.
__device__ __forceinline__ unsigned char to_e4m3(float value) {
    const unsigned bits = float_bits(value);
    const unsigned sign = bits >> 24 & 0x80u;
    const unsigned magnitude = bits & 0x7FFFFFFFu;
    if (magnitude > 0x7F800000u) {
        return 0x7F;
    }
    if (magnitude > 0x43E00000u) {  // 448
        return static_cast<unsigned char>(sign | 0x7Eu);
    }
    if (magnitude < 0x3C800000u) {  // 2^-6: here a step is 2^-9, the unit in the last place of 2^14
        const unsigned steps = float_bits(bits_float(magnitude) + 16384.0f) - 0x46800000u;
        return static_cast<unsigned char>(sign | steps);
    }
    const unsigned rounded = magnitude + 0x7FFFFu + (magnitude >> 20 & 1u);
    return static_cast<unsigned char>(sign | ((rounded >> 20) - (120u << 3)));
}

__device__ __forceinline__ float from_e4m3(unsigned char value) {
    const unsigned sign = static_cast<unsigned>(value & 0x80) << 24;
    const unsigned magnitude = value & 0x7Fu;
    if (magnitude == 0x7Fu) {
        return bits_float(0x7FC00000u);
    }
    const float unsignedValue = bits_float(magnitude << 20) * bits_float((127u + 120u) << 23);
    return bits_float(float_bits(unsignedValue) | sign);
}

// All lanes get the same sum, added in the same order.
template <typename T>
__device__ __forceinline__ T warp_sum(T value) {
#pragma unroll
    for (int mask = 16; mask > 0; mask >>= 1) {
        value += shuffle_xor(value, mask);
    }
    return value;
}

__device__ __forceinline__ float warp_max(float value) {
#pragma unroll
    for (int mask = 16; mask > 0; mask >>= 1) {
        value = fmaxf(value, shuffle_xor(value, mask));
    }
    return value;
}
