"""cuBLAS without a workspace: a split-K product captures an allocation node.

expect-warning: RF202
"""

import ctypes
import glob
import os

import torch
from cudart import check, rt
from decode import capture

blas = None
for folder in (os.path.dirname(torch.__file__) + "/../nvidia/*/lib", "/usr/local/cuda/lib64"):
    for path in glob.glob(folder + "/libcublas.so.13"):
        blas = blas or ctypes.CDLL(path)
if blas is None:
    raise SystemExit("libcublas.so.13 was not found")
handle = ctypes.c_void_p()
check(blas.cublasCreate_v2(ctypes.byref(handle)), "cublasCreate")

ROWS, INNER = 64, 1 << 16
a = torch.randn(ROWS, INNER, device="cuda", dtype=torch.bfloat16)
b = torch.randn(INNER, ROWS, device="cuda", dtype=torch.bfloat16)
c = torch.zeros(ROWS, ROWS, device="cuda", dtype=torch.bfloat16)
one, zero = ctypes.c_float(1), ctypes.c_float(0)
BF16, COMPUTE_32F, DEFAULT, NO_TRANSPOSE = 14, 68, -1, 0


def product(stream):
    check(blas.cublasSetStream_v2(handle, ctypes.c_void_p(stream.cuda_stream)), "cublasSetStream")
    p = ctypes.c_void_p
    check(
        blas.cublasGemmEx(
            handle, NO_TRANSPOSE, NO_TRANSPOSE, ROWS, ROWS, INNER, ctypes.byref(one), p(b.data_ptr()), BF16, ROWS,
            p(a.data_ptr()), BF16, INNER, ctypes.byref(zero), p(c.data_ptr()), BF16, ROWS, COMPUTE_32F, DEFAULT,
        ),
        "cublasGemmEx",
    )


def warm_up(stream):
    product(stream)
    torch.cuda.synchronize()


graph = capture(product, warm_up)
for _ in range(4):
    graph.replay()
torch.cuda.synchronize()
