"""The examples of the TransDataTo5HD document, both editions, with the values they print."""

from __future__ import annotations

import numpy as np
import pytest
from ascendc.forms import FORMS, run

from xascend import ascendc

INT8_SOURCE_ROWS = (range(32), range(32, 64), range(64, 96), range(96, 128))

INT8_HIGH_TO_HIGH = """
16 48 80 112 16 48 80 112 16 48 80 112 16 48 80 112
17 49 81 113 17 49 81 113 17 49 81 113 17 49 81 113
18 50 82 114 18 50 82 114 18 50 82 114 18 50 82 114
19 51 83 115 19 51 83 115 19 51 83 115 19 51 83 115
20 52 84 116 20 52 84 116 20 52 84 116 20 52 84 116
21 53 85 117 21 53 85 117 21 53 85 117 21 53 85 117
22 54 86 118 22 54 86 118 22 54 86 118 22 54 86 118
23 55 87 119 23 55 87 119 23 55 87 119 23 55 87 119
24 56 88 120 24 56 88 120 24 56 88 120 24 56 88 120
25 57 89 121 25 57 89 121 25 57 89 121 25 57 89 121
26 58 90 122 26 58 90 122 26 58 90 122 26 58 90 122
27 59 91 123 27 59 91 123 27 59 91 123 27 59 91 123
28 60 92 124 28 60 92 124 28 60 92 124 28 60 92 124
29 61 93 125 29 61 93 125 29 61 93 125 29 61 93 125
30 62 94 126 30 62 94 126 30 62 94 126 30 62 94 126
31 63 95 127 31 63 95 127 31 63 95 127 31 63 95 127
"""

HALF = """
0 16 32 48 64 80 96 112 128 144 160 176 192 208 224 240
1 17 33 49 65 81 97 113 129 145 161 177 193 209 225 241
2 18 34 50 66 82 98 114 130 146 162 178 194 210 226 242
3 19 35 51 67 83 99 115 131 147 163 179 195 211 227 243
4 20 36 52 68 84 100 116 132 148 164 180 196 212 228 244
5 21 37 53 69 85 101 117 133 149 165 181 197 213 229 245
6 22 38 54 70 86 102 118 134 150 166 182 198 214 230 246
7 23 39 55 71 87 103 119 135 151 167 183 199 215 231 247
8 24 40 56 72 88 104 120 136 152 168 184 200 216 232 248
9 25 41 57 73 89 105 121 137 153 169 185 201 217 233 249
10 26 42 58 74 90 106 122 138 154 170 186 202 218 234 250
11 27 43 59 75 91 107 123 139 155 171 187 203 219 235 251
12 28 44 60 76 92 108 124 140 156 172 188 204 220 236 252
13 29 45 61 77 93 109 125 141 157 173 189 205 221 237 253
14 30 46 62 78 94 110 126 142 158 174 190 206 222 238 254
15 31 47 63 79 95 111 127 143 159 175 191 207 223 239 255
"""

INT32 = """
0 8 16 24 32 40 48 56 64 72 80 88 96 104 112 120
1 9 17 25 33 41 49 57 65 73 81 89 97 105 113 121
2 10 18 26 34 42 50 58 66 74 82 90 98 106 114 122
3 11 19 27 35 43 51 59 67 75 83 91 99 107 115 123
4 12 20 28 36 44 52 60 68 76 84 92 100 108 116 124
5 13 21 29 37 45 53 61 69 77 85 93 101 109 117 125
6 14 22 30 38 46 54 62 70 78 86 94 102 110 118 126
7 15 23 31 39 47 55 63 71 79 87 95 103 111 119 127
"""

SOURCE_BLOCKS = [32 * block for block in range(16)]
RESULT_BLOCKS = [512 + 32 * block for block in range(16)]


def table(text: str) -> list[list[int]]:
    return [[int(word) for word in line.split()] for line in text.split("\n") if line]


@pytest.mark.parametrize("form", FORMS)
def test_int8_from_high_half_to_high_half(form: str) -> None:
    ub = np.zeros(1024, np.int8)
    ub[:512] = [value for _ in range(4) for row in INT8_SOURCE_ROWS for value in row]
    run(form, ub, RESULT_BLOCKS, SOURCE_BLOCKS, ascendc.TransDataTo5HDParams(True, True, 1, 0, 0))
    result = ub[512:].reshape(16, 32)
    assert result[:, 16:].tolist() == table(INT8_HIGH_TO_HIGH)
    assert result[:, :16].tolist() == [[0] * 16] * 16


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize(("dtype", "printed"), [("float16", HALF), ("int32", INT32)])
def test_half_and_int32(form: str, dtype: str, printed: str) -> None:
    count = 512 // np.dtype(dtype).itemsize
    ub = np.zeros(2 * count, dtype)
    ub[:count] = range(count)
    run(form, ub, RESULT_BLOCKS, SOURCE_BLOCKS, ascendc.TransDataTo5HDParams())
    assert ub[count:].reshape(-1, 16).tolist() == table(printed)


@pytest.mark.parametrize("form", FORMS)
def test_nchw_to_nc1hwc0_recipe(form: str) -> None:
    n, c, h, w, c0 = 2, 32, 16, 16, 16
    total = n * c * h * w
    ub = np.zeros(2 * total, np.int16)
    ub[:total] = range(total)
    params = ascendc.TransDataTo5HDParams(repeat_times=16, dst_rep_stride=16, src_rep_stride=1)
    for loop in range(n * c // 16):
        src = [2 * (loop * 16 * h * w + i * h * w) for i in range(16)]
        dst = [2 * (total + loop * 16 * h * w + i * c0) for i in range(16)]
        run(form, ub, dst, src, params)
    result = ub[total:].reshape(n, c // c0, h * w, c0)
    for image in range(n):
        for channel in range(c):
            plane = [(image * c + channel) * h * w + pixel for pixel in range(h * w)]
            assert result[image, channel // c0, :, channel % c0].tolist() == plane


@pytest.mark.parametrize("form", FORMS)
def test_one_repeat_writes_one_stride_late(form: str) -> None:
    ub = np.zeros(48 * 16, np.int16)
    ub[:256] = range(256)
    run(form, ub, RESULT_BLOCKS, SOURCE_BLOCKS, ascendc.TransDataTo5HDParams(dst_rep_stride=16))
    assert not ub[256:512].any()
    assert ub[512:].reshape(16, 16).tolist() == table(HALF)


@pytest.mark.parametrize("form", FORMS)
def test_one_repeat_reads_one_stride_late(form: str) -> None:
    ub = np.zeros(48 * 16, np.int16)
    ub[512:] = range(256)
    run(form, ub, SOURCE_BLOCKS, RESULT_BLOCKS, ascendc.TransDataTo5HDParams(src_rep_stride=16))
    assert ub[:256].reshape(16, 16).tolist() == table(HALF)
    assert not ub[256:512].any()


def test_two_repeats_start_at_the_addresses() -> None:
    ub = np.zeros(64 * 16, np.int16)
    ub[:512] = range(512)
    src, dst = [32 * block for block in range(16)], [1024 + 32 * block for block in range(16)]
    run("ints", ub, dst, src, ascendc.TransDataTo5HDParams(repeat_times=2, dst_rep_stride=16, src_rep_stride=16))
    first = np.array(table(HALF))
    assert ub[512:].reshape(2, 16, 16).tolist() == [first.tolist(), (first + 256).tolist()]
