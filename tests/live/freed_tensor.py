"""An input of the graph is dropped, and PyTorch's caching allocator hands its block to
another tensor, before a replay: the driver sees one allocation all along.

expect: RF402 | RF401
"""

import torch
from decode import Decoder, capture
from module import refrain

refrain.follow_torch()
decoder = Decoder()
COUNT = 1 << 20
extra = torch.ones(COUNT, device="cuda")
total = torch.zeros(COUNT, device="cuda")


def warm_up(stream):
    decoder.warm_up(stream)
    with torch.cuda.stream(stream):
        total.add_(extra)
    torch.cuda.synchronize()


def work(stream):
    decoder.step()
    total.add_(extra)


graph = capture(work, warm_up)
graph.replay()
torch.cuda.synchronize()
address = extra.data_ptr()
del extra
other = torch.empty(COUNT, device="cuda")
assert other.data_ptr() == address, "the allocator was to hand the same block out"
graph.replay()
torch.cuda.synchronize()
