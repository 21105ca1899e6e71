// The arithmetic of quantisation on the way out of the cube unit, four elements at a time, at the baseline
// instruction set. Every step rounds as float32 does, to nearest and half to even; products and sums are not fused.
#pragma once

#include "lanes.hpp"

namespace xascend {

typedef float Floats __attribute__((vector_size(16)));
typedef std::int32_t Ints __attribute__((vector_size(16)));
using Words = Lanes<4>::vector;  // integers whose sums and shifts may overflow

constexpr std::int32_t rounder_bits = 0x4B400000;  // of 1.5 * 2**23: adding it rounds a small number to an integer

inline Floats as_floats(Ints bits) { return reinterpret_cast<Floats>(bits); }
inline Ints as_ints(Floats y) { return reinterpret_cast<Ints>(y); }
inline Ints as_ints(Words bits) { return reinterpret_cast<Ints>(bits); }
inline Words as_words(Floats y) { return reinterpret_cast<Words>(y); }
inline Words as_words(Ints bits) { return reinterpret_cast<Words>(bits); }
inline Ints all_ints(std::int32_t value) { return Ints{value, value, value, value}; }
inline Floats all_floats(float value) { return Floats{value, value, value, value}; }

// The larger and the smaller of two; the second where one is NaN, or where they are zeros of different sign.
inline Floats larger(Floats a, Floats b) {
#if defined(__SSE2__)
    return __builtin_ia32_maxps(a, b);  // GCC does not find it by itself
#else
    return a > b ? a : b;
#endif
}
inline Floats smaller(Floats a, Floats b) {
#if defined(__SSE2__)
    return __builtin_ia32_minps(a, b);
#else
    return a < b ? a : b;
#endif
}

// The numbers of a column: each a table with one entry for each column, or 16 entries alike where `step` is 0.
// Sixteen entries more may be read than there are columns.
struct Columns {
    const float *scale, *slope;  // factors of the elements, and of those below 0
    const float *low, *high;     // limits of the rounded product from which the offset leads to 8-bit limits
    const std::int32_t* offset;  // of 8-bit results, less `rounder_bits`
    const std::int32_t* shift;   // 0: none
    int64_t step;

