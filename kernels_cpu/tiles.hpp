// Tiles: where the fastest axes differ, tiles of up to 16 rows of 16 bytes are transposed in registers.
#pragma once

#include "runs.hpp"

namespace xascend {

// Transposes as many rows as a power of two. The address of an element is (row bits, lane bits); a round of zips of
// row i with row i + half moves the top row bit to the bottom of the lane bits, so that log2(rows) rounds move all
// row bits below the lane bits.
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

// Reads the first bytes of a vector; the others are of no account.
template <class V, int Bytes>
inline V load_part(const char* from) {
    if constexpr (Bytes == vector_bytes) {
        return load<V>(from);
    } else if constexpr (Bytes == 8) {
        return reinterpret_cast<V>(Lanes<8>::vector{load<std::uint64_t>(from), 0});
    } else {
        return reinterpret_cast<V>(Lanes<4>::vector{load<std::uint32_t>(from), 0, 0, 0});
    }
}

// Stores the part of a vector that is `Bytes` long and has `at` of its like before it.
template <int Bytes, class V>
inline void store_part(char* to, V value, int at) {
    if constexpr (Bytes == vector_bytes) {
        store(to, value);
    } else if constexpr (Bytes == 8) {
        store(to, std::uint64_t{reinterpret_cast<Lanes<8>::vector>(value)[at]});
    } else {
        store(to, std::uint32_t{reinterpret_cast<Lanes<4>::vector>(value)[at]});
    }
}

// Transposes rows of which only the first `Bytes` are of account, and stores `Count` rows of `Result` bytes: while
// vectors are not full, the lower zip of two has all of both.
template <int Bytes, int Result, int Count, class V, int Rows>
inline void transpose_and_store(V (&row)[Rows], char* to, int64_t dst_x) {
    if constexpr (Bytes < vector_bytes && Rows > 1) {
        V half[Rows / 2];
        for (int i = 0; i < Rows / 2; ++i) half[i] = zip_lower(row[i], row[i + Rows / 2]);
        transpose_and_store<2 * Bytes, Result, Count>(half, to, dst_x);
    } else {
        constexpr int parts = static_cast<int>(vector_bytes) / Result;
        transpose(row);
        for (int i = 0; i < Count; ++i) store_part<Result>(to + i * dst_x, row[i / parts], i % parts);
    }
}

// Moves a tile of X columns and Y rows of the source; src_y is between its rows there, dst_x between its columns in the
// destination. Rows are 4, 8 or 16 bytes on either side, or a single unit.
template <int Unit, int Y, int X>
inline void move_tile(const char* from, int64_t src_y, char* to, int64_t dst_x) {
    using V = typename Lanes<Unit>::vector;
    if constexpr (X == 1 || Y == 1) {
        for (int x = 0; x < X; ++x) {
            for (int y = 0; y < Y; ++y) std::memcpy(to + x * dst_x + y * Unit, from + x * Unit + y * src_y, Unit);
        }
    } else {
        V row[Y];
        for (int i = 0; i < Y; ++i) row[i] = load_part<V, X * Unit>(from + i * src_y);
        transpose_and_store<X * Unit, Y * Unit, X>(row, to, dst_x);
    }
}

// Tiles of one shape beside each other: where they begin in a plane, and how many.
struct Tiles {
    int64_t x, y, count_x, count_y;
};

// Where columns lie apart in the destination, their lines are fetched early: stores do not wait for each of them then.
template <int Unit, int Y, int X>
void move_tiles(Plane p, Tiles tiles, const char* src, char* dst) {
    const int64_t src_y = p.src_y, dst_x = p.dst_x;
    constexpr int64_t per_line = line_bytes / (Y * Unit);
    const bool apart = dst_x > line_bytes && !p.near;
    src += tiles.x * Unit + tiles.y * src_y;
    dst += tiles.x * dst_x + tiles.y * Unit;
    for (int64_t z = 0; z < p.count_z; ++z, src += p.src_z, dst += p.dst_z) {
        for (int64_t x = 0; x < tiles.count_x; ++x) {
            const char* from = src + x * X * Unit;
            char* to = dst + x * X * dst_x;
            for (int64_t y = 0; y < tiles.count_y; ++y, from += Y * src_y, to += Y * Unit) {
                if (X > 1 && Y > 1 && apart && y % per_line == 0) {
                    for (int i = 0; i < X; ++i) __builtin_prefetch(to + i * dst_x + 2 * line_bytes, 1);
                }
                move_tile<Unit, Y, X>(from, src_y, to, dst_x);
            }
        }
    }
}

constexpr int widths = 4;  // of tiles: a vector, half of one, a quarter, and one unit

template <int Unit>
constexpr int tile_width(int width) {
    const int units = static_cast<int>(vector_bytes) / Unit >> width;
    return width == widths - 1 || units < 1 ? 1 : units;
}

// `count` widths of one kind, from `at` on.
struct Piece {
    int64_t at, count;
    int width;
};

// Cuts the indices below `count` into pieces, the widest first. Where some units are left, the last piece reaches back
// over what has been moved already. Returns the number of pieces.
template <int Unit>
inline int cut(int64_t count, Piece (&pieces)[widths]) {
    constexpr int narrowest = tile_width<Unit>(2) > 1 ? 2 : tile_width<Unit>(1) > 1 ? 1 : 0;
    constexpr int64_t least = tile_width<Unit>(narrowest);
    int n = 0;
    int64_t at = 0;
    for (int width = 0; width <= narrowest; ++width) {
        const int64_t units = tile_width<Unit>(width), fitting = (count - at) / units;
        if (fitting > 0) pieces[n++] = {at, fitting, width};
        at += fitting * units;
    }
    if (count - at > 1 && count >= least) {
        pieces[n++] = {count - least, 1, narrowest};
    } else if (at < count) {
        pieces[n++] = {at, count - at, widths - 1};
    }
    return n;
}

// Transposes planes with src_x == dst_y == Unit.
template <int Unit>
void transpose_planes(Plane p, const char* src, char* dst) {
    using Move = void (*)(Plane, Tiles, const char*, char*);
    constexpr int full = tile_width<Unit>(0), half = tile_width<Unit>(1), quarter = tile_width<Unit>(2);
    static constexpr Move moves[widths][widths] = {
        {move_tiles<Unit, full, full>, move_tiles<Unit, full, half>, move_tiles<Unit, full, quarter>,
         move_tiles<Unit, full, 1>},
        {move_tiles<Unit, half, full>, move_tiles<Unit, half, half>, move_tiles<Unit, half, quarter>,
         move_tiles<Unit, half, 1>},
        {move_tiles<Unit, quarter, full>, move_tiles<Unit, quarter, half>, move_tiles<Unit, quarter, quarter>,
         move_tiles<Unit, quarter, 1>},
        {move_tiles<Unit, 1, full>, move_tiles<Unit, 1, half>, move_tiles<Unit, 1, quarter>, move_tiles<Unit, 1, 1>},
    };
    Piece along_x[widths], along_y[widths];
    const int pieces_x = cut<Unit>(p.count_x, along_x), pieces_y = cut<Unit>(p.count_y, along_y);
    for (int i = 0; i < pieces_x; ++i) {
        const Piece& x = along_x[i];
        for (int j = 0; j < pieces_y; ++j) {
            const Piece& y = along_y[j];
            moves[y.width][x.width](p, {x.at, y.at, x.count, y.count}, src, dst);
        }
    }
}

}  // namespace xascend
