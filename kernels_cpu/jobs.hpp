// A job is one strided copy, cut into blocks that stay in the first-level cache.
#pragma once

#include <algorithm>

#include "tiles.hpp"

namespace xascend {

// `count` steps of `src` bytes in the source and `dst` bytes in the destination; a block takes `block` of them.
struct Dim {
    int64_t count, src, dst, block;
};

constexpr int max_dims = 16;
constexpr int64_t stage_bytes = 1 << 14;   // one block; a third of a first-level cache
constexpr int64_t run_limit = 1 << 16;     // longer runs are cut, so that threads can share them
constexpr int64_t pattern_bytes = 1 << 12; // the longest run of padding written at once

struct Extents {
    int64_t of[max_dims];
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
    bool staged = false;

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
    // Carries out the blocks from `first` to `last`; `stage` is scratch memory of `stage_bytes`, 64-byte aligned.
    void run(int64_t first, int64_t last, char* stage) const;

   private:
    int x_ = -1, y_ = -1;  // dimensions that the kernel walks; -1: none
    int order_[max_dims];  // dimensions in the order of the source, in which blocks follow each other
    int around_[max_dims], around_count_ = 0;  // the other dimensions
    Kernel kernel_ = nullptr;

    int64_t blocks_along(int d) const { return (dim[d].count + dim[d].block - 1) / dim[d].block; }
    bool transposes() const { return x_ >= 0 && y_ >= 0 && unit <= 8 && dim[x_].src == unit && dim[y_].dst == unit; }
    void choose_plane();
    void choose_blocks(int64_t src_target, int64_t dst_target);
    void choose_kernel(bool streamed);
    int64_t block_bytes() const;
    int64_t contiguous_bytes() const;
    bool is_aligned() const;
    bool scatters() const { return transposes() && dim[x_].dst != dim[y_].block * unit; }
    void move(const Extents& size, const char* from, char* to, const Extents& to_strides) const;
    void flush(const Extents& size, const char* stage, char* to) const;
};

// ---- choices, made once per job ----

inline void Job::prepare(bool may_stream) {
    for (int d = 0; d < dims; ++d) order_[d] = d;
    // Reads that follow each other are fetched ahead of time; streamed stores may go anywhere.
    std::stable_sort(order_, order_ + dims, [&](int a, int b) { return std::abs(dim[a].src) > std::abs(dim[b].src); });
    choose_plane();
    for (int64_t target = 512; target >= line_bytes; target /= 2) {
        choose_blocks(target / 2, target);
        if (block_bytes() <= stage_bytes) break;
    }
    bool streamed = may_stream && contiguous_bytes() >= 4 * line_bytes;
    if (streamed && unit < 4 * line_bytes && (!is_aligned() || scatters())) {
        staged = block_bytes() <= stage_bytes;
        streamed = false;
    }
    choose_kernel(streamed);
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

inline int64_t Job::block_bytes() const {
    int64_t bytes = unit;
    for (int d = 0; d < dims; ++d) bytes *= dim[d].block;
    return bytes;
}

// Bytes of a block that follow each other in the destination.
inline int64_t Job::contiguous_bytes() const {
    int64_t row = unit;
    for (int d = dims - 1; d >= 0 && dim[d].dst == row; --d) row *= dim[d].block;
    return row;
}

// Whether a kernel's every store is a whole aligned vector.
inline bool Job::is_aligned() const {
    int64_t all = reinterpret_cast<std::intptr_t>(dst) | (transposes() ? dim[y_].block * unit : unit);
    for (int d = 0; d < dims; ++d) all |= d == y_ && transposes() ? 0 : dim[d].dst;
    return all % vector_bytes == 0 && (!transposes() || dim[y_].count * unit % vector_bytes == 0);
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

inline void Job::run(int64_t first, int64_t last, char* stage) const {
    int64_t at[max_dims];
    int64_t per_dim[max_dims];
    int64_t rest = first;
    for (int i = dims - 1; i >= 0; --i) {
        const int d = order_[i];
        per_dim[d] = blocks_along(d);
        at[d] = rest % per_dim[d];
        rest /= per_dim[d];
    }
    Extents dst_strides;
    for (int d = 0; d < dims; ++d) dst_strides.of[d] = dim[d].dst;
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
        if (staged) {
            Extents strides;
            int64_t row = unit;
            for (int d = dims - 1; d >= 0; --d) {
                strides.of[d] = row;
                row *= size.of[d];
            }
            move(size, from, stage, strides);
            flush(size, stage, to);
        } else {
            move(size, from, to, dst_strides);
        }
        advance(order_, dims, at, per_dim);
    }
}

inline void Job::move(const Extents& size, const char* from, char* to, const Extents& to_strides) const {
    Plane p = {0, 0, 0, 0, unit, 1, 1, src_end};
    if (x_ >= 0) {
        p.src_x = dim[x_].src;
        p.dst_x = to_strides.of[x_];
        p.count_x = size.of[x_];
    }
    if (y_ >= 0) {
        p.src_y = dim[y_].src;
        p.dst_y = to_strides.of[y_];
        p.count_y = size.of[y_];
    }
    int64_t at[max_dims] = {};
    do {
        const char* src_plane = from;
        char* dst_plane = to;
        for (int i = 0; i < around_count_; ++i) {
            src_plane += at[around_[i]] * dim[around_[i]].src;
            dst_plane += at[around_[i]] * to_strides.of[around_[i]];
        }
        kernel_(p, src_plane, dst_plane);
    } while (advance(around_, around_count_, at, size.of));
}

// Streams a staged block out, in rows as long as the destination has them.
inline void Job::flush(const Extents& size, const char* stage, char* to) const {
    static constexpr int natural[max_dims] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15};
    int outer = dims;
    int64_t row = unit;
    while (outer > 0 && dim[outer - 1].dst == row) row *= size.of[--outer];
    int64_t at[max_dims] = {};
    do {
        char* dst_row = to;
        for (int d = 0; d < outer; ++d) dst_row += at[d] * dim[d].dst;
        stream_run(dst_row, stage, row);
        stage += row;
    } while (advance(natural, outer, at, size.of));
}

}  // namespace xascend
