"""The lines of a text model, many at a time. A line has a number for messages, counted from 1."""

from __future__ import annotations

import warnings
from collections.abc import Iterator

import numpy as np

from palmette.errors import ModelError
from palmette.kernels.io.columns import join_types
from palmette.structures.chain.imported.parts import names_of
from palmette.structures.stored_features import Names

NEWLINE, MOST_DIGITS = 10, 10
CHUNK = 1 << 16  # lines that become Python strings together


class Lines:
    """A text with a cursor."""

    def __init__(self, data: bytes | memoryview, source: str) -> None:
        text = bytes(data).replace(b"\r\n", b"\n")
        text += b"" if text.endswith(b"\n") else b"\n"
        self.data, self.source, self.at = np.frombuffer(text, np.uint8), source, 0
        self.end = np.flatnonzero(self.data == NEWLINE)  # of each line

    def starts(self, lines: range) -> np.ndarray:
        """Where lines begin, i64[]."""
        before = self.end[max(0, lines.start - 1) : max(0, lines.stop - 1)] + 1
        return before if lines.start else np.concatenate((np.zeros(1, np.int64), before))[: len(lines)]

    def damaged(self, what: str, line: int | None = None) -> ModelError:
        """The error about a line, by default the one after the cursor."""
        return ModelError(f"damaged model: {what}", file=self.source, line=(self.at if line is None else line) + 1)

    def text(self, what: str) -> str:
        """The next line."""
        (place,) = own = self.take(1, what)
        raw = self.data[self.starts(own)[0] : self.end[place]].tobytes()
        try:
            return raw.decode()
        except UnicodeDecodeError:
            raise self.damaged(f"{what} is not UTF-8: {raw[:40]!r}", place) from None

    def texts_until_blank(self, what: str) -> list[str]:
        """The lines up to the next blank one, which is skipped."""
        found = []
        while text := self.text(what):
            found.append(text)
        return found

    def take(self, count: int, what: str) -> range:
        """The numbers of the next lines, from 0."""
        if count > self.end.size - self.at:
            raise self.damaged(
                f"{count:,} lines of {what} should follow, and {self.end.size - self.at:,} do: truncated?"
            )
        self.at += count
        return range(self.at - count, self.at)

    def until_blank(self) -> range:
        """The numbers of the lines up to the next blank one, which is skipped."""
        first = blank = self.at
        while blank < self.end.size:
            own = range(blank, min(blank + CHUNK, self.end.size))
            empty = self.end[own.start : own.stop] == self.starts(own)
            if empty.any():
                blank += int(np.argmax(empty))
                break
            blank = own.stop
        self.at = min(blank + 1, self.end.size)
        return range(first, blank)

    def leading_numbers(self, lines: range, after: str, what: str) -> tuple[np.ndarray, np.ndarray]:
        """The whole number that each line begins with, and the place after the character that follows it, i64[]."""
        start, end = self.starts(lines), self.end[lines.start : lines.stop]
        value, digits = np.zeros(start.size, np.int64), np.zeros(start.size, np.int64)
        open_ = np.ones(start.size, np.bool_)
        for k in range(MOST_DIGITS):
            byte = self.data[np.minimum(start + k, end)]
            open_ &= (byte >= ord("0")) & (byte <= ord("9"))
            value = np.where(open_, 10 * value + byte - ord("0"), value)
            digits += open_
        bad = (digits == 0) | (self.data[np.minimum(start + digits, end)] != ord(after))
        if bad.any():
            raise self.damaged(f"{what} should begin with a number and {after!r}", lines.start + int(np.argmax(bad)))
        return value, start + digits + 1

    def strings(self, start: np.ndarray, end: np.ndarray, what: str) -> Names:
        """Pieces of the text."""
        data, offset = join_types(self.data, start, end)
        return names_of(data[: offset[-1]], offset, what, self.source)

    def numbers(self, lines: range, what: str) -> np.ndarray:
        """The decimal number on each line, f64[]."""
        if not len(lines):
            return np.zeros(0)
        text = self.data[self.starts(lines)[0] : self.end[lines.stop - 1]].tobytes()
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("error")
                found = np.fromstring(text.decode("ascii"), sep="\n")
        except (ValueError, DeprecationWarning):
            found = np.zeros(0)
        if found.size != len(lines):
            raise self.damaged(f"{what}: not a number on each line from here on", lines.start)
        return found

    def chunks(self, lines: range, start: np.ndarray) -> Iterator[tuple[int, list[str]]]:
        """The rest of each line from `start` on as strings, and the line that they begin with."""
        for first in range(0, len(lines), CHUNK):
            own = range(lines.start + first, min(lines.stop, lines.start + first + CHUNK))
            base = int(self.starts(own)[0])
            text = self.data[base : self.end[own.stop - 1]].tobytes().decode("latin-1")
            cuts = (start[first : first + CHUNK] - base).tolist()
            ends = (self.end[own.start : own.stop] - base).tolist()
            yield own.start, [text[a:b] for a, b in zip(cuts, ends, strict=True)]
