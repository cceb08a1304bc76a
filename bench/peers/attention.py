"""Decode and sparse MLA beside their peers on one GPU, case by case in one run.

For each case our benchmark runs as a process of its own, then FlashInfer and cuDNN here, cuDNN both through its front end over
pages as ours and through PyTorch over a contiguous cache, all of the same shape and filled with the same distribution. Every
time is that of a replayed CUDA graph over cold caches (a case reads more than four times the L2, or goes over several caches in
turn), the median of its replays; every error is the largest difference from an fp64 attention over the same cache, in the heads
of KV head 0 of the last row. A peer that cannot run a case says why in `failed`. Writes refrain.bench/1, topic `peers`.

  attention.py --bench DIR --out FILE [--quick] [--cases WORD,WORD] [--without PEER,PEER] [--add]

DIR holds bench_decode and bench_mla. Of the cases those are measured whose names contain one of the words; with --add the
rows of FILE that are not measured stay, each with its own commit. FlashInfer compiles its kernels at first use: it needs nvcc
and ninja, and a folder to write to (FLASHINFER_WORKSPACE_BASE).
"""

import argparse
import datetime
import importlib
import json
import math
import os
import pathlib
import subprocess
import sys
import tempfile
import time

import torch

LAYERS, CALLS, REPLAYS = 32, 4, 11  # calls in a graph: as many as bench_decode's layers, and as bench_mla's prefills
PAGE, DIM, KV_HEADS = 16, 128, 8
DTYPES = {"bf16": torch.bfloat16, "e4m3": torch.float8_e4m3fn}


def decode_cases(quick):
    """Those whose one cache is more than four times the L2."""
    shapes = [(32, batch, context) for batch in (16, 32, 64) for context in (8192, 32768)] + [(32, 1, 131072)]
    shapes += [(64, 16, 32768), (64, 1, 131072)]
    for heads, batch, context in shapes[:2] if quick else shapes:
        for dtype in DTYPES:
            yield {"dtype": dtype, "heads": heads, "batch": batch, "context": context,
                   "name": f"{dtype}-gqa{heads}/{KV_HEADS}-d{DIM}-page{PAGE}-b{batch}-ctx{context}"}


def fill(tensor):
    """Uniform in [-2, 2), as our benchmark fills."""
    flat = tensor.view(-1)
    for part in flat.split(1 << 28):
        part.copy_(torch.rand(part.numel(), device="cuda", dtype=torch.bfloat16).mul_(4).sub_(2))
    return tensor


class Cache:
    """[pages, 2 (K, V), page, kv heads, dim], its pages handed out in random order; page 0 is nobody's."""

    def __init__(self, case):
        self.pages = case["context"] // PAGE
        self.data = fill(torch.empty(1 + case["batch"] * self.pages, 2, PAGE, KV_HEADS, DIM, device="cuda",
                                     dtype=DTYPES[case["dtype"]]))
        self.table = (1 + torch.randperm(case["batch"] * self.pages, device="cuda")).int().view(case["batch"], self.pages)
        query = torch.float16 if case["dtype"] == "e4m3" else torch.bfloat16
        self.q = fill(torch.empty(case["batch"], case["heads"], DIM, device="cuda", dtype=query))

    def expected(self, case):
        """fp64, of the last row's heads of KV head 0: [group, dim]."""
        rows = self.data[self.table[-1].long()][:, :, :, 0].double()
        k, v = (rows[:, plane].reshape(case["context"], DIM) for plane in (0, 1))
        group = case["heads"] // KV_HEADS
        return torch.softmax(self.q[-1, :group].double() @ k.T / math.sqrt(DIM), -1) @ v


