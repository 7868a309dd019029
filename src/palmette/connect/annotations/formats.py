"""Files of annotators as formats: documents become sentences of tokens, their spans labels in IOB2, and back."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import islice

from palmette.connect.annotations.align import Alignment, corpus_of, documents_of
from palmette.connect.annotations.files import SINKS, brat_documents, lines_of, parse_documents
from palmette.data.analysed import Document
from palmette.data.corpus import Corpus
from palmette.data.files import FilePath, shown
from palmette.data.formats.jsonl import write_objects
from palmette.data.formats.labelling import Labelling, token_records, write_cells
from palmette.data.formats.raw import cutter
from palmette.data.formats.registry import Format, Output, Parser
from palmette.data.formats.spec import ANNOTATORS, FormatSpec
from palmette.data.notes import Notes
from palmette.data.stream import LINES
from palmette.data.text import read_text

_MARGINALS = "formats of annotators have no place for marginals: write jsonl"
_SCORES = "formats of annotators have no place for scores of sentences, only for confidences; write jsonl"
_CONFIDENCE = "doccano has no place for confidences: write prodigy, labelstudio, brat or jsonl"


def _writer(format: str) -> Callable[[Labelling], bytes]:
    def write(given: Labelling) -> bytes:
        notes = Notes()
        made = lines_of(documents_of(given, notes, whole=format == "brat"), format, notes)
        notes.log()
        return made

    return write


OUTPUTS = {
    format: Output(
        _writer(format),
        {"marginals": _MARGINALS, "scores": _SCORES, **({"confidence": _CONFIDENCE} if format == "doccano" else {})},
        SINKS[format],
    )
    for format in ANNOTATORS
}


def alignment(spec: FormatSpec) -> Alignment:
    return Alignment(cutter(spec.unit), spec.split_at_spans, spec.penn_quotes, spec.has_label is not False)


def corpus_from(documents: list[Document], spec: FormatSpec, source: str, notes: Notes) -> Corpus:
    """A corpus with what was noted; what concerns spans only is forgotten if they are not read."""
    how = alignment(spec)
    notes = notes if how.labelled else Notes()
    corpus = corpus_of(documents, how, source, notes)
    corpus.notes = notes
    return corpus


def _parser(spec: FormatSpec, source: str) -> Parser:
    alignment(spec)

    def parse(data: bytes, first_line: int) -> Corpus:
        notes = Notes()
        return corpus_from(parse_documents(data, spec, source, first_line, notes), spec, source, notes)

    return parse


def _read_tasks(path: FilePath, spec: FormatSpec, most: int) -> Iterator[Corpus]:
    notes = Notes()
    documents = parse_documents(read_text(path, spec), spec, shown(path), 1, notes)
    yield from _grouped(iter(documents), spec, path, notes, most)


def _read_folder(path: FilePath, spec: FormatSpec, most: int) -> Iterator[Corpus]:
    notes = Notes()
    yield from _grouped(brat_documents(path, spec, notes), spec, path, notes, most)


def _grouped(
    documents: Iterator[Document], spec: FormatSpec, path: FilePath, notes: Notes, most: int
) -> Iterator[Corpus]:
    """Corpora of at most `most` documents each. The readers of the documents add to the notes on their way."""
    while True:
        group = list(islice(documents, most))
        found = Notes()
        found.take(notes)
        notes.clear()
        yield corpus_from(group, spec, shown(path), found)
        if len(group) < most:
            return


def _outputs(own: str) -> dict[str, Output]:
    """The format itself first, which is the default."""
    names = [own, *(name for name in ANNOTATORS if name != own)]
    return {name: OUTPUTS[name] for name in names} | {"columns": Output(write_cells), "jsonl": Output(write_objects)}


PRODIGY = Format(_parser, LINES, _outputs("prodigy"), records=token_records)
DOCCANO = Format(_parser, LINES, _outputs("doccano"), records=token_records)
LABELSTUDIO = Format(_parser, LINES, _outputs("labelstudio"), records=token_records, read=_read_tasks)
BRAT = Format(_parser, LINES, _outputs("brat"), records=token_records, read=_read_folder)
