#!/usr/bin/env python3
"""Windows, exit codes and broken ends of the auditor of live processes, on a GPU.

usage: window_test.py REFRAIN    (PYTHONPATH holds the module refrain)
"""

import json
import os
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
failed = 0


def expect(what, good, found=""):
    global failed
    print(f"{'ok  ' if good else 'FAIL'} {what}{'' if good else f': {found}'}")
    failed += not good


def windows():
    """In a process of its own: three windows, of which the second is to fail."""
    import torch
    import refrain
    from decode import Decoder, capture

    decoder = Decoder()
    decoder.warm_up(torch.cuda.Stream())
    with refrain.audit() as first:
        graph = capture(lambda stream: decoder.step(), decoder.warm_up)
        for number in range(3):
            with refrain.step(number):
                graph.replay()
        torch.cuda.synchronize()
    expect("window: a clean one passes", not first.findings("error"), first.findings("error"))
    try:
        with refrain.audit():
            def work(stream):
                decoder.step()
                side = torch.cuda.Stream()
                with torch.cuda.stream(side):
                    decoder.tokens.add_(0)
            graph = capture(work, decoder.warm_up)
            graph.replay()
            torch.cuda.synchronize()
        expect("window: work that escaped fails it", False, "nothing was raised")
    except refrain.AuditFailed as error:
        rules = {f["rule"] for f in error.report["findings"] if f["severity"] == "error"}
        expect("window: work that escaped fails it", "RF501" in rules, rules)
    try:
        with refrain.audit(fail_on=None) as third:
            graph.replay()
            torch.cuda.synchronize()
        rules = {f["rule"] for f in third.findings()}
        expect("window: a graph of an earlier window is not visible, and said to be so", rules >= {"RF801"}, rules)
    except refrain.NotAvailable as error:
        expect("window: a graph of an earlier window is not visible, and said to be so", False, error)
    return 1 if failed else 0


def run(refrain, *arguments):
    return subprocess.run([refrain, *arguments], capture_output=True, text=True, check=False, timeout=300)


REPLAYS = """
import os, sys, torch
x = torch.zeros(64, device="cuda"); x.add_(1); torch.cuda.synchronize()
g = torch.cuda.CUDAGraph()
with torch.cuda.graph(g): x.add_(1)
for _ in range(2000): g.replay()
torch.cuda.synchronize()
print("value", int(x[0].item()))
"""


def commands(refrain):
    python = sys.executable
    plain = run(refrain, "audit", "--", python, "-c", REPLAYS)
    expect("command: its output passes through and a clean one is 0",
           plain.returncode == 0 and "value 2001" in plain.stdout, (plain.returncode, plain.stdout, plain.stderr))
    fails = run(refrain, "audit", "--", python, "-c", REPLAYS + "sys.exit(7)")
    expect("command: its exit code is the exit code", fails.returncode == 7, fails.returncode)
    with tempfile.TemporaryDirectory() as folder:
        killed = run(refrain, "record", "--output", folder, "--", python, "-c", REPLAYS + "os.kill(os.getpid(), 9)")
        expect("command: one that is killed is 137", killed.returncode == 137, killed.returncode)
        files = [os.path.join(folder, f) for f in os.listdir(folder) if f.endswith(".gz")]
        report = json.loads(run(refrain, "audit", "--format", "json", *files).stdout) if files else {"findings": []}
        rules = {f["rule"] for f in report["findings"]}
        expect("command: what a killed one left can be read and is said to be cut", "RF802" in rules, (files, rules))
    with tempfile.TemporaryDirectory() as folder:
        name = os.path.join(folder, "short.jsonl.gz")
        short = run(refrain, "record", "--output", name, "--until-graphs", "10", "--", python, "-c", REPLAYS)
        counted = run("/bin/sh", "-c", f"zcat {name} | grep -c graph_launch")
        expect("command: a window ends after the launches that were asked for, and the program goes on",
               short.returncode == 0 and "value 2001" in short.stdout and counted.stdout.strip() == "10",
               (short.returncode, short.stdout, short.stderr, counted.stdout))


def main():
    if sys.argv[1:] == ["--windows"]:
        return windows()
    refrain = os.path.abspath(sys.argv[1])
    os.environ["REFRAIN_PROGRAM"] = refrain
    commands(refrain)
    child = subprocess.run([sys.executable, os.path.abspath(__file__), "--windows"], cwd=HERE, check=False)
    expect("windows of a Python process", child.returncode == 0, child.returncode)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
