"""Inputs for the checks of reports: what the program ships, and graphs whose names are as hostile as bytes can be."""

import json
import pathlib
import subprocess

ROOT = pathlib.Path(__file__).resolve().parents[2]

HOSTILE = (
    "<script>alert(1)</script>",
    "\"' onload=alert(1) x='",
    "]]><!-- --> &amp; &#0;",
    "line\nbreak\r\ttab",
    "\x00\x01\x1b[31mred\x7f",
    "::error title=x::y%0A",
    "| a | `b` [c](https://example.invalid) @d \u202e",
    "{0} {{1}} \\",
)


def hostile_graph():
    """A pageable copy and a host node under every hostile name, and an unzeroed counter."""
    nodes, edges = [], []
    for name in HOSTILE:
        nodes.append({"kind": "host", "name": name, "call_site": name + ":7"})
        nodes.append({"kind": "memcpy", "name": name,
                      "copy": {"src": "0x1000", "dst": "0x2000", "bytes": 64,
                               "src_space": "pageable", "dst_space": "device"}})
    edges = [{"from": i, "to": i + 1, "kind": "full"} for i in range(len(nodes) - 1)]
    return {"schema": "refrain.graph/1", "name": "".join(HOSTILE), "nodes": nodes, "edges": edges, "buffers": [],
            "entry": []}


def chain_graph(length, bad):
    """A chain of kernels with a host node at each place of `bad`."""
    nodes = [{"kind": "host" if i in bad else "kernel", "name": f"op_{i}"} for i in range(length)]
    edges = [{"from": i, "to": i + 1, "kind": "full"} for i in range(length - 1)]
    return {"schema": "refrain.graph/1", "name": "chain", "nodes": nodes, "edges": edges, "buffers": [], "entry": []}


def write_graph(folder, name, graph):
    path = pathlib.Path(folder) / name
    path.write_text(json.dumps(graph))
    return str(path)


def samples():
    return [str(ROOT / "traces" / "samples" / name) for name in ("all_kinds_verbose.dot", "memset_memcpy_alloc.dot",
                                                                  "llama_decode.dot")]


def audit(program, arguments, exit_codes=(0, 1)):
    """Standard output of `refrain audit`, as bytes."""
    done = subprocess.run([program, "audit", *arguments], capture_output=True, timeout=60)
    assert done.returncode in exit_codes, (arguments, done.returncode, done.stderr)
    assert done.stderr == b"", done.stderr
    return done.stdout
