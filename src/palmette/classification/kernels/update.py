"""The features of a structure: their length, their score under given weights, and a step along them.

A feature is an attribute with the state of its token, a pair of states, the first or the last state; its value is its
number of occurrences in the sentence, so that the squared length exceeds the number of all occurrences if some are
equal.

An adaptive rule (spread > 0) scales steps per weight by its state, as in parsing/kernels/update.py.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from palmette.classification.kernels.forms import Rival, Sentences, Views, Weights, Workspace
from palmette.kernels.core.compile import kernel, part
from palmette.kernels.core.team import Share, row_to_change
from palmette.kernels.core.types import I32, I64


@kernel
def link_repeats(offset: I64, ptr: I64, att: I32, n_attributes: int) -> tuple[I64, I32]:
    """(earlier i64[z], token i32[z]) of encoded sentences; see Sentences."""
    seen = np.full(n_attributes, -1, np.int64)
    earlier = np.empty(att.size, np.int64)
    token = np.empty(att.size, np.int32)
    for s in range(offset.size - 1):
        begin = ptr[offset[s]]
        for i in range(offset[s], offset[s + 1]):
            for k in range(ptr[i], ptr[i + 1]):
                before = seen[att[k]]
                earlier[k] = before if before >= begin else -1
                seen[att[k]] = k
                token[k] = i - offset[s]
    return earlier, token


@part
def squared_length(v: Views, x: Sentences, s: int, workspace: Workspace) -> float:
    """||f||^2 of the paths in the workspace; the (c+1)-th occurrence of a feature adds (c+1)^2 - c^2 = 2c + 1."""
    lo = x.offset[s]
    n = x.offset[s + 1] - lo
    R = v.size.size
    path, earlier, token = workspace.path, x.earlier, x.token
    total = 0
    for k in range(x.one.ptr[lo], x.one.ptr[lo + n]):
        total += R
        i, j = token[k], earlier[k]
        while j >= 0:
            for r in range(R):
                if path[r, token[j]] == path[r, i]:
                    total += 2
            j = earlier[j]
    if v.pairs:
        total += 2 * R + _pair_length(v, workspace, n)
    return float(total)


@part
def _pair_length(v: Views, workspace: Workspace, n: int) -> int:
    times, total = workspace.times, 0
    for r in range(v.size.size):
        edge, W, path = v.edge[r], v.stride[r], workspace.path[r]
        for i in range(1, n):
            k = edge + path[i - 1] * W + path[i]
            total += 2 * times[k] + 1
            times[k] += 1
        for i in range(1, n):
            times[edge + path[i - 1] * W + path[i]] = 0
    return total


@part
def _score_on(
    v: Views,
    end: np.ndarray,
    pair: np.ndarray,
    w: np.ndarray,
    slot: np.ndarray,
    x: Sentences,
    s: int,
    workspace: Workspace,
) -> float:
    lo = x.offset[s]
    n = x.offset[s + 1] - lo
    ptr, att, column, path = x.one.ptr, x.one.att, v.column, workspace.path
    R, rows = v.size.size, w.shape[0]
    total = 0.0
    for i in range(n):
        for k in range(ptr[lo + i], ptr[lo + i + 1]):
            row = np.int64(slot[att[k]])
            if row < rows:
                for r in range(R):
                    total += w[row, column[r] + path[r, i]]
    for r in range(R):
        total += end[0, column[r] + path[r, 0]] + end[1, column[r] + path[r, n - 1]]
        for i in range(1, n):
            total += pair[v.edge[r] + path[r, i - 1] * v.stride[r] + path[r, i]]
    return total


@part
def score_of(v: Views, w: Weights, x: Sentences, s: int, workspace: Workspace) -> float:
    """w.f of the paths in the workspace."""
    return _score_on(v, w.end, w.pair, w.one.w, w.one.slot, x, s, workspace)


@part
def rival_score(v: Views, u: Rival, w: Weights, x: Sentences, s: int, workspace: Workspace) -> float:
    """u.f of the paths in the workspace, for the rival's weights u."""
    return _score_on(v, u.end, u.pair, u.w, w.one.slot, x, s, workspace)


class Step(NamedTuple):
    """A step along the features of a structure."""

    change: float  # w += change * f
    gain: float  # of adaptive rules: state += gain * f^2
    clock: float


