// Tiles: where the fastest axes differ, square tiles of 16-byte rows are transposed in registers.
#pragma once

#include "runs.hpp"

namespace xascend {

// Transposes 16 / LaneBytes rows of as many lanes. The address of an element is (row bits, lane bits); a round of
// zips of row i with row i + half moves the top row bit to the bottom of the lane bits, so that log2(rows) rounds
// exchange rows and lanes.
template <class V, int Rows>
inline void transpose(V (&row)[Rows]) {
    V next[Rows];
    for (int round = 1; round < Rows; round *= 2) {
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

// Transposes a plane with src_x == dst_y == Unit. Rows that end inside a tile are read past their end, though never
// past the end of the source, and the surplus is not written. With `Streamed` the destination is 16-byte aligned.
template <int Unit, bool Streamed>
void transpose_plane(const Plane& p, const char* src, char* dst) {
    constexpr int rows = static_cast<int>(vector_bytes) / Unit;
    using V = typename Lanes<Unit>::vector;
    for (int64_t x = 0; x < p.count_x; x += rows) {
        const int64_t left_x = p.count_x - x < rows ? p.count_x - x : rows;
        for (int64_t y = 0; y < p.count_y; y += rows) {
            const char* from = src + x * Unit + y * p.src_y;
            char* to = dst + x * p.dst_x + y * Unit;
            const int64_t left_y = p.count_y - y;
            V row[rows] = {};
            if (left_x == rows && left_y >= rows) {
                for (int i = 0; i < rows; ++i) row[i] = load<V>(from + i * p.src_y);
                transpose(row);
                for (int i = 0; i < rows; ++i) {
                    if constexpr (Streamed) {
                        stream(to + i * p.dst_x, row[i]);
                    } else {
                        store(to + i * p.dst_x, row[i]);
                    }
                }
                continue;
            }
            for (int i = 0; i < rows; ++i) {
                if (i < left_y) row[i] = load_up_to<V>(from + i * p.src_y, p.src_end);
            }
            transpose(row);
            for (int i = 0; i < rows; ++i) {
                if (i >= left_x) break;
                if (left_y >= rows) {
                    store(to + i * p.dst_x, row[i]);
                } else {
                    copy_short(to + i * p.dst_x, reinterpret_cast<const char*>(&row[i]), left_y * Unit);
                }
            }
        }
    }
}

}  // namespace xascend
