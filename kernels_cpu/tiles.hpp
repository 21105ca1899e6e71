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
template <int Unit>
inline void transpose_tile(const char* from, int64_t src_y, char* to, int64_t dst_x) {
    typename Lanes<Unit>::vector row[tile_rows<Unit>];
    for (int i = 0; i < tile_rows<Unit>; ++i) row[i] = load<typename Lanes<Unit>::vector>(from + i * src_y);
    transpose(row);
    for (int i = 0; i < tile_rows<Unit>; ++i) store(to + i * dst_x, row[i]);
}

// A tile of which only the first `used_x` columns and `used_y` rows of the source exist. Columns beyond are read
// though not written, as long as they lie before the end of the source. What a row has too much may be stored where
// a later row of the plane goes, before `spill_end`.
template <int Unit>
void transpose_edge(const Plane& p, const char* from, char* to, int64_t used_x, int64_t used_y, const char* spill_end) {
    constexpr int rows = tile_rows<Unit>;
    using V = typename Lanes<Unit>::vector;
    V row[rows];
    const bool inside = p.src_end - (from + std::max<int64_t>(0, (used_y - 1) * p.src_y)) >= vector_bytes;
    if (inside && used_y == rows) {
        const int64_t src_y = p.src_y;
        for (int i = 0; i < rows; ++i) row[i] = load<V>(from + i * src_y);
    } else if (inside) {
        for (int i = 0; i < rows; ++i) row[i] = load<V>(from + std::min<int64_t>(i, used_y - 1) * p.src_y);
    } else {
        for (int i = 0; i < rows; ++i) row[i] = i < used_y ? load_up_to<V>(from + i * p.src_y, p.src_end) : V{};
    }
    transpose(row);
    const int64_t dst_x = p.dst_x;
    if (used_y == rows) spill_end = to + (used_x - 1) * dst_x + vector_bytes;
    for (int i = 0; i < used_x; ++i, to += dst_x) {
        if (spill_end - to >= vector_bytes) {
            store(to, row[i]);
        } else {
            store_short(to, reinterpret_cast<Vector>(row[i]), used_y * Unit);
        }
    }
}

// Transposes a plane with src_x == dst_y == Unit. The last tile of a row reaches back over the one before.
template <int Unit>
void transpose_plane(const Plane& p, const char* src, char* dst) {
    constexpr int64_t rows = tile_rows<Unit>;
    const int64_t src_y = p.src_y, dst_x = p.dst_x, count_x = p.count_x, count_y = p.count_y;
    const int64_t whole_y = count_y / rows * rows;
    const bool is_packed = whole_y == 0 && dst_x == count_y * Unit;
    const char* spill_end = is_packed ? dst + count_x * dst_x : dst;
    const auto column = [&](int64_t x) {
        const char* from = src + x * Unit;
        char* to = dst + x * dst_x;
        if (whole_y == 0) {
            transpose_edge<Unit>(p, from, to, rows, count_y, spill_end);
            return;
        }
        for (int64_t y = 0; y < whole_y; y += rows) {
            transpose_tile<Unit>(from + y * src_y, src_y, to + y * Unit, dst_x);
        }
        if (whole_y == count_y) return;
        const int64_t y = count_y - rows;
        transpose_tile<Unit>(from + y * src_y, src_y, to + y * Unit, dst_x);
    };
    int64_t x = 0;
    for (; x + rows <= count_x; x += rows) column(x);
    if (x == count_x) return;
    if (x > 0) {
        column(count_x - rows);
        return;
    }
    for (int64_t y = 0; y < count_y; y += rows) {
        transpose_edge<Unit>(p, src + y * src_y, dst + y * Unit, count_x, std::min(rows, count_y - y), spill_end);
    }
}

}  // namespace xascend
