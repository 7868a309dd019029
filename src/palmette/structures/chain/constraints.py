"""Which labels may follow each other in a training: by the tag scheme of the labels, and by the user's own list."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from palmette.data.corpus import Corpus
from palmette.data.labels.schemes import SCHEMES, Transitions, allowed_transitions, are_chunk_labels, fits, recognise
from palmette.errors import DataError, UsageError
from palmette.structures.chain.weights import everything_allowed

START, END = "<s>", "</s>"


def constraints(
    labels: list[str], known: np.ndarray, corpus: Corpus, asked: str, forbidden: Sequence[tuple[str, str]],
    old: str | None = None,
) -> tuple[str | None, Transitions]:  # fmt: skip
    """Which labels may follow each other: by the tag scheme, and by the user's list. `old`: the scheme of a model
    that goes on learning, which stays unless the new labels contradict it."""
    keep = old in SCHEMES and are_chunk_labels(labels) and fits(labels, str(old), known, corpus.offset)
    scheme = old if keep else recognise(labels, known, corpus.offset)
    if asked == "none":
        allowed = everything_allowed(len(labels))
    elif asked == "auto":
        allowed = allowed_transitions(labels, scheme) if scheme else everything_allowed(len(labels))
    else:
        allowed = allowed_transitions(labels, asked)
        scheme = asked.upper()
    for before, after in forbidden:
        _forbid(allowed, labels, before, after)
    if asked not in ("none", "auto") or forbidden:
        _check_gold(known, allowed, labels, corpus)
    return scheme, allowed


def _forbid(allowed: Transitions, labels: list[str], before: str, after: str) -> None:
    for label, end in ((before, START), (after, END)):
        if label not in labels and label != end:
            raise UsageError(
                f"forbidden transition {before} {after}: no label {label!r} in the training data; "
                f"{START} may stand first, {END} second"
            )
    if (before, after) == (START, END):
        raise UsageError(f"forbidden transition {START} {END}: one of the two must be a label")
    if before == START:
        allowed.start[labels.index(after)] = False
    elif after == END:
        allowed.end[labels.index(before)] = False
    else:
        allowed.pair[labels.index(before), labels.index(after)] = False


def _check_gold(known: np.ndarray, allowed: Transitions, labels: list[str], corpus: Corpus) -> None:
    """The training data itself must keep to the constraints."""
    first, last = corpus.offset[:-1], corpus.offset[1:] - 1
    inside = np.ones(known.size, np.bool_)
    inside[first] = False
    places = np.flatnonzero(inside)
    # Where something is not known for sure, anything may stand.
    start, end = (np.append(row, True) for row in (allowed.start, allowed.end))
    pair = np.pad(allowed.pair, (0, 1), constant_values=True)
    known = np.minimum(known, len(labels))
    bad = places[~pair[known[places - 1], known[places]]]
    bad = np.concatenate((bad, first[~start[known[first]]], last[~end[known[last]]]))
    if bad.size:
        token = int(bad.min())
        before = [*labels, "?"][known[token - 1]] if inside[token] else START
        raise DataError(
            f"the label {labels[known[token]]!r} after {before!r} is forbidden, and the training data has it",
            file=corpus.source,
            line=corpus.line_of(token),
            hint="mend the data, or use --constraints none or another --forbid list",
        )
