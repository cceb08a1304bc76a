"""A small Llama-shaped decoder on PyTorch, for the scripts beside it: static inputs,
page tables left out, one token a row. `Decoder.step` is what gets captured. No
package but torch."""

import torch
import torch.nn.functional as F


class Decoder:
    """Layers of RMS norm, attention over a static cache, and a SwiGLU block."""

    def __init__(self, layers=2, rows=4, width=512, heads=8, context=128, vocabulary=1024):
        generator = torch.Generator(device="cuda").manual_seed(7)

        def weight(*shape):
            return torch.randn(*shape, device="cuda", dtype=torch.bfloat16, generator=generator) * 0.02

        self.rows, self.width, self.heads, self.context = rows, width, heads, context
        self.embedding = weight(vocabulary, width)
        self.layers = [
            {
                "qkv": weight(width, 3 * width),
                "out": weight(width, width),
                "gate": weight(width, 2 * width),
                "down": weight(2 * width, width),
                "k": weight(rows, heads, context, width // heads),
                "v": weight(rows, heads, context, width // heads),
            }
            for _ in range(layers)
        ]
        self.head = weight(width, vocabulary)
        self.tokens = torch.zeros(rows, device="cuda", dtype=torch.int64)
        self.position = torch.zeros(1, device="cuda", dtype=torch.int64)
        self.out = torch.zeros(rows, device="cuda", dtype=torch.int64)

    @staticmethod
    def norm(x):
        return F.rms_norm(x, (x.shape[-1],))

    def attention(self, x, layer):
        q, k, v = (x @ layer["qkv"]).view(self.rows, 3, self.heads, 1, -1).unbind(1)
        layer["k"].index_copy_(2, self.position, k)
        layer["v"].index_copy_(2, self.position, v)
        mixed = F.scaled_dot_product_attention(q, layer["k"], layer["v"])
        return mixed.reshape(self.rows, self.width) @ layer["out"]

    def step(self):
        x = self.embedding[self.tokens]
        for layer in self.layers:
            x = x + self.attention(self.norm(x), layer)
            gate = self.norm(x) @ layer["gate"]
            x = x + F.silu(gate) @ layer["down"]
        self.out.copy_((self.norm(x) @ self.head).argmax(-1))

    def warm_up(self, stream, times=3):
        """On the stream that will capture, so that every library is set up for it."""
        stream.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(stream):
            for _ in range(times):
                self.step()
        torch.cuda.current_stream().wait_stream(stream)
        torch.cuda.synchronize()


def capture(work, warm_up=None, mode="global"):
    """The graph of `work`, captured on a stream of its own."""
    stream = torch.cuda.Stream()
    if warm_up is not None:
        warm_up(stream)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph, stream=stream, capture_error_mode=mode):
        work(stream)
    return graph
