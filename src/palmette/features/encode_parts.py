"""A large corpus encoded on several threads: parts of it side by side, each with an index of its own, which are then
merged in order. The numbers of attributes are those of encoding the whole at once: it goes through the corpus in chunks
(kernels/encode/encode.py), parts end where chunks do, and a chunk numbers what no chunk before it has.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from palmette.features.encode import Encoder, new_feature_index
from palmette.features.index import keys_of
from palmette.kernels.core.index import FeatureIndex, hash_index
from palmette.kernels.core.table import add_all
from palmette.kernels.encode.encode import CHUNK, Cells

LEAST = 1 << 21  # occurrences of attributes that are worth a part


class _Part(NamedTuple):
    ptr: np.ndarray
    att: np.ndarray
    keys: np.ndarray  # u64[A]
    first: np.ndarray  # i64[A]  in the whole corpus


def n_parts(n_tokens: int, n_templates: int, threads: int) -> int:
    """The number of parts that are worth it."""
    return max(1, min(threads, n_tokens * n_templates // LEAST))


def encode_in_parts(
    encoder: Encoder, order: int, cells: Cells, offset: np.ndarray, index: FeatureIndex, parts: int
) -> tuple[np.ndarray, np.ndarray, FeatureIndex, np.ndarray]:
    """What `encoder.encode` returns for an index that grows, which is not changed, found on as many threads as there
    are parts."""
    from concurrent.futures import ThreadPoolExecutor

    edges = _chunk_edges(offset, parts)
    T = len(encoder.of_order(order))

    def encoded(part: tuple[int, int]) -> _Part:
        first, last = part
        lo, hi = int(offset[first]), int(offset[last])
        own = cells._replace(ids=np.ascontiguousarray(cells.ids[:, lo:hi]))
        empty = new_feature_index((hi - lo) * T // 8)
        ptr, att, made, places = encoder.encode(order, own, offset[first : last + 1] - lo, empty, grow=True)
        return _Part(ptr, att, keys_of(made), places + lo * T)

    with ThreadPoolExecutor(parts) as pool:
        found = list(pool.map(encoded, pairwise(edges)))
    table, numbers, size = index.keys, index.numbers, index.size
    first = np.full(size, -1, np.int64)
    renumbered = []
    for part in found:
        table, numbers, number, fresh = add_all(table, numbers, size, part.keys)
        first = np.concatenate((first, part.first[fresh[size:]]))
        size = fresh.size
        renumbered.append(number)
    with ThreadPoolExecutor(parts) as pool:
        att = list(pool.map(lambda part, number: number[part.att], found, renumbered))
    return _joined([part.ptr for part in found]), np.concatenate(att), hash_index(table, numbers, size), first


def _joined(parts: Sequence[np.ndarray]) -> np.ndarray:
    """Offsets of one part after the other."""
    before = np.cumsum([0, *(int(part[-1]) for part in parts)])
    return np.concatenate([np.zeros(1, np.int64), *(part[1:] + at for part, at in zip(parts, before, strict=False))])


def _chunk_edges(offset: np.ndarray, parts: int) -> list[int]:
    """Sentences at which parts of about equal size begin, each where a chunk does, and the number of sentences."""
    marks, s, edges = offset.tolist(), 0, [0]
    wanted = [marks[-1] * part // parts for part in range(1, parts)]
    while s < len(marks) - 1 and wanted:
        s = max(s + 1, bisect_right(marks, marks[s] + CHUNK) - 1)
        if marks[s] >= wanted[0]:
            edges.append(s)
            wanted = [place for place in wanted if place > marks[s]]
    return [*(edge for edge in edges if edge < len(marks) - 1), len(marks) - 1]
