#!/usr/bin/env python3
"""Our own runtime under the auditor of live processes, against the recording that it makes of itself.

Of every step, healthy and with faults put back: what the auditor finds from outside must be what the step's own recording
shows, rule by rule and as often. The driver shows kernels, their parameters and memory; contracts,
bindings and leases the runtime describes to the auditor (refrain_audit_describe). Both look at the same span, a window that
the runtime opens and closes with its recording (--by-calls): a graph that is refused because its memory is gone is never
launched, so that beyond the recording, where it is destroyed, nothing is wrong with it. A fault that neither shows is no
agreement.

usage: own_runtime_test.py REFRAIN
"""

import collections
import json
import os
import subprocess
import sys
import tempfile

HEALTHY = ["grouped_prefill", "xqa_decode", "sparse_mla_prefill", "sparse_mla_decode", "mtp_verify"]
FAULTS = ["host-sync", "other-thread-sync", "sync-copy", "pageable-copy", "alloc-in-capture", "other-stream", "unjoined-fork",
          "workspace-on-host", "stale-pointer", "reused-address", "input-rebound", "scratch-zero-outside", "workspace-fp16"]
CASES = [(step, "") for step in HEALTHY] + [("xqa_decode", fault) for fault in FAULTS]


def audit(refrain, *arguments):
    with tempfile.NamedTemporaryFile(suffix=".json") as report:
        done = subprocess.run([refrain, "audit", "--format", "json", "--output", report.name, *arguments],
                              capture_output=True, text=True, check=False, timeout=300)
        text = open(report.name).read()
    if not text:
        raise SystemExit(f"no report of {arguments}: {done.returncode}\n{done.stderr}")
    return json.loads(text)


def found(report):
    return collections.Counter((f["severity"], f["rule"]) for f in report["findings"])


def compare(refrain, step, fault):
    with tempfile.TemporaryDirectory() as folder:
        own = os.path.join(folder, "own.refrain")
        command = [refrain, "run", "--step", step, "--device", "cuda", "--save-recording", own]
        command += ["--fault", fault] if fault else []
        command += ["--allow-e4m3-mtp"] if step == "mtp_verify" else []
        live = audit(refrain, "--by-calls", "--", *command)
        recorded = audit(refrain, own)
    inside, outside = found(recorded), found(live)
    beyond, unseen = outside - inside, inside - outside
    good = not beyond and not unseen and bool(inside) == bool(fault)
    print(f"{'ok  ' if good else 'FAIL'} {step} {fault or 'healthy'}: its recording {sorted(inside) or 'none'}, "
          f"from outside {sorted(outside) or 'none'}"
          + (f"; only from outside: {sorted(beyond)}" if beyond else "")
          + (f"; not from outside: {sorted(unseen)}" if unseen else ""))
    if not good:
        for f in live["findings"]:
            print(f"       from outside: {f['severity']} {f['rule']} {f['where']}: {f['message']}")
    return good


def main():
    refrain = os.path.abspath(sys.argv[1])
    return 0 if all([compare(refrain, step, fault) for step, fault in CASES]) else 1


if __name__ == "__main__":
    sys.exit(main())
