// Draws a token per row by the rule of compute/Sampling.java: float64 weights, ranks by (logit descending, id
// ascending), a walk by ascending id. Three kernels, of which the first two read a row by SAMPLE_SLICES blocks:
//
//   scan    each slice's largest logit, its lowest id, and, where it is wanted, the float32 sum of the softmax
//   gather  of rows that are cut by top-k or top-p: the slice's tokens near the row's largest logit, the candidates, in
//           ascending order of ids, and the float32 weight of all others, the tail; of rows that are not cut, the
//           slice's whole float64 weight
//   sample  a block per row: greedy rows and log-probabilities need the slices' results only. Cuts are made among the
//           candidates, weighed in float64. If top-p's edge lies as near to what is added up as the tail may be wrong
//           by, or beyond the candidates, or if there were too many of them, the whole row is looked at instead: so the
//           token is the rule's in any case. Of a row that is not cut, only the slice is that the token is in
//
// The vocabulary is never sorted. Within the last kernel, over candidates or the whole row:
//
//   1. top-k, then top-p, each finds a cut: the last (logit, id) that stays. Logits are mapped to integers of the same
//      order, whose interval is narrowed: a pass adds up the weights (1 for top-k) of 16 subintervals, thread by thread
//      in registers, and goes on in the one in which the wanted sum is reached. At most 8 passes; only the first sees
//      weights outside a narrow interval, so that exp() is computed about once per token. Among equals a walk counts.
//   2. the walk: 16 warps add up a sixteenth of the ids each; the piece in which the target lies is divided again
//
// A sum is wanted again after its terms were divided differently. It may then differ in its last bits, so every search
// takes the last part with a weight in it where none reaches the target.
#pragma once

#include "ptx.cuh"

