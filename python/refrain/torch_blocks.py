"""What PyTorch's caching allocator hands out and takes back, told to the auditor in order with the program's calls: the
driver sees none of it. PyTorch's own GPU trace calls back at each allocation and each free, with an address and no size;
sizes, and which memory belongs to a graph's private pool, come from a snapshot of the allocator when a capture has ended.
What happens during a capture is held back until then: most of it is in the private pool, which is there as long as the
graph is."""

import atexit
import bisect
import importlib
import threading

_LEAST = 512  # every block of the allocator has at least so many bytes


class _Follower:
    def __init__(self, library, snapshot):
        self._library, self._snapshot = library, snapshot
        self._lock = threading.RLock()
        self._captures, self._held = 0, []
        self._starts, self._ends = [], []  # private pools' segments, by address
        self._on = True

    def _is_private(self, address):
        at = bisect.bisect_right(self._starts, address) - 1
        return at >= 0 and address < self._ends[at]

    def _tell(self, address, taken):
        if self._is_private(address):
            return
        if taken:
            self._library.refrain_block_taken(address, _LEAST, 1)
        else:
            self._library.refrain_block_given_back(address)

    def _event(self, address, taken):
        with self._lock:
            if not self._on:
                return
            if self._captures:
                self._held.append((address, taken))
            else:
                self._tell(address, taken)

    def taken(self, address):
        self._event(address, True)

    def given_back(self, address):
        self._event(address, False)

    def begin_capture(self):
        with self._lock:
            self._captures += 1

    def end_capture(self):
        with self._lock:
            self._captures -= 1
            if self._captures or not self._on:
                return
            segments = self._snapshot()
            self._note_private(segments)
            held, self._held = self._held, []
            for address, taken in held:
                self._tell(address, taken)
            self._tell_sizes(segments)

    def start(self):
        with self._lock:
            segments = self._snapshot()
            self._note_private(segments)
            self._tell_sizes(segments)
            self._library.refrain_blocks_followed(1)

    def stop(self):
        """The program ends: what is freed from here on is freed by nobody's will, and nothing is launched any more."""
        self._on = False

    def _note_private(self, segments):
        own = sorted((s["address"], s["address"] + s["total_size"]) for s in segments if _is_pool(s))
        self._starts, self._ends = [begin for begin, _ in own], [end for _, end in own]

    def _tell_sizes(self, segments):
        for segment in segments:
            if _is_pool(segment):
                continue
            address = segment["address"]
            for block in segment["blocks"]:
                if block["state"] == "active_allocated":
                    self._library.refrain_block_taken(address, block["size"], 0)
                address += block["size"]


def _is_pool(segment):
    return tuple(segment.get("segment_pool_id", (0, 0))) != (0, 0)


def _watch_captures(graph_class, follower):
    begin, end = graph_class.capture_begin, graph_class.capture_end

    def capture_begin(self, *args, **kwargs):
        follower.begin_capture()
        try:
            return begin(self, *args, **kwargs)
        except BaseException:
            follower.end_capture()
            raise

    def capture_end(self, *args, **kwargs):
        try:
            return end(self, *args, **kwargs)
        finally:
            follower.end_capture()

    graph_class.capture_begin, graph_class.capture_end = capture_begin, capture_end


_following = None


def follow(torch, library):
    """Once for the process; `library` is the auditor's."""
    global _following
    if _following is not None:
        return
    try:
        trace = importlib.import_module("torch.cuda._gpu_trace")
        activate = torch._C._activate_gpu_trace
    except (ImportError, AttributeError) as missing:
        raise RuntimeError(f"this PyTorch ({torch.__version__}) does not tell of its allocator: {missing}") from None
    torch.cuda.init()
    _following = _Follower(library, torch.cuda.memory_snapshot)
    _watch_captures(torch.cuda.CUDAGraph, _following)
    trace.register_callback_for_memory_allocation(_following.taken)
    trace.register_callback_for_memory_deallocation(_following.given_back)
    activate()
    _following.start()
    atexit.register(_following.stop)
