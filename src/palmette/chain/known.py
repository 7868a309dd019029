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
    rows = []
    for s, sentence in enumerate(allowed):
        for i, wanted in enumerate(sentence):
            names = frozenset((wanted,)) if isinstance(wanted, str) else frozenset(wanted or ())
            rows.append(sets.row(names, f"allowed[{s}][{i}]"))
    if len(rows) != corpus.n_tokens:
        raise DataError(f"`allowed` has {len(rows)} tokens and the input {corpus.n_tokens}")
    return Known(np.array(rows, np.int32), sets.table())


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
    """Complain about the first sentence for which no label sequence is left."""
    bad = np.flatnonzero(~np.isfinite(scores))
    if bad.size:
        s = int(bad[0])
        raise DataError(
            f"sentence {s + 1}: no sequence of labels satisfies what is known about its tokens",
            file=corpus.source,
            line=corpus.line_of(int(corpus.offset[s])),
            hint="what is known contradicts the tag scheme or the forbidden transitions",
        )
