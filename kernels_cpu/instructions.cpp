// The library's interface for instructions on data blocks.
//
// A call is 64-bit integers. TransDataTo5HD: bytes of an element, number of repeats, strides of the destinations and of
// the sources in data blocks, and where in a block the half lies that is written and that is read of elements of one
// byte. Brcb: bytes of an element, number of repeats, strides from block to block and from repeat to repeat.
//
// Functions that are given Python objects hold the interpreter's lock. They return 0, or 1 where nothing has been done
// because the call is not plain or an object not as it should be; then an exception may be set.

#include "brcb.hpp"
#include "python_arrays.hpp"
#include "transdata5hd.hpp"

#define XASCEND_PUBLIC extern "C" __attribute__((visibility("default")))

using namespace xascend;

namespace {

constexpr int done = 0, undone = 1;
constexpr int words_of_5hd = 6, words_of_brcb = 4;

TransDataTo5HD read_5hd(const int64_t* words) {
    TransDataTo5HD call;
    call.itemsize = words[0];
    call.repeats = words[1];
    call.dst.step = block_bytes * words[2];
    call.src.step = block_bytes * words[3];
    call.dst.half = words[4];
    call.src.half = words[5];
    return call;
}

Brcb read_brcb(const int64_t* words, int64_t dst, int64_t src) {
    return {words[0], words[1], block_bytes * words[2], block_bytes * words[3], dst, src};
}

// The first blocks lie where the arrays begin, or a stride further where there is one repeat only.
int carry_out_if_plain(TransDataTo5HD& call) {
    for (Side* side : {&call.dst, &call.src}) {
        for (int i = 0; i < entries; ++i) side->at[i] = side->reach[i].start + (call.repeats == 1 ? side->step : 0);
    }
    const Meeting found = judge(call);
    if (found == Meeting::unclear) return undone;
    if (found == Meeting::in_place) {
        transpose_repeats<true>(call);
    } else {
        transpose_repeats<false>(call);
    }
    return done;
}

}  // namespace

// Carries out a call that keeps the rules; its words are followed by the addresses of the 16 destinations' first
// blocks and those of the sources'.
XASCEND_PUBLIC void xascend_trans_data_to_5hd(const int64_t* words) {
    TransDataTo5HD call = read_5hd(words);
    std::copy_n(words + words_of_5hd, entries, call.dst.at);
    std::copy_n(words + words_of_5hd + entries, entries, call.src.at);
    transpose_repeats<true>(call);
}

// The words are followed by 16 byte addresses of destinations in an array, and 16 of sources.
XASCEND_PUBLIC int xascend_trans_data_to_5hd_in_array(const int64_t* words, void* array, const Python* python) {
    Span reach;
    if (!find(*python, array, Access::write, reach)) return undone;
    TransDataTo5HD call = read_5hd(words);
    words += words_of_5hd;
    for (Side* side : {&call.dst, &call.src}) {
        side->origin = reach.start;
        for (Span& entry : side->reach) {
            const int64_t address = *words++;
            if (address < 0 || address > reach.stop - reach.start) return undone;
            entry = {reach.start + address, reach.stop};
        }
    }
    return carry_out_if_plain(call);
}

// The list holds 16 destinations, 16 sources, the array that owns the memory of the former, and that of the latter.
XASCEND_PUBLIC int xascend_trans_data_to_5hd_of_views(const int64_t* words, void* list, const Python* python) {
    TransDataTo5HD call = read_5hd(words);
    int index = 0;
    for (Side* side : {&call.dst, &call.src}) {
        const Access access = side == &call.dst ? Access::write : Access::read;
        for (Span& entry : side->reach) {
            if (!find(*python, python->item(list, index++), access, entry)) return undone;
        }
    }
    for (Side* side : {&call.dst, &call.src}) {
        Span owner;
        if (!find(*python, python->item(list, index++), Access::any, owner)) return undone;
        side->origin = owner.start;
    }
    return carry_out_if_plain(call);
}

// Carries out a call that keeps the rules; its words are followed by the addresses of destination and source.
XASCEND_PUBLIC void xascend_brcb(const int64_t* words) {
    fill_blocks(read_brcb(words, words[words_of_brcb], words[words_of_brcb + 1]));
}

// The list holds destination, source, and the arrays that own their memory.
XASCEND_PUBLIC int xascend_brcb_of_views(const int64_t* words, void* list, const Python* python) {
    constexpr Access access[] = {Access::write, Access::read, Access::any, Access::any};
    Span reach[4];
    for (int i = 0; i < 4; ++i) {
        if (!find(*python, python->item(list, i), access[i], reach[i])) return undone;
    }
    const Brcb call = read_brcb(words, reach[0].start, reach[1].start);
    if (!is_plain(call, reach[0], reach[2].start, reach[1], reach[3].start)) return undone;
    fill_blocks(call);
    return done;
}
