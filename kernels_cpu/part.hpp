// A part is one strided copy, or a fill: its dimensions, and the plane of them that a kernel walks.
#pragma once

#include <cstdlib>

#include "streamed_tiles.hpp"

namespace xascend {

// `count` steps of `src` bytes in the source and `dst` bytes in the destination; a block takes `block` of them.
struct Dim {
    int64_t count, src, dst, block;
};

constexpr int max_dims = 48;  // each of at least 2 elements: more cannot be addressed

// One number per dimension.
struct Extents {
    int64_t of[max_dims];
};

// Advances `at` to the next index below `size`, the last of the dimensions in `order` first; false after the last.
inline bool advance(const int* order, int dims, int64_t* at, const int64_t* size) {
    for (int i = dims - 1; i >= 0; --i) {
        const int d = order[i];
        if (++at[d] < size[d]) return true;
        at[d] = 0;
    }
    return false;
}

constexpr int64_t page_bytes = 1 << 12;  // what a prefetcher keeps within
constexpr int64_t rows_ahead = 6;        // how early rows are fetched that no prefetcher follows,
constexpr int64_t streamed_ahead = 512;  // and how many bytes early those that are streamed

using Kernel = void (*)(Plane, const char*, char*);

class Part {
   public:
    // Dimensions are sorted: outermost in the destination first.
    const char* src;
    char* dst;
    Dim dim[max_dims];
    int dims = 0;
    int64_t unit;  // bytes that stay together
    bool fills;    // the source is one pattern for all units
    int order[max_dims];  // all, outermost in the source first

    int64_t bytes() const {
        int64_t n = unit;
        for (int d = 0; d < dims; ++d) n *= dim[d].count;
        return n;
    }
    // Bytes behind `dst` that the dimensions from `first` on reach over.
    int64_t reach(int first) const {
        int64_t n = unit;
        for (int d = first; d < dims; ++d) n += (dim[d].count - 1) * dim[d].dst;
        return n;
    }
    // The plane's y is the fastest dimension of the destination, its x the fastest of the source.
    void choose_plane() {
        for (int d = 0; d < dims; ++d) order[d] = d;
        const auto farther = [&](int a, int b) { return std::abs(dim[a].src) > std::abs(dim[b].src); };
        std::stable_sort(order, order + dims, farther);
        y_ = dims - 1;
        for (int d = dims - 2; d >= 0; --d) {
            if (x_ < 0 || std::abs(dim[d].src) < std::abs(dim[x_].src)) x_ = d;
        }
    }
    bool transposes() const {
        return x_ >= 0 && y_ >= 0 && unit <= 8 && dim[x_].src == unit && dim[y_].dst == unit;
    }
    // Whether tiles can be streamed as they are transposed: to columns that follow each other in the destination,
    bool gathers() const { return transposes() && is_column(dim[y_], dim[x_].dst); }
    // or from columns that follow each other in the source, to rows of whole lines.
    bool scatters() const {
        if (x_ < 0 || y_ < 0 || dim[x_].src != unit || dim[y_].dst != unit) return false;
        if (dim[y_].count * unit % line_bytes != 0) return false;
        if (unit < vector_bytes) return is_column(dim[x_], dim[y_].src);
        return unit <= line_bytes && unit % vector_bytes == 0 && dim[x_].count <= strip_rows &&
               dim[y_].src == dim[x_].count * unit && dim[y_].src < page_bytes;
    }
    Dim* x() { return x_ < 0 ? nullptr : &dim[x_]; }
    Dim* y() { return y_ < 0 ? nullptr : &dim[y_]; }

