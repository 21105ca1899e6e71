// Fixpipe: matrices in column blocks of 16 are read once, quantised, and written once, in the layout of the result.
// Four columns of a row, a quad, are read at once. Rows of the result go straight to memory where whole quads can be
// stored; otherwise a tile is put together in shared memory, where it is also turned if columns lie together.
#include "quantise.cuh"

#ifndef XASCEND_SOURCE
#define XASCEND_SOURCE FromInt
#endif
#ifndef XASCEND_RESULT
#define XASCEND_RESULT ToByte
#endif

namespace xascend {

using Source = XASCEND_SOURCE;
using Result = XASCEND_RESULT;
constexpr int item = Result::bytes;
constexpr int quad = 4 * item;  // bytes of the results of a quad
constexpr int depth = 4;        // quads that a thread reads before it needs the first
constexpr int warp = 32;

// One launch. Distances are bytes; `dst` and `src` count from the arrays' first elements.
struct Matrices {
    int64 src, src_matrix, src_row, src_block;  // a block is 16 columns
    int64 dst, dst_matrix, dst_row, dst_group;  // a group is 2^group columns, beside each other
    Divisor row_tiles, column_tiles;
    uint32 tiles;
    int32 rows, columns;  // of a matrix
    int32 group;
    int32 lanes;    // 2^lanes threads side by side take the quads of one row; in a turned tile, four rows each
    int32 height;   // rows of a tile
    int32 run;      // 2^run columns of a tile's row lie together in the result; of a turned tile, vectors of a column
    int32 is_wide;  // whether quads are read by 16 bytes
};

// A tile's first element.
struct Place {
    int64 matrix;
    int32 row, column;
};

XASCEND_INDEX Place find_place(const Matrices& m, uint32 number, int32 width) {
    const uint32 above = quotient(number, m.column_tiles);
    const uint32 matrix = quotient(above, m.row_tiles);
    return {matrix, static_cast<int32>(above - matrix * m.row_tiles.divisor) * m.height,
            static_cast<int32>(number - above * m.column_tiles.divisor) * width};
}

XASCEND_INDEX int64 src_at(const Matrices& m, const Place& place, int32 row, int32 column) {
    return m.src + place.matrix * m.src_matrix + row * m.src_row + (column >> 4) * m.src_block + (column & 15) * 4;
}

XASCEND_INDEX int64 dst_at(const Matrices& m, const Place& place, int32 row, int32 column) {
    const int32 inside = column & ((1 << m.group) - 1);
    return m.dst + place.matrix * m.dst_matrix + row * m.dst_row + (column >> m.group) * m.dst_group + inside * item;
}

XASCEND_INDEX int32 smaller(int32 a, int32 b) { return a < b ? a : b; }

// The elements of the first `count` columns of a quad, others being 0.
XASCEND_INSIDE Lanes<16> load_quad(const char* at, int32 count, bool is_wide, uint32 step) {
    if (is_wide && count >= 4) return load_global<16>(at, step);
    Lanes<16> value = {};
#pragma unroll
    for (int j = 0; j < 4; ++j) {
        if (j < count) insert<4>(value, j, load_global<4>(at + 4 * j, 4 * step + j));
    }
    return value;
}

XASCEND_INSIDE void store_quad(char* at, const Lanes<quad>& made, int32 count, uint32 step) {
    if (count == 4) {
        store_global(at, made, step);
        return;
    }
#pragma unroll
    for (int j = 0; j < 4; ++j) {
        if (j < count) store_global(at + j * item, extract<item>(made, j), 4 * step + j);
    }
}

// What a thread reads of a tile before it needs the first of it: quads of the same columns, `down` rows apart.
struct Part {
    int32 row, column;    // of the matrix
    int32 down;
    int32 rows, columns;  // that exist from there on, of the columns at most four
};

XASCEND_INSIDE Part find_part(const Matrices& m, const Place& place) {
    const int32 thread = static_cast<int32>(threadIdx.x);
    const int32 row = place.row + (thread >> m.lanes), column = place.column + 4 * (thread & ((1 << m.lanes) - 1));
    return {row, column, static_cast<int32>(blockDim.x) >> m.lanes, m.rows - row, smaller(4, m.columns - column)};
}

struct Quads {
    Lanes<16> of[depth];
};

XASCEND_INSIDE Quads load_quads(const Matrices& m, const Place& place, const Part& part, const char* src, uint32 step) {
    const char* from = src + src_at(m, place, part.row, part.column);
    Quads quads = {};
#pragma unroll
    for (int i = 0; i < depth; ++i) {
        const int32 row = i * part.down;
        if (row < part.rows) quads.of[i] = load_quad(from + row * m.src_row, part.columns, m.is_wide, step + i);
    }
    return quads;
}

// Stores a run of elements from shared memory by a warp: in words as memory is addressed, and the elements at its ends
// that are no word.
XASCEND_INSIDE void store_run(const char* shared, char* to, int32 bytes, uint32& step) {
    constexpr int word = 4;
    const int32 lane = static_cast<int32>(threadIdx.x) % warp;
    const int32 before = static_cast<int32>(reinterpret_cast<address>(to) & (sector - 1));
    const int32 head = smaller(-before & (word - 1), bytes), end = head + ((bytes - head) & -word);
    for (int32 at = word * lane - before; at < end; at += word * warp, ++step) {
        if (at < head) continue;
        Lanes<word> value = {};
#pragma unroll
        for (int j = 0; j < word / item; ++j) {
            insert<item>(value, j, load_shared<item>(shared + (at + j * item), step * word + j));
        }
        store_global(to + at, value, step);
    }
    if (item < word && lane < 2 * word) {
        const int32 at = (lane < word ? 0 : end) + lane % word * item;
        if (at < (lane < word ? head : bytes)) store_global(to + at, load_shared<item>(shared + at, step), step);
    }
    ++step;
}

// Where a column of a turned tile begins in shared memory; so threads stay off each other's banks.
XASCEND_INDEX int32 column_at(const Matrices& m, int32 column) {
    return column * (m.height * item + 16) + (column >> 3) * 32;
}

// Reads a tile, four by four elements at a time; its columns become runs in shared memory.
XASCEND_INSIDE void load_turned(const Matrices& m, const Numbers& numbers, const Place& place, const char* src,
                                const char* tables, char* shared) {
    const int32 thread = static_cast<int32>(threadIdx.x), in_warp = thread % warp, number = thread / warp;
    const int32 column = 4 * (in_warp / 8 + (number >> (m.lanes - 3)) * 4);
    int32 row = 4 * (in_warp % 8 + (number & ((1 << (m.lanes - 3)) - 1)) * 8);
    const int32 count = smaller(4, m.columns - place.column - column), end = smaller(m.height, m.rows - place.row);
    if (row >= end || count <= 0) return;
    const Columns columns = load_columns<Result>(numbers, tables, place.column + column, 0);
    for (uint32 step = 0; row < end; row += 4 << m.lanes, step += depth) {
        const Quads x = load_quads(m, place, {place.row + row, place.column + column, 1, end - row, count}, src, step);
        Lanes<quad> made[depth];
#pragma unroll
        for (int i = 0; i < depth; ++i) made[i] = quantise<Source, Result>(x.of[i], columns, numbers.all);
#pragma unroll
        for (int j = 0; j < 4; ++j) {
            Lanes<quad> turned = {};
#pragma unroll
            for (int i = 0; i < depth; ++i) insert<item>(turned, i, extract<item>(made[i], j));
            store_shared(shared + (column_at(m, column + j) + row * item), turned, step + j);
        }
    }
}

// Stores the columns of a turned tile, which begin at 16 bytes.
XASCEND_INSIDE void store_turned(const Matrices& m, const Place& place, const char* shared, char* dst, int32 width) {
    constexpr int word = 16;
    const int32 bytes = smaller(m.height, m.rows - place.row) * item;
    uint32 step = 0;
    for (int32 slot = static_cast<int32>(threadIdx.x); slot < width << m.run; slot += blockDim.x, ++step) {
        const int32 column = slot >> m.run, at = (slot & ((1 << m.run) - 1)) * word;
        if (place.column + column >= m.columns || at >= bytes) continue;
        const char* from = shared + (column_at(m, column) + at);
        char* to = dst + (dst_at(m, place, place.row, place.column + column) + at);
        if (at + word <= bytes) {
            store_global(to, load_shared<word>(from, step), step);
        } else {
            for (int32 x = 0; at + x < bytes; x += item) {
                store_global(to + x, load_shared<item>(from + x, step * word + x), step * word + x);
            }
        }
    }
}

template <bool Aligned>
XASCEND_INSIDE void turn_tiles(const Matrices& m, const Numbers& numbers, const char* src, char* dst, const char* tables,
                               char* shared) {
    const int32 width = 4 * static_cast<int32>(blockDim.x) >> m.lanes;
    for (uint32 number = blockIdx.x; number < m.tiles; number += gridDim.x) {
        const Place place = find_place(m, number, width);
        load_turned(m, numbers, place, src, tables, shared);
        __syncthreads();
        if constexpr (Aligned) {
            store_turned(m, place, shared, dst, width);
        } else {
            const int32 columns = smaller(width, m.columns - place.column);
            const int32 bytes = smaller(m.height, m.rows - place.row) * item;
            uint32 step = 0;
            for (int32 i = static_cast<int32>(threadIdx.x) / warp; i < columns; i += blockDim.x / warp) {
                char* to = dst + dst_at(m, place, place.row, place.column + i);
                store_run(shared + column_at(m, i), to, bytes, step);
            }
        }
        __syncthreads();
    }
}

}  // namespace xascend

