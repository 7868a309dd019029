"""Scores of the states of a token given the states after it, from a searched trellis.

A search for more than the best path runs from the last token to the first, over the table D of best scores up to a
token. Only two states after token j matter, `one_on` and `two_on`:

    order 0:   U[j, h]
    order 1:   D[j, h] + E[j+1, h, one_on]                        D[j, h] at the last token
    order 2:   D[j+1, h, one_on] + S[j+2, h, one_on, two_on]         D[j+1, h, one_on] at the last but one token,
                                                                max over g of D[j, g, h] at the last one

Terms that all choices of a token share are left out, so that only differences within a token are meaningful; these do
not depend on the rescaling of D. D is the float32 table of `viterbi` or a float64 one; sums have its precision and the
order of `viterbi`, so that both have the same ties.
"""

from __future__ import annotations

import numpy as np

from palmette.kernels.core.compile import inline


@inline
def choices_at(
    U: np.ndarray, E: np.ndarray, S: np.ndarray, D: np.ndarray, order: int, H: int, j: int, path: np.ndarray,
    out: np.ndarray,
) -> None:  # fmt: skip
    """out[h] = the score of state h at token j, given the states after it in path i32[n]."""
    n = path.size
    one_on = path[j + 1] if j + 1 < n else 0
    two_on = path[j + 2] if j + 2 < n else 0
    if order == 0 or n == 1:
        u = U[j]
        for h in range(H):
            out[h] = u[h]
    elif order == 1:
        d = D[j, 0]
        if j == n - 1:
            for h in range(H):
                out[h] = d[h]
        else:
            e = E[j + 1 if E.shape[0] > 1 else 0]
            for h in range(H):
                out[h] = d[h] + e[h, one_on]
    elif j == n - 1:
        d2 = D[j]
        for h in range(H):
            out[h] = d2[0, h]
            for g in range(1, H):
                out[h] = max(out[h], d2[g, h])
    else:
        d2 = D[j + 1]
        if j == n - 2:
            for h in range(H):
                out[h] = d2[h, one_on]
        else:
            s = S[j + 2 if S.shape[0] > 1 else 0]
            for h in range(H):
                out[h] = d2[h, one_on] + s[h, one_on, two_on]
