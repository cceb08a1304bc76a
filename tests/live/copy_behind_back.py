"""A blocking cudaMemcpy inside `torch.cuda.graph`, as an extension may make it: it runs
at once and is in no replay.

expect: RF502
"""

import ctypes

import torch
from cudart import check, rt
from decode import Decoder, capture

decoder = Decoder()
seed = torch.ones(decoder.rows, dtype=torch.int64, pin_memory=True)
HOST_TO_DEVICE = 1


def work(stream):
    bytes_ = ctypes.c_size_t(8 * decoder.rows)
    target, source = ctypes.c_void_p(decoder.tokens.data_ptr()), ctypes.c_void_p(seed.data_ptr())
    check(rt.cudaMemcpy(target, source, bytes_, HOST_TO_DEVICE), "cudaMemcpy")
    decoder.step()


graph = capture(work, decoder.warm_up)
for _ in range(4):
    graph.replay()
torch.cuda.synchronize()
