"""N-best lists of label sequences as text, in three formats:

crfpp     a block per candidate, as `crf_test -n` writes: a line `# RANK NUMBER` (from 0; the probability if the model
          has one, else the score), then the tokens with their labels, then a blank line
columns   each token once, followed by a label per candidate (`_` for candidates that do not exist); before the sentence
          a line `# score` with the score of each candidate and, if the model has probabilities, a line `# probability`
jsonl     an object per sentence: that of the input, or its tokens; `nbest` is the list of candidates, and `tags` and
          `score` are those of the first

Lines of the input that are no tokens (comments, document marks) are left out of the first two.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

import msgspec

from palmette.data.candidate import Labelling
from palmette.data.corpus import Corpus
from palmette.data.formats.jsonl import TAGS
from palmette.data.formats.labelling import SCORE, check_labels
from palmette.data.formats.registry import load_format
from palmette.errors import UsageError

NBEST, PROBABILITY = "nbest", "probability"
NOTHING = "_"  # in place of the label of a candidate that does not exist


Lists = Iterable[Sequence[Labelling]]


class NBestWriter:
    """Writes corpora with lists of candidates as bytes.

    n: the length of a list; empty: the candidate of a sentence without tokens."""

    def __init__(self, source: str, format: str | None, labels: Sequence[str], n: int, empty: Labelling) -> None:
        self.row = load_format(source)
        default = "jsonl" if next(iter(self.row.outputs)) == "jsonl" else "crfpp"
        self.format = default if format in (None, "auto") else str(format)
        if self.format not in NBEST_FORMATS:
            raise UsageError(f"n-best lists are written as {', '.join(NBEST_FORMATS)}, not as {format}")
        if self.row.records is None and self.format == "jsonl":
            raise UsageError(f"the format {source} has no tokens to write: choose crfpp or columns, not jsonl")
        check_labels(labels, self.format)
        self.labels, self.n, self.empty = list(labels), n, empty

    def write(self, corpus: Corpus, lists: Lists) -> bytes:
        return b"".join(NBEST_FORMATS[self.format](self, corpus, lists))


def _number(value: float) -> str:
    return format(value, ".6g")


def _blocks(writer: NBestWriter, corpus: Corpus, lists: Lists) -> Iterator[bytes]:
    rows, between = writer.row.rows(corpus, writer.labels)
    endings = {label: between + label.encode() + b"\n" for label in writer.labels}
    for start, candidates in zip(corpus.offset.tolist(), lists, strict=False):
        own = rows[start : start + len(candidates[0].output)]
        for rank, one in enumerate(candidates):
            number = one.score if one.probability is None else one.probability
            lines = [row + endings[label] for row, label in zip(own, one.output, strict=True)]
            yield b"".join([f"# {rank} {_number(number)}\n".encode(), *lines, b"\n"])


def _side_by_side(writer: NBestWriter, corpus: Corpus, lists: Lists) -> Iterator[bytes]:
    rows, between = writer.row.rows(corpus, writer.labels)
    for start, candidates in zip(corpus.offset.tolist(), lists, strict=False):
        yield ("# score " + " ".join(_number(one.score) for one in candidates) + "\n").encode()
        if candidates[0].probability is not None:
            yield ("# probability " + " ".join(_number(one.probability or 0.0) for one in candidates) + "\n").encode()
        missing = [NOTHING] * (writer.n - len(candidates))
        for k, labels in enumerate(zip(*(one.output for one in candidates), strict=True)):
            cells = (between or b"\t").join(label.encode() for label in (*labels, *missing))
            yield rows[start + k] + between + cells + b"\n"
        yield b"\n"


def _objects(writer: NBestWriter, corpus: Corpus, lists: Lists) -> Iterator[bytes]:
    assert writer.row.records is not None
    rest = iter(lists)
    for fields, n_tokens in writer.row.records(corpus):
        candidates = [_as_json(one) for one in (next(rest) if n_tokens else [writer.empty])]
        yield msgspec.json.encode(fields | candidates[0] | {NBEST: candidates}) + b"\n"


def _as_json(one: Labelling) -> dict[str, Any]:
    fields: dict[str, Any] = {TAGS: one.output, SCORE: one.score}
    return fields if one.probability is None else fields | {PROBABILITY: one.probability}


NBEST_FORMATS: dict[str, Callable[[NBestWriter, Corpus, Lists], Iterator[bytes]]] = {
    "crfpp": _blocks,
    "columns": _side_by_side,
    "jsonl": _objects,
}
