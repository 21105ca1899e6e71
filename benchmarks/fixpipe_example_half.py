"""First example of "Fixpipe", Ascend C API: half precision, NZ2ND, quantisation F322F16.

A and B are multiplied on the cube unit and the product leaves L0C as half precision. Every step has the parameters
of the document's kernel, under the names of its variables.

It lies among the benchmarks because it is a program to run and to read beside the document, not a part of the
package: ``python benchmarks/fixpipe_example_half.py``. A test runs it and compares what it prints with the document.
"""

from __future__ import annotations

import sys

import numpy as np
from numpy.typing import NDArray

from xascend import ascendc

BLOCK_CUBE = 16
ONE_BLK_SIZE = 32


def matrix(text: str, dtype: type[np.generic]) -> NDArray[np.generic]:
    """Return the matrix that a text shows, one row in each line."""
    return np.array([line.split() for line in text.strip().splitlines()]).astype(dtype)


A = matrix(
    """
6 3 9 4 5 3 9 7 3 6 2 7 3 8 8 1 8 8 5 6 6 8 2 2 3 6 4 8 9 6 6 1
2 5 7 2 4 2 5 2 4 6 4 8 5 7 1 4 3 1 8 6 4 6 9 1 8 2 9 5 3 7 7 8
5 8 2 1 4 5 7 7 4 6 8 5 6 5 4 2 5 4 7 9 5 4 7 4 2 2 1 7 8 4 6 6
8 2 4 7 6 9 7 7 4 5 6 7 6 6 5 3 7 6 7 4 5 4 1 9 6 7 8 9 4 9 5 5
4 9 4 2 7 8 3 4 1 5 3 8 8 5 5 8 3 8 5 3 9 4 5 4 2 4 3 8 9 8 4 3
1 3 8 3 1 9 9 5 5 6 3 2 3 4 3 3 5 9 6 7 1 3 4 2 8 5 9 1 9 5 8 9
3 3 1 3 5 2 7 8 8 9 6 9 3 6 5 5 2 3 2 3 5 1 6 1 7 8 7 2 2 7 8 1
4 4 6 4 6 5 1 2 7 8 3 2 9 9 7 7 7 1 2 7 2 1 5 2 1 3 2 1 3 3 2 9
4 6 3 5 8 4 1 1 2 5 8 8 8 3 9 6 5 6 7 9 2 1 9 3 2 5 4 1 7 5 3 9
7 2 3 4 9 5 6 3 4 5 4 7 4 1 9 4 2 1 7 4 9 2 4 5 4 5 8 7 2 2 8 3
5 7 6 2 9 4 7 1 8 6 2 1 6 5 5 6 3 8 1 5 2 1 8 3 1 9 3 3 5 2 2 5
4 7 5 9 9 6 7 3 1 9 2 6 5 2 6 7 1 7 6 9 3 7 6 1 3 9 2 4 1 9 4 8
2 4 3 1 1 2 2 7 2 3 7 9 8 8 3 4 1 2 9 2 9 4 4 8 5 7 7 3 9 9 5 3
3 1 1 6 1 8 3 3 6 3 4 4 3 8 2 1 1 1 6 5 8 8 5 8 5 1 2 2 1 3 7 4
4 2 8 4 4 1 9 6 9 9 5 4 3 1 3 8 1 2 8 2 5 8 9 3 2 5 9 7 7 4 2 1
2 6 7 1 3 9 9 9 6 4 5 8 1 3 7 3 8 7 3 4 8 6 9 6 8 9 4 4 7 6 1 4
2 8 2 1 2 6 2 8 5 9 9 8 6 4 4 1 4 1 4 4 4 7 5 9 9 8 9 1 8 4 7 3
3 6 2 5 1 2 9 2 6 7 4 5 9 6 5 9 7 9 5 5 6 7 4 7 7 6 3 6 5 2 8 3
1 7 3 2 4 8 1 7 3 4 1 6 1 4 4 1 6 7 9 3 9 2 2 2 2 8 1 1 6 3 6 1
4 3 9 5 2 2 1 8 5 8 9 2 4 3 2 1 8 6 6 2 9 2 9 3 9 5 3 7 9 7 6 2
9 4 8 1 3 7 9 5 2 4 9 9 6 9 6 4 6 3 3 9 6 8 1 5 5 1 6 5 1 9 3 9
2 5 2 1 8 9 9 8 1 6 1 1 9 8 3 5 6 4 2 1 3 7 8 9 6 6 1 9 1 7 6 8
4 7 6 6 2 2 1 8 7 1 1 2 1 1 9 8 9 4 9 5 7 8 9 9 5 1 6 8 9 6 7 5
1 1 6 9 9 3 7 6 5 6 5 1 5 5 3 7 6 7 4 8 8 2 2 5 7 8 8 2 9 1 5 1
5 4 6 8 8 3 7 7 5 7 8 7 4 8 2 9 4 8 1 3 8 5 3 7 3 7 1 9 1 5 4 7
6 3 1 2 8 3 2 6 8 2 8 4 1 9 4 7 5 1 7 5 5 1 1 1 2 8 1 7 9 8 5 4
2 8 5 1 3 4 9 8 6 9 6 2 4 2 2 7 8 2 1 3 7 1 4 6 4 6 3 3 1 6 8 3
5 1 5 5 9 7 9 2 1 4 7 8 1 9 8 1 2 4 3 9 9 6 7 9 1 5 1 9 2 5 6 9
1 9 9 6 5 7 9 5 4 1 2 8 3 8 1 9 6 1 7 9 3 2 2 4 7 9 9 4 7 1 5 8
3 2 2 5 9 3 6 9 2 4 4 8 4 2 6 1 2 8 8 8 9 7 7 1 9 6 5 8 3 3 3 4
9 1 6 1 3 7 8 1 2 6 5 9 4 4 7 2 3 9 8 7 8 2 6 4 5 6 5 4 9 6 1 9
4 3 2 7 8 1 7 2 9 7 7 4 2 8 2 5 6 9 5 1 3 9 8 2 4 8 4 7 4 1 3 7
    """,
    np.float16,
)