namespace sampling {

constexpr int WARPS = SAMPLE_THREADS / 32;
constexpr int PARTS = 16;  // subintervals of a search and pieces of a walk
constexpr int ALL_IDS = 0x7FFFFFFF;
constexpr unsigned NO_KEY = 0xFFFFFFFFu;

static_assert(PARTS == WARPS, "each warp adds up a piece of the walk");

// What warps tell each other.
struct Exchange {
    double sums[WARPS * PARTS];
    double parts[PARTS];
    unsigned smallest[WARPS];
    unsigned largest[WARPS];
    float maxima[WARPS];
    int ids[WARPS];
    unsigned unusable[WARPS];
};

// Logits as integers of the same order; -0 and 0 are equal.
__device__ __forceinline__ unsigned to_key(float logit) {
    const unsigned bits = float_bits(logit + 0.0f);
    return bits ^ ((bits >> 31) != 0 ? 0xFFFFFFFFu : 0x80000000u);
}

__device__ __forceinline__ float from_key(unsigned key) {
    return bits_float(key ^ ((key >> 31) != 0 ? 0x80000000u : 0xFFFFFFFFu));
}

// Output words 0 (high) and 1 of Philox4x32-10, as compute/Philox.java: a float64 in [0, 1) with 53 random bits.
__device__ __forceinline__ double philox_uniform(unsigned long long seed, unsigned counter) {
    unsigned c0 = counter;
    unsigned c1 = 0;
    unsigned c2 = 0;
    unsigned c3 = 0;
    unsigned k0 = static_cast<unsigned>(seed);
    unsigned k1 = static_cast<unsigned>(seed >> 32);
    for (int round = 0; round < 10; round++) {
        const unsigned long long product0 = 0xD2511F53ull * c0;
        const unsigned long long product1 = 0xCD9E8D57ull * c2;
        c0 = static_cast<unsigned>(product1 >> 32) ^ c1 ^ k0;
        c1 = static_cast<unsigned>(product1);
        c2 = static_cast<unsigned>(product0 >> 32) ^ c3 ^ k1;
        c3 = static_cast<unsigned>(product0);
        k0 += 0x9E3779B9u;
        k1 += 0xBB67AE85u;
    }
    const unsigned long long words = static_cast<unsigned long long>(c0) << 32 | c1;
    return static_cast<double>(words >> 11) * (1.0 / 9007199254740992.0);
}

// visit(id, logit) for ids of [begin, end) by `threads` threads, by each in ascending order. Ids go by four, aligned in
// memory. A thread has the next four such loads under way while it visits what the last four brought. `copies` of the
// visit's code, 1 or 4: one where it is large, at the price of a few selections, since registers have no index.
template <int copies, typename Visit>
__device__ __forceinline__ void for_each(const float* row, int begin, int end, int thread, int threads, Visit visit) {
    constexpr int LOADS = 4;
    const int phase = static_cast<int>(reinterpret_cast<unsigned long long>(row) / sizeof(float) % 4);
    const int aligned = begin - (begin + phase) % 4;
    const int vectors = (end - aligned + 3) / 4;
    const auto fetch = [&](int vector) {
        const int id = aligned + 4 * vector;
        if (id >= begin && id + 4 <= end) {
            return load_16(row + id);
        }
        Vector16 edge;
#pragma unroll
        for (int i = 0; i < 4; i++) {
            edge.words[i] = id + i >= begin && id + i < end ? float_bits(row[id + i]) : 0;
        }
        return edge;
    };
    Vector16 next[LOADS];
#pragma unroll
    for (int load = 0; load < LOADS; load++) {
        next[load] = fetch(thread + load * threads);
    }
#pragma unroll 1
    for (int first = thread; first < vectors; first += LOADS * threads) {
        Vector16 brought[LOADS];
#pragma unroll
        for (int load = 0; load < LOADS; load++) {
            brought[load] = next[load];
        }
#pragma unroll
        for (int load = 0; load < LOADS; load++) {
            next[load] = fetch(first + (LOADS + load) * threads);
        }
#pragma unroll copies
        for (int load = 0; load < LOADS; load++) {
            const int id = aligned + 4 * (first + load * threads);
#pragma unroll
            for (int i = 0; i < 4; i++) {
                const unsigned bits = load < 2 ? (load == 0 ? brought[0].words[i] : brought[1].words[i])
                                               : (load == 2 ? brought[2].words[i] : brought[3].words[i]);
                if (id + i >= begin && id + i < end) {
                    visit(id + i, bits_float(bits));
                }
            }
        }
    }
}

constexpr int UNDECIDED = -2;
// Weights below e^-12 of the largest are the tail's, whose sum of float32 numbers is off by less than this share of it:
// an exponent of up to 150 is rounded four times, to 2^-24 of itself.
constexpr float CUTOFF = -12.0f;
constexpr double TAIL_ERROR = 1e-4;

// What the first two kernels leave of a slice.
struct alignas(16) Slice {
    double sum;       // of the softmax, over the slice's own largest; only where a log-probability is wanted
    double tail;      // weight of what is no candidate; of all, where the row is not cut
    float largest;    // minus infinity if nothing is there
    int id;           // the lowest of equals; ALL_IDS if all are minus infinity
    unsigned unusable;
    int candidates;   // more than SAMPLE_CANDIDATES: they are not all here
};

// What is left of a row: device memory. Candidates that are not there have a logit of minus infinity.
struct alignas(16) RowSlices {
    float logits[SAMPLE_SLICES * SAMPLE_CANDIDATES];
    int ids[SAMPLE_SLICES * SAMPLE_CANDIDATES];
    Slice slices[SAMPLE_SLICES];
};
static_assert(sizeof(RowSlices) == SAMPLE_ROW_BYTES && sizeof(Slice) == SAMPLE_SLICE_BYTES,
              "the host makes room for so much");

struct Range {
    int begin;
    int end;
};

__device__ __forceinline__ Range slice_range(int slice, int vocabulary) {
    const int length = (vocabulary + SAMPLE_SLICES - 1) / SAMPLE_SLICES;
    const int begin = slice * length < vocabulary ? slice * length : vocabulary;
    return {begin, begin + length < vocabulary ? begin + length : vocabulary};
}

struct Largest {
    float logit;
    int id;  // the lowest of equals; NO_TOKEN if a logit is NaN or +infinity, or all are -infinity
};

// Of a whole row, from its slices.
__device__ __forceinline__ Largest largest_of(const Slice* slices) {
    Largest largest = {bits_float(0xFF800000u), ALL_IDS};
    unsigned unusable = 0;
    for (int i = 0; i < SAMPLE_SLICES; i++) {
        const Slice& slice = slices[i];
        unusable |= slice.unusable;
        if (slice.largest > largest.logit || (slice.largest == largest.logit && slice.id < largest.id)) {
            largest = {slice.largest, slice.id};
        }
    }
    if (unusable != 0 || largest.id == ALL_IDS) {
        largest.id = NO_TOKEN;
    }
    return largest;
}

// Leaves a slice's largest, id and unusable.
__device__ __forceinline__ void scan(const float* row, Range range, Slice& slice, Exchange& exchange) {
    const float infinity = bits_float(0x7F800000u);
    float max = -infinity;
    int best = ALL_IDS;
    bool unusable = false;
    for_each<4>(row, range.begin, range.end, thread_index(), SAMPLE_THREADS, [&](int id, float logit) {
        unusable |= !(logit < infinity);
        if (logit > max) {
            max = logit;
            best = id;
        }
    });
    const float warpMax = warp_max(max);
    best = max == warpMax ? best : ALL_IDS;
#pragma unroll
    for (int mask = 16; mask > 0; mask >>= 1) {
        const int other = shuffle_xor(best, mask);
        best = other < best ? other : best;
    }
    const unsigned votes = warp_ballot(unusable);
    if (lane_index() == 0) {
        exchange.maxima[warp_index()] = warpMax;
        exchange.ids[warp_index()] = best;
        exchange.unusable[warp_index()] = votes;
    }
    sync_block();
    Largest largest = {-infinity, ALL_IDS};
    unsigned anyUnusable = 0;
    for (int warp = 0; warp < WARPS; warp++) {
        const float logit = exchange.maxima[warp];
        const int id = exchange.ids[warp];
        anyUnusable |= exchange.unusable[warp];
        if (logit > largest.logit || (logit == largest.logit && id < largest.id)) {
            largest = {logit, id};
        }
    }
    sync_block();
    if (thread_index() == 0) {
        slice.largest = largest.logit;
        slice.id = largest.id;
        slice.unusable = anyUnusable;
    }
    sync_block();
}

__device__ __forceinline__ double block_sum(double own, Exchange& exchange) {
    own = warp_sum(own);
    if (lane_index() == 0) {
        exchange.sums[warp_index()] = own;
    }
    sync_block();
    double sum = 0;
#pragma unroll 1
    for (int warp = 0; warp < WARPS; warp++) {
        sum += exchange.sums[warp];
    }
    sync_block();
    return sum;
}

// Leaves a slice's softmax sum.
__device__ __forceinline__ void add_softmax(const float* row, Range range, Slice& slice, Exchange& exchange) {
    const float largest = slice.largest;
    double sum = 0;
    if (slice.id != ALL_IDS) {
        for_each<4>(row, range.begin, range.end, thread_index(), SAMPLE_THREADS,
                    [&](int, float logit) { sum += exp2_fast((logit - largest) * 1.4426950408889634f); });
    }
    sum = block_sum(sum, exchange);
    if (thread_index() == 0) {
        slice.sum = sum;
    }
}

__device__ __forceinline__ int count_bits(unsigned bits) {
    bits = bits - ((bits >> 1) & 0x55555555u);
    bits = (bits & 0x33333333u) + ((bits >> 2) & 0x33333333u);
    bits = (bits + (bits >> 4)) & 0x0F0F0F0Fu;
    return static_cast<int>((bits * 0x01010101u) >> 24);
}

// Leaves the weight of all tokens of a slice.
__device__ __forceinline__ void weigh(const float* row, Range range, float largest, float temperature, Slice& slice,
                                      Exchange& exchange) {
    const double inverseTemperature = 1.0 / static_cast<double>(temperature);
    double sum = 0;
    for_each<1>(row, range.begin, range.end, thread_index(), SAMPLE_THREADS, [&](int, float logit) {
        sum += exp((static_cast<double>(logit) - largest) * inverseTemperature);
    });
    sum = block_sum(sum, exchange);
    if (thread_index() == 0) {
        slice.tail = sum;
    }
}

// Leaves a slice's candidates and the weight of its others.
__device__ __forceinline__ void gather(const float* row, Range range, float largest, float temperature, int index,
                                       RowSlices& left, Exchange& exchange) {
    const float inverseTemperature = 1.0f / temperature;
    float* const logits = left.logits + index * SAMPLE_CANDIDATES;
    int* const ids = left.ids + index * SAMPLE_CANDIDATES;
    double tail = 0;
    int count = 0;
#pragma unroll 1
    for (int first = range.begin; first < range.end; first += SAMPLE_THREADS) {
        const int id = first + thread_index();
        const bool inside = id < range.end;
        const float logit = inside ? row[id] : 0.0f;
        const float exponent = (logit - largest) * inverseTemperature;
        const bool candidate = inside && exponent >= CUTOFF;
        if (inside && !candidate) {
            tail += exp2_fast(exponent * 1.4426950408889634f);
        }
        const unsigned votes = warp_ballot(candidate);
        if (lane_index() == 0) {
            exchange.ids[warp_index()] = count_bits(votes);
        }
        sync_block();
        int before = count;
#pragma unroll 1
        for (int warp = 0; warp < WARPS; warp++) {
            before += warp < warp_index() ? exchange.ids[warp] : 0;
            count += exchange.ids[warp];
        }
        sync_block();
        const int position = before + count_bits(votes & ((1u << lane_index()) - 1));
        if (candidate && position < SAMPLE_CANDIDATES) {
            logits[position] = logit;
            ids[position] = id;
        }
    }
    for (int position = count + thread_index(); position < SAMPLE_CANDIDATES; position += SAMPLE_THREADS) {
        logits[position] = bits_float(0xFF800000u);
        ids[position] = 0;
    }
    tail = block_sum(tail, exchange);
    if (thread_index() == 0) {
        left.slices[index].candidates = count;
        left.slices[index].tail = tail;
    }
}

// Tokens by rank: keys of [low, high], and of those at `low` the ids up to lastId.
struct Ranks {
    unsigned low;
    unsigned high;
    int lastId;

