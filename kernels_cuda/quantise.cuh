// The arithmetic of quantisation on the way out of the cube unit, four elements at a time. Every step rounds as float32
// does, to nearest and half to even; products and sums are not fused, and subnormal numbers are kept.
//
// CuPy compiles all sources with `-ftz=true`, whatever its caller asks for, and the operators of the language then take
// subnormal numbers for zeros. So floats are multiplied, added and compared by the functions below alone.
#pragma once

#include "words.cuh"

namespace xascend {

// What all elements of an instruction have in common.
struct Arithmetic {
    float floor;           // inputs below it become it
    uint32 limit;          // bits of the largest magnitude of a 16-bit result
    uint32 nan;            // 16-bit result of NaN
    uint32 negative_zero;  // bits of a result that become 0: those of -0.0, or 0 where it stays
    int32 low;             // limits of integer results
    int32 high;
    int32 shifts;          // whether the integers of some column are shifted
    int32 slopes;          // whether elements below 0 have a factor of their own
    int32 is_kept;         // whether float32 results are the inputs, bit for bit
};

// The numbers of a column: factors of its elements and of those below 0, and 256 * offset + shift.
struct Column {
    float scale, slope;
    int32 offset_and_shift;
};

// A rule: what all elements have in common, and the numbers of every column, unless there are tables of them.
struct Numbers {
    int64 entries;  // of each table
    Arithmetic all;
    Column alike;
};

#ifndef XASCEND_ARITHMETIC  // an execution on the host brings its own
XASCEND_INSIDE float product(float a, float b) {
    float made;
    asm("mul.rn.f32 %0, %1, %2;" : "=f"(made) : "f"(a), "f"(b));
    return made;
}
XASCEND_INSIDE float sum(float a, float b) {
    float made;
    asm("add.rn.f32 %0, %1, %2;" : "=f"(made) : "f"(a), "f"(b));
    return made;
}
// `yes` where a < b, otherwise `no`, as where one of them is NaN.
XASCEND_INSIDE float if_below(float a, float b, float yes, float no) {
    float made;
    asm("{\n\t.reg .pred is_below;\n\tsetp.lt.f32 is_below, %1, %2;\n\tselp.f32 %0, %3, %4, is_below;\n\t}"
        : "=f"(made)
        : "f"(a), "f"(b), "f"(yes), "f"(no));
    return made;
}
#endif

XASCEND_INSIDE bool is_nan(uint32 bits) { return (bits & 0x7fffffff) > 0x7f800000; }

XASCEND_INSIDE int32 within(int32 x, int32 low, int32 high) { return x < low ? low : x > high ? high : x; }

XASCEND_INSIDE float at_least(float y, float floor) { return if_below(y, floor, floor, y); }  // NaN stays

XASCEND_INSIDE float scaled(float y, const Column& column, const Arithmetic& all) {
    y = at_least(y, all.floor);
    return product(y, if_below(y, 0.0f, column.slope, column.scale));
}

// This comes after the rounding, which makes zeros of small numbers.
XASCEND_INSIDE uint32 without_negative_zero(uint32 made, const Arithmetic& all) {
    return made == all.negative_zero ? 0 : made;
}

// ---- sources ----

struct FromFloat {
    static constexpr bool may_be_nan = true;
    XASCEND_INSIDE static float get(uint32 x, const Column&, const Arithmetic&) { return __uint_as_float(x); }
    XASCEND_INSIDE static uint32 word(uint32 x, const Column& column, const Arithmetic& all) {  // no mode scales it
        if (all.is_kept) return x;
        const float y = at_least(__uint_as_float(x), all.floor);
        const uint32 made = __float_as_uint(if_below(y, 0.0f, product(y, column.slope), y));
        // of NaN, what processors of the x86 family make: that of the input, quiet, or one with the sign bit
        if (is_nan(made)) return is_nan(x) ? x | 0x00400000 : 0xffc00000;
        return without_negative_zero(made, all);
    }
};

struct FromInt {
    static constexpr bool may_be_nan = false;  // all multipliers are finite
    XASCEND_INSIDE static float get(uint32 x, const Column& column, const Arithmetic& all) {
        int32 value = static_cast<int32>(x);
        const int32 shift = column.offset_and_shift & 255;
        if (all.shifts && shift != 0) value = within(value >> shift, -32768, 32767);
        return __int2float_rn(value);
    }
    XASCEND_INSIDE static uint32 word(uint32 x, const Column&, const Arithmetic& all) {
        const int32 value = static_cast<int32>(x);
        return static_cast<uint32>(value < all.low ? all.low : value);
    }
};

// ---- results ----

// Adding 1.5 * 2^23 rounds a small number to an integer, which is then the difference of the bits.
struct ToByte {
    static constexpr int bytes = 1;
    template <class Source>
    XASCEND_INSIDE static uint32 get(uint32 x, const Column& column, const Arithmetic& all) {
        float y = scaled(Source::get(x, column, all), column, all);
        if (Source::may_be_nan && is_nan(__float_as_uint(y))) y = 0.0f;
        y = if_below(255.0f, y, 255.0f, at_least(y, -256.0f));
        const int32 rounded = static_cast<int32>(__float_as_uint(sum(y, 12582912.0f)) - 0x4b400000);
        return static_cast<uint32>(within(rounded + (column.offset_and_shift >> 8), all.low, all.high)) & 255;
    }
};

// Of a 16-bit result: the sign stays, and `Rounding` makes the other bits of a magnitude within its limit.
template <class Rounding>
struct ToSixteen {
    static constexpr int bytes = 2;
    template <class Source>
    XASCEND_INSIDE static uint32 get(uint32 x, const Column& column, const Arithmetic& all) {
        const uint32 y = __float_as_uint(scaled(Source::get(x, column, all), column, all));
        const uint32 magnitude = y & 0x7fffffff;
        const uint32 made = Rounding::round(magnitude < all.limit ? magnitude : all.limit) | (y >> 16 & 0x8000);
        return Source::may_be_nan && is_nan(y) ? all.nan : without_negative_zero(made, all);
    }
};

// Adding a power of two whose last bit counts as much as that of the result rounds. The power is 2^13 times that of the
// number, or of the smallest normal result; 0x3c00 in its last bits makes the last 16 bits of the sum, with the
// exponent added, those of the result.
struct ToHalf : ToSixteen<ToHalf> {
    XASCEND_INSIDE static uint32 round(uint32 limited) {
        const uint32 exponent = limited & 0x7f800000;
        const uint32 power = exponent < 0x38800000 ? 0x38800000 : exponent;
        const uint32 rounded =
            __float_as_uint(sum(__uint_as_float(limited), __uint_as_float(power + (13 << 23 | 0x3c00))));
        return (rounded + (power >> 13)) & 0xffff;
    }
};

struct ToBfloat : ToSixteen<ToBfloat> {
    XASCEND_INSIDE static uint32 round(uint32 limited) { return (limited + 0x7fff + (limited >> 16 & 1)) >> 16; }
};

struct ToWord {
    static constexpr int bytes = 4;
    template <class Source>
    XASCEND_INSIDE static uint32 get(uint32 x, const Column& column, const Arithmetic& all) {
        return Source::word(x, column, all);
    }
};

// ---- four columns ----

struct Columns {
    Column of[4];
};

// The numbers of the columns from `column` on. The tables follow one another in the order of `Column`; their entries are
// a multiple of four.
template <class Result>
XASCEND_INSIDE Columns load_columns(const Numbers& numbers, const char* tables, int64 column, uint32 step) {
    const Column& alike = numbers.alike;
    Columns columns = {{alike, alike, alike, alike}};
    if (tables == nullptr) return columns;
    const char* at = tables + 4 * column;
    const Lanes<16> scale = load_global<16>(at, step);
    const Lanes<16> slope = numbers.all.slopes ? load_global<16>(at + 4 * numbers.entries, step) : scale;
    Lanes<16> offset_and_shift = {};
    if (Result::bytes == 1 || numbers.all.shifts) offset_and_shift = load_global<16>(at + 8 * numbers.entries, step);
#pragma unroll
    for (int j = 0; j < 4; ++j) {
        columns.of[j] = {__uint_as_float(scale.of[j]), __uint_as_float(slope.of[j]),
                         static_cast<int32>(offset_and_shift.of[j])};
    }
    return columns;
}

template <class Source, class Result>
XASCEND_INSIDE Lanes<4 * Result::bytes> quantise(const Lanes<16>& x, const Columns& columns, const Arithmetic& all) {
    Lanes<4 * Result::bytes> value = {};
#pragma unroll
    for (int j = 0; j < 4; ++j) {
        const Lanes<Result::bytes> part = {{Result::template get<Source>(x.of[j], columns.of[j], all)}};
        insert<Result::bytes>(value, j, part);
    }
    return value;
}

}  // namespace xascend
