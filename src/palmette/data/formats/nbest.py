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
import numpy as np

from palmette.data.analysed import Candidate, LabelLists
from palmette.data.corpus import Corpus, bytes_of
from palmette.data.formats.jsonl import TAGS
from palmette.data.formats.labelling import SCORE, RowTexts, check_labels
from palmette.data.formats.registry import load_format
from palmette.errors import UsageError
from palmette.kernels.io.columns import NEWLINE, Listed, ListTexts, paste_blocks, paste_columns

NBEST, PROBABILITY = "nbest", "probability"
NOTHING = "_"  # in place of the label of a candidate that does not exist


Lists = Iterable[LabelLists]
"""Those of some sentences of a corpus after the other."""


class NBestWriter:
    """Writes corpora with lists of candidates as bytes.

    n: the length of a list; empty: the candidate of a sentence without tokens."""

    def __init__(
        self, source: str, format: str | None, labels: Sequence[str], n: int, empty: Candidate[list[str]]
    ) -> None:
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


def _blocks(writer: NBestWriter, corpus: Corpus, lists: Lists) -> Iterator[bytes]:
    rows = writer.row.rows(corpus, writer.labels)
    labels = _pieces([f"{rows.between.decode()}{label}\n" for label in writer.labels])
    heading = [f"# {rank} %.6g\n" for rank in range(writer.n)]
    forms = ["".join(heading[:n]) for n in range(writer.n + 1)]
    for own, part in _parts(rows, lists):
        numbers = part.scores if part.probability is None else part.probability
        yield paste_blocks(own, _listed(part), _headings(part, forms, [numbers]), labels).tobytes()


def _side_by_side(writer: NBestWriter, corpus: Corpus, lists: Lists) -> Iterator[bytes]:
    rows = writer.row.rows(corpus, writer.labels)
    first, further = rows.between.decode(), (rows.between or b"\t").decode()
    labels = _pieces([first + label for label in writer.labels] + [further + x for x in (*writer.labels, NOTHING)])
    for own, part in _parts(rows, lists):
        lines = {SCORE: part.scores} | ({} if part.probability is None else {PROBABILITY: part.probability})
        forms = ["".join(f"# {name}{' %.6g' * n}\n" for name in lines) for n in range(writer.n + 1)]
        headings = _headings(part, forms, list(lines.values()))
        yield paste_columns(own, _listed(part), headings, labels, writer.n).tobytes()


def _parts(rows: RowTexts, lists: Lists) -> Iterator[tuple[ListTexts, LabelLists]]:
    """Lists with the rows of their tokens."""
    done = 0
    for part in lists:
        last = done + int(part.offset[-1])
        yield ListTexts(rows.data, rows.start[done:last], rows.end[done:last]), part
        done = last


def _listed(part: LabelLists) -> Listed:
    return Listed(part.offset, part.labels, part.found)


def _headings(part: LabelLists, forms: Sequence[str], numbers: Sequence[np.ndarray]) -> ListTexts:
    """The lines before candidates: of a sentence with n of them the form n, filled with its numbers (of all candidates
    the first, then of all the second). As many lines are a piece as there are kinds of numbers."""
    there = np.arange(part.scores.shape[1]) < part.found[:, None]  # bool[S, K]
    table = np.stack(numbers, axis=1)
    values = table[np.broadcast_to(there[:, None], table.shape)]
    text = "".join([forms[n] for n in part.found.tolist()]) % tuple(values.tolist())
    data = np.frombuffer(text.encode() + b"\n", np.uint8)
    end = np.flatnonzero(data[:-1] == NEWLINE)[len(numbers) - 1 :: len(numbers)] + 1
    return ListTexts(data, np.append(0, end[:-1]), end)


def _pieces(texts: Sequence[str]) -> ListTexts:
    data, offset = bytes_of(texts)
    return ListTexts(data, offset[:-1].copy(), offset[1:].copy())


def _objects(writer: NBestWriter, corpus: Corpus, lists: Lists) -> Iterator[bytes]:
    assert writer.row.records is not None
    rest = (candidates for part in lists for candidates in part.candidates(writer.labels))
    for fields, n_tokens in writer.row.records(corpus):
        candidates = [_as_json(one) for one in (next(rest) if n_tokens else [writer.empty])]
        yield msgspec.json.encode(fields | candidates[0] | {NBEST: candidates}) + b"\n"


def _as_json(one: Candidate[list[str]]) -> dict[str, Any]:
    fields: dict[str, Any] = {TAGS: one.output, SCORE: one.score}
    return fields if one.probability is None else fields | {PROBABILITY: one.probability}


NBEST_FORMATS: dict[str, Callable[[NBestWriter, Corpus, Lists], Iterator[bytes]]] = {
    "crfpp": _blocks,
    "columns": _side_by_side,
    "jsonl": _objects,
}
