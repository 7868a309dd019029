"""Pieces of work on threads; their results come in the order of the pieces."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any


class Workers:
    """Threads that are started at the first work and kept. Kernels release the lock of the interpreter."""

    def __init__(self, threads: int = 1) -> None:
        self.threads = max(1, threads)
        self._pool: ThreadPoolExecutor | None = None

    def each(self, work: Callable[[int], Any], n: int) -> list[Any]:
        """work(0), ..., work(n - 1)."""
        if self.threads == 1 or n <= 1:
            return [work(k) for k in range(n)]
        if self._pool is None:
            self._pool = ThreadPoolExecutor(self.threads)
        return list(self._pool.map(work, range(n)))
