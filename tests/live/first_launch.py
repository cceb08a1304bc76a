"""A kernel that was never launched before the capture: this driver loads it there, and
others refuse.

expect-warning: RF506
"""

import torch
from decode import Decoder, capture

decoder = Decoder()
numbers = torch.rand(1024, device="cuda")


def work(stream):
    decoder.step()
    torch.erfinv(numbers, out=numbers)  # by nothing else here


graph = capture(work, decoder.warm_up)
for _ in range(4):
    graph.replay()
torch.cuda.synchronize()