    __device__ __forceinline__ bool include(int id, float logit) const {
        const unsigned key = to_key(logit);
        return key > low ? key <= high : key == low && id <= lastId;
    }
};

// exp((logit - max) / temperature), or 1 where tokens are counted.
struct Weight {
    bool counts;
    double max;
    double inverseTemperature;

    __device__ __forceinline__ double operator()(float logit) const {
        return counts ? 1.0 : exp((static_cast<double>(logit) - max) * inverseTemperature);
    }
};

// A sum to look for: share times the whole, plus offset.
struct Goal {
    double share;
    double offset;

    __device__ __forceinline__ double of(const Exchange& exchange) const {
        double whole = 0;
#pragma unroll 1
        for (int part = 0; part < PARTS; part++) {
            whole += exchange.parts[part];
        }
        return share * whole + offset;
    }
};

struct Part {
    int index;
    double before;  // the sum of the parts passed by
    double sum;
};

// The first of exchange.parts, downwards or upwards, with which a sum that starts at `before` reaches the target (down)
// or exceeds it (up); the last one that holds anything if none does.
template <bool up>
__device__ __forceinline__ Part find_part(const Exchange& exchange, double before, double target) {
    Part found = {0, before, 0};
#pragma unroll 1
    for (int i = 0; i < PARTS; i++) {
        const int part = up ? i : PARTS - 1 - i;
        const double sum = exchange.parts[part];
        if (sum > 0) {
            found = {part, before, sum};
            before += sum;
            if (up ? before > target : before >= target) {
                break;
            }
        }
    }
    return found;
}

// The first id of `ranks`, ascending, whose cumulative weight exceeds the goal, or the last one that weighs anything.
__device__ __forceinline__ int walk(const float* row, int vocabulary, Ranks ranks, Weight weight, Goal goal,
                                    Exchange& exchange) {
    int begin = 0;
    int end = vocabulary;
    double before = 0;
    double target = 0;
    while (end - begin > 1) {
        const int length = (end - begin + PARTS - 1) / PARTS;
        const int pieceBegin = begin + warp_index() * length;
        const int pieceEnd = pieceBegin + length < end ? pieceBegin + length : end;
        double sum = 0;
        for_each<1>(row, pieceBegin, pieceEnd, lane_index(), 32, [&](int id, float logit) {
            if (ranks.include(id, logit)) {
                sum += weight(logit);
            }
        });
        sum = warp_sum(sum);
        if (lane_index() == 0) {
            exchange.parts[warp_index()] = sum;
        }
        sync_block();
        if (end - begin == vocabulary) {
            target = goal.of(exchange);
        }
        const Part part = find_part<true>(exchange, before, target);
        sync_block();
        before = part.before;
        begin += part.index * length;
        end = begin + length < end ? begin + length : end;
    }
    return begin;
}

// Lanes 2 · half apart exchange half of 2 · half values: each keeps the sums of one half.
template <int half>
__device__ __forceinline__ void halve(double (&values)[PARTS]) {
    const bool upper = (lane_index() & 2 * half) != 0;
#pragma unroll
    for (int i = 0; i < half; i++) {
        const double sent = upper ? values[i] : values[i + half];
        const double kept = upper ? values[i + half] : values[i];
        values[i] = kept + shuffle_xor(sent, 2 * half);
    }
}

// Adds 16 values over a warp: lanes 2i and 2i + 1 get sum i.
__device__ __forceinline__ double warp_sums(double (&values)[PARTS]) {
    halve<8>(values);
    halve<4>(values);
    halve<2>(values);
    halve<1>(values);
    return values[0] + shuffle_xor(values[0], 1);
}

// An interval of keys, both ends included, and the keys in it that weigh anything.
struct Interval {
    unsigned low;
    unsigned high;
    unsigned smallest;
    unsigned largest;
};

// Fills exchange.parts with the weights of the 16 subintervals of 2^shift keys, and the interval's smallest and
// largest.
__device__ __forceinline__ void add_up(const float* row, int vocabulary, Ranks ranks, Weight weight, int shift,
                                       Interval& interval, Exchange& exchange) {
    double sums[PARTS];
#pragma unroll
    for (int part = 0; part < PARTS; part++) {
        sums[part] = 0;
    }
    unsigned smallest = interval.high;
    unsigned largest = interval.low;
    for_each<1>(row, 0, vocabulary, thread_index(), SAMPLE_THREADS, [&](int id, float logit) {
        const unsigned key = to_key(logit);
        if (key < interval.low || key > interval.high || !ranks.include(id, logit)) {
            return;
        }
        const double own = weight(logit);
        if (own == 0) {
            return;
        }
        smallest = key < smallest ? key : smallest;
        largest = key > largest ? key : largest;
        const unsigned index = (key - interval.low) >> shift;
#pragma unroll
        for (unsigned part = 0; part < PARTS; part++) {
            if (index == part) {
                sums[part] += own;
            }
        }
    });
    const double warpSum = warp_sums(sums);
#pragma unroll
    for (int mask = 16; mask > 0; mask >>= 1) {
        const unsigned otherSmallest = shuffle_xor(smallest, mask);
        const unsigned otherLargest = shuffle_xor(largest, mask);
        smallest = otherSmallest < smallest ? otherSmallest : smallest;
        largest = otherLargest > largest ? otherLargest : largest;
    }
    if (lane_index() % 2 == 0) {
        exchange.sums[warp_index() * PARTS + lane_index() / 2] = warpSum;
    }
    if (lane_index() == 0) {
        exchange.smallest[warp_index()] = smallest;
        exchange.largest[warp_index()] = largest;
    }
    sync_block();
    if (thread_index() < PARTS) {
        double sum = 0;
#pragma unroll 1
        for (int warp = 0; warp < WARPS; warp++) {
            sum += exchange.sums[warp * PARTS + thread_index()];
        }
        exchange.parts[thread_index()] = sum;
    }
#pragma unroll 1
    for (int warp = 0; warp < WARPS; warp++) {
        smallest = exchange.smallest[warp] < smallest ? exchange.smallest[warp] : smallest;
        largest = exchange.largest[warp] > largest ? exchange.largest[warp] : largest;
    }
    sync_block();
    interval.smallest = smallest;
    interval.largest = largest;
}

// The key at which the weights of `ranks`, added downwards, reach the goal, and how many tokens of this key that takes.
struct Threshold {
    unsigned key;
    double needed;   // at least 1
    double present;  // tokens of this key
    double margin;   // from the goal to the nearest edge between tokens, in weight; below 0 where it is not reached
};

__device__ __forceinline__ Threshold find_threshold(const float* row, int vocabulary, Ranks ranks, Weight weight,
                                                    Goal goal, unsigned largestKey, Exchange& exchange) {
    Interval interval = {0, largestKey, 0, largestKey};
    Part part = {0, 0, 0};
    double target = -1;  // not known before the first pass
    while (interval.low < interval.high) {
        int shift = 0;
        while ((interval.high - interval.low) >> shift >= PARTS) {
            shift++;
        }
        add_up(row, vocabulary, ranks, weight, shift, interval, exchange);
        target = target < 0 ? goal.of(exchange) : target;
        part = find_part<false>(exchange, part.before, target);
        sync_block();
        const unsigned low = interval.low + (static_cast<unsigned>(part.index) << shift);
        const unsigned width = (1u << shift) - 1;
        const unsigned high = interval.high - low < width ? interval.high : low + width;
        interval.low = interval.smallest > low ? interval.smallest : low;
        interval.high = interval.largest < high ? interval.largest : high;
    }
    const double each = weight(from_key(interval.low));
    const double inside = target - part.before;
    const double needed = ceil(inside / each);
    const double below = inside - (needed - 1) * each;
    const double above = needed * each - inside;
    const double rest = part.sum - inside;
    const double margin = below < above ? below : above;
    return {interval.low, needed > 1 ? needed : 1, part.sum / each, margin < rest ? margin : rest};
}

// Draws from so many logits: all that there are, the candidates, or a slice that is known to have the token. `limited`:
// topK is fewer than there are. `drawn`: the sum that the walk looks for. `tail`: weight of those that are not looked
// at, off by `error` at most. The index of the drawn logit, or UNDECIDED if that error could make it another one.
__device__ __forceinline__ int draw(const float* row, int vocabulary, float max, float temperature, bool limited,
                                    int topK, float topP, Goal drawn, double tail, double error,
                                    Exchange& exchange) {
    enum Stage { TOP_K, TOP_P, DRAW };
    Weight weight = {false, max, 1.0 / static_cast<double>(temperature)};
    Ranks kept = {0, NO_KEY, ALL_IDS};
    int id = 0;
    // One loop, since each stage is a search and a walk of the same code, which is large.
#pragma unroll 1
    for (int stage = limited ? TOP_K : TOP_P; stage <= DRAW; stage++) {
        if (stage == TOP_P && !(topP < 1)) {
            continue;
        }
        weight.counts = stage == TOP_K;
        Ranks walked = kept;
        Goal goal = drawn;
        if (stage != DRAW) {
            const Goal mass = stage == TOP_K ? Goal{0, static_cast<double>(topK)} : Goal{topP, topP * tail};
            const Threshold threshold = find_threshold(row, vocabulary, kept, weight, mass, to_key(max), exchange);
            if (error > 0 && !(threshold.margin > error)) {
                return UNDECIDED;
            }
            kept = {threshold.key, NO_KEY, kept.low == threshold.key ? kept.lastId : ALL_IDS};
            if (threshold.needed > threshold.present - 0.5) {
                continue;
            }
            weight.counts = true;
            walked = {threshold.key, threshold.key, kept.lastId};
            goal = {0, threshold.needed - 0.5};
        }
        id = walk(row, vocabulary, walked, weight, goal, exchange);
        kept.lastId = id;
    }
    return id;
}

__device__ __forceinline__ bool is_cut(int topK, float topP, int vocabulary) {
    return (topK > 0 && topK < vocabulary) || topP < 1;
}

// Where a row that is not cut has its token: the first slice with which the weights exceed the target, or the last one
// that weighs anything.
struct Place {
    int slice;
    double before;  // the weight of the slices passed by
    double target;
};

__device__ __forceinline__ Place place_of(const RowSlices& left, double uniform) {
    double total = 0;
    for (int i = 0; i < SAMPLE_SLICES; i++) {
        total += left.slices[i].tail;
    }
    Place place = {0, 0, uniform * total};
    double before = 0;
    for (int i = 0; i < SAMPLE_SLICES; i++) {
        const double own = left.slices[i].tail;
        if (own > 0) {
            place.slice = i;
            place.before = before;
            before += own;
            if (before > place.target) {
                break;
            }
        }
    }
    return place;
}

// Draws from the candidates of a row that is cut, where they are all there, otherwise, or if they cannot tell, from the
// whole row; from one slice of a row that is not cut.
__device__ __forceinline__ int draw_token(const float* row, int vocabulary, const RowSlices& left, float max,
                                          float temperature, int topK, float topP, double uniform,
                                          Exchange& exchange) {
    const bool limited = topK > 0 && topK < vocabulary;
    bool among = is_cut(topK, topP, vocabulary);
    const float* from = row;
    int length = vocabulary;
    int first = 0;
    Goal drawn = {uniform, 0};
    double tail = 0;
    if (among) {
        int count = 0;
        for (int i = 0; i < SAMPLE_SLICES && among; i++) {
            const Slice& slice = left.slices[i];
            among = slice.candidates <= SAMPLE_CANDIDATES;
            count += slice.candidates;
            tail += limited ? 0 : slice.tail;  // what top-k leaves are candidates
        }
        among = among && !(limited && topK > count);
        from = among ? left.logits : row;
        length = among ? SAMPLE_SLICES * SAMPLE_CANDIDATES : vocabulary;
    } else {
        const Place place = place_of(left, uniform);
        const Range range = slice_range(place.slice, vocabulary);
        first = range.begin;
        from = row + first;
        length = range.end - first;
        drawn = {0, place.target - place.before};
    }
    int index = UNDECIDED;
    // One call, since its code is large.
#pragma unroll 1
    while (index == UNDECIDED) {
        index = draw(from, length, max, temperature, limited, topK, topP, drawn, among ? tail : 0,
                     among ? tail * TAIL_ERROR : 0, exchange);
        if (index != UNDECIDED && among) {
            return left.ids[index];
        }
        among = false;
        from = index == UNDECIDED ? row : from;
        length = index == UNDECIDED ? vocabulary : length;
    }
    return first + index;
}

// Natural logarithm of a raw logit's softmax, to about 1e-6. `max`: the largest logit of the slices.
__device__ __forceinline__ float logprob(const float* logit, const Slice* slices, float max) {
    double total = 0;
    for (int i = 0; i < SAMPLE_SLICES; i++) {
        const Slice& slice = slices[i];
        if (slice.id != ALL_IDS) {
            total += slice.sum * exp2_fast((slice.largest - max) * 1.4426950408889634f);
        }
    }
    return static_cast<float>(static_cast<double>(*logit) - max - log(total));
}

}  // namespace sampling

