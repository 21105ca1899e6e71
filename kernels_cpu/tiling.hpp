// One box of an instruction of quantisation, cut into tiles that stay in a cache.
#pragma once

#include <utility>

#include "rows.hpp"
#include "tiles.hpp"

namespace xascend {

#if XASCEND_SMALL_LIMITS  // for tests, to send small arrays the ways of large ones
constexpr int64_t tile_bytes = 1 << 11, piece_bytes = 128;
#else
constexpr int64_t tile_bytes = 1 << 15;   // results of a tile; with their sources in a second-level cache
constexpr int64_t piece_bytes = 1 << 10;  // of them in a row, where they are written row by row
#endif

enum Axis { matrix, row, group, part, column, axes };

struct Box {
    int64_t first;
    int64_t count[axes];
    int64_t src_offset, src[axes];
    int64_t dst_offset, dst[axes];
};

// What all tiles of an instruction share.
struct Quantiser {
    const char* src;
    char* dst;
    Columns columns;
    RowsKernel kernel;
    int64_t item;  // bytes of a result
    bool shifts;
    bool streams;
};

// The memory of a thread.
struct Room {
    char *rows, *turned;  // a tile
    char* shifted;        // a row of integers
};

// A box cut into tiles. A tile is written as it is made, or put together first: where rows of it are streamed, and where
// the elements of a column follow each other in the destination, so that it is turned.
class Tiling {
   public:
    Tiling(const Box& box, int64_t item) : box_(box), item_(item), turns_(box.dst[column] != item) {
        size_[column] = box.count[column];
        if (!turns_ && (box.count[part] == 1 || box.dst[part] == row_bytes())) {
            size_[part] = box.count[part];
            const bool follow = box.src[group] == 4 * size_[column] * size_[part];  // in the source too
            if (box.dst[group] == row_bytes()) grow(group, follow ? tile_bytes : piece_bytes);
        }
        grow(row, tile_bytes);
        if (box.src[group] < box.src[row]) std::swap(order_[1], order_[2]);
        for (int axis = 0; axis < axes; ++axis) tiles_[axis] = (box.count[axis] + size_[axis] - 1) / size_[axis];
    }

    int64_t tiles() const { return product(tiles_); }
    int64_t elements() const { return product(box_.count); }
    int64_t tile_elements() const { return product(size_); }
    int64_t row_elements() const { return size_[column]; }

    void run(const Quantiser& all, int64_t tile, const Room& room) const {
        int64_t size[axes], start[axes];
        const char* from = all.src + box_.src_offset;
        char* to = all.dst + box_.dst_offset;
        for (const Axis axis : order_) {
            start[axis] = tile % tiles_[axis] * size_[axis];
            tile /= tiles_[axis];
            size[axis] = std::min(size_[axis], box_.count[axis] - start[axis]);
            from += start[axis] * box_.src[axis];
            to += start[axis] * box_.dst[axis];
        }
        const int64_t first = box_.first + (start[group] * box_.count[part] + start[part]) * size[column];
        const int64_t width = size[group] * size[part] * size[column] * item_;
        if (turns_) {
            make(all, first, size, from, room.rows, width, room);
            turn(size, room);
            write(all, to, box_.dst[column], room.turned, size[row] * item_, size[column]);
        } else if (all.streams && size[row] > 1 && box_.dst[row] != width) {
            make(all, first, size, from, room.rows, width, room);
            write(all, to, box_.dst[row], room.rows, width, size[row]);
        } else {
            make(all, first, size, from, to, box_.dst[row], room);
        }
    }

   private:
    Box box_;
    int64_t item_;
    bool turns_;
    Axis order_[axes] = {part, row, group, matrix, column};  // that of the source, which is fetched ahead
    int64_t size_[axes] = {1, 1, 1, 1, 1}, tiles_[axes];

    static int64_t product(const int64_t* sizes) {
        int64_t n = 1;
        for (int axis = 0; axis < axes; ++axis) n *= sizes[axis];
        return n;
    }

    // Bytes of the results in a row of a tile.
    int64_t row_bytes() const { return size_[group] * size_[part] * size_[column] * item_; }

    void grow(Axis axis, int64_t target) {
        size_[axis] = std::min(box_.count[axis], std::max<int64_t>(1, target / (tile_elements() * item_)));
    }

    void make(const Quantiser& all, int64_t first, const int64_t* size, const char* from, char* to, int64_t to_row,
              const Room& room) const {
        for (int64_t g = 0; g < size[group]; ++g) {
            for (int64_t p = 0; p < size[part]; ++p) {
                const Columns columns = all.columns.from(first);
                const char* source = from + g * box_.src[group] + p * box_.src[part];
                if (!all.shifts) {
                    all.kernel(columns, source, box_.src[row], to, to_row, size[row], size[column]);
                } else {
                    for (int64_t r = 0; r < size[row]; ++r) {
                        shift_row(columns, source + r * box_.src[row], room.shifted, size[column]);
                        all.kernel(columns, room.shifted, 0, to + r * to_row, 0, 1, size[column]);
                    }
                }
                first += size[column];
                to += size[column] * item_;
            }
        }
    }

    void turn(const int64_t* size, const Room& room) const {
        const int64_t across = size[column] * item_, down = size[row] * item_;
        const Plane plane = {item_, across, 0, down, item_, 0, item_, size[column], size[row], 1, 0, true};
        if (item_ == 1) {
            transpose_planes<1>(plane, room.rows, room.turned);
        } else if (item_ == 2) {
            transpose_planes<2>(plane, room.rows, room.turned);
        } else {
            transpose_planes<4>(plane, room.rows, room.turned);
        }
    }

    static void write(const Quantiser& all, char* to, int64_t apart, const char* from, int64_t bytes, int64_t count) {
        for (; count > 0; --count, to += apart, from += bytes) {
            if (all.streams) {
                stream_run(to, from, bytes);
            } else {
                copy_run(to, from, bytes);
            }
        }
    }
};

}  // namespace xascend
