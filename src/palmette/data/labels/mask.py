"""What is known about the labels: gold in training, fixed labels or sets of allowed ones at tag time.

A token's knowledge is a row of the allow table: row y is label y alone, row Y everything, further rows are sets.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np

from palmette.data.corpus import Corpus
from palmette.data.formats.columns_light import ANYTHING
from palmette.errors import DataError


class LabelMask(NamedTuple):
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


def mask_from_items(allowed: Iterable[Any], corpus: Corpus, labels: Sequence[str]) -> LabelMask:
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
    return LabelMask(np.array(rows, np.int32), sets.table())


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


def mask_from_column(corpus: Corpus, labels: Sequence[str]) -> LabelMask:
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
    return LabelMask(np.array(rows, np.int32)[corpus.labels.ids], sets.table())


def understand_labels(corpus: Corpus, partial: bool | None) -> None:
    """Note which cells of a file's labels are partial ones: `?` or `_` for anything, `A|B` for one of several.

    That such cells are meant so must be said, because a Penn tag may hold a bar itself."""
    if corpus.label_sets and partial is False:
        raise DataError("sets of labels and None are partial labels, and partial=False says that there are none")
    if corpus.labels is None or corpus.label_sets is not None or partial is False:
        return
    cells = corpus.labels.types
    if not partial:
        cell = next((cell for cell in cells if cell == "?" or _is_choice(cell, cells)), None)
        if cell is not None:
            token = int(np.argmax(corpus.labels.ids == cells.index(cell)))
            raise DataError(
                f"the label {cell!r} looks like a partial one", file=corpus.source, line=corpus.line_of(token),
                hint="say --partial if `?` means that any label is possible and `A|B` one of several, "
                "--no-partial if they are labels of their own",
            )  # fmt: skip
        return
    corpus.label_sets = {}
    for k, cell in enumerate(cells):
        if cell not in ANYTHING and "|" not in cell:
            continue
        names = () if cell in ANYTHING else tuple(cell.split("|"))
        if "" in names:
            token = int(np.argmax(corpus.labels.ids == k))
            raise DataError(
                f"the partial label {cell!r} has an empty part", file=corpus.source, line=corpus.line_of(token),
                hint="write the possible labels with one bar between them, or `?` for anything",
            )  # fmt: skip
        corpus.label_sets[cell] = frozenset(names)


def _is_choice(cell: str, cells: Sequence[str]) -> bool:
    return "|" in cell and set(cell.split("|")) <= set(cells)


def label_names(corpus: Corpus) -> list[str]:
    """All labels of a corpus, those in sets too, by first occurrence."""
    assert corpus.labels is not None
    sets = corpus.label_sets or {}
    return list(dict.fromkeys(name for cell in corpus.labels.types for name in sorted(sets.get(cell, (cell,)))))


def training_mask(corpus: Corpus, labels: Sequence[str]) -> LabelMask:
    """What the labels of a training corpus allow at each token. Below Y stands the label itself."""
    assert corpus.labels is not None
    names = _Sets(labels)
    sets = corpus.label_sets or {}
    rows = [names.row(sets.get(cell, frozenset((cell,))), str(corpus.source)) for cell in corpus.labels.types]
    return LabelMask(np.array(rows, np.int32)[corpus.labels.ids], names.table())


def check_given(known: LabelMask, corpus: Corpus, n_labels: int) -> None:
    """Complain about the first label that is not known for sure: a locally normalised model is given its history."""
    unsure = np.flatnonzero(known.rows >= n_labels)
    if unsure.size:
        raise DataError(
            "maxent learns each label given those before it, and this one is not fully known",
            file=corpus.source, line=corpus.line_of(int(unsure[0])),
            hint="perceptron, crf and dplvm learn from partial labels",
        )  # fmt: skip


def certain_labels(corpus: Corpus, labels: Sequence[str]) -> tuple[np.ndarray, np.ndarray | None]:
    """Gold as numbers of `labels` i32[N], and where it is fully known bool[N] (None: everywhere)."""
    assert corpus.labels is not None
    numbers = {label: k for k, label in enumerate(labels)}
    single = [
        next(iter(names)) if len(names) == 1 else None
        for names in ((corpus.label_sets or {}).get(cell, frozenset((cell,))) for cell in corpus.labels.types)
    ]
    table = np.array([-1 if name is None else numbers[name] for name in single], np.int32)
    gold = table[corpus.labels.ids]
    return np.maximum(gold, 0), gold >= 0 if corpus.label_sets else None


def check_feasible(scores: np.ndarray, corpus: Corpus, beam: int = 0) -> None:
    """Complain about the first sentence whose best path has no score: none is allowed, or numbers were too large. A
    beam may also have met a dead end."""
    bad = np.flatnonzero(~np.isfinite(scores))
    if bad.size:
        s = int(bad[0])
        what, hint = "no sequence of labels is possible", "what is known or forbidden contradicts itself"
        if beam:
            hint += f", or a beam of {beam} is too narrow to find one: try a wider one (--beam)"
        if not np.isneginf(scores[s]):
            what, hint = "its score is beyond what numbers can hold", "scale the values of attributes down"
        raise DataError(
            f"sentence {s + 1}: {what}",
            file=corpus.source,
            line=corpus.line_of(int(corpus.offset[s])),
            hint=hint,
        )
