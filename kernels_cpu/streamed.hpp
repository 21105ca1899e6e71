// Kernels that write past the caches as they go, so that reads, moves and writes overlap: nothing but registers, or a
// few lines, lies between source and destination. `Job::streamed_stores` says what they are for.
#pragma once

#include <utility>

#include "tiles.hpp"

namespace xascend {

constexpr int64_t gathered_ahead = 256;    // bytes: how early the rows of tiles are fetched that are gathered,
constexpr int64_t joined_ahead = 256;      // those of runs that are joined,
constexpr int64_t scattered_ahead = 2048;  // and the source of what is scattered
constexpr int64_t joined_bytes = 512;      // of a row, from runs
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

// Copies a plane with src_x == dst_y == Unit, count_z == 1 and at most `joined_bytes` along y, where every step along y
// leads to another stream of the source: the runs of a row are put together before they are streamed, because rows
// begin and end in the middle of lines.
template <int Unit>
void join_runs(Plane p, const char* src, char* dst) {
    constexpr int64_t per_line = line_bytes / Unit;
    alignas(line_bytes) char joined[joined_bytes];
    for (int64_t x = 0; x < p.count_x; ++x, src += Unit, dst += p.dst_x) {
        const char* from = src;
        for (int64_t y = 0; y < p.count_y; ++y, from += p.src_y) {
            if ((x + y) % per_line == 0) __builtin_prefetch(from + joined_ahead);
            std::memcpy(joined + y * Unit, from, Unit);
        }
        stream_run(dst, joined, p.count_y * Unit);
    }
}

// ---- scattering: columns of the source, which are short, become long rows ----

// Two lines of all rows: they are put together while the strip before is streamed. What rows have behind their last
// whole line is left to the next strip.
class Strip {
   public:
    // For `rows` rows, at most `strip_rows`, the first of which is at `to` in the destination.
    Strip(char* to, int64_t apart, int64_t rows) : rows_(rows) {
        for (int64_t row = 0; row < rows; ++row, to += apart) {
            const int64_t phase = reinterpret_cast<std::intptr_t>(to) & (line_bytes - 1);
            row_[row] = memory_ + row * room + phase;
            line_[row] = to - phase;
            aligned_ = aligned_ && phase == 0;
        }
    }
    // Begins the strip that is `at` bytes into the rows, behind `before`.
    void begin(int64_t at, const Strip& before) {
        at_ = at;
        if (aligned_ || at == 0) return;
        for (int64_t row = 0; row < rows_; ++row) {
            std::memcpy(memory_ + row * room, before.memory_ + row * room + strip_bytes, line_bytes);
        }
    }
    // Where the bytes of a row are put together.
    char* row(int64_t row) const { return row_[row]; }
    // So many bytes of each row are put together; `last` is the last strip of the rows.
    void end(int64_t bytes, bool last) {
        const bool whole = bytes == strip_bytes && (aligned_ || (at_ > 0 && !last));
        lines_ = whole ? rows_ * lines_per_row : 0;
        if (whole) return;
        for (int64_t row = 0; row < rows_; ++row) {
            const char* memory = memory_ + row * room;
            const int64_t phase = row_[row] - memory, start = at_ > 0 ? 0 : phase;
            stream_run(line_[row] + at_ + start, memory + start, (last ? phase + bytes : strip_bytes) - start);
        }
    }
    // Lines that are still to be streamed once the strip has ended.
    int64_t lines() const { return lines_; }
    void stream_lines(int64_t first, int64_t last) const {
        for (int64_t line = first; line < last; ++line) {
            const int64_t row = line / lines_per_row, at = line % lines_per_row * line_bytes;
            const char* from = memory_ + row * room + at;
            char* to = line_[row] + at_ + at;
            for (int64_t i = 0; i < line_bytes; i += vector_bytes) stream(to + i, load<Vector>(from + i));
        }
    }

   private:
    static constexpr int64_t lines_per_row = strip_bytes / line_bytes, room = strip_bytes + line_bytes;

