// Operands of an instruction that works on data blocks: where they lie, and when they plainly keep the rules.
#pragma once

#include "lanes.hpp"

namespace xascend {

constexpr int64_t block_bytes = 32;  // a data block of the Unified Buffer
constexpr int64_t half_bytes = 16;

// Addresses of bytes: from `start` to before `stop`.
struct Span {
    std::uintptr_t start, stop;

    bool meets(const Span& other) const { return start < other.stop && other.start < stop; }
    void cover(const Span& other) {
        start = std::min(start, other.start);
        stop = std::max(stop, other.stop);
    }
};

// An array, from where it begins to its end, within a memory that begins at `origin`: alignment is counted from there.
struct Operand {
    Span reach;
    std::uintptr_t origin;
    bool is_writable;

    bool is_aligned() const { return (reach.start - origin) % block_bytes == 0; }
    bool holds(int64_t bytes) const { return static_cast<std::uintptr_t>(bytes) <= reach.stop - reach.start; }
};

}  // namespace xascend
