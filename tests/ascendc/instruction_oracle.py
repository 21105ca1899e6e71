"""TransDataTo5HD and Brcb from the documents' sentences: loops over single elements of bytearrays, no NumPy.

A memory is a bytearray, an address a pair (number of the memory, byte in it).
"""

from __future__ import annotations

from collections.abc import Sequence

BLOCK = 32

Address = tuple[int, int]


def step_of(repeat: int, repeat_times: int) -> int:
    """Return how many strides a repeat is away from the given addresses."""
    return 1 if repeat_times == 1 else repeat


def trans_data_to_5hd(
    memories: Sequence[bytearray],
    dst_list: Sequence[Address],
    src_list: Sequence[Address],
    itemsize: int,
    *,
    dst_high_half: bool = False,
    src_high_half: bool = False,
    repeat_times: int = 1,
    dst_rep_stride: int = 0,
    src_rep_stride: int = 0,
) -> None:
    for repeat in range(repeat_times):
        step = step_of(repeat, repeat_times)
        rows = []
        for memory, address in src_list:
            begin = address + step * src_rep_stride * BLOCK
            block = bytes(memories[memory][begin : begin + BLOCK])
            rows.append([block[k : k + itemsize] for k in range(0, BLOCK, itemsize)])

        def put(entry: int, place: int, element: bytes, step: int = step) -> None:
            memory, address = dst_list[entry]
            begin = address + step * dst_rep_stride * BLOCK + place * itemsize
            memories[memory][begin : begin + itemsize] = element

        if itemsize == 1:
            for i in range(16):
                for j in range(16):
                    put(i, 16 * dst_high_half + j, rows[j][16 * src_high_half + i])
        elif itemsize == 2:
            for i in range(16):
                for j in range(16):
                    put(i, j, rows[j][i])
        else:
            for i in range(8):
                for j in range(8):
                    put(2 * i, j, rows[j][i])
                    put(2 * i + 1, j, rows[8 + j][i])


def in_bounds(sizes: Sequence[int], addresses: Sequence[Address], repeat_times: int, rep_stride: int) -> bool:
    for repeat in range(repeat_times):
        for memory, address in addresses:
            end = address + step_of(repeat, repeat_times) * rep_stride * BLOCK + BLOCK
            if end > sizes[memory]:
                return False
    return True


def may_overlap(
    dst_list: Sequence[Address],
    src_list: Sequence[Address],
    *,
    repeat_times: int = 1,
    dst_rep_stride: int = 0,
    src_rep_stride: int = 0,
) -> bool:
    """Say whether the addresses keep the rule on overlap: repeat by repeat, as sets of blocks."""
    earlier: set[Address] = set()
    for repeat in range(repeat_times):
        step = step_of(repeat, repeat_times) * BLOCK
        written = [(memory, address + step * dst_rep_stride) for memory, address in dst_list]
        read = {(memory, address + step * src_rep_stride) for memory, address in src_list}
        if len(set(written)) < len(written):
            return False
        if read & set(written) and read != set(written):
            return False
        if read & earlier:
            return False
        earlier |= set(written)
    return True


def brcb(
    dst: bytearray, src: bytes, itemsize: int, repeat_times: int, dst_blk_stride: int, dst_rep_stride: int
) -> None:
    for i in range(repeat_times):
        for j in range(8):
            element = src[(8 * i + j) * itemsize : (8 * i + j + 1) * itemsize]
            begin = BLOCK * (i * dst_rep_stride + j * dst_blk_stride)
            for place in range(begin, begin + BLOCK, itemsize):
                dst[place : place + itemsize] = element


def nchw_to_nc1hwc0(x: bytes, shape: tuple[int, int, int, int], itemsize: int, c0: int) -> bytes:
    n, c, h, w = shape
    c1 = -(-c // c0)
    out = bytearray(n * c1 * h * w * c0 * itemsize)
    for image in range(n):
        for channel in range(c):
            for pixel in range(h * w):
                source = ((image * c + channel) * h * w + pixel) * itemsize
                block = (image * c1 + channel // c0) * h * w + pixel
                target = (block * c0 + channel % c0) * itemsize
                out[target : target + itemsize] = x[source : source + itemsize]
    return bytes(out)
