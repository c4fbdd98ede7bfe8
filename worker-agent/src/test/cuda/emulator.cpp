#include <signal.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <ucontext.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdarg>
#include <cstdio>
#include <cstring>
#include <vector>

#include "ptx.cuh"

namespace emulator {

Position position;
bool (*describe_address)(const void* address, char* text, size_t capacity);

namespace {

// ---- Fibers: a stack each, and a switch that saves what the calling convention says a function must keep.

constexpr int MAX_THREADS = 1024;
constexpr size_t STACK_BYTES = 64 << 10;
constexpr size_t GUARD_BYTES = 4096;

#ifdef __x86_64__
using Context = void*;  // the stack pointer; the registers lie on the stack

// It ends in a jump, for the processor would look for a return's target on the stack that is left.
extern "C" void emulator_switch(Context* save, Context load);
asm(R"(
.text
.globl emulator_switch
.type emulator_switch, @function
emulator_switch:
    push %rbp
    push %rbx
    push %r12
    push %r13
    push %r14
    push %r15
    mov %rsp, (%rdi)
    mov %rsi, %rsp
    pop %r15
    pop %r14
    pop %r13
    pop %r12
    pop %rbx
    pop %rbp
    pop %rcx
    jmp *%rcx
.size emulator_switch, . - emulator_switch
)");

void prepare(Context& context, unsigned char* stack, void (*entry)()) {
    // Stacks that begin at the same offset of a page would share few cache lines' places.
    const size_t colour = reinterpret_cast<uintptr_t>(stack) / (STACK_BYTES + GUARD_BYTES) % 29 * 128;
    auto** top = reinterpret_cast<void**>(stack + STACK_BYTES - colour);
    *--top = nullptr;  // entry returns nowhere; this word also aligns its frame
    *--top = reinterpret_cast<void*>(entry);
    for (int kept = 0; kept < 6; kept++) {
        *--top = nullptr;
    }
    context = top;
}

void switch_context(Context& save, Context& load) { emulator_switch(&save, load); }
#else
using Context = ucontext_t;

void prepare(Context& context, unsigned char* stack, void (*entry)()) {
    getcontext(&context);
    context.uc_stack.ss_sp = stack;
    context.uc_stack.ss_size = STACK_BYTES;
    context.uc_link = nullptr;
    makecontext(&context, entry, 0);
}

void switch_context(Context& save, Context& load) { swapcontext(&save, &load); }
#endif

// ---- The block that runs.

enum State : unsigned char { READY, AT_WARP_COLLECTIVE, AT_BLOCK_BARRIER, ENDED, STATES };

struct Copy {
    unsigned char* shared;
    const void* global;
    size_t bytes;
    bool valid;
    int group;
};

struct Thread {
    Context context;
    const Site* site;  // where it waits; on its own stack
    int copyGroups;    // ended so far
    std::vector<Copy> copies;
};

struct Warp {
    int lanes[STATES];  // how many are in each state
};

struct StaticArray {
    const void* declaration;
    unsigned char* begin;
    size_t bytes;
};

constexpr size_t SHARED_BYTES = 256 << 10;
constexpr size_t CANARY_BYTES = 256;  // of poison around each shared array; only writes to it are seen

const Launch* launch;
Thread threads[MAX_THREADS];
State states[MAX_THREADS];
void* operands[MAX_THREADS];  // of warp collectives
Warp warps[MAX_THREADS / 32];
Context scheduler;
bool faulted;
char faultText[1024];
uint64_t generator = 1;

unsigned char* stacks;           // MAX_THREADS of them, each above a page without access
unsigned char* staticShared;     // SHARED_BYTES, then a page without access
unsigned char* staticEnd;        // of the arrays declared so far
std::vector<StaticArray> staticArrays;
unsigned char* dynamicEnd;       // the page without access after SHARED_BYTES
unsigned char* dynamicBegin;

size_t round_up(size_t value, size_t unit) { return (value + unit - 1) / unit * unit; }

unsigned draw(unsigned bound) {  // 0 to bound - 1, by xorshift64*
    generator ^= generator >> 12;
    generator ^= generator << 25;
    generator ^= generator >> 27;
    return static_cast<unsigned>((generator * 0x2545F4914F6CDD1Dull) >> 33) % bound;
}

unsigned char* map_before_guard(size_t bytes) {
    auto* begin = static_cast<unsigned char*>(
        mmap(nullptr, bytes + GUARD_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0));
    mprotect(begin + bytes, GUARD_BYTES, PROT_NONE);
    return begin;
}

bool in_fiber;

void write_fault(const char* format, va_list values) {
    faulted = true;
    int length = snprintf(faultText, sizeof faultText, "%s, block (%d, %d)", launch->kernel, position.blockX,
                          position.blockY);
    if (in_fiber) {
        length += snprintf(faultText + length, sizeof faultText - length, ", thread %d", position.thread);
    }
    length += snprintf(faultText + length, sizeof faultText - length, ": ");
    vsnprintf(faultText + length, sizeof faultText - length, format, values);
}

// For the scheduler, which goes on to return.
__attribute__((format(printf, 1, 2))) void fail_launch(const char* format, ...) {
    va_list values;
    va_start(values, format);
    write_fault(format, values);
    va_end(values);
}

// ---- Accesses that the processor refuses. The signal arrives on its own stack, on the thread that emulates; on all
// other threads, a JVM's among them, it is passed on to whoever handled it before.

constexpr int SIGNALS[] = {SIGSEGV, SIGBUS, SIGILL, SIGFPE};
struct sigaction earlier[4];
std::atomic<pid_t> emulatingThread{0};

pid_t thread_id() { return static_cast<pid_t>(syscall(SYS_gettid)); }

void on_signal(int signal, siginfo_t* info, void* context) {
    if (emulatingThread.load() == thread_id() && in_fiber) {
        char text[400] = "no memory of the device";
        if (signal == SIGILL) {
            fault("an index past an array's end, an address that is no multiple of its type's size, a shift by its "
                  "type's width or more, or a conversion of a float that the integer cannot hold");
        }
        if (signal == SIGFPE) {
            fault("an integer division by zero");
        }
        const auto* address = static_cast<unsigned char*>(info->si_addr);
        if (address >= dynamicEnd && address < dynamicEnd + GUARD_BYTES) {
            snprintf(text, sizeof text, "%td bytes past the end of the %zu bytes of dynamic shared memory",
                     address - dynamicEnd, launch->dynamicShared);
        } else if (address >= stacks && address < stacks + MAX_THREADS * (STACK_BYTES + GUARD_BYTES)) {
            snprintf(text, sizeof text, "the end of the emulator's stack of %zu bytes", STACK_BYTES);
        } else if (describe_address != nullptr) {
            describe_address(address, text, sizeof text);
        }
        fault("access to %p: %s", static_cast<const void*>(address), text);
    }
    for (int i = 0; i < 4; i++) {
        if (SIGNALS[i] == signal) {
            if (earlier[i].sa_flags & SA_SIGINFO) {
                earlier[i].sa_sigaction(signal, info, context);
            } else if (earlier[i].sa_handler != SIG_DFL && earlier[i].sa_handler != SIG_IGN) {
                earlier[i].sa_handler(signal);
            } else {
                sigaction(signal, &earlier[i], nullptr);  // and again, with the default's effect
            }
        }
    }
}

struct SignalStack {
    static constexpr size_t BYTES = 128 << 10;
    unsigned char* memory = nullptr;

