"""A language model as flat arrays, and probabilities of sentences.

All n-grams of all orders are numbered consecutively: words first (a unigram's number is its word's), then bigrams, and
so on; those that share all but the last word (their context) are adjacent, sorted by that word. The context of a word
is the number of an n-gram, or ROOT if it is empty:

    P(w | g) = p[g w]                          if the n-gram `g w` exists
             = backoff[g] * P(w | suffix[g])   otherwise; suffix: all but the first word

`p` holds whole, interpolated probabilities, so that the first n-gram found gives the result.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from palmette.kernels.core.compile import inline, kernel
from palmette.kernels.core.types import F64, I32, I64, struct

ROOT = -1
UNKNOWN, BEGIN, END = 0, 1, 2  # the words <unk>, <s> and </s>


@struct
class Grams(NamedTuple):
    """The n-grams of a model; M of them, the first V are words."""

    word: I32  # [M]    the last word
    first: I64  # [M+1]  n-grams with one word more are at first[g]:first[g+1]
    suffix: I32  # [M]   the n-gram without its first word, ROOT for a word
    p: F64  # [M]
    backoff: F64  # [M]


@inline
def find_child(word: np.ndarray, first: np.ndarray, g: int, w: int) -> int:
    """The n-gram `g w`, or -1."""
    low, high = first[g], first[g + 1]
    while low < high:
        middle = (low + high) >> 1
        if word[middle] < w:
            low = middle + 1
        else:
            high = middle
    if low < first[g + 1] and word[low] == w:
        return low
    return -1


@inline
def longest_gram(word: np.ndarray, first: np.ndarray, suffix: np.ndarray, g: int, w: int) -> int:
    """The next context after the word w in the context g."""
    while g != ROOT:
        k = find_child(word, first, g, w)
        if k >= 0:
            return k
        g = suffix[g]
    return w


@kernel
def score_words(G: Grams, ids: I32, offset: I64) -> F64:
    """The probability of each word given those before it in its sentence, and then that of the sentence's end: sentence
    s has offset[s+1] - offset[s] + 1 numbers, from offset[s] + s on."""
    word, first, suffix, p, backoff = G.word, G.first, G.suffix, G.p, G.backoff
    S = offset.size - 1
    out = np.empty(ids.size + S, np.float64)
    for s in range(S):
        context = BEGIN
        for i in range(offset[s], offset[s + 1] + 1):
            w = ids[i] if i < offset[s + 1] else END
            weight = 1.0
            found = w
            while context != ROOT:
                k = find_child(word, first, context, w)
                if k >= 0:
                    found = k
                    break
                weight *= backoff[context]
                context = suffix[context]
            out[i + s] = weight * p[found]
            context = found
    return out
