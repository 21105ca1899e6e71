// A job's work, block by block: move, flush.
#pragma once

#include "ahead.hpp"

namespace xascend {

inline void Job::locate(const int64_t* at, Block& block) const {
    for (int d = 0; d < shared; ++d) {
        block.first.of[d] = at[d] * dim(d).block;
        block.size.of[d] = std::min(dim(d).block, dim(d).count - block.first.of[d]);
    }
}

inline void Job::run(int64_t first, int64_t last, char* stage) const {
    int64_t at[max_dims];
    int64_t per_dim[max_dims];
    int64_t rest = first;
    for (int i = shared - 1; i >= 0; --i) {
        const int d = order_[i];
        per_dim[d] = blocks_along(d);
        at[d] = rest % per_dim[d];
        rest /= per_dim[d];
    }
    stage += line_bytes;  // room for what a first row is to continue
    if (staged_) fill(stage);
    Block pair[2];
    locate(at, pair[first % 2]);
    for (int64_t done = first; done < last; ++done) {
        const Block& block = pair[done % 2];
        Block& next = pair[(done + 1) % 2];
        const bool continues = carries_ && done > first && at[row_from_] > 0;
        const bool more = done + 1 < last && advance(order_, shared, at, per_dim);
        const bool continued = carries_ && more && at[row_from_] > 0;
        if (more) locate(at, next);
        char* to = dst;
        for (int d = 0; d < shared; ++d) to += block.first.of[d] * dim(d).dst;
        for (int i = 0; i < count; ++i) {
            if (!staged_) {
                move(parts[i], block, to + (parts[i].dst - dst), nullptr);
            } else if (!parts[i].fills) {
                move(parts[i], block, stage + (parts[i].dst - dst), &staged_strides_);
            }
        }
        if (staged_) {
            Ahead ahead(*this, more ? &next : nullptr);
            flush(block.size, stage, to, continues, continued, ahead);
        }
    }
}

// Puts padding where it is to stay from one block to the next.
inline void Job::fill(char* stage) const {
    Block largest;
    for (int d = 0; d < shared; ++d) {
        largest.first.of[d] = 0;
        largest.size.of[d] = dim(d).block;
    }
    for (int i = 0; i < count; ++i) {
        if (parts[i].fills) move(parts[i], largest, stage + (parts[i].dst - dst), &staged_strides_);
    }
}

// Carries out a block of one part; `strides` are those of the shared dimensions at `to`, if they are not as they were.
inline void Job::move(const Part& part, const Block& block, char* to, const Extents* strides) const {
    Extents size, src_strides, dst_strides;
    const char* from = part.src;
    for (int d = 0; d < part.dims; ++d) {
        size.of[d] = d < shared ? block.size.of[d] : part.dim[d].count;
        src_strides.of[d] = part.dim[d].src;
        dst_strides.of[d] = d < shared && strides ? strides->of[d] : part.dim[d].dst;
        if (d < shared) from += block.first.of[d] * part.dim[d].src;
    }
    part.move(size, from, src_strides, to, dst_strides);
}

// Writes a staged block row by row. A row that `continues` another begins with what that one left over; one that is
// `continued` leaves what does not fill a line to the next, so that lines are written whole.
inline void Job::flush(const Extents& size, char* stage, char* to, bool continues, bool continued,
                       Ahead& ahead) const {
    int64_t row_bytes = extent;
    for (int d = row_from_; d < shared; ++d) row_bytes *= size.of[d];
    int outer[max_dims];
    for (int d = 0; d < row_from_; ++d) outer[d] = d;
    int64_t at[max_dims] = {};
    do {
        char* row = to;
        char* from = stage;
        for (int d = 0; d < row_from_; ++d) {
            row += at[d] * dim(d).dst;
            from += at[d] * staged_strides_.of[d];
        }
        const int64_t before = continues ? reinterpret_cast<std::intptr_t>(row) & (line_bytes - 1) : 0;
        const int64_t left = continued ? reinterpret_cast<std::intptr_t>(row + row_bytes) & (line_bytes - 1) : 0;
        const int64_t bytes = before + row_bytes - left;
        if (streams_) {
            stream_run(row - before, from - before, bytes, ahead);
        } else {
            copy_run(row, from, row_bytes);
        }
        if (left) std::memmove(from - left, from + row_bytes - left, static_cast<std::size_t>(left));
    } while (advance(outer, row_from_, at, size.of));
}

}  // namespace xascend
