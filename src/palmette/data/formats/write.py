"""Tags written back: the input's own text with the labels put in, or a simpler format made from its cells.

PAIRS is the table of what can be written from what; the first output of an input is its default. A Writer has
no state that changes, so several threads may use it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from copy import copy
from itertools import pairwise
from typing import Any

import msgspec
import numpy as np

from palmette.data.corpus import Corpus, Lines, bytes_of
from palmette.data.formats.attributes import escaped
from palmette.data.formats.columns import paste
from palmette.data.formats.jsonl import SCORE, TAGS, with_tags
from palmette.errors import DataError, UsageError
from palmette.kernels.io.columns import BLANK_LINE, HASH, OTHER_LINE, SPACE

MARK = "O"  # the label of document marks
BREAKING = re.compile(r"[\t\n\r]")


class Writer:
    """Corpora with guessed labels to bytes.

    source: the format that was read. format: what to write; None: the default for that source. scores: tell
    the score of each sentence too: a line `# score ...` before it, or a key in JSON. Further notes are told the same
    way.
    """

    def __init__(self, source: str, format: str | None, labels: Sequence[str], *, scores: bool = False) -> None:
        choices = {output: write for (given, output), write in PAIRS.items() if given == source}
        if not choices:
            raise UsageError(
                f"unknown format {source!r}: choose {', '.join(dict.fromkeys(given for given, _ in PAIRS))}"
            )
        self.format = next(iter(choices)) if format in (None, "auto") else str(format)
        if self.format not in choices:
            raise UsageError(f"from {source} one can write {', '.join(choices)}, not {format}")
        self.source = source
        self._write = choices[self.format]
        self.labels = list(labels)
        self.scores = scores
        broken = [label for label in self.labels if BREAKING.search(label)]
        if broken and self.format != "jsonl":
            raise UsageError(f"the label {broken[0]!r} holds a TAB or line end: write jsonl instead of {self.format}")
        written = [escaped(label) for label in self.labels] if self.format == "attributes" else self.labels
        self.label_text = bytes_of([*written, MARK])
        self.spaced = next((label for label in self.labels if " " in label), None)
        self.misc: Sequence[str] | None = None  # what the last CoNLL-U field of each token gets besides
        self.empty: dict[str, Any] = {SCORE: 0.0} if scores else {}  # the notes of a JSON object without tokens

    def telling(self, cells: Sequence[str], mark: str, misc: Sequence[str] | None, empty: dict[str, Any]) -> Writer:
        """The same for one corpus, with a text of its own for each token, whose numbers are then the label ids."""
        made = copy(self)
        made.labels, made.label_text = list(cells), bytes_of([*cells, mark])
        made.misc, made.empty = misc, self.empty | empty
        return made

    def write(
        self, corpus: Corpus, label_ids: np.ndarray, scores: np.ndarray | None = None, notes: Notes | None = None
    ) -> bytes:
        """The text of a corpus with the labels i32[N] and, if asked for, the scores f64[S] and further notes."""
        if self.scores:
            if scores is None:
                raise UsageError("scores were asked for and none are given")
            further = notes or [{}] * corpus.n_sentences
            notes = [{SCORE: score, **note} for score, note in zip(scores.tolist(), further, strict=True)]
        return self._write(self, corpus, np.ascontiguousarray(label_ids, np.int32), notes)


Notes = Sequence[Mapping[str, Any]]  # what is told of each sentence, under names; as text, numbers only
Write = Callable[[Writer, Corpus, np.ndarray, Notes | None], bytes]


def _note_lines(note: Mapping[str, Any], equals: str = "") -> list[str]:
    return [f"# {name} {equals}{value:.6g}" for name, value in note.items()]


def _pasted(writer: Writer, corpus: Corpus, label_ids: np.ndarray, notes: Notes | None) -> bytes:
    """The input's lines, each with its label."""
    lines = corpus.lines
    assert lines is not None
    if lines.cut.size != corpus.n_tokens:
        raise UsageError("say which CoNLL-U field the label goes to (label=upos, xpos, ...), or write columns or jsonl")
    if lines.separator == SPACE and writer.spaced is not None:
        raise DataError(
            f"the label {writer.spaced!r} holds a space, which separates the columns here", file=corpus.source,
            hint="separate the input by TAB, or write jsonl",
        )  # fmt: skip
    text, offset = writer.label_text
    out = paste(corpus, label_ids, text, offset, len(writer.labels))
    if writer.misc is not None:
        out = _with_misc(out, lines, writer.misc)
    equals = "= " if writer.format == "conllu" else ""
    return out if notes is None else _with_notes(out, corpus.offset, lines, notes, equals)


def _with_misc(out: bytes, lines: Lines, misc: Sequence[str]) -> bytes:
    """More in the last field of each CoNLL-U word."""
    rows = out.split(b"\n")
    for line, text in zip(lines.tokens.tolist(), misc, strict=True):
        rest, tab, last = rows[line].rpartition(b"\t")
        rows[line] = rest + tab + (b"" if last == b"_" else last + b"|") + text.encode()
    return b"\n".join(rows)


