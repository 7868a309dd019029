"""Annotated texts as annotators' tools have them: a text, spans of it by characters, and what the tool keeps beside.

Offsets are characters (Unicode code points) of the text, counted from 0, the end excluded; readers and writers of
formats that count otherwise convert. `Span` of data/labels/schemes.py counts tokens instead.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec

from palmette.errors import DataError

ACCEPT, REJECT, IGNORE, PREDICTED = "accept", "reject", "ignore", "predicted"
ANSWERS = (ACCEPT, REJECT, IGNORE)

Pieces = tuple[tuple[int, int], ...]


class TextSpan(msgspec.Struct, frozen=True):
    """A labelled stretch of a text. `fragments`: its pieces if it is discontinuous; start and end are then the first
    and the last character of all. `extra`: other keys that its format gives it."""

    start: int
    end: int
    label: str
    fragments: Pieces = ()
    score: float | None = None
    id: str | int | None = None
    extra: dict[str, Any] = {}

    @property
    def pieces(self) -> Pieces:
        return self.fragments or ((self.start, self.end),)


class Document(msgspec.Struct):
    """A text with its spans.

    answer: accept; reject or ignore, if the annotator said so; predicted, if a model made the spans; None: nobody has
    annotated it. tokens: where the file says that tokens start and end. kept: what the file has besides, which is
    written back in the same format, with `style`, the keys that its text and its spans were under; `others` counts the
    annotations in it that are no spans (relations, ...). place, line: where it comes from, for messages."""

    text: str
    spans: list[TextSpan] = []
    meta: dict[str, Any] = {}
    answer: str | None = ACCEPT
    tokens: list[tuple[int, int]] | None = None
    name: str | None = None
    format: str = ""
    kept: dict[str, Any] = {}
    style: tuple[str | None, ...] = ()
    others: int = 0
    place: str = ""
    line: int | None = None


class At(msgspec.Struct, frozen=True):
    """A place in a file, for messages: a line, or a task by its number from 1."""

    file: str
    line: int | None = None
    task: int | None = None

    def __str__(self) -> str:
        if self.line is not None:
            return f"{self.file}:{self.line}"
        return self.file if self.task is None else f"{self.file}, task {self.task}"

    def error(self, message: str, hint: str | None = None) -> DataError:
        text = message if self.task is None else f"task {self.task}: {message}"
        return DataError(text, file=self.file, line=self.line, hint=hint)


def joined_pieces(text: str, pieces: Sequence[tuple[int, int]]) -> Pieces:
    """Pieces in order, those with only white space (or nothing) between them as one."""
    made: list[tuple[int, int]] = []
    for start, end in sorted(pieces):
        if made and made[-1][1] <= start and not text[made[-1][1] : start].strip():
            made[-1] = made[-1][0], end
        else:
            made.append((start, end))
    return tuple(made)
