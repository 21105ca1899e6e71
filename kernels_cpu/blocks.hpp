// A job's work, block by block: gather, move, flush.
#pragma once

#include "job.hpp"

namespace xascend {

constexpr int64_t rows_ahead = 6;  // how early rows are fetched that no prefetcher follows

// Advances `at` to the next index below `size`, the last of the dimensions in `order` first; false after the last.
inline bool advance(const int* order, int dims, int64_t* at, const int64_t* size) {
    for (int i = dims - 1; i >= 0; --i) {
        const int d = order[i];
        if (++at[d] < size[d]) return true;
        at[d] = 0;
    }
    return false;
}

inline void Job::run(int64_t first, int64_t last, const Scratch& scratch) const {
    int64_t at[max_dims];
    int64_t per_dim[max_dims];
    int64_t rest = first;
    for (int i = dims - 1; i >= 0; --i) {
        const int d = order_[i];
        per_dim[d] = blocks_along(d);
        at[d] = rest % per_dim[d];
        rest /= per_dim[d];
    }
    Extents src_strides, dst_strides;
    for (int d = 0; d < dims; ++d) {
        src_strides.of[d] = dim[d].src;
        dst_strides.of[d] = dim[d].dst;
    }
    for (int64_t block = first; block < last; ++block) {
        Extents size;
        const char* from = src;
        char* to = dst;
        for (int d = 0; d < dims; ++d) {
            const int64_t start = at[d] * dim[d].block;
            size.of[d] = std::min(dim[d].block, dim[d].count - start);
            from += start * dim[d].src;
            to += start * dim[d].dst;
        }
        Extents strides = src_strides;
        if (gathers_) {
            gather(size, from, scratch.source, strides);
            from = scratch.source;
        }
        if (staged_) {
            Extents staged;
            int64_t row = unit;
            for (int d = dims - 1; d >= 0; --d) {
                staged.of[d] = row;
                row *= size.of[d];
            }
            move(size, from, strides, scratch.result, staged);
            flush(size, scratch.result, to);
        } else {
            move(size, from, strides, to, dst_strides);
        }
        advance(order_, dims, at, per_dim);
    }
}

// Reads a block, stretch by stretch, into memory where no two of its lines push each other out of the cache.
inline void Job::gather(const Extents& size, const char* from, char* source, Extents& strides) const {
    int outer = dims;
    int64_t bytes = unit;
    for (; outer > 0 && dim[order_[outer - 1]].src == bytes; --outer) {
        strides.of[order_[outer - 1]] = bytes;
        bytes *= size.of[order_[outer - 1]];
    }
    int64_t pitch = bytes;
    for (int i = outer - 1; i >= 0; --i) {
        strides.of[order_[i]] = pitch;
        pitch *= size.of[order_[i]];
    }
    const int64_t ahead = outer > 0 ? rows_ahead * dim[order_[outer - 1]].src : 0;
    int64_t at[max_dims] = {};
    do {
        const char* row = from;
        for (int i = 0; i < outer; ++i) row += at[order_[i]] * dim[order_[i]].src;
        for (int64_t line = 0; line < bytes; line += line_bytes) __builtin_prefetch(row + ahead + line);
        copy_run(source, row, bytes);
        source += bytes;
    } while (advance(order_, outer, at, size.of));
}

inline void Job::move(const Extents& size, const char* from, const Extents& from_strides, char* to,
                      const Extents& to_strides) const {
    const char* end = gathers_ ? from + source_bytes() : src_end;
    Plane p = {0, 0, 0, 0, unit, 1, 1, end, 0};
    if (x_ >= 0) {
        p.src_x = from_strides.of[x_];
        p.dst_x = to_strides.of[x_];
        p.count_x = size.of[x_];
    }
    if (y_ >= 0) {
        p.src_y = from_strides.of[y_];
        p.dst_y = to_strides.of[y_];
        p.count_y = size.of[y_];
    }
    if (staged_ && !transposes()) {  // the source is read in its own order
        std::swap(p.src_x, p.src_y);
        std::swap(p.dst_x, p.dst_y);
        std::swap(p.count_x, p.count_y);
        p.ahead = rows_ahead * p.src_x;
    }
    int64_t at[max_dims] = {};
    do {
        const char* src_plane = from;
        char* dst_plane = to;
        for (int i = 0; i < around_count_; ++i) {
            src_plane += at[around_[i]] * from_strides.of[around_[i]];
            dst_plane += at[around_[i]] * to_strides.of[around_[i]];
        }
        kernel_(p, src_plane, dst_plane);
    } while (advance(around_, around_count_, at, size.of));
}

// Writes a staged block, in rows as long as the destination has them.
inline void Job::flush(const Extents& size, const char* result, char* to) const {
    int outer[max_dims];
    int rows = dims;
    int64_t bytes = unit;
    while (rows > 0 && dim[rows - 1].dst == bytes) bytes *= size.of[--rows];
    for (int d = 0; d < rows; ++d) outer[d] = d;
    int64_t at[max_dims] = {};
    do {
        char* row = to;
        for (int d = 0; d < rows; ++d) row += at[d] * dim[d].dst;
        if (streams_) {
            stream_run(row, result, bytes);
        } else {
            copy_run(row, result, bytes);
        }
        result += bytes;
    } while (advance(outer, rows, at, size.of));
}

}  // namespace xascend
