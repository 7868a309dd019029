"""Perceptron, passive-aggressive and AROW as CRFsuite defines them, in one compiled loop over a slice of the corpus.

Per sentence: find the best path; unless it is gold, with d = features(gold) - features(best path), k wrong labels and
the margin e = score(best path) - score(gold),

    perceptron   w += d                               loss: share of wrong labels
    PA           w += t d          t of `pa_step`     loss: e + cost
    AROW         w += t v d        t = loss / (gamma + d v d);  1 / v += d^2 / gamma        loss: e + cost

where the cost is k, 1 or sqrt(k), as the rule says, v the variance of each weight and gamma the rule's aggressiveness.
d has the weights that exist: for fixed lists of labels per attribute, and for the label pairs in `learnt`. Chains are
plain, of order 1, without weights at the ends.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from palmette.kernels.chain.forms import Chain, Data, Trellis, longest_of, make_trellis
from palmette.kernels.chain.score import score
from palmette.kernels.chain.viterbi import viterbi
from palmette.kernels.chain.weights import find_combination
from palmette.kernels.core.compile import inline, kernel, part
from palmette.kernels.core.types import F64, I32, I64, Bool, Bool_2D, struct
from palmette.kernels.learning.coefficients import pa_step
from palmette.kernels.learning.rule import AROW, PERCEPTRON, ROOT, TOKENS, Rule


@struct
class MarginWorkspace(NamedTuple):
    """The search, and the difference of two paths. Places count the weights of attributes, then those of pairs."""

    trellis: Trellis
    guess: I32  # [n]
    learnt: Bool_2D  # [H, W]
    change: F64  # [places]  0 between sentences
    touched: I64  # [places]  those of this sentence
    marked: Bool  # [places]  False between sentences


def make_margin_workspace(m: Chain, x: Data, learnt: np.ndarray) -> MarginWorkspace:
    """For any sentence of the corpus."""
    n, places = longest_of(x), m.weights[0].w.shape[0] + learnt.size
    return MarginWorkspace(
        make_trellis(m, x, n), np.empty(n, np.int32), learnt, np.zeros(places), np.zeros(places, np.int64),
        np.zeros(places, np.bool_),
    )  # fmt: skip


@inline
def _note(k: MarginWorkspace, used: int, place: int, value: float) -> int:
    """Add to the difference at a place; the number of places used then."""
    k.change[place] += value
    if not k.marked[place]:
        k.marked[place] = True
        k.touched[used] = place
        used += 1
    return used


@part
def _difference(m: Chain, x: Data, lo: int, n: int, k: MarginWorkspace) -> int:
    """Features of gold minus features of the guess; the number of places used."""
    r, active, guess, learnt = m.weights[0], x.features[0], k.guess, k.learnt
    used, pairs, W = 0, r.w.shape[0], learnt.shape[1]
    for i in range(n):
        g, h = x.known[lo + i], guess[i]
        if g != h and r.slot.size > 0:
            for j in range(active.ptr[lo + i], active.ptr[lo + i + 1]):
                a, value = active.att[j], 1.0 if active.val.size == 0 else float(active.val[j])
                up = find_combination(r.first, r.slot, r.combo, a, g)
                down = find_combination(r.first, r.slot, r.combo, a, h)
                if up >= 0:
                    used = _note(k, used, up, value)
                if down >= 0:
                    used = _note(k, used, down, -value)
        if i > 0:
            f, e = x.known[lo + i - 1], guess[i - 1]
            if g != h or f != e:
                if learnt[f, g]:
                    used = _note(k, used, pairs + f * W + g, 1.0)
                if learnt[e, h]:
                    used = _note(k, used, pairs + e * W + h, -1.0)
    return used


@part
def _move(m: Chain, k: MarginWorkspace, used: int, wrong: int, n: int, rule: Rule, clock: float) -> float:
    """Update the weights; the loss. The difference is zero again afterwards."""
    r, t = m.weights[0], m.transitions[1]
    states, pairs, change = r.w.shape[0], t.w.shape[1], k.change
    margin, square, spread = 0.0, 0.0, 0.0
    for j in range(used):
        p = k.touched[j]
        d, q = change[p], p - states
        margin -= d * (r.w[p, 0] if q < 0 else t.w[q // pairs, q % pairs])
        square += d * d
        if rule.kind == AROW:
            spread += d * d * (r.state[p, 0] if q < 0 else t.state[q // pairs, q % pairs])
    loss = margin + (float(wrong) if rule.loss == TOKENS else np.sqrt(float(wrong)) if rule.loss == ROOT else 1.0)
    if rule.kind == PERCEPTRON:
        loss, step = wrong / n, 1.0
    elif rule.kind == AROW:
        step = loss / (rule.aggressiveness + spread)
    else:
        step = 0.0 if square == 0.0 else pa_step(rule.variant, loss, square, rule.aggressiveness)
    for j in range(used):
        p = k.touched[j]
        d, q = change[p], p - states
        change[p] = 0.0
        k.marked[p] = False
        if q < 0:
            w, a, v = r.w[p], r.a[p], r.state[p] if rule.kind == AROW else r.w[p]
            at = 0
        else:
            w, a = t.w[q // pairs], t.a[q // pairs]
            v = t.state[q // pairs] if rule.kind == AROW else w
            at = q % pairs
        by = step * d
        if rule.kind == AROW:
            by *= v[at]
            v[at] = 1.0 / (1.0 / v[at] + d * d / rule.aggressiveness)
        w[at] += by
        a[at] += clock * by
    return loss


@kernel
def train_margins(
    m: Chain, x: Data, workspace: MarginWorkspace, permutation: I64, first: int, last: int, clock: float,
    rule: Rule,
) -> tuple[float, float, int]:  # fmt: skip
    """One slice of an epoch: (clock, sum of losses, wrong tokens)."""
    losses, wrong, changed = 0.0, 0, True
    T, guess = workspace.trellis, workspace.guess
    for k in range(first, last):
        s = permutation[k]
        lo = x.offset[s]
        n = score(T, m, x, s, changed)
        viterbi(T, m, n, guess)
        missed = 0
        for i in range(n):
            missed += int(guess[i] != x.known[lo + i])
        changed = missed > 0
        if changed:
            used = _difference(m, x, lo, n, workspace)
            losses += _move(m, workspace, used, missed, n, rule, clock)
            wrong += missed
        clock += 1.0
    return clock, losses, wrong
