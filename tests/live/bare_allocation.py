"""cudaMalloc in a relaxed capture, by nobody's allocator: it works, and no replay has it.

expect: RF201
"""

import torch
from cudart import free, malloc
from decode import Decoder, capture

decoder = Decoder()
made = []


def work(stream):
    made.append(malloc(1 << 20))
    decoder.step()


graph = capture(work, decoder.warm_up, mode="relaxed")
for _ in range(4):
    graph.replay()
torch.cuda.synchronize()
free(made[0])
