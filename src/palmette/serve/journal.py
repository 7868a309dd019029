"""The journal of corrections: a file of JSON lines that only grows. What was confirmed is on the disk.

A line is a correction, or `{"id": ..., "deleted": true}`; the last line of an id counts. A process that dies while it
writes leaves an incomplete last line, which nobody was told about: it is left out when the file is read again, and the
next line begins on a new one.
"""

from __future__ import annotations

import logging
import os
import secrets
import threading
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import msgspec

from palmette.errors import DataError
from palmette.serve.types import Correction

logger = logging.getLogger(__name__)
ENDING = ".corrections.jsonl"


class _Line(msgspec.Struct, kw_only=True, omit_defaults=True):
    """A line of the file."""

    id: str
    time: str
    tokens: list[Any] | None = None
    labels: list[Any] = []
    heads: list[int] = []
    relations: list[str] = []
    class_: str | None = msgspec.field(name="class", default=None)
    source: str | None = None
    deleted: bool = False


class Journal:
    """Corrections of one model, by id, oldest first. The first one makes the file. Any thread may use it."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._lock = threading.Lock()
        self._kept: dict[str, Correction] = {}
        self._fd: int | None = None
        self._broken_end = False  # the file does not end with a line end
        self._read()

    def __len__(self) -> int:
        return len(self._kept)

    def all(self) -> list[Correction]:
        with self._lock:
            return list(self._kept.values())

    def part(self, after: int, limit: int) -> list[Correction]:
        """Corrections by their number, from 0."""
        return self.all()[after : after + limit]

    def _read(self) -> None:
        try:
            data = self.path.read_bytes()
        except FileNotFoundError:
            return
        except OSError as error:
            raise DataError(f"cannot read the corrections: {error.strerror}", file=str(self.path)) from error
        lines = data.split(b"\n")
        self._broken_end = bool(lines[-1])
        for number, line in enumerate(lines, 1):
            if not line.strip():
                continue
            try:
                self._apply(msgspec.json.decode(line, type=_Line))
            except msgspec.DecodeError as error:
                logger.warning("%s:%d: left out, it was not written completely (%s)", self.path, number, error)

    def _apply(self, line: _Line) -> None:
        if line.deleted:
            self._kept.pop(line.id, None)
        elif line.tokens and (line.labels or line.heads or line.class_ is not None):
            self._kept[line.id] = Correction(
                tokens=line.tokens, labels=line.labels, heads=line.heads, relations=line.relations, class_=line.class_,
                id=line.id, source=line.source, time=line.time,
            )  # fmt: skip

    def add(self, given: list[Correction]) -> list[str]:
        """Keep corrections; their ids. They are on the disk when this returns."""
        now = datetime.now(UTC).isoformat(timespec="milliseconds")
        lines = [
            _Line(
                id=one.id or f"c-{secrets.token_hex(8)}",
                time=now,
                tokens=one.tokens,
                labels=one.labels,
                heads=one.heads,
                relations=one.relations,
                class_=one.class_,
                source=one.source,
            )
            for one in given
        ]
        with self._lock:
            self._append(lines)
        return [line.id for line in lines]

    def delete(self, id: str) -> bool:
        """Take a correction back; whether there was one."""
        with self._lock:
            if id not in self._kept:
                return False
            self._append([_Line(id=id, time=datetime.now(UTC).isoformat(timespec="milliseconds"), deleted=True)])
            return True

    def _append(self, lines: list[_Line]) -> None:
        """Write lines, wait until the disk has them, then take them over."""
        data = b"".join(msgspec.json.encode(line) + b"\n" for line in lines)
        try:
            if self._fd is None:
                self._fd = self._opened()
            if self._broken_end:
                data = b"\n" + data
            self._broken_end = True
            view = memoryview(data)
            while view:
                view = view[os.write(self._fd, view) :]
            os.fsync(self._fd)
            self._broken_end = False
        except OSError as error:
            raise DataError(f"cannot keep the correction: {error.strerror}", file=str(self.path)) from error
        for line in lines:
            self._apply(line)

    def _opened(self) -> int:
        """The file, opened for appending; a new one's name is on the disk too."""
        fd = os.open(self.path, os.O_WRONLY | os.O_APPEND | os.O_CREAT | getattr(os, "O_CLOEXEC", 0), 0o644)
        folder = os.open(self.path.parent, os.O_RDONLY)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)
        return fd

    def close(self) -> None:
        with self._lock:
            if self._fd is not None:
                os.close(self._fd)
                self._fd = None
