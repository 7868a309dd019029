"""Check two corpora for shallow cues: vocabulary, length, overlap, duplicates.

Shallow cues tell positive from negative sentences without any structure, which makes a task too easy.

The cues are words (logistic regression over bags of words), lengths, words of only one side, and sentences of both
sides. Accuracies are those of five-fold cross-validation with as many sentences of either side: chance is 50.
"""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from palmette.errors import UsageError, counted
from palmette.lab.kernels.bag import bag_pass, bag_scores
from palmette.lab.kernels.text import sentence_hashes
from palmette.lab.sentences import Sentences
from palmette.options.spelling import argument

FOLDS, PASSES, RATE = 5, 5, 0.1
# Accuracies above which the task is too easy, and below which a remark is needed
WORDS_TOO_EASY, LENGTH_TOO_EASY, BELOW_CHANCE = 0.60, 0.55, 0.48
FOREIGN_TOKENS = 0.01


@dataclass(frozen=True, slots=True)
class Side:
    """One of the two files. Shares are fractions of 1."""

    sentences: int
    tokens: int
    types: int
    mean_length: float
    shared_types: float  # types that the other side has too
    shared_tokens: float  # tokens whose type the other side has
    verbatim: float  # sentences that the other side has too
    repeated: float  # sentences that occurred before on the same side
    lengths: list[int]  # how many sentences of 0, 1, 2, ... words


@dataclass(frozen=True, slots=True)
class ShallowCues:
    """The result of the check. Accuracies are fractions of 1, of held-out sentences."""

    positives: Side
    negatives: Side
    compared: int  # sentences per side that the accuracies are based on
    words_accuracy: float
    length_accuracy: float
    too_easy: bool
    remarks: list[str]


