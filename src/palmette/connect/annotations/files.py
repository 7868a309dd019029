"""Documents from files of any format, and written for annotators."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from itertools import islice

from palmette.connect.annotations.labelled import documents_of
from palmette.connect.annotations.read import brat_documents, parse_documents, sound
from palmette.connect.annotations.shared import left_out
from palmette.connect.annotations.sinks import SINKS, lines_of
from palmette.data.corpus import Corpus
from palmette.data.document import ACCEPT, IGNORE, REJECT, Document
from palmette.data.files import FilePath, shown
from palmette.data.formats.labelling import labelling_of
from palmette.data.formats.registry import stream_corpus
from palmette.data.formats.spec import ANNOTATORS, FormatSpec
from palmette.data.notes import Notes
from palmette.data.stream import LINES, cut_blocks
from palmette.data.text import UTF8, read_text
from palmette.errors import DataError, UsageError

TOGETHER = 1000
"""Documents that are written at a time."""


def stream_documents(
    path: FilePath, spec: FormatSpec, notes: Notes, *, whole: bool = False, seen: Callable[[Corpus], None] | None = None
) -> Iterator[list[Document]]:
    """The documents of a file in groups; `spec` is resolved. Labelled tokens become documents as `documents_of` makes
    them (`whole`: all of a raw text is one), after `seen` has seen their corpus."""
    if spec.format in ANNOTATORS:
        spec.check_applies()
    if spec.format == "brat":
        documents = brat_documents(path, spec, notes)
        while group := list(islice(documents, TOGETHER)):
            yield group
    elif spec.format == "labelstudio":
        yield parse_documents(read_text(path, spec), spec, shown(path), 1, notes)
    elif spec.format in ANNOTATORS:
        for line, data in cut_blocks(path, LINES, spec=spec):
            yield parse_documents(data, spec, shown(path), line, notes)
    else:
        for corpus in stream_corpus(path, spec.labelled(), notes=notes):
            if seen is not None:
                seen(corpus)
            given, labelled = labelling_of(corpus)
            documents_made = documents_of(given, notes, answer=ACCEPT, whole=whole)
            for document in documents_made:
                document.answer = ACCEPT if labelled else None
            yield documents_made


def writable(documents: Iterable[Document], format: str, notes: Notes) -> list[Document]:
    """The documents that a format can say what became of. Only Prodigy knows rejected ones; Label Studio cancelled."""
    known = {"prodigy": (REJECT, IGNORE), "labelstudio": (IGNORE,)}.get(format, ())
    return [
        document
        for document in documents
        if document.answer not in (REJECT, IGNORE) or document.answer in known or not left_out(document, notes)
    ]


def read_documents(path: FilePath, format: str | None = None, *, spec: FormatSpec | None = None) -> list[Document]:
    """The documents of a file: texts with spans by characters. `format`: prodigy, labelstudio, doccano, brat, or any
    format of labelled tokens or raw text; None: by its name and content. What could not be kept as it was is logged."""
    given = spec or FormatSpec()
    if format is not None:
        given = given.replace(format=format)
    notes = Notes()
    found = [document for group in stream_documents(path, given.resolved(path), notes) for document in group]
    notes.log()
    return found


def write_documents(
    documents: Iterable[Document], path: FilePath, format: str, *, encoding: str = UTF8
) -> None:  # fmt: skip
    """Write documents for an annotator's tool: prodigy, labelstudio, doccano or brat; whole or not at all. What the
    format cannot keep is logged."""
    if format not in ANNOTATORS:
        raise UsageError(f"documents are written as {', '.join(ANNOTATORS)}, not as {format}")
    notes = Notes()
    rest = iter(documents)
    with SINKS[format](path, encoding) as out:
        while group := list(islice(rest, TOGETHER)):
            kept = writable([sound(each, notes) for each in group], format, notes)
            try:
                out.write(lines_of(kept, format, notes))
            except UnicodeEncodeError as error:
                raise DataError(f"a string that is not valid Unicode: {error.object[error.start :][:20]!r}") from None
    notes.log()