    // Chooses the kernel, and as its z the longest of the other dimensions of a block. With `streamed`, stores of 16
    // bytes and more go past the caches; with `staged`, they go to a stage, and the source is read as it lies.
    void choose_kernel(bool streamed, bool staged) {
        streamed_ = streamed;
        staged_ = staged;
        for (int d = 0; d < dims; ++d) {
            if (d != x_ && d != y_ && (z_ < 0 || dim[d].block >= dim[z_].block)) z_ = d;
        }
        for (int d = 0; d < dims; ++d) {
            if (d != x_ && d != y_ && d != z_) around_[around_count_++] = d;
        }
        if (streamed && (gathers() || scatters())) {
            kernel_ = streamed_tiles();
            return;
        }
        const bool tiles = transposes();
        switch (unit) {
#define XASCEND_UNIT(n)                                              \
    case n:                                                          \
        kernel_ = tiles ? transpose_planes<n> : copy_planes<n, false>; \
        return;
            XASCEND_UNIT(1)
            XASCEND_UNIT(2)
            XASCEND_UNIT(4)
            XASCEND_UNIT(8)
#undef XASCEND_UNIT
#define XASCEND_UNIT(n)                                                  \
    case n:                                                              \
        kernel_ = streamed ? copy_planes<n, true> : copy_planes<n, false>; \
        return;
            XASCEND_UNIT(16)
            XASCEND_UNIT(32)
            XASCEND_UNIT(64)
            XASCEND_UNIT(128)
#undef XASCEND_UNIT
            default:
                kernel_ = streamed ? copy_planes_of_runs<true> : copy_planes_of_runs<false>;
        }
    }

    // Moves `size` of all dimensions.
    void move(const Extents& size, const char* from, const Extents& from_strides, char* to,
              const Extents& to_strides) const {
        Plane p = {0, 0, 0, 0, 0, 0, unit, 1, 1, 1, 0, staged_};
        const auto along = [&](int d, int64_t& src_step, int64_t& dst_step, int64_t& count) {
            if (d < 0) return;
            src_step = from_strides.of[d];
            dst_step = to_strides.of[d];
            count = size.of[d];
        };
        along(x_, p.src_x, p.dst_x, p.count_x);
        along(y_, p.src_y, p.dst_y, p.count_y);
        along(z_, p.src_z, p.dst_z, p.count_z);
        if (staged_ && !transposes()) {
            std::swap(p.src_x, p.src_y);
            std::swap(p.dst_x, p.dst_y);
            std::swap(p.count_x, p.count_y);
            p.ahead = rows_ahead * p.src_x;
        } else if (streamed_ && p.src_x == unit) {
            p.ahead = streamed_ahead;
        }
        int64_t at[max_dims] = {};
        do {
            const char* src_planes = from;
            char* dst_planes = to;
            for (int i = 0; i < around_count_; ++i) {
                src_planes += at[around_[i]] * from_strides.of[around_[i]];
                dst_planes += at[around_[i]] * to_strides.of[around_[i]];
            }
            kernel_(p, src_planes, dst_planes);
        } while (advance(around_, around_count_, at, size.of));
    }

   private:
    int x_ = -1, y_ = -1, z_ = -1;             // dimensions that the kernel walks; -1: none
    int around_[max_dims], around_count_ = 0;  // the other dimensions
    bool streamed_ = false, staged_ = false;
    Kernel kernel_ = nullptr;

    // Whether a dimension is a column for which there are kernels, and the next column follows at once.
    bool is_column(const Dim& along, int64_t apart) const {
        const int64_t bytes = along.count * unit;
        return apart == bytes && unit <= 4 && (bytes == line_bytes / 2 || (bytes == line_bytes && unit > 1));
    }
    Kernel streamed_tiles() const {
        if (unit >= vector_bytes) return unit == 16 ? scatter_runs<16> : unit == 32 ? scatter_runs<32> : scatter_runs<64>;
        const bool gather = gathers();
        const int64_t column = dim[gather ? y_ : x_].count;
        if (unit == 1) return gather ? gather_tiles<1, 32> : scatter_tiles<1, 32>;
        if (unit == 2 && column == 16) return gather ? gather_tiles<2, 16> : scatter_tiles<2, 16>;
        if (unit == 2) return gather ? gather_tiles<2, 32> : scatter_tiles<2, 32>;
        if (column == 8) return gather ? gather_tiles<4, 8> : scatter_tiles<4, 8>;
        return gather ? gather_tiles<4, 16> : scatter_tiles<4, 16>;
    }
};

}  // namespace xascend
