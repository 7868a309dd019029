"""Beam search over prefixes of labels: after each step the best B prefixes are kept.

    score(prefix + h) = score(prefix) + U[i, h] + weights of (g, h), of (f, g, h) and of all labels that templates read

A prefix is a label and a pointer to the previous prefix, so that a feature may read any earlier label. Only weights of
prefixes in the beam are read; the tables of all pairs and triples of exact search are not filled. On equal scores the
extension of the better prefix comes first, then the smaller label.

Recombination keeps only the best one of prefixes whose last R labels are equal, R being the largest number of labels
back that any weight or constraint reads: whatever follows adds the same to all of them. (A beam as wide as there are
such ends is then exact.) Extensions of prefixes b and c by the same label end alike if b and c agree in their last
R - 1 labels; `kin` numbers the prefixes of a beam by these.

Gold is also scored separately, by the same sums in the same order: its score is known after it has left the beam, and
as long as it is in the beam, both scores are equal to the last bit.

If labels have several states, prefixes consist of states. Templates that read earlier labels read labels, so that only
the last `order` states and the labels before them matter for recombination. What gold is then: see `force_gold`.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from palmette.kernels.chain.forms import (
    Active,
    Chain,
    Data,
    FeatureWeights,
    LabelContextWeights,
    StateLayout,
    Trellis,
    longest_of,
    no_skips,
)
from palmette.kernels.chain.label_context import key_of, read_labels, see_path
from palmette.kernels.chain.score import restrict, score_states
from palmette.kernels.chain.weights import block_and_cell, layout_of, lower_place
from palmette.kernels.core.compile import inline, kernel, part
from palmette.kernels.core.hashing import find
from palmette.kernels.core.types import F32, F64, F64_2D, I32, I32_2D, I64, Bool_2D, aligned_zeros, struct

PLAIN_REACH = 2  # labels that pairs and triples read
SEPARATE = -1


@struct
class BeamWeights(NamedTuple):
    """All weights of a chain that is searched with a beam."""

    chain: Chain
    contexts: LabelContextWeights


@struct
class BeamData(NamedTuple):
    """An encoded corpus, and the attributes of templates that read earlier labels."""

    data: Data
    contexts: Active


class Recombination(NamedTuple):
    """Which prefixes recombine."""

    reach: int  # R; SEPARATE: none do
    order: int  # the number of states that are read; the other labels, if any, are read as labels
    label_of: I32  # [H]
    kin: I32  # [B]  the first prefix of a beam with the same last R - 1 labels


class Beam(NamedTuple):
    """Arrays for the prefixes of one sentence. The index of `score`, `size`, `best` and `gold` is the number of
    steps."""

    label: I32_2D  # [n, B]  the last label of a prefix, or its last state
    back: I32_2D  # [n, B]   the previous prefix, in the beam of the previous step
    score: F64_2D  # [n+1, B]
    size: I64  # [n+1]
    best: F64  # [n+1]    score of the best prefix
    gold: F64  # [n+1]    score of the gold prefix
    row: F32  # [W]
    window: I32  # []     labels before a token, the nearest one first
    ends: Recombination
    own: RightPrefixes


@struct
class BeamWorkspace(NamedTuple):
    """Trellis and beam of one sentence."""

    trellis: Trellis  # of states alone
    beam: Beam


def reach_of_weights(w: BeamWeights) -> int:
    """The largest number of labels back that a weight or a constraint reads."""
    return int(w.contexts.back.max(initial=w.chain.order))


def make_beam_workspace(w: BeamWeights, d: BeamData, B: int, recombine: bool) -> BeamWorkspace:
    """For any sentence of the corpus and a beam of width B."""
    n, W, kind = longest_of(d.data), w.chain.bias.size, w.chain.bias.dtype
    none = np.empty((0, 0, W), kind)
    window = int(w.contexts.back.max(initial=PLAIN_REACH))
    reach = reach_of_weights(w) if recombine else SEPARATE
    beam = Beam(
        np.empty((n, B), np.int32), np.empty((n, B), np.int32), np.empty((n + 1, B)), np.zeros(n + 1, np.int64),
        np.empty(n + 1), np.empty(n + 1), aligned_zeros((W,), kind), np.empty(window, np.int32),
        Recombination(reach, w.chain.order, w.chain.label_of, np.zeros(B, np.int32)),
        make_right_prefixes(-1 if w.chain.plain else n, B),
    )  # fmt: skip
    trellis = Trellis(aligned_zeros((n, W), kind), none, np.empty((0, 0, 0, W), kind), none, no_skips())
    return BeamWorkspace(trellis, beam)


@inline
def _see_prefix(label: np.ndarray, back: np.ndarray, i: int, b: int, window: np.ndarray) -> None:
    """Fill the window with the labels before token i of prefix b, the nearest one first."""
    for k in range(window.size):
        t = i - 1 - k
        if t < 0:
            window[k] = -1
        else:
            window[k] = label[t, b]
            b = back[t, b]


@part
def _add_attributes(
    row: np.ndarray, h0: int, h1: int, context: int, arity: int, q: StateLayout, token: int, x: Active,
    r: FeatureWeights,
) -> None:  # fmt: skip
    """row[h] += the weights of a token's attributes on the states before (`context`, as a number) and h."""
    ptr, att, val, slot, w, first, combo = x.ptr, x.att, x.val, r.slot, r.w, r.first, r.combo
    W, states_per_label = q.W, q.states_per_label
    base, cell = block_and_cell(context * W, arity, q)
    begin_combo, end_combo = base + h0 // states_per_label, base + (h1 - 1) // states_per_label + 1
    for z in range(ptr[token], ptr[token + 1]):
        a = att[z]
        v = np.float32(1.0) if val.size == 0 else val[z]
        if first.size == 0:
            own, begin = w[slot[a]], context * W
            for h in range(h0, h1):
                row[h] += v * own[begin + h]
        else:
            low, end = lower_place(first, slot, combo, a, begin_combo), first[a] + slot[a]
            while low < end and combo[low] < end_combo:
                h = (combo[low] - base) * states_per_label
                for k in range(states_per_label):
                    row[h + k] += v * w[low, cell + k]
                low += 1


