// Runs one kernel; compiled together with it: -DKERNEL_FILE="..." -DKERNEL_ENTRY=...
#include "harness.hpp"

#include <setjmp.h>
#include <ucontext.h>

#include <algorithm>
#include <cstdarg>
#include <tuple>
#include <vector>

#include KERNEL_FILE

Index3 threadIdx, blockIdx, blockDim, gridDim;
alignas(128) uint4 shared_words[(256 << 10) / sizeof(uint4)];  // more than any block has

namespace harness {
namespace {

constexpr std::size_t stack_bytes = 64 << 10;
constexpr int warp = 32, sector = 32, banks = 32;
constexpr unsigned char poison = 0xee;

struct Access {
    int space, line;
    unsigned int warp, step, lane;
    std::uintptr_t at;
    int bytes;
};

struct Fiber {
    ucontext_t start;
    jmp_buf at;
    char* stack = nullptr;
    bool started, done;
};

struct Memory {
    std::uintptr_t begin, end;
    const char* name;
};

// What is counted, in the order in which the caller's array has it: per space, instructions of a warp, and sectors
// (global memory) or passes over the banks (shared memory).
std::int64_t counts[2 * spaces];
std::vector<Access> accesses;
std::vector<Fiber> fibers;
std::vector<unsigned char> written;
Memory memories[2];
jmp_buf scheduler;
Fiber* current;
char message[512];

extern "C" void start_fiber();

void next_fiber(Fiber& fiber) {
    current = &fiber;
    if (_setjmp(scheduler) == 0) {
        if (fiber.started) _longjmp(fiber.at, 1);
        fiber.started = true;
        setcontext(&fiber.start);
    }
}

}  // namespace

void fail(const char* format, ...) {
    if (!message[0]) {
        va_list values;
        va_start(values, format);
        std::vsnprintf(message, sizeof message, format, values);
        va_end(values);
    }
    current->done = true;
    _longjmp(scheduler, 1);
}

namespace {

const char* const space_names[] = {"load from global memory", "store to global memory", "load from shared memory",
                                   "store to shared memory"};

std::size_t shared_size;

std::uintptr_t shared_begin() { return reinterpret_cast<std::uintptr_t>(shared_words); }

void check_place(Space space, std::uintptr_t at, int bytes, int line) {
    if (at % bytes) fail("line %d: a %s of %d bytes is misaligned", line, space_names[space], bytes);
    if (space == global_load || space == global_store) {
        const Memory& memory = memories[space == global_store];
        if (at < memory.begin || at + bytes > memory.end) {
            fail("line %d: a %s lies out of bounds, at byte %lld of %lld of %s", line, space_names[space],
                 static_cast<long long>(at - memory.begin), static_cast<long long>(memory.end - memory.begin),
                 memory.name);
        }
    } else if (at < shared_begin() || at + bytes > shared_begin() + shared_size) {
        fail("line %d: a %s lies out of bounds, at byte %lld of %lld", line, space_names[space],
             static_cast<long long>(at - shared_begin()), static_cast<long long>(shared_size));
    }
}

void check_written(std::uintptr_t at, int bytes, bool is_store, int line) {
    unsigned char* const flags = &written[at - shared_begin()];
    if (is_store) {
        std::memset(flags, 1, bytes);
    } else if (std::memchr(flags, 0, bytes)) {
        fail("line %d: shared memory is read at byte %lld, which nobody wrote", line,
             static_cast<long long>(at - shared_begin()));
    }
}

int count_passes(const Access* first, const Access* last) {
    // a request is served in groups of lanes that together take at most 128 bytes
    const int lanes = first->bytes <= 4 ? warp : 4 * warp / first->bytes;
    int passes = 0;
    for (int group = 0; group < warp / lanes; ++group) {
        std::vector<std::uintptr_t> words;
        for (const Access* a = first; a < last; ++a) {
            if (static_cast<int>(a->lane) / lanes != group) continue;
            for (std::uintptr_t word = a->at / 4; word < (a->at + a->bytes + 3) / 4; ++word) words.push_back(word);
        }
        std::sort(words.begin(), words.end());
        words.erase(std::unique(words.begin(), words.end()), words.end());
        int per_bank[banks] = {};
        int most = 0;
        for (std::uintptr_t word : words) most = std::max(most, ++per_bank[word % banks]);
        passes += most;
    }
    return passes;
}

// Relative to what the same bytes need at least.
int fewest_passes(const Access* first, const Access* last) {
    const int lanes = first->bytes <= 4 ? warp : 4 * warp / first->bytes;
    unsigned int groups = 0;
    for (const Access* a = first; a < last; ++a) groups |= 1u << (a->lane / lanes);
    return __builtin_popcount(groups);
}

int count_sectors(const Access* first, const Access* last) {
    std::vector<std::uintptr_t> touched;
    for (const Access* a = first; a < last; ++a) touched.push_back(a->at / sector);
    std::sort(touched.begin(), touched.end());
    return static_cast<int>(std::unique(touched.begin(), touched.end()) - touched.begin());
}

// Accesses between two barriers: those of one warp, place and step are one instruction.
void count_accesses() {
    const auto key = [](const Access& a) {
        return std::make_tuple(a.warp, a.space, a.line, a.step, a.bytes, a.lane);
    };
    std::sort(accesses.begin(), accesses.end(), [&](const Access& a, const Access& b) { return key(a) < key(b); });
    for (std::size_t i = 0; i < accesses.size();) {
        std::size_t end = i + 1;
        const Access& a = accesses[i];
        while (end < accesses.size() && accesses[end].warp == a.warp && accesses[end].space == a.space &&
               accesses[end].line == a.line && accesses[end].step == a.step && accesses[end].bytes == a.bytes) {
            if (accesses[end].lane == accesses[end - 1].lane) {
                std::snprintf(message, sizeof message, "line %d: a thread comes here twice in step %u", a.line, a.step);
            }
            ++end;
        }
        const Access *first = &accesses[i], *last = &accesses[i] + (end - i);
        if (a.space == global_load || a.space == global_store) {
            counts[2 * a.space] += 1;
            counts[2 * a.space + 1] += count_sectors(first, last);
        } else {
            counts[2 * a.space] += fewest_passes(first, last);
            counts[2 * a.space + 1] += count_passes(first, last);
        }
        i = end;
    }
    accesses.clear();
}

}  // namespace

void check_access(Space space, const void* at, int bytes, int line, unsigned int step) {
    const auto place = reinterpret_cast<std::uintptr_t>(at);
    check_place(space, place, bytes, line);
    if (space == shared_load || space == shared_store) check_written(place, bytes, space == shared_store, line);
    const unsigned int thread = threadIdx.x;
    accesses.push_back({space, line, thread / warp, step, thread % warp, place, bytes});
}

void check_common(const void* at, int bytes, bool is_store, int line) {
    const auto place = reinterpret_cast<std::uintptr_t>(at);
    check_place(is_store ? shared_store : shared_load, place, bytes, line);
    check_written(place, bytes, is_store, line);
}

}  // namespace harness

