"""Conversion of files from one tag scheme to another: only the labels change, all other bytes stay."""

from __future__ import annotations

from itertools import pairwise

import numpy as np

from palmette.data.corpus import Corpus
from palmette.data.files import FilePath
from palmette.data.formats.registry import load_format, stream_corpus
from palmette.data.formats.spec import FormatSpec
from palmette.data.labels.schemes import convert_labels, scheme_named, split_label
from palmette.data.stream import Processed, Progress, process_file
from palmette.errors import DataError, UsageError


def convert_file(
    source: FilePath, target: FilePath, to: str = "iobes", *, spec: FormatSpec | None = None,
    output_encoding: str | None = None, progress: Progress | None = None,
) -> int:  # fmt: skip
    """Write a labelled file with its labels in the tag scheme `to` (iob1, iob2, ioe1, ioe2, iobes, bilou, ...); returns
    the number of tokens. `spec`: how to read the file, if its name and first lines do not show it. `output_encoding`:
    another one than that of the file."""
    scheme_named(to)
    found = (spec or FormatSpec()).resolved(source).labelled()
    relabel = load_format(found.format).relabel
    if relabel is None:
        raise UsageError(f"the format {found.format} has no labels to convert")

    def work(corpus: Corpus) -> Processed:
        ids, labels = _converted(corpus, to)
        return Processed(relabel(corpus, found, ids, labels), (corpus.n_tokens,))

    encoding = found.encoding if output_encoding is None else output_encoding
    return sum(process_file(stream_corpus(source, found), work, target, progress=progress, encoding=encoding))


def _converted(corpus: Corpus, to: str) -> tuple[np.ndarray, list[str]]:
    """The converted labels of a corpus: numbers i32[N] and the labels."""
    if corpus.labels is None or not corpus.n_tokens:
        return np.zeros(0, np.int32), []
    for k, label in enumerate(corpus.labels.types):
        if not split_label(label)[0]:
            token = int(np.argmax(corpus.labels.ids == k))
            raise DataError(
                f"the label {label!r} is no chunk label", file=corpus.source, line=corpus.line_of(token),
                hint="expected O, or a letter and a type, such as B-NP; choose the label's column with --label",
            )  # fmt: skip
    cells = corpus.labels.cells()
    numbers: dict[str, int] = {}
    ids = [
        numbers.setdefault(label, len(numbers))
        for start, end in pairwise(corpus.offset.tolist())
        for label in convert_labels(cells[start:end], to)
    ]
    return np.array(ids, np.int32), list(numbers)