@inline
def _add_label_contexts(
    row: np.ndarray, h0: int, h1: int, window: np.ndarray, label_of: np.ndarray, token: int, y: Active,
    p: LabelContextWeights,
) -> None:  # fmt: skip
    """row[h] += the weights of templates that read the labels in the window."""
    ptr, att, template, first, back = y.ptr, y.att, p.template, p.first, p.back
    keys, numbers, w = p.keys, p.numbers, p.w
    for z in range(ptr[token], ptr[token + 1]):
        t = template[att[z]]
        number = find(keys, numbers, key_of(att[z], read_labels(back, first[t], first[t + 1], window, label_of)))
        if number >= 0:
            own = w[number]
            for h in range(h0, h1):
                row[h] += own[h]


@inline
def _ends_alike(label: np.ndarray, back: np.ndarray, i: int, b: int, c: int, ends: Recombination) -> bool:
    """Whether the prefixes b and c of i labels agree in what will be read of them after one more label."""
    label_of, order = ends.label_of, ends.order
    for t in range(i - 1, max(-1, i - ends.reach), -1):
        if b == c:
            return True
        if label_of[label[t, b]] != label_of[label[t, c]] or (i - t < order and label[t, b] != label[t, c]):
            return False
        b, c = back[t, b], back[t, c]
    return True


@inline
def _find_kin(label: np.ndarray, back: np.ndarray, i: int, size: int, ends: Recombination) -> None:
    """Set kin[b] to the first prefix of a beam after i steps that agrees with b in the last R - 1 labels."""
    kin = ends.kin
    for b in range(size):
        kin[b] = b
        for c in range(b):
            if kin[c] == c and _ends_alike(label, back, i, b, c, ends):
                kin[b] = c
                break


@inline
def _where_kin(label: np.ndarray, back: np.ndarray, found: int, ends: Recombination, b: int, h: int) -> int:
    """The extension in the list that ends as that of prefix b by label h does; `found` if there is none."""
    if ends.reach == SEPARATE:
        return found
    if ends.reach == 0:
        return 0
    kin, label_of = ends.kin, ends.label_of
    for k in range(found):
        alike = label[k] == h or (ends.order == 0 and label_of[label[k]] == label_of[h])
        if alike and kin[back[k]] == kin[b]:
            return k
    return found


