// Stretches of memory that an instruction on data blocks works on.
#pragma once

#include "lanes.hpp"

namespace xascend {

constexpr int64_t block_bytes = 32;  // a data block of the Unified Buffer, the unit of its addresses and strides
constexpr int64_t half_bytes = 16;

// Addresses from `start` to before `stop`.
struct Span {
    int64_t start, stop;

    bool meets(const Span& other) const { return start < other.stop && other.start < stop; }
    bool holds(const Span& other) const { return start <= other.start && other.stop <= stop; }
    void cover(const Span& other) {
        start = std::min(start, other.start);
        stop = std::max(stop, other.stop);
    }
};

inline bool is_aligned(int64_t address, int64_t origin) { return (address - origin) % block_bytes == 0; }

inline char* pointer(int64_t address) { return reinterpret_cast<char*>(address); }

}  // namespace xascend