// Every quad of the result begins at a multiple of its size.
extern "C" __global__ void __launch_bounds__(256, 4)
fixpipe_direct(const char* __restrict__ src, char* __restrict__ dst, const char* __restrict__ tables,
               const __grid_constant__ xascend::Numbers numbers, const __grid_constant__ xascend::Matrices m) {
    using namespace xascend;
    uint32 step = 0;
    for (uint32 number = blockIdx.x; number < m.tiles; number += gridDim.x) {
        const Place place = find_place(m, number, 4 << m.lanes);
        Part part = find_part(m, place);
        if (part.rows <= 0 || part.columns <= 0) continue;
        const Columns columns = load_columns<Result>(numbers, tables, part.column, step);
        for (const int32 end = part.row + m.height; part.row < end && part.rows > 0; step += depth) {
            const Quads x = load_quads(m, place, part, src, step);
            char* to = dst + dst_at(m, place, part.row, part.column);
#pragma unroll
            for (int i = 0; i < depth; ++i) {
                const int32 row = i * part.down;
                if (row >= part.rows) break;
                const Lanes<quad> made = quantise<Source, Result>(x.of[i], columns, numbers.all);
                store_quad(to + row * m.dst_row, made, part.columns, step + i);
            }
            part.row += depth * part.down;
            part.rows -= depth * part.down;
        }
    }
}

