"""Arrays for workspaces, made in Python. No compiled code."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

CACHE_LINE = 64  # bytes


def aligned_zeros(shape: tuple[int, ...], dtype: Any) -> np.ndarray:
    """Zeros that begin on a line of the cache: a row of 24 states then takes two lines, otherwise often three."""
    size = math.prod(shape) * np.dtype(dtype).itemsize
    memory = np.zeros(size + CACHE_LINE, np.uint8)
    skip = -memory.ctypes.data % CACHE_LINE
    return memory[skip : skip + size].view(dtype).reshape(shape)
