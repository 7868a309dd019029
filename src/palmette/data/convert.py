"""Conversion of files: from any format that is read to any that is written, from one tag scheme to another, from one
encoding to another; with an account of what was repaired, changed or lost.

If the format stays, only the labels change and all other bytes stay. From one annotator's format to another documents
are converted as they are, without tokens. Everything else goes through tokens and labels.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from itertools import pairwise
from typing import Any, NamedTuple, cast, overload

import msgspec
import numpy as np

from palmette.data.corpus import Corpus
from palmette.data.files import FilePath, check_apart
from palmette.data.formats.labelling import check_labels, labelling_of
from palmette.data.formats.registry import load_format, stream_corpus
from palmette.data.formats.spec import ANNOTATORS, FORMATS, FormatSpec
from palmette.data.labels.repair import violations
from palmette.data.labels.schemes import (
    HYPHEN,
    SCHEMES,
    SPELLINGS,
    Bare,
    Grobid,
    Lettered,
    Span,
    are_chunk_labels,
    from_spans,
    reading,
    scheme_named,
    spans,
    spans_in,
    split_label,
)
from palmette.data.notes import MOST_PLACES, Notes
from palmette.data.stream import Processed, Progress, process_file
from palmette.errors import DataError, UsageError, counted
from palmette.lazy import loaded
from palmette.options.spelling import named

# Labels of one tag scheme in another, through spans.

logger = logging.getLogger(__name__)


@overload
def convert_labels(labels: Sequence[str], to: str = "iobes", source: str | None = None) -> list[str]: ...
@overload
def convert_labels(labels: Sequence[list[str]], to: str = "iobes", source: str | None = None) -> list[list[str]]: ...
def convert_labels(
    labels: Sequence[str] | Sequence[list[str]], to: str = "iobes", source: str | None = None
) -> list[str] | list[list[str]]:
    """The labels of a sentence, or of several sentences, in another tag scheme, whose name also chooses the letters
    (iobes: E and S; bilou: L and U). Any scheme is read; ill-formed input is read by conlleval's rules. `source`: the
    scheme of the labels, which only `bare` must name. A warning counts chunks that the new labels cannot express.

    >>> convert_labels(["B-NP", "I-NP", "O"])
    ['B-NP', 'E-NP', 'O']
    >>> convert_labels(["I-<day>", "<day>", "I-<other>"], "iob2")
    ['B-day', 'I-day', 'O']
    """
    if isinstance(labels, str):
        raise UsageError("labels are a list of strings, or a list of such lists")
    single = all(isinstance(label, str) for label in labels)
    sentences = [cast(Sequence[str], labels)] if single else cast(Sequence[Sequence[str]], labels)
    made, lost = convert_sentences(sentences, to, source)
    if lost:
        logger.warning("%s", lost_said(len(lost), to))
    return made[0] if single else made


class Converted(NamedTuple):
    """Sentences in another scheme, and the chunks (with the number of their sentence) that it cannot express."""

    labels: list[list[str]]
    lost: list[tuple[int, Span]]


def convert_sentences(sentences: Sequence[Sequence[str]], to: str, source: str | None = None) -> Converted:
    """As `convert_labels`, and which chunks are lost: those that reading the new labels does not give back. Only bare
    labels lose some: neighbours of equal type, and the type O; GROBID's labels lose the type other."""
    notation = reading({label for sentence in sentences for label in sentence}, source) or HYPHEN
    letters = scheme_named(source).letters if source else "BIESO"
    spelling = SPELLINGS.get(to.upper(), {})
    made, lost = [], []
    for s, sentence in enumerate(sentences):
        chunks = spans_in(sentence, notation, letters)
        labels = from_spans(chunks, len(sentence), to)
        if scheme_named(to).notation != Lettered.kind:
            kept = set(spans(labels, to))
            lost += [(s, chunk) for chunk in chunks if chunk not in kept]
        made.append([spelling.get(label[0], label[0]) + label[1:] for label in labels] if spelling else labels)
    return Converted(made, lost)


def lost_said(n: int, to: str) -> str:
    """What is reported of lost chunks."""
    why = {
        Bare.kind: "neighbours of equal type become one, and O is outside",
        Grobid.kind: "<other> is outside",
    }[scheme_named(to).notation]
    return f"{counted(n, 'chunk')} cannot be expressed by {to} labels: {why}"


