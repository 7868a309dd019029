"""Blocks of a long file on several threads."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any


def in_order(work: Callable[[Any], Any], blocks: Iterator[Any], threads: int) -> Iterator[Any]:
    """work(block) for each block, in their order, on several threads; few blocks are under way at once."""
    if threads <= 1:
        yield from map(work, blocks)
        return
    with ThreadPoolExecutor(threads) as pool:
        waiting: deque[Future[Any]] = deque()
        for block in blocks:
            waiting.append(pool.submit(work, block))
            if len(waiting) > threads:
                yield waiting.popleft().result()
        while waiting:
            yield waiting.popleft().result()