    alignas(line_bytes) char memory_[strip_rows * room];
    char* row_[strip_rows];
    char* line_[strip_rows];  // in the destination, where rows begin
    int64_t rows_, at_ = 0, lines_ = 0;
    bool aligned_ = true;  // all rows begin with a line
};

// Calls `put_together(from, pixels, strip, before)` for the strips of a plane in turn; it returns how many lines of the
// strip before it has streamed meanwhile.
template <int64_t Unit, class PutTogether>
inline void for_each_strip(const Plane p, const char* src, char* dst, PutTogether put_together) {
    constexpr int64_t pixels = strip_bytes / Unit;
    Strip one(dst, p.dst_x, p.count_x), other(dst, p.dst_x, p.count_x);
    Strip *strip = &one, *before = &other;
    for (int64_t y = 0; y < p.count_y; y += pixels) {
        const int64_t count = std::min(pixels, p.count_y - y);
        strip->begin(y * Unit, *before);
        const int64_t streamed = put_together(src + y * p.src_y, count, *strip, *before);
        before->stream_lines(streamed, before->lines());
        strip->end(count * Unit, y + pixels >= p.count_y);
        std::swap(strip, before);
    }
    before->stream_lines(0, before->lines());
}

// Transposes a plane with src_x == dst_y == Unit, src_y == Columns * Unit, count_x == Columns and count_z == 1.
template <int Unit, int Columns>
void scatter_tiles(Plane p, const char* src, char* dst) {
    using V = typename Lanes<Unit>::vector;
    constexpr int side = static_cast<int>(vector_bytes) / Unit;
    constexpr int64_t src_y = Columns * Unit;
    constexpr int64_t lines = side / 4;  // that a tile reads, and that it makes
    for_each_strip<Unit>(p, src, dst, [=](const char* start, int64_t pixels, Strip& strip, const Strip& before) {
        const int64_t all = before.lines();
        int64_t streamed = 0;
        char rest[side * src_y];
        for (int64_t y = 0; y < pixels; y += side) {
            const char *from = start + y * src_y, *soon = from + scattered_ahead;
            if (y + side > pixels) {
                std::memset(rest, 0, sizeof rest);
                std::memcpy(rest, from, static_cast<std::size_t>((pixels - y) * src_y));
                from = rest;
            }
            for (int x = 0; x < Columns; x += side, soon += lines * line_bytes) {
                V row[side];
                for (int i = 0; i < side; ++i) row[i] = load<V>(from + i * src_y + x * Unit);
                transpose(row);
                for (int i = 0; i < side; ++i) store(strip.row(x + i) + y * Unit, row[i]);
                for (int64_t i = 0; i < lines; ++i) __builtin_prefetch(soon + i * line_bytes);
                if (streamed + lines > all) continue;
                before.stream_lines(streamed, streamed + lines);
                streamed += lines;
            }
        }
        return streamed;
    });
}

// The same for units that are longer than an element, with at most `strip_rows` of them along x.
template <int Unit>
void scatter_runs(Plane p, const char* src, char* dst) {
    constexpr int64_t per_line = line_bytes / Unit;
    const int64_t count_x = p.count_x, src_y = p.src_y, ahead = (scattered_ahead + src_y - 1) / src_y * src_y;
    for_each_strip<Unit>(p, src, dst, [=](const char* start, int64_t pixels, Strip& strip, const Strip& before) {
        const int64_t all = before.lines();
        int64_t streamed = 0;
        for (int64_t y = 0; y < pixels; ++y) {
            const char *from = start + y * src_y, *soon = from + ahead;
            int64_t x = 0;
            for (; x + per_line <= count_x; x += per_line) {
                __builtin_prefetch(soon + x * Unit);
                for (int64_t i = x; i < x + per_line; ++i) std::memcpy(strip.row(i) + y * Unit, from + i * Unit, Unit);
                if (streamed == all) continue;
                before.stream_lines(streamed, streamed + 1);
                ++streamed;
            }
            for (; x < count_x; ++x) std::memcpy(strip.row(x) + y * Unit, from + x * Unit, Unit);
        }
        return streamed;
    });
}

}  // namespace xascend