WITH_COLUMNS = ("columns", "attributes")  # formats that have all columns
SAME = "iobes"  # the scheme that is written if neither a scheme nor a format is asked for


class Conversion(msgspec.Struct):
    """An account of a conversion. Chunks are ill-formed in the scheme that the fewest are ill-formed in."""

    tokens: int = 0
    sentences: int = 0
    documents: int = 0
    format: str = ""  # that was written
    spans: int = 0  # written, in documents
    labels_changed: int = 0  # tokens whose label is written differently
    chunks: int = 0
    scheme: str | None = None  # of the input; None: its labels are no chunks, or it has none
    ill_formed: int = 0
    ill_formed_places: list[str] = []
    notes: Notes = msgspec.field(default_factory=Notes)

    def to_dict(self) -> dict[str, Any]:
        """As plain JSON types."""
        about = {name: getattr(self, name) for name in self.__struct_fields__ if name != "notes"}
        return about | {
            "lost": self.notes.total("lost"),
            "moved": self.notes.total("moved"),
            "notes": self.notes.to_dict(),
        }

    def messages(self) -> list[tuple[str, str]]:
        """Return the messages, as pairs of moved, lost or kept and a sentence."""
        made = []
        if self.ill_formed:
            places = "; ".join(self.ill_formed_places) + (" ..." if self.ill_formed > MOST_PLACES else "")
            made.append((
                "moved", f"{self.ill_formed:,} of {counted(self.chunks, 'chunk')} ill-formed in {self.scheme} "
                f"({places}); read as conlleval reads them",
            ))  # fmt: skip
        if self.labels_changed:
            made.append(("kept", f"{counted(self.labels_changed, 'label')} changed"))
        return made + list(self.notes.messages())


class ChunkCount:
    """The chunks of the corpora that were read, and the ill-formed ones by scheme."""

    def __init__(self) -> None:
        self.chunks = 0
        self.are_chunks: bool | None = None
        self.wrong = dict.fromkeys(SCHEMES, 0)
        self.places: dict[str, list[str]] = {name: [] for name in SCHEMES}

    def __call__(self, corpus: Corpus) -> None:
        if corpus.labels is None or not corpus.n_tokens or self.are_chunks is False:
            return
        labels = corpus.labels.types
        if any(not split_label(label)[0] for label in labels):
            self.are_chunks = False
            return
        self.are_chunks = self.are_chunks or are_chunk_labels(labels)
        for name in SCHEMES:
            found = violations(labels, corpus.labels.ids, corpus.offset, name)
            self.wrong[name] += found.tokens.size
            room = MOST_PLACES - len(self.places[name])
            self.places[name] += [corpus.place(token) for token in found.tokens[:room].tolist()]
        self.chunks += found.chunks

    def tell(self, report: Conversion) -> None:
        if self.are_chunks:
            report.scheme = min(SCHEMES, key=lambda name: self.wrong[name])
            report.chunks, report.ill_formed = self.chunks, self.wrong[report.scheme]
            report.ill_formed_places = self.places[report.scheme]


def convert_file(
    source: FilePath, target: FilePath, to: str | None = None, *, output_format: str | None = None,
    spec: FormatSpec | None = None, output_encoding: str | None = None, report: Conversion | None = None,
    progress: Progress | None = None,
) -> int:  # fmt: skip
    """Write a file in another tag scheme, format or encoding; returns the number of tokens.

    to: the tag scheme (iob1, iob2, ioe1, ioe2, iobes, bilou, ...); None: labels stay, but without `output_format` they
    become iobes. output_format: columns, jsonl, conllu, attributes, prodigy, labelstudio, doccano or brat; None: as the
    input. spec: how to read the file, if its name and first lines do not show it. output_encoding: another one than
    that of the file. report: is filled with what was repaired, changed and lost; otherwise losses are logged."""
    check_apart([target], [source])
    found = (spec or FormatSpec()).resolved(source)
    format = output_format or found.format
    if output_format is None and to is None and format not in ANNOTATORS:
        to = SAME
    if to is not None:
        scheme_named(to)
    account = Conversion() if report is None else report
    account.format = format
    encoding = found.encoding if output_encoding is None else output_encoding
    work = Work(source, target, found, to, encoding, account, progress)
    if format in ANNOTATORS:
        loaded(FORMATS[format].convert)(work, format)
    elif format == found.format:
        work.relabelled()
    else:
        work.made(format)
    if report is None:
        account.notes.log()
    return account.tokens


