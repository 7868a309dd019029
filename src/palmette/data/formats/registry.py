"""Reading a file of any format, whole or as a stream of blocks in bounded memory. The table of formats is in `spec`."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from itertools import pairwise
from typing import TYPE_CHECKING, Any, BinaryIO, NamedTuple

import msgspec
import numpy as np

from palmette.data.corpus import Corpus, check_cells
from palmette.data.files import FilePath, shown
from palmette.data.formats.labelling import (
    NO_CONFIDENCE,
    Confidence,
    ConfidenceOutput,
    Labelling,
    RowTexts,
    check_labels,
    row_texts,
)
from palmette.data.formats.spec import ANNOTATORS, FORMATS, FormatSpec
from palmette.data.stream import BLOCK, Cut, cut_blocks
from palmette.data.text import read_text, write_text
from palmette.errors import UsageError
from palmette.kernels.io.columns import OTHER_LINE
from palmette.lazy import loaded
from palmette.options.spelling import argument

if TYPE_CHECKING:
    from palmette.data.notes import Notes


# What a file format consists of. Each module of a format makes a `Format`; the table of all is in `spec`.

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


DOCUMENT = 1 << 10
"""Bytes that a document counts as where documents are read at once."""


def load_format(name: str) -> Format:
    """The format with this name."""
    if name not in FORMATS:
        raise UsageError(f"unknown format {name!r}: choose {', '.join(FORMATS)}")
    found: Format = loaded(FORMATS[name].home)
    return found


class CheckedParser:
    """The parser for a resolved specification, with the limit of cells; `source` names the file in messages."""

    def __init__(self, spec: FormatSpec, source: str) -> None:
        spec.check_applies()
        self.max_cell = spec.max_cell
        self.parser: Parser = load_format(spec.format).parser(spec, source)

    def __call__(self, data: bytes, first_line: int) -> Corpus:
        corpus = self.parser(data, first_line)
        check_cells(corpus, self.max_cell)
        return corpus

    def report(self) -> None:
        """Log the messages of the parser at the end of a file, if any."""
        if (report := getattr(self.parser, "report", None)) is not None:
            report()


def read_corpus(path: FilePath, spec: FormatSpec | None = None, notes: Notes | None = None) -> Corpus:
    """A whole file. What the reader could not keep as it was is added to `notes`, or logged."""
    spec = (spec or FormatSpec()).resolved(path)
    if load_format(spec.format).read is not None:
        corpus = next(_blocks(path, spec, sys.maxsize))
    else:
        parse = CheckedParser(spec, shown(path))
        corpus = parse(read_text(path, spec), 1)
        parse.report()
    if corpus.notes is not None:
        if notes is None:
            corpus.notes.log()
        else:
            notes.take(corpus.notes)
    return corpus


def stream_corpus(
    path: FilePath, spec: FormatSpec | None = None, block: int = BLOCK, notes: Notes | None = None
) -> Iterator[Corpus]:
    """A file as corpora of about `block` bytes, cut between sentences; from a pipe, as soon as one has arrived.

    A sentence is never cut, however long. Separator, number of columns and place of the labels are derived from the
    first block and hold for all. Parts without a sentence are yielded too, with lines only, so that they can be
    written back. What the reader could not keep as it was is added to `notes`, or logged at the end.
    """
    spec = (spec or FormatSpec()).resolved(path)
    found = notes
    for corpus in _blocks(path, spec, block):
        if corpus.notes is not None:
            found = found if found is not None else type(corpus.notes)()
            found.take(corpus.notes)
        yield corpus
    if notes is None and found is not None:
        found.log()


def _blocks(path: FilePath, spec: FormatSpec, block: int) -> Iterator[Corpus]:
    row = load_format(spec.format)
    if row.read is not None:
        spec.check_applies()
        for corpus in row.read(path, spec, max(1, block // DOCUMENT)):
            check_cells(corpus, spec.max_cell)
            yield corpus
        return
    parse = CheckedParser(spec, shown(path))
    for line, data in cut_blocks(path, row.cut, block, spec):
        yield parse(data, line)
    parse.report()


# Labels written back: into the text of the input, or in a simpler format made from its cells


class Writer:
    """Writes corpora with predicted labels as bytes. It does not change, so several threads may use it.

    source: the format that was read. format: the format to write; None: the default for that source. scores: write
    the score of each sentence too: a line `# score ...` before it, or a key in JSON. confidence: also confidences.
    """

    def __init__(
        self,
        source: str,
        format: str | None,
        labels: Sequence[str],
        *,
        scores: bool = False,
        confidence: ConfidenceOutput = NO_CONFIDENCE,
    ) -> None:
        row = load_format(source)
        choices = row.outputs
        self.format = next(iter(choices)) if format in (None, "auto") else str(format)
        known = [*choices, *(name for name in ANNOTATORS if row.records is not None and name not in choices)]
        if self.format not in known:
            raise UsageError(f"from {source} one can write {', '.join(known)}, not {format}")
        if self.format not in choices:
            choices = load_format(self.format).outputs
        check_labels(labels, self.format)
        output = choices[self.format]
        wanted = {**confidence._asdict(), "scores": scores}
        for name, message in output.refuses.items():
            if wanted[name]:
                raise UsageError(f"{argument(name)}: {message} ({argument('output')})")
        self.labels, self.scores, self.confidence = list(labels), scores, confidence
        self._write = output.write
        self.opened = output.opened

    def write(
        self,
        corpus: Corpus,
        label_ids: np.ndarray,
        scores: np.ndarray | None = None,
        confidence: Confidence | None = None,
    ) -> bytes:
        """The text of a corpus with the labels i32[N] and, if the writer writes them, scores f64[S] and confidences."""
        if self.scores and scores is None:
            raise UsageError("scores are to be written, but none are given")
        ids = np.ascontiguousarray(label_ids, np.int32)
        return self._write(
            Labelling(corpus, ids, self.labels, scores if self.scores else None, confidence, self.confidence)
        )


# Single sentences of a corpus as text in the format that they were read from.

_ENDS = {"jsonl": b"\n", "text": b"\n"}  # what follows a sentence; elsewhere a blank line does


def sentence_texts(corpus: Corpus, format: str) -> list[bytes]:
    """Each sentence with what ends it; comments, ranges and empty nodes are parts of their sentence."""
    end = _ENDS.get(format, b"\n\n")
    if corpus.surface is not None:
        return [" ".join(text.split("\n")).encode() + end for text in corpus.surface.sentences]
    lines = corpus.lines
    assert lines is not None
    data = lines.data.tobytes()
    own = format != "jsonl"  # an object without tokens is a line of no sentence there
    made = []
    for start, stop in pairwise(corpus.offset.tolist()):
        first, last = int(lines.tokens[start]), int(lines.tokens[stop - 1])
        while own and first > 0 and lines.kind[first - 1] == OTHER_LINE:
            first -= 1
        while own and last + 1 < lines.kind.size and lines.kind[last + 1] == OTHER_LINE:
            last += 1
        made.append(data[lines.start[first] : lines.end[last]].rstrip(b"\r") + end)
    return made


def noted(text: bytes, name: str, value: float, format: str) -> bytes:
    """The text of a sentence with a figure: a key of a JSON object, else a comment line before it."""
    if format == "jsonl":
        return msgspec.json.encode(msgspec.json.decode(text) | {name: round(value, 6)}) + b"\n"
    equals = "= " if format == "conllu" else ""
    return f"# {name} {equals}{value:.6g}\n".encode() + text
