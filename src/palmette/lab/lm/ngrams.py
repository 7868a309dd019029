"""The probabilities of a model whose order may lie between two whole numbers, and sentences sampled from it."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from palmette.errors import DataError, either
from palmette.lab.kernels import ngrams as lm_sample
from palmette.lab.kernels.ngrams import BEGIN, Grams, Source, score_words

# Conditions on sampled sentences, and the loop that meets them.
#
# Sentences that are empty, too long, hold a word that is not wanted, or were excluded are dropped and drawn again, so
# that what is kept is distributed as the model says, given the wishes. Lengths are matched by places: of each length as
# many are kept as the histogram asks for. Rare lengths would take for ever; so after each round of ROUND draws for a
# wanted sentence, a sentence may also take the place of a length 1, 2, 4, ... away from its own.

ROUND = 20
ROUNDS = 12
SLICE = 1000  # sentences between two checks of the time and of Ctrl-C
LEAST_TRIES = 10_000
REASONS = {
    "empty": lm_sample.EMPTY,
    "too_long": lm_sample.TOO_LONG,
    "unwanted_word": lm_sample.OTHER_WORD,
    "length_not_needed": lm_sample.NO_LENGTH,
    "excluded": lm_sample.SEEN,
}
Progress = Callable[[int, int], None]


@dataclass
class Wishes:
    """What a sample should be like; see LanguageModel.sample."""

    n: int
    max_length: int
    allowed: np.ndarray  # bool[V]
    seen: np.ndarray  # u64[], sorted
    lengths: np.ndarray | None = None  # i64[], lengths of the sentences to imitate


@dataclass
class Drawn:
    """A sample, and what it took."""

    ids: np.ndarray  # i32[]
    offset: np.ndarray  # i64[n+1]
    tries: int = 0
    dropped: dict[str, int] = field(default_factory=dict)
    length_slack: int = 0  # the farthest that a sentence's length may be from that of its place


def direct_masses(grams: Grams, n_words: int) -> np.ndarray:
    """What each n-gram gets from its own context rather than from shorter ones, cumulated over the context, f64[M]; for
    words p, cumulated. DataError for a model that is not interpolated, or whose probabilities do not sum to one."""
    M = grams.p.size
    context = np.repeat(np.arange(M), np.diff(grams.first))
    mass = grams.p.copy()
    mass[n_words:] -= grams.backoff[context] * grams.p[grams.suffix[n_words:]]
    total = np.bincount(context, mass[n_words:], M) + grams.backoff
    has = np.diff(grams.first) > 0
    if mass.min() < -1e-4 or abs(grams.p[:n_words].sum() - 1) > 1e-3 or bool((abs(total[has] - 1) > 1e-3).any()):
        raise DataError(
            "this model is not interpolated, or its probabilities do not sum to one: it cannot be sampled from",
            hint=f"estimate it with {either('LanguageModel.fit', '`palmette lm train`')}, or with another tool that "
            "interpolates",
        )
    np.maximum(mass, 0.0, out=mass)
    whole = np.cumsum(mass)
    before = np.concatenate(([0.0], whole))[grams.first[:-1]]
    whole[n_words:] -= before[context]
    return whole


def places(lengths: np.ndarray, n: int, max_length: int) -> np.ndarray:
    """How many sentences of each length, i64[max_length+1]: `lengths` brought to n, largest remainders first."""
    found = np.bincount(lengths[lengths <= max_length], minlength=max_length + 1)[: max_length + 1]
    if not found[1:].sum():
        raise DataError(f"no sentence of 1 to {max_length} words to match the lengths of")
    found[0] = 0
    wanted = n * found / found.sum()
    counts = np.floor(wanted).astype(np.int64)
    counts[np.argsort(counts - wanted, kind="stable")[: n - counts.sum()]] += 1
    return np.asarray(counts)


def draw(source: lm_sample.Source, wishes: Wishes, seed: int, progress: Progress | None) -> Drawn:
    """n sentences; DataError when the wishes leave next to nothing."""
    open_places = np.zeros(0, np.int64)
    if wishes.lengths is not None:
        open_places = places(wishes.lengths, wishes.n, wishes.max_length)
    state = np.random.SeedSequence(seed).generate_state(1, np.uint64)
    told = np.zeros(lm_sample.N_REASONS, np.int64)
    ids, lengths, kept, slack = [np.zeros(0, np.int32)], [np.zeros(1, np.int64)], 0, 0
    for round_ in range(ROUNDS):
        slack = 0 if round_ == 0 or not open_places.size else 2 ** (round_ - 1)
        end = told.sum() + max(LEAST_TRIES, ROUND * wishes.n)
        while kept < wishes.n and told.sum() < end:
            conditions = lm_sample.Conditions(
                wishes.allowed, wishes.max_length, open_places, min(slack, wishes.max_length), wishes.seen
            )
            words, offset, reasons = lm_sample.sample_sentences(
                source, conditions, state, min(SLICE, wishes.n - kept), SLICE * 10
            )
            ids.append(words)
            lengths.append(np.diff(offset))
            kept += offset.size - 1
            told += reasons
            if progress is not None:
                progress(kept, int(told.sum()))
        if kept == wishes.n:
            break
    dropped = {name: int(told[k]) for name, k in REASONS.items() if told[k]}
    if kept < wishes.n:
        said = ", ".join(f"{name.replace('_', ' ')} {n:,}" for name, n in dropped.items())
        raise DataError(f"only {kept:,} of {wishes.n:,} sentences after {told.sum():,} draws; dropped: {said}")
    return Drawn(np.concatenate(ids), np.cumsum(np.concatenate(lengths)), int(told.sum()), dropped, slack)


def allowed_words(n_words: int, wanted: np.ndarray | None) -> np.ndarray:
    """Which words a sample may hold: never <unk>, and of the others all or those given by number."""
    allowed = np.zeros(n_words, bool) if wanted is not None else np.ones(n_words, bool)
    if wanted is not None:
        allowed[wanted] = True
    allowed[: BEGIN + 1] = False
    return allowed


# A model whose order is a number between two whole ones.
#
#     P_x(w | h) = d P_n(w | h) + (1 - d) P_{n-1}(w | h)        x = n - 1 + d, 0 < d <= 1
#
# P_n and P_{n-1} are models of these orders of the same text, each estimated by itself: the highest order of both
# counts occurrences, so that each whole number is exactly the model of that order. Their n-grams up to order n - 1 are
# the same; the lower model has its own probabilities for them.


class Mixture(NamedTuple):
    """The models of one order, or of the two whole orders around it."""

    grams: Grams
    lower: Grams | None = None  # one order below; None: the order is a whole number
    share: float = 1.0  # d: of `grams`

    def word_probabilities(self, ids: np.ndarray, offset: np.ndarray) -> np.ndarray:
        """The probabilities of all words and ends of sentences; see `score_words`."""
        p = score_words(self.grams, ids, offset)
        if self.lower is None:
            return np.asarray(p)
        return np.asarray(self.share * p + (1.0 - self.share) * score_words(self.lower, ids, offset))

    def source(self, n_words: int) -> Source:
        """What sentences are sampled from; DataError if that is impossible."""
        mass = direct_masses(self.grams, n_words)
        if self.lower is None:
            return Source(self.grams, mass, self.grams, mass, 1.0)
        return Source(self.grams, mass, self.lower, direct_masses(self.lower, n_words), self.share)


def split_order(order: float) -> tuple[int, float]:
    """The highest order n of a mixture, and the share d of its model."""
    n = math.ceil(order)
    return n, order - (n - 1)


def lower_grams(grams: Grams, sizes: list[int], p: np.ndarray, backoff: np.ndarray) -> Grams:
    """The model one order below: the same n-grams without those of the highest order, with its own numbers."""
    M = sum(sizes[:-1])
    first = grams.first[: M + 1].copy()
    first[M - sizes[-2] :] = M
    return Grams(grams.word[:M], first, grams.suffix[:M], p, backoff)