def flashinfer_decode(backend):
    def build(case, cache):
        import flashinfer
        batch = case["batch"]
        indptr = torch.arange(batch + 1, device="cuda", dtype=torch.int32) * cache.pages
        last = torch.full((batch,), PAGE, device="cuda", dtype=torch.int32)
        indices = cache.table.reshape(-1).contiguous()
        wrapper = flashinfer.BatchDecodeWithPagedKVCacheWrapper(
            torch.zeros(512 << 20, dtype=torch.uint8, device="cuda"), "NHD", use_cuda_graph=True, use_tensor_cores=True,
            paged_kv_indptr_buffer=indptr.clone(), paged_kv_indices_buffer=indices.clone(),
            paged_kv_last_page_len_buffer=last.clone(), backend=backend)
        wrapper.plan(indptr, indices, last, case["heads"], KV_HEADS, DIM, PAGE, q_data_type=cache.q.dtype,
                     kv_data_type=cache.data.dtype)
        out = torch.empty_like(cache.q)
        return lambda: wrapper.run(cache.q, cache.data, out=out), lambda: out
    return build


def flashinfer_xqa(case, cache):
    from flashinfer.xqa import xqa
    q = cache.q.to(torch.bfloat16 if case["dtype"] == "bf16" else torch.float16).unsqueeze(1).contiguous()
    k, v = cache.data[:, 0].contiguous(), cache.data[:, 1].contiguous()
    lengths = torch.full((case["batch"], 1), case["context"], device="cuda", dtype=torch.int32).view(torch.uint32)
    out = torch.empty_like(q)
    workspace = torch.zeros(512 << 20, dtype=torch.uint8, device="cuda")
    semaphores = torch.zeros(8 << 20, dtype=torch.uint8, device="cuda").view(torch.uint32)
    return (lambda: xqa(q, k, v, cache.table, lengths, out, workspace, semaphores, KV_HEADS, PAGE, kv_layout="NHD"),
            lambda: out[:, 0])


def cudnn_contiguous(case, cache):
    """Contiguous bf16 caches: what paging costs is not in its time."""
    from torch.nn.attention import SDPBackend, sdpa_kernel
    if case["dtype"] != "bf16":
        raise ValueError("PyTorch's attention takes no E4M3 cache")
    def plane(which):
        out = torch.empty(case["batch"], KV_HEADS, case["context"], DIM, device="cuda", dtype=torch.bfloat16)
        for row in range(case["batch"]):
            out[row] = cache.data[cache.table[row].long(), which].reshape(case["context"], KV_HEADS, DIM).transpose(0, 1)
        return out
    k, v, q, kept = plane(0), plane(1), cache.q.unsqueeze(2), {}
    def run():
        with sdpa_kernel(SDPBackend.CUDNN_ATTENTION):
            kept["out"] = torch.nn.functional.scaled_dot_product_attention(q, k, v, enable_gqa=True)
    return run, lambda: kept["out"][:, :, 0]


def cudnn_paged(case, cache):
    """The same paged cache through cuDNN's front end: K and V are strided views of it."""
    if case["dtype"] != "bf16":
        raise ValueError("cuDNN's paged attention takes E4M3 for an E4M3 query alone")
    import cudnn
    handle, batch = cudnn.create_handle(), case["batch"]
    q, out = cache.q.unsqueeze(2), torch.empty_like(cache.q.unsqueeze(2))
    k, v = (cache.data[:, plane].transpose(1, 2) for plane in (0, 1))  # [pages, kv heads, page, dim]
    table = cache.table.view(batch, 1, cache.pages, 1)
    ones = torch.ones(batch, 1, 1, 1, device="cuda", dtype=torch.int32)
    lengths = torch.full_like(ones, case["context"])
    graph = cudnn.pygraph(io_data_type=cudnn.data_type.BFLOAT16, intermediate_data_type=cudnn.data_type.FLOAT,
                          compute_data_type=cudnn.data_type.FLOAT, handle=handle)
    given = {graph.tensor_like(tensor): tensor for tensor in (q, k, v, ones, lengths, table, table.clone())}
    names = list(given)
    result, _ = graph.sdpa(q=names[0], k=names[1], v=names[2], is_inference=True, attn_scale=1 / math.sqrt(DIM),
                           use_padding_mask=True, seq_len_q=names[3], seq_len_kv=names[4],
                           paged_attention_k_table=names[5], paged_attention_v_table=names[6],
                           paged_attention_max_seq_len_kv=case["context"])
    result.set_output(True).set_dim(out.shape).set_stride(out.stride())
    graph.validate()
    graph.build_operation_graph()
    graph.create_execution_plans([cudnn.heur_mode.A])
    graph.check_support()
    graph.build_plans()
    workspace = torch.empty(max(graph.get_workspace_size(), 1), dtype=torch.uint8, device="cuda")
    def run():
        cudnn.set_stream(handle=handle, stream=torch.cuda.current_stream().cuda_stream)
        graph.execute({**given, result: out}, workspace, handle=handle)
    return run, lambda: out[:, :, 0]


