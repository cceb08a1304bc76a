"""How long PyTorch takes to capture graphs of given sizes, as bench_capture's peer.

Reads one line of node counts from stdin, captures one CUDA graph of that many kernel nodes
for each, in that order, all in one memory pool, as serving engines do, and prints one JSON
object: {"torch": version, "graphs": n, "nodes": n, "capture_s": seconds}. The kernels are
one in-place addition each, so what is timed is the capture and no model.
"""

import json
import sys
import time

import torch


def capture(x, nodes, pool):
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph, pool=pool):
        for _ in range(nodes):
            x.add_(1)
    return graph


def main():
    counts = [int(word) for word in sys.stdin.readline().split()]
    x = torch.zeros(1024, device="cuda")
    x.add_(1)  # its kernel is loaded before anything is timed
    pool = torch.cuda.graph_pool_handle()
    capture(x, 8, pool).replay()
    torch.cuda.synchronize()
    begin = time.perf_counter()
    graphs = [capture(x, nodes, pool) for nodes in counts]
    torch.cuda.synchronize()
    seconds = time.perf_counter() - begin
    for graph in graphs:
        graph.replay()
    torch.cuda.synchronize()
    print(
        json.dumps(
            {"torch": torch.__version__, "graphs": len(counts), "nodes": sum(counts), "capture_s": seconds}
        )
    )


if __name__ == "__main__":
    main()