B = matrix(
    """
3 5 9 6 2 9 3 6 5 9 5 5 3 8 5 2
5 1 5 7 5 4 2 2 4 8 1 1 3 3 7 2
6 7 4 6 1 4 8 3 9 2 2 3 4 6 5 3
4 8 2 6 4 8 6 7 3 8 6 7 3 8 1 1
6 7 8 6 1 9 9 3 9 9 2 1 3 3 3 3
7 2 4 7 5 8 9 2 1 7 9 6 8 7 1 3
3 3 9 2 3 9 4 1 8 2 5 1 2 6 5 5
6 4 8 8 7 5 9 6 7 6 8 8 2 6 1 2
4 2 3 8 6 1 1 1 7 9 5 2 2 5 7 6
4 5 9 5 6 8 1 2 1 9 2 7 8 6 6 1
4 8 6 6 3 1 7 8 7 3 2 9 8 6 9 8
3 2 5 5 7 9 7 7 4 8 3 5 2 7 1 2
3 8 2 8 9 5 1 5 7 4 1 3 4 1 4 6
9 5 2 2 4 6 3 3 7 1 9 6 8 6 4 7
2 3 8 1 5 9 8 4 5 4 6 5 4 5 3 2
3 5 4 2 1 2 9 2 3 8 9 8 8 1 2 7
1 4 5 1 3 8 2 5 9 9 5 5 5 6 4 2
7 6 7 7 6 9 1 3 8 1 9 8 8 5 1 6
5 3 8 9 8 2 6 6 1 3 2 1 2 9 3 9
1 1 4 9 8 6 6 5 6 8 4 2 2 7 2 1
8 1 3 5 8 7 5 7 4 6 7 4 8 2 2 3
5 8 6 8 1 8 6 8 3 9 1 1 3 8 3 2
7 7 5 1 5 4 6 1 1 6 8 8 1 7 7 2
1 7 7 7 7 6 1 7 3 3 8 9 3 8 9 8
4 9 5 6 9 6 8 9 1 1 6 5 1 4 3 5
4 1 8 9 6 5 5 7 8 9 8 2 7 5 5 3
9 8 4 9 5 4 7 5 7 6 9 8 5 7 2 9
6 6 5 1 4 5 9 6 7 5 5 2 3 7 6 5
5 2 5 7 9 2 2 3 2 3 1 4 6 5 3 1
5 1 9 3 2 4 1 6 7 7 4 9 8 8 6 1
3 7 5 6 7 8 2 2 8 7 6 1 3 5 3 2
7 6 7 8 6 5 2 2 8 2 2 6 6 4 9 6
    """,
    np.float16,
)


