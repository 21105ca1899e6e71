// 16-byte vectors at the baseline instruction set, through the vector extensions of GCC and Clang.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>

#if defined(__SANITIZE_ADDRESS__)  // which sees usual stores only
#define XASCEND_STREAMS 0
#else
#define XASCEND_STREAMS 1
#endif

#ifndef XASCEND_SMALL_LIMITS
#define XASCEND_SMALL_LIMITS 0  // 1: for tests, to send small arrays the ways of large ones
#endif

namespace xascend {

using std::int64_t;

// Vectors are named after their lanes: 16 bytes seen as lanes of 1, 2, 4 or 8 bytes.
template <int LaneBytes>
struct Lanes;
template <>
struct Lanes<1> {
    typedef std::uint8_t vector __attribute__((vector_size(16)));
};
template <>
struct Lanes<2> {
    typedef std::uint16_t vector __attribute__((vector_size(16)));
};
template <>
struct Lanes<4> {
    typedef std::uint32_t vector __attribute__((vector_size(16)));
};
template <>
struct Lanes<8> {
    typedef std::uint64_t vector __attribute__((vector_size(16)));
};

constexpr int64_t vector_bytes = 16;
constexpr int64_t line_bytes = 64;  // a cache line: what a non-temporal store should fill

using Vector = Lanes<8>::vector;

template <class V>
inline V load(const char* from) {
    V value;
    std::memcpy(&value, from, sizeof value);
    return value;
}

template <class V>
inline void store(char* to, V value) {
    std::memcpy(to, &value, sizeof value);
}

// A store that does not bring the line into the cache; `to` is aligned to 16 bytes. GCC has it for x86 only; other
// processors recognise streams of full lines by themselves.
template <class V>
inline void stream(char* to, V value) {
#if XASCEND_STREAMS && defined(__clang__)
    __builtin_nontemporal_store(reinterpret_cast<Vector>(value), reinterpret_cast<Vector*>(to));
#elif XASCEND_STREAMS && defined(__SSE2__)
    typedef long long words __attribute__((vector_size(16)));
    __builtin_ia32_movntdq(reinterpret_cast<words*>(to), reinterpret_cast<words>(value));
#else
    typedef long long words __attribute__((vector_size(16), may_alias));
    *reinterpret_cast<words*>(to) = reinterpret_cast<words>(value);
#endif
}

// Stores `bytes` of less than a vector in the same way, without touching the others of the aligned vector of memory
// that they lie in. A usual store would fetch the line for what it keeps, and every fetch among streamed stores costs as
// much as several of them.
inline void stream_part(char* to, const char* from, int64_t bytes) {
#if XASCEND_STREAMS && defined(__SSE2__)
    typedef char chars __attribute__((vector_size(16)));
    const int64_t at = reinterpret_cast<std::intptr_t>(to) & (vector_bytes - 1);
    alignas(16) char value[16] = {}, mask[16] = {};
    std::memcpy(value + at, from, static_cast<std::size_t>(bytes));
    std::memset(mask + at, 0x80, static_cast<std::size_t>(bytes));
    __builtin_ia32_maskmovdqu(load<chars>(value), load<chars>(mask), to - at);
#else
    std::memcpy(to, from, static_cast<std::size_t>(bytes));
#endif
}

// Streamed stores are ordered before everything that follows.
inline void fence_streams() {
#if defined(__SSE2__)
    __builtin_ia32_sfence();
#endif
}

#if defined(__has_builtin)
#if __has_builtin(__builtin_shufflevector)
#define XASCEND_SHUFFLE(a, b, ...) __builtin_shufflevector(a, b, __VA_ARGS__)
#endif
#endif
#ifndef XASCEND_SHUFFLE  // GCC before 12
#define XASCEND_SHUFFLE(a, b, ...) __builtin_shuffle(a, b, decltype(a){__VA_ARGS__})
#endif

// The lanes of the lower (upper) halves of two vectors, taken in turn.
inline Lanes<1>::vector zip_lower(Lanes<1>::vector a, Lanes<1>::vector b) {
    return XASCEND_SHUFFLE(a, b, 0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7, 23);
}
inline Lanes<1>::vector zip_upper(Lanes<1>::vector a, Lanes<1>::vector b) {
    return XASCEND_SHUFFLE(a, b, 8, 24, 9, 25, 10, 26, 11, 27, 12, 28, 13, 29, 14, 30, 15, 31);
}
inline Lanes<2>::vector zip_lower(Lanes<2>::vector a, Lanes<2>::vector b) {
    return XASCEND_SHUFFLE(a, b, 0, 8, 1, 9, 2, 10, 3, 11);
}
inline Lanes<2>::vector zip_upper(Lanes<2>::vector a, Lanes<2>::vector b) {
    return XASCEND_SHUFFLE(a, b, 4, 12, 5, 13, 6, 14, 7, 15);
}
inline Lanes<4>::vector zip_lower(Lanes<4>::vector a, Lanes<4>::vector b) { return XASCEND_SHUFFLE(a, b, 0, 4, 1, 5); }
inline Lanes<4>::vector zip_upper(Lanes<4>::vector a, Lanes<4>::vector b) { return XASCEND_SHUFFLE(a, b, 2, 6, 3, 7); }
inline Lanes<8>::vector zip_lower(Lanes<8>::vector a, Lanes<8>::vector b) { return XASCEND_SHUFFLE(a, b, 0, 2); }
inline Lanes<8>::vector zip_upper(Lanes<8>::vector a, Lanes<8>::vector b) { return XASCEND_SHUFFLE(a, b, 1, 3); }

#undef XASCEND_SHUFFLE

// Copies `bytes` < 16 bytes: two moves that may overlap.
inline void copy_short(char* to, const char* from, int64_t bytes) {
    const auto twice = [&](auto word) {
        constexpr int64_t size = sizeof word;
        auto last = word;
        std::memcpy(&word, from, size);
        std::memcpy(&last, from + bytes - size, size);
        std::memcpy(to, &word, size);
        std::memcpy(to + bytes - size, &last, size);
    };
    if (bytes >= 8) {
        twice(std::uint64_t{});
    } else if (bytes >= 4) {
        twice(std::uint32_t{});
    } else if (bytes >= 2) {
        twice(std::uint16_t{});
    } else if (bytes == 1) {
        *to = *from;
    }
}

}  // namespace xascend