// Grid (rows, SAMPLE_SLICES).
extern "C" __global__ void __launch_bounds__(SAMPLE_THREADS)
wp_sample_scan(const float* logits, int vocabulary, const int* logprobs, sampling::RowSlices* left, const int* live) {
    REQUIRE_THREADS(SAMPLE_THREADS);
    SHARED(sampling::Exchange, exchange, 1);
    const int row = block_index_x();
    if (live != nullptr && row >= *live) {
        return;
    }
    const float* rowLogits = logits + static_cast<long long>(row) * vocabulary;
    const sampling::Range range = sampling::slice_range(block_index_y(), vocabulary);
    sampling::Slice& slice = left[row].slices[block_index_y()];
    sampling::scan(rowLogits, range, slice, exchange[0]);
    if (logprobs[row] != 0) {
        sampling::add_softmax(rowLogits, range, slice, exchange[0]);
    }
}

// Grid (rows, SAMPLE_SLICES).
extern "C" __global__ void __launch_bounds__(SAMPLE_THREADS)
wp_sample_gather(const float* logits, int vocabulary, const float* temperatures, const int* topKs, const float* topPs,
                 sampling::RowSlices* left, const int* live) {
    REQUIRE_THREADS(SAMPLE_THREADS);
    SHARED(sampling::Exchange, exchange, 1);
    const int row = block_index_x();
    if ((live != nullptr && row >= *live) || temperatures[row] == 0) {
        return;
    }
    const sampling::Largest largest = sampling::largest_of(left[row].slices);
    if (largest.id == NO_TOKEN) {
        return;
    }
    const float* rowLogits = logits + static_cast<long long>(row) * vocabulary;
    const int slice = block_index_y();
    const sampling::Range range = sampling::slice_range(slice, vocabulary);
    if (sampling::is_cut(topKs[row], topPs[row], vocabulary)) {
        sampling::gather(rowLogits, range, largest.logit, temperatures[row], slice, left[row], exchange[0]);
    } else {
        sampling::weigh(rowLogits, range, largest.logit, temperatures[row], left[row].slices[slice], exchange[0]);
    }
}

