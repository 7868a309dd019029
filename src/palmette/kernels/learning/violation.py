"""Where to cut guess and gold when search is not exact: violation-fixing updates.

A beam goes step by step. After step i it has a best prefix with the score best[i], and the gold prefix has gold[i],
scored by itself once it has left the beam. An update adds f(gold) - f(best), both cut after the same step. It mends
something only if it is a violation, best[i] >= gold[i]: then w.df <= 0, and the proof of the perceptron holds. When
gold has fallen out of a beam, the whole sequence may have gold[n] > best[n], and a standard update is a bad one.

STANDARD       the whole sequence, violation or not
EARLY          the first step after which gold is not in the beam; the whole sequence if it never left
MAX_VIOLATION  the step with the largest best[i] - gold[i], the latest of equal ones
LATEST         the last step that is a violation
HYBRID         the whole sequence if it is a violation, else as EARLY
LASO           as EARLY, but the search continues from gold after each update
"""

from __future__ import annotations

import numpy as np

from palmette.kernels.core.compile import part
from palmette.kernels.learning.rule import EARLY, HYBRID, LASO, MAX_VIOLATION, STANDARD


@part
def cut(update: int, n: int, fell: int, best: np.ndarray, gold: np.ndarray) -> int:
    """How many steps to keep of both prefixes when the guess was wrong; best, gold f64[n+1], index = steps taken.

    fell: the number of steps after which gold was first missing, 0 if it never was. The end is always a violation if
    gold is still there: it is in the beam and not on top."""
    if update in (EARLY, LASO):
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
