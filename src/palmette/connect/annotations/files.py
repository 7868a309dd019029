"""Documents from files of any format, and written for annotators: brat, doccano, Label Studio, Prodigy."""

from __future__ import annotations

import contextlib
import os
import re
from collections.abc import Callable, Iterable, Iterator
from itertools import islice
from typing import TYPE_CHECKING, Any, BinaryIO, cast

import msgspec

from palmette.connect.annotations import brat, doccano, labelstudio, prodigy
from palmette.connect.annotations.align import documents_of
from palmette.connect.annotations.folders import files_in, new_folder, path_in
from palmette.connect.annotations.shared import AnnotationKeys, decoded, left_out, note_losses
from palmette.data.analysed import ACCEPT, IGNORE, REJECT, At, Document, TextSpan
from palmette.data.corpus import Corpus
from palmette.data.files import FilePath, check_output, is_standard, read_all, shown
from palmette.data.formats.labelling import labelling_of
from palmette.data.formats.registry import stream_corpus
from palmette.data.formats.spec import ANNOTATORS, FormatSpec
from palmette.data.notes import Notes
from palmette.data.stream import LINES, Processed, cut_blocks, process_file
from palmette.data.text import UTF8, check_utf8, is_utf8, read_text, write_text
from palmette.errors import DataError, UsageError
from palmette.options.spelling import argument, named, spelt

if TYPE_CHECKING:
    from palmette.data.convert import Work

# Annotators' files as documents.

_LineReader = Callable[[Any, At, AnnotationKeys, Notes], Document]
LINE_READERS: dict[str, _LineReader] = {prodigy.NAME: prodigy.read_task, doccano.NAME: doccano.read_line}
TXT, ANN = ".txt", ".ann"


def reading(spec: FormatSpec) -> AnnotationKeys:
    """How a file is read by its specification."""
    if spec.columns is not None and len(spec.columns) != 1:
        raise UsageError(
            f"{spec.format} has one text: give one key by {named(type(spec), 'columns')}, not {len(spec.columns)}"
        )
    return AnnotationKeys(None if spec.columns is None else spec.columns[0], spec.label, spec.offsets)


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
        yield sound(_read_pair(stem, os.path.basename(stem), spec, notes, ending == ANN), notes)
        return
    found = [text[: -len(TXT)] for text in files_in(name, TXT)]
    if alone := {text[: -len(ANN)] for text in files_in(name, ANN)} - set(found):
        raise DataError("annotations without a text", file=os.path.join(name, min(alone) + ANN))
    if not found:
        raise DataError("no .txt in the folder", file=shown(path), hint="brat has pairs of .txt and .ann")
    for each in found:
        yield sound(_read_pair(os.path.join(name, each), each, spec, notes), notes)


def _read_pair(stem: str, name: str, spec: FormatSpec, notes: Notes, annotated: bool = False) -> Document:
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


# Files of annotators written piece by piece, whole or not at all.
#
# Prodigy and doccano are lines. Label Studio is one list. brat is two files per document: `NAME.ann` as target writes
# NAME.txt and NAME.ann, all documents in one text with a line end between them; any other target is a new folder with a
# pair per document.

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

        class TaskSink:
            def write(self, data: bytes) -> int:
                nonlocal begun
                if data:
                    out.write((b",\n" if begun else b"[") + data)
                    begun = True
                return len(data)

        yield cast(BinaryIO, TaskSink())
        out.write(b"]\n" if begun else b"[]\n")


@contextlib.contextmanager
def brat_sink(path: FilePath, encoding: str = UTF8) -> Iterator[BinaryIO]:
    name = os.fspath(path)
    if is_standard(name):
        raise UsageError("brat has two files per text: give -o NAME.ann, or a new folder: -o FOLDER")
    pair = name.endswith((".ann", ".txt"))
    if pair:
        for each in _pair_names(name):
            check_output(each)
    documents: list[Document] = []

    class PairSink:
        def write(self, data: bytes) -> int:
            for line in data.split(b"\n")[:-1]:
                document = _documents.decode(line)
                glued = document.format == "raw" and documents and documents[-1].format == "raw"
                if glued:
                    documents[-1] = _glued(documents[-1], document, "")
                else:
                    documents.append(document)
            return len(data)

    yield cast(BinaryIO, PairSink())
    if pair:
        whole = documents[0] if documents else Document("", [])
        notes = Notes()
        for document in documents if len(documents) > 1 else []:
            notes.add("others", document.place, document.others if document.format == brat.NAME else 0)
        for document in documents[1:]:
            whole = _glued(whole, document, "\n")
        _write_pair(_pair_names(name), whole, encoding)
        notes.log()
    else:
        with new_folder(name) as folder:
            for stem, document in zip(_names(documents, name), documents, strict=True):
                _write_pair(_pair_names(path_in(folder, f"{stem}.ann")), document, encoding)


def _pair_names(name: str) -> tuple[str, str]:
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
            hint="choose another name: the text is written next to the annotations",
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


# Documents from files of any format, and written for annotators.

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


# Conversions into formats of annotators: documents as they are, or made of labelled tokens.


def to_documents(work: Work, format: str) -> None:
    """Do a conversion into a format of annotators."""
    from palmette.data.convert import ChunkCount, note_columns

    if work.to is not None:
        raise UsageError(f"{format} has spans and no tag scheme: leave {argument('to')} out")
    seen, report = ChunkCount(), work.report

    def count(corpus: Corpus) -> None:
        seen(corpus)
        note_columns(corpus, report)
        report.tokens += corpus.n_tokens
        report.sentences += corpus.n_sentences

    def write(group: list[Document]) -> Processed:
        kept = writable(group, format, report.notes)
        report.spans += sum(len(document.spans) for document in kept)
        return Processed(lines_of(kept, format, report.notes), (report.tokens, len(kept)))

    groups = stream_documents(work.source, work.spec, report.notes, whole=format == "brat", seen=count)
    opened = SINKS[format]
    done = process_file(groups, write, work.target, progress=work.progress, encoding=work.encoding, opened=opened)
    report.documents = done[1] if done else 0
    seen.tell(report)