@part
def add_features(v: Views, w: Weights, x: Sentences, s: int, path: np.ndarray, step: Step, share: Share) -> None:
    """Change the weights of attributes by a step along the features of path i32[R, n]: those rows that are the thread's
    own."""
    lo, change, c = x.offset[s], step.change, step.clock
    ptr, att, column = x.one.ptr, x.one.att, v.column
    slot, used, rows, sums = w.one.slot, w.one.used, w.one.w, w.one.a
    averaged = sums.shape[0] > 0
    for i in range(x.offset[s + 1] - lo):
        for k in range(ptr[lo + i], ptr[lo + i + 1]):
            row = row_to_change(slot, used, att[k], share)
            if row == 0:
                continue
            for r in range(v.size.size):
                h = column[r] + path[r, i]
                rows[row, h] += change
                if averaged:
                    sums[row, h] += c * change


@part
def add_pairs(v: Views, w: Weights, n: int, path: np.ndarray, step: Step) -> None:
    """The part of a step for first states, last states and pairs."""
    averaged, change, c = w.pair_a.size > 0, step.change, step.clock
    for r in range(v.size.size):
        column, own = v.column[r], path[r]
        for side, h in ((0, column + own[0]), (1, column + own[n - 1])):
            w.end[side, h] += change
            if averaged:
                w.end_a[side, h] += c * change
        for i in range(1, n):
            k = v.edge[r] + own[i - 1] * v.stride[r] + own[i]
            w.pair[k] += change
            if averaged:
                w.pair_a[k] += c * change


@part
def adaptive_features(
    v: Views, w: Weights, x: Sentences, s: int, path: np.ndarray, done: np.ndarray, step: Step, share: Share
) -> float:  # fmt: skip
    """||f||^2 of the features of attributes, each scaled by 1 / (1 + its state). With a change, also w += change *
    scaled f and state += gain * f^2 in those rows that are the thread's own.

    A feature is handled at its last occurrence; the links lead to the others."""
    begin, end = x.one.ptr[x.offset[s]], x.one.ptr[x.offset[s + 1]]
    att, column, earlier, token = x.one.att, v.column, x.earlier, x.token
    slot, used, rows, sums, state = w.one.slot, w.one.used, w.one.w, w.one.a, w.state
    change, gain, c = step.change, step.gain, step.clock
    C, total, changes = rows.shape[1], 0.0, change != 0.0
    for k in range(end - 1, begin - 1, -1):
        row = row_to_change(slot, used, att[k], share) if changes else np.int64(slot[att[k]])
        if changes and row == 0:
            continue
        for r in range(v.size.size):
            if done[k - begin, r]:
                done[k - begin, r] = False
                continue
            own, count, j = path[r, token[k]], 1, earlier[k]
            while j >= 0:
                if path[r, token[j]] == own:
                    count += 1
                    done[j - begin, r] = True
                j = earlier[j]
            h = column[r] + own
            scale = 1.0 / (1.0 + state[row * C + h])
            total += scale * count * count
            if changes:
                rows[row, h] += scale * change * count
                state[row * C + h] += gain * count * count
                if sums.shape[0] > 0:
                    sums[row, h] += c * scale * change * count
    return total


@part
def adaptive_pairs(v: Views, w: Weights, n: int, path: np.ndarray, times: np.ndarray, step: Step) -> float:
    """As `adaptive_features` for first states, last states and pairs."""
    state, total = w.state, 0.0
    change, gain, c = step.change, step.gain, step.clock
    C = w.end.shape[1]
    ends = w.one.w.shape[0] * C
    pairs = ends + 2 * C
    averaged = w.pair_a.size > 0
    for r in range(v.size.size):
        column, edge, W, own = v.column[r], v.edge[r], v.stride[r], path[r]
        for side, h in ((0, column + own[0]), (1, column + own[n - 1])):
            scale = 1.0 / (1.0 + state[ends + side * C + h])
            total += scale
            if change != 0.0:
                w.end[side, h] += scale * change
                state[ends + side * C + h] += gain
                if averaged:
                    w.end_a[side, h] += c * scale * change
        for i in range(1, n):
            times[edge + own[i - 1] * W + own[i]] += 1
        for i in range(1, n):
            k = edge + own[i - 1] * W + own[i]
            count, times[k] = times[k], 0
            if count > 0:
                scale = 1.0 / (1.0 + state[pairs + k])
                total += scale * count * count
                if change != 0.0:
                    w.pair[k] += scale * change * count
                    state[pairs + k] += gain * count * count
                    if averaged:
                        w.pair_a[k] += c * scale * change * count
    return total