@inline
def _keep_best(
    base: float, row: np.ndarray, H: int, b: int, found: int, score: np.ndarray, label: np.ndarray, back: np.ndarray,
    ends: Recombination,
) -> int:  # fmt: skip
    """Insert the extensions of prefix b by each label into the sorted list of the best B, the length of `score`; with
    recombination in place of a worse one with the same end. Returns its new length."""
    B = score.size
    for h in range(H):
        value = base + row[h]
        if not value > (score[B - 1] if found == B else -np.inf):
            continue
        k = _where_kin(label, back, found, ends, b, h)
        if k < found:
            if not value > score[k]:
                continue
        elif found == B:
            k = B - 1
        else:
            found += 1
        while k > 0 and value > score[k - 1]:
            score[k], label[k], back[k] = score[k - 1], label[k - 1], back[k - 1]
            k -= 1
        score[k], label[k], back[k] = value, h, b
    return found


@inline
def _where(label: np.ndarray, back: np.ndarray, found: int, b: int, h: int) -> int:
    """The extension of prefix b by label h in the beam; -1 if it is not there."""
    for k in range(found):
        if back[k] == b and label[k] == h:
            return k
    return -1


@inline
def _fill_row(
    row: np.ndarray, h0: int, h1: int, window: np.ndarray, depth: int, u: np.ndarray, forbid: np.ndarray,
    pair: np.ndarray, triple: np.ndarray,
) -> None:  # fmt: skip
    """row[h] = the score that the labels h0..h1 of a token with state scores u add to a prefix that ends with the
    labels in the window, without attributes on more than one label. depth: the number of labels of the window to use,
    at most 2."""
    for h in range(h0, h1):
        row[h] = u[h]
    if depth >= 1:
        no, own = forbid[window[0]], pair[window[0]]
        for h in range(h0, h1):
            row[h] += no[h] + own[h]
    if depth >= 2:
        own = triple[window[1] * forbid.shape[0] + window[0]]
        for h in range(h0, h1):
            row[h] += own[h]


@part
def _add_contexts(
    row: np.ndarray, h0: int, h1: int, i: int, token: int, window: np.ndarray, w: BeamWeights, d: BeamData
) -> None:
    """row[h] += the weights of attributes on pairs, on triples and on all labels that templates read."""
    m, x = w.chain, d.data
    q, H = layout_of(m), m.label_of.size
    if i >= 1 and m.order >= 1 and x.features[1].ptr.size > 0:
        _add_attributes(row, h0, h1, window[0], 2, q, token, x.features[1], m.weights[1])
    if i >= 2 and m.order >= 2 and x.features[2].ptr.size > 0:
        _add_attributes(row, h0, h1, window[1] * H + window[0], 3, q, token, x.features[2], m.weights[2])
    if d.contexts.ptr.size > 0:
        _add_label_contexts(row, h0, h1, window, m.label_of, token, d.contexts, w.contexts)


