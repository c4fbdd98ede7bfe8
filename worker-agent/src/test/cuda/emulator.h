// The kernels' device primitives on the host, and the machine below them; ptx.cuh includes it in place of its PTX.
//
// A block's threads are fibers of one operating-system thread, run one at a time, blocks one after the other. A fiber
// runs until it needs others: a collective. The last lane to arrive computes it for all 32. Which warp runs next, and
// in which order its lanes do, is drawn from a seed; warps may run far ahead of each other. A barrier that is missing
// shows as another result under some seed, mostly as NaN, for shared memory is filled with poison before each block.
//
// What this proves: indexing, masks, fragment layouts, barriers, the arithmetic up to the device's rounding; that
// accesses stay inside allocations (guards) and are aligned, that collectives are reached by everybody at one place of
// the program, that no copy is used before its wait.
// What it cannot: there is no memory-consistency model (a fiber's writes are seen at once, missing fences are not), no
// two blocks at a time, no timing, no registers, no PTX assembler, and tensor cores add in another order.
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>

namespace emulator {

// ---- The machine, in emulator.cpp.

struct Launch {
    const char* kernel;
    int gridX, gridY, threads;
    size_t dynamicShared;    // bytes; the block gets exactly these
    size_t sharedLimit;      // bytes of static and dynamic shared memory together
    void (*body)(void*);     // the kernel with its arguments, called once per thread
    void* arguments;
};

// Runs a grid to its end. Returns null, or what went wrong: a sentence with the kernel, the block and the thread, valid
// until the next call. Not reentrant: the caller holds the device's lock.
const char* run(const Launch& launch);

// Begins another order of warps and lanes; the same seed and the same launches give the same order.
void schedule(uint64_t seed);

// What an address is, for messages about accesses that went wrong: returns false if unknown. Set by the driver.
extern bool (*describe_address)(const void* address, char* text, size_t capacity);

// Poison: NaN as float, double and bf16, both bytes NaN as e4m3, and as an integer no index that exists.
void poison(void* target, size_t bytes);
bool poisoned(const void* target, size_t bytes);

struct Position {
    int thread, blockX, blockY;
};
extern Position position;  // of the running fiber

// A place in a kernel's source; lanes meet only where they have the same.
struct Site {
    const char* what;
    const char* file;
    int line;
};

// Waits for the 31 other lanes. The last one calls complete with all 32 operands, by lane; nobody goes on before.
void meet_warp(const Site& site, void* operand, void (*complete)(void* const* operands));
void meet_block(const Site& site);

// Ends the launch with this sentence. Does not return.
[[noreturn]] void fault(const char* format, ...) __attribute__((format(printf, 1, 2)));

// The block's static shared array of a declaration, the same for all threads. `declaration` is its identity.
void* shared_array(const void* declaration, const char* name, size_t bytes);
unsigned char* dynamic_shared();
bool is_shared(const void* address, size_t bytes);  // all of it, in one array
int thread_count();

void start_copy(void* shared, const void* global, int bytes, bool valid);
void end_copy_group();
void finish_copies(int pending);

void multiply_fragments(void* const* operands);

inline void check_aligned(const void* address, const char* what, int bytes = 16) {
    if (reinterpret_cast<uintptr_t>(address) % bytes != 0) {
        fault("%s at %p, not a multiple of %d", what, address, bytes);
    }
}

struct Fragments {  // operand of mma
    float* d;
    const unsigned* a;
    unsigned b0, b1;
};

struct MatrixRow {  // operand of ldmatrix
    bf16 row[8];
    unsigned* fragments;
};

inline void read_row(MatrixRow& operand, const void* sharedRow) {
    check_aligned(sharedRow, "ldmatrix row");
    if (!is_shared(sharedRow, 16)) {
        fault("ldmatrix row at %p is outside the block's shared memory", sharedRow);
    }
    __builtin_memcpy(operand.row, sharedRow, 16);
}

template <int count, bool transposed>
void load_matrices(void* const* operands) {
    for (int matrix = 0; matrix < count; matrix++) {
        const bf16* rows[8];
        for (int row = 0; row < 8; row++) {
            rows[row] = static_cast<MatrixRow*>(operands[matrix * 8 + row])->row;
        }
        for (int lane = 0; lane < 32; lane++) {
            const int i = lane / 4;
            const int j = lane % 4 * 2;
            const unsigned low = transposed ? rows[j][i] : rows[i][j];
            const unsigned high = transposed ? rows[j + 1][i] : rows[i][j + 1];
            static_cast<MatrixRow*>(operands[lane])->fragments[matrix] = low | high << 16;
        }
    }
}

template <typename T>
struct Exchange {  // operand of the shuffles
    T value;
    int source;
    T result;
};

template <typename T>
void shuffle_lanes(void* const* operands) {
    for (int lane = 0; lane < 32; lane++) {
        auto* exchange = static_cast<Exchange<T>*>(operands[lane]);
        exchange->result = static_cast<Exchange<T>*>(operands[exchange->source & 31])->value;
    }
}

template <typename T>
T exchange(T value, int source, const Site& site) {
    Exchange<T> operand{value, source, value};
    meet_warp(site, &operand, shuffle_lanes<T>);
    return operand.result;
}

struct Vote {
    bool vote;
    unsigned result;
};

inline void count_votes(void* const* operands) {
    unsigned votes = 0;
    for (int lane = 0; lane < 32; lane++) {
        votes |= static_cast<Vote*>(operands[lane])->vote ? 1u << lane : 0u;
    }
    for (int lane = 0; lane < 32; lane++) {
        static_cast<Vote*>(operands[lane])->result = votes;
    }
}

}  // namespace emulator

