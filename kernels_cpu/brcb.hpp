// Brcb: each of 8 elements fills a data block, repeat after repeat.
#pragma once

#include "spans.hpp"

namespace xascend {

constexpr int filled_per_repeat = 8;

// Steps are bytes from block to block of the destination, and from repeat to repeat.
struct Brcb {
    int64_t itemsize, repeats, block_step, repeat_step;
    int64_t dst, src;

    Span written() const {
        return {dst, dst + (filled_per_repeat - 1) * block_step + (repeats - 1) * repeat_step + block_bytes};
    }
    Span read() const { return {src, src + filled_per_repeat * repeats * itemsize}; }
};

// All repeats, so that of blocks that coincide the last one stays.
template <class Element>
void fill_blocks(const Brcb& call) {
    const char* from = pointer(call.src);
    for (int64_t repeat = 0; repeat < call.repeats; ++repeat) {
        char* to = pointer(call.dst) + repeat * call.repeat_step;
        for (int i = 0; i < filled_per_repeat; ++i, from += sizeof(Element), to += call.block_step) {
            Element element;
            std::memcpy(&element, from, sizeof element);
            const auto copies = typename Lanes<sizeof element>::vector{} + element;
            store(to, copies);
            store(to + half_bytes, copies);
        }
    }
}

inline void fill_blocks(const Brcb& call) {
    if (call.itemsize == 1) {
        fill_blocks<std::uint8_t>(call);
    } else if (call.itemsize == 2) {
        fill_blocks<std::uint16_t>(call);
    } else if (call.itemsize == 4) {
        fill_blocks<std::uint32_t>(call);
    } else {
        fill_blocks<std::uint64_t>(call);
    }
}

// Says whether all rules of the instruction are kept and a glance shows it, for arrays in memories that begin at the
// given origins. There are calls that keep the rules otherwise; the caller judges them.
inline bool is_plain(const Brcb& call, const Span& dst, int64_t dst_origin, const Span& src, int64_t src_origin) {
    const Span written = call.written(), read = call.read();
    return is_aligned(call.dst, dst_origin) && is_aligned(call.src, src_origin) && dst.holds(written) &&
           src.holds(read) && !written.meets(read) && (dst_origin == src_origin || !dst.meets(src));
}

}  // namespace xascend