@part
def search(
    T: Trellis, r: Beam, w: BeamWeights, d: BeamData, s: int, start: int, gold: np.ndarray, stop: bool
) -> tuple[int, int, int]:
    """Continue the search of sentence s, whose states are scored, after `start` steps (0: from the beginning).

    Returns (steps taken, steps after which gold was first missing or 0, index of gold in the last beam or -1).
    gold: labels i32[n], or of size 0 if there is none; `stop`: end the search when gold is missing. If labels have
    several states, the index is that of the best prefix with gold's labels, and `r.gold` is left to `force_gold`."""
    m, x = w.chain, d.data
    lo, ends = x.offset[s], r.ends
    n = x.offset[s + 1] - lo
    U, row, window, H = T.U, r.row, r.window, m.label_of.size
    label, back, score, size, best, golds = r.label, r.back, r.score, r.size, r.best, r.gold
    order, forbid, pair, triple = m.order, m.forbid, m.transitions[1].w, m.transitions[2].w
    contexts = x.features[1].ptr.size > 0 or x.features[2].ptr.size > 0 or d.contexts.ptr.size > 0
    has_gold, hidden = 1 if gold.size > 0 and m.plain else 0, gold.size > 0 and not m.plain
    own, right, label_of = r.own, r.own.right, m.label_of
    if start == 0:
        score[0, 0], size[0], best[0], golds[0] = 0.0, 1, 0.0, 0.0
    if hidden:
        right[start, 0] = True
        own.score[start + 1 :] = -np.inf
    item, fell = 0, 0
    for i in range(start, n):
        found = 0
        if ends.reach != SEPARATE:
            _find_kin(label, back, i, size[i], ends)
        for b in range(size[i] + has_gold):
            h0, h1 = 0, H
            if b < size[i]:
                _see_prefix(label, back, i, b, window)
            else:
                h0, h1 = gold[i], gold[i] + 1
                see_path(gold, i, window)
            _fill_row(row, h0, h1, window, min(i, order), U[i], forbid, pair, triple)
            if contexts:
                _add_contexts(row, h0, h1, i, lo + i, window, w, d)
            if b < size[i]:
                found = _keep_best(score[i, b], row, H, b, found, score[i + 1], label[i], back[i], ends)
                if hidden and fell == 0 and right[i, b]:
                    keep_right(own, i, b, score[i, b], row, label_of, gold[i])
            else:
                golds[i + 1] = golds[i] + row[h0]
        size[i + 1] = found
        if found == 0:  # a dead end, which gold is not: gold was lost before
            return i, fell, -1
        best[i + 1] = score[i + 1, 0]
        if gold.size > 0 and fell == 0:
            if hidden:
                item = mark_right(right, i, label[i], back[i], found, label_of, gold[i])
            else:
                item = _where(label[i], back[i], found, item, gold[i])
            if item < 0:
                fell = i + 1
                if stop:
                    return i + 1, fell, -1
    return n, fell, item


@part
def trace(r: Beam, steps: int, k: int, path: np.ndarray) -> None:
    """Write the labels of the k-th best prefix after `steps` steps to path."""
    for i in range(steps - 1, -1, -1):
        path[i] = r.label[i, k]
        k = r.back[i, k]


@part
def restart_from_gold(r: Beam, gold: np.ndarray, steps: int, score: float) -> None:
    """Reset the beam after `steps` steps to gold with its score."""
    for i in range(steps):
        r.label[i, 0], r.back[i, 0] = gold[i], 0
    r.score[steps, 0], r.size[steps] = score, 1


@part
def is_allowed(m: Chain, path: np.ndarray, n: int) -> bool:
    """Whether a path has no forbidden state or transition."""
    if m.first[path[0]] == -np.inf or m.last[path[n - 1]] == -np.inf:
        return False
    if m.order >= 1:
        for i in range(1, n):
            if m.forbid[path[i - 1], path[i]] == -np.inf:
                return False
    return True


# --- prefixes with the labels of gold --------------------------------------------------------------------------
# Which prefixes of a beam have gold's labels, for chains whose labels have several states.
#
# Gold is then a set of paths of states. It is in the beam as long as some prefix there has its labels. Besides, the
# best prefix with gold's labels that the beam makes at each step is kept, whether it stays or is pruned: its score is
# never above the best prefix of its step, and there is one up to the step after which gold has left the beam.


class RightPrefixes(NamedTuple):
    """Prefixes with gold's labels. The index is the number of steps; of size 0 if states are labels."""

    right: Bool_2D  # [n+1, B]  whether a prefix of the beam has gold's labels
    score: F64  # [n+1]         of the best one that was made at this step; -inf: none was
    state: I32  # [n+1]         its last state
    back: I32  # [n+1]          the prefix that it extends, in the beam of the previous step


def make_right_prefixes(n: int, B: int) -> RightPrefixes:
    """For sentences of up to n tokens; n = -1: states are labels."""
    return RightPrefixes(
        np.zeros((n + 1, B), np.bool_), np.empty(n + 1), np.empty(n + 1, np.int32), np.empty(n + 1, np.int32)
    )


@inline
def mark_right(
    right: np.ndarray, i: int, label: np.ndarray, back: np.ndarray, found: int, label_of: np.ndarray, gold: int
) -> int:
    """Mark which of the `found` prefixes after i + 1 steps have gold's labels. Returns the first; -1: none has."""
    first = -1
    for k in range(found - 1, -1, -1):
        right[i + 1, k] = right[i, back[k]] and label_of[label[k]] == gold
        if right[i + 1, k]:
            first = k
    return first


