"""Labels that are bundles of parts, as `Case=Gen|Number=Plur` is one of two: their arrays, how the weights of parts are
learnt, and the best labels of each token among those of its group.

A label scores as much as its parts do, a part as much as the attributes of the token weigh on it:

    score(i, y) = sum over parts p of label y of s[i, p],    s[i, p] = sum over attributes a of token i of w[a, p]

After an error the parts of gold go up, those of the guess down. The guess is the label with the largest score plus
cost, 1 for every wrong label. The step is the smallest one after which gold scores as much as the guess, at most `cap`
(the first passive-aggressive rule); parts that both have cancel out. Only attributes and parts that were seen together
have a weight.

Letters: N tokens, A attributes, P parts, Y labels, G groups of labels that a token may have.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from palmette.kernels.chain.forms import Active
from palmette.kernels.core.compile import kernel, part
from palmette.kernels.core.prefetch import fetch_item
from palmette.kernels.core.types import F32, F64, I16, I32, I32_2D, I64, struct


@struct
class Bundles(NamedTuple):
    """Which parts a label has, and which labels a group."""

    first: I64  # [Y+1]   the parts of label y are part[first[y] : first[y + 1]], each once
    part: I32  # []
    begin: I64  # [G+1]   the labels of group g are member[begin[g] : begin[g + 1]], ascending, at least one
    member: I32  # []


@struct
class PartWeights(NamedTuple):
    """Weights that are learnt: attribute a has the places first[a] .. first[a + 1] - 1, one for each part that it was
    seen with."""

    first: I64  # [A+1]
    part: I32  # [places]  ascending within an attribute
    w: F32  # [places]
    a: F64  # [places]     sum of (time * change), for averaging


@struct
class SmallWeights(NamedTuple):
    """Weights to tag with: whole numbers, whose unit does not matter."""

    first: I64  # [A+1]
    part: I16  # [places]
    w: I16  # [places]


# --- learning ------------------------------------------------------------------------------------------------


@part
def _part_scores(s: np.ndarray, w: PartWeights, x: Active, i: int) -> None:
    first, parts, weight, ptr, att = w.first, w.part, w.w, x.ptr, x.att
    for p in range(s.size):
        s[p] = np.float32(0.0)
    for k in range(ptr[i], ptr[i + 1]):
        for z in range(first[att[k]], first[att[k] + 1]):
            s[parts[z]] += weight[z]


@part
def _guess(s: np.ndarray, b: Bundles, group: int, gold: int) -> tuple[np.int64, np.float32]:
    """The label of a group with the largest score plus cost, the smaller one of equal ones; and how much larger that is
    than the score of gold."""
    first, parts, member = b.first, b.part, b.member
    best, most, own = np.int64(gold), np.float32(-np.inf), np.float32(0.0)
    for k in range(b.begin[group], b.begin[group + 1]):
        y = np.int64(member[k])
        total = np.float32(0.0)
        for z in range(first[y], first[y + 1]):
            total += s[parts[z]]
        if y == gold:
            own = total
        else:
            total += np.float32(1.0)
        if total > most:
            best, most = y, total
    return best, most - own


@part
def _mark(sign: np.ndarray, b: Bundles, y: int, value: int) -> None:
    first, parts = b.first, b.part
    for z in range(first[y], first[y + 1]):
        sign[parts[z]] += value


@part
def _changing(w: PartWeights, x: Active, i: int, sign: np.ndarray) -> int:
    """The number of weights that an update moves."""
    first, parts, ptr, att = w.first, w.part, x.ptr, x.att
    n = 0
    for k in range(ptr[i], ptr[i + 1]):
        for z in range(first[att[k]], first[att[k] + 1]):
            n += sign[parts[z]] != 0
    return n


@part
def _update(w: PartWeights, x: Active, i: int, sign: np.ndarray, step: np.float32, clock: float) -> None:
    first, parts, weight, a, ptr, att = w.first, w.part, w.w, w.a, x.ptr, x.att
    for k in range(ptr[i], ptr[i + 1]):
        for z in range(first[att[k]], first[att[k] + 1]):
            change = sign[parts[z]]
            if change != 0:
                weight[z] += np.float32(change) * step
                a[z] += clock * np.float64(np.float32(change) * step)


@kernel
def train_bundles(
    b: Bundles, w: PartWeights, x: Active, group: I32, gold: I32, permutation: I64, first: int, last: int, cap: float,
    clock: float,
) -> tuple[float, int]:  # fmt: skip
    """Learn from the tokens permutation[first : last], whose labels gold i32[N] are in their groups i32[N]: the clock
    after it, and how many of them the weights had wrong or by less than the cost."""
    n_parts = np.int64(0)
    for z in range(b.part.size):
        n_parts = max(n_parts, np.int64(b.part[z]) + 1)
    s, sign = np.zeros(n_parts, np.float32), np.zeros(n_parts, np.int32)
    wrong = 0
    for k in range(first, last):
        i = permutation[k]
        y = np.int64(gold[i])
        now = clock
        clock += 1.0
        if b.begin[group[i] + 1] - b.begin[group[i]] < 2:
            continue
        _part_scores(s, w, x, i)
        guess, loss = _guess(s, b, group[i], y)
        if guess == y:
            continue
        wrong += 1
        _mark(sign, b, y, 1)
        _mark(sign, b, guess, -1)
        step = np.float32(min(cap, np.float64(loss) / np.float64(max(1, _changing(w, x, i, sign)))))
        _update(w, x, i, sign, step, now)
        _mark(sign, b, y, -1)
        _mark(sign, b, guess, 1)
    return clock, wrong


# --- tagging -------------------------------------------------------------------------------------------------


@part
def _small_scores(s: np.ndarray, w: SmallWeights, x: Active, i: int) -> None:
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
            _small_scores(s, w, x, i)
            out[i] = _best(s, b, group[i])


@kernel
def list_bundles(
    b: Bundles, w: SmallWeights, x: Active, group: I32, n_parts: int, out: I32_2D, scores: I32_2D
) -> None:  # fmt: skip
    """Write the K best labels of each token to out i32[N, K] and their scores to scores i32[N, K], best first; of equal
    ones the smaller label comes first. Where a group has fewer labels, the rest of `out` is -1."""
    s = np.zeros(n_parts, np.int32)
    for i in range(out.shape[0]):
        _small_scores(s, w, x, i)
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