    Columns from(int64_t column) const {
        const int64_t at = column * step;
        return {scale + at, slope + at, low + at, high + at, offset + at, shift + at, step};
    }
};

inline Columns columns_in(const char* tables, int64_t entries, int64_t step) {
    const float* floats = reinterpret_cast<const float*>(tables);
    const std::int32_t* ints = reinterpret_cast<const std::int32_t*>(tables + 4 * 4 * entries);
    return {floats, floats + entries, floats + 2 * entries, floats + 3 * entries, ints, ints + entries, step};
}

template <class V, class T>
inline V load_table(const T* from) {
    V value;
    std::memcpy(&value, from, sizeof value);
    return value;
}

// ---- sources ----

struct FromFloat {
    static constexpr bool may_be_nan = true;
    static Floats get(const char* from) { return load<Floats>(from); }
};

struct FromInt {
    static constexpr bool may_be_nan = false;  // all multipliers are finite
    static Floats get(const char* from) { return __builtin_convertvector(load<Ints>(from), Floats); }
};

// ---- multiplication ----

struct Scaled {
    static constexpr bool keeps_negative_zero = true;
    static Floats apply(Floats y, const Columns& c, int64_t at) { return y * load_table<Floats>(c.scale + at); }
};

struct Rectified {  // the larger of 0 and y; NaN stays
    static constexpr bool keeps_negative_zero = false;
    static Floats apply(Floats y, const Columns& c, int64_t at) {
        return larger(Floats{}, y) * load_table<Floats>(c.scale + at);
    }
};

struct Sloped {
    static constexpr bool keeps_negative_zero = false;
    static Floats apply(Floats y, const Columns& c, int64_t at) {
        const Floats factor = y < Floats{} ? load_table<Floats>(c.slope + at) : load_table<Floats>(c.scale + at);
        return y * factor;
    }
};

// ---- results ----

// Stores the low halves of 8 lanes, each of which is a sign-extended 16-bit number.
inline void store_halves(char* to, const Ints* lanes) {
#if defined(__SSE2__)
    typedef short Shorts __attribute__((vector_size(16)));
    store(to, static_cast<Shorts>(__builtin_ia32_packssdw128(lanes[0], lanes[1])));
#else
    typedef std::uint16_t Halves __attribute__((vector_size(8)));
    store(to, __builtin_convertvector(lanes[0], Halves));
    store(to + 8, __builtin_convertvector(lanes[1], Halves));
#endif
}

// Stores the low bytes of 16 lanes, each of which fits in 16 bits.
inline void store_bytes(char* to, const Ints* lanes) {
#if defined(__SSE2__)
    typedef short Shorts __attribute__((vector_size(16)));
    const Shorts low = {0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF};
    const Shorts a = __builtin_ia32_packssdw128(lanes[0], lanes[1]) & low;
    const Shorts b = __builtin_ia32_packssdw128(lanes[2], lanes[3]) & low;
    store(to, __builtin_ia32_packuswb128(a, b));
#else
    typedef std::uint8_t Quarters __attribute__((vector_size(4)));
    for (int i = 0; i < 4; ++i) store(to + 4 * i, __builtin_convertvector(lanes[i], Quarters));
#endif
}

// Turns -0.0, whose bits are given, into 0.0. This comes after the rounding, which makes zeros of small numbers.
inline Ints without_negative_zero(Ints made, std::int32_t negative_zero) {
    return made & (made != all_ints(negative_zero));
}

inline Ints without_nan(Floats y) { return as_ints(y) & (y == y); }

struct ToByte {
    static constexpr int bytes = 1;
    template <class Source>
    static Ints get(Floats y, const Columns& c, int64_t at) {
        if constexpr (Source::may_be_nan) y = as_floats(without_nan(y));
        y = smaller(larger(y, load_table<Floats>(c.low + at)), load_table<Floats>(c.high + at));
        return as_ints(y + as_floats(all_ints(rounder_bits))) + load_table<Ints>(c.offset + at);
    }
    static void put(char* to, const Ints* lanes) { store_bytes(to, lanes); }
};

// Adding a power of two whose last bit counts as much as that of the result rounds. The power is 2**13 times that of
// the number, or of the smallest normal result; `bias` in its last bits makes the last 16 bits of the sum, with the
// exponent added, those of the result.
template <bool Saturate>
struct ToHalf {
    static constexpr int bytes = 2;
    static constexpr std::int32_t negative_zero = -0x8000;
    template <class Source>
    static Ints get(Floats y, const Columns&, int64_t) {
        constexpr std::int32_t exponent = 0x7F800000, bias = 0x3C00;
        if constexpr (Saturate && Source::may_be_nan) y = as_floats(without_nan(y));
        const Ints sign = as_ints(y) & INT32_MIN;
        const Floats a = smaller(as_floats(as_ints(y) ^ sign), all_floats(Saturate ? 65504.0F : 65536.0F));
        const Floats power = larger(as_floats(as_ints(a) & exponent), all_floats(0x1p-14F));
        const Words sum = as_words(a + as_floats(as_ints(power) + ((13 << 23) | bias)));
        const Ints made = (as_ints((sum + (as_words(power) >> 13)) << 16) | sign) >> 16;
        if constexpr (Saturate || !Source::may_be_nan) return made;
        return y == y ? made : all_ints(0x7E00);
    }
    static void put(char* to, const Ints* lanes) { store_halves(to, lanes); }
};

template <bool Saturate>
struct ToBfloat {
    static constexpr int bytes = 2;
    static constexpr std::int32_t negative_zero = -0x8000;
    template <class Source>
    static Ints get(Floats y, const Columns&, int64_t) {
        if constexpr (Saturate) {
            const Floats limit = as_floats(all_ints(0x7F7F0000));
            if constexpr (Source::may_be_nan) y = as_floats(without_nan(y));
            y = smaller(larger(y, -limit), limit);
        }
        const Words bits = as_words(y);
        const Ints made = as_ints(bits + 0x7FFF + ((bits >> 16) & 1)) >> 16;
        if constexpr (Saturate || !Source::may_be_nan) return made;
        return y == y ? made : all_ints(0x7FC0);
    }
    static void put(char* to, const Ints* lanes) { store_halves(to, lanes); }
};

struct ToFloat {
    static constexpr int bytes = 4;
    static constexpr std::int32_t negative_zero = INT32_MIN;
    template <class Source>
    static Ints get(Floats y, const Columns&, int64_t) {
        return as_ints(y);
    }
    static void put(char* to, const Ints* lanes) {
        store(to, lanes[0]);
        store(to + 16, lanes[1]);
    }
};

}  // namespace xascend
