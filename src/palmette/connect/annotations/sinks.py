"""Files of annotators written piece by piece, whole or not at all.

Prodigy and doccano are lines. Label Studio is one list. brat is two files per document: `NAME.ann` as target writes
NAME.txt and NAME.ann, all documents in one text with a line end between them; any other target is a new folder with a
pair per document.
"""

from __future__ import annotations

import contextlib
import os
import re
from collections.abc import Callable, Iterable, Iterator
from typing import Any, BinaryIO, cast

import msgspec

from palmette.connect.annotations import brat, doccano, labelstudio, prodigy
from palmette.connect.annotations.shared import note_losses
from palmette.data.document import Document, TextSpan
from palmette.data.files import FilePath, check_output, is_standard, read_all
from palmette.data.folders import new_folder, path_in
from palmette.data.notes import Notes
from palmette.data.text import UTF8, write_text
from palmette.errors import DataError, UsageError

_PART = re.compile(r"[^\x00/\\]+")
_documents = msgspec.json.Decoder(Document)


def lines_of(documents: Iterable[Document], format: str, notes: Notes) -> bytes:
    """A piece for the sink of a format: lines, but for Label Studio tasks with commas between them, and for brat
    documents in JSON."""
    if format == labelstudio.NAME:
        return b",\n".join(labelstudio.write_task(document, notes) for document in documents)
    if format == brat.NAME:
        documents = list(documents)
        for document in documents:
            note_losses(document, format, notes, meta=False, score=True)
            notes.add("trimmed", document.place, sum(brat.loses_edge(document.text, span) for span in document.spans))
        return b"".join(msgspec.json.encode(document) + b"\n" for document in documents)
    write = {prodigy.NAME: prodigy.write_task, doccano.NAME: doccano.write_line}[format]
    return b"".join(write(document, notes) for document in documents)


@contextlib.contextmanager
def label_studio_sink(path: FilePath, encoding: str = UTF8) -> Iterator[BinaryIO]:
    with write_text(path, encoding) as out:
        begun = False

        class Sink:
            def write(self, data: bytes) -> int:
                nonlocal begun
                if data:
                    out.write((b",\n" if begun else b"[") + data)
                    begun = True
                return len(data)

        yield cast(BinaryIO, Sink())
        out.write(b"]\n" if begun else b"[]\n")


@contextlib.contextmanager
def brat_sink(path: FilePath, encoding: str = UTF8) -> Iterator[BinaryIO]:
    name = os.fspath(path)
    if is_standard(name):
        raise UsageError("brat has two files per text: give -o NAME.ann, or a new folder: -o FOLDER")
    pair = name.endswith((".ann", ".txt"))
    if pair:
        for each in _pair(name):
            check_output(each)
    documents: list[Document] = []

    class Sink:
        def write(self, data: bytes) -> int:
            for line in data.split(b"\n")[:-1]:
                document = _documents.decode(line)
                glued = document.format == "raw" and documents and documents[-1].format == "raw"
                if glued:
                    documents[-1] = _glued(documents[-1], document, "")
                else:
                    documents.append(document)
            return len(data)

    yield cast(BinaryIO, Sink())
    if pair:
        whole = documents[0] if documents else Document("", [])
        notes = Notes()
        for document in documents if len(documents) > 1 else []:
            notes.add("others", document.place, document.others if document.format == brat.NAME else 0)
        for document in documents[1:]:
            whole = _glued(whole, document, "\n")
        _write_pair(_pair(name), whole, encoding)
        notes.log()
    else:
        with new_folder(name) as folder:
            for stem, document in zip(_names(documents, name), documents, strict=True):
                _write_pair(_pair(path_in(folder, f"{stem}.ann")), document, encoding)


def _pair(name: str) -> tuple[str, str]:
    """The names of text and annotations."""
    return name[:-4] + ".txt", name[:-4] + ".ann"


def _glued(one: Document, other: Document, between: str) -> Document:
    """Two documents as one. Lines that refer to spans of a document by their numbers cannot be kept."""
    shift = len(one.text) + len(between)

    def moved(span: TextSpan) -> TextSpan:
        pieces = tuple((a + shift, b + shift) for a, b in span.fragments)
        return msgspec.structs.replace(span, start=span.start + shift, end=span.end + shift, fragments=pieces)

    spans = one.spans + [moved(span) for span in other.spans]
    made = Document(one.text + between + other.text, spans, {**one.meta, **other.meta}, name=one.name, place=one.place)
    made.format = "raw" if one.format == "raw" else ""
    return made


def _write_pair(names: tuple[str, str], document: Document, encoding: str) -> None:
    """Write a pair. A text that is there already stays, and must be the same."""
    lines = brat.annotation_lines(document)
    there = os.path.lexists(names[0])
    if there and read_all(names[0], keep_mark=True) != document.text.encode(encoding, errors="replace"):
        raise DataError(
            "cannot write: it exists, and is not the text of these annotations", file=names[0],
            hint="choose another name: the text is written beside the annotations",
        )  # fmt: skip
    with contextlib.ExitStack() as stack:
        if not there:
            stack.enter_context(write_text(names[0], encoding)).write(document.text.encode())
        stack.enter_context(write_text(names[1], encoding)).write(lines.encode())


def _names(documents: list[Document], folder: str) -> Iterator[str]:
    """A file name for each document: its own if it has one, else its number."""
    used: set[str] = set()
    digits = len(str(len(documents)))
    for number, document in enumerate(documents, 1):
        name = document.name or f"{number:0{digits}}"
        if any(not _PART.fullmatch(part) or part in (".", "..") for part in name.split("/")):
            raise DataError(f"{name!r} cannot be the name of a file", file=folder)
        if name in used:
            raise DataError(f"two documents have the name {name!r}", file=folder)
        used.add(name)
        yield name


SINKS: dict[str, Callable[[FilePath, str], Any]] = {
    prodigy.NAME: write_text,
    labelstudio.NAME: label_studio_sink,
    doccano.NAME: write_text,
    brat.NAME: brat_sink,
}
