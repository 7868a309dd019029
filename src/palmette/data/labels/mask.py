"""Label masks: the labels that are allowed at each token, which is gold in training, and fixed labels or sets of labels
when tagging.

The mask of a token is a row of the table `allowed[row, label]`: row y allows only label y, row Y allows all labels, and
further rows allow sets of labels.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np

from palmette.data.corpus import Corpus
from palmette.data.formats.columns_light import ANYTHING
from palmette.data.labels.numbers import LabelNumbers
from palmette.errors import DataError, either
from palmette.options.search import Beam
from palmette.options.spelling import named


class LabelMask(NamedTuple):
    """The row of the table for each token, and the further rows of the table."""

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
                f"{where}: the model has no label {unknown[0]!r}",
                hint=f"see {either('labels_', '`palmette inspect`')} for its labels",
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


def mask_from_items(
    allowed: Iterable[Any], corpus: Corpus, labels: Sequence[str], numbers: LabelNumbers | None = None
) -> LabelMask:
    """The mask of Python data: per sentence a list with, per token, None (any label), a label, or a set of labels.
    `numbers`: what whole numbers stand for."""
    sets = _Sets(labels)
    rows: list[int] = []
    sizes: list[int] = []
    for s, sentence in enumerate(allowed):
        if isinstance(sentence, str) or not isinstance(sentence, Iterable):
            raise DataError(f"allowed[{s}] is {sentence!r}: expected a list with one item per token")
        places = [(f"allowed[{s}][{i}]", wanted) for i, wanted in enumerate(sentence)]
        if numbers is not None:
            places = [(place, numbers.named(wanted, place)) for place, wanted in places]
        rows += [sets.row(_names(wanted, place), place) for place, wanted in places]
        sizes += [len(places)] if places else []  # a corpus has no empty sentences
    if sizes != np.diff(corpus.offset).tolist():
        raise DataError("`allowed` must have as many sentences as the input, each with as many tokens")
    return LabelMask(np.array(rows, np.int32), sets.table())


def _names(wanted: Any, where: str) -> frozenset[str]:
    """None, a label or several labels as a set; the empty set allows all labels."""
    if wanted is None:
        return frozenset()
    if isinstance(wanted, str):
        return frozenset((wanted,))
    names = frozenset(wanted) if isinstance(wanted, Iterable) else frozenset()
    if not names or not all(isinstance(name, str) for name in names):
        raise DataError(f"{where} is {wanted!r}: expected None (any label), a label, or a set of labels")
    return names


def mask_from_column(corpus: Corpus, labels: Sequence[str]) -> LabelMask:
    """The mask of a file's label column: a label, `A|B` for one of several, `?` or `_` for any label."""
    assert corpus.labels is not None
    sets = _Sets(labels)
    rows = []
    for k, cell in enumerate(corpus.labels.types):
        if cell in sets.numbers:  # a label may contain a bar
            names = frozenset((cell,))
        else:
            names = frozenset() if cell in ANYTHING else frozenset(cell.split("|"))
        token = int(np.argmax(corpus.labels.ids == k))
        rows.append(sets.row(names, f"{corpus.source}:{corpus.line_of(token)}"))
    return LabelMask(np.array(rows, np.int32)[corpus.labels.ids], sets.table())


def label_names(corpus: Corpus) -> list[str]:
    """All labels of a corpus, including those in sets, by first occurrence."""
    assert corpus.labels is not None
    sets = corpus.label_sets or {}
    return list(dict.fromkeys(name for cell in corpus.labels.types for name in sorted(sets.get(cell, (cell,)))))


def training_mask(corpus: Corpus, labels: Sequence[str]) -> LabelMask:
    """The mask of the labels of a training corpus. A row below Y is the number of the label itself."""
    assert corpus.labels is not None
    names = _Sets(labels)
    sets = corpus.label_sets or {}
    rows = [names.row(sets.get(cell, frozenset((cell,))), str(corpus.source)) for cell in corpus.labels.types]
    return LabelMask(np.array(rows, np.int32)[corpus.labels.ids], names.table())


def check_fully_known(known: LabelMask, corpus: Corpus, n_labels: int) -> None:
    """DataError at the first token without a single label: a locally normalised model conditions on earlier labels."""
    unsure = np.flatnonzero(known.rows >= n_labels)
    if unsure.size:
        raise DataError(
            "maxent learns each label given those before it, but this one is only partly known",
            file=corpus.source, line=corpus.line_of(int(unsure[0])),
            hint="perceptron, crf and dplvm learn from partial labels",
        )  # fmt: skip


def known_gold(corpus: Corpus, labels: Sequence[str]) -> tuple[np.ndarray, np.ndarray | None]:
    """Gold as numbers of `labels` i32[N], and the tokens bool[N] where it is a single label (None: all)."""
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
    """DataError at the first sentence whose best path has no finite score: no path is allowed, or scores overflow; or a
    beam found none."""
    bad = np.flatnonzero(~np.isfinite(scores))
    if bad.size:
        s = int(bad[0])
        what, hint = "no label sequence is possible", "known labels and forbidden transitions contradict each other"
        if beam:
            hint += f", or a beam of {beam} is too narrow to find one: try a wider one ({named(Beam, 'width')})"
        if not np.isneginf(scores[s]):
            what, hint = "its score overflows", "scale the values of attributes down"
        raise DataError(
            f"sentence {s + 1}: {what}",
            file=corpus.source,
            line=corpus.line_of(int(corpus.offset[s])),
            hint=hint,
        )
