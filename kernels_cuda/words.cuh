// Words of 1 to 16 bytes, how memory is accessed by them, and division by numbers that the host knows.
#pragma once

namespace xascend {

using int16 = short;
using int32 = int;
using uint8 = unsigned char;
using uint32 = unsigned int;
using int64 = long long;
using address = unsigned long long;

constexpr int sector = 32;  // bytes that global memory moves at least

#define XASCEND_INDEX __host__ __device__ __forceinline__
#define XASCEND_INSIDE __device__ __forceinline__

// The built-in type of `Bytes` bytes that the device loads and stores at once.
template <int Bytes>
struct WordOf;
template <>
struct WordOf<1> {
    using type = unsigned char;
};
template <>
struct WordOf<2> {
    using type = unsigned short;
};
template <>
struct WordOf<4> {
    using type = unsigned int;
};
template <>
struct WordOf<8> {
    using type = uint2;
};
template <>
struct WordOf<16> {
    using type = uint4;
};
template <int Bytes>
using Word = typename WordOf<Bytes>::type;

// Up to 16 bytes in registers, as 4-byte words.
template <int Bytes>
struct Lanes {
    uint32 of[Bytes < 4 ? 1 : Bytes / 4];
};

XASCEND_INDEX Lanes<1> lanes_of(unsigned char w) { return {{w}}; }
XASCEND_INDEX Lanes<2> lanes_of(unsigned short w) { return {{w}}; }
XASCEND_INDEX Lanes<4> lanes_of(uint32 w) { return {{w}}; }
XASCEND_INDEX Lanes<8> lanes_of(uint2 w) { return {{w.x, w.y}}; }
XASCEND_INDEX Lanes<16> lanes_of(uint4 w) { return {{w.x, w.y, w.z, w.w}}; }

XASCEND_INDEX unsigned char word_of(const Lanes<1>& v) { return static_cast<unsigned char>(v.of[0]); }
XASCEND_INDEX unsigned short word_of(const Lanes<2>& v) { return static_cast<unsigned short>(v.of[0]); }
XASCEND_INDEX uint32 word_of(const Lanes<4>& v) { return v.of[0]; }
XASCEND_INDEX uint2 word_of(const Lanes<8>& v) { return {v.of[0], v.of[1]}; }
XASCEND_INDEX uint4 word_of(const Lanes<16>& v) { return {v.of[0], v.of[1], v.of[2], v.of[3]}; }

// Puts `part` at element `at` of a vector; `at` is known when this is compiled.
template <int Part, int Bytes>
XASCEND_INDEX void insert(Lanes<Bytes>& into, int at, const Lanes<Part>& part) {
    if constexpr (Part < 4) {
        const int bit = at * Part % 4 * 8;
        const uint32 below = bit == 0 ? 0 : into.of[at * Part / 4];
        into.of[at * Part / 4] = below | part.of[0] << bit;
    } else {
        for (int i = 0; i < Part / 4; ++i) into.of[at * (Part / 4) + i] = part.of[i];
    }
}

// Element `at` of a vector; `at` is known when this is compiled.
template <int Part, int Bytes>
XASCEND_INDEX Lanes<Part> extract(const Lanes<Bytes>& from, int at) {
    Lanes<Part> part = {};
    if constexpr (Part < 4) {
        part.of[0] = from.of[at * Part / 4] >> (at * Part % 4 * 8) & ((1u << (Part * 8)) - 1);
    } else {
        for (int i = 0; i < Part / 4; ++i) part.of[i] = from.of[at * (Part / 4) + i];
    }
    return part;
}

#ifndef XASCEND_ACCESSES  // an execution on the host brings accesses that check and count
// `step` tells apart the accesses that one thread makes at one place of the source between two barriers.
template <int Bytes>
XASCEND_INSIDE Lanes<Bytes> load_global(const char* at, uint32 /*step*/) {
    return lanes_of(__ldg(reinterpret_cast<const Word<Bytes>*>(at)));
}
// Of memory that the launch also writes.
template <int Bytes>
XASCEND_INSIDE Lanes<Bytes> load_in_place(const char* at, uint32 /*step*/) {
    return lanes_of(*reinterpret_cast<const Word<Bytes>*>(at));
}
template <int Bytes>
XASCEND_INSIDE void store_global(char* at, const Lanes<Bytes>& value, uint32 /*step*/) {
    *reinterpret_cast<Word<Bytes>*>(at) = word_of(value);
}
template <int Bytes>
XASCEND_INSIDE Lanes<Bytes> load_shared(const char* at, uint32 /*step*/) {
    return lanes_of(*reinterpret_cast<const Word<Bytes>*>(at));
}
template <int Bytes>
XASCEND_INSIDE void store_shared(char* at, const Lanes<Bytes>& value, uint32 /*step*/) {
    *reinterpret_cast<Word<Bytes>*>(at) = word_of(value);
}
// Shared memory that all threads read at one address and one thread writes.
template <class T>
XASCEND_INSIDE T load_common(const T& from) {
    return from;
}
template <class T>
XASCEND_INSIDE void store_common(T& to, T value) {
    to = value;
}
#endif

// A number below 2^31 is divided by multiplying with the rounded-up reciprocal, 2^(32 + shift) / divisor.
struct Divisor {
    uint32 divisor, multiplier, shift;
};

XASCEND_INDEX uint32 quotient(uint32 n, const Divisor& by) {
    return by.divisor == 1 ? n : __umulhi(n, by.multiplier) >> by.shift;
}

}  // namespace xascend
