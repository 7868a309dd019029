"""Weights of templates that read earlier labels (`%y[-2]`), for beam search.

The observations of such a template are an attribute, encoded before the search like all others. Its labels are read
from a prefix during the search: labels, also where labels have several states. A pair of attribute and labels has a row
of weights, one per state of the token, which a table of 64-bit keys finds. A row is allocated at its first change;
without a row all weights are 0.
"""

from __future__ import annotations

import numpy as np

from palmette.kernels.chain.differences import DifferenceTable, entry_of
from palmette.kernels.chain.forms import Active, Chain, LabelContextWeights
from palmette.kernels.chain.update import WeightedPaths, add_tied_dense
from palmette.kernels.chain.weights import all_agree, layout_of
from palmette.kernels.core.compile import inline, kernel, part
from palmette.kernels.core.hashing import ABSENT, BASE, find, find_or_add, mixed
from palmette.kernels.core.types import I32, I64, U64

LABEL_BITS = 15  # of a label in a code of up to four; 0 is the start of the sentence
SPREAD = np.uint64(0xD6E8FEB86659FD93)


@inline
def key_of(attribute: int, code: int) -> np.uint64:
    return mixed(np.uint64(attribute + 1) * BASE + np.uint64(code) * SPREAD)


@inline
def read_labels(back: np.ndarray, begin: int, end: int, window: np.ndarray, label_of: np.ndarray) -> int:
    """The code of the labels that a template reads; window[k] is the state k + 1 tokens before, -1 for none."""
    code = 0
    for b in range(begin, end):
        state = window[back[b] - 1]
        code = (code << LABEL_BITS) | int(label_of[state] + 1 if state >= 0 else 0)
    return code


@part
def reach_of(p: LabelContextWeights) -> int:
    """The largest distance of the labels that templates read."""
    reach = 0
    for b in range(p.back.size):
        reach = max(reach, p.back[b])
    return reach


@part
def has_capacity(p: LabelContextWeights, needed: int) -> bool:
    """Whether so many more rows are allocated."""
    most = p.used[0] + needed
    return most <= p.w.shape[0] and 2 * most <= p.keys.size


@inline
def see_path(path: np.ndarray, i: int, window: np.ndarray) -> None:
    """Fill the window with the labels before token i of a path, the nearest one first; -1 before the sentence."""
    for k in range(window.size):
        window[k] = path[i - 1 - k] if i - 1 - k >= 0 else -1


@part
def _sum_codes(ends: np.ndarray, codes: np.ndarray, factors: np.ndarray, k: int) -> float:
    """The factors of all paths with the code and the last state (or label) of path k; 0 if an earlier path has them
    too."""
    total = 0.0
    for j in range(codes.size):
        if codes[j] == codes[k] and ends[j] == ends[k]:
            if j < k:
                return 0.0
            total += factors[j]
    return total


@inline
def row_for(p: LabelContextWeights, attribute: int, code: int) -> int:
    """The row of an attribute and a code of labels, allocated if there is none."""
    row = find_or_add(p.keys, p.numbers, key_of(attribute, code), p.used[0])
    if row == p.used[0]:
        p.owner[row], p.code[row] = attribute, code
        p.used[0] += 1
    return int(row)


@part
def add_weighted_contexts(
    m: Chain, p: LabelContextWeights, y: Active, lo: int, by: WeightedPaths, nothing: float
) -> None:
    """The part of `add_weighted_paths` (update.py) of templates that read earlier labels. The rows must be allocated
    (`has_capacity`)."""
    if y.ptr.size == 0:
        return
    paths, factors, length, c = by
    template, first, back, label_of, q = p.template, p.first, p.back, m.label_of, layout_of(m)
    w, a, ptr, att = p.w, p.a, y.ptr, y.att
    reach, K = reach_of(p), factors.size
    windows, codes, labels = np.empty((K, reach), np.int32), np.empty(K, np.int64), np.empty(K, np.int32)
    for i in range(length):
        if all_agree(paths, i, min(reach, i) + 1):
            continue
        for k in range(K):
            see_path(paths[k], i, windows[k])
            labels[k] = label_of[paths[k, i]]
        for z in range(ptr[lo + i], ptr[lo + i + 1]):
            t = template[att[z]]
            for k in range(K):
                codes[k] = read_labels(back, first[t], first[t + 1], windows[k], label_of)
            for k in range(K):
                change = _sum_codes(paths[:, i], codes, factors, k)
                if abs(change) > nothing:
                    row = row_for(p, att[z], codes[k])
                    w[row, paths[k, i]] += change
                    a[row, paths[k, i]] += c * change
                tied = q.tied_update * _sum_codes(labels, codes, factors, k) if q.tied_update > 0.0 else 0.0
                if abs(tied) > nothing:
                    row = row_for(p, att[z], codes[k])
                    add_tied_dense(w[row], a[row], q, 1, paths[k, i], tied, c)


@part
def context_entries(y: Active, lo: int, at: int, K: int, has_ties: bool) -> int:
    """An upper bound of the number of features of this kind that differ between gold and K candidates."""
    return 0 if y.ptr.size == 0 else (4 if has_ties else 2) * K * (y.ptr[lo + at] - y.ptr[lo])


@part
def add_context_differences(
    m: Chain, p: LabelContextWeights, y: Active, lo: int, at: int, paths: np.ndarray, d: DifferenceTable, adaptive: bool
) -> None:
    """The part of `add_differences` (see differences.py) of templates that read earlier labels. adaptive: keys name the
    rows of weights, which are allocated here (see differences.py)."""
    if y.ptr.size == 0:
        return
    reach, K, label_of, has_ties = reach_of(p), paths.shape[0], m.label_of, m.tied_update > 0.0
    keys, values, used, count = d.keys, d.values, d.used, d.n_used
    windows = np.empty((K, reach), np.int32)
    for i in range(at):
        if all_agree(paths, i, min(reach, i) + 1):
            continue
        for k in range(K):
            see_path(paths[k], i, windows[k])
        for z in range(y.ptr[lo + i], y.ptr[lo + i + 1]):
            t = p.template[y.att[z]]
            begin, end = p.first[t], p.first[t + 1]
            for k in range(1, K):
                for side in range(2):
                    j, sign = (0, 1.0) if side == 0 else (k, -1.0)
                    code = read_labels(p.back, begin, end, windows[j], label_of)
                    # The last three bits are 0: no key of another arity is like that.
                    if adaptive:
                        row = row_for(p, y.att[z], code)
                        key = np.uint64(row * p.w.shape[1] + paths[j, i] + 1) << np.uint64(3)
                    else:
                        hashed = key_of(y.att[z], code)
                        key = (hashed + np.uint64(paths[j, i] + 1) * SPREAD) << np.uint64(3)
                    values[entry_of(keys, used, count, key), k - 1] += sign
                    if has_ties:  # the last bit tells features of labels, see differences.py
                        key = (key_of(y.att[z], code) + np.uint64(label_of[paths[j, i]] + 1) * SPREAD) << np.uint64(3)
                        values[entry_of(keys, used, count, key | np.uint64(1)), k - 1] += sign


@kernel
def table_of(owner: I32, code: I64, n: int, size: int) -> tuple[U64, I32, bool]:
    """Keys and numbers of the first n rows in a table of that size, and whether no pair occurs twice."""
    keys = np.zeros(size, np.uint64)
    numbers = np.full(size, ABSENT, np.int32)
    distinct = True
    for row in range(n):
        key = key_of(owner[row], code[row])
        distinct = distinct and find(keys, numbers, key) == ABSENT
        find_or_add(keys, numbers, key, row)
    return keys, numbers, distinct
