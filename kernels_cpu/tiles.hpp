// Tiles: where the fastest axes differ, square tiles of 16-byte rows are transposed in registers.
#pragma once

#include "runs.hpp"

namespace xascend {

// Transposes 16 / LaneBytes rows of as many lanes. The address of an element is (row bits, lane bits); a round of
// zips of row i with row i + half moves the top row bit to the bottom of the lane bits, so that log2(rows) rounds
// exchange rows and lanes.
template <class V, int Rows>
inline void transpose(V (&row)[Rows]) {
    for (int round = 1; round < Rows; round *= 2) {
        V next[Rows];
        for (int i = 0; i < Rows / 2; ++i) {
            next[2 * i] = zip_lower(row[i], row[i + Rows / 2]);
            next[2 * i + 1] = zip_upper(row[i], row[i + Rows / 2]);
        }
        for (int i = 0; i < Rows; ++i) row[i] = next[i];
    }
}

// Reads 16 bytes, or fewer where the source ends earlier.
template <class V>
inline V load_up_to(const char* from, const char* end) {
    if (end - from >= vector_bytes) return load<V>(from);
    V value = {};
    copy_short(reinterpret_cast<char*>(&value), from, end - from);
    return value;
}

template <int Unit>
constexpr int tile_rows = static_cast<int>(vector_bytes) / Unit;

// A whole tile; src_y is between its rows in the source, dst_x between those in the destination.
template <int Unit, bool Streamed>
inline void transpose_tile(const char* from, int64_t src_y, char* to, int64_t dst_x) {
    typename Lanes<Unit>::vector row[tile_rows<Unit>];
    for (int i = 0; i < tile_rows<Unit>; ++i) row[i] = load<typename Lanes<Unit>::vector>(from + i * src_y);
    transpose(row);
    for (int i = 0; i < tile_rows<Unit>; ++i) {
        if constexpr (Streamed) {
            stream(to + i * dst_x, row[i]);
        } else {
            store(to + i * dst_x, row[i]);
        }
    }
}

// A tile of which only the first `used_x` columns and `used_y` rows of the source exist. Columns beyond are read
// though not written, as long as they lie before the end of the source.
template <int Unit>
void transpose_edge(const Plane& p, const char* from, char* to, int64_t used_x, int64_t used_y) {
    using V = typename Lanes<Unit>::vector;
    V row[tile_rows<Unit>] = {};
    for (int i = 0; i < used_y; ++i) row[i] = load_up_to<V>(from + i * p.src_y, p.src_end);
    transpose(row);
    for (int i = 0; i < used_x; ++i) {
        if (used_y == tile_rows<Unit>) {
            store(to + i * p.dst_x, row[i]);
        } else {
            copy_short(to + i * p.dst_x, reinterpret_cast<const char*>(&row[i]), used_y * Unit);
        }
    }
}

// Transposes a plane with src_x == dst_y == Unit; with `Streamed`, whole tiles are 16-byte aligned in the destination.
template <int Unit, bool Streamed>
void transpose_plane(const Plane& p, const char* src, char* dst) {
    constexpr int64_t rows = tile_rows<Unit>;
    const int64_t src_y = p.src_y, dst_x = p.dst_x, count_x = p.count_x, count_y = p.count_y;
    for (int64_t x = 0; x < count_x; x += rows) {
        const int64_t used_x = std::min(rows, count_x - x);
        const char* from = src + x * Unit;
        char* to = dst + x * dst_x;
        int64_t y = 0;
        if (used_x == rows) {
            for (; y + rows <= count_y; y += rows) {
                transpose_tile<Unit, Streamed>(from + y * src_y, src_y, to + y * Unit, dst_x);
            }
        }
        for (; y < count_y; y += rows) {
            transpose_edge<Unit>(p, from + y * src_y, to + y * Unit, used_x, std::min(rows, count_y - y));
        }
    }
}

}  // namespace xascend
