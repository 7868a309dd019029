"""Gradient descent on the likelihood, sentence by sentence (CRF and latent CRF).

After each sentence the weights of its attributes and of transitions are moved against the gradient of its likelihood
and of its part of the penalty:

    g  = difference of marginals + (2 * l2 / occurrences of the attribute) * w
    w -= rate * g                          plain: the rate decays with the clock
    w -= rate * g / sqrt(0.01 + sum of g^2)  adaptive (AdaGrad): rare attributes keep a large rate

The L2 penalty of an attribute is divided equally among its occurrences, so that no other weights are touched, and the
parts of an epoch sum to the whole penalty. As for all learners every change is added, times the clock, to the
accumulators of the mean. The gradients of a batch are computed with the same weights, by all threads of a team, and
then descended along one after the other (batches.py).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from palmette.kernels.chain.batches import (
    CLOCK,
    NO_PATH,
    OBJECTIVE,
    UPDATE,
    Batch,
    begin_batch,
    count_batch,
    is_due,
    lacks_rows,
)
from palmette.kernels.chain.forms import Active, Chain, Data, FeatureWeights, Ngrams, TransitionWeights, longest_of
from palmette.kernels.chain.gradient import (
    Expected,
    LikelihoodWorkspace,
    add_fast_pairs,
    goes_fast,
    make_likelihood_workspace,
    sentence_likelihood,
)
from palmette.kernels.chain.score import gather_for
from palmette.kernels.chain.weights import give_rows, ngrams_of
from palmette.kernels.core.compile import inline, kernel, part
from palmette.kernels.core.prefetch import fetch_to_change
from palmette.kernels.core.team import (
    FIND,
    Share,
    Team,
    arrive,
    begin_phases,
    claim,
    is_broken,
    is_own,
    is_own_row,
    meet,
    release,
    serial_share,
    share_of,
)
from palmette.kernels.core.types import F32, F64, I64, Bool_2D, aligned_zeros, struct
from palmette.kernels.core.vector_sums import FLOOR, adapt_row

AHEAD = 8  # rows that are fetched before their turn


@struct
class Descent(NamedTuple):
    """Parameters of the descent, for all sentences. AdaGrad keeps its sums of squares in the state of the weights."""

    rate: float  # at clock c: rate / (1 + fall * c)
    fall: float
    decay: tuple[F32, F32, F32]  # [A] by arity minus 1: 2 * l2 / occurrences of each attribute
    bare_decay: float  # 2 * l2 / sentences, of transition weights
    learnt: Bool_2D  # [H, W]  label pairs whose weights are learnt; of size 0: all


@struct
class Gradients(NamedTuple):
    """The differences of the sentences of a batch, one below the other; all threads read and write them."""

    longest: int  # rows of a sentence in tables that have any
    out: Expected


def make_gradients(m: Chain, x: Data, size: int = 1) -> Gradients:
    """For any sentences of the corpus, so many at a time."""
    H, W, n = m.label_of.size, m.bias.size, longest_of(x)
    pairs, triples = x.features[1].ptr.size > 0 and m.order >= 1, x.features[2].ptr.size > 0 and m.order >= 2
    tables = (
        aligned_zeros((size * n, W), np.float32),
        aligned_zeros((size * n if pairs else 0, H * W), np.float32),
        aligned_zeros((size * n if triples else 0, H * H * W), np.float32),
    )
    contexts = (2, H, H * H if m.order >= 2 else 0)
    ends, edges, threes = (np.zeros((size * rows, W)) for rows in contexts)
    return Gradients(n, Expected(tables, (ends, edges, threes)))


class OwnSentence(NamedTuple):
    """Rows of attributes of a sentence that one thread changes, with what their update needs."""

    rows: I64  # [n + AHEAD]
    places: I64  # where the attribute stands
    decays: F32
    blocks: tuple[I64, I64, I64]  # by arity minus 1: where blocks of seen combinations start in a table


class DescentStep(NamedTuple):
    """How far weights move, and which ones."""

    rate: np.float32
    clock: float
    share: Share


@part
def _make_own(m: Chain, x: Data, examples: np.ndarray) -> OwnSentence:
    """For any of the examples."""
    most = 0
    for k in range(3):
        ptr = x.features[k].ptr
        if ptr.size > 0:
            for s in examples:
                most = max(most, ptr[x.offset[s + 1]] - ptr[x.offset[s]])
    size = most + AHEAD + 1
    one, two, three = m.weights
    blocks = gather_for(m, one, 1).place, gather_for(m, two, 2).place, gather_for(m, three, 3).place
    return OwnSentence(np.empty(size, np.int64), np.empty(size, np.int64), np.empty(size, np.float32), blocks)


def make_descent_workspace(m: Chain, x: Data) -> LikelihoodWorkspace:
    """For any sentence of the corpus; of one thread."""
    return make_likelihood_workspace(m, x, longest_of(x))


@inline
def _rows(table: np.ndarray, j: int, size: int) -> np.ndarray:
    """The rows of sentence j, of a table that has `size` rows per sentence, or none."""
    return table[j * size : (j + 1) * size] if table.shape[0] > 0 else table


@part
def _gradient_of(g: Gradients, m: Chain, j: int) -> Expected:
    """The place of sentence j of the batch."""
    H, tables, transitions = m.label_of.size, g.out.tables, g.out.transitions
    return Expected(
        (_rows(tables[0], j, g.longest), _rows(tables[1], j, g.longest), _rows(tables[2], j, g.longest)),
        (_rows(transitions[0], j, 2), _rows(transitions[1], j, H), _rows(transitions[2], j, H * H)),
    )


@part
def _clear(out: Expected, n: int) -> None:
    """Zero the differences of a sentence of n tokens."""
    for k in range(3):
        out.tables[k][:n] = np.float32(0.0)
        out.transitions[k][:] = 0.0


@inline
def _descend(
    w: np.ndarray, a: np.ndarray, squares: np.ndarray, g: np.ndarray, value: float, decay: float, rate: float, c: float
) -> None:
    """Move one row of weights against the gradient value * g + decay * w."""
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
def _list_own(
    r: FeatureWeights, x: Active, begin: int, end: int, decay: np.ndarray, share: Share, own: OwnSentence
) -> int:
    """List the rows of this thread, of the attributes begin..end. Returns their number. Some zero rows follow, to be
    fetched. The attribute decides whose a row is, in a loop without branches: rows that were given out in the order of
    attributes lie as `is_own_row` supposes."""
    slot, att, rows, places, decays, n = r.slot, x.att, own.rows, own.places, own.decays, 0
    for k in range(begin, end):
        places[n] = k
        n += is_own_row(np.int64(att[k]) + 1, share)
    for e in range(n):
        attribute = att[places[e]]
        rows[e], decays[e] = slot[attribute], decay[attribute]
    for e in range(n, n + AHEAD):
        rows[e] = 0
    return n


@part
def _descend_rows(
    r: FeatureWeights, x: Active, lo: int, i: int, M: np.ndarray, own: OwnSentence, n: int, step: DescentStep
) -> None:
    """Update the n listed rows of the tokens from i on of a sentence that begins at token lo."""
    w, a, squares, ptr, val = r.w, r.a, r.state, x.ptr, x.val
    rows, places, decays, adaptive, averages = own.rows, own.places, own.decays, squares.shape[0] > 0, a.shape[0] > 0
    nothing, rate, c = squares.reshape(-1), step.rate, step.clock
    for e in range(n):
        while places[e] >= ptr[lo + i + 1]:
            i += 1
        value = np.float32(1.0) if val.size == 0 else val[places[e]]
        s, ahead = rows[e], rows[e + AHEAD]
        if averages:
            fetch_to_change(a, ahead)
        if adaptive:
            fetch_to_change(w, ahead)
            fetch_to_change(squares, ahead)
            adapt_row(w, a, squares, s, M, i, (value, decays[e], rate), c)
        else:
            _descend(w[s], a[s], nothing, M[i], value, decays[e], rate, c)


@part
def _descend_seen(
    r: FeatureWeights, m: Chain, place: np.ndarray, x: Active, i: int, g: np.ndarray, decay: np.ndarray,
    step: DescentStep,
) -> None:  # fmt: skip
    """Update blocks of seen combinations; in g a block is runs of `states_per_label` numbers from place[combination]
    on."""
    squares, rate, c, share = r.state, step.rate, step.clock, step.share
    H, W, states_per_label, block = m.label_of.size, m.bias.size, m.states_per_label, r.w.shape[1]
    for k in range(x.ptr[i], x.ptr[i + 1]):
        attribute = x.att[k]
        if not is_own(attribute, share):
            continue
        value = np.float32(1.0) if x.val.size == 0 else x.val[k]
        if block == 1 and squares.shape[0] == 0:  # one number each
            for p in range(r.first[attribute], r.first[attribute + 1]):
                change = -rate * (value * g[place[r.combo[p]]] + decay[attribute] * r.w[p, 0])
                r.w[p, 0] += change
                r.a[p, 0] += c * change
            continue
        for p in range(r.first[attribute], r.first[attribute + 1]):
            w, a = r.w[p], r.a[p]
            own = squares[p] if squares.shape[0] > 0 else squares.reshape(-1)
            for run in range(block // states_per_label):
                before, previous = run // states_per_label, run % states_per_label
                at = place[r.combo[p]] + (before * H + previous) * W
                cells = slice(run * states_per_label, run * states_per_label + states_per_label)
                part_of = own[cells] if own.size > 0 else own
                _descend(w[cells], a[cells], part_of, g[at : at + states_per_label], value, decay[attribute], rate, c)


@part
def _descend_transitions(t: TransitionWeights, gradient: np.ndarray, decay: float, step: DescentStep) -> None:
    """Update transition weights. Where the gradient is zero, as for forbidden pairs, weights stay zero."""
    w, a, squares, g = t.w.reshape(-1), t.a.reshape(-1), t.state.reshape(-1), gradient.reshape(-1)
    rate, c, size, number = step.rate, step.clock, -(-g.size // int(step.share.size)), int(step.share.number)
    for k in range(number * size, min(g.size, (number + 1) * size)):
        slope = np.float32(g[k]) + decay * w[k]
        if squares.size > 0:
            squares[k] += slope * slope
            change = -rate * slope / np.sqrt(squares[k] + FLOOR)
        else:
            change = -rate * slope
        w[k] += change
        a[k] += c * change


@part
def _forget_others(gradient: np.ndarray, learnt: np.ndarray) -> None:
    """Zero the gradient of pairs whose weights are not learnt: these stay zero."""
    for f in range(learnt.shape[0]):
        for h in range(learnt.shape[1]):
            if not learnt[f, h]:
                gradient[f, h] = 0.0


@part
def _descend_ngrams(
    g: Ngrams, m: Chain, lo: int, n: int, M: np.ndarray, decay: np.ndarray, place: np.ndarray, step: DescentStep,
    own: OwnSentence,
) -> None:  # fmt: skip
    """Update the attributes of one arity, token by token."""
    r, x, first, share = g.weights, g.features, g.arity - 1, step.share
    if M.shape[0] == 0 or n <= first:
        return
    if r.first.size > 0:
        for i in range(first, n):
            _descend_seen(r, m, place, x, lo + i, M[i], decay, step)
    elif r.slot.size > 0:
        begin, end = x.ptr[lo + first], x.ptr[lo + n]
        if share.number < 0 or share.size == 1:
            give_rows(r, x, begin, end)
        if share.number >= 0:
            listed = _list_own(r, x, begin, end, decay, share, own)
            _descend_rows(r, x, lo, first, M, own, listed, step)


@part
def _descend_sentence(
    m: Chain, x: Data, s: int, out: Expected, by: Descent, clock: float, share: Share, own: OwnSentence
) -> None:
    """Update all weights of a sentence."""
    lo = x.offset[s]
    n = x.offset[s + 1] - lo
    step, bare = DescentStep(np.float32(by.rate / (1.0 + by.fall * clock)), clock, share), np.float32(by.bare_decay)
    M, decay, t = out.tables, by.decay, m.transitions
    for k in range(3):
        _descend_ngrams(ngrams_of(m, x, k + 1), m, lo, n, M[k], decay[k], own.blocks[k], step, own)
    if share.number < 0:
        return
    for k in range(m.order + 1):
        if m.learns[k]:
            _descend_transitions(t[k], out.transitions[k], bare, step)


@part
def _descend_batch(
    m: Chain, x: Data, examples: np.ndarray, batch: Batch, gradients: Gradients, by: Descent, clock: float,
    share: Share, own: OwnSentence,
) -> None:  # fmt: skip
    """Update the weights by the gradients of the sentences of a batch, one after the other."""
    for j in range(examples.size):
        if is_due(batch, j, share):
            _descend_sentence(m, x, examples[j], _gradient_of(gradients, m, j), by, clock + j, share, own)


@part
def _find(
    own: LikelihoodWorkspace, m: Chain, x: Data, s: int, changed: bool, batch: Batch, j: int, out: Expected, by: Descent
) -> None:
    """The gradient of a sentence: place j of the batch."""
    _clear(out, x.offset[s + 1] - x.offset[s])
    value, missed = sentence_likelihood(m, x, s, 0, changed, own, out)
    batch.outcome[j], batch.objective[j], batch.missed[j] = UPDATE, value, missed
    if missed < 0:
        batch.outcome[j], batch.missed[j] = NO_PATH, 0
        return
    batch.fresh[j] = 0
    for k in range(3):
        if lacks_rows(m.weights[k], x.features[k], x.offset[s], x.offset[s + 1]):
            batch.fresh[j] = 1
    if goes_fast(own) and m.order >= 1:
        add_fast_pairs(m, own.r, out)
    if m.learns[1] and m.order >= 1:
        _forget_others(out.transitions[1], by.learnt)


@kernel
def descend(
    m: Chain, x: Data, workspace: LikelihoodWorkspace, gradients: Gradients, batch: Batch, examples: I64, team: Team,
    counts: F64, by: Descent,
) -> None:  # fmt: skip
    """Learn from a slice of an epoch, batch by batch, and add to the counts (batches.py); the objective is the sum of
    weight * (log Z - log Z under the mask)."""
    order, first = np.empty(batch.outcome.size, np.int64), 0
    alone, own = team.size == 1, _make_own(m, x, examples)
    begin_phases(team)
    while first < examples.size and not is_broken(team):
        n = begin_batch(m.weights[0], x.features[0], x, examples, first, 0, order)
        if n == 0:
            break
        now, clock, changed, taken = examples[first : first + n], counts[CLOCK], True, claim(team)
        while taken < n:
            j = order[taken]
            _find(workspace, m, x, now[j], changed, batch, j, _gradient_of(gradients, m, j), by)
            changed = False
            taken = claim(team)
        if arrive(team, FIND):
            _descend_batch(m, x, now, batch, gradients, by, clock, serial_share(team, alone), own)
            for j in range(n):
                if batch.outcome[j] == UPDATE:
                    counts[OBJECTIVE] += batch.objective[j]
            count_batch(batch, n, counts)
            release(team)
        if not alone:
            _descend_batch(m, x, now, batch, gradients, by, clock, share_of(team, m.bias.size), own)
        meet(team)  # before places of the batch are used again
        first += n
