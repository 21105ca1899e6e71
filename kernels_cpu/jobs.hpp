// A job is one strided copy, cut into blocks that stay in the first-level cache.
#pragma once

#include <algorithm>
#include <cstdlib>

#include "tiles.hpp"

#ifndef XASCEND_SMALL_LIMITS
#define XASCEND_SMALL_LIMITS 0  // 1: for tests, to send small arrays down the paths of large ones
#endif

namespace xascend {

// `count` steps of `src` bytes in the source and `dst` bytes in the destination; a block takes `block` of them.
struct Dim {
    int64_t count, src, dst, block;
};

constexpr int max_dims = 48;  // each of at least 2 elements: more cannot be addressed
constexpr int64_t block_limit = 1 << 14;  // one block; a third of a first-level cache
constexpr int64_t stage_limit = 1 << 18;  // a staged block of long rows; half of a second-level cache
constexpr int64_t long_row = 1 << 13;     // of a block whose lines are not all written whole
constexpr int64_t short_row = 1 << 10;    // of the source: ends before a prefetcher has found it
constexpr int64_t open_lines = 4;
constexpr int64_t rows_ahead = 6;         // how early rows are fetched that no prefetcher follows
constexpr int64_t run_limit = 1 << 16;     // longer runs are cut, so that threads can share them
constexpr int64_t pattern_bytes = 1 << 12; // the longest run of padding written at once

struct Extents {
    int64_t of[max_dims];
};

// Where a thread puts a block together.
struct Scratch {
    char* source;
    char* result;
};

using Kernel = void (*)(const Plane&, const char*, char*);

class Job {
   public:
    // Dimensions are sorted: outermost in the destination first. `src_end` is the end of what the copy reads.
    const char* src;
    char* dst;
    const char* src_end;
    Dim dim[max_dims];
    int dims = 0;
    int64_t unit;  // bytes that stay together

    // Chooses kernel and blocks; `may_stream` says that the conversion is larger than the caches.
    void prepare(bool may_stream);

    int64_t blocks() const {
        int64_t n = 1;
        for (int d = 0; d < dims; ++d) n *= blocks_along(d);
        return n;
    }
    int64_t bytes() const {
        int64_t n = unit;
        for (int d = 0; d < dims; ++d) n *= dim[d].count;
        return n;
    }
    // Bytes of scratch memory that a block needs; of the source's, a vector more may be read.
    int64_t source_bytes() const { return gathers_ ? block_bytes() + vector_bytes : 0; }
    int64_t result_bytes() const { return staged_ ? block_bytes() : 0; }
    // Carries out the blocks from `first` to `last`.
    void run(int64_t first, int64_t last, const Scratch& scratch) const;

   private:
    int x_ = -1, y_ = -1;  // dimensions that the kernel walks; -1: none
    int order_[max_dims];  // dimensions in the order of the source, in which blocks follow each other
    int around_[max_dims], around_count_ = 0;  // the other dimensions
    bool gathers_ = false;  // blocks are copied to scratch memory before they are rearranged
    bool staged_ = false;   // blocks are put together in scratch memory first
    bool streams_ = false;  // stores go past the caches
    Kernel kernel_ = nullptr;

