// Half data blocks: the 16 bytes that an instruction of the vector unit moves at least.
#pragma once

#include "words.cuh"

namespace xascend {

constexpr int half_bytes = 16;

// Moves a half block by words of `Bytes` bytes: 16 where it begins at a multiple of 16, 1 where it begins anywhere.
template <int Bytes>
XASCEND_INSIDE Lanes<half_bytes> load_half(const char* at) {
    Lanes<half_bytes> value = {};
#pragma unroll
    for (int i = 0; i < half_bytes / Bytes; ++i) insert<Bytes>(value, i, load_in_place<Bytes>(at + i * Bytes, i));
    return value;
}

template <int Bytes>
XASCEND_INSIDE void store_half(char* at, const Lanes<half_bytes>& value) {
#pragma unroll
    for (int i = 0; i < half_bytes / Bytes; ++i) store_global(at + i * Bytes, extract<Bytes>(value, i), i);
}

}  // namespace xascend
