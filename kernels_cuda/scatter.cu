// Tiles without padding, of whole words on both sides: each element goes through shared memory to where the
// destination has it, and rows are then stored as they lie there. The other way round than in tiles.cu, for tiles of
// which the elements of a destination's row lie so that gathering them meets in the banks.
#include "jobs.cuh"

#ifndef XASCEND_WORD
#define XASCEND_WORD 2
#endif

namespace xascend {

constexpr int element = XASCEND_WORD;
constexpr int load_word = element < 4 ? 4 : element;
constexpr int store_word = 16;

XASCEND_INSIDE void scatter_tile(const Job& job, const Tile& tile, const char* src, char* shared) {
    constexpr int elements = load_word / element;
    const int64 tile_src = load_common(tile.src);
    const Dim& in = job.dim[job.load.inner];
    const Dim& out = job.dim[job.load.outer];
    const int32 extent = static_cast<int32>(in.extent.divisor);
    const int32 length = static_cast<int32>(job.load.unit) * load_common(tile.size[job.load.outer]);
    uint32 step = 0;
    for (uint32 slot = threadIdx.x; slot < job.load.total; slot += blockDim.x, ++step) {
        const Slot word = find_slot(job.load, slot);
        const Row row = find_row(job, job.load, tile, word.row);
        const int32 x = word.word * elements;
        if (!row.inside || x >= length) continue;
        const char* at = src + (tile_src + row.src + static_cast<int64>(x) * element);
        const Lanes<load_word> value = load_global<load_word>(at, step);
        int32 outer = static_cast<int32>(quotient(static_cast<uint32>(x), in.extent));
        int32 inner = x - outer * extent;
#pragma unroll
        for (int j = 0; j < elements; ++j, ++inner) {
            if (inner == extent) {
                inner = 0;
                ++outer;
            }
            store_shared(shared + (row.shared + inner * in.shared + outer * out.shared), extract<element>(value, j),
                         step * elements + j);
        }
    }
}

XASCEND_INSIDE void store_rows(const Job& job, const Tile& tile, const char* shared, char* dst) {
    const int64 tile_dst = load_common(tile.dst);
    const int32 nbytes = static_cast<int32>(job.store.unit) * load_common(tile.size[job.store.outer]) * element;
    uint32 step = 0;
    for (uint32 slot = threadIdx.x; slot < job.store.total; slot += blockDim.x, ++step) {
        const Slot word = find_slot(job.store, slot);
        const Row row = find_row(job, job.store, tile, word.row);
        const int32 x = word.word * store_word;
        if (!row.inside || x >= nbytes) continue;
        store_global(dst + (tile_dst + row.dst + x), load_shared<store_word>(shared + (row.shared + x), step), step);
    }
}

}  // namespace xascend

extern "C" __global__ void __launch_bounds__(256)
scatter(const char* __restrict__ src, char* __restrict__ dst, const __grid_constant__ xascend::Padding /*padding*/,
        const __grid_constant__ xascend::Table table) {
    using namespace xascend;
    extern __shared__ uint4 shared_words[];
    char* memory = reinterpret_cast<char*>(shared_words);
    Tile& tile = *reinterpret_cast<Tile*>(memory);
    for (uint32 number = blockIdx.x; number < table.tiles; number += gridDim.x) {
        if (threadIdx.x == 0) find_tile(table, number, tile);
        __syncthreads();
        const Job& job = table.job[load_common(tile.job)];
        scatter_tile(job, tile, src, memory + tile_at);
        __syncthreads();
        store_rows(job, tile, memory + tile_at, dst);
        __syncthreads();
    }
}
