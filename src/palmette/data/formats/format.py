"""What a file format consists of. Each module of a format makes a `Format`; the table of all is in `spec`."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from typing import Any, BinaryIO, NamedTuple

import numpy as np

from palmette.data.corpus import Corpus
from palmette.data.files import FilePath
from palmette.data.formats.labelling import Labelling, RowTexts, row_texts
from palmette.data.formats.spec import FormatSpec
from palmette.data.stream import Cut
from palmette.data.text import write_text

Parser = Callable[[bytes, int], Corpus]
"""From bytes that end between sentences, and the number of their first line, to a corpus."""

Rows = Callable[[Corpus, Sequence[str]], RowTexts]
"""From a corpus and all labels to the text before the labels on the line of each token."""

Records = Callable[[Corpus], Iterator[tuple[dict[str, Any], int]]]
"""The JSON objects of a corpus, each with the number of its tokens; one without tokens has no sentence."""

Opened = Callable[[FilePath, str], AbstractContextManager[BinaryIO]]
"""A target, by its name and its encoding, that is written whole or not at all: as `text.write_text`."""

Relabel = Callable[[Corpus, FormatSpec, np.ndarray, Sequence[str]], bytes]
"""The text that a labelled corpus was read from, with other labels (numbers i32[N] of names) in place of its own."""


class Output(NamedTuple):
    """A way to write labels: from a labelling to bytes. `refuses`: options that it cannot write, each with the message
    to raise; the options are those of `ConfidenceOutput`, and scores. `opened`: what takes the bytes instead of a file,
    for formats that are more than their pieces one after another."""

    write: Callable[[Labelling], bytes]
    refuses: Mapping[str, str] = {}
    opened: Opened = write_text


class Format(NamedTuple):
    """One format: how to read it, where a stream may be cut, and what can be written from it."""

    parser: Callable[[FormatSpec, str], Parser]  # the second argument names the source in messages
    cut: Cut
    outputs: Mapping[str, Output]  # by name; the first is the default
    rows: Rows = row_texts  # for n-best lists in columns
    records: Records | None = None  # for n-best lists in JSON; None: there are no tokens to write
    relabel: Relabel | None = None  # None: the format has no labels
    # For formats that are not a stream of bytes that can be cut: reads a file, or a folder, as corpora of at most so
    # many documents
    read: Callable[[FilePath, FormatSpec, int], Iterator[Corpus]] | None = None
