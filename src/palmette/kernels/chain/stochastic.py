"""Gradient descent on the likelihood, sentence by sentence (CRF and latent CRF).

After each sentence the weights of its attributes, and the bare ones, move against the gradient of its likelihood and of
its part of the penalty:

    g  = difference of marginals + (2 * l2 / occurrences of the attribute) * w
    w -= rate * g                          plain: the rate decays with the clock
    w -= rate * g / sqrt(0.01 + sum of g^2)  adaptive (AdaGrad): what occurs rarely keeps a large rate

An attribute pays its L2 penalty in equal parts where it occurs, so that nothing else has to be touched, and the parts
of a pass add up to the whole penalty. As for all learners every change is added, times the clock, to the accumulators
of the mean.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from palmette.kernels.chain.forms import Active, Chain, Data, FeatureWeights, Gather
from palmette.kernels.chain.gradient import (
    Expected,
    add_fast_pairs,
    goes_fast,
    room_for_likelihood,
    sentence_likelihood,
)
from palmette.kernels.chain.score import gather_for
from palmette.kernels.chain.train import make_workspace
from palmette.kernels.core.compile import inline, kernel, part

FLOOR = np.float32(0.01)  # sums of squares start here: what is hardly ever expected must not make large steps


class Squares(NamedTuple):
    """Sums of squared gradients, as the weights; of size 0 when the rate is not adaptive."""

    end: np.ndarray  # f32[2, W]
    pair: np.ndarray
    triple: np.ndarray
    one: np.ndarray
    two: np.ndarray
    three: np.ndarray


class Decay(NamedTuple):
    """2 * l2 / occurrences of each attribute, f32[A]."""

    one: np.ndarray
    two: np.ndarray
    three: np.ndarray


@inline
def _descend(
    w: np.ndarray, a: np.ndarray, squares: np.ndarray, g: np.ndarray, value: float, decay: float, rate: float, c: float
) -> None:
    """One row of weights against the gradient value * g + decay * w."""
    if squares.size > 0:
        for h in range(g.size):
            slope = value * g[h] + decay * w[h]
            squares[h] += slope * slope
            change = -rate * slope / np.sqrt(squares[h] + FLOOR)
            w[h] += change
            a[h] += c * change
    else:
        for h in range(g.size):
            change = -rate * (value * g[h] + decay * w[h])
            w[h] += change
            a[h] += c * change


@part
def _descend_rows(
    r: FeatureWeights, x: Active, i: int, squares: np.ndarray, g: np.ndarray, decay: np.ndarray, rate: float, c: float
) -> None:
    """The dense rows of the attributes of token i; a row is given out on its first change."""
    slot, used, w, a, att, val = r.slot, r.used, r.w, r.a, x.att, x.val
    for k in range(x.ptr[i], x.ptr[i + 1]):
        s = np.int64(slot[att[k]])
        if s == 0:
            s = used[0]
            slot[att[k]] = s
            used[0] = s + 1
        value = np.float32(1.0) if val.size == 0 else val[k]
        own = squares[s] if squares.shape[0] > 0 else squares.reshape(-1)
        _descend(w[s], a[s], own, g, value, decay[att[k]], rate, c)


@part
def _descend_seen(
    r: FeatureWeights, m: Chain, room: Gather, x: Active, i: int, squares: np.ndarray, g: np.ndarray, decay: np.ndarray,
    rate: float, c: float,
) -> None:  # fmt: skip
    """The same for blocks of combinations that were seen: a block lies in g in runs of `per` numbers."""
    H, W, per, block = m.label_of.size, m.bias.size, m.per, r.w.shape[1]
    for k in range(x.ptr[i], x.ptr[i + 1]):
        attribute = x.att[k]
        value = np.float32(1.0) if x.val.size == 0 else x.val[k]
        for p in range(r.first[attribute], r.first[attribute + 1]):
            w, a = r.w[p], r.a[p]
            own = squares[p] if squares.shape[0] > 0 else squares.reshape(-1)
            for run in range(block // per):
                before, previous = run // per, run % per
                at = room.place[r.combo[p]] + (before * H + previous) * W
                cells = slice(run * per, run * per + per)
                part_of = own[cells] if own.size > 0 else own
                _descend(w[cells], a[cells], part_of, g[at : at + per], value, decay[attribute], rate, c)


@part
def _descend_bare(
    weights: np.ndarray,
    sums: np.ndarray,
    squared: np.ndarray,
    gradient: np.ndarray,
    decay: float,
    rate: float,
    c: float,
) -> None:
    """Weights of states alone; what was added up is taken away again for the next sentence. Where nothing is expected,
    as of forbidden pairs, weights stay zero."""
    w, a, squares, g = weights.reshape(-1), sums.reshape(-1), squared.reshape(-1), gradient.reshape(-1)
    for k in range(g.size):
        slope = np.float32(g[k]) + decay * w[k]
        g[k] = 0.0
        if squares.size > 0:
            squares[k] += slope * slope
            change = -rate * slope / np.sqrt(squares[k] + FLOOR)
        else:
            change = -rate * slope
        w[k] += change
        a[k] += c * change


@part
def _descend_order(
    r: FeatureWeights,
    m: Chain,
    room: Gather,
    x: Active,
    lo: int,
    n: int,
    skip: int,
    M: np.ndarray,
    squares: np.ndarray,
    decay: np.ndarray,
    rate: float,
    c: float,
) -> None:
    """The weights of one order, token by token from the `skip`-th on; tables are made 0 for the next sentence."""
    for i in range(skip, n if M.shape[0] > 0 else 0):
        g = M[i]
        if r.first.size > 0:
            _descend_seen(r, m, room, x, lo + i, squares, g, decay, rate, c)
        elif r.slot.size > 0:
            _descend_rows(r, x, lo + i, squares, g, decay, rate, c)
        for h in range(g.size):
            g[h] = 0.0


@part
def _descend_sentence(
    m: Chain, x: Data, s: int, out: Expected, squares: Squares, decay: Decay, bare: float, rate: float, c: float,
    one: Gather, two: Gather, three: Gather,
) -> None:  # fmt: skip
    lo = x.offset[s]
    n = x.offset[s + 1] - lo
    _descend_order(m.one, m, one, x.one, lo, n, 0, out.M1, squares.one, decay.one, rate, c)
    _descend_order(m.two, m, two, x.two, lo, n, 1, out.M2, squares.two, decay.two, rate, c)
    _descend_order(m.three, m, three, x.three, lo, n, 2, out.M3, squares.three, decay.three, rate, c)
    if m.ends:
        _descend_bare(m.bare.end, m.bare_a.end, squares.end, out.end, bare, rate, c)
    if m.transitions and m.order >= 1:
        _descend_bare(m.bare.pair, m.bare_a.pair, squares.pair, out.pair, bare, rate, c)
    if m.triples and m.order >= 2:
        _descend_bare(m.bare.triple, m.bare_a.triple, squares.triple, out.triple, bare, rate, c)


@kernel
def descend(
    m: Chain, x: Data, order: np.ndarray, first: int, last: int, clock: float, rate: float, fall: float,
    squares: Squares, decay: Decay, bare: float,
) -> tuple:  # fmt: skip
    """One slice of a pass: (clock, sum of weight * (log Z - log Z of what is known), tokens wrong, sentences without an
    allowed path). The rate at clock c is rate / (1 + fall * c)."""
    H, W = m.label_of.size, m.bias.size
    T = make_workspace(m, x, first, last, order)
    fast = goes_fast(m, x)
    room = room_for_likelihood(T, m, fast)
    n = T.U.shape[0]
    pairs, triples = x.two.ptr.size > 0 and m.order >= 1, x.three.ptr.size > 0 and m.order >= 2
    out = Expected(
        np.zeros((n, W), np.float32), np.zeros((n if pairs else 0, H * W), np.float32),
        np.zeros((n if triples else 0, H * H * W), np.float32),
        np.zeros((2, W)), np.zeros((H, W)), np.zeros((H if m.order >= 2 else 0, H, W)),
    )  # fmt: skip
    one, two, three = gather_for(m, m.one, 1), gather_for(m, m.two, 2), gather_for(m, m.three, 3)
    objective, wrong, infeasible = 0.0, 0, 0
    for k in range(first, last):
        value, missed = sentence_likelihood(T, m, x, order[k], 0, True, fast, room, out)
        if missed < 0:
            infeasible += 1
        else:
            objective += value
            wrong += missed
            if fast and m.order >= 1:
                add_fast_pairs(m, room.r, out)
            now = np.float32(rate / (1.0 + fall * clock))
            _descend_sentence(m, x, order[k], out, squares, decay, np.float32(bare), now, clock, one, two, three)
        clock += 1.0
    return clock, objective, wrong, infeasible
