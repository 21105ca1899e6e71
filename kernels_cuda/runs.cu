// Runs: words that stay together on both sides are copied straight from the source to the destination.
#include "jobs.cuh"

#ifndef XASCEND_WORD
#define XASCEND_WORD 16
#endif

// Dimension 0 of a job is the run.
extern "C" __global__ void __launch_bounds__(256)
runs(const char* __restrict__ src, char* __restrict__ dst, const __grid_constant__ xascend::Padding padding,
     const __grid_constant__ xascend::Table table) {
    using namespace xascend;
    constexpr int word = XASCEND_WORD;
    extern __shared__ uint4 shared_words[];
    Tile& tile = *reinterpret_cast<Tile*>(shared_words);
    for (uint32 number = blockIdx.x; number < table.tiles; number += gridDim.x) {
        if (threadIdx.x == 0) find_tile(table, number, tile);
        __syncthreads();
        const Job& job = table.job[load_common(tile.job)];
        const int64 tile_src = load_common(tile.src), tile_dst = load_common(tile.dst);
        const int32 size = load_common(tile.size[0]), valid = load_common(tile.valid[0]);
        uint32 step = 0;
        for (uint32 slot = threadIdx.x; slot < job.store.total; slot += blockDim.x, ++step) {
            const Slot at = find_slot(job.store, slot);
            const Row row = find_row(job, job.store, tile, at.row);
            if (!row.inside || at.word >= size) continue;
            const int64 offset = static_cast<int64>(at.word) * word;
            const int64 to = tile_dst + row.dst + offset;
            const Lanes<word> value = row.valid && at.word < valid
                                          ? load_global<word>(src + (tile_src + row.src + offset), step)
                                          : padding_at<word>(padding, to);
            store_global(dst + to, value, step);
        }
        __syncthreads();
    }
}
