#!/usr/bin/env python3
"""The hook in PyTorch's caching allocator (python/refrain/torch_blocks.py) without PyTorch: a made-up allocator calls back
as PyTorch's does, and what the auditor is told is compared with what happened.

usage: torch_blocks_test.py PYTHON_FOLDER
"""

import atexit
import sys
import types

sys.path.insert(0, sys.argv[1])
sys.dont_write_bytecode = True

from refrain import torch_blocks  # noqa: E402


class Library:
    """Of the auditor: what it was told."""

    def __init__(self):
        self.told = []

    def refrain_block_taken(self, address, size, fresh):
        self.told.append(("taken", address, size, fresh))

    def refrain_block_given_back(self, address):
        self.told.append(("given back", address))

    def refrain_blocks_followed(self, on):
        self.told.append(("followed", on))

    def take(self):
        told, self.told = self.told, []
        return told


class Allocator:
    """One default segment at 1000 and one of a private pool at 5000, of 1,000 bytes each, in blocks of 100."""

    def __init__(self):
        self.active, self.has_pool = set(), False
        self.on_taken = self.on_given_back = None

    def take(self, address):
        self.active.add(address)
        if self.on_taken:
            self.on_taken(address)

    def give_back(self, address):
        self.active.discard(address)
        if self.on_given_back:
            self.on_given_back(address)

    def segment(self, base, pool):
        blocks = [{"size": 100, "state": "active_allocated" if at in self.active else "inactive"}
                  for at in range(base, base + 1000, 100)]
        return {"address": base, "total_size": 1000, "segment_pool_id": pool, "blocks": blocks}

    def snapshot(self):
        return [self.segment(1000, (0, 0))] + ([self.segment(5000, (0, 1))] if self.has_pool else [])


def make_torch(allocator):
    class Graph:
        def capture_begin(self, fail=False):
            if fail:
                raise RuntimeError("no capture")

        def capture_end(self):
            return "ended"

    torch, cuda, trace = (types.ModuleType(name) for name in ("torch", "torch.cuda", "torch.cuda._gpu_trace"))
    torch.__version__, torch.cuda, torch._C = "2.11", cuda, types.SimpleNamespace(_activate_gpu_trace=lambda: None)
    cuda.init, cuda.memory_snapshot, cuda.CUDAGraph = (lambda: None), allocator.snapshot, Graph
    trace.register_callback_for_memory_allocation = lambda f: setattr(allocator, "on_taken", f)
    trace.register_callback_for_memory_deallocation = lambda f: setattr(allocator, "on_given_back", f)
    sys.modules.update({"torch": torch, "torch.cuda": cuda, "torch.cuda._gpu_trace": trace})
    return torch


def expect(what, told, wanted):
    if told != wanted:
        sys.exit(f"FAIL {what}: expected {wanted}, found {told}")
    print(f"ok   {what}")


def main():
    allocator, library = Allocator(), Library()
    torch = make_torch(allocator)
    allocator.take(1000)
    torch_blocks.follow(torch, library)
    torch_blocks.follow(torch, library)
    expect("what was there before is told with its size, once", library.take(), [("taken", 1000, 100, 0), ("followed", 1)])

    allocator.take(1100)
    allocator.give_back(1100)
    expect("outside captures each is told at once", library.take(), [("taken", 1100, 512, 1), ("given back", 1100)])

    graph = torch.cuda.CUDAGraph()
    graph.capture_begin()
    allocator.has_pool = True
    allocator.take(5000)
    allocator.take(5100)
    allocator.give_back(5100)
    allocator.give_back(1000)
    allocator.take(1200)
    expect("in a capture nothing is told", library.take(), [])
    expect("the end of the capture is still that", graph.capture_end(), "ended")
    expect("after it what is not in its private pool is told, and the sizes", library.take(),
           [("given back", 1000), ("taken", 1200, 512, 1), ("taken", 1200, 100, 0)])

    allocator.give_back(5000)
    allocator.take(5000)
    expect("a private pool is the graph's", library.take(), [])

    try:
        graph.capture_begin(fail=True)
    except RuntimeError:
        pass
    library.take()
    allocator.give_back(1200)
    expect("a capture that did not begin holds nothing back", library.take(), [("given back", 1200)])

    second = torch.cuda.CUDAGraph()
    graph.capture_begin()
    second.capture_begin()
    graph.capture_end()
    allocator.take(1300)
    expect("of two captures the last one tells", library.take(), [])
    second.capture_end()
    expect("when it has ended", library.take(), [("taken", 1300, 512, 1), ("taken", 1300, 100, 0)])

    torch_blocks._following.stop()
    atexit.unregister(torch_blocks._following.stop)
    allocator.give_back(1300)
    expect("at the end of the program nothing is told", library.take(), [])


if __name__ == "__main__":
    main()
