// A launch carries out several jobs; a job is one strided copy with padding, cut into tiles.
#pragma once

#include "words.cuh"

namespace xascend {

constexpr int max_dims = 8;
constexpr int max_jobs = 6;  // so that a table and the other arguments stay below 4 KiB

// One dimension of a job. Strides are bytes.
struct Dim {
    int64 src, dst;
    int64 count;  // indices in the destination
    int64 valid;  // indices below this are in the source; the others are padding
    Divisor tiles;
    Divisor extent;  // indices in one tile
    int32 shared;  // stride in shared memory
    int32 unused;
};

// How the threads of a block walk over a tile: in rows that are contiguous in memory, `near` words of each row before
// the next row's. A row runs along dimension `inner` and then `outer` (the same where one is enough); it holds `unit`
// elements per index of `outer`. The rows are counted along the dimensions in `order`.
struct Walk {
    Divisor near, rows;
    uint32 total;  // words of all rows
    int32 inner, outer;
    uint32 unit;
    int32 dims;
    uint8 order[max_dims];
};

// The number of a turn around the banks, 128 bytes, changes bits of the places in it, so that threads whose elements
// are whole turns apart find them in different banks.
struct Swizzle {
    int16 shift, mask;
};

struct Job {
    int64 src, dst;  // bytes from the arrays' first elements
    uint32 first_tile;
    int32 dims;
    Swizzle swizzle;
    int32 in_words;  // whether every row of the source begins and ends at a word that is loaded
    Walk load, store;
    Dim dim[max_dims];
};

struct Table {
    int64 src_begin, src_end;  // bytes of the source that may be read, from its first element
    uint32 tiles;
    int32 jobs;
    Job job[max_jobs];
};

// An element of padding, repeated to 16 bytes.
struct Padding {
    uint32 of[4];
};

// The tile that a block works at, in shared memory.
struct Tile {
    int64 src, dst;
    int32 job;
    int32 has_source;        // 0: the whole tile is padding
    int32 size[max_dims];    // indices of the tile that exist
    int32 valid[max_dims];   // of those, how many are in the source
};
constexpr int tile_at = (sizeof(Tile) + 15) / 16 * 16;  // of the elements, behind the description

XASCEND_INDEX int32 clamp(int64 value, int64 most) {
    return static_cast<int32>(value < 0 ? 0 : value < most ? value : most);
}

// Writes down where tile number `number` of the launch lies.
XASCEND_INSIDE void find_tile(const Table& table, uint32 number, Tile& tile) {
    int32 at = 0;
    while (at + 1 < table.jobs && number >= table.job[at + 1].first_tile) ++at;
    const Job& job = table.job[at];
    uint32 rest = number - job.first_tile;
    int64 src = job.src, dst = job.dst;
    bool has_source = true;
    for (int32 d = 0; d < job.dims; ++d) {
        const Dim& dim = job.dim[d];
        const uint32 next = quotient(rest, dim.tiles);
        const int64 origin = static_cast<int64>(rest - next * dim.tiles.divisor) * dim.extent.divisor;
        rest = next;
        src += origin * dim.src;
        dst += origin * dim.dst;
        has_source &= origin < dim.valid;
        store_common(tile.size[d], clamp(dim.count - origin, dim.extent.divisor));
        store_common(tile.valid[d], clamp(dim.valid - origin, dim.extent.divisor));
    }
    store_common(tile.src, src);
    store_common(tile.dst, dst);
    store_common(tile.job, at);
    store_common(tile.has_source, static_cast<int32>(has_source));
}

// A word of a walk: the number of its row, and of the word in the row.
struct Slot {
    uint32 row;
    int32 word;
};

XASCEND_INDEX Slot find_slot(const Walk& walk, uint32 number) {
    const uint32 piece = quotient(number, walk.near);
    const uint32 round = quotient(piece, walk.rows);
    return {piece - round * walk.rows.divisor,
            static_cast<int32>(round * walk.near.divisor + number - piece * walk.near.divisor)};
}

// Where a byte of a tile lies in shared memory.
XASCEND_INDEX int32 swizzled(int32 at, const Swizzle& by) { return at ^ (at >> by.shift & by.mask); }

// A row of a tile, seen from the indices that are not in it.
struct Row {
    int64 src, dst;  // bytes from the tile's first element
    int32 shared;
    bool inside, valid;  // whether the row exists, and whether the source has it
};

XASCEND_INSIDE Row find_row(const Job& job, const Walk& walk, const Tile& tile, uint32 number) {
    Row row = {0, 0, 0, true, load_common(tile.has_source) != 0};
    for (int32 q = 0; q < walk.dims; ++q) {
        const int32 d = walk.order[q];
        const Dim& dim = job.dim[d];
        const uint32 next = quotient(number, dim.extent);
        const int32 i = static_cast<int32>(number - next * dim.extent.divisor);
        number = next;
        row.src += i * dim.src;
        row.dst += i * dim.dst;
        row.shared += i * dim.shared;
        row.inside &= i < load_common(tile.size[d]);
        row.valid &= i < load_common(tile.valid[d]);
    }
    return row;
}

// The element of padding at a byte of the destination, counted from its first element.
template <int Bytes>
XASCEND_INDEX Lanes<Bytes> padding_at(const Padding& padding, int64 at) {
    Lanes<Bytes> value = {};
    if constexpr (Bytes < 4) {
        value.of[0] = padding.of[at / 4 % 4] >> (at % 4 * 8) & ((1u << (Bytes * 8)) - 1);
    } else {
        for (int i = 0; i < Bytes / 4; ++i) value.of[i] = padding.of[(at / 4 + i) % 4];
    }
    return value;
}

}  // namespace xascend
