// Brcb: all repeats of an instruction in one launch. Elements come in words to shared memory, and each thread fills
// half a data block with one of them.
#include "halves.cuh"

#ifndef XASCEND_WORD
#define XASCEND_WORD 2
#endif

namespace xascend {

constexpr int element = XASCEND_WORD;
constexpr int entries = 8;                                                     // of one repeat
constexpr int repeat_bytes = entries * element;                                // of the source
constexpr int load_word = repeat_bytes < half_bytes ? repeat_bytes : half_bytes;
constexpr int threads_per_repeat = entries * 2;

// What Python hands over; strides are bytes.
struct Broadcast {
    address src, dst;
    int64 block_stride, repeat_stride;
    int32 first[entries];  // repeats of an entry before this one are overwritten by later ones
    int32 repeats, unused;
};

template <int Bytes>
XASCEND_INSIDE Lanes<load_word> load_elements(const char* at) {
    constexpr int word = Bytes < load_word ? Bytes : load_word;
    Lanes<load_word> value = {};
#pragma unroll
    for (int i = 0; i < load_word / word; ++i) insert<word>(value, i, load_global<word>(at + i * word, i));
    return value;
}

template <int Bytes>
XASCEND_INSIDE void broadcast(const Broadcast& call, char* shared) {
    const int32 thread = static_cast<int32>(threadIdx.x), together = static_cast<int32>(blockDim.x) / threads_per_repeat;
    const int32 entry = thread / 2 % entries, part = thread % 2;
    const int64 step = static_cast<int64>(gridDim.x) * together;
    for (int64 first = static_cast<int64>(blockIdx.x) * together; first < call.repeats; first += step) {
        const int64 begin = first * repeat_bytes + thread * load_word;
        if (thread < together * (repeat_bytes / load_word) && begin < call.repeats * static_cast<int64>(repeat_bytes)) {
            const char* from = reinterpret_cast<const char*>(call.src) + begin;
            store_shared(shared + thread * load_word, load_elements<Bytes>(from), 0);
        }
        __syncthreads();
        const int64 repeat = first + thread / threads_per_repeat;
        if (repeat < call.repeats && repeat >= call.first[entry]) {
            const Lanes<element> one = load_shared<element>(shared + thread / 2 * element, 0);
            Lanes<half_bytes> value = {};
#pragma unroll
            for (int i = 0; i < half_bytes / element; ++i) insert<element>(value, i, one);
            char* to = reinterpret_cast<char*>(call.dst) + (repeat * call.repeat_stride + entry * call.block_stride);
            store_half<Bytes>(to + part * half_bytes, value);
        }
        __syncthreads();
    }
}

}  // namespace xascend

extern "C" __global__ void __launch_bounds__(256) brcb_aligned(const __grid_constant__ xascend::Broadcast call) {
    extern __shared__ uint4 shared_words[];
    xascend::broadcast<xascend::half_bytes>(call, reinterpret_cast<char*>(shared_words));
}

// Addresses are not multiples of 16.
extern "C" __global__ void __launch_bounds__(256) brcb_unaligned(const __grid_constant__ xascend::Broadcast call) {
    extern __shared__ uint4 shared_words[];
    xascend::broadcast<1>(call, reinterpret_cast<char*>(shared_words));
}
