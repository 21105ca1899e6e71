// TransDataTo5HD: 16 data blocks in, transposed in registers, 16 data blocks out, repeat after repeat.
#pragma once

#include "spans.hpp"
#include "tiles.hpp"

namespace xascend {

constexpr int entries = 16;  // addresses on each side

// One side of the instruction.
struct Side {
    Span reach[entries];  // from each address to where its array ends
    int64_t origin;       // of the memory that all these arrays are parts of
    int64_t at[entries];  // the blocks of the first repeat
    int64_t step;         // from there to those of the next
    int64_t half;         // of elements of one byte: where in a block the half lies that is meant

    // What all repeats touch of one entry.
    Span touched(int entry, int64_t repeats) const {
        return {at[entry], at[entry] + (repeats - 1) * step + block_bytes};
    }
};

struct TransDataTo5HD {
    int64_t itemsize, repeats;
    Side dst, src;
};

// One repeat. The elements at one place of the 16 sources make a row, which is a half block of 1-byte elements, a
// block of 2-byte ones, or two blocks of 4-byte ones: the half blocks of all rows fill the destinations in turn.
template <int Unit>
inline void transpose_blocks(char* const* dst, int64_t dst_offset, const char* const* src, int64_t src_offset) {
    using V = typename Lanes<Unit>::vector;
    constexpr int lanes = tile_width<Unit>(0), tiles = entries / lanes, halves = Unit == 1 ? 1 : 2;
    for (int half = 0; half < halves; ++half) {
        for (int tile = 0; tile < tiles; ++tile) {
            V row[lanes];
            for (int i = 0; i < lanes; ++i) row[i] = load<V>(src[tile * lanes + i] + src_offset + half * half_bytes);
            transpose(row);
            for (int i = 0; i < lanes; ++i) {
                const int place = (half * lanes + i) * tiles + tile;
                store(dst[place / halves] + dst_offset + place % halves * half_bytes, row[i]);
            }
        }
    }
}

// All repeats, so that of blocks that coincide the last one stays. With `InPlace` a repeat may write what it reads,
// and reads everything first.
template <int Unit, bool InPlace>
void transpose_repeats(const TransDataTo5HD& call) {
    char* dst[entries];
    const char* src[entries];
    char copies[entries][block_bytes];
    const char* copied[entries];
    for (int i = 0; i < entries; ++i) {
        dst[i] = pointer(call.dst.at[i]);
        src[i] = pointer(call.src.at[i]);
        copied[i] = copies[i];
    }
    for (int64_t repeat = 0; repeat < call.repeats; ++repeat) {
        const int64_t dst_offset = repeat * call.dst.step + call.dst.half;
        const int64_t src_offset = repeat * call.src.step + call.src.half;
        if constexpr (InPlace) {
            for (int i = 0; i < entries; ++i) {
                std::memcpy(copies[i], src[i] + src_offset, Unit == 1 ? half_bytes : block_bytes);
            }
            transpose_blocks<Unit>(dst, dst_offset, copied, 0);
        } else {
            transpose_blocks<Unit>(dst, dst_offset, src, src_offset);
        }
    }
}

template <bool InPlace>
void transpose_repeats(const TransDataTo5HD& call) {
    if (call.itemsize == 1) {
        transpose_repeats<1, InPlace>(call);
    } else if (call.itemsize == 2) {
        transpose_repeats<2, InPlace>(call);
    } else {
        transpose_repeats<4, InPlace>(call);
    }
}

enum class Meeting { none, in_place, unclear };

// Says how destinations, which are distinct, and sources meet that lie in one stretch of memory: nowhere, or in place,
// where those of a repeat are the same blocks. It is only clear where both walk alike, so that a repeat meets what
// another one has written if and only if their blocks are so many steps apart.
inline Meeting meeting(const TransDataTo5HD& call) {
    const int64_t step = call.dst.step, last = call.repeats - 1;
    if (last > 0 && (step != call.src.step || step == 0)) return Meeting::unclear;
    int same = 0;
    for (const int64_t written : call.dst.at) {
        int same_here = 0;
        for (const int64_t read : call.src.at) {
            const int64_t ahead = written - read;
            same_here += ahead == 0;
            if (0 < ahead && ahead <= last * step && ahead % step == 0) return Meeting::unclear;
        }
        if (same_here > 1) return Meeting::unclear;
        same += same_here;
    }
    return same == 0 ? Meeting::none : same == entries ? Meeting::in_place : Meeting::unclear;
}

// Says how sources and destinations meet in a call that keeps all rules, if a glance shows it: blocks are aligned and
// inside their arrays, destinations of a repeat are distinct, and no repeat reads what an earlier one has written. What
// is not clear may keep the rules too; the caller judges it.
inline Meeting judge(const TransDataTo5HD& call) {
    Span arrays[2], touched[2];
    const Side* sides[] = {&call.dst, &call.src};
    for (int s = 0; s < 2; ++s) {
        const Side& side = *sides[s];
        arrays[s] = side.reach[0];
        touched[s] = side.touched(0, call.repeats);
        for (int i = 0; i < entries; ++i) {
            const Span blocks = side.touched(i, call.repeats);
            if (!is_aligned(side.at[i], side.origin) || !side.reach[i].holds(blocks)) return Meeting::unclear;
            arrays[s].cover(side.reach[i]);
            touched[s].cover(blocks);
        }
    }
    bool are_distinct = true;
    for (int i = 1; i < entries; ++i) {
        for (int j = 0; j < i; ++j) are_distinct &= call.dst.at[i] != call.dst.at[j];
    }
    const bool is_one_memory = call.dst.origin == call.src.origin;
    if (!are_distinct || (!is_one_memory && arrays[0].meets(arrays[1]))) return Meeting::unclear;
    return touched[0].meets(touched[1]) ? meeting(call) : Meeting::none;
}

}  // namespace xascend
