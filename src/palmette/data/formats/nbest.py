"""Lists of label sequences as text, in three formats:

crfpp     a block for each candidate, as `crf_test -n` writes: a line `# RANK NUMBER` (from 0; the probability where
          the model has one, else the score), then the tokens with their labels, then a blank line
columns   a token once, with a label for each candidate behind it (`_` where there are fewer); before the sentence a
          line `# score` with the score of each candidate and, where there are some, a line `# probability`
jsonl     an object a sentence: that of the input, or its tokens; `nbest` is the list of candidates, and `tags` and
          `score` are those of the first

Lines of the input that are no tokens (comments, document marks) are left out of the first two.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, Protocol

import msgspec

from palmette.data.corpus import Corpus
from palmette.data.formats.jsonl import SCORE, TAGS
from palmette.data.formats.write import BREAKING
from palmette.errors import DataError, UsageError
from palmette.kernels.io.columns import BLANK_LINE, OTHER_LINE, SPACE

NBEST, PROBABILITY = "nbest", "probability"
NOTHING = "_"  # in place of the label of a candidate that does not exist


class Listed(Protocol):
    """A candidate, as text sees it."""

    @property
    def labels(self) -> list[str]: ...

    @property
    def score(self) -> float: ...

    @property
    def probability(self) -> float | None: ...


Lists = Iterable[Sequence[Listed]]


class NBestWriter:
    """Corpora with lists of candidates to bytes. n: how many were asked for; empty: that of a sentence of no token."""

    def __init__(self, source: str, format: str | None, labels: Sequence[str], n: int, empty: Listed) -> None:
        self.format = ("jsonl" if source == "jsonl" else "crfpp") if format in (None, "auto") else str(format)
        if self.format not in FORMATS:
            raise UsageError(f"n-best lists are written as {', '.join(FORMATS)}, not as {format}")
        if source == "attributes" and self.format == "jsonl":
            raise UsageError("ready-made attributes have no tokens to write: crfpp or columns, not jsonl")
        self.source, self.n, self.empty = source, n, empty
        self.labels = list(labels)
        if self.format != "jsonl" and (broken := [label for label in labels if BREAKING.search(label)]):
            raise UsageError(f"the label {broken[0]!r} holds a TAB or line end: write jsonl instead of {self.format}")

    def write(self, corpus: Corpus, lists: Lists) -> bytes:
        return b"".join(FORMATS[self.format](self, corpus, lists))

    def rows(self, corpus: Corpus) -> tuple[list[bytes], bytes]:
        """What stands before the labels on the line of each token, and the separator."""
        lines = corpus.lines
        if self.source == "columns" and lines is not None:
            between = bytes([lines.separator])
            if lines.separator == SPACE and (spaced := [label for label in self.labels if " " in label]):
                hint = "separate the input by TAB, or write jsonl"
                raise DataError(f"the label {spaced[0]!r} holds a space", file=corpus.source, hint=hint)
            data = lines.data.tobytes()
            start, end = lines.start[lines.tokens].tolist(), lines.end[lines.tokens].tolist()
            return [data[a:b].rstrip(b"\r") for a, b in zip(start, end, strict=True)], between
        for column in corpus.columns:
            if cell := next(filter(BREAKING.search, column.types), None):
                hint = "write jsonl"
                raise DataError(f"the cell {cell[:20]!r} holds a TAB or a line end", file=corpus.source, hint=hint)
        if not corpus.columns:
            return [b""] * corpus.n_tokens, b""
        cells = zip(*(column.cells() for column in corpus.columns), strict=True)
        return ["\t".join(row).encode() for row in cells], b"\t"


def _number(value: float) -> str:
    return format(value, ".6g")


def _blocks(writer: NBestWriter, corpus: Corpus, lists: Lists) -> Iterator[bytes]:
    rows, between = writer.rows(corpus)
    for start, candidates in zip(corpus.offset.tolist(), lists, strict=False):
        for rank, one in enumerate(candidates):
            number = one.score if one.probability is None else one.probability
            yield f"# {rank} {_number(number)}\n".encode()
            for k, label in enumerate(one.labels):
                yield rows[start + k] + between + label.encode() + b"\n"
            yield b"\n"


def _side_by_side(writer: NBestWriter, corpus: Corpus, lists: Lists) -> Iterator[bytes]:
    rows, between = writer.rows(corpus)
    for start, candidates in zip(corpus.offset.tolist(), lists, strict=False):
        yield ("# score " + " ".join(_number(one.score) for one in candidates) + "\n").encode()
        if candidates[0].probability is not None:
            yield ("# probability " + " ".join(_number(one.probability or 0.0) for one in candidates) + "\n").encode()
        missing = [NOTHING] * (writer.n - len(candidates))
        for k, labels in enumerate(zip(*(one.labels for one in candidates), strict=True)):
            cells = (between or b"\t").join(label.encode() for label in (*labels, *missing))
            yield rows[start + k] + between + cells + b"\n"
        yield b"\n"


def _objects(writer: NBestWriter, corpus: Corpus, lists: Lists) -> Iterator[bytes]:
    given = _records(corpus) if writer.source == "jsonl" else _made(corpus)
    rest = iter(lists)
    for fields, n_tokens in given:
        candidates = [_as_json(one) for one in (next(rest) if n_tokens else [writer.empty])]
        yield msgspec.json.encode(fields | candidates[0] | {NBEST: candidates}) + b"\n"


def _as_json(one: Listed) -> dict[str, Any]:
    fields: dict[str, Any] = {TAGS: one.labels, SCORE: one.score}
    return fields if one.probability is None else fields | {PROBABILITY: one.probability}


def _made(corpus: Corpus) -> Iterator[tuple[dict[str, Any], int]]:
    words = corpus.columns[0].cells() if corpus.columns else []
    for s in range(corpus.n_sentences):
        start, end = int(corpus.offset[s]), int(corpus.offset[s + 1])
        fields: dict[str, Any] = {} if corpus.surface is None else {"text": corpus.surface.sentences[s]}
        fields["tokens"] = words[start:end]
        if corpus.surface is not None:
            fields["offsets"] = corpus.surface.span[start:end].tolist()
        yield fields, end - start


def _records(corpus: Corpus) -> Iterator[tuple[dict[str, Any], int]]:
    """The objects of the input; one without tokens has no sentence."""
    lines = corpus.lines
    assert lines is not None
    data = lines.data.tobytes()
    decode = msgspec.json.Decoder(dict[str, msgspec.Raw]).decode
    for start, end, kind in zip(lines.start.tolist(), lines.end.tolist(), lines.kind.tolist(), strict=True):
        if kind != BLANK_LINE:
            yield dict(decode(data[start:end])), int(kind != OTHER_LINE)


FORMATS: dict[str, Callable[[NBestWriter, Corpus, Lists], Iterator[bytes]]] = {
    "crfpp": _blocks,
    "columns": _side_by_side,
    "jsonl": _objects,
}
