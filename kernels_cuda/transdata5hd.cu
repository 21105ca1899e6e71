// TransDataTo5HD: all repeats of an instruction in one launch. A block of threads takes several repeats at a time; their
// sources lie in shared memory, half block after half block, until every thread has made half a destination from them.
#include "halves.cuh"

#ifndef XASCEND_WORD
#define XASCEND_WORD 2
#endif

namespace xascend {

constexpr int element = XASCEND_WORD;
constexpr int entries = 16;
constexpr int halves = element == 1 ? 1 : 2;           // of a data block that one repeat moves
constexpr int units = entries * halves;                // half blocks of one repeat
constexpr int per_half = half_bytes / element;         // elements

// What Python hands over. Addresses are those of the first half blocks that repeat 0 moves, strides are bytes.
struct Transposition {
    address src[entries], dst[entries];
    int64 src_stride, dst_stride;
    int32 first[entries];  // repeats of a destination before this one are overwritten by later ones
    int32 repeats, unused;
};

// Where a half block lies in shared memory: so that the threads of a warp, which read elements of one column and of
// rows that are 4 or 8 apart, find them in different banks.
XASCEND_INDEX int32 place(int32 unit) { return (unit ^ (unit >> 3 & 3) << 1) * half_bytes; }

// Where element `number` of the destinations of a repeat, counted from the first one's first, lies in shared memory:
// they hold the sources' columns one after the other.
XASCEND_INDEX int32 source_of(int32 repeat, int32 number) {
    const int32 row = number % entries, column = number / entries;
    const int32 unit = repeat * units + row * halves + column / per_half;
    return place(unit) + column % per_half * element;
}

template <int Bytes>
XASCEND_INSIDE void transpose(const Transposition& call, char* shared) {
    const int32 thread = static_cast<int32>(threadIdx.x), together = static_cast<int32>(blockDim.x) / units;
    const int32 unit = thread % units, entry = unit / halves, part = unit % halves;
    const int64 step = static_cast<int64>(gridDim.x) * together;
    for (int64 first = static_cast<int64>(blockIdx.x) * together; first < call.repeats; first += step) {
        const int64 repeat = first + thread / units;
        if (repeat < call.repeats) {
            const char* from = reinterpret_cast<const char*>(call.src[entry]) + repeat * call.src_stride;
            store_shared(shared + place(thread), load_half<Bytes>(from + part * half_bytes), 0);
        }
        __syncthreads();
        if (repeat < call.repeats && repeat >= call.first[entry]) {
            Lanes<half_bytes> value = {};
#pragma unroll
            for (int i = 0; i < per_half; ++i) {
                const int32 at = source_of(thread / units, unit * per_half + i);
                insert<element>(value, i, load_shared<element>(shared + at, i));
            }
            char* to = reinterpret_cast<char*>(call.dst[entry]) + repeat * call.dst_stride;
            store_half<Bytes>(to + part * half_bytes, value);
        }
        __syncthreads();
    }
}

}  // namespace xascend

// One block of threads takes the repeats in their order, as it must be where a later one writes what an earlier reads.
extern "C" __global__ void __launch_bounds__(256)
trans_data_to_5hd_aligned(const __grid_constant__ xascend::Transposition call) {
    extern __shared__ uint4 shared_words[];
    xascend::transpose<xascend::half_bytes>(call, reinterpret_cast<char*>(shared_words));
}

// Addresses are not multiples of 16.
extern "C" __global__ void __launch_bounds__(256)
trans_data_to_5hd_unaligned(const __grid_constant__ xascend::Transposition call) {
    extern __shared__ uint4 shared_words[];
    xascend::transpose<1>(call, reinterpret_cast<char*>(shared_words));
}
