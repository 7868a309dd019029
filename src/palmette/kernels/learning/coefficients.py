"""Coefficients per output from scores, costs and inner products of candidates: all learners, for all structures.

    w += sum over k of coefficient[k] * f(output k),    coefficient[0] = -(coefficient[1] + ... + coefficient[K])

perceptron   gold up and the best candidate down by 1; or the mean of the list, candidates and gold if listed
probPerc     wrong candidate k down by rate * P(k), P by score over the candidates, with gold if listed or asked for
PA           the smallest step for which gold beats one candidate by its cost: loss / |difference|^2, capped by variant
MIRA         the smallest step that meets the margins of K candidates: by quadratic programming, with capped alphas
AROW         MIRA without a cap, but with r on the diagonal; inner products and steps are scaled per weight by its state

A candidate without a cost is right although it is not the gold output: gold's labels with other latent states, or
other labels that agree with a partial annotation. Margin rules ignore it: it needs no margin. In probPerc it counts
as gold: it has its place in the list, but its probability is gold's, so that it is not pushed down, and gold goes
up by what is left:

    w += rate * ((1 - sum of P over right outputs) * f(gold) - sum over wrong k of P(k) * f(output k))
"""

from __future__ import annotations

import numpy as np

from palmette.kernels.core.compile import inline, part
from palmette.kernels.learning.rule import (
    AROW,
    CAPPED,
    LINEAR,
    MIRA,
    PA,
    PERCEPTRON,
    SOFT,
    SOFTMAX,
    SUM,
    CandidateList,
    Rule,
)

# --- step sizes ------------------------------------------------------------------------------------------------
# A passive-aggressive step removes one loss: fully (PA), with a step of at most C (PA-I), or with a soft limit
# (PA-II). MIRA removes several losses at once: a small quadratic program, solved by Hildreth's method if the step of
# each candidate is capped, by moving pairs if their sum is. probPerc distributes a rate over the candidates by their
# scores.

LEAST = 1e-3  # weight of the lowest candidate before normalisation; the best one has 1 + LEAST
ROUNDS = 1000
CLOSE = 1e-10
TINY = 1e-12


@part
def pa_step(variant: int, loss: float, square: float, C: float) -> float:
    """The step of PA along a difference of squared length `square` that removes the loss."""
    if variant == SOFT:
        return loss / (square + 0.5 / C)
    return min(C, loss / square) if variant == CAPPED else loss / square


@part
def hildreth(A: np.ndarray, b: np.ndarray, K: int, C: float, alpha: np.ndarray) -> None:
    """The alphas in [0, C] that maximise b . alpha - alpha A alpha / 2, by coordinate ascent until convergence."""
    for k in range(K):
        alpha[k] = 0.0
    for _ in range(ROUNDS):
        moved = 0.0
        for k in range(K):
            if A[k, k] <= 0.0:  # the same features as gold: no step separates them
                continue
            slope = b[k]
            for j in range(K):
                slope -= A[k, j] * alpha[j]
            new = min(max(alpha[k] + slope / A[k, k], 0.0), C)
            moved = max(moved, abs(new - alpha[k]) * np.sqrt(A[k, k]))
            alpha[k] = new
        if moved < CLOSE:
            break


@part
def _worst_pair(A: np.ndarray, slope: np.ndarray, K: int, alpha: np.ndarray, left: float) -> tuple[int, int]:
    """The candidate with the largest slope, and the one that gives to it with the largest gain; K is the slack."""
    up, top = K, 0.0
    for k in range(K):
        if A[k, k] > 0.0 and slope[k] > top:
            up, top = k, slope[k]
    down, most = -1, 0.0
    for k in range(K + 1):
        own = slope[k] if k < K else 0.0
        if k != up and top - own > CLOSE and (alpha[k] if k < K else left) > 0.0:
            gain = (top - own) ** 2 / max(_curvature(A, up, k, K), TINY)
            if gain > most:
                down, most = k, gain
    return up, down


@inline
def _curvature(A: np.ndarray, i: int, j: int, K: int) -> float:
    """The second derivative when weight moves from j to i; the slack K has none of its own."""
    return (A[i, i] if i < K else 0.0) + (A[j, j] if j < K else 0.0) - (2.0 * A[i, j] if max(i, j) < K else 0.0)


@part
def within_sum(A: np.ndarray, b: np.ndarray, K: int, C: float, alpha: np.ndarray, slope: np.ndarray) -> None:
    """The alphas >= 0 with a sum of at most C that maximise b . alpha - alpha A alpha / 2.

    The slack C - sum is one more alpha, with slope 0: what one gets another gives. The pair with the largest gain moves
    until no pair gains anything (sequential minimal optimisation). slope f64[K] is overwritten; it may be b."""
    for k in range(K):
        alpha[k], slope[k] = 0.0, b[k]
    left = C
    for _ in range(ROUNDS * (K + 1)):
        i, j = _worst_pair(A, slope, K, alpha, left)
        if j < 0:
            break
        rise = (slope[i] if i < K else 0.0) - (slope[j] if j < K else 0.0)
        step = min(rise / max(_curvature(A, i, j, K), TINY), alpha[j] if j < K else left)
        for k in range(K):
            slope[k] -= step * ((A[k, i] if i < K else 0.0) - (A[k, j] if j < K else 0.0))
        if i < K:
            alpha[i] += step
        if j < K:
            alpha[j] -= step
        left += step * (int(i == K) - int(j == K))


