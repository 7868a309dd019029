"""Conversions into formats of annotators: documents as they are, or made of labelled tokens."""

from __future__ import annotations

from palmette.connect.annotations.files import stream_documents, writable
from palmette.connect.annotations.sinks import SINKS, lines_of
from palmette.data.convert import Seen, Work, note_columns
from palmette.data.corpus import Corpus
from palmette.data.document import Document
from palmette.data.stream import Processed, process_file
from palmette.errors import UsageError
from palmette.options.spelling import argument


def to_documents(work: Work, format: str) -> None:
    """Do a conversion into a format of annotators."""
    if work.to is not None:
        raise UsageError(f"{format} has spans and no tag scheme: leave {argument('to')} out")
    seen, report = Seen(), work.report

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
