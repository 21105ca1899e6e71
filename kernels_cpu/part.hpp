// A part is one strided copy, or a fill: its dimensions, and the plane of them that a kernel walks.
#pragma once

#include <cstdlib>

#include "streamed.hpp"

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

constexpr int64_t rows_ahead = 6;        // how early rows are fetched that no prefetcher follows,
constexpr int64_t streamed_ahead = 512;  // and how many bytes early those that are streamed

using Kernel = void (*)(Plane, const char*, char*);

// How a part is carried out, and where its kernel's stores go.
enum class Stores {
    usual,      // as the processor does it
    staged,     // to a stage, which is streamed later; the source is read as it lies
    streamed,   // past the caches: units of 16 bytes and more
    gathered,   // past the caches: whole columns of tiles
    scattered,  // past the caches: strips of rows
    joined,     // past the caches: short pieces of rows, put together from runs
    lone,       // past the caches: units that each have a line for themselves, most of which belongs to something else
};

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
    // Whether there are kernels for the shape of the part: for columns that follow each other in the destination,
    bool gathers() const { return transposes() && is_column(dim[x_].dst) && dim[y_].count * unit == dim[x_].dst; }
    // for columns of elements that follow each other in the source, and for units that do in any column,
    bool scatters() const {
        if (transposes()) return is_column(dim[y_].src) && dim[x_].count * unit == dim[y_].src;
        return has_rows_of_vectors() && dim[x_].count * unit <= dim[y_].src;
    }
    // and for units of many rows.
    bool joins() const {
        return has_rows_of_vectors() && dim[x_].count * unit >= joined_bytes && dim[y_].count * unit >= joined_bytes;
    }
    // Whether each unit has a line for itself, most of which belongs to something else.
    bool is_lone() const {
        return unit < line_bytes && dims > 0 &&
               std::all_of(dim, dim + dims, [](const Dim& each) { return each.dst >= line_bytes; });
    }
    Dim* x() { return x_ < 0 ? nullptr : &dim[x_]; }
    Dim* y() { return y_ < 0 ? nullptr : &dim[y_]; }

    // Chooses the kernel, and as its z the longest of the other dimensions of a block.
    void choose_kernel(Stores stores) {
        stores_ = stores;
        for (int d = 0; d < dims; ++d) {
            if (d != x_ && d != y_ && (z_ < 0 || dim[d].block >= dim[z_].block)) z_ = d;
        }
        for (int d = 0; d < dims; ++d) {
            if (d != x_ && d != y_ && d != z_) around_[around_count_++] = d;
        }
        switch (stores) {
            case Stores::gathered: kernel_ = gathering(); break;
            case Stores::scattered: kernel_ = scattering(); break;
            case Stores::joined: kernel_ = joining(); break;
            case Stores::lone: kernel_ = copy_lone_planes; break;
            default: kernel_ = copying();
        }
    }

    // Moves `size` of all dimensions.
    void move(const Extents& size, const char* from, const Extents& from_strides, char* to,
              const Extents& to_strides) const {
        const bool staged = stores_ == Stores::staged;
        Plane p = {0, 0, 0, 0, 0, 0, unit, 1, 1, 1, 0, staged};
        const auto along = [&](int d, int64_t& src_step, int64_t& dst_step, int64_t& count) {
            if (d < 0) return;
            src_step = from_strides.of[d];
            dst_step = to_strides.of[d];
            count = size.of[d];
        };
        along(x_, p.src_x, p.dst_x, p.count_x);
        along(y_, p.src_y, p.dst_y, p.count_y);
        along(z_, p.src_z, p.dst_z, p.count_z);
        if (staged && !transposes()) {
            std::swap(p.src_x, p.src_y);
            std::swap(p.dst_x, p.dst_y);
            std::swap(p.count_x, p.count_y);
            p.ahead = rows_ahead * p.src_x;
        } else if (stores_ == Stores::streamed && p.src_x == unit) {
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
    Stores stores_ = Stores::usual;
    Kernel kernel_ = nullptr;

    bool has_rows_of_vectors() const {
        const bool is_vectors = unit == 16 || unit == 32 || unit == 64;
        return is_vectors && x_ >= 0 && y_ >= 0 && dim[x_].src == unit && dim[y_].dst == unit;
    }
    // Whether there are kernels for columns of so many bytes.
    bool is_column(int64_t bytes) const {
        return unit <= 4 && (bytes == line_bytes / 2 || (bytes == line_bytes && unit > 1));
    }
    Kernel gathering() const {
        const bool is_line = dim[x_].dst == line_bytes;
        if (unit == 1) return gather_tiles<1, 32>;
        if (unit == 2) return is_line ? gather_tiles<2, 32> : gather_tiles<2, 16>;
        return is_line ? gather_tiles<4, 16> : gather_tiles<4, 8>;
    }
    Kernel scattering() const {
        const bool is_line = dim[y_].src == line_bytes;
        if (unit == 1) return scatter_tiles<1, 32>;
        if (unit == 2) return is_line ? scatter_tiles<2, 32> : scatter_tiles<2, 16>;
        if (unit == 4) return is_line ? scatter_tiles<4, 16> : scatter_tiles<4, 8>;
        return unit == 16 ? scatter_runs<16> : unit == 32 ? scatter_runs<32> : scatter_runs<64>;
    }
    Kernel joining() const { return unit == 16 ? join_runs<16> : unit == 32 ? join_runs<32> : join_runs<64>; }
    Kernel copying() const {
        const bool tiles = transposes(), streamed = stores_ == Stores::streamed;
        switch (unit) {
#define XASCEND_UNIT(n) \
    case n: return tiles ? transpose_planes<n> : copy_planes<n, false>;
            XASCEND_UNIT(1)
            XASCEND_UNIT(2)
            XASCEND_UNIT(4)
            XASCEND_UNIT(8)
#undef XASCEND_UNIT
#define XASCEND_UNIT(n) \
    case n: return streamed ? copy_planes<n, true> : copy_planes<n, false>;
            XASCEND_UNIT(16)
            XASCEND_UNIT(32)
            XASCEND_UNIT(64)
            XASCEND_UNIT(128)
#undef XASCEND_UNIT
            default: return streamed ? copy_planes_of_runs<true> : copy_planes_of_runs<false>;
        }
    }
};

}  // namespace xascend
