// Rows of a matrix through the arithmetic of quantisation, one kernel for each kind of source, factor and result.
#pragma once

#include "elements.hpp"

namespace xascend {

using RowsKernel = void (*)(const Columns&, const char* src, int64_t src_row, char* dst, int64_t dst_row, int64_t rows,
                            int64_t columns);

// So far ahead the source is fetched; with this much arithmetic, processors do not come to it early enough themselves.
constexpr int64_t bytes_ahead = 4096;

// Calls `convert(from, to, column)` for `Count` columns at a time; the last ones go through memory of its own.
template <int Count, int Bytes, class Convert>
inline void for_each_stretch(const char* from, char* to, int64_t columns, Convert convert) {
    int64_t at = 0;
    for (; at + Count <= columns; at += Count) {
        __builtin_prefetch(from + 4 * at + bytes_ahead);
        convert(from + 4 * at, to + Bytes * at, at);
    }
    if (at == columns) return;
    char source[4 * Count] = {}, result[Bytes * Count];
    std::memcpy(source, from + 4 * at, static_cast<std::size_t>(4 * (columns - at)));
    convert(source, result, at);
    std::memcpy(to + Bytes * at, result, static_cast<std::size_t>(Bytes * (columns - at)));
}

template <class Source, class Factor, class Result>
void convert_rows(const Columns& shared, const char* src, int64_t src_row, char* dst, int64_t dst_row, int64_t rows,
                  int64_t columns) {
    constexpr int count = Result::bytes == 1 ? 16 : 8;
    const Columns c = shared;  // what is stored does not change it
    for (; rows > 0; --rows, src += src_row, dst += dst_row) {
        for_each_stretch<count, Result::bytes>(src, dst, columns, [&](const char* from, char* to, int64_t column) {
            Ints lanes[count / 4];
            for (int i = 0; i < count / 4; ++i) {
                const int64_t at = column * c.step + 4 * i;
                Ints made = Result::template get<Source>(Factor::apply(Source::get(from + 16 * i), c, at), c, at);
                if constexpr (Result::bytes > 1 && !Factor::keeps_negative_zero) {
                    made = without_negative_zero(made, Result::negative_zero);
                }
                lanes[i] = made;
            }
            Result::put(to, lanes);
        });
    }
}

// Elements of 4 bytes that stay as they are; with `Rectify`, integers below 0 become 0.
template <bool Rectify>
void keep_rows(const Columns&, const char* src, int64_t src_row, char* dst, int64_t dst_row, int64_t rows,
               int64_t columns) {
    for (; rows > 0; --rows, src += src_row, dst += dst_row) {
        for_each_stretch<8, 4>(src, dst, columns, [](const char* from, char* to, int64_t) {
            for (int i = 0; i < 2; ++i) {
                Ints x = load<Ints>(from + 16 * i);
                if constexpr (Rectify) x = x > 0 ? x : Ints{};
                store(to + 16 * i, x);
            }
        });
    }
}

// Shifts integers right and keeps them within 16 bits, in the columns that have a shift.
inline void shift_row(const Columns& c, const char* src, char* dst, int64_t columns) {
    for (int64_t at = 0; at < columns; ++at) {
        std::int32_t x;
        std::memcpy(&x, src + 4 * at, sizeof x);
        const std::int32_t shift = c.shift[at * c.step];
        if (shift) x = std::min(std::max(x >> shift, -32768), 32767);
        std::memcpy(dst + 4 * at, &x, sizeof x);
    }
}

// ---- choices ----

inline int64_t result_bytes(int64_t result) { return result == 0 ? 1 : result == 3 ? 4 : 2; }

template <class Source, class Factor>
RowsKernel kernel_to(int64_t result, bool saturate) {
    if (result == 0) return convert_rows<Source, Factor, ToByte>;
    if (result == 3) return convert_rows<Source, Factor, ToFloat>;
    if (result == 1) {
        return saturate ? convert_rows<Source, Factor, ToHalf<true>> : convert_rows<Source, Factor, ToHalf<false>>;
    }
    return saturate ? convert_rows<Source, Factor, ToBfloat<true>> : convert_rows<Source, Factor, ToBfloat<false>>;
}

template <class Source>
RowsKernel kernel_from(int64_t result, int64_t below_zero, bool saturate) {
    if (below_zero == 0) return kernel_to<Source, Scaled>(result, saturate);
    if (below_zero == 1) return kernel_to<Source, Rectified>(result, saturate);
    return kernel_to<Source, Sloped>(result, saturate);
}

// Results are 0 8-bit integers, 1 float16, 2 bfloat16, 3 float32 or int32 as the source.
inline RowsKernel choose_kernel(int64_t source, int64_t result, int64_t below_zero, bool saturate) {
    if (result == 3 && below_zero == 0) return keep_rows<false>;
    if (result == 3 && source == 1) return keep_rows<true>;
    return source == 0 ? kernel_from<FromFloat>(result, below_zero, saturate)
                       : kernel_from<FromInt>(result, below_zero, saturate);
}

}  // namespace xascend