namespace harness {
namespace {

struct Launch {
    const char* src;
    char* dst;
    const xascend::Padding* padding;
    const xascend::Table* table;
} launch;

extern "C" void start_fiber() {
    KERNEL_ENTRY(launch.src, launch.dst, *launch.padding, *launch.table);
    current->done = true;
    _longjmp(scheduler, 1);
}

void run_block(bool descending) {
    const int threads = static_cast<int>(blockDim.x);
    std::memset(shared_words, poison, shared_size);
    written.assign(shared_size, 0);
    for (Fiber& fiber : fibers) {
        fiber.started = fiber.done = false;
        getcontext(&fiber.start);
        fiber.start.uc_stack.ss_sp = fiber.stack;
        fiber.start.uc_stack.ss_size = stack_bytes;
        fiber.start.uc_link = nullptr;
        makecontext(&fiber.start, start_fiber, 0);
    }
    for (int running = threads; running > 0 && !message[0];) {
        int finished = 0;
        for (int i = 0; i < threads && !message[0]; ++i) {
            threadIdx.x = static_cast<unsigned int>(descending ? threads - 1 - i : i);
            next_fiber(fibers[threadIdx.x]);
            finished += fibers[threadIdx.x].done;
        }
        if (finished != 0 && finished != running && !message[0]) {
            std::snprintf(message, sizeof message, "%d of %d threads wait at a barrier that the others never reach",
                          running - finished, running);
        }
        running -= finished;
        count_accesses();
    }
}

}  // namespace
}  // namespace harness

void __syncthreads() {
    if (_setjmp(harness::current->at) == 0) _longjmp(harness::scheduler, 1);
}

// Arrays as `begin` and `end` of the memory that may be touched. Returns null, or what went wrong.
extern "C" const char* run_kernel(const char* src, const char* src_begin, const char* src_end, char* dst,
                                  const char* dst_begin, const char* dst_end, const void* padding, const void* table,
                                  int blocks, int threads, int shared, int descending, std::int64_t* counts) {
    using namespace harness;
    message[0] = 0;
    std::memset(harness::counts, 0, sizeof harness::counts);
    accesses.clear();
    memories[0] = {reinterpret_cast<std::uintptr_t>(src_begin), reinterpret_cast<std::uintptr_t>(src_end), "the source"};
    memories[1] = {reinterpret_cast<std::uintptr_t>(dst_begin), reinterpret_cast<std::uintptr_t>(dst_end),
                   "the destination"};
    launch = {src, dst, static_cast<const xascend::Padding*>(padding), static_cast<const xascend::Table*>(table)};
    shared_size = static_cast<std::size_t>(shared);
    if (shared_size > sizeof shared_words) return "more shared memory than any block has";
    while (fibers.size() < static_cast<std::size_t>(threads)) {
        fibers.emplace_back();
        fibers.back().stack = static_cast<char*>(std::malloc(stack_bytes));
    }
    fibers.resize(static_cast<std::size_t>(threads));
    blockDim = {static_cast<unsigned int>(threads), 1, 1};
    gridDim = {static_cast<unsigned int>(blocks), 1, 1};
    for (blockIdx.x = 0; blockIdx.x < gridDim.x && !message[0]; ++blockIdx.x) run_block(descending != 0);
    std::memcpy(counts, harness::counts, sizeof harness::counts);
    return message[0] ? message : nullptr;
}

extern "C" int size_of_table() { return sizeof(xascend::Table); }
extern "C" int size_of_padding() { return sizeof(xascend::Padding); }
