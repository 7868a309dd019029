"""Interpolated modified Kneser-Ney estimates (Chen & Goodman 1998), from sentences to the flat arrays of the kernels.

    P(w | h) = (c(h w) - D(c(h w))) / sum over v of c(h v)  +  backoff(h) P(w | h')
    backoff(h) = sum over v of D(c(h v)) / sum over v of c(h v)

h' is h without its first word. c counts occurrences at the highest order and in n-grams that begin with <s>;
elsewhere it counts the different words that stand before an n-gram. Below the words is the uniform distribution over
the vocabulary with </s> and <unk> and without <s>. A sentence begins with one <s>, whatever the order.

D is D1, D2 or D3 for counts of 1, 2, and 3 or more, for each order by itself:

    Y = n1 / (n1 + 2 n2)     Di = i - (i + 1) Y n(i+1) / ni     ni: how many n-grams are counted i times

Small texts have no n-gram of some count, or discounts below zero: such an order takes FALLBACK, and says so.

The words of a model are numbers (`WordNumbers`); <unk>, <s> and </s> come first.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

from palmette.data.corpus import Column
from palmette.data.text import in_form
from palmette.errors import DataError, counted
from palmette.lab.kernels.ngrams import BEGIN, END, ROOT, UNKNOWN, Grams
from palmette.lab.lm.ngrams import split_order
from palmette.lab.sentences import Sentences

RESERVED = ("<unk>", "<s>", "</s>")


class WordNumbers:
    """Words and their numbers."""

    def __init__(self, words: Sequence[str], unicode: str) -> None:
        self.words = list(words)
        self.unicode = unicode  # the form of the words
        self.number = {word: w for w, word in enumerate(self.words)}

    def __len__(self) -> int:
        return len(self.words)

    def of(self, column: Column) -> np.ndarray:
        """The number of each cell, i32[N]; UNKNOWN for words that are not here."""
        column = column.in_form(self.unicode)
        return self._numbers(column.types)[column.ids]

    def of_words(self, words: Sequence[str]) -> np.ndarray:
        """The number of each word, i32[words]."""
        return self._numbers(in_form(words, self.unicode))

    def _numbers(self, words: Sequence[str]) -> np.ndarray:
        return np.array([self.number.get(word, UNKNOWN) for word in words] or [UNKNOWN], np.int32)


def vocabulary_of(text: Sentences, min_count: int, unicode: str) -> WordNumbers:
    """The words that occur at least so often, in the order of their first occurrence."""
    words = text.words.in_form(unicode)
    counts = np.bincount(words.ids, minlength=len(words.types)).tolist()
    kept = [word for word, n in zip(words.types, counts, strict=True) if n >= min_count and word not in RESERVED]
    return WordNumbers([*RESERVED, *kept], unicode)


def check_words(text: Sentences) -> None:
    """Raise DataError where a sentence holds <s> or </s>, which stand for its ends. (<unk> is an unknown word.)"""
    for word in RESERVED[1:]:
        if word in text.words.types:
            at = int(np.argmax(text.words.ids == text.words.types.index(word)))
            line = int(text.lines[np.searchsorted(text.offset, at, side="right") - 1]) + 1
            raise DataError(
                f"{word} inside of a sentence", file=text.source, line=line,
                hint="the ends of sentences are set by palmette; take the marks out",
            )  # fmt: skip


FALLBACK = (0.5, 1.0, 1.5)
Say = Callable[[str], None]


class OrderCounts(NamedTuple):
    """The n-grams of one order, numbered by themselves; those of the order below are their contexts and suffixes."""

    word: np.ndarray  # i32[n]
    context: np.ndarray  # i64[n]  rising
    suffix: np.ndarray  # i64[n]
    times: np.ndarray  # i64[n]  how often it occurs


class Estimate(NamedTuple):
    """What comes out: the arrays, the number of n-grams and the discounts of each order, orders that fell back."""

    grams: Grams
    sizes: list[int]
    discounts: list[tuple[float, float, float]]
    fell_back: list[int]
    lower: Grams | None = None  # the model one order below, if the order is not a whole number


def estimate(ids: np.ndarray, offset: np.ndarray, n_words: int, order: float, say: Say) -> Estimate:
    """The model of sentences of words ids i32[N] below `n_words`, the reserved ones included."""
    highest, share = split_order(order)
    levels = count_levels(*framed(ids, offset), n_words, highest, say)
    found = _estimate_levels(levels, say)
    if share == 1.0:
        return found
    lower = _estimate_levels(levels[:-1], lambda line: say(f"the model of order {highest - 1}: {line}"))
    return found._replace(lower=lower.grams)


def _estimate_levels(levels: list[OrderCounts], say: Say) -> Estimate:
    """The model of n-grams with their occurrences."""
    counts = adjusted(levels)
    tables, discounts, fell_back = [], [], []
    below: np.ndarray | None = None
    for k, (level, count) in enumerate(zip(levels, counts, strict=True), 1):
        found = discounts_of(count)
        if found is None:
            fell_back.append(k)
            say(f"order {k}: counts of counts are too few for discounts; {FALLBACK} are taken")
        discounts.append(found or FALLBACK)
        below, backoff = probabilities(level, count, discounts[-1], below, 0 if k == 1 else len(levels[k - 2].word))
        tables.append((below, backoff))
    return Estimate(flattened(levels, tables), [len(level.word) for level in levels], discounts, fell_back)


def framed(ids: np.ndarray, offset: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Words with <s> and </s> around each sentence, i64[N + 2S], and their places in it: 0 for <s>."""
    S = offset.size - 1
    begin = offset + 2 * np.arange(S + 1)
    words = np.full(begin[-1], END, np.int64)
    words[np.arange(ids.size) + 1 + 2 * np.repeat(np.arange(S), np.diff(offset))] = ids
    words[begin[:-1]] = BEGIN
    place = np.arange(words.size) - np.repeat(begin[:-1], np.diff(begin))
    return words, place


