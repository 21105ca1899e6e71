// Runs: bytes that stay together on both sides are copied as they are.
#pragma once

#include "lanes.hpp"

namespace xascend {

// The fastest axes of a block. Element (x, y, z) lies at x * src_x + y * src_y + z * src_z in the source, and likewise
// in the destination; it is `unit` bytes.
// Kernels take a plane by value: their stores might change whatever has an address, so that it would be read anew.
struct Plane {
    int64_t src_x, src_y, src_z, dst_x, dst_y, dst_z;
    int64_t unit;
    int64_t count_x, count_y, count_z;
    int64_t ahead;  // what is read here is soon needed this many bytes further; 0: nothing to say
    bool near;      // the destination is in a near cache already
};

inline void copy_run(char* to, const char* from, int64_t bytes) {
    if (bytes < vector_bytes) {
        copy_short(to, from, bytes);
    } else if (bytes > 256) {
        std::memcpy(to, from, static_cast<std::size_t>(bytes));
    } else {
        int64_t at = 0;
        for (; at + vector_bytes <= bytes; at += vector_bytes) store(to + at, load<Vector>(from + at));
        store(to + bytes - vector_bytes, load<Vector>(from + bytes - vector_bytes));
    }
}

// Streams a few bytes, whose lines are not fetched for what they keep.
inline void stream_end(char* to, const char* from, int64_t bytes) {
    while (bytes > 0) {
        const int64_t before = reinterpret_cast<std::intptr_t>(to) & (vector_bytes - 1);
        const int64_t part = std::min(vector_bytes - before, bytes);
        if (part == vector_bytes) {
            stream(to, load<Vector>(from));
        } else {
            stream_part(to, from, part);
        }
        to += part;
        from += part;
        bytes -= part;
    }
}

struct NothingAhead {
    void fetch() {}
};

// Copies to memory that shall not come into the cache. For every line that is written, one that will be read is
// fetched.
template <class Ahead>
inline void stream_run(char* to, const char* from, int64_t bytes, Ahead& ahead) {
    const int64_t head = -reinterpret_cast<std::intptr_t>(to) & (line_bytes - 1);
    if (bytes < head + line_bytes) {
        stream_end(to, from, bytes);
        return;
    }
    stream_end(to, from, head);
    int64_t at = head;
    for (; at + line_bytes <= bytes; at += line_bytes) {
        const Vector a = load<Vector>(from + at), b = load<Vector>(from + at + 16);
        const Vector c = load<Vector>(from + at + 32), d = load<Vector>(from + at + 48);
        ahead.fetch();
        stream(to + at, a);
        stream(to + at + 16, b);
        stream(to + at + 32, c);
        stream(to + at + 48, d);
    }
    stream_end(to + at, from + at, bytes - at);
}

inline void stream_run(char* to, const char* from, int64_t bytes) {
    NothingAhead ahead;
    stream_run(to, from, bytes, ahead);
}

constexpr int64_t fetched_early = 8;  // units between a store and the fetching of lines for later ones

// Copies planes of units whose size the compiler knows; with `Streamed`, 16-byte aligned in the destination.
template <int Unit, bool Streamed>
void copy_planes(Plane p, const char* src, char* dst) {
    for (int64_t z = 0; z < p.count_z; ++z, src += p.src_z, dst += p.dst_z) {
        for (int64_t x = 0; x < p.count_x; ++x) {
            const char* from = src + x * p.src_x;
            char* to = dst + x * p.dst_x;
            for (int64_t y = 0; y < p.count_y; ++y, from += p.src_y, to += p.dst_y) {
                if (p.ahead) __builtin_prefetch(from + p.ahead);
                if constexpr (Streamed) {
                    for (int i = 0; i < Unit; i += vector_bytes) stream(to + i, load<Vector>(from + i));
                } else {
                    if (!p.near) __builtin_prefetch(to + fetched_early * p.dst_y, 1);
                    std::memcpy(to, from, Unit);
                }
            }
        }
    }
}

// The same for units that each have a line for themselves, most of which belongs to something else.
inline void copy_lone_planes(Plane p, const char* src, char* dst) {
    for (int64_t z = 0; z < p.count_z; ++z, src += p.src_z, dst += p.dst_z) {
        for (int64_t x = 0; x < p.count_x; ++x) {
            const char* from = src + x * p.src_x;
            char* to = dst + x * p.dst_x;
            for (int64_t y = 0; y < p.count_y; ++y, from += p.src_y, to += p.dst_y) stream_end(to, from, p.unit);
        }
    }
}

// The same for units of any size.
template <bool Streamed>
void copy_planes_of_runs(Plane p, const char* src, char* dst) {
    for (int64_t z = 0; z < p.count_z; ++z, src += p.src_z, dst += p.dst_z) {
        for (int64_t x = 0; x < p.count_x; ++x) {
            const char* from = src + x * p.src_x;
            char* to = dst + x * p.dst_x;
            for (int64_t y = 0; y < p.count_y; ++y, from += p.src_y, to += p.dst_y) {
                if constexpr (Streamed) {
                    stream_run(to, from, p.unit);
                } else {
                    copy_run(to, from, p.unit);
                }
            }
        }
    }
}

}  // namespace xascend
