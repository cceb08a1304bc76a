"""A launch on a stream that was not forked into the capture: it runs at once, outside.

expect: RF501
"""

import torch
from decode import Decoder, capture

decoder = Decoder()
side = torch.cuda.Stream()
counter = torch.zeros(1024, device="cuda")
counter.add_(1)


def work(stream):
    decoder.step()
    with torch.cuda.stream(side):
        counter.add_(1)


graph = capture(work, decoder.warm_up)
for _ in range(4):
    graph.replay()
torch.cuda.synchronize()
