"""An input of the graph is freed, and its address given to another allocation, before a
replay: the graph reads what is the other's now.

expect: RF402 | RF401
"""

import torch
from cudart import free, malloc, tensor_at
from decode import Decoder, capture

decoder = Decoder()
COUNT = 1 << 20
address = malloc(4 * COUNT)
extra = tensor_at(address, COUNT)
extra.fill_(1)
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
del extra
free(address)
other = malloc(4 * COUNT)  # the driver gives the same address
graph.replay()
torch.cuda.synchronize()
free(other)