MLA_PEERS = ("flashinfer-mla-fa2", "flashinfer-mla-fa3")
PEERS = {"torch-cudnn": cudnn_contiguous, "cudnn-paged": cudnn_paged, "flashinfer-fa2": flashinfer_decode("fa2"),
         "flashinfer-fa3": flashinfer_decode("fa3"), "flashinfer-xqa": flashinfer_xqa}


def replay_times(work):
    """Microseconds a call: median, least and most of the replays; the clock starts on a busy stream."""
    side = torch.cuda.Stream()
    with torch.cuda.stream(side):
        for _ in range(2):
            work[0]()
    side.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        for call in work:
            call()
    times = []
    begin = time.perf_counter()
    while time.perf_counter() - begin < 0.06:  # the clocks of a GPU that was idle rise only in tens of milliseconds
        graph.replay()
        torch.cuda.synchronize()
    for _ in range(REPLAYS):
        begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        torch.cuda._sleep(1_000_000)
        begin.record()
        graph.replay()
        end.record()
        end.synchronize()
        times.append(begin.elapsed_time(end) * 1e3 / len(work))
    times.sort()
    return {"time_us": times[len(times) // 2], "time_us_min": times[0], "time_us_max": times[-1]}


def why(error):
    text = str(error).strip()
    return f"{type(error).__name__}: {text.splitlines()[0][:200] if text else ''}"


def ours(folder, program, name):
    with tempfile.TemporaryDirectory() as temporary:
        out = pathlib.Path(temporary, "row.json")
        subprocess.run([str(pathlib.Path(folder, program)), "--cases", name, "--out", str(out)], check=True,
                       stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        result = json.loads(out.read_text())
    return result["rows"][0], result


def with_peers(row, peers):
    """As many calls a graph on both sides. Peers plan on the host, outside their graphs and their times; ours plans once
    for all layers of a graph, and `time_us` holds a plan for each."""
    times = [peer["time_us"] for peer in peers if "time_us" in peer]
    if times:
        row["over_best_peer_ratio"] = min(times) / row.get("layer_us", row["time_us"])
    return {**row, "peers": peers}


def decode_peer(name, case):
    cache = Cache(case)
    work, out = PEERS[name](case, cache)
    times = replay_times([work] * LAYERS)
    expected = cache.expected(case)
    return {**times, "max_abs_error": (out()[-1, :expected.shape[0]].double() - expected).abs().max().item()}


def mla_cases():
    return [{"rows": rows, "heads": heads, "topk": 2048, "slots": 4096 * rows,
             "name": f"decode-bf16-rows{rows}-heads{heads}-topk2048"}
            for rows, heads in ((8, 16), (64, 16), (64, 64), (64, 128))] + \
        [{"rows": 2119, "heads": heads, "topk": 2048, "slots": 2119, "name": f"prefill-bf16-rows2119-heads{heads}-topk2048"}
         for heads in (8, 16, 64, 128)]


def flashinfer_mla(backend, case):
    import flashinfer
    rows, heads, topk = case["rows"], case["heads"], case["topk"]
    wide = 576
    caches = max(1, -(-256_000_000 // (rows * topk * wide * 2))) if rows < 1000 else 1
    pools = [fill(torch.empty(case["slots"], 1, wide, device="cuda", dtype=torch.bfloat16)) for _ in range(caches)]
    q = fill(torch.empty(rows, heads, wide, device="cuda", dtype=torch.bfloat16))
    indices = torch.stack([torch.randperm(case["slots"], device="cuda")[:topk] for _ in range(rows)]).int()
    indptr = torch.arange(rows + 1, device="cuda", dtype=torch.int32)
    lengths = torch.full((rows,), topk, device="cuda", dtype=torch.int32)
    flat, scale = indices.reshape(-1).contiguous(), 0.02 / math.sqrt(wide)
    wrapper = flashinfer.BatchMLAPagedAttentionWrapper(
        torch.zeros(512 << 20, dtype=torch.uint8, device="cuda"), use_cuda_graph=True, qo_indptr=indptr.clone(),
        kv_indptr=(indptr * topk).clone(), kv_indices=flat.clone(), kv_len_arr=lengths.clone(), backend=backend)
    wrapper.plan(indptr, indptr * topk, flat, lengths, heads, 512, 64, 1, False, scale, torch.bfloat16, torch.bfloat16)
    out = torch.empty(rows, heads, 512, device="cuda", dtype=torch.bfloat16)
    nope, rope = q[..., :512].contiguous(), q[..., 512:].contiguous()
    split = [(pool[..., :512].contiguous(), pool[..., 512:].contiguous()) for pool in pools]
    times = replay_times([lambda a=a, b=b: wrapper.run(nope, rope, a, b, out=out) for a, b in split] *
                         (CALLS if caches == 1 else 1))
    keys = pools[-1][indices[-1].long(), 0].double()
    expected = torch.softmax(q[-1].double() @ keys.T * scale, -1) @ keys[:, :512]
    return {**times, "max_abs_error": (out[-1].double() - expected).abs().max().item()}


class Worker:
    """Runs peers in a process of their own: an illegal access of one of them ends that process, and the next gets a new
    one."""

    def __init__(self):
        self.process = None

    def ask(self, name, case):
        """An error that comes late ends the process between two questions: the next one is asked again."""
        try:
            return self.ask_once(name, case)
        except BrokenPipeError:
            self.process.kill()
            self.process.wait()
            self.process = None
            return self.ask_once(name, case)

    def ask_once(self, name, case):
        if self.process is None:
            self.process = subprocess.Popen([sys.executable, __file__, "--worker"], stdin=subprocess.PIPE,
                                            stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        self.process.stdin.write(json.dumps({"peer": name, "case": case}) + "\n")
        self.process.stdin.flush()
        answer = self.process.stdout.readline()
        if answer:
            return {"peer": name, **json.loads(answer)}
        code, self.process = self.process.wait(), None
        return {"peer": name, "failed": f"its process ended with {code}"}


def work():
    """Answers go to what was standard output; what libraries print there goes nowhere."""
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
    for line in sys.stdin:
        asked = json.loads(line)
        name, case = asked["peer"], asked["case"]
        try:
            answer = flashinfer_mla(name.split("-")[-1], case) if "topk" in case else decode_peer(name, case)
            torch.cuda.empty_cache()
        except Exception as failed:  # whatever a peer throws is its answer for this case
            answer = {"failed": why(failed)}
            if "CUDA error" in answer["failed"]:  # nothing of this process works from here on
                print(json.dumps(answer), file=answers, flush=True)
                os._exit(1)
        print(json.dumps(answer), file=answers, flush=True)


def beside_peers(folder, worker, program, case, peers, kept):
    row, result = ours(folder, program, case["name"])
    kept = ("time_us", "time_us_min", "time_us_max", *kept, "limited_by")
    answers = [worker.ask(name, case) for name in peers]
    prefix = program.removeprefix("bench_").replace("decode", "attention")
    return with_peers({"case": f"{prefix}-{case['name']}", **{key: row[key] for key in kept}}, answers), result


def version_of(module):
    try:
        return importlib.import_module(module).__version__
    except ImportError:
        return "not installed"


def warm(peers):
    """FlashInfer's modules, all compiled at once, each by a process of its own."""
    parts = [f"{name}:{dtype}" for name in peers if name.startswith("flashinfer") and "mla" not in name for dtype in DTYPES]
    parts += [name for name in peers if "mla" in name]
    running = [subprocess.Popen([sys.executable, __file__, "--warm", part], stdout=subprocess.DEVNULL,
                                stderr=subprocess.DEVNULL) for part in parts]
    for process in running:
        process.wait()


def warm_part(part):
    if "mla" in part:
        flashinfer_mla(part.split("-")[-1], {"rows": 8, "heads": 16, "topk": 64, "slots": 1024})
        return
    name, dtype = part.split(":")
    for heads in (32, 64):
        case = {"dtype": dtype, "heads": heads, "batch": 2, "context": 256}
        try:
            PEERS[name](case, Cache(case))[0]()
        except Exception as failed:
            print(name, why(failed))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--bench")
    parser.add_argument("--out")
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--cases", default="")
    parser.add_argument("--add", action="store_true")
    parser.add_argument("--without", default="")
    parser.add_argument("--warm")
    parser.add_argument("--worker", action="store_true")
    options = parser.parse_args()
    torch.manual_seed(1)
    if options.warm:
        return warm_part(options.warm)
    if options.worker:
        return work()
    without = [name for name in options.without.split(",") if name]
    decode_peers, mla_peers = ([name for name in names if name not in without] for names in (PEERS, MLA_PEERS))
    words = options.cases.split(",")
    decode, mla = ([case for case in cases if any(word in case["name"] for word in words)]
                   for cases in (decode_cases(options.quick), mla_cases()))
    for name in without:
        if name not in (*PEERS, *MLA_PEERS):
            parser.error(f"--without: expected peers of {', '.join((*PEERS, *MLA_PEERS))}; found {name}")
    if not decode + mla:
        parser.error(f"--cases: expected a part of a case's name, such as b1-ctx131072; none has {options.cases}")
    if options.add and not pathlib.Path(options.out).is_file():
        parser.error(f"--add: expected a result to add to; there is no {options.out}: leave --add out")
    warm(decode_peers + mla_peers)
    result = {"schema": "refrain.bench/1", "topic": "peers", "commit": os.environ.get("REFRAIN_COMMIT", "unknown"),
              "command": " ".join(["bench/peers/attention.py"] + [f"--{name}" for name in ("quick", "add") if vars(options)[name]] +
                                  [f"--{name} {value}" for name, value in (("cases", options.cases), ("without", options.without))
                                   if value]),
              "date": datetime.date.today().isoformat(),
              "versions": {"torch": torch.__version__, "cudnn": torch.backends.cudnn.version(),
                           "cudnn_frontend": version_of("cudnn"), "flashinfer": version_of("flashinfer")}}
    rows = []
    if options.add:
        before = json.loads(pathlib.Path(options.out).read_text())
        rows = [{**row, "commit": row.get("commit", before["commit"])} for row in before["rows"]]
        result.update(machine=before["machine"], ceilings=before["ceilings"])

    def add(row):
        """A run that is cut short leaves the rows that it had."""
        rows[:] = [other for other in rows if other["case"] != row["case"]] + [{**row, "commit": result["commit"]}]
        print(f"{row['case']:52} {row['time_us']:10.1f} us {row.get('fraction_of_read_bandwidth_ratio', 0):.3f} "
              f"{row.get('over_best_peer_ratio', 0):.3f}", file=sys.stderr, flush=True)
        pathlib.Path(options.out).write_text(json.dumps({**result, "rows": rows}, indent=2) + "\n")

    worker = Worker()
    for case in decode:
        row, frame = beside_peers(options.bench, worker, "bench_decode", case, decode_peers,
                                  ("layer_us", "layer_us_min", "layer_us_max", "layer_pages_in_order_us", "decode_kernel_us",
                                   "read_gbps", "fraction_of_read_bandwidth_ratio", "layer_fraction_of_read_bandwidth_ratio",
                                   "max_abs_error"))
        result.update(machine=frame["machine"], ceilings=frame["ceilings"])
        add(row)
    for case in mla:
        add(beside_peers(options.bench, worker, "bench_mla", case, mla_peers,
                         ("attend_kernel_us", "floor_us"))[0])


if __name__ == "__main__":
    main()
