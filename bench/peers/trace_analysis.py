"""Holistic Trace Analysis over one trace of PyTorch's profiler: trace_analysis.py TRACE ANSWER.

Its own parsing, alignment and symbol table, then counts of kernels and calls by name and of copies out of the data frame
that it makes, as its analyses take them. ANSWER gets `{"version", "ms", "cpu_ms", "counts"}`; both times start
after the imports.
"""

import importlib.metadata
import json
import logging
import sys
import time

from hta.common.trace import Trace


def main():
    logging.disable(logging.WARNING)
    path, answer = sys.argv[1:]
    start, cpu_start = time.perf_counter(), time.process_time()
    trace = Trace(trace_files={0: path}, trace_dir="")
    trace.parse_traces(use_multiprocessing=False)
    trace.decode_symbol_ids(use_shorten_name=False)
    frame = trace.get_trace(0)
    counts = {}
    for category, prefix in (("kernel", "kernel"), ("cuda_runtime", "call")):
        for name, count in frame[frame["s_cat"] == category]["s_name"].value_counts().items():
            counts[f"{prefix} {name}"] = int(count)
    counts["copies"] = int((frame["s_cat"] == "gpu_memcpy").sum())
    took, cpu_took = time.perf_counter() - start, time.process_time() - cpu_start
    with open(answer, "w", encoding="utf-8") as out:
        json.dump({"version": importlib.metadata.version("HolisticTraceAnalysis"), "ms": took * 1e3,
                   "cpu_ms": cpu_took * 1e3, "counts": counts}, out)


main()
