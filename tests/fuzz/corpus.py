"""Makes the seeds of the fuzz targets: corpus.py FOLDER fills FOLDER/TARGET/.

Samples and test cases are copied, or cut to a size that is read in a millisecond; exports of Nsight Systems are
made here, small, by the documented schema. What a run of the fuzzer added to a folder stays."""

import gzip
import json
import pathlib
import shutil
import sqlite3
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
LARGEST = 32 << 10  # bytes of a seed


def save(folder, name, data):
    folder.mkdir(parents=True, exist_ok=True)
    (folder / name).write_bytes(data)


def copy(folder, paths):
    folder.mkdir(parents=True, exist_ok=True)
    for path in paths:
        if path.stat().st_size <= LARGEST:
            shutil.copyfile(path, folder / f"{path.parent.name}-{path.name}")


def schema_of(path):
    return path.read_bytes()[:200].decode("utf-8", "replace")


def recordings(folder, cases):
    paths = [path for path in cases if path.suffix == ".jsonl"]
    copy(folder, paths)
    for path in paths[::20]:
        save(folder, f"{path.parent.name}-{path.name}.gz", gzip.compress(path.read_bytes(), mtime=0))


def kineto(folder, cases):
    copy(folder, [path for path in cases if path.suffix == ".json" and "traceEvents" in schema_of(path)])
    for path in sorted((ROOT / "traces/samples").glob("*.json.gz")):
        trace = json.loads(gzip.decompress(path.read_bytes()))
        told = [event for event in trace["traceEvents"] if event.get("cat") in ("cuda_runtime", "kernel", "gpu_memcpy",
                "cuda_driver", "gpu_memset", "user_annotation", "cuda_sync")]
        for first in (0, len(told) // 2):
            text = json.dumps({"schemaVersion": 1, "traceEvents": told[first:first + 40]}).encode()
            save(folder, f"{path.stem}-{first}.json", text)
            save(folder, f"{path.stem}-{first}.json.gz", gzip.compress(text, mtime=0))


TABLES = {
    "META_DATA_EXPORT": "name TEXT, value TEXT",
    "StringIds": "id INTEGER NOT NULL PRIMARY KEY, value TEXT NOT NULL",
    "CUPTI_ACTIVITY_KIND_RUNTIME": "start INTEGER NOT NULL, end INTEGER NOT NULL, globalTid INTEGER, "
                                   "correlationId INTEGER, nameId INTEGER NOT NULL, returnValue INTEGER NOT NULL",
    "CUPTI_ACTIVITY_KIND_KERNEL": "start INTEGER NOT NULL, end INTEGER NOT NULL, deviceId INTEGER NOT NULL, "
                                  "streamId INTEGER NOT NULL, correlationId INTEGER, globalPid INTEGER, "
                                  "shortName INTEGER NOT NULL, graphNodeId INTEGER",
    "CUPTI_ACTIVITY_KIND_MEMCPY": "start INTEGER NOT NULL, end INTEGER NOT NULL, deviceId INTEGER NOT NULL, "
                                  "streamId INTEGER NOT NULL, correlationId INTEGER, globalPid INTEGER, "
                                  "bytes INTEGER NOT NULL, copyKind INTEGER NOT NULL, srcKind INTEGER, "
                                  "dstKind INTEGER, graphNodeId INTEGER",
    "CUPTI_ACTIVITY_KIND_GRAPH_TRACE": "start INTEGER NOT NULL, end INTEGER NOT NULL, deviceId INTEGER NOT NULL, "
                                       "streamId INTEGER NOT NULL, correlationId INTEGER, globalPid INTEGER, "
                                       "graphExecId INTEGER",
    "NVTX_EVENTS": "start INTEGER NOT NULL, end INTEGER, eventType INTEGER NOT NULL, text TEXT, globalTid INTEGER, "
                   "textId INTEGER",
}
STRINGS = ["cudaGraphLaunch_v10000", "cudaMemcpyAsync_v3020", "cudaStreamSynchronize_v3020", "attend", "project",
           "cudaLaunchKernel_v7000"]
PROCESS = 100 << 24


def export(folder, name, graph_mode, steps):
    """Steps of one replay, a copy back and a sync; nodes as kernels, or each replay as one row."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / name
    path.unlink(missing_ok=True)
    database = sqlite3.connect(path)
    database.execute("PRAGMA page_size = 1024")
    for table, columns in TABLES.items():
        database.execute(f"CREATE TABLE {table} ({columns})")
    database.execute("INSERT INTO META_DATA_EXPORT VALUES ('EXPORT_SCHEMA_VERSION', '3.24.14')")
    database.executemany("INSERT INTO StringIds VALUES (?, ?)", list(enumerate(STRINGS)))

    def call(start, correlation, name_id):
        database.execute("INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME VALUES (?, ?, ?, ?, ?, 0)",
                         (start, start + 4, PROCESS + 1, correlation, name_id))

    for step in range(steps):
        at, correlation = 1000 * step, 3 * step + 1
        database.execute("INSERT INTO NVTX_EVENTS VALUES (?, ?, 59, ?, ?, NULL)",
                         (at, at + 900, f"decode_step_{step}", PROCESS + 1))
        call(at + 1, correlation, 0)
        if graph_mode:
            database.execute("INSERT INTO CUPTI_ACTIVITY_KIND_GRAPH_TRACE VALUES (?, ?, 0, 7, ?, ?, 5)",
                             (at + 10, at + 60, correlation, PROCESS))
        else:
            for node in range(3):
                database.execute("INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES (?, ?, 0, 7, ?, ?, ?, ?)",
                                 (at + 10 + 9 * node, at + 18 + 9 * node, correlation, PROCESS, 3 + node % 2,
                                  (5 << 32) + node))
        call(at + 70, correlation + 1, 1)
        database.execute("INSERT INTO CUPTI_ACTIVITY_KIND_MEMCPY VALUES (?, ?, 0, 7, ?, ?, 64, 2, 2, 0, NULL)",
                         (at + 75, at + 80, correlation + 1, PROCESS))
        call(at + 90, correlation + 2, 2)
    database.commit()
    database.close()


def rows(folder):
    """As nsys_rows_fuzz.cpp reads them: a table's number, then a byte or a prefix with more for each column."""
    step = bytes([1, 1, 9, 0xf0, 1, 5, 1, 0, 2, 10, 20, 0, 7, 5, 0xf0, 1, 3, 0xff])
    copied = bytes([1, 30, 40, 0xf0, 1, 6, 4, 0, 3, 41, 49, 0, 7, 6, 0xf0, 1, 64, 2, 2, 0, 0xff])
    named = bytes([11, 0, 100, 0xf0, 1, 0xe8, 12, 0xff, 59, 0, 0xe8, 13, 8, 0xff])
    captured = bytes([1, 1, 2, 0xf0, 1, 1, 2, 0, 1, 3, 4, 0xf0, 1, 2, 0, 0, 1, 5, 6, 0xf0, 1, 3, 3, 0])
    nodes = bytes([9, 4, 0xf0, 1, 9, 0xff, 9, 7, 0xf0, 1, 11, 9])
    for number, seed in enumerate((step, copied, named + step, captured + nodes, step * 8, (step + copied) * 8)):
        save(folder, f"rows-{number}", seed)


def lists(folder):
    suppression = [{"rule": "RF202", "where": "step decode, *", "reason": "pool of the capture", "expires": "2027-03-31"},
                   {"fingerprint": "0123456789abcdef", "reason": "known"}]
    report = {"schema": "refrain.audit/1", "findings": [
        {"rule": "RF301", "fingerprint": "0123456789abcdef", "where": "step decode, node 3", "standing": "open"},
        {"rule": "RF301", "fingerprint": "0123456789abcdef", "standing": "suppressed"}]}
    save(folder, "suppressions.json", json.dumps(suppression).encode())
    save(folder, "baseline.json", json.dumps(report).encode())


def main():
    corpus = pathlib.Path(sys.argv[1])
    cases = [path for path in sorted((ROOT / "tests/cases").rglob("*")) if path.is_file()]
    recordings(corpus / "recording", cases)
    kineto(corpus / "kineto", cases)
    copy(corpus / "graph_json", [path for path in cases if path.suffix == ".json" and "refrain.graph/1" in schema_of(path)])
    copy(corpus / "dot", [path for path in cases if path.suffix == ".dot"] + sorted((ROOT / "traces/samples").glob("*.dot")))
    copy(corpus / "contracts", sorted((ROOT / "audit/contracts").glob("*.json"))
         + [path for path in cases if path.suffix == ".json" and "refrain.contracts/1" in schema_of(path)])
    for name, graph_mode, steps in (("nodes.sqlite", False, 4), ("graphs.sqlite", True, 4), ("empty.sqlite", False, 0)):
        export(corpus / "nsys", name, graph_mode, steps)
    rows(corpus / "nsys_rows")
    lists(corpus / "lists")


main()