// tokens[row]: -1 where the logits are unusable; drawnLogprobs[row]: NaN where none is wanted or nothing was drawn.
// Grid rows.
extern "C" __global__ void __launch_bounds__(SAMPLE_THREADS)
wp_sample(const float* logits, int vocabulary, const long long* seeds, const int* counters, const float* temperatures,
          const int* topKs, const float* topPs, const int* logprobs, int* tokens, float* drawnLogprobs,
          const sampling::RowSlices* left, const int* live) {
    REQUIRE_THREADS(SAMPLE_THREADS);
    SHARED(sampling::Exchange, exchange, 1);
    const int row = block_index_x();
    if (live != nullptr && row >= *live) {
        return;
    }
    const float* rowLogits = logits + static_cast<long long>(row) * vocabulary;
    const sampling::Largest largest = sampling::largest_of(left[row].slices);
    int token = largest.id;
    if (token != NO_TOKEN && temperatures[row] != 0) {
        const double uniform = sampling::philox_uniform(static_cast<unsigned long long>(seeds[row]),
                                                        static_cast<unsigned>(counters[row]));
        token = sampling::draw_token(rowLogits, vocabulary, left[row], largest.logit, temperatures[row], topKs[row],
                                     topPs[row], uniform, exchange[0]);
    }
    float logprob = bits_float(0x7FC00000u);
    if (token != NO_TOKEN && logprobs[row] != 0) {
        logprob = sampling::logprob(rowLogits + token, left[row].slices, largest.logit);
    }
    if (thread_index() == 0) {
        tokens[row] = token;
        drawnLogprobs[row] = logprob;
    }
}
