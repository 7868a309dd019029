"""Spans that people mark as the labels of a model."""

from __future__ import annotations

from collections.abc import Sequence

from palmette.data.labels.schemes import HYPHEN, Span, from_spans, reading, unseen_scheme
from palmette.errors import DataError, UsageError
from palmette.serve.served import Served


def labels_of_spans(served: Served, chunks: Sequence[Span], n: int, where: str) -> list[str]:
    """The labels of a sentence of n tokens with these spans, as the model writes them; DataError if it has no such."""
    scheme = served.scheme_of_spans
    if scheme is None:
        raise DataError(f"{where} has spans, and {served.name} has no tag scheme: give a label for each token")
    try:
        labels = from_spans(chunks, n, scheme)
    except UsageError as error:
        raise DataError(f"{where}: {error}") from None
    notation = reading(served.labels, unseen_scheme(scheme)) or HYPHEN
    if isinstance(notation, type(HYPHEN)):
        written = {notation.split(label): label for label in served.labels}
        labels = [written.get(HYPHEN.split(label), label) for label in labels]
    strange = next((label for label in labels if label not in set(served.labels)), None)
    if strange is not None:
        raise DataError(f"{where}: the model has no label {strange[:100]!r}, which one of the spans needs")
    return labels