@part
def shares(kind: int, degree: float, scores: np.ndarray, out: np.ndarray) -> None:
    """The probability of each candidate by its score; they sum to 1."""
    top, low = scores.max(), scores.min()
    spread = top - low
    total = 0.0
    for k in range(scores.size):
        if kind == SOFTMAX:
            out[k] = np.exp(scores[k] - top)
        elif spread == 0.0:
            out[k] = 1.0
        else:
            above = (scores[k] - low) / spread + LEAST
            out[k] = above if kind == LINEAR else above**degree
        total += out[k]
    for k in range(scores.size):
        out[k] /= total


# --- coefficients ----------------------------------------------------------------------------------------------


@inline
def asks_for_costs(rule: Rule) -> bool:
    return rule.kind == PA or rule.kind == MIRA or rule.kind == AROW


@inline
def asks_for_products(rule: Rule) -> bool:
    return rule.kind == PA or rule.kind == MIRA or rule.kind == AROW


@inline
def searches_with_costs(rule: Rule) -> bool:
    """Whether the candidate is found by cost-augmented search, if the structure has one."""
    return rule.kind == PA


@inline
def updates_on_right_guesses(rule: Rule) -> bool:
    """Whether an example whose best output is correct may still change weights."""
    return rule.kind != PERCEPTRON and not rule.on_errors


@inline
def _shares(rule: Rule, c: CandidateList, found: int, gold_listed: bool, clock: float) -> None:
    """alpha of probPerc: the rate times the probabilities of the wrong candidates."""
    first = 0 if gold_listed or rule.add_gold else 1
    shares(rule.function, rule.degree, c.score[first : found + 1], c.alpha[first : found + 1])
    rate = rule.rate / (1.0 + rule.decay * (clock - 1.0))
    for k in range(1, found + 1):
        c.alpha[k] *= rate if c.cost[k] > 0.0 else 0.0


@inline
def margins_broken(c: CandidateList, found: int) -> bool:
    """Fill c.loss, the margin violation of each candidate; True if one is positive. If none is, margin rules change no
    weight, and inner products need not be computed."""
    broken = False
    for k in range(found):
        c.loss[k] = c.cost[k + 1] - (c.score[0] - c.score[k + 1]) if c.cost[k + 1] > 0.0 else -np.inf
        broken = broken or c.loss[k] > 0.0
    return broken


@inline
def _margins(rule: Rule, c: CandidateList, found: int) -> None:
    """alpha of PA, MIRA and AROW: the smallest change that meets all margins, limited by the aggressiveness."""
    for k in range(found):
        c.alpha[k + 1] = 0.0
    if not margins_broken(c, found):
        return
    if rule.kind == AROW:
        for k in range(found):
            c.gram[k, k] += 1.0 / rule.aggressiveness if c.gram[k, k] > 0.0 else 0.0
        hildreth(c.gram, c.loss, found, np.inf, c.alpha[1:])
    elif rule.kind == MIRA and rule.cap == SUM:
        within_sum(c.gram, c.loss, found, rule.aggressiveness, c.alpha[1:], c.loss)
    elif rule.kind == MIRA:
        hildreth(c.gram, c.loss, found, rule.aggressiveness, c.alpha[1:])
    elif c.loss[0] > 0.0 and c.gram[0, 0] > 0.0:
        c.alpha[1] = pa_step(rule.variant, c.loss[0], c.gram[0, 0], rule.aggressiveness)


@part
def coefficients(rule: Rule, c: CandidateList, found: int, gold_listed: bool, clock: float, weight: float) -> bool:
    """Fill c.coefficient[: found + 1] for `found` candidates; False if no weight changes.

    gold_listed: whether the search had gold among its results (it is never among the candidates here). clock: number
    of the example, from 1. weight: of the example."""
    if found == 0:
        return False
    if rule.kind == PERCEPTRON:
        share = 1.0 / (found + int(gold_listed))
        for k in range(found):
            c.alpha[k + 1] = share if rule.mean else 1.0 if k == 0 else 0.0
    elif asks_for_costs(rule):
        _margins(rule, c, found)
    else:
        _shares(rule, c, found, gold_listed, clock)
    total = 0.0
    for k in range(1, found + 1):
        c.coefficient[k] = -c.alpha[k] * weight
        total += c.alpha[k] * weight
    c.coefficient[0] = total
    return total > 0.0
