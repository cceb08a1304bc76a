"""How long the steps of a captured PyTorch decode take, as bench_live_overhead's peer: 300
steps, each a replay and a wait. Prints one JSON object: {"torch": version, "first_step_us":
median of the first 100, "last_step_us": of the last 100}."""

import json
import statistics
import time

import torch


def main():
    width, layers, rows = 1024, 8, 8
    weights = [torch.randn(width, width, device="cuda", dtype=torch.bfloat16) * 0.02 for _ in range(3 * layers)]
    x = torch.randn(rows, width, device="cuda", dtype=torch.bfloat16)
    out = torch.zeros_like(x)

    def step():
        y = x
        for i in range(layers):
            gate = torch.nn.functional.rms_norm(y, (width,)) @ weights[3 * i]
            y = y + (torch.nn.functional.silu(gate) * (y @ weights[3 * i + 1])) @ weights[3 * i + 2]
        out.copy_(y)

    stream = torch.cuda.Stream()
    with torch.cuda.stream(stream):
        for _ in range(3):
            step()
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph, stream=stream):
        step()
    times = []
    for _ in range(300):
        begin = time.perf_counter()
        graph.replay()
        torch.cuda.synchronize()
        times.append((time.perf_counter() - begin) * 1e6)
    first, last = statistics.median(times[:100]), statistics.median(times[-100:])
    print(json.dumps({"torch": torch.__version__, "first_step_us": first, "last_step_us": last}))


if __name__ == "__main__":
    main()
