"""Labels that are only partly known, in files: `?` or `_` for any label, `A|B` for one of several.

Tag sets have labels that look like these: `?` for the punctuation mark, `NN|JJ` for words that annotators could not
decide. Unless `--partial` or `--no-partial` is given, `settle_partial` decides by the training data:

- `A|B` is a label unless A and B are labels too. Such choices are labels if they are rare (at most one token in RARE).
- `?` is a label if all words with it are punctuation.
- Both are partial labels if they are frequent (at least LEAST tokens, and one in FREQUENT, punctuation not counted).
- Anything else is an error that asks for one of the two options.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence

import numpy as np

from palmette.data.corpus import Corpus
from palmette.data.formats.columns_light import ANYTHING
from palmette.errors import DataError, counted
from palmette.options.chain import ChainOptions
from palmette.options.spelling import spelt

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
