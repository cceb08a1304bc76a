"""README's table of peers, from the result of bench/peers/attention.py.

  table.py RESULT README [--write]

Compares the table between README's two `peers` marks with what RESULT gives: exit code 0 when it is that, 1 when not.
With --write it puts it there.
"""

import json
import pathlib
import sys

BEGIN, END = "<!-- peers: bench/peers/table.py -->\n", "<!-- /peers -->\n"
CONTIGUOUS, PAGED = "torch-cudnn", "cudnn-paged"
PEERS = ((CONTIGUOUS, "cuDNN, contiguous"), (PAGED, "cuDNN"), ("flashinfer-fa2", "FlashInfer fa2"),
         ("flashinfer-fa3", "fa3"), ("flashinfer-xqa", "xqa"))
MLA = {"flashinfer-mla-fa2": "flashinfer-fa2", "flashinfer-mla-fa3": "flashinfer-fa3"}


def microseconds(value):
    return f"{value:.1f}" if value < 100 else f"{value:.0f}"


def times_of(row):
    return {MLA.get(peer["peer"], peer["peer"]): peer["time_us"] for peer in row["peers"] if "time_us" in peer}


def line(row, shown):
    peers = times_of(row)
    times = [microseconds(peers[key]) if key in peers else "-" for key, _ in shown]
    read = row.get("layer_fraction_of_read_bandwidth_ratio")
    best = row.get("over_best_peer_ratio")
    own = [microseconds(row.get("layer_us", row["time_us"])), microseconds(row["time_us"]) if "layer_us" in row else "-"]
    return " | ".join([row["case"].removeprefix("attention-"), *own, f"{read:.3f}" if read else "-", *times,
                       f"{best:.2f}" if best else "-"])


def ahead(rows, own, peer):
    """In how many rows that have both times `own` is the shorter."""
    times = [(row[own], times_of(row)[peer]) for row in rows if peer in times_of(row) and own in row]
    return f"{sum(ours < theirs for ours, theirs in times)} of {len(times)}"


def of_cudnn(rows):
    return (f"Ahead of cuDNN over the same pages in {ahead(rows, 'layer_us', PAGED)} rows; over a contiguous cache in "
            f"{ahead(rows, 'layer_us', CONTIGUOUS)} with pages in random order and in "
            f"{ahead(rows, 'layer_pages_in_order_us', CONTIGUOUS)} with pages in order.")


def table(result):
    shown = [peer for peer in PEERS if any(peer[0] in times_of(row) for row in result["rows"])]
    head = ["case", "Refrain, us", "with a plan, us", "of the read bandwidth", *(f"{name}, us" for _, name in shown), "best peer / ours"]
    lines = [" | ".join(head), " | ".join(["---"] + ["---:"] * (len(head) - 1))] + [line(row, shown) for row in result["rows"]]
    versions = result["versions"]
    gpu = result["machine"]["gpu"] if isinstance(result["machine"], dict) else result["machine"]
    commits = ", ".join(dict.fromkeys(row.get("commit", result["commit"])[:12] for row in result["rows"]))
    said = (f"{gpu}, commit {commits}, PyTorch {versions['torch']} with cuDNN {versions['cudnn']} "
            f"(front end {versions['cudnn_frontend']}), FlashInfer {versions['flashinfer']}; "
            f"plain reading {result['ceilings']['read_gbps']:.0f} GB/s.")
    return "\n".join(f"| {text} |" for text in lines) + f"\n\n{of_cudnn(result['rows'])}\n\n{said}\n"


def main():
    result, readme = json.loads(pathlib.Path(sys.argv[1]).read_text()), pathlib.Path(sys.argv[2])
    text = readme.read_text()
    before, rest = text.split(BEGIN)
    _, after = rest.split(END)
    made = before + BEGIN + table(result) + END + after
    if "--write" in sys.argv[3:]:
        readme.write_text(made)
    elif made != text:
        sys.exit(f"{readme}: its table of peers is not that of {sys.argv[1]}; python3 bench/peers/table.py "
                 f"{sys.argv[1]} {readme} --write")


if __name__ == "__main__":
    main()
