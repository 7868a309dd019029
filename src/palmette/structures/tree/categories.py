"""Which tags and morphological categories of a treebank tell relations apart: what templates should read.

A category (Case, VerbForm, Number[psor] ...) is worth reading if it says something about the relation of a word that
tags do not say. Relations with the side of the head are predicted from what is known of a word and its head, by
relative frequencies that back off from more to less:

    p(r | a, b) = (n(r, a, b) - 1 + C p(r | a)) / (n(a, b) - 1 + C)

and so on down to p(r) = 1 / R. The 1 leaves the word itself out, so that knowledge that does not carry over to other
words gains nothing. The gain of a category is the number of bits per word by which it lowers -log2 p, in the values of
the dependant or of the head.
"""

from __future__ import annotations

import re
from collections import Counter
from typing import NamedTuple

import numpy as np

from palmette.data.corpus import Column, column_of_strings
from palmette.data.treebank import NOTHING, Treebank

BACKING_OFF = 4.0  # C
WORDS = 40_000  # that are looked at, at most
ENOUGH = 0.01  # bits per word that a category or XPOS must gain
MUCH = 0.05  # bits per word that the first category of a word itself must gain, or none is chosen
MOST = 4  # categories of either kind
_SPELT = re.compile(r"[^\s#+]+")  # names that a template line can hold
RAREST = 0.002  # share of the words that have the category


class CategoryGains(NamedTuple):
    """What templates read: whether XPOS tells more than UPOS, and categories by their gain in bits per word."""

    xpos: float  # the gain of XPOS beyond UPOS
    dependant: dict[str, float]
    head: dict[str, float]

    @property
    def reads_xpos(self) -> bool:
        return self.xpos >= ENOUGH


class _Arcs:
    """Relations to predict, and what is known of words and heads; all arrays i64[N]."""

    def __init__(self, treebank: Treebank) -> None:
        offset, heads = treebank.offset, treebank.heads
        start = np.repeat(offset[:-1], np.diff(offset))
        place = np.arange(heads.size) - start + 1
        self.is_root = heads <= 0
        self.head = np.where(self.is_root, 0, start + heads - 1)
        side = np.where(self.is_root, 0, np.where(heads > place, 1, 2))
        self.relation = numbered(treebank.relations.ids.astype(np.int64) * 3 + side)

    def of_heads(self, values: np.ndarray) -> np.ndarray:
        """The value of each word's head; that of the root's head is one of its own."""
        return np.where(self.is_root, 0, values[self.head] + 1)


def numbered(values: np.ndarray) -> np.ndarray:
    """Equal values as equal numbers 0, 1, ..., in the order of the values."""
    return np.unique(values, return_inverse=True)[1].astype(np.int64)


def both(one: np.ndarray, other: np.ndarray) -> np.ndarray:
    """A number for each pair of values."""
    return numbered(one * (int(other.max(initial=0)) + 1) + other)


def refined(relation: np.ndarray, known: np.ndarray, less: np.ndarray) -> np.ndarray:
    """p(relation | known) f64[N] of each word by the others, backing off to the probabilities `less`."""
    pairs = both(known, relation)
    n_pairs, n_known = np.bincount(pairs), np.bincount(known)
    return (n_pairs[pairs] - 1 + BACKING_OFF * less) / (n_known[known] - 1 + BACKING_OFF)


def bits(probability: np.ndarray) -> float:
    """The mean of -log2."""
    return float(-np.log2(probability).mean())


def category_gains(treebank: Treebank) -> CategoryGains:
    """What the trees of a treebank ask for."""
    ends = np.searchsorted(treebank.offset, WORDS, side="right")
    if ends < treebank.offset.size:
        treebank = treebank.take(np.arange(max(1, int(ends) - 1)))
    arcs = _Arcs(treebank)
    upos, xpos = (treebank.column(field).ids.astype(np.int64) for field in ("upos", "xpos"))
    start = np.full(upos.size, 1.0 / (int(arcs.relation.max()) + 1))
    known = both(upos, arcs.of_heads(upos))
    p = refined(arcs.relation, known, refined(arcs.relation, upos, start))
    finer = both(both(known, xpos), arcs.of_heads(xpos))
    with_xpos = refined(arcs.relation, finer, p)
    gain = bits(refined(arcs.relation, known, p)) - bits(with_xpos)
    if gain >= ENOUGH:
        known, p = finer, with_xpos
    values = _values(treebank.column("feats"))
    own = _chosen(arcs.relation, known, p, values)
    if max(own.values(), default=0.0) < MUCH:
        return CategoryGains(gain, {}, {})
    head = _chosen(arcs.relation, known, p, {name: arcs.of_heads(value) for name, value in values.items()})
    return CategoryGains(gain, own, head)


def _values(feats: Column) -> dict[str, np.ndarray]:
    """The value of each category that is not too rare, of each word."""
    parts = [dict(part.partition("=")[::2] for part in cell.split("|") if cell != NOTHING) for cell in feats.types]
    times = np.bincount(feats.ids, minlength=len(parts))
    counts: Counter[str] = Counter()
    for own, count in zip(parts, times.tolist(), strict=True):
        counts.update(dict.fromkeys(own, count))
    names = sorted(
        name for name, count in counts.items() if count >= RAREST * feats.ids.size and _SPELT.fullmatch(name)
    )
    found = {}
    for name in names:
        column = column_of_strings(own.get(name, NOTHING) for own in parts)
        found[name] = column.ids[feats.ids].astype(np.int64)
    return found


def _chosen(relation: np.ndarray, known: np.ndarray, p: np.ndarray, values: dict[str, np.ndarray]) -> dict[str, float]:
    """The categories that gain enough beside those before them, the best one first. All back off to p, which knows
    tags only; so does what they are compared with."""
    found: dict[str, float] = {}
    now = bits(refined(relation, known, p))
    while len(found) < MOST:
        trials = {name: both(known, value) for name, value in values.items() if name not in found}
        gains = {name: now - bits(refined(relation, trial, p)) for name, trial in trials.items()}
        name = max(gains, key=lambda name: gains[name], default="")
        if not name or gains[name] < ENOUGH:
            break
        values = {name: values[name] for name, gain in gains.items() if gain > 0}
        found[name], known, now = gains[name], trials[name], now - gains[name]
    return found
