"""What is known about the labels before tagging: fixed labels, or sets of allowed ones, for some tokens.

A token's knowledge is a row of the allow table: row y is label y alone, row Y everything, further rows are sets.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np

from palmette.errors import DataError
from palmette.text.corpus import Corpus

ANYTHING = ("?", "_")


class Known(NamedTuple):
    """Rows of the allow table for each token, and its further rows."""

    rows: np.ndarray  # i32[N]
    sets: np.ndarray  # bool[G, Y]


class _Sets:
    """Numbers the sets of labels as rows."""

    def __init__(self, labels: Sequence[str]) -> None:
        self.numbers = {label: k for k, label in enumerate(labels)}
        self.rows: dict[frozenset[str], int] = {}

    def row(self, names: frozenset[str], where: str) -> int:
        unknown = [name for name in names if name not in self.numbers]
        if unknown:
            raise DataError(
                f"{where}: the model has no label {unknown[0]!r}", hint="see `palmette inspect` for its labels"
            )
        Y = len(self.numbers)
        if not names:
            return Y
        if len(names) == 1:
            return self.numbers[next(iter(names))]
        return self.rows.setdefault(names, Y + 1 + len(self.rows))

    def table(self) -> np.ndarray:
        sets = np.zeros((len(self.rows), len(self.numbers)), np.bool_)
        for k, names in enumerate(self.rows):
            sets[k, [self.numbers[name] for name in names]] = True
        return sets


def known_from_items(allowed: Iterable[Any], corpus: Corpus, labels: Sequence[str]) -> Known:
    """From Python: for each sentence a list with, for each token, None (anything), a label, or a set of labels."""
    sets = _Sets(labels)
    rows: list[int] = []
    sizes: list[int] = []
    for s, sentence in enumerate(allowed):
        if isinstance(sentence, str) or not isinstance(sentence, Iterable):
            raise DataError(f"allowed[{s}] is {sentence!r}: a list with an item for each token is expected")
        places = [(f"allowed[{s}][{i}]", wanted) for i, wanted in enumerate(sentence)]
        rows += [sets.row(_names(wanted, place), place) for place, wanted in places]
        sizes += [len(places)] if places else []  # a corpus has no empty sentences
    if sizes != np.diff(corpus.offset).tolist():
        raise DataError("`allowed` must have as many sentences as the input, each with as many tokens")
    return Known(np.array(rows, np.int32), sets.table())


def _names(wanted: Any, where: str) -> frozenset[str]:
    """None, a label or several as a set; the empty set is anything."""
    if wanted is None:
        return frozenset()
    if isinstance(wanted, str):
        return frozenset((wanted,))
    names = frozenset(wanted) if isinstance(wanted, Iterable) else frozenset()
    if not names or not all(isinstance(name, str) for name in names):
        raise DataError(f"{where} is {wanted!r}: None (anything), a label, or a set of labels is expected")
    return names


def known_from_column(corpus: Corpus, labels: Sequence[str]) -> Known:
    """From a file's column: a label, `A|B` for one of several, `?` or `_` for anything."""
    assert corpus.labels is not None
    sets = _Sets(labels)
    rows = []
    for k, cell in enumerate(corpus.labels.types):
        if cell in sets.numbers:  # labels may hold a bar themselves
            names = frozenset((cell,))
        else:
            names = frozenset() if cell in ANYTHING else frozenset(cell.split("|"))
        token = int(np.argmax(corpus.labels.ids == k))
        rows.append(sets.row(names, f"{corpus.source}:{corpus.line_of(token)}"))
    return Known(np.array(rows, np.int32)[corpus.labels.ids], sets.table())


def check_possible(scores: np.ndarray, corpus: Corpus) -> None:
    """Complain about the first sentence whose best path has no score: none is allowed, or numbers were too large."""
    bad = np.flatnonzero(~np.isfinite(scores))
    if bad.size:
        s = int(bad[0])
        what, hint = "no sequence of labels is possible", "what is known or forbidden contradicts itself"
        if not np.isneginf(scores[s]):
            what, hint = "its score is beyond what numbers can hold", "scale the values of attributes down"
        raise DataError(
            f"sentence {s + 1}: {what}",
            file=corpus.source,
            line=corpus.line_of(int(corpus.offset[s])),
            hint=hint,
        )