def cube_matmul_loaddata_operator(a: NDArray[np.generic], b: NDArray[np.generic]) -> NDArray[np.generic]:
    """Return C = A @ B in half precision, as the document's kernel of this name computes it."""
    m, k = a.shape
    n = b.shape[1]
    c0 = ONE_BLK_SIZE // a.itemsize
    m_blocks, k_blocks = m // BLOCK_CUBE, k // c0
    b32_b16_size, n_block = 16 * 16, 16
    a_gm, b_gm, c_gm = a.reshape(-1), b.reshape(-1), np.zeros(m * n, np.float16)
    a1_local, a2_local = np.zeros(m * k, a.dtype), np.zeros(m * k, a.dtype)
    b1_local, b2_local = np.zeros(k * n, b.dtype), np.zeros(k * n, b.dtype)
    c1_local = np.zeros(m * n, np.float32)

    # CopyIn: global memory to L1, ND to NZ
    data_copy_a1_params = ascendc.Nd2NzParams(
        nd_num=1,
        n_value=m,
        d_value=k,
        src_nd_matrix_stride=0,
        src_d_value=k,
        dst_nz_c0_stride=m,
        dst_nz_n_stride=1,
        dst_nz_matrix_stride=0,
    )
    data_copy_b1_params = ascendc.Nd2NzParams(
        nd_num=1,
        n_value=k,
        d_value=n,
        src_nd_matrix_stride=0,
        src_d_value=n,
        dst_nz_c0_stride=k,
        dst_nz_n_stride=1,
        dst_nz_matrix_stride=0,
    )
    ascendc.data_copy_nd2nz(a1_local, a_gm, data_copy_a1_params)
    ascendc.data_copy_nd2nz(b1_local, b_gm, data_copy_b1_params)

    # SplitA: L1 to L0A
    load_l0a_params = ascendc.LoadData2dParams(
        repeat_times=m_blocks, src_stride=1, dst_gap=k_blocks - 1, if_transpose=False
    )
    for i in range(k_blocks):
        ascendc.load_data(a2_local[i * 16 * c0 :], a1_local[i * m * c0 :], load_l0a_params)

    # SplitB: L1 to L0B, transposed
    load_data_params = ascendc.LoadData2dTransposeParams(
        start_index=0,
        src_stride=1,
        addr_mode=0,
        repeat_times=k * n // b32_b16_size,
        dst_gap=0,
        dst_frac_gap=n // n_block - 1,
    )
    ascendc.load_data_with_transpose(b2_local, b1_local, load_data_params)

    # Compute: L0A and L0B to L0C
    ascendc.mmad(c1_local, a2_local, b2_local, ascendc.MmadParams(m=m, n=n, k=k))

    # CopyOut: L0C to global memory, NZ to ND, float32 to half precision
    fixpipe_params = ascendc.FixpipeParamsV220(
        n_size=n,
        m_size=m,
        src_stride=m,
        dst_stride=n,
        nd_num=1,
        src_nd_stride=2,
        dst_nd_stride=m * n,
        quant_pre=ascendc.QuantMode.F322F16,
    )
    return ascendc.fixpipe(c_gm, c1_local, fixpipe_params).reshape(m, n)


if __name__ == "__main__":
    c = cube_matmul_loaddata_operator(A, B)
    with np.printoptions(threshold=sys.maxsize):
        print("Input matrix A:", A, sep="\n")
        print("Input matrix B:", B, sep="\n")
        # NumPy 2.3 and later show half precision from 1000 on with exponents, the document does not
        print("Output matrix C:", c.astype(np.float32), sep="\n")
