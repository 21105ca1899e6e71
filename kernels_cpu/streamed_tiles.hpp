// Tiles that are streamed as soon as they are transposed, so that reads, transposing and writes overlap: nothing but
// registers, or a few lines, lies between source and destination. Elements are transposed in registers; longer units lie
// in strips as they are.
#pragma once

#include "tiles.hpp"

namespace xascend {

constexpr int64_t gathered_ahead = 256;    // bytes: how early the rows of tiles are fetched that are gathered,
constexpr int64_t scattered_ahead = 1024;  // and the source of those that are scattered
constexpr int64_t strip_bytes = 2 * line_bytes;
constexpr int64_t strip_rows = 64;

// ---- gathering: whole columns of the source follow each other in the destination ----

// Transposes `Rows` rows of 16 bytes; streamed, `to` is aligned to 16 bytes.
template <int Unit, int Rows, bool Streamed>
inline void gather_tile(const char* from, int64_t src_y, char* to) {
    using V = typename Lanes<Unit>::vector;
    constexpr int side = static_cast<int>(vector_bytes) / Unit, parts = Rows / side;
    V rows[parts][side];
    for (int part = 0; part < parts; ++part) {
        for (int i = 0; i < side; ++i) rows[part][i] = load<V>(from + (part * side + i) * src_y);
        transpose(rows[part]);
    }
    for (int i = 0; i < side; ++i) {
        for (int part = 0; part < parts; ++part, to += vector_bytes) {
            if constexpr (Streamed) {
                stream(to, rows[part][i]);
            } else {
                store(to, rows[part][i]);
            }
        }
    }
}

// Transposes planes with src_x == dst_y == Unit, count_y == Rows and dst_x == Rows * Unit. A quarter of the rows is
// fetched with each tile, because a line lasts for four.
template <int Unit, int Rows>
void gather_tiles(Plane p, const char* src, char* dst) {
    constexpr int64_t width = vector_bytes / Unit, tile_bytes = Rows * vector_bytes;
    constexpr int quarter = Rows / 4;
    for (int64_t z = 0; z < p.count_z; ++z, src += p.src_z, dst += p.dst_z) {
        const char* from = src;
        char* to = dst;
        int64_t x = 0;
        for (; x + width <= p.count_x; x += width, from += vector_bytes, to += tile_bytes) {
            const char* soon = from + x / width % 4 * quarter * p.src_y + gathered_ahead;
            for (int i = 0; i < quarter; ++i) __builtin_prefetch(soon + i * p.src_y);
            gather_tile<Unit, Rows, true>(from, p.src_y, to);
        }
        const int64_t left = p.count_x - x;
        if (left == 0) continue;
        char rows[tile_bytes] = {}, columns[tile_bytes];
        for (int i = 0; i < Rows; ++i) copy_short(rows + i * vector_bytes, from + i * p.src_y, left * Unit);
        gather_tile<Unit, Rows, false>(rows, vector_bytes, columns);
        for (int64_t at = 0; at < left * Rows * Unit; at += vector_bytes) stream(to + at, load<Vector>(columns + at));
    }
}

// ---- scattering: columns of the source, which are short and follow each other, become long rows ----

// A strip of all rows: put together, and streamed line by line while the next one is put together.
struct Strip {
    alignas(line_bytes) char memory[strip_rows * strip_bytes];
    char* to = nullptr;
    int64_t bytes = 0;  // of a row
    int64_t lines = 0;  // to be streamed, counted as if rows had all `strip_bytes`

    void complete(char* first, int64_t row_bytes, int64_t rows) {
        to = first;
        bytes = row_bytes;
        lines = rows * lines_per_row;
    }
    void stream_lines(int64_t apart, int64_t first, int64_t last) const {
        for (int64_t line = first; line < last; ++line) {
            const int64_t row = line / lines_per_row, at = line % lines_per_row * line_bytes;
            if (at >= bytes) continue;
            const char* from = memory + row * strip_bytes + at;
            for (int64_t i = 0; i < line_bytes; i += vector_bytes) {
                stream(to + row * apart + at + i, load<Vector>(from + i));
            }
        }
    }