    int64_t blocks_along(int d) const { return (dim[d].count + dim[d].block - 1) / dim[d].block; }
    bool transposes() const { return x_ >= 0 && y_ >= 0 && unit <= 8 && dim[x_].src == unit && dim[y_].dst == unit; }
    void choose_plane();
    void choose_blocks(int64_t src_target, int64_t dst_target);
    void fit_blocks(int64_t src_target, int64_t dst_target, int64_t limit);
    void choose_kernel(bool streamed);
    int64_t block_bytes() const;
    int64_t result_row() const;
    bool is_aligned() const;
    bool scatters() const;
    bool aliases() const;
    int64_t source_row() const;
    void gather(const Extents& size, const char* from, char* source, Extents& strides) const;
    void move(const Extents& size, const char* from, const Extents& from_strides, char* to,
              const Extents& to_strides) const;
    template <class Row>
    void for_each_row(const Extents& size, char* to, Row row) const;
    void flush(const Extents& size, const char* stage, char* to) const;
};

// ---- choices, made once per job ----

inline void Job::prepare(bool may_stream) {
    for (int d = 0; d < dims; ++d) order_[d] = d;
    // Reads that follow each other are fetched ahead of time; streamed stores may go anywhere.
    std::stable_sort(order_, order_ + dims, [&](int a, int b) { return std::abs(dim[a].src) > std::abs(dim[b].src); });
    choose_plane();
    fit_blocks(256, 512, block_limit);
    streams_ = may_stream && result_row() >= 4 * line_bytes;
    staged_ = scatters() || (streams_ && unit < 4 * line_bytes && !is_aligned());
    // A line that is stored in two parts has to be read first, and streams wait for it: few of them, then.
    const bool long_rows = staged_ && streams_ && !is_aligned();
    if (long_rows) fit_blocks(512, long_row, stage_limit);
    gathers_ = transposes() && source_row() < short_row && (long_rows || aliases());
    choose_kernel(streams_ && !staged_);
}

// The plane's y is the fastest dimension of the destination, its x the fastest of the source.
inline void Job::choose_plane() {
    y_ = dims - 1;
    for (int d = dims - 2; d >= 0; --d) {
        if (x_ < 0 || std::abs(dim[d].src) < std::abs(dim[x_].src)) x_ = d;
    }
    for (int d = 0; d < dims; ++d) {
        if (d != x_ && d != y_) around_[around_count_++] = d;
    }
}

// Lets a block grow along neighbours in the destination, and then in the source, to the wanted bytes in a row.
inline void Job::choose_blocks(int64_t src_target, int64_t dst_target) {
    const int64_t step = transposes() ? vector_bytes / unit : 1;  // whole tiles
    for (int d = 0; d < dims; ++d) dim[d].block = 1;
    const auto grow = [&](int d, int64_t least) {
        least = (least + step - 1) / step * step;
        dim[d].block = std::min(dim[d].count, std::max(dim[d].block, least));
        return dim[d].block == dim[d].count;
    };
    int64_t row = unit;
    for (int d = dims - 1; d >= 0 && row < dst_target && dim[d].dst == row; --d) {
        if (!grow(d, (dst_target + row - 1) / row)) break;
        row *= dim[d].count;
    }
    row = unit;
    for (bool found = true; found && row < src_target;) {
        found = false;
        for (int d = 0; d < dims && !found; ++d) {
            if (dim[d].src == row && dim[d].count > 1) {
                found = grow(d, (src_target + row - 1) / row);
                row = found ? row * dim[d].count : src_target;
            }
        }
    }
    if (x_ >= 0) grow(x_, 8);
    if (y_ >= 0) grow(y_, 8);
}

inline void Job::fit_blocks(int64_t src_target, int64_t dst_target, int64_t limit) {
    for (; src_target >= line_bytes / 2; dst_target /= 2, src_target /= 2) {
        choose_blocks(src_target, dst_target);
        if (block_bytes() <= limit) break;
    }
}

inline int64_t Job::block_bytes() const {
    int64_t bytes = unit;
    for (int d = 0; d < dims; ++d) bytes *= dim[d].block;
    return bytes;
}

// Whether a tile's rows lie on more lines than the processor holds open for stores.
inline bool Job::scatters() const {
    const bool follow = transposes() && dim[x_].dst == dim[y_].block * unit;
    return transposes() && (!follow || dim[x_].dst * (vector_bytes / unit) > open_lines * line_bytes);
}

// Bytes of a block that follow each other in the destination.
inline int64_t Job::result_row() const {
    int64_t row = unit;
    for (int d = dims - 1; d >= 0 && dim[d].dst == row; --d) row *= dim[d].block;
    return row;
}

// Whether rows of a block fall into few sets of a cache, because they lie a multiple of 2 KiB apart.
inline bool Job::aliases() const {
    int64_t rows = 1;
    for (int d = 0; d < dims; ++d) {
        if (dim[d].src != 0 && dim[d].src % 2048 == 0) rows *= dim[d].block;
    }
    return unit <= 2 && rows >= 16 && source_row() >= line_bytes && block_bytes() <= block_limit;
}

// Bytes of a block that follow each other in the source.
inline int64_t Job::source_row() const {
    int64_t row = unit;
    for (int i = dims - 1; i >= 0 && dim[order_[i]].src == row; --i) row *= dim[order_[i]].block;
    return row;
}

// Whether a kernel's every store is a whole aligned vector, and every block is whole cache lines.
inline bool Job::is_aligned() const {
    if (unit % vector_bytes && (!transposes() || dim[y_].count * unit % vector_bytes)) return false;
    int64_t all = reinterpret_cast<std::intptr_t>(dst) | result_row();
    int64_t row = unit;
    for (int d = dims - 1; d >= 0; --d) {
        if (dim[d].dst != row) all |= dim[d].dst;
        row = dim[d].dst == row ? row * dim[d].count : -1;
    }
    return all % line_bytes == 0;
}

inline void Job::choose_kernel(bool streamed) {
    const bool tiles = transposes();
    switch (unit) {
#define XASCEND_UNIT(n)                                                                      \
    case n:                                                                                  \
        kernel_ = tiles ? (streamed ? transpose_plane<n, true> : transpose_plane<n, false>) \
                        : copy_plane<n, false>;                                              \
        return;
        XASCEND_UNIT(1)
        XASCEND_UNIT(2)
        XASCEND_UNIT(4)
        XASCEND_UNIT(8)
#undef XASCEND_UNIT
#define XASCEND_UNIT(n)                                                  \
    case n:                                                              \
        kernel_ = streamed ? copy_plane<n, true> : copy_plane<n, false>; \
        return;
        XASCEND_UNIT(16)
        XASCEND_UNIT(32)
        XASCEND_UNIT(64)
        XASCEND_UNIT(128)
#undef XASCEND_UNIT
        default:
            kernel_ = streamed ? copy_plane_of_runs<true> : copy_plane_of_runs<false>;
    }
}

// ---- work, block by block ----

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

// Calls `row(address, bytes)` for every stretch of a block that lies together in the destination.
template <class Row>
inline void Job::for_each_row(const Extents& size, char* to, Row row) const {
    int natural[max_dims];
    for (int d = 0; d < dims; ++d) natural[d] = d;
    int outer = dims;
    int64_t bytes = unit;
    while (outer > 0 && dim[outer - 1].dst == bytes) bytes *= size.of[--outer];
    int64_t at[max_dims] = {};
    do {
        char* address = to;
        for (int d = 0; d < outer; ++d) address += at[d] * dim[d].dst;
        row(address, bytes);
    } while (advance(natural, outer, at, size.of));
}

// Writes a staged block, in rows as long as the destination has them.
inline void Job::flush(const Extents& size, const char* stage, char* to) const {
    for_each_row(size, to, [&](char* row, int64_t bytes) {
        if (streams_) {
            stream_run(row, stage, bytes);
        } else {
            copy_run(row, stage, bytes);
        }
        stage += bytes;
    });
}

}  // namespace xascend
