"""A learner as plain numbers, and the lists of candidates that it works on. No compiled code.

Every structure (chains by exact search, chains by beam, trees, latent chunkings) offers one interface to learners. For
one example it fills a `CandidateList`: the gold output and up to K candidates that are not gold, each with its model
score and, if the rule asks for them, costs and inner products of feature differences. `coefficients.py` turns these
numbers into a coefficient per output, and the structure adds the weighted sum of feature vectors to its weights.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from palmette.kernels.core.types import F64, F64_2D, struct

if TYPE_CHECKING:
    pass  # imported only for types: options import this module, and `--help` should not load NumPy

# Kinds of rules
PERCEPTRON, PROBPERC, PA, MIRA, AROW = range(5)
# Variants of PA: PA (no limit), PA-I (at most the aggressiveness), PA-II (a soft limit)
HARD, CAPPED, SOFT = range(3)
# What the aggressiveness of MIRA caps: the step of each candidate, or the sum of the steps of one example
EACH, SUM = range(2)
# What an output with wrong tokens costs in CRFsuite's losses: their number, 1, or the root of their number
TOKENS, ONE, ROOT = range(3)
# Where prefixes are cut when inexact search has lost gold; see violation.py
STANDARD, EARLY, MAX_VIOLATION, LATEST, HYBRID, LASO, LASO_MEAN = range(7)
# How probPerc turns scores into probabilities
SOFTMAX, LINEAR, POLYNOMIAL = range(3)


@struct
class Rule(NamedTuple):
    """A learner as numbers: compiled loops branch on `kind` once per example."""

    kind: int
    candidates: int = 1  # K, the maximum number of candidates
    aggressiveness: float = 0.1  # largest step of PA-I and MIRA; softness of PA-II; 1 / r of AROW, r of CRFsuite's
    variant: int = CAPPED  # of PA: HARD, CAPPED or SOFT
    cap: int = EACH  # of MIRA: EACH or SUM
    rate: float = 1.0  # of probPerc, at example number c: rate / (1 + decay * (c - 1))
    decay: float = 0.0
    function: int = SOFTMAX  # of probPerc: SOFTMAX, LINEAR or POLYNOMIAL
    degree: float = 2.0  # of POLYNOMIAL
    add_gold: bool = True  # probPerc includes gold in the distribution even if the search did not list it
    mean: bool = False  # the perceptron lowers the mean of all candidates (and of gold, if listed), not the best one
    on_errors: bool = False  # probPerc updates only if the best candidate is wrong
    spread: float = 0.0  # above 0: steps adapt to each weight by its learner state, see parsing/kernels/update.py
    loss: int = TOKENS  # of CRFsuite's learners, TOKENS, ONE or ROOT; see kernels/chain/train_margins.py


class CandidateList(NamedTuple):
    """Numbers of one example; index 0 is gold, 1..K are candidates, best first."""

    score: F64  # [K+1]
    cost: F64  # [K+1]        0: right; 1 if the structure does not fill it (it must if `asks_for_costs`)
    gram: F64_2D  # [K, K]       inner products of (gold - candidate); filled if `asks_for_products`
    coefficient: F64  # [K+1] the result: sums to zero, gold up and candidates down
    loss: F64  # [K]          scratch
    alpha: F64  # [K+1]       scratch


def candidate_list(K: int) -> CandidateList:
    """An empty list for gold and K candidates."""
    import numpy as np

    return CandidateList(
        np.zeros(K + 1), np.ones(K + 1), np.zeros((K, K)), np.zeros(K + 1), np.zeros(K), np.zeros(K + 1)
    )