class Work(msgspec.Struct):
    """One conversion."""

    source: FilePath
    target: FilePath
    spec: FormatSpec
    to: str | None
    encoding: str
    report: Conversion
    progress: Progress | None

    def relabelled(self) -> None:
        """Write the format of the input: the labels change, all other bytes stay."""
        spec = self.spec.labelled()
        relabel = load_format(spec.format).relabel
        if relabel is None:
            raise UsageError(f"the format {spec.format} has no labels to convert")

        def work(corpus: Corpus, ids: np.ndarray, labels: list[str]) -> bytes:
            return relabel(corpus, spec, ids, labels)

        self._by_corpora(work)

    def made(self, format: str) -> None:
        """Another format of tokens."""
        from palmette.data.formats.attributes import MADE

        if format not in MADE:
            raise UsageError(f"unknown output format {format!r}: choose {', '.join([*MADE, *ANNOTATORS])}")
        if self.spec.format == "attributes":
            raise UsageError(
                f"attributes have no words to write as {format}: convert the file that they were made from"
            )

        def work(corpus: Corpus, ids: np.ndarray, labels: list[str]) -> bytes:
            check_labels(labels, format)
            if format not in WITH_COLUMNS:
                note_columns(corpus, self.report)
            given, labelled = labelling_of(corpus)
            return MADE[format](msgspec.structs.replace(given, ids=ids, labels=labels) if labelled else given, labelled)

        self._by_corpora(work)

    def _by_corpora(self, write: Any) -> None:
        seen, report = ChunkCount(), self.report

        def work(corpus: Corpus) -> Processed:
            seen(corpus)
            ids, labels = _converted(corpus, self.to)
            report.labels_changed += _changed(corpus, ids, labels)
            return Processed(write(corpus, ids, labels), (corpus.n_tokens, corpus.n_sentences))

        blocks = stream_corpus(self.source, self.spec.labelled(), notes=report.notes)
        done = process_file(blocks, work, self.target, progress=self.progress, encoding=self.encoding)
        report.tokens, report.sentences = done or (0, 0)
        seen.tell(report)


def note_columns(corpus: Corpus, report: Conversion) -> None:
    """Note once that columns other than the words are lost."""
    if len(corpus.columns) > 1 and "columns" not in report.notes.counts:
        report.notes.add("columns", corpus.source, len(corpus.columns) - 1)


def _converted(corpus: Corpus, to: str | None) -> tuple[np.ndarray, list[str]]:
    """The converted labels of a corpus: numbers i32[N] and the labels."""
    if corpus.labels is None or not corpus.n_tokens:
        return np.zeros(0, np.int32), []
    if to is None:
        return corpus.labels.ids, corpus.labels.types
    for k, label in enumerate(corpus.labels.types):
        if not split_label(label)[0] and not are_chunk_labels(corpus.labels.types):
            token = int(np.argmax(corpus.labels.ids == k))
            raise DataError(
                f"the label {label!r} is not a chunk label", file=corpus.source, line=corpus.line_of(token),
                hint="expected O, or a letter and a type, such as B-NP; choose the label's column by "
                + named(FormatSpec, "label"),
            )  # fmt: skip
    cells = corpus.labels.cells()
    numbers: dict[str, int] = {}
    sentences = [cells[start:end] for start, end in pairwise(corpus.offset.tolist())]
    ids = [numbers.setdefault(label, len(numbers)) for labels in convert_labels(sentences, to) for label in labels]
    return np.array(ids, np.int32), list(numbers)


def _changed(corpus: Corpus, ids: np.ndarray, labels: list[str]) -> int:
    """How many tokens have another label than before."""
    if corpus.labels is None or not ids.size:
        return 0
    before = {label: k for k, label in enumerate(corpus.labels.types)}
    new = np.array([before.get(label, -1) for label in labels], np.int64)
    return int(np.count_nonzero(new[ids] != corpus.labels.ids))
