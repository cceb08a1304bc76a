#!/usr/bin/env python3
"""Runs each script beside it, and each C++ probe given, under `refrain audit` and
compares the findings with what the script says at its top:

    expect: RF502            errors, these and no others; `A | B`: either of the two; none
    expect-warning: RF202    this warning must be among them

usage: run_live.py REFRAIN [PROBE...]
"""

import json
import os
import re
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
HELPERS = {"decode.py", "cudart.py", "module.py", "run_live.py", "window_test.py", "own_runtime_test.py"}


def expectations(text):
    errors = re.search(r"^(?:// |)expect: (.*)$", text, re.M)
    warnings = re.findall(r"^(?:// |)expect-warning: (RF\d+)", text, re.M)
    wanted = [] if errors is None or errors.group(1).strip() == "none" else re.findall(r"RF\d+", errors.group(1))
    return wanted, warnings


def judge(name, found, wanted, warnings):
    errors = {f["rule"] for f in found if f["severity"] == "error"}
    seen = {f["rule"] for f in found if f["severity"] == "warning"}
    good = errors <= set(wanted) and bool(errors) == bool(wanted) and set(warnings) <= seen
    print(f"{'ok  ' if good else 'FAIL'} {name}: errors {sorted(errors) or 'none'} (expected "
          f"{' or '.join(wanted) or 'none'}), warnings {sorted(seen) or 'none'}"
          f"{' (expected ' + ', '.join(warnings) + ')' if warnings else ''}")
    if not good or os.environ.get("REFRAIN_LIVE_VERBOSE"):
        for f in found:
            print(f"       {f['severity']} {f['rule']} {f.get('where', '')}: {f['message']}")
    return good


def run(refrain, name, command, wanted, warnings):
    with tempfile.NamedTemporaryFile(suffix=".json") as report:
        audit = subprocess.run(
            [refrain, "audit", "--format", "json", "--output", report.name, "--"] + command,
            capture_output=True, text=True, check=False, timeout=300)
        text = open(report.name).read()
    if not text:
        print(f"FAIL {name}: no report, exit code {audit.returncode}\n{audit.stdout}{audit.stderr}")
        return False
    parsed = json.loads(text)
    good = judge(name, parsed["findings"], wanted, warnings)
    code = 1 if wanted else 0
    if not good:
        print(f"       exit code {audit.returncode}\n{audit.stderr[-2000:]}")
    if audit.returncode != code:
        print(f"FAIL {name}: exit code {audit.returncode}, expected {code}\n{audit.stdout[-2000:]}{audit.stderr[-2000:]}")
        return False
    if os.environ.get("REFRAIN_LIVE_VERBOSE"):
        for entry in parsed.get("not_checked", []):
            print(f"       not checked: {entry}")
    return good


def main():
    if len(sys.argv) < 2:
        raise SystemExit(__doc__)
    refrain, probes = os.path.abspath(sys.argv[1]), sys.argv[2:]
    failed = 0
    for script in sorted(os.listdir(HERE)):
        if not script.endswith(".py") or script in HELPERS:
            continue
        with open(os.path.join(HERE, script)) as file:
            wanted, warnings = expectations(file.read())
        failed += not run(refrain, script, [sys.executable, os.path.join(HERE, script)], wanted, warnings)
    for probe in probes:
        cases = subprocess.run([probe, "--list"], capture_output=True, text=True, check=True).stdout
        for line in cases.splitlines():
            case, _, expected = line.partition(" ")
            wanted, warnings = expectations(expected.replace(";", "\n"))
            failed += not run(refrain, f"probe {case}", [probe, case], wanted, warnings)
    print(f"{failed} failed" if failed else "all as expected")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
