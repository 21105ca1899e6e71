// Runs one kernel; compiled together with it: -DKERNEL_FILE="..." -DKERNEL_ENTRY=...
#include "harness.hpp"

#include <setjmp.h>
#include <ucontext.h>

#include <algorithm>
#include <cstdarg>
#include <iterator>
#include <tuple>
#include <type_traits>
#include <utility>
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

// Global memory that may be touched.
struct Memory {
    std::uintptr_t begin, end;
    std::int64_t is_written;  // 0: it is read; 1: it is written
};

// What is counted, in the order in which the caller's array has it: per space, instructions of a warp, and sectors
// (global memory) or passes over the banks (shared memory), and the bytes that the threads ask for.
std::int64_t counts[spaces][3];
std::vector<Access> accesses;
std::vector<Fiber> fibers;
std::vector<unsigned char> written;
std::vector<Memory> memories;
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

void check_global(Space space, std::uintptr_t at, int bytes, int line) {
    const Memory* nearest = nullptr;
    const auto outside = [&](const Memory& memory) {
        return at < memory.begin ? memory.begin - at : at + bytes > memory.end ? at + bytes - memory.end : 0;
    };
    for (const Memory& memory : memories) {
        if (memory.is_written != (space == global_store)) continue;
        if (!nearest || outside(memory) < outside(*nearest)) nearest = &memory;
    }
    if (!nearest) fail("line %d: there is no memory for a %s", line, space_names[space]);
    if (outside(*nearest)) {
        fail("line %d: a %s lies out of bounds, at byte %lld of %lld", line, space_names[space],
             static_cast<long long>(at - nearest->begin), static_cast<long long>(nearest->end - nearest->begin));
    }
}

void check_place(Space space, std::uintptr_t at, int bytes, int line) {
    if (at % bytes) fail("line %d: a %s of %d bytes is misaligned", line, space_names[space], bytes);
    if (space == global_load || space == global_store) {
        check_global(space, at, bytes, line);
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
        std::int64_t(&of)[3] = counts[a.space];
        if (a.space == global_load || a.space == global_store) {
            of[0] += 1;
            of[1] += count_sectors(first, last);
        } else {
            of[0] += fewest_passes(first, last);
            of[1] += count_passes(first, last);
        }
        of[2] += (last - first) * a.bytes;
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

// The arguments as `cuLaunchKernel` takes them: a pointer to each.
const void* const* arguments;

template <class... Parameters>
struct Signature {
    static constexpr int sizes[] = {sizeof(Parameters)...};

    template <class T>
    static T argument(std::size_t at) {
        std::remove_const_t<T> value;
        std::memcpy(&value, arguments[at], sizeof value);
        return value;
    }
    template <std::size_t... At>
    static void call(void (*entry)(Parameters...), std::index_sequence<At...>) {
        entry(argument<Parameters>(At)...);
    }
    static void call(void (*entry)(Parameters...)) { call(entry, std::index_sequence_for<Parameters...>()); }
};

template <class... Parameters>
Signature<Parameters...> signature_of(void (*)(Parameters...));
using Entry = decltype(signature_of(KERNEL_ENTRY));

extern "C" void start_fiber() {
    Entry::call(KERNEL_ENTRY);
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

// `descending` reverses the order of threads and of blocks. Returns null, or what went wrong.
extern "C" const char* run_kernel(const void* const* arguments, const harness::Memory* memories, int memory_count,
                                  int blocks, int threads, int shared, int descending, std::int64_t* counts) {
    using namespace harness;
    const Flushing mode(true);
    message[0] = 0;
    std::memset(harness::counts, 0, sizeof harness::counts);
    accesses.clear();
    harness::arguments = arguments;
    harness::memories.assign(memories, memories + memory_count);
    shared_size = static_cast<std::size_t>(shared);
    if (shared_size > sizeof shared_words) return "more shared memory than any block has";
    while (fibers.size() < static_cast<std::size_t>(threads)) {
        fibers.emplace_back();
        fibers.back().stack = static_cast<char*>(std::malloc(stack_bytes));
    }
    fibers.resize(static_cast<std::size_t>(threads));
    blockDim = {static_cast<unsigned int>(threads), 1, 1};
    gridDim = {static_cast<unsigned int>(blocks), 1, 1};
    for (unsigned int i = 0; i < gridDim.x && !message[0]; ++i) {
        blockIdx.x = descending ? gridDim.x - 1 - i : i;
        run_block(descending != 0);
    }
    std::memcpy(counts, harness::counts, sizeof harness::counts);
    return message[0] ? message : nullptr;
}

// The bytes of a parameter of the kernel; 0 beyond the last.
extern "C" int size_of_parameter(int at) {
    return at < static_cast<int>(std::size(harness::Entry::sizes)) ? harness::Entry::sizes[at] : 0;
}
