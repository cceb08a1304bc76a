"""Tensors come and go between replays, some at the addresses of others, and the graph
reads none of them; what its own pool took back it keeps. The same as freed_tensor.py, as
it should be.

expect: none
"""

import torch
from decode import Decoder, capture
from module import refrain

refrain.follow_torch()
decoder = Decoder()
COUNT = 1 << 20
extra = torch.ones(COUNT, device="cuda")
total = torch.zeros(COUNT, device="cuda")
kept = []


def warm_up(stream):
    decoder.warm_up(stream)
    with torch.cuda.stream(stream):
        total.add_(extra)
    torch.cuda.synchronize()


def work(stream):
    decoder.step()
    kept.append(total + extra)


graph = capture(work, warm_up)
for number in range(4):
    graph.replay()
    torch.cuda.synchronize()
    beside = torch.full((COUNT,), float(number), device="cuda")
    del beside
kept.clear()  # of the graph's private pool: its memory is there as long as the graph
graph.replay()
torch.cuda.synchronize()