def count_levels(words: np.ndarray, place: np.ndarray, n_words: int, order: int, say: Say) -> list[OrderCounts]:
    """The n-grams of all orders with their occurrences. node[i] is the n-gram that ends at i, once it is known."""
    vocabulary = np.arange(n_words)
    none = np.full(n_words, ROOT, np.int64)
    levels = [OrderCounts(vocabulary.astype(np.int32), none, none, np.bincount(words, minlength=n_words))]
    node = words
    for k in range(2, order + 1):
        ends = np.flatnonzero(place >= k - 1)
        keys, which = np.unique(node[ends - 1] * n_words + words[ends], return_inverse=True)
        suffix = np.empty(keys.size, np.int64)
        suffix[which] = node[ends]
        count = np.bincount(which, minlength=keys.size)
        levels.append(OrderCounts((keys % n_words).astype(np.int32), keys // n_words, suffix, count))
        node = np.full(words.size, ROOT, np.int64)
        node[ends] = which
        say(f"order {k}: {counted(keys.size, 'n-gram')}")
    return levels


def adjusted(levels: list[OrderCounts]) -> list[np.ndarray]:
    """The counts that are discounted. What nothing stands before begins with <s>, and keeps its occurrences."""
    counts = []
    for k, level in enumerate(levels):
        count = level.times
        if k + 1 < len(levels):
            before = np.bincount(levels[k + 1].suffix, minlength=count.size)
            count = before if k == 0 else np.where(before == 0, count, before)
        if k == 0:
            count = count.copy()
            count[BEGIN] = 0
        counts.append(count)
    return counts


def discounts_of(count: np.ndarray) -> tuple[float, float, float] | None:
    """D1, D2, D3 of an order; None when its counts do not give them."""
    n = np.bincount(np.minimum(count, 5), minlength=6).astype(float)
    if not (n[1] and n[2] and n[3]):
        return None
    y = n[1] / (n[1] + 2 * n[2])
    d1, d2, d3 = (float(i - (i + 1) * y * n[i + 1] / n[i]) for i in (1, 2, 3))
    return (d1, d2, d3) if min(d1, d2, d3) >= 0 else None


def probabilities(
    level: OrderCounts,
    count: np.ndarray,
    discounts: tuple[float, float, float],
    below: np.ndarray | None,
    n_contexts: int,
) -> tuple[np.ndarray, np.ndarray]:
    """p f64[n] of the n-grams of an order, and backoff f64[n_contexts] of their contexts, 1 where there is none."""
    discount = np.array((0.0, *discounts))[np.minimum(count, 3)]
    if below is None:
        total = count.sum()
        p = (count - discount) / total + discount.sum() / total / (count.size - 1)
        p[BEGIN] = 0.0
        return p, np.ones(0)
    total = np.bincount(level.context, count, n_contexts)
    taken = np.bincount(level.context, discount, n_contexts)
    backoff = np.divide(taken, total, out=np.ones(n_contexts), where=total > 0)
    p = (count - discount) / total[level.context] + backoff[level.context] * below[level.suffix]
    return p, backoff


def flattened(levels: list[OrderCounts], tables: list[tuple[np.ndarray, np.ndarray]]) -> Grams:
    """All orders in one numbering; `tables` has p of each order and the backoff of the order below."""
    sizes = [len(level.word) for level in levels]
    base = np.concatenate(([0], np.cumsum(sizes)))
    M = int(base[-1])
    first = np.full(M + 1, M, np.int64)
    suffix = np.full(M, ROOT, np.int32)
    for k in range(1, len(levels)):
        own = np.searchsorted(levels[k].context, np.arange(sizes[k - 1] + 1))
        first[base[k - 1] : base[k] + 1] = base[k] + own
        suffix[base[k] : base[k + 1]] = base[k - 1] + levels[k].suffix
    backoff = np.concatenate([made[1] for made in tables] + [np.ones(sizes[-1])])
    p = np.concatenate([made[0] for made in tables])
    return Grams(np.concatenate([level.word for level in levels]), first, suffix, p, backoff)
