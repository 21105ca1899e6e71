// Tiles: where the fastest axes differ, or rows are not aligned, a tile goes through shared memory. It lies there as
// it lies in the source, row by row; elements are then gathered in the order of the destination.
#include "jobs.cuh"

#ifndef XASCEND_WORD
#define XASCEND_WORD 2
#endif

namespace xascend {

constexpr int element = XASCEND_WORD;
constexpr int load_word = element < 4 ? 4 : element;

XASCEND_INDEX address align_down(address at, int to) { return at & ~static_cast<address>(to - 1); }

// The elements of a word that lie in [begin, end); what is around them is not the source's.
XASCEND_INSIDE Lanes<load_word> load_inside(const char* at, const char* begin, const char* end, uint32 step) {
    Lanes<load_word> value = {};
    for (int j = 0; j < load_word / element; ++j) {
        const char* from = at + j * element;
        Lanes<element> part = {};
        if (from >= begin && from < end) part = load_global<element>(from, step * load_word + j);
        insert<element>(value, j, part);
    }
    return value;
}

// Whole words are loaded, with what lies beside a row where the row does not begin at a word; words begin at sectors.
XASCEND_INSIDE void load_tile(const Table& table, const Job& job, const Tile& tile, const char* src, char* shared) {
    const int64 tile_src = load_common(tile.src);
    const int64 row_bytes = static_cast<int64>(job.load.unit) * load_common(tile.valid[job.load.outer]) * element;
    uint32 step = 0;
    for (uint32 slot = threadIdx.x; slot < job.load.total; slot += blockDim.x, ++step) {
        const Slot in = find_slot(job.load, slot);
        const Row row = find_row(job, job.load, tile, in.row);
        const char* begin = src + (tile_src + row.src);
        const address start = reinterpret_cast<address>(begin);
        const int64 offset = static_cast<int64>(align_down(start, sector) - start) +
                             static_cast<int64>(in.word) * load_word;
        if (!row.valid || offset + load_word <= 0 || offset >= row_bytes) continue;
        const char* at = begin + offset;
        const bool whole = at >= src + table.src_begin && at + load_word <= src + table.src_end;
        const Lanes<load_word> value =
            whole ? load_global<load_word>(at, step) : load_inside(at, begin, begin + row_bytes, step);
        const int32 into = row.shared + static_cast<int32>(offset);
        if (job.in_words) {
            store_shared(shared + swizzled(into, job.swizzle), value, step);
        } else {
#pragma unroll
            for (int j = 0; j < load_word / element; ++j) {
                const int64 x = offset + j * element;
                if (x < 0 || x >= row_bytes) continue;
                store_shared(shared + swizzled(into + j * element, job.swizzle), extract<element>(value, j),
                             step * load_word + j);
            }
        }
    }
}

// Where the elements of one row of the destination lie in shared memory.
struct Gather {
    int32 shared, inner_shared, outer_shared;
    const Swizzle& swizzle;
    int32 inner_valid, outer_valid;  // indices that the source has; the others are padding

    XASCEND_INDEX bool has(int32 inner, int32 outer) const { return inner < inner_valid && outer < outer_valid; }
    XASCEND_INDEX int32 at(int32 inner, int32 outer) const {
        return swizzled(shared + inner * inner_shared + outer * outer_shared, swizzle);
    }
};

// Stores words of `Bytes` bytes; `Shifted` means that a row may begin and end inside a word.
template <int Bytes, bool Shifted>
XASCEND_INSIDE void store_tile(const Job& job, const Tile& tile, const char* shared, char* dst,
                               const Padding& padding) {
    constexpr int elements = Bytes / element;
    const int64 tile_dst = load_common(tile.dst);
    const Dim& in = job.dim[job.store.inner];
    const Dim& out = job.dim[job.store.outer];
    const int32 extent = static_cast<int32>(in.extent.divisor);
    const int32 inner_valid = load_common(tile.valid[job.store.inner]);
    const int32 outer_valid = load_common(tile.valid[job.store.outer]);
    const int32 length = static_cast<int32>(job.store.unit) * load_common(tile.size[job.store.outer]);
    uint32 step = 0;
    for (uint32 slot = threadIdx.x; slot < job.store.total; slot += blockDim.x, ++step) {
        const Slot word = find_slot(job.store, slot);
        const Row row = find_row(job, job.store, tile, word.row);
        if (!row.inside) continue;
        const int64 row_dst = tile_dst + row.dst;
        int32 x = word.word * elements;
        if constexpr (Shifted) {
            const address start = reinterpret_cast<address>(dst + row_dst);
            x -= static_cast<int32>(start - align_down(start, sector)) / element;
        }
        if (x + elements <= 0 || x >= length) continue;
        char* at = dst + (row_dst + static_cast<int64>(x) * element);
        const Gather from = {row.shared,  in.shared,  out.shared, job.swizzle, row.valid ? inner_valid : 0,
                             outer_valid};
        int32 outer = static_cast<int32>(quotient(static_cast<uint32>(x < 0 ? 0 : x), in.extent));
        int32 inner = x - outer * extent;
        Lanes<Bytes> value = {};
#pragma unroll
        for (int j = 0; j < elements; ++j, ++inner) {
            if (inner == extent) {
                inner = 0;
                ++outer;
            }
            Lanes<element> part = {};
            if (!Shifted || (x + j >= 0 && x + j < length)) {
                part = from.has(inner, outer)
                           ? load_shared<element>(shared + from.at(inner, outer), step * elements + j)
                           : padding_at<element>(padding, row_dst + static_cast<int64>(x + j) * element);
            }
            insert<element>(value, j, part);
        }
        if (!Shifted || (x >= 0 && x + elements <= length)) {
            store_global(at, value, step);
        } else {
#pragma unroll
            for (int j = 0; j < elements; ++j) {
                if (x + j >= 0 && x + j < length) {
                    store_global(at + j * element, extract<element>(value, j), step * elements + j);
                }
            }
        }
    }
}

template <int Bytes, bool Shifted>
XASCEND_INSIDE void convert_tiles(const char* src, char* dst, const Padding& padding, const Table& table, char* memory) {
    Tile& tile = *reinterpret_cast<Tile*>(memory);
    char* shared = memory + tile_at;
    for (uint32 number = blockIdx.x; number < table.tiles; number += gridDim.x) {
        if (threadIdx.x == 0) find_tile(table, number, tile);
        __syncthreads();
        const Job& job = table.job[load_common(tile.job)];
        load_tile(table, job, tile, src, shared);
        __syncthreads();
        store_tile<Bytes, Shifted>(job, tile, shared, dst, padding);
        __syncthreads();
    }
}

}  // namespace xascend

// Every row of the destination begins and ends at 16 bytes.
extern "C" __global__ void __launch_bounds__(256)
tiles_aligned(const char* __restrict__ src, char* __restrict__ dst, const __grid_constant__ xascend::Padding padding,
              const __grid_constant__ xascend::Table table) {
    extern __shared__ uint4 shared_words[];
    xascend::convert_tiles<16, false>(src, dst, padding, table, reinterpret_cast<char*>(shared_words));
}

// Rows of the destination begin and end anywhere.
extern "C" __global__ void __launch_bounds__(256)
tiles_shifted(const char* __restrict__ src, char* __restrict__ dst, const __grid_constant__ xascend::Padding padding,
              const __grid_constant__ xascend::Table table) {
    extern __shared__ uint4 shared_words[];
    xascend::convert_tiles<xascend::load_word, true>(src, dst, padding, table, reinterpret_cast<char*>(shared_words));
}
