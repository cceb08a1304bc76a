"""A second thread allocates while the first captures in global mode: the capture dies.

expect: RF503
"""

import ctypes
import threading

import torch
from cudart import rt
from decode import Decoder, capture

decoder = Decoder()


def intrude():
    address = ctypes.c_void_p()
    rt.cudaMalloc(ctypes.byref(address), ctypes.c_size_t(1 << 20))


def work(stream):
    decoder.step()
    thread = threading.Thread(target=intrude)
    thread.start()
    thread.join()


try:
    capture(work, decoder.warm_up)
    raise SystemExit("the capture was to fail")
except RuntimeError as error:
    print("as meant:", str(error).splitlines()[0])
