"""The best labels of each token among those of its group."""

from __future__ import annotations

import numpy as np

from palmette.kernels.chain.forms import Active
from palmette.kernels.core.compile import kernel, part
from palmette.kernels.core.prefetch import fetch_item
from palmette.kernels.core.types import I32, I32_2D
from palmette.pipeline.kernels.forms import Bundles, SmallWeights


@part
def _score(s: np.ndarray, w: SmallWeights, x: Active, i: int) -> None:
    first, parts, weight, ptr, att = w.first, w.part, w.w, x.ptr, x.att
    for p in range(s.size):
        s[p] = np.int32(0)
    for k in range(ptr[i], ptr[i + 1]):
        fetch_item(parts, first[att[k]])
        fetch_item(weight, first[att[k]])
    for k in range(ptr[i], ptr[i + 1]):
        for z in range(first[att[k]], first[att[k] + 1]):
            s[np.int64(parts[z])] += np.int32(weight[z])


@part
def _total(s: np.ndarray, b: Bundles, y: int) -> np.int32:
    first, parts = b.first, b.part
    total = np.int32(0)
    for z in range(first[y], first[y + 1]):
        total += s[parts[z]]
    return total


@part
def _best(s: np.ndarray, b: Bundles, group: int) -> np.int64:
    """The label of a group with the largest score, the smaller one of equal ones."""
    member, best, most = b.member, np.int64(-1), np.int32(0)
    for k in range(b.begin[group], b.begin[group + 1]):
        y = np.int64(member[k])
        total = _total(s, b, y)
        if best < 0 or total > most:
            best, most = y, total
    return best


@kernel
def tag_bundles(b: Bundles, w: SmallWeights, x: Active, group: I32, n_parts: int, out: I32) -> None:
    """Write the label of each token to out i32[N]; tokens whose group has one label are not scored."""
    s = np.zeros(n_parts, np.int32)
    for i in range(out.size):
        begin = b.begin[group[i]]
        if b.begin[group[i] + 1] - begin == 1:
            out[i] = b.member[begin]
        else:
            _score(s, w, x, i)
            out[i] = _best(s, b, group[i])


@kernel
def list_bundles(
    b: Bundles, w: SmallWeights, x: Active, group: I32, n_parts: int, out: I32_2D, scores: I32_2D
) -> None:  # fmt: skip
    """Write the K best labels of each token to out i32[N, K] and their scores to scores i32[N, K], best first; of equal
    ones the smaller label comes first. Where a group has fewer labels, the rest of `out` is -1."""
    s = np.zeros(n_parts, np.int32)
    for i in range(out.shape[0]):
        _score(s, w, x, i)
        found, score, size = out[i], scores[i], 0
        for k in range(found.size):
            found[k] = np.int32(-1)
        for k in range(b.begin[group[i]], b.begin[group[i] + 1]):
            y = np.int64(b.member[k])
            total = _total(s, b, y)
            if size == found.size and total <= score[size - 1]:
                continue
            at = min(size, found.size - 1)
            while at > 0 and score[at - 1] < total:
                found[at], score[at] = found[at - 1], score[at - 1]
                at -= 1
            found[at], score[at] = np.int32(y), total
            size = min(size + 1, found.size)
