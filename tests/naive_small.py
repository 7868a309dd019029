"""Slow twin of compact weights, from their description: bytes to a dictionary, and a dictionary to parses. Nothing of
src is used."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise


def read_buckets(start: Sequence[int], data: bytes, step: Sequence[float], actions: int) -> list[dict]:
    """Per bucket: {the lowest 16 bits of a key: {action: weight}}, the first of equal ones."""
    size = 1 if actions <= 256 else 2
    return [_bucket(data[a:b], step, size) for a, b in pairwise(start)]


def _bucket(data: bytes, step: Sequence[float], size: int) -> dict[int, dict[int, float]]:
    count = data[0]
    keys = [int.from_bytes(data[1 + 2 * k : 3 + 2 * k], "little") for k in range(count)]
    heads, at = data[1 + 2 * count : 1 + 3 * count], 1 + 3 * count
    found: dict[int, dict[int, float]] = {}
    for key, head in zip(keys, heads, strict=True):
        wide, length = head >> 7, head & 127
        if length == 127:
            length, at = int.from_bytes(data[at : at + 2], "little"), at + 2
        own = {}
        for _ in range(length):
            action = int.from_bytes(data[at : at + size], "little")
            number = int.from_bytes(data[at + size : at + size + 1 + wide], "little", signed=True)
            own[action] = number * step[wide]
            at += size + 1 + wide
        found.setdefault(key, own)
    assert at == len(data)
    return found


def look_up(buckets: Sequence[Mapping[int, dict[int, float]]], key: int) -> dict[int, float]:
    """The weights of a feature."""
    return buckets[(key >> 32) * len(buckets) >> 32].get(key & 0xFFFF, {})
