"""A language model as flat arrays, probabilities of sentences, and sentences sampled from it.

All n-grams of all orders are numbered consecutively: words first (a unigram's number is its word's), then bigrams, and
so on; those that share all but the last word (their context) are adjacent, sorted by that word. The context of a word
is the number of an n-gram, or ROOT if it is empty:

    P(w | g) = p[g w]                          if the n-gram `g w` exists
             = backoff[g] * P(w | suffix[g])   otherwise; suffix: all but the first word

`p` holds whole, interpolated probabilities, so that the first n-gram found gives the result.

Sampling follows the interpolation: with the probability mass of a context's own n-grams one of them is drawn (by their
cumulative masses), otherwise the first word of the context is dropped and the draw is repeated. A mixture of two models
draws each word from one of them, chosen by its share. Only sentences that satisfy all conditions are kept.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from palmette.kernels.core.compile import inline, kernel
from palmette.kernels.core.types import F64, I32, I64, U64, Bool, struct
from palmette.lab.kernels.text import extended

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


# --- sampling ------------------------------------------------------------------------------------------------


# Reasons for rejecting a sentence
KEPT, EMPTY, TOO_LONG, OTHER_WORD, NO_LENGTH, SEEN = 0, 1, 2, 3, 4, 5
N_REASONS = 6


@struct
class Source(NamedTuple):
    """The model that sentences are drawn from, or two of them. mass: cumulative over the n-grams of each context, and
    over words."""

    grams: Grams
    mass: F64  # [M]
    lower: Grams  # drawn from instead in a share of 1 - share of the words
    lower_mass: F64
    share: float  # 1: `lower` is not used


@struct
class Conditions(NamedTuple):
    """Which sentences are kept."""

    allowed: Bool  # [V]  a sentence with any other word is rejected at once
    longest: int
    quota: I64  # []      sentences still wanted of each length; of size 0: any length
    slack: int  # largest difference between the length of a sentence and that of its quota
    seen: U64  # []       sorted hashes of sentences to reject


@inline
def _uniform(state: np.ndarray) -> float:
    """The next number in [0, 1) of the generator splitmix64, whose state is u64[1]."""
    state[0] += np.uint64(0x9E3779B97F4A7C15)
    z = state[0]
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    z = z ^ (z >> np.uint64(31))
    return np.float64(z >> np.uint64(11)) * (1.0 / 9007199254740992.0)


@inline
def _first_above(mass: np.ndarray, low: int, high: int, u: float) -> int:
    """The first place in low..high whose cumulative mass is above u; the last one if rounding leaves none."""
    last = high - 1
    while low < high:
        middle = (low + high) >> 1
        if mass[middle] <= u:
            low = middle + 1
        else:
            high = middle
    return min(low, last)


@inline
def _draw(
    word: np.ndarray, first: np.ndarray, suffix: np.ndarray, mass: np.ndarray, V: int, context: int, state: np.ndarray
) -> int:
    """The next word. mass f64[M]: cumulative over the n-grams of each context, and over words."""
    while context != ROOT:
        low, high = first[context], first[context + 1]
        if low < high:
            u = _uniform(state)
            if u < mass[high - 1]:
                return word[_first_above(mass, low, high, u)]
        context = suffix[context]
    return _first_above(mass, 0, V, _uniform(state) * mass[V - 1])


@inline
def _open_length(quota: np.ndarray, length: int, slack: int) -> int:
    """The nearest length, at most `slack` away, of which a sentence is still wanted; -1 if there is none."""
    for d in range(slack + 1):
        if length - d >= 0 and length - d < quota.size and quota[length - d] > 0:
            return length - d
        if length + d < quota.size and quota[length + d] > 0:
            return length + d
    return -1


@inline
def _is_in(sorted_hashes: np.ndarray, h: np.uint64) -> bool:
    k = np.searchsorted(sorted_hashes, h)
    return bool(k < sorted_hashes.size and sorted_hashes[k] == h)


@kernel
def sample_sentences(
    source: Source, conditions: Conditions, state: U64, wanted: int, tries: int
) -> tuple[I32, I64, I64]:
    """Draw until `wanted` sentences are kept or `tries` are made: (words i32[], offset i64[], tries by reason i64[]).
    state u64[1] of the random generator is changed."""
    G, mass, lower, lower_mass, share = source
    first, suffix, word = G.first, G.suffix, G.word
    low_first, low_suffix, low_word = lower.first, lower.suffix, lower.word
    allowed, longest, quota, slack, seen = conditions
    V = allowed.size
    words = np.empty(wanted * longest, np.int32)
    offset = np.zeros(wanted + 1, np.int64)
    reasons = np.zeros(N_REASONS, np.int64)
    kept = 0
    for _ in range(tries):
        if kept == wanted:
            break
        at, context, below, reason, h = offset[kept], BEGIN, BEGIN, KEPT, np.uint64(0)
        while True:
            if share < 1.0 and _uniform(state) >= share:
                w = _draw(low_word, low_first, low_suffix, lower_mass, V, below, state)
            else:
                w = _draw(word, first, suffix, mass, V, context, state)
            if w == END:
                break
            if not allowed[w]:
                reason = OTHER_WORD
                break
            if at - offset[kept] == longest:
                reason = TOO_LONG
                break
            words[at] = w
            h = extended(h, w)
            at += 1
            context = longest_gram(word, first, suffix, context, w)
            if share < 1.0:
                below = longest_gram(low_word, low_first, low_suffix, below, w)
        length = at - offset[kept]
        place = length
        if reason == KEPT and length == 0:
            reason = EMPTY
        if reason == KEPT and quota.size > 0:
            place = _open_length(quota, length, slack)
            if place < 0:
                reason = NO_LENGTH
        if reason == KEPT and _is_in(seen, h):
            reason = SEEN
        reasons[reason] += 1
        if reason == KEPT:
            if quota.size > 0:
                quota[place] -= 1
            kept += 1
            offset[kept] = at
    return words[: offset[kept]].copy(), offset[: kept + 1].copy(), reasons