   private:
    static constexpr int64_t lines_per_row = strip_bytes / line_bytes;
};

// Transposes planes with src_x == dst_y == Unit, count_x == Columns, src_y == Columns * Unit, and rows of whole lines in
// the destination.
template <int Unit, int Columns>
void scatter_tiles(Plane p, const char* src, char* dst) {
    using V = typename Lanes<Unit>::vector;
    constexpr int side = static_cast<int>(vector_bytes) / Unit;
    constexpr int lines = side / 4;  // that a tile reads, and that it makes
    const int64_t row_bytes = p.count_y * Unit;
    constexpr int64_t src_y = Columns * Unit;
    Strip pair[2];
    int turn = 0;
    for (int64_t z = 0; z < p.count_z; ++z, src += p.src_z, dst += p.dst_z) {
        const char* from = src;
        for (int64_t at = 0; at < row_bytes; at += strip_bytes) {
            Strip &strip = pair[turn], &before = pair[turn ^= 1];
            const int64_t bytes = std::min(strip_bytes, row_bytes - at), streamed = before.lines;
            const char* soon = from + scattered_ahead;
            int64_t line = 0;
            for (int64_t y = 0; y < bytes; y += vector_bytes, from += side * src_y) {
                for (int x = 0; x < Columns; x += side) {
                    V row[side];
                    for (int i = 0; i < side; ++i) row[i] = load<V>(from + i * src_y + x * Unit);
                    transpose(row);
                    for (int i = 0; i < side; ++i) store(strip.memory + (x + i) * strip_bytes + y, row[i]);
                    for (int i = 0; i < lines; ++i) __builtin_prefetch(soon + (line + i) * line_bytes);
                    if (line < streamed) before.stream_lines(p.dst_x, line, line + lines);
                    line += lines;
                }
            }
            before.stream_lines(p.dst_x, line, streamed);
            before.lines = 0;
            strip.complete(dst + at, bytes, Columns);
        }
    }
    const Strip& last = pair[turn ^ 1];
    last.stream_lines(p.dst_x, 0, last.lines);
}

// The same for units that are longer than an element, with any number of columns up to `strip_rows` that follow each
// other in the source.
template <int Unit>
void scatter_runs(Plane p, const char* src, char* dst) {
    constexpr int64_t per_line = line_bytes / Unit;
    const int64_t row_bytes = p.count_y * Unit;
    const int64_t ahead = (scattered_ahead + p.src_y - 1) / p.src_y * p.src_y;
    Strip pair[2];
    int turn = 0;
    for (int64_t z = 0; z < p.count_z; ++z, src += p.src_z, dst += p.dst_z) {
        const char* from = src;
        for (int64_t at = 0; at < row_bytes; at += strip_bytes) {
            Strip &strip = pair[turn], &before = pair[turn ^= 1];
            const int64_t bytes = std::min(strip_bytes, row_bytes - at), streamed = before.lines;
            int64_t line = 0;
            for (char* to = strip.memory; to < strip.memory + bytes; to += Unit, from += p.src_y) {
                int64_t x = 0;
                for (; x + per_line <= p.count_x; x += per_line, ++line) {
                    __builtin_prefetch(from + x * Unit + ahead);
                    for (int64_t i = x; i < x + per_line; ++i) std::memcpy(to + i * strip_bytes, from + i * Unit, Unit);
                    if (line < streamed) before.stream_lines(p.dst_x, line, line + 1);
                }
                for (; x < p.count_x; ++x) std::memcpy(to + x * strip_bytes, from + x * Unit, Unit);
            }
            before.stream_lines(p.dst_x, line, streamed);
            before.lines = 0;
            strip.complete(dst + at, bytes, p.count_x);
        }
    }
    const Strip& last = pair[turn ^ 1];
    last.stream_lines(p.dst_x, 0, last.lines);
}

}  // namespace xascend
