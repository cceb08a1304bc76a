"""A captured decode as it should be: warmed up, static inputs, replayed in steps that
the host waits for at their end.

expect: none
"""

import torch
from decode import Decoder, capture

decoder = Decoder()
graph = capture(lambda stream: decoder.step(), decoder.warm_up)
done = torch.cuda.Event()
for number in range(16):
    with torch.cuda.nvtx.range(f"decode_step {number}"):
        graph.replay()
        decoder.tokens.copy_(decoder.out)
        decoder.position.add_(1)
        done.record()
        done.synchronize()
torch.cuda.synchronize()
assert int(decoder.position.item()) == 16