def _with_notes(out: bytes, offset: np.ndarray, lines: Lines, notes: Notes, equals: str) -> bytes:
    """Lines with the notes before each sentence. In CoNLL-U that is behind the other comments, and before a
    range or empty node that comes before the first word."""
    rows = out.split(b"\n")
    made: list[bytes] = []
    done = 0
    for token, note in zip(offset[:-1].tolist(), notes, strict=True):
        line = int(lines.tokens[token])
        while line > 0 and lines.kind[line - 1] == OTHER_LINE and lines.data[lines.start[line - 1]] != HASH:
            line -= 1
        made += rows[done:line]
        made += [text.encode() for text in _note_lines(note, equals)]
        done = line
    return b"\n".join(made + rows[done:])


def _tag_lists(writer: Writer, corpus: Corpus, label_ids: np.ndarray) -> Iterator[list[str]]:
    """The tags of each sentence."""
    tags = [writer.labels[k] for k in label_ids.tolist()]
    marks = corpus.offset.tolist()
    for start, end in pairwise(marks):
        yield tags[start:end]


def _cells(writer: Writer, corpus: Corpus, label_ids: np.ndarray, notes: Notes | None) -> bytes:
    """The corpus' columns and the label, separated by TAB, with a blank line behind each sentence."""
    for column in corpus.columns:
        if cell := next(filter(BREAKING.search, column.types), None):
            raise DataError(f"the cell {cell[:20]!r} holds a TAB or a line end", file=corpus.source, hint="write jsonl")
    tags = [writer.labels[k] for k in label_ids.tolist()]
    rows = ["\t".join(row) for row in zip(*(column.cells() for column in corpus.columns), tags, strict=True)]
    return _sentences(rows, corpus, notes)


def _labels(writer: Writer, corpus: Corpus, label_ids: np.ndarray, notes: Notes | None) -> bytes:
    """One label a line, as `crfsuite tag` writes them."""
    return _sentences([writer.labels[k] for k in label_ids.tolist()], corpus, notes)


def _sentences(rows: list[str], corpus: Corpus, notes: Notes | None) -> bytes:
    marks = corpus.offset.tolist()
    made = []
    for s, (start, end) in enumerate(pairwise(marks)):
        if notes is not None:
            made += _note_lines(notes[s])
        made += rows[start:end]
        made.append("")
    return "".join(row + "\n" for row in made).encode()


def _objects(writer: Writer, corpus: Corpus, label_ids: np.ndarray, notes: Notes | None) -> bytes:
    """A JSON object a sentence: its tokens (the first column) and tags; of raw text also the text itself and
    the characters where each token starts and ends."""
    words = corpus.columns[0].cells() if corpus.columns else []
    made = []
    for s, tags in enumerate(_tag_lists(writer, corpus, label_ids)):
        start, end = int(corpus.offset[s]), int(corpus.offset[s + 1])
        fields: dict[str, Any] = {}
        if corpus.surface is not None:
            fields["text"] = corpus.surface.sentences[s]
        fields["tokens"] = words[start:end]
        if corpus.surface is not None:
            fields["offsets"] = corpus.surface.span[start:end].tolist()
        fields[TAGS] = tags
        fields |= {} if notes is None else notes[s]
        made.append(msgspec.json.encode(fields) + b"\n")
    return b"".join(made)


def _records(writer: Writer, corpus: Corpus, label_ids: np.ndarray, notes: Notes | None) -> bytes:
    """The JSON objects of the input with their tags replaced or added; all other keys stay."""
    lines = corpus.lines
    assert lines is not None
    data = lines.data.tobytes()
    tags = _tag_lists(writer, corpus, label_ids)
    noted = iter(notes or ())
    made = []
    for start, end, kind in zip(lines.start.tolist(), lines.end.tolist(), lines.kind.tolist(), strict=True):
        if kind == BLANK_LINE:
            continue
        empty = kind == OTHER_LINE
        note = writer.empty if empty else {} if notes is None else next(noted)
        made.append(with_tags(data[start:end], [] if empty else next(tags), note) + b"\n")
    return b"".join(made)


PAIRS: dict[tuple[str, str], Write] = {
    ("columns", "columns"): _pasted,
    ("columns", "jsonl"): _objects,
    ("conllu", "conllu"): _pasted,
    ("conllu", "columns"): _cells,
    ("conllu", "jsonl"): _objects,
    ("attributes", "labels"): _labels,
    ("attributes", "attributes"): _pasted,
    ("jsonl", "jsonl"): _records,
    ("jsonl", "columns"): _cells,
    ("text", "columns"): _cells,
    ("text", "jsonl"): _objects,
    ("plain", "columns"): _cells,
    ("plain", "jsonl"): _objects,
}
