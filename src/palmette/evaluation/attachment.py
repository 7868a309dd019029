"""Attachment scores: words with the right head (UAS), with the right relation too (LAS), and of content words (CLAS).

The rules are those of the official scorer of Universal Dependencies: punctuation counts, subtypes of relations
(`nsubj:pass`) do not, and CLAS is the F1 of the arcs whose relation is one of CONTENT. Gold and guess have the same
words in the same sentences. Only NumPy, no compiled code.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple, Protocol

import msgspec
import numpy as np

from palmette.errors import DataError, counted
from palmette.evaluation.record import FIGURES, Cell, Main, Part, Scores, Strong, figure_cells
from palmette.evaluation.significance import Tally
from palmette.evaluation.tokens import Figures, figures, sentence_sums

CONTENT = frozenset(
    ("nsubj", "obj", "iobj", "csubj", "ccomp", "xcomp", "obl", "vocative", "expl", "dislocated", "advcl", "advmod",
     "discourse", "nmod", "appos", "nummod", "acl", "amod", "conj", "fixed", "flat", "compound", "list", "parataxis",
     "orphan", "goeswith", "reparandum", "root", "dep")
)  # fmt: skip
LENGTHS = ((1, "1"), (2, "2"), (3, "3-6"), (7, "7-10"), (11, "11 and more"))  # from this length on: its name
ROOT = "root"
METRICS = ("las", "uas", "clas")


class Names(Protocol):
    """A column: the type of each token, and the types."""

    @property
    def ids(self) -> np.ndarray: ...

    @property
    def types(self) -> list[str]: ...


class HasTrees(Protocol):
    """What a Treebank and the light reader's Trees have in common."""

    @property
    def offset(self) -> np.ndarray: ...

    @property
    def heads(self) -> np.ndarray: ...

    @property
    def relations(self) -> Names: ...

    @property
    def forms(self) -> Names: ...


class Attached(msgspec.Struct, frozen=True):
    """Figures of a group of words: the share with the right head, and with the right relation too."""

    words: int
    uas: float
    las: float


class Arcs(msgspec.Struct, frozen=True):
    """Figures per relation or length of arcs: precision, recall and F1 of the labelled arcs, and the share of
    gold arcs whose head was found."""

    labelled: Figures
    uas: float


class AttachmentScores(Scores, frozen=True):
    """Scores of trees."""

    words: int
    sentences: int
    uas: float
    las: float
    clas: float  # F1
    content: Figures  # its precision and recall
    no_punctuation: Attached
    trees: float  # sentences without an error, relations included
    by_relation: dict[str, Arcs]
    by_length: dict[str, Arcs]

    told = ("words", "sentences", "uas", "las", "clas")

    def main(self) -> Main:
        return Main("LAS", self.las)

    def headline(self) -> str:
        return (
            f"{counted(self.words, 'word')}, {counted(self.sentences, 'sentence')}; "
            f"trees without an error: {100 * self.trees:.2f}%"
        )

    def parts(self) -> Iterator[Part]:
        """Totals with punctuation and without, then relations and lengths of arcs."""
        everything: tuple[Cell, ...] = ("all words", *map(Strong, (self.uas, self.las, self.clas)), self.words)
        rest = self.no_punctuation
        without: tuple[Cell, ...] = ("without punctuation", rest.uas, rest.las, "", rest.words)
        yield Part("", ("", "UAS", "LAS", "CLAS", "words"), (everything, without))
        ordered = dict(sorted(self.by_relation.items(), key=lambda item: -item[1].labelled.gold))
        yield _arcs("by relation: labelled arcs, and the share of heads found (UAS)", ordered)
        yield _arcs("by length of the arc in words", self.by_length)._replace(folded=True)


def _arcs(title: str, rows: Mapping[str, Arcs], most: int = 40) -> Part:
    heads, cells = ["", *FIGURES], []
    heads.insert(4, "UAS")
    for name, found in list(rows.items())[:most]:
        figures = figure_cells(found.labelled)
        cells.append((name, *figures[:3], found.uas, *figures[3:]))
    return Part(title, heads, cells, max(0, len(rows) - most))


class Compared(NamedTuple):
    """Gold and guess word by word: all of N."""

    head: np.ndarray  # bool: the head is right
    arc: np.ndarray  # bool: the relation too
    gold: np.ndarray  # i32: relations without subtypes, as numbers of `names`
    guess: np.ndarray
    names: list[str]
    gold_length: np.ndarray  # i64: which of LENGTHS, 0 for the root
    guess_length: np.ndarray


def score_trees(gold: HasTrees, guess: HasTrees) -> AttachmentScores:
    """All scores of a guess."""
    check_same_words(gold, guess)
    found = compared(gold, guess)
    N, S = found.head.size, gold.offset.size - 1
    content = _content(found.names)
    clas = _figures(found.arc & content[found.gold], content[found.gold], content[found.guess])
    here = ~punctuation(gold.forms)
    words = int(here.sum())
    no_punctuation = Attached(words, _share(found.head[here].sum(), words), _share(found.arc[here].sum(), words))
    wrong = sentence_sums(~found.arc, gold.offset)
    return AttachmentScores(
        N, S, _share(found.head.sum(), N), _share(found.arc.sum(), N), clas_f1(clas), clas, no_punctuation,
        _share((wrong == 0).sum(), S),
        _grouped(found, found.gold, found.guess, found.names),
        _grouped(found, found.gold_length, found.guess_length, [ROOT, *(name for _, name in LENGTHS)]),
    )  # fmt: skip


