"""`.item()` in the middle of a step: the host waits for the first graph before it
launches the second.

expect: RF102 | RF103
"""

import torch
from decode import Decoder, capture

decoder = Decoder()
first = capture(lambda stream: decoder.step(), decoder.warm_up)
second = capture(lambda stream: decoder.step(), decoder.warm_up)
for number in range(8):
    with torch.cuda.nvtx.range(f"decode_step {number}"):
        first.replay()
        if decoder.out[0].item() >= 0:
            second.replay()
torch.cuda.synchronize()
