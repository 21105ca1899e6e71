// How a job is carried out: its blocks, their order and the way of its stores. The limits were measured.
#pragma once

#include "job.hpp"

namespace xascend {

// Bytes of blocks, and of their rows in the destination and the source.
constexpr int64_t block_limit = 1 << 14;  // a third of a first-level cache
constexpr int64_t near_row = 1 << 9;      // caches hold the results
constexpr int64_t direct_row = 1 << 7;    // streamed without a stage: few rows of the source at a time, far along each
#if XASCEND_SMALL_LIMITS  // for tests, to send small arrays the ways of large ones
constexpr int64_t near_limit = 1 << 14, near_source_row = 256;
constexpr int64_t stage_limit = 1 << 11, stage_row = 256, stage_source_row = 128;
constexpr int64_t gathered_limit = 1 << 13, gathered_row = 256;
constexpr int64_t scattered_limit = 512, scattered_row = 256, joined_row = 512;
constexpr int64_t direct_source_row = 256, long_unit = 1 << 10, page_bytes = 256;
#else
constexpr int64_t near_limit = 1 << 16;  // each block costs as much as moving some KiB
constexpr int64_t near_source_row = 1 << 14;
constexpr int64_t stage_limit = 1 << 15;  // put together before it is streamed
constexpr int64_t stage_row = 1 << 11;
constexpr int64_t stage_source_row = 1 << 10;
constexpr int64_t gathered_limit = 1 << 17;
constexpr int64_t gathered_row = 1 << 12;
constexpr int64_t scattered_limit = 1 << 14;  // of a row
constexpr int64_t scattered_row = 1 << 11;    // rows that are shorter have to be whole lines
constexpr int64_t joined_row = 1 << 14;       // along the source
constexpr int64_t direct_source_row = 1 << 11;
constexpr int64_t long_unit = 1 << 12;   // streamed as it is read
constexpr int64_t page_bytes = 1 << 12;  // what a prefetcher keeps within
#endif
constexpr int64_t cache_ways = 8;  // lines 2 KiB apart that a cache surely holds

inline void Job::prepare(bool may_stream) {
    for (int i = 0; i < count; ++i) parts[i].choose_plane();
    if (may_stream) {
        fit_blocks(stage_source_row, stage_row, stage_limit);
        if (!is_aligned(line_bytes)) fit_long_blocks();
        streams_ = result_row() >= 2 * line_bytes;
    }
    const Stores stores = streams_ ? streamed_stores() : usual_stores(may_stream);
    staged_ = stores == Stores::staged;
    if (stores == Stores::streamed) fit_blocks(direct_source_row, direct_row, block_limit);
    // Kernels rely on it: gathered blocks have whole columns, scattered ones `strip_rows`, joined ones `joined_bytes`.
    if (stores == Stores::gathered) fit_blocks(gathered_row, gathered_row, gathered_limit);
    if (stores == Stores::scattered) fit_plane(strip_rows * parts->unit, scattered_limit);
    if (stores == Stores::joined) fit_plane(joined_row, joined_bytes);
    choose_order();
    if (staged_) lay_out_stage();
    for (int i = 0; i < count; ++i) {
        for (int d = 0; d < parts[i].dims; ++d) {
            parts[i].dim[d].block = d < shared ? dim(d).block : parts[i].dim[d].count;
        }
        parts[i].choose_kernel(stores);
    }
}

// How a job is carried out whose results caches hold, or whose rows are short.
inline Stores Job::usual_stores(bool may_stream) {
    fit_blocks(near_source_row, near_row, near_limit);
    if (collides() || pads()) return Stores::staged;
    return may_stream && count == 1 && parts->is_lone() ? Stores::lone : Stores::usual;
}

// How a job is streamed. It needs no stage where its units are long, where they are whole vectors that fill lines at
// once and come from rows that each are a stream of their own, so that all are fetched ahead of time, and where there
// is a kernel for its shape.
inline Stores Job::streamed_stores() {
    if (count > 1) return Stores::staged;
    if (parts->unit >= long_unit) return Stores::streamed;
    if (!parts->y()) return Stores::staged;
    const Dim& y = *parts->y();
    const bool whole_lines = is_aligned(line_bytes), apart = std::abs(y.src) >= page_bytes;
    if (whole_lines && apart && parts->unit % vector_bytes == 0) return Stores::streamed;
    if (parts->gathers() && is_aligned(vector_bytes)) return Stores::gathered;
    if (parts->joins() && apart) return Stores::joined;
    const int64_t row = y.count * parts->unit;
    const bool ends = row >= scattered_row || (whole_lines && row % line_bytes == 0);  // of rows cost little
    return parts->scatters() && ends ? Stores::scattered : Stores::staged;
}

// Lets a block grow along neighbours in the destination, and then in the source, to the wanted bytes in a row, or twice
// as many where nothing is left then.
inline void Job::choose_blocks(int64_t src_target, int64_t dst_target) {
    Part& part = *parts;
    const int64_t step = part.transposes() ? vector_bytes / part.unit : 1;  // whole tiles
    for (int d = 0; d < part.dims; ++d) part.dim[d].block = d < shared ? 1 : part.dim[d].count;
    const auto grow = [&](Dim& dim, int64_t least) {
        if (&dim == part.x() || &dim == part.y()) least = (least + step - 1) / step * step;
        dim.block = dim.count <= 2 * least ? dim.count : std::max(dim.block, least);
        return dim.block == dim.count;
    };
    int64_t row = extent;
    for (int d = shared - 1; d >= 0 && row < dst_target && part.dim[d].dst == row; --d) {
        if (!grow(part.dim[d], (dst_target + row - 1) / row)) break;
        row *= part.dim[d].count;
    }
    row = part.unit;
    for (int i = part.dims - 1; i >= 0 && row < src_target; --i) {
        Dim& dim = part.dim[part.order[i]];
        if (dim.src != row || !grow(dim, (src_target + row - 1) / row)) break;
        row *= dim.count;
    }
    if (part.x()) grow(*part.x(), 8);
    if (part.y()) grow(*part.y(), 8);
}

// Lets a block have up to so many bytes along the sides of a plane, in about equal shares of whole strips.
inline void Job::fit_plane(int64_t x_bytes, int64_t y_bytes) {
    for (int d = 0; d < shared; ++d) parts->dim[d].block = 1;
    const auto share = [&](Dim& dim, int64_t bytes) {
        const int64_t most = bytes / parts->unit, shares = (dim.count + most - 1) / most;
        const int64_t strip = strip_bytes / parts->unit, strips = (dim.count + shares * strip - 1) / (shares * strip);
        dim.block = std::min(dim.count, strips * strip);
    };
    share(*parts->x(), x_bytes);
    share(*parts->y(), y_bytes);
}

inline void Job::fit_blocks(int64_t src_target, int64_t dst_target, int64_t limit) {
    for (; src_target >= line_bytes / 2; dst_target /= 2, src_target /= 2) {
        choose_blocks(src_target, dst_target);
        if (result_bytes_of_block() <= limit) break;
    }
}

// Where the ends of rows are not whole lines, there should be few of them: what is small may be long in the
// destination; else blocks are longer in the source too, which is read by pages, and as long in the destination as a
// stage allows.
inline void Job::fit_long_blocks() {
    choose_blocks(stage_source_row, 4 * stage_row);
    if (result_bytes_of_block() <= block_limit) return;
    for (int64_t dst_target = 4 * stage_row; dst_target >= stage_row; dst_target /= 2) {
        choose_blocks(2 * stage_source_row, dst_target);
        if (result_bytes_of_block() <= 4 * stage_limit) return;
    }
    fit_blocks(2 * stage_source_row, stage_row / 2, 4 * stage_limit);
}

// Reads that follow each other are fetched ahead of time, while rows may be written in any order; but where the lines
// at their ends are not whole, the blocks of a row have to follow each other.
inline void Job::choose_order() {
    int n = 0;
    for (int i = 0; i < parts->dims; ++i) {
        if (parts->order[i] < shared) order_[n++] = parts->order[i];
    }
    result_row();
    carries_ = streams_ && staged_ && row_from_ < shared && blocks_along(row_from_) > 1 && !is_aligned(line_bytes);
    if (carries_) {
        int* along_row = std::find(order_, order_ + n, row_from_);
        std::rotate(along_row, along_row + 1, order_ + n);
    }
}

// Rows of a stage lie apart: before each is room for what the block before has left, behind each for a vector.
inline void Job::lay_out_stage() {
    int64_t row = extent;
    for (int d = row_from_; d < shared; ++d) {
        staged_strides_.of[d] = dim(d).dst;
        row *= dim(d).block;
    }
    staged_bytes_ = (row + line_bytes - 1) / line_bytes * line_bytes + 2 * line_bytes;
    for (int d = row_from_ - 1; d >= 0; --d) {
        staged_strides_.of[d] = staged_bytes_;
        staged_bytes_ *= dim(d).block;
    }
}

// Whether padding lies between the elements: in a stage it stays from one block to the next.
inline bool Job::pads() const {
    return count > 1 && std::any_of(parts, parts + count, [](const Part& part) { return part.fills; });
}

// Whether a tile's rows push each other out of a cache, because they lie a multiple of 2 KiB apart.
inline bool Job::collides() const {
    if (!parts->transposes()) return false;
    const int64_t rows = vector_bytes / parts->unit;
    return rows > cache_ways && rows <= parts->x()->block && parts->x()->dst % 2048 == 0;
}

// Bytes of a block that follow each other in the destination.
inline int64_t Job::result_row() {
    int64_t row = extent;
    row_from_ = shared;
    while (row_from_ > 0 && dim(row_from_ - 1).dst == row) {
        row *= dim(--row_from_).block;
        if (dim(row_from_).block < dim(row_from_).count) break;
    }
    return row;
}

// Whether every row of every block begins and ends at a multiple of `bytes`.
inline bool Job::is_aligned(int64_t bytes) {
    int64_t all = reinterpret_cast<std::intptr_t>(dst) | result_row();
    for (int d = 0; d < row_from_; ++d) all |= dim(d).dst;
    return all % bytes == 0;
}

}  // namespace xascend