// Rows of the result begin anywhere.
extern "C" __global__ void __launch_bounds__(256, 4)
fixpipe_rows(const char* __restrict__ src, char* __restrict__ dst, const char* __restrict__ tables,
             const __grid_constant__ xascend::Numbers numbers, const __grid_constant__ xascend::Matrices m) {
    using namespace xascend;
    extern __shared__ uint4 shared_words[];
    char* shared = reinterpret_cast<char*>(shared_words);
    const int32 width = 4 << m.lanes;
    for (uint32 number = blockIdx.x; number < m.tiles; number += gridDim.x) {
        const Place place = find_place(m, number, width);
        const Part part = find_part(m, place);
        if (part.rows > 0 && part.columns > 0) {
            const Quads x = load_quads(m, place, part, src, 0);
            const Columns columns = load_columns<Result>(numbers, tables, part.column, 0);
#pragma unroll
            for (int i = 0; i < depth; ++i) {
                const Lanes<quad> made = quantise<Source, Result>(x.of[i], columns, numbers.all);
                const uint32 slot = i * blockDim.x + threadIdx.x;
                store_shared(shared + slot * quad, made, i);
            }
        }
        __syncthreads();
        const int32 rows = smaller(m.height, m.rows - place.row), runs = rows << (m.lanes + 2 - m.run);
        uint32 step = 0;
        for (int32 i = static_cast<int32>(threadIdx.x) / warp; i < runs; i += blockDim.x / warp) {
            const int32 row = i >> (m.lanes + 2 - m.run), column = place.column + ((i << m.run) & (width - 1));
            const int32 count = smaller(1 << m.run, m.columns - column);
            if (count <= 0) continue;
            char* to = dst + dst_at(m, place, place.row + row, column);
            store_run(shared + (i << m.run) * item, to, count * item, step);
        }
        __syncthreads();
    }
}

// The elements of a column follow each other in the result, from a multiple of 16 bytes on.
extern "C" __global__ void __launch_bounds__(256, 3)
fixpipe_columns_aligned(const char* __restrict__ src, char* __restrict__ dst, const char* __restrict__ tables,
                        const __grid_constant__ xascend::Numbers numbers, const __grid_constant__ xascend::Matrices m) {
    extern __shared__ uint4 shared_words[];
    xascend::turn_tiles<true>(m, numbers, src, dst, tables, reinterpret_cast<char*>(shared_words));
}

// The same from anywhere on.
extern "C" __global__ void __launch_bounds__(256, 3)
fixpipe_columns_shifted(const char* __restrict__ src, char* __restrict__ dst, const char* __restrict__ tables,
                        const __grid_constant__ xascend::Numbers numbers, const __grid_constant__ xascend::Matrices m) {
    extern __shared__ uint4 shared_words[];
    xascend::turn_tiles<false>(m, numbers, src, dst, tables, reinterpret_cast<char*>(shared_words));
}