// ---- CUDA's words.
#ifndef LIST_KERNELS  // build.sh looks for the word
#define __global__
#endif
#define __device__
#define __host__
#define __forceinline__ inline
#define __launch_bounds__(...)

// ---- The names of ptx.cuh; see there for what they mean. The last parameters are where the call stands in the source.
#define EMULATOR_SITE const char* file = __builtin_FILE(), int line = __builtin_LINE()

inline int thread_index() { return emulator::position.thread; }
inline int lane_index() { return emulator::position.thread & 31; }
inline int warp_index() { return emulator::position.thread >> 5; }
inline int block_index_x() { return emulator::position.blockX; }
inline int block_index_y() { return emulator::position.blockY; }

#define REQUIRE_THREADS(count)                                                                       \
    do {                                                                                             \
        if (emulator::thread_count() != (count)) {                                                   \
            emulator::fault("launched with %d threads, takes %d", emulator::thread_count(), (count)); \
        }                                                                                            \
    } while (false)

#define SHARED(type, name, count)                \
    static const char name##_declaration = 0;    \
    type(&name)[count] = *static_cast<type(*)[count]>( \
        emulator::shared_array(&name##_declaration, #name, sizeof(type[count])))

#define DYNAMIC_SHARED(name) unsigned char* const name = emulator::dynamic_shared()

inline unsigned float_bits(float value) {
    unsigned bits;
    __builtin_memcpy(&bits, &value, sizeof bits);
    return bits;
}

inline float bits_float(unsigned bits) {
    float value;
    __builtin_memcpy(&value, &bits, sizeof value);
    return value;
}

inline bf16 to_bf16(float value) {
    const unsigned bits = float_bits(value);
    if ((bits & 0x7FFFFFFFu) > 0x7F800000u) {
        return 0x7FFF;
    }
    return static_cast<bf16>((bits + 0x7FFFu + (bits >> 16 & 1u)) >> 16);
}

inline unsigned pack_bf16(float low, float high) {
    return static_cast<unsigned>(to_bf16(low)) | static_cast<unsigned>(to_bf16(high)) << 16;
}

inline float half_to_float(unsigned short binary16) {
    const unsigned sign = static_cast<unsigned>(binary16 & 0x8000) << 16;
    const unsigned magnitude = binary16 & 0x7FFFu;
    if (magnitude >= 0x7C00u) {  // infinity, NaN
        return bits_float(sign | 0x7F800000u | magnitude << 13);
    }
    return bits_float(sign | float_bits(bits_float(magnitude << 13) * 0x1p112f));
}

inline float from_e4m3(unsigned char value);

inline unsigned e4m3_evens_to_bf16x2(unsigned word) {  // NaN stays NaN here, so that poison is seen
    return pack_bf16(from_e4m3(static_cast<unsigned char>(word)), from_e4m3(static_cast<unsigned char>(word >> 16)));
}

inline unsigned e4m3x2_to_bf16x2(unsigned pair) { return e4m3_evens_to_bf16x2((pair & 0xFFu) | (pair & 0xFF00u) << 8); }

inline Vector16 load_16(const void* global) {
    emulator::check_aligned(global, "16-byte load");
    if (emulator::is_shared(global, 16)) {
        emulator::fault("load_16 takes global memory, %p is shared", global);
    }
    return *static_cast<const Vector16*>(global);
}

inline void store_16(void* global, Vector16 value) {
    emulator::check_aligned(global, "16-byte store");
    if (emulator::is_shared(global, 16)) {
        emulator::fault("store_16 takes global memory, %p is shared", global);
    }
    *static_cast<Vector16*>(global) = value;
}

inline void cp_async_16(void* shared, const void* global, bool valid) {
    emulator::start_copy(shared, global, 16, valid);
}
inline void cp_async_4(void* shared, const void* global, bool valid) { emulator::start_copy(shared, global, 4, valid); }
inline void cp_async_commit() { emulator::end_copy_group(); }

template <int pending>
void cp_async_wait() {
    emulator::finish_copies(pending);
}

// A lane's row is read when the lane arrives: what other lanes store needs a barrier before, though they all meet here.
template <int count, bool transposed>
void load_fragments(unsigned* fragments, const void* sharedRow, const emulator::Site& site) {
    emulator::MatrixRow operand{{}, fragments};
    if (lane_index() < count * 8) {
        emulator::read_row(operand, sharedRow);
    }
    emulator::meet_warp(site, &operand, emulator::load_matrices<count, transposed>);
}

inline void ldmatrix_x4(unsigned (&r)[4], const void* sharedRow, EMULATOR_SITE) {
    load_fragments<4, false>(r, sharedRow, {"ldmatrix_x4", file, line});
}

inline void ldmatrix_x4_trans(unsigned (&r)[4], const void* sharedRow, EMULATOR_SITE) {
    load_fragments<4, true>(r, sharedRow, {"ldmatrix_x4_trans", file, line});
}

inline void ldmatrix_x2(unsigned (&r)[2], const void* sharedRow, EMULATOR_SITE) {
    load_fragments<2, false>(r, sharedRow, {"ldmatrix_x2", file, line});
}

inline void ldmatrix_x2_trans(unsigned (&r)[2], const void* sharedRow, EMULATOR_SITE) {
    load_fragments<2, true>(r, sharedRow, {"ldmatrix_x2_trans", file, line});
}

inline void mma_bf16(float (&d)[4], const unsigned (&a)[4], unsigned b0, unsigned b1, EMULATOR_SITE) {
    emulator::Fragments operand{d, a, b0, b1};
    emulator::meet_warp({"mma_bf16", file, line}, &operand, emulator::multiply_fragments);
}

template <typename T>
T shuffle_xor(T value, int mask, EMULATOR_SITE) {
    return emulator::exchange(value, lane_index() ^ mask, {"shuffle_xor", file, line});
}

template <typename T>
T shuffle(T value, int lane, EMULATOR_SITE) {
    return emulator::exchange(value, lane, {"shuffle", file, line});
}

template <typename T>
T shuffle_up(T value, int delta, EMULATOR_SITE) {
    const int lane = lane_index();
    return emulator::exchange(value, lane < delta ? lane : lane - delta, {"shuffle_up", file, line});
}

inline unsigned warp_ballot(bool vote, EMULATOR_SITE) {
    emulator::Vote operand{vote, 0};
    emulator::meet_warp({"warp_ballot", file, line}, &operand, emulator::count_votes);
    return operand.result;
}

inline void sync_warp(EMULATOR_SITE) {
    emulator::meet_warp({"sync_warp", file, line}, nullptr, [](void* const*) {});
}

inline void sync_block(EMULATOR_SITE) { emulator::meet_block({"sync_block", file, line}); }

template <typename T>
T atomic_add(T* target, T value) {  // one fiber runs at a time
    const T before = *target;
    *target = before + value;
    return before;
}

inline float exp2_fast(float x) {
    const float result = exp2f(x);
    return result < 1.17549435e-38f ? 0.0f : result;  // NaN passes
}

inline float divide_fast(float a, float b) { return b > 8.5070592e37f ? 0.0f * a : a / b; }  // a is finite

inline float multiply(float a, float b) { return a * b; }
inline float subtract(float a, float b) { return a - b; }

// ---- What CUDA's compiler has without an include.
inline float rsqrtf(float x) { return 1.0f / sqrtf(x); }

template <typename T>
T min(T a, T b) {
    return b < a ? b : a;
}

template <typename T>
T max(T a, T b) {
    return a < b ? b : a;
}