def shallow_cues(positives: Sentences, negatives: Sentences, *, seed: int = 1) -> ShallowCues:
    """Check two corpora."""
    for side in (positives, negatives):
        if side.n_sentences < FOLDS:
            raise UsageError(f"{side.source} has {counted(side.n_sentences, 'sentence')}; at least {FOLDS} are needed")
    ids, offset, n_types = together(positives, negatives)
    own = np.repeat((1.0, 0.0), (positives.n_sentences, negatives.n_sentences))
    left, right = (_side(ids, offset, own == label, n_types) for label in (1.0, 0.0))
    fold = folds(own, seed)
    words = words_accuracy(ids, offset, own, fold, n_types, seed)
    length = length_accuracy(np.diff(offset), own, fold)
    too_easy = words > WORDS_TOO_EASY or length > LENGTH_TOO_EASY
    remarks = _remarks(left, right, words, length)
    return ShallowCues(left, right, int((fold >= 0).sum()) // 2, words, length, too_easy, remarks)


def together(positives: Sentences, negatives: Sentences) -> tuple[np.ndarray, np.ndarray, int]:
    """Both corpora in one numbering: ids i32[N], offset i64[S+1], the number of types; the positives come first."""
    numbers = {word: t for t, word in enumerate(positives.words.types)}
    mapped = [numbers.setdefault(word, len(numbers)) for word in negatives.words.types]
    ids = np.concatenate((positives.words.ids, np.array(mapped, np.int32)[negatives.words.ids]))
    offset = np.concatenate((positives.offset, negatives.offset[1:] + positives.n_tokens))
    return ids.astype(np.int32), offset, len(numbers)


def folds(label: np.ndarray, seed: int) -> np.ndarray:
    """The fold i64[S] of each sentence; -1: not used, because its side is the larger one."""
    rng = np.random.default_rng(seed)
    sides = [rng.permutation(np.flatnonzero(label == own)) for own in (1.0, 0.0)]
    n = min(side.size for side in sides)
    fold = np.full(label.size, -1)
    for side in sides:
        fold[side[:n]] = np.arange(n) % FOLDS
    return fold


def words_accuracy(
    ids: np.ndarray, offset: np.ndarray, label: np.ndarray, fold: np.ndarray, n_types: int, seed: int
) -> float:
    """The share of held-out sentences that a bag of words classifies correctly; a score of 0 counts as positive."""
    right = 0
    rng = np.random.default_rng(seed)
    for held_out in range(FOLDS):
        taught = np.flatnonzero((fold >= 0) & (fold != held_out))
        w, squares = np.zeros(n_types + 1), np.zeros(n_types + 1)
        for _ in range(PASSES):
            bag_pass(ids, offset, label, rng.permutation(taught), w, squares, RATE)
        guess = bag_scores(ids, offset, w) >= 0
        right += int((guess == (label == 1))[fold == held_out].sum())
    return right / int((fold >= 0).sum())


def length_accuracy(lengths: np.ndarray, label: np.ndarray, fold: np.ndarray) -> float:
    """The share of held-out sentences that get their class from the majority class of their length in the other folds;
    ties and new lengths count as positive."""
    right = 0
    for held_out in range(FOLDS):
        taught = (fold >= 0) & (fold != held_out)
        excess = np.bincount(lengths[taught], 2 * label[taught] - 1, lengths.max() + 1)
        right += int(((excess[lengths] >= 0) == (label == 1))[fold == held_out].sum())
    return right / int((fold >= 0).sum())


def _side(ids: np.ndarray, offset: np.ndarray, own: np.ndarray, n_types: int) -> Side:
    lengths = np.diff(offset)
    token = np.repeat(own, lengths)
    counts = np.bincount(ids[token], minlength=n_types)
    there = np.bincount(ids[~token], minlength=n_types) > 0
    hashes = sentence_hashes(ids, offset)
    mine = hashes[own]
    return Side(
        int(own.sum()), int(counts.sum()), int((counts > 0).sum()), float(lengths[own].mean()),
        float(there[counts > 0].mean()), float(counts[there].sum() / counts.sum()),
        float(np.isin(mine, hashes[~own]).mean()), 1 - np.unique(mine).size / mine.size,
        np.bincount(lengths[own], minlength=int(lengths.max()) + 1).tolist(),
    )  # fmt: skip


def _remarks(positives: Side, negatives: Side, words: float, length: float) -> list[str]:
    """The findings as sentences."""
    remarks = []
    if words > WORDS_TOO_EASY:
        remarks.append(
            f"Too easy: words alone classify {100 * words:.1f} % correctly. Draw the negatives from a language "
            f"model of the positives' text, with {argument('vocabulary')}."
        )
    if length > LENGTH_TOO_EASY:
        remarks.append(
            f"Too easy: lengths alone classify {100 * length:.1f} % correctly. Match them, with {argument('lengths')}."
        )
    if not remarks:
        remarks.append("Neither words nor lengths separate the classes.")
    if min(words, length) < BELOW_CHANCE:
        remarks.append(
            "Accuracies below 50 are possible: if negatives were made to match all the positives, held-out positives "
            "look like negatives to a learner that has seen the others."
        )
    for name, side, other in (("positives", positives, negatives), ("negatives", negatives, positives)):
        if 1 - side.shared_tokens > FOREIGN_TOKENS and other.tokens >= side.tokens / 2:
            foreign = 100 * (1 - side.shared_tokens)
            remarks.append(
                f"{foreign:.1f} % of the tokens of the {name} are words that do not occur on the other side."
            )
    if negatives.verbatim > 0:
        remarks.append(
            f"{100 * negatives.verbatim:.2f} % of the negatives are sentences of the positives, which no learner can "
            f"separate: leave them out, with {argument('exclude')}."
        )
    return remarks


# In words

ROWS, BAR = 16, 26


def cues_text(found: ShallowCues) -> str:
    """All of it as text."""
    sides = (found.positives, found.negatives)
    lines = [f"{'':26}{'positives':>14}{'negatives':>14}"]
    for key, name, form in FACTS:
        lines.append(f"{name:26}" + "".join(f"{_cell(getattr(side, key), form):>14}" for side in sides))
    lines += ["", "length" + f"{'positives':>{BAR + 9}}  |  negatives"]
    lines += _histogram(found.positives, found.negatives)
    lines += ["", f"accuracy on held-out sentences, {found.compared:,} of each side (guessing: 50)"]
    for name, value in (("lengths alone", found.length_accuracy), ("words alone", found.words_accuracy)):
        lines.append(f"  {name:20}{100 * value:6.1f} %")
    lines.append("")
    for remark in found.remarks:
        lines += textwrap.wrap(remark, 100)
    return "\n".join(lines)


FACTS = (
    ("sentences", "sentences", ","),
    ("tokens", "tokens", ","),
    ("types", "types", ","),
    ("mean_length", "tokens per sentence", ".1f"),
    ("shared_types", "types on both sides", "%"),
    ("shared_tokens", "tokens of these types", "%"),
    ("verbatim", "sentences on both sides", "%"),
    ("repeated", "duplicate sentences", "%"),
)


def _cell(value: float, form: str) -> str:
    return f"{100 * value:.2f} %" if form == "%" else f"{value:{form}}"


def _histogram(positives: Side, negatives: Side) -> list[str]:
    """Bars to the left and to the right, over ranges of lengths."""
    longest = max(len(positives.lengths), len(negatives.lengths)) - 1
    width = max(1, -(-longest // ROWS))
    left, right = (_binned(side.lengths, width) for side in (positives, negatives))
    most = max(max(left), max(right))
    rows = []
    for k, (a, b) in enumerate(zip(left, right, strict=True)):
        low, high = k * width + 1, (k + 1) * width
        name = str(low) if width == 1 else f"{low}-{high}"
        rows.append(f"{name:>7} {100 * a:5.1f} {_bar(a, most):>{BAR}}  |  {_bar(b, most):<{BAR}}{100 * b:5.1f}")
    return rows


def _binned(lengths: Sequence[int], width: int) -> list[float]:
    """Shares of the sentences, by ranges of lengths from 1 on."""
    total = max(1, sum(lengths))
    return [sum(lengths[at : at + width]) / total for at in range(1, max(2, len(lengths)), width)]


def _bar(share: float, most: float) -> str:
    return "█" * round(BAR * share / most) if most else ""
