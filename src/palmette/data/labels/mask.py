"""Label masks: the labels that are allowed at each token, which is gold in training, and fixed labels or sets of labels
when tagging.

The mask of a token is a row of the table `allowed[row, label]`: row y allows only label y, row Y allows all labels, and
further rows allow sets of labels.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np

from palmette.data.corpus import Corpus
from palmette.data.formats.spec import ANYTHING
from palmette.data.labels.numbers import LabelNumbers
from palmette.errors import DataError, counted, either
from palmette.options.chain import ChainOptions
from palmette.options.search import Beam
from palmette.options.spelling import named, spelt

# Labels that are only partly known, in files: `?` or `_` for any label, `A|B` for one of several.
#
# Tag sets have labels that look like these: `?` for the punctuation mark, `NN|JJ` for words that annotators could not
# decide. Unless `--partial` or `--no-partial` is given, `settle_partial` decides by the training data:
#
# - `A|B` is a label unless A and B are labels too. Such choices are labels if they are rare (at most one token in
#   RARE).
# - `?` is a label if all words with it are punctuation.
# - Both are partial labels if they are frequent (at least LEAST tokens, and one in FREQUENT, punctuation not counted).
# - Anything else is an error that asks for one of the two options.

logger = logging.getLogger(__name__)
ANY = "?"
RARE, FREQUENT = 100, 10  # one token in so many
LEAST = 100  # tokens: fewer do not show that annotation is partial


def settle_partial(
    corpus: Corpus, partial: bool | None, possible: bool = True, labels: Sequence[str] = ()
) -> bool | None:
    """Decide whether labels of a training corpus are partial, unless the user has, and set its `label_sets`. Returns
    the decision, or None if no label looks partial. `possible`: whether the learner can use partial labels; `labels`:
    those of a model that goes on learning, which are labels whatever they look like."""
    if partial is None and corpus.labels is not None and corpus.label_sets is None:
        looks = [cell for cell in partial_looks(corpus.labels.types) if cell not in set(labels)]
        partial = _decided(corpus, looks, possible) if looks else None
        labels = [*labels, *looks]
    mark_partial_labels(corpus, partial, labels)
    return partial


def mark_partial_labels(corpus: Corpus, partial: bool | None, labels: Sequence[str] = ()) -> None:
    """Set `label_sets` of a corpus if cells are partial labels. Without a decision (None), a cell that looks partial
    is an error, unless it is one of the `labels` of a model."""
    if corpus.label_sets and partial is False:
        raise DataError("sets of labels and None are partial labels, which partial=False rules out")
    if corpus.labels is None or corpus.label_sets is not None or partial is False:
        return
    cells = corpus.labels.types
    if not partial:
        strange = [cell for cell in partial_looks(cells) if cell not in set(labels)]
        if strange:
            raise _doubtful(corpus, strange[0])
        return
    corpus.label_sets = {}
    for cell in cells:
        if cell not in ANYTHING and "|" not in cell:
            continue
        names = () if cell in ANYTHING else tuple(cell.split("|"))
        if "" in names:
            raise DataError(
                f"the partial label {cell!r} has an empty part", file=corpus.source, line=_line_of(corpus, cell),
                hint="write the possible labels with one bar between them, or `?` for any label",
            )  # fmt: skip
        corpus.label_sets[cell] = frozenset(names)


def partial_looks(cells: Sequence[str]) -> list[str]:
    """`?`, and choices among other cells."""
    known = set(cells)
    return [cell for cell in cells if cell == ANY or ("|" in cell and set(cell.split("|")) <= known)]


def _decided(corpus: Corpus, looks: Sequence[str], possible: bool) -> bool:
    """Whether the cells that look partial are."""
    assert corpus.labels is not None
    cells, counts = corpus.labels.types, np.bincount(corpus.labels.ids, minlength=len(corpus.labels.types))
    tokens = {cell: int(counts[cells.index(cell)]) for cell in looks}
    marks = 0
    if ANY in tokens:
        marks = tokens[ANY] - _not_marks(corpus)
        tokens[ANY] -= marks
    n, total = sum(tokens.values()), corpus.n_tokens
    if (
        possible
        and n >= LEAST
        and n * FREQUENT >= total
        and marks <= tokens.get(ANY, 0)
        and _nothing_else(cells, looks)
    ):
        logger.warning(
            "%s of %s have the label `?` or a choice `A|B`: taken as partial labels (%s: as labels)",
            f"{n:,}", counted(total, "token"), spelt(ChainOptions, "partial", False),
        )  # fmt: skip
        return True
    choices = [cell for cell in looks if cell != ANY]
    if tokens.get(ANY):
        raise _doubtful(corpus, ANY)
    if sum(tokens[cell] for cell in choices) * RARE > total:
        raise _doubtful(corpus, choices[0])
    if choices:
        more = f" and {counted(len(choices) - 1, 'other')} like it are" if len(choices) > 1 else " is"
        where = counted(sum(tokens[cell] for cell in choices), "token")
        partial = spelt(ChainOptions, "partial", True)
        logger.warning("%r%s taken as labels (%s); %s reads them as choices", choices[0], more, where, partial)
    return False


def _nothing_else(cells: Sequence[str], looks: Sequence[str]) -> bool:
    """Whether no cell would change its meaning that does not look partial by itself."""
    return not any(cell not in looks and (cell in ANYTHING or "|" in cell) for cell in cells)


def _not_marks(corpus: Corpus) -> int:
    """How many tokens with the label `?` are not punctuation, as far as words show."""
    assert corpus.labels is not None
    with_it = corpus.labels.ids == corpus.labels.types.index(ANY)
    if not corpus.columns:
        return int(with_it.sum())
    words = corpus.columns[0]
    counts = np.bincount(words.ids[with_it])
    found = np.flatnonzero(counts)
    return sum(int(counts[k]) for k in found.tolist() if any(map(str.isalnum, words.types[k])))


def _line_of(corpus: Corpus, cell: str) -> int | None:
    assert corpus.labels is not None
    return corpus.line_of(int(np.argmax(corpus.labels.ids == corpus.labels.types.index(cell))))


def _doubtful(corpus: Corpus, cell: str) -> DataError:
    return DataError(
        f"the label {cell!r} looks like a partial one", file=corpus.source, line=_line_of(corpus, cell),
        hint=f"give {spelt(ChainOptions, 'partial', True)} if `?` means any label and `A|B` one of several, "
        f"{spelt(ChainOptions, 'partial', False)} if they are labels",
    )  # fmt: skip


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