def clas_f1(counts: Figures) -> float:
    """F1 in the official scorer's way, so that the last digit agrees too."""
    return _share(2 * counts.correct, counts.gold + counts.guessed)


def tallies(gold: HasTrees, guess: HasTrees, metric: str) -> Tally:
    """One of METRICS as a ratio of sums over sentences, for intervals and tests."""
    check_same_words(gold, guess)
    found = compared(gold, guess)
    if metric == "clas":
        content = _content(found.names)
        right = sentence_sums(found.arc & content[found.gold], gold.offset)
        all_arcs = sentence_sums(content[found.gold], gold.offset) + sentence_sums(content[found.guess], gold.offset)
        return Tally(2 * right, all_arcs)
    right = sentence_sums(found.arc if metric == "las" else found.head, gold.offset)
    return Tally(right, np.diff(gold.offset))


def compared(gold: HasTrees, guess: HasTrees) -> Compared:
    """Gold and guess word by word; `check_same_words` comes first."""
    names: dict[str, int] = {}
    here, there = (
        np.array([names.setdefault(universal(name), len(names)) for name in side.relations.types], np.int32)
        for side in (gold, guess)
    )
    relation, guessed = here[gold.relations.ids], there[guess.relations.ids]
    head = gold.heads == guess.heads
    lengths = (_length(side.heads, gold.offset) for side in (gold, guess))
    return Compared(head, head & (relation == guessed), relation, guessed, list(names), *lengths)


def universal(relation: str) -> str:
    """A relation without its subtype."""
    return relation.partition(":")[0]


def punctuation(forms: Names) -> np.ndarray:
    """bool[N]: words of only punctuation characters, the rule of CoNLL-X's scorer; it needs no tags."""
    marks = [all(unicodedata.category(c)[0] == "P" for c in form) for form in forms.types]
    return np.array(marks, np.bool_)[forms.ids]


def check_same_words(gold: HasTrees, guess: HasTrees) -> None:
    """Raise DataError if gold and guess have different words: scores compare heads word by word."""
    here, there = (np.diff(side.offset).tolist() for side in (gold, guess))
    for s, (n, m) in enumerate(zip(here, there, strict=False)):
        if n != m:
            raise _different(f"sentence {s + 1} has {counted(n, 'word')} in gold and {m} in the guess")
    if len(here) != len(there):
        raise _different(f"gold has {counted(len(here), 'sentence')}, the guess {len(there)}")
    if gold.forms is guess.forms:
        return
    numbers = {form: k for k, form in enumerate(guess.forms.types)}
    same = np.array([numbers.get(form, -1) for form in gold.forms.types], np.int64)
    other = np.flatnonzero(same[gold.forms.ids] != guess.forms.ids)
    if other.size:
        i = int(other[0])
        s = int(np.searchsorted(gold.offset, i, side="right")) - 1
        words = [side.forms.types[side.forms.ids[i]] for side in (gold, guess)]
        raise _different(
            f"sentence {s + 1}, word {i - int(gold.offset[s]) + 1}: {words[0]!r} in gold, {words[1]!r} in the guess"
        )


def _different(message: str) -> DataError:
    return DataError(message, hint="a guess is scored on the same words; parse the gold file itself")


def _content(names: Sequence[str]) -> np.ndarray:
    return np.array([name in CONTENT for name in names], np.bool_)


def _share(right: int | np.integer, total: int) -> float:
    return float(right) / total if total else 0.0


def _figures(correct: np.ndarray, gold: np.ndarray, guessed: np.ndarray) -> Figures:
    return figures(int(correct.sum()), int(guessed.sum()), int(gold.sum()))


def _length(heads: np.ndarray, offset: np.ndarray) -> np.ndarray:
    """The length class of each word's arc, as a number of LENGTHS from 1; 0 is the root's."""
    start = np.repeat(offset[:-1], np.diff(offset))
    far = np.abs(heads - (np.arange(heads.size) - start + 1))
    return np.where(heads == 0, 0, np.searchsorted([least for least, _ in LENGTHS], far, side="right"))


def _grouped(found: Compared, gold: np.ndarray, guess: np.ndarray, names: Sequence[str]) -> dict[str, Arcs]:
    """Figures of the groups that gold and guess assign each arc to."""
    Y = len(names)
    correct, wanted, guessed, heads = (
        np.bincount(ids, minlength=Y).tolist() for ids in (gold[found.arc], gold, guess, gold[found.head])
    )
    return {
        name: Arcs(figures(correct[k], guessed[k], wanted[k]), _share(heads[k], wanted[k]))
        for k, name in enumerate(names)
        if wanted[k] or guessed[k]
    }
