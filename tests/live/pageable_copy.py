"""A copy from pageable host memory inside the capture, as an extension may make it:
its address is in the graph. PyTorch's own copy_ refuses this.

expect: RF103
"""

import ctypes

import torch
from cudart import check, rt
from decode import Decoder, capture

decoder = Decoder()
host = torch.ones(decoder.rows, dtype=torch.int64)  # not pinned, and alive to the end
HOST_TO_DEVICE = 1


def work(stream):
    bytes_, on = ctypes.c_size_t(8 * decoder.rows), ctypes.c_void_p(stream.cuda_stream)
    target, source = ctypes.c_void_p(decoder.tokens.data_ptr()), ctypes.c_void_p(host.data_ptr())
    check(rt.cudaMemcpyAsync(target, source, bytes_, HOST_TO_DEVICE, on), "cudaMemcpyAsync")
    decoder.step()


graph = capture(work, decoder.warm_up)
for _ in range(4):
    graph.replay()
torch.cuda.synchronize()
