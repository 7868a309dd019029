"""Violation-fixing updates: where guess and gold are cut if the search is inexact.

After step i of a beam search, best[i] is the score of the best prefix and gold[i] that of the gold prefix, which is
scored separately once it has left the beam. An update adds f(gold) - f(best), both cut after the same step. It is valid
only for a violation, best[i] >= gold[i]: then w.df <= 0, and the convergence proof of the perceptron holds. Once gold
has left the beam, the whole sequence may have gold[n] > best[n], which makes a standard update invalid.

STANDARD       the whole sequence, violation or not
EARLY          the first step after which gold is not in the beam; the whole sequence if it never left
MAX_VIOLATION  the step with the largest best[i] - gold[i]; the last one on ties
LATEST         the last step that is a violation
HYBRID         the whole sequence if it is a violation, else as EARLY
LASO           as EARLY, but the search continues from gold after each update
LASO_MEAN      as LASO, but the update adds f(gold) - the mean of f over the beam, gold included if it is still there
               (Daume and Marcu 2005): with Rule.mean and as many candidates as the beam has items
"""

from __future__ import annotations

import numpy as np

from palmette.kernels.core.compile import inline, part
from palmette.kernels.learning.rule import EARLY, HYBRID, LASO, LASO_MEAN, MAX_VIOLATION, STANDARD


@inline
def continues(update: int) -> bool:
    """Whether the search continues from gold after an update."""
    return update in (LASO, LASO_MEAN)


@inline
def stops(update: int) -> bool:
    """Whether the search stops where gold has left the beam."""
    return update == EARLY or continues(update)


@part
def cut(update: int, n: int, fell: int, best: np.ndarray, gold: np.ndarray) -> int:
    """The number of steps to keep of both prefixes after a wrong guess; best, gold f64[n+1], index = steps taken.

    fell: the number of steps after which gold was first missing, 0 if it stayed in the beam. In that case the end is
    always a violation, since gold is not the best item."""
    if stops(update):
        return fell if fell > 0 else n
    if update == MAX_VIOLATION:
        at = n
        for i in range(n - 1, 0, -1):
            if best[i] - gold[i] > best[at] - gold[at]:
                at = i
        return at
    if update == STANDARD or best[n] >= gold[n]:
        return n
    if update == HYBRID:
        return fell
    at = n - 1
    while at > 1 and best[at] < gold[at]:
        at -= 1
    return at
