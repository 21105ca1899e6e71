// How a job is carried out: its plane, its blocks, its kernel and the way of its stores. The limits were measured.
#pragma once

#include <cstdlib>

#include "job.hpp"

namespace xascend {

constexpr int64_t block_limit = 1 << 14;  // bytes of a block: a third of a first-level cache
constexpr int64_t stage_limit = 1 << 18;  // of a staged block of long rows: half of a second-level cache
constexpr int64_t long_row = 1 << 13;     // of the result, where its lines are not all written whole
constexpr int64_t short_row = 1 << 10;    // of the source: ends before a prefetcher has found it
constexpr int64_t open_lines = 4;         // that a processor surely puts together at the same time

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

// Whether a tile's rows lie on more lines than the processor holds open for stores.
inline bool Job::scatters() const {
    if (!transposes()) return false;
    const int64_t tile_bytes = vector_bytes / unit * dim[x_].dst;
    return dim[x_].dst != dim[y_].block * unit || tile_bytes > open_lines * line_bytes;
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

}  // namespace xascend
