"""The Python module `refrain` of this tree, or the one that is installed."""

import os
import sys

_HERE = os.path.dirname(os.path.abspath(__file__))
for _place in ("../../python", "../python"):
    if os.path.isdir(os.path.join(_HERE, _place, "refrain")):
        sys.path.insert(0, os.path.join(_HERE, _place))
        break

import refrain  # noqa: E402, F401  (for those who import this)
