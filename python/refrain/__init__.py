"""Windows of the Refrain auditor, from Python: ctypes and nothing else.

    with refrain.audit(fail_on="error"):
        graph.replay()

Run the program with `refrain audit --by-calls -- python3 script.py`, or without it: then
the auditor is loaded here, and graph execs that were made before the window are reported
as not visible (RF801), never guessed. A step is a `refrain.step(n)` block, or any NVTX
range that numbers one.
"""

import contextlib
import ctypes
import json
import os
import shutil
import subprocess
import tempfile

__all__ = ["AuditFailed", "NotAvailable", "Window", "audit", "describe", "follow_torch", "step"]

_HERE = os.path.dirname(os.path.abspath(__file__))


class NotAvailable(RuntimeError):
    """The auditor, the program `refrain`, or CUPTI is missing or in use."""


class AuditFailed(AssertionError):
    """The window holds findings at or over the threshold."""

    def __init__(self, text, report):
        super().__init__(text)
        self.report = report


def program():
    """The program `refrain`: the one that runs this process, $REFRAIN_PROGRAM, installed beside this module, or in PATH."""
    beside = ("../../bin/refrain", "../../../../bin/refrain", "../../../../../bin/refrain")
    places = [os.environ.get("REFRAIN_PROGRAM"), *(os.path.join(_HERE, place) for place in beside)]
    for place in (*places, shutil.which("refrain")):
        if place and os.access(place, os.X_OK):
            return os.path.realpath(place)
    raise NotAvailable("the program refrain was not found; put it into PATH or name it in REFRAIN_PROGRAM")


def _library_path():
    path = os.environ.get("CUDA_INJECTION64_PATH")
    if path:
        return path
    folder = os.path.dirname(program())
    for place in (".", "../lib", "../lib64", "../lib/x86_64-linux-gnu", "../audit/cupti"):
        candidate = os.path.join(folder, place, "librefrain_inject.so")
        if os.path.exists(candidate):
            return os.path.realpath(candidate)
    raise NotAvailable(f"librefrain_inject.so is not beside {program()}: that build has no CUDA parts")


_loaded = None


def _library():
    global _loaded
    if _loaded is None:
        path = _library_path()
        if "REFRAIN_LIVE_FOLDER" not in os.environ:
            # Read once, when the library is loaded.
            os.environ["REFRAIN_LIVE_FOLDER"] = tempfile.mkdtemp(prefix="refrain-")
            os.environ["REFRAIN_LIVE_WINDOW"] = "calls"
        _loaded = ctypes.CDLL(path)
        _loaded.refrain_window_recording.restype = ctypes.c_char_p
        _loaded.refrain_range_push.argtypes = [ctypes.c_char_p]
        _loaded.refrain_describe.argtypes = [ctypes.c_char_p, ctypes.c_size_t]
        _loaded.refrain_block_taken.argtypes = [ctypes.c_uint64, ctypes.c_uint64, ctypes.c_int]
        _loaded.refrain_block_given_back.argtypes = [ctypes.c_uint64]
    return _loaded


def _reason():
    try:
        with open(os.path.join(os.environ["REFRAIN_LIVE_FOLDER"], f"{os.getpid()}.status")) as file:
            return file.read().strip().split("\t")[-1]
    except (OSError, KeyError):
        return "a window is open already (without --by-calls it is open from the start)"


class Window:
    """What a window recorded; `report` is refrain.audit/1 once it is closed."""

    def __init__(self):
        self.recording = None
        self.report = None
        self.exit_code = None

    def findings(self, severity=None):
        """Of the report: all, or those of one severity; each a dict with rule, where, message and fix."""
        found = self.report["findings"] if self.report else []
        return [f for f in found if severity is None or f["severity"] == severity]


def _judge(window, fail_on, require):
    base = [program(), "audit", window.recording, "--fail-on", fail_on or "error"]
    if require:
        base += ["--require", ",".join(require)]
    # Not for the auditor of this process to see.
    env = {k: v for k, v in os.environ.items() if not k.startswith("REFRAIN_LIVE_") and "INJECTION64" not in k}
    run = subprocess.run(base + ["--format", "json"], capture_output=True, text=True, env=env, check=False)
    if run.returncode == 2:
        raise NotAvailable(run.stderr.strip())
    window.report = json.loads(run.stdout)
    window.exit_code = run.returncode
    if fail_on and run.returncode != 0:
        text = subprocess.run(base, capture_output=True, text=True, env=env, check=False).stdout
        raise AuditFailed(text, window.report)


@contextlib.contextmanager
def audit(fail_on="error", require=()):
    """A window from here to the end of the block; then its recording is judged.

    Raises AuditFailed for findings from `fail_on` on ("error", "warning", "note"; None never raises), and where a
    rule of `require` could not be checked; NotAvailable where the auditor cannot listen.
    """
    library = _library()
    if library.refrain_window_begin() != 0:
        raise NotAvailable(_reason())
    window = Window()
    try:
        yield window
    finally:
        ended = library.refrain_window_end()
        recording = library.refrain_window_recording()
        window.recording = recording.decode() if ended == 0 and recording else None
    if window.recording is None:
        raise NotAvailable("nothing was recorded: no CUDA call was made in the window")
    _judge(window, fail_on, require)


def describe(records):
    """What the driver cannot know: dicts, each a record `buffer`, `binding` or `graph` (refrain_audit.h, README.md).

    False where the auditor refused one; the report then says why (RF802). NotAvailable where there is no auditor.
    """
    text = "".join(json.dumps(record) + "\n" for record in records).encode()
    return _library().refrain_describe(text, len(text)) == 0


def follow_torch():
    """Tells the auditor what PyTorch's caching allocator hands out and takes back; call it before the first capture.

    Then a graph's pointer into a tensor that was freed is RF401 or RF402, as with cudaFree; without it those rules are
    listed as not checked for PyTorch. PyTorch's GPU trace is on from here to the end of the process: some microseconds
    for each allocation, free and event, none for a replay. NotAvailable where there is no auditor or no PyTorch.
    """
    try:
        import torch
    except ImportError as reason:
        raise NotAvailable(str(reason)) from None
    from . import torch_blocks

    try:
        torch_blocks.follow(torch, _library())
    except RuntimeError as reason:
        raise NotAvailable(str(reason)) from None


@contextlib.contextmanager
def step(number, name="step"):
    """Marks one serving step: rules about the hot path look at the calls in it."""
    library = _library()
    library.refrain_range_push(f"{name} {number}".encode())
    try:
        yield
    finally:
        library.refrain_range_pop()
