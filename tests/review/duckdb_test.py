"""README's queries, run by DuckDB over the tables of a few traces, against what Python's csv module counts in the same
files. Usage: duckdb_test.py SAMPLES_PROGRAM. Exit 77 where there is no DuckDB."""

import collections
import csv
import os
import pathlib
import re
import statistics
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]


def queries():
    blocks = re.findall(r"^```sql\n(.*?)^```$", (ROOT / "README.md").read_text(), re.S | re.M)
    return [query for block in blocks for query in block.split(";") if query.strip()]


def rows(folder, table):
    """By trace; every column as text."""
    found = {}
    for path in sorted(pathlib.Path(folder, "tables", table).glob("trace=*/part-0.csv")):
        with open(path, newline="", encoding="utf-8") as file:
            found[path.parent.name.removeprefix("trace=")] = list(csv.DictReader(file))
    return found


def rules_over_traces(folder):
    """Rule, traces that break it, how often, longest step that it names in milliseconds: most traces first."""
    steps = {trace: {r["step"]: int(r["host_ns"]) for r in some} for trace, some in rows(folder, "steps").items()}
    traces, times, worst = collections.defaultdict(set), collections.Counter(), {}
    for trace, some in rows(folder, "findings").items():
        for row in some:
            traces[row["rule"]].add(trace)
            times[row["rule"]] += int(row["count"])
            host = steps[trace].get(row["step"])
            if host is not None:
                worst[row["rule"]] = max(worst.get(row["rule"], 0), host)
    result = [(rule, len(traces[rule]), times[rule], worst[rule] / 1e6 if rule in worst else None) for rule in traces]
    return sorted(result, key=lambda row: (-row[1], row[0]))


def traces_by_median(folder):
    """Trace, steps, median and longest host time in milliseconds: the slowest first."""
    result = []
    for trace, some in rows(folder, "steps").items():
        host = [int(row["host_ns"]) / 1e6 for row in some]
        if host:
            result.append((trace, len(host), statistics.median(host), max(host)))
    return sorted(result, key=lambda row: (-row[2], row[0]))


def same(found, expected):
    """Equal, numbers to a relative 1e-9."""
    if len(found) != len(expected):
        return False
    return all(len(a) == len(b) and all(x == y or (isinstance(x, float) and y is not None and
                                                   abs(x - y) <= 1e-9 * abs(y)) for x, y in zip(a, b))
               for a, b in zip(found, expected))


def main(program):
    try:
        import duckdb
    except ImportError:
        print("duckdb: skipped, no DuckDB here; ./dev duckdb installs it into build/")
        return 77
    asked = queries()
    assert len(asked) == 2, asked
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run([program, folder], check=True, timeout=60)
        os.chdir(folder)
        for query, expected in zip(asked, (rules_over_traces(folder), traces_by_median(folder))):
            found = duckdb.sql(query).fetchall()
            assert same(found, expected), (query, found, expected)
            assert len(found) >= 3 and not same(found, expected[1:] + expected[:1])
        reviewed = duckdb.sql("SELECT count(*), count(*) FILTER (errors = 0) FROM read_csv('tables/traces/*/*.csv')")
        assert reviewed.fetchall() == [(5, 2)], reviewed
        os.chdir("/")
    print(f"duckdb {duckdb.__version__}: README's {len(asked)} queries count what is there")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
