"""A copy from pageable host memory inside the capture: its address is in the graph.

expect: RF103
"""

import torch
from decode import Decoder, capture

decoder = Decoder()
host = torch.ones(decoder.rows, dtype=torch.int64)  # not pinned, and alive to the end


def work(stream):
    decoder.tokens.copy_(host, non_blocking=True)
    decoder.step()


graph = capture(work, decoder.warm_up)
for _ in range(4):
    graph.replay()
torch.cuda.synchronize()