@inline
def keep_right(p: RightPrefixes, i: int, b: int, base: float, row: np.ndarray, label_of: np.ndarray, gold: int) -> None:
    """Keep the best extension of prefix b, which has gold's labels, by a state of gold's label at token i."""
    score, state, back = p.score, p.state, p.back
    for h in range(label_of.size):
        if label_of[h] == gold and base + row[h] > score[i + 1]:
            score[i + 1], state[i + 1], back[i + 1] = base + row[h], h, b


# --- forced decoding -------------------------------------------------------------------------------------------
# Gold under a beam, if labels have several states. A second beam search, of the same width and with the same weights,
# is restricted to the states of gold's labels. Gold after i steps is
#
# - the best prefix of forced decoding, if it scores at least as much as the right prefixes of the beam, and at most
# as
#   much as the best prefix of the beam;
# - else the best prefix with gold's labels that the beam has made at this step, as long as there is one;
# - else, once gold has left the beam, the best prefix of forced decoding.
#
# The second case covers what the beam has lost on the way: forced decoding may find a prefix that outscores the whole
# beam because its beginning was pruned there. Against this one an update would fix no violation; against the prefix
# that the beam made and then pruned it does. So after a wrong guess there always is a violation: the step after which
# gold left the beam, or the end. If a label has one state, gold is the one path of its labels, as in beam.py; if the
# beam is as wide as the space, gold is the best path of states with gold's labels, as in the exact latent perceptron.


@inline
def _made_by_beam(r: Beam, forced: Beam, fell: int, i: int) -> bool:
    """Whether gold after i steps is the right prefix that the beam has made, not that of forced decoding."""
    if fell > 0 and i > fell:
        return False
    return not r.own.score[i] <= forced.best[i] <= r.best[i]


@part
def force_gold(
    T: Trellis, r: Beam, forced: Beam, w: BeamWeights, d: BeamData, s: int, start: int, reached: int, fell: int
) -> bool:
    """Fill `r.gold` from `start` to `reached` steps. False: no path of gold's labels is allowed. Overwrites T.U."""
    x = d.data
    lo = x.offset[s]
    n = x.offset[s + 1] - lo
    restrict(T, w.chain, x, lo, n)
    steps, _, _ = search(T, forced, w, d, s, start, np.zeros(0, np.int32), False)
    if steps < n:
        return False
    for i in range(start + 1, reached + 1):
        r.gold[i] = r.own.score[i] if _made_by_beam(r, forced, fell, i) else forced.best[i]
    return True


@part
def trace_gold(r: Beam, forced: Beam, fell: int, steps: int, path: np.ndarray) -> None:
    """Write the states of gold after `steps` steps to path."""
    if _made_by_beam(r, forced, fell, steps):
        trace(r, steps - 1, r.own.back[steps], path)
        path[steps - 1] = r.own.state[steps]
    else:
        trace(forced, steps, 0, path)


# --- tagging ---------------------------------------------------------------------------------------------------


@kernel
def decode_beam(
    w: BeamWeights, d: BeamData, workspace: BeamWorkspace, out: I32_2D, scores: F64_2D, found: I64,
    restricted: bool,
) -> None:  # fmt: skip
    """Write the best label sequences of each sentence, at most K and at most the size of the last beam: labels to out
    i32[K, N], scores to scores f64[S, K], their number to found i64[S]."""
    m, x = w.chain, d.data
    T, r = workspace
    nothing = np.zeros(0, np.int32)
    for s in range(x.offset.size - 1):
        lo = x.offset[s]
        n = x.offset[s + 1] - lo
        score_states(T, m, x.features[0], lo, n)
        if restricted:
            restrict(T, m, x, lo, n)
        reached, _, _ = search(T, r, w, d, s, 0, nothing, False)
        found[s] = min(out.shape[0], r.size[n]) if reached == n else 0
        for k in range(found[s]):
            trace(r, n, k, out[k, lo : lo + n])
            scores[s, k] = r.score[n, k]