    SignalStack() {
        stack_t present;
        sigaltstack(nullptr, &present);
        if (present.ss_flags & SS_DISABLE) {
            memory = map_before_guard(BYTES);
            const stack_t stack{memory, 0, BYTES};
            sigaltstack(&stack, nullptr);
        }
    }

    ~SignalStack() {
        if (memory != nullptr) {
            const stack_t none{nullptr, SS_DISABLE, 0};
            sigaltstack(&none, nullptr);
            munmap(memory, BYTES + GUARD_BYTES);
        }
    }
};

void prepare_machine() {
    static thread_local SignalStack signalStack;
    static_cast<void>(signalStack);
    if (stacks != nullptr) {
        return;
    }
    stacks = map_before_guard(MAX_THREADS * (STACK_BYTES + GUARD_BYTES));
    for (int i = 0; i < MAX_THREADS; i++) {
        mprotect(stacks + i * (STACK_BYTES + GUARD_BYTES), GUARD_BYTES, PROT_NONE);
    }
    staticShared = map_before_guard(SHARED_BYTES);
    dynamicEnd = map_before_guard(SHARED_BYTES) + SHARED_BYTES;
    struct sigaction action {};
    action.sa_sigaction = on_signal;
    action.sa_flags = SA_SIGINFO | SA_RESTART | SA_ONSTACK | SA_NODEFER;  // it leaves by switching stacks
    for (int i = 0; i < 4; i++) {
        sigaction(SIGNALS[i], &action, &earlier[i]);
    }
}

// ---- Scheduling.

bool same_text(const char* a, const char* b) { return a == b || strcmp(a, b) == 0; }

bool same_site(const Site& a, const Site& b) {
    return a.line == b.line && same_text(a.what, b.what) && same_text(a.file, b.file);
}

// Who waits where, for messages: "threads 0-15 at mma_bf16 (x.cuh:7), threads 16-31 ended".
void describe_waits(int begin, int end, char* text, size_t capacity) {
    auto same = [](int a, int b) {
        return states[a] == states[b] && (states[a] == ENDED || same_site(*threads[a].site, *threads[b].site));
    };
    size_t length = 0;
    for (int from = begin; from < end && length + 1 < capacity;) {
        int to = from + 1;
        while (to < end && same(from, to)) {
            to++;
        }
        const char* comma = from == begin ? "" : ", ";
        length += snprintf(text + length, capacity - length, "%sthreads %d-%d ", comma, from, to - 1);
        if (length + 1 < capacity && states[from] == ENDED) {
            length += snprintf(text + length, capacity - length, "ended");
        } else if (length + 1 < capacity) {
            const Site& site = *threads[from].site;
            const char* file = strrchr(site.file, '/');
            length += snprintf(text + length, capacity - length, "at %s (%s:%d)", site.what,
                               file == nullptr ? site.file : file + 1, site.line);
        }
        from = to;
    }
}

void enter(int thread, State state) {
    Warp& warp = warps[thread / 32];
    warp.lanes[states[thread]]--;
    warp.lanes[state]++;
    states[thread] = state;
}

void ready_all(int begin, int end) {  // whole warps
    std::fill(states + begin, states + end, READY);
    std::fill(warps + begin / 32, warps + end / 32, Warp{{32, 0, 0, 0}});
}

// The order in which a warp's ready lanes run until each waits: lane i * stride + start, for i from 0 to 31.
struct Pass {
    int warp;
    unsigned stride, start, i;
} pass;

// -1: all have run.
int next_in_pass() {
    while (pass.i < 32) {
        const int index = pass.warp * 32 + static_cast<int>((pass.i++ * pass.stride + pass.start) & 31);
        if (states[index] == READY) {
            return index;
        }
    }
    return -1;
}

// On to the pass's next lane, or to the scheduler. Returns when this lane's turn comes again.
void leave_fiber() {
    Context& self = threads[position.thread].context;
    const int next = next_in_pass();
    if (next >= 0) {
        position.thread = next;
        switch_context(self, threads[next].context);
    } else {
        switch_context(self, scheduler);
    }
}

// The target holds poison from the start of a copy on, unless somebody wrote there meanwhile.
void land(const Copy& copy) {
    if (!poisoned(copy.shared, copy.bytes)) {
        fault("shared memory was written while a copy to it was under way");
    }
    if (copy.valid) {
        memcpy(copy.shared, copy.global, copy.bytes);
    } else {
        memset(copy.shared, 0, copy.bytes);
    }
}

void fiber_entry() {
    launch->body(launch->arguments);
    for (const Copy& copy : threads[position.thread].copies) {  // that nobody waited for
        land(copy);
    }
    enter(position.thread, ENDED);
    leave_fiber();
}

bool all_in(State state) {
    for (int warp = 0; warp < launch->threads / 32; warp++) {
        if (warps[warp].lanes[state] != 32) {
            return false;
        }
    }
    return true;
}

bool at_one_site(int begin, int end) {
    for (int i = begin + 1; i < end; i++) {
        if (!same_site(*threads[begin].site, *threads[i].site)) {
            return false;
        }
    }
    return true;
}

// Lets every ready lane of a warp run until it waits: about one collective.
void run_warp(int warp) {
    pass = {warp, draw(16) * 2 + 1, draw(32), 0};
    position.thread = next_in_pass();
    in_fiber = true;
    switch_context(scheduler, threads[position.thread].context);
    in_fiber = false;
    if (faulted) {
        return;
    }
    const int* lanes = warps[warp].lanes;
    if (lanes[READY] == 0 && lanes[ENDED] != 32 && lanes[AT_BLOCK_BARRIER] != 32) {
        char waits[600];
        describe_waits(warp * 32, warp * 32 + 32, waits, sizeof waits);
        fail_launch("a collective that not all lanes of the warp reach: %s", waits);
    }
}

void pass_barrier() {
    if (!all_in(AT_BLOCK_BARRIER) || !at_one_site(0, launch->threads)) {
        char waits[600];
        describe_waits(0, launch->threads, waits, sizeof waits);
        fail_launch("a barrier that not all threads of the block reach: %s", waits);
        return;
    }
    ready_all(0, launch->threads);
}

// The warp that ran before in three of four cases, so that warps run ahead of each other; -1: all wait or have ended.
int choose_warp(int last) {
    const int warpCount = launch->threads / 32;
    if (last >= 0 && draw(4) != 0 && warps[last].lanes[READY] > 0) {
        return last;
    }
    const int start = static_cast<int>(draw(static_cast<unsigned>(warpCount)));
    for (int i = 0; i < warpCount; i++) {
        const int warp = (start + i) % warpCount;
        if (warps[warp].lanes[READY] > 0) {
            return warp;
        }
    }
    return -1;
}

void check_canaries() {
    if (!poisoned(dynamicBegin - CANARY_BYTES, CANARY_BYTES)) {
        fail_launch("a write before the start of dynamic shared memory");
    }
    unsigned char* gap = staticShared;
    for (const StaticArray& array : staticArrays) {
        if (!poisoned(gap, static_cast<size_t>(array.begin - gap))) {
            fail_launch("a write outside a static shared array");
        }
        gap = array.begin + array.bytes;
    }
    if (!poisoned(gap, static_cast<size_t>(staticEnd - gap))) {
        fail_launch("a write past the end of a static shared array");
    }
}

void run_block() {
    poison(dynamicBegin - CANARY_BYTES, static_cast<size_t>(dynamicEnd - dynamicBegin) + CANARY_BYTES);
    poison(staticShared, static_cast<size_t>(staticEnd - staticShared));
    ready_all(0, launch->threads);
    for (int i = 0; i < launch->threads; i++) {
        Thread& thread = threads[i];
        thread.copyGroups = 0;
        thread.copies.clear();
        prepare(thread.context, stacks + i * (STACK_BYTES + GUARD_BYTES) + GUARD_BYTES, fiber_entry);
    }
    int warp = -1;
    while (!faulted) {
        warp = choose_warp(warp);
        if (warp >= 0) {
            run_warp(warp);
        } else if (all_in(ENDED)) {
            check_canaries();
            return;
        } else {
            pass_barrier();
        }
    }
}

}  // namespace

const char* run(const Launch& newLaunch) {
    prepare_machine();
    launch = &newLaunch;
    faulted = false;
    staticArrays.clear();
    staticEnd = staticShared + CANARY_BYTES;
    dynamicBegin = dynamicEnd - round_up(newLaunch.dynamicShared, 16);
    emulatingThread = thread_id();
    for (int y = 0; y < newLaunch.gridY && !faulted; y++) {
        for (int x = 0; x < newLaunch.gridX && !faulted; x++) {
            position = {0, x, y};
            run_block();
        }
    }
    emulatingThread = 0;
    return faulted ? faultText : nullptr;
}

void schedule(uint64_t seed) { generator = seed * 0x9E3779B97F4A7C15ull + 0xD1B54A32D192ED03ull; }

void fault(const char* format, ...) {
    va_list values;
    va_start(values, format);
    write_fault(format, values);
    va_end(values);
    switch_context(threads[position.thread].context, scheduler);
    __builtin_unreachable();
}

// A fiber's own state is set before it leaves; the last lane does not leave at all.
void meet_warp(const Site& site, void* operand, void (*complete)(void* const* operands)) {
    const int begin = position.thread & ~31;
    Thread& self = threads[position.thread];
    self.site = &site;
    operands[position.thread] = operand;
    enter(position.thread, AT_WARP_COLLECTIVE);
    if (warps[begin / 32].lanes[AT_WARP_COLLECTIVE] != 32) {
        leave_fiber();
        return;
    }
    if (!at_one_site(begin, begin + 32)) {
        char waits[600];
        describe_waits(begin, begin + 32, waits, sizeof waits);
        fault("lanes of a warp at different collectives: %s", waits);
    }
    complete(operands + begin);
    ready_all(begin, begin + 32);
}

void meet_block(const Site& site) {
    Thread& self = threads[position.thread];
    self.site = &site;
    enter(position.thread, AT_BLOCK_BARRIER);
    leave_fiber();
}

int thread_count() { return launch->threads; }

unsigned char* dynamic_shared() { return dynamicBegin; }

void* shared_array(const void* declaration, const char* name, size_t bytes) {
    for (const StaticArray& array : staticArrays) {
        if (array.declaration == declaration) {
            return array.begin;
        }
    }
    unsigned char* begin = staticEnd;
    size_t total = round_up(bytes, 16) + launch->dynamicShared;
    for (const StaticArray& array : staticArrays) {
        total += round_up(array.bytes, 16);
    }
    if (total > launch->sharedLimit) {
        fault("%zu bytes of shared memory with %s, the limit is %zu", total, name, launch->sharedLimit);
    }
    staticArrays.push_back({declaration, begin, bytes});
    staticEnd = begin + round_up(bytes, 16) + CANARY_BYTES;
    poison(begin, static_cast<size_t>(staticEnd - begin));
    return begin;
}

bool is_shared(const void* address, size_t bytes) {
    const auto* begin = static_cast<const unsigned char*>(address);
    if (begin >= dynamicBegin && begin + bytes <= dynamicBegin + launch->dynamicShared) {
        return true;
    }
    for (const StaticArray& array : staticArrays) {
        if (begin >= array.begin && begin + bytes <= array.begin + array.bytes) {
            return true;
        }
    }
    return false;
}

// Until the wait the target holds poison: a copy may land at any time between.
void start_copy(void* shared, const void* global, int bytes, bool valid) {
    check_aligned(shared, "cp.async target", bytes);
    check_aligned(global, "cp.async source", bytes);
    if (!is_shared(shared, static_cast<size_t>(bytes))) {
        fault("cp.async target %p is outside the block's shared memory", shared);
    }
    Thread& self = threads[position.thread];
    self.copies.push_back(
        {static_cast<unsigned char*>(shared), global, static_cast<size_t>(bytes), valid, self.copyGroups});
    poison(shared, static_cast<size_t>(bytes));
}

void end_copy_group() { threads[position.thread].copyGroups++; }

void finish_copies(int pending) {
    Thread& self = threads[position.thread];
    size_t kept = 0;
    for (const Copy& copy : self.copies) {
        if (copy.group < self.copyGroups - pending) {
            land(copy);
        } else {
            self.copies[kept++] = copy;
        }
    }
    self.copies.resize(kept);
}

namespace {

constexpr uint16_t POISON = 0x7FFF;

unsigned char poison_at(const unsigned char* address) {
    return static_cast<unsigned char>(POISON >> (reinterpret_cast<uintptr_t>(address) & 1) * 8);
}

}  // namespace

void poison(void* target, size_t bytes) {
    auto* next = static_cast<unsigned char*>(target);
    auto* const end = next + bytes;
    for (; next < end && reinterpret_cast<uintptr_t>(next) % 2 != 0; next++) {
        *next = poison_at(next);
    }
    std::fill_n(reinterpret_cast<uint16_t*>(next), (end - next) / 2, POISON);
    if ((end - next) % 2 != 0) {
        end[-1] = poison_at(end - 1);
    }
}

bool poisoned(const void* target, size_t bytes) {
    const auto* const begin = static_cast<const unsigned char*>(target);
    for (const auto* byte = begin; byte < begin + bytes; byte++) {
        if (*byte != poison_at(byte)) {
            return false;
        }
    }
    return true;
}

#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__)
#define FOR_WIDER_PROCESSORS_TOO __attribute__((target_clones("avx2", "default")))
#else
#define FOR_WIDER_PROCESSORS_TOO
#endif

typedef float Eight __attribute__((vector_size(32)));

FOR_WIDER_PROCESSORS_TOO void multiply_fragments(void* const* operands) {
    float a[16][16];
    Eight b[16];
    Eight d[16];
    for (int lane = 0; lane < 32; lane++) {
        const auto* fragments = static_cast<const Fragments*>(operands[lane]);
        const int g = lane / 4;
        const int t = lane % 4 * 2;
        for (int i = 0; i < 4; i++) {
            const int row = g + i % 2 * 8;
            const int column = t + i / 2 * 8;
            a[row][column] = bits_float(fragments->a[i] << 16);
            a[row][column + 1] = bits_float(fragments->a[i] & 0xFFFF0000u);
        }
        b[t][g] = bits_float(fragments->b0 << 16);
        b[t + 1][g] = bits_float(fragments->b0 & 0xFFFF0000u);
        b[t + 8][g] = bits_float(fragments->b1 << 16);
        b[t + 9][g] = bits_float(fragments->b1 & 0xFFFF0000u);
        d[g][t] = fragments->d[0];
        d[g][t + 1] = fragments->d[1];
        d[g + 8][t] = fragments->d[2];
        d[g + 8][t + 1] = fragments->d[3];
    }
    for (int row = 0; row < 16; row++) {
        Eight sums = d[row];
        for (int k = 0; k < 16; k++) {
            sums += a[row][k] * b[k];
        }
        d[row] = sums;
    }
    for (int lane = 0; lane < 32; lane++) {
        float* result = static_cast<const Fragments*>(operands[lane])->d;
        const int g = lane / 4;
        const int t = lane % 4 * 2;
        result[0] = d[g][t];
        result[1] = d[g][t + 1];
        result[2] = d[g + 8][t];
        result[3] = d[g + 8][t + 1];
    }
}

}  // namespace emulator
