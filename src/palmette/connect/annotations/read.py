"""Annotators' files as documents."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from typing import Any

import msgspec

from palmette.connect.annotations import brat, doccano, labelstudio, prodigy
from palmette.connect.annotations.shared import Reading
from palmette.connect.annotations.values import decoded
from palmette.data.document import At, Document
from palmette.data.files import FilePath, read_all, shown
from palmette.data.folders import files_in
from palmette.data.formats.spec import FormatSpec
from palmette.data.notes import Notes
from palmette.data.text import check_utf8, is_utf8
from palmette.errors import DataError, UsageError
from palmette.options.spelling import named, spelt

_LineReader = Callable[[Any, At, Reading, Notes], Document]
LINE_READERS: dict[str, _LineReader] = {prodigy.NAME: prodigy.read_task, doccano.NAME: doccano.read_line}
TXT, ANN = ".txt", ".ann"


def reading(spec: FormatSpec) -> Reading:
    """How a file is read by its specification."""
    if spec.columns is not None and len(spec.columns) != 1:
        raise UsageError(
            f"{spec.format} has one text: give one key by {named(type(spec), 'columns')}, not {len(spec.columns)}"
        )
    return Reading(None if spec.columns is None else spec.columns[0], spec.label, spec.offsets)


def parse_documents(data: bytes, spec: FormatSpec, source: str, first_line: int, notes: Notes) -> list[Document]:
    """The documents of whole lines (prodigy, doccano) or of a whole file (labelstudio), in UTF-8."""
    check_utf8(data, source, first_line)
    how, text = reading(spec), data.decode()
    if spec.format == labelstudio.NAME:
        made = labelstudio.read_tasks(text, source, how, notes)
    else:
        read = LINE_READERS[spec.format]
        made = []
        for number, line in enumerate(text.split("\n"), first_line):
            if line.strip():
                at = At(source, number)
                made.append(read(decoded(line, at), at, how, notes))
    return [sound(document, notes) for document in made]


def sound(document: Document, notes: Notes) -> Document:
    """A document without spans whose offsets are not in its text."""
    size = len(document.text)
    good = [span for span in document.spans if all(0 <= start <= end <= size for start, end in span.pieces)]
    notes.add("outside", document.place, len(document.spans) - len(good))
    return document if len(good) == len(document.spans) else msgspec.structs.replace(document, spans=good)


def brat_documents(path: FilePath, spec: FormatSpec, notes: Notes) -> Iterator[Document]:
    """The documents of a folder, or the one whose text or annotations are given."""
    name = os.fspath(path)
    if not os.path.isdir(name):
        stem, ending = os.path.splitext(name)
        if ending not in (TXT, ANN):
            raise DataError("neither a folder nor .txt nor .ann", file=shown(path), hint="brat has pairs of these")
        yield sound(_pair(stem, os.path.basename(stem), spec, notes, ending == ANN), notes)
        return
    found = [text[: -len(TXT)] for text in files_in(name, TXT)]
    if alone := {text[: -len(ANN)] for text in files_in(name, ANN)} - set(found):
        raise DataError("annotations without a text", file=os.path.join(name, min(alone) + ANN))
    if not found:
        raise DataError("no .txt in the folder", file=shown(path), hint="brat has pairs of .txt and .ann")
    for each in found:
        yield sound(_pair(os.path.join(name, each), each, spec, notes), notes)


def _pair(stem: str, name: str, spec: FormatSpec, notes: Notes, annotated: bool = False) -> Document:
    """A text with its annotations, which must exist if it is `annotated`."""
    lines = _content(stem + ANN, spec) if annotated or os.path.lexists(stem + ANN) else None
    return brat.read_pair(_content(stem + TXT, spec), lines, stem + ANN, name, notes)


def _content(path: str, spec: FormatSpec) -> str:
    """A file with its line ends and its byte order mark as they are: offsets count them."""
    data = read_all(path, keep_mark=path.endswith(TXT))
    if is_utf8(spec.encoding):
        check_utf8(data, path)
    try:
        return data.decode(spec.encoding)
    except UnicodeError as error:
        hint = f"choose another one: {spelt(type(spec), 'encoding')}"
        raise DataError(f"not {spec.encoding}: {error}", file=path, hint=hint) from None
