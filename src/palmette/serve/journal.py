"""The journal of corrections: a file of JSON lines that only grows. What was confirmed is on the disk.

A line is a correction, or `{"id": ..., "deleted": true}`; the last line of an id counts. The file is the truth: it is
opened by its name for every change and read again whenever it is another file or has another size or time than before,
so that editors, `git checkout` and other servers may change it. Writers lock it. A batch that cannot be written
completely is cut off again. A process that dies while it writes leaves an incomplete last line, which was not
confirmed: it is left out when the file is read, and the next line begins on a new one.
"""

from __future__ import annotations

import contextlib
import errno
import logging
import os
import secrets
import threading
from collections.abc import Iterable, Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from palmette.data.files import lock_file, sync_folder
from palmette.serve.failure import StorageError
from palmette.serve.types import Correction

logger = logging.getLogger(__name__)
ENDING = ".corrections.jsonl"
Stamp = tuple[int, int, int, int]  # device, inode, size, time of the last change


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


class _Content(NamedTuple):
    """The file as it was read."""

    stamp: Stamp | None  # None: there is no file
    kept: dict[str, Correction]
    whole: bool  # the last line has its line end


class Journal:
    """Corrections of one model, by id, oldest first. The first one makes the file. Any thread may use it, and other
    processes may use the same file."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._lock = threading.Lock()  # one writer of this process at a time
        self._reported: set[bytes] = set()  # incomplete lines that the log shows
        self._content = self._read()

    def __len__(self) -> int:
        return len(self._current().kept)

    def all(self) -> list[Correction]:
        return list(self._current().kept.values())

    def part(self, after: int, limit: int) -> list[Correction]:
        """Corrections by their number, from 0."""
        return self.all()[after : after + limit]

    def _current(self) -> _Content:
        """The content of the file, which is read again if it has changed."""
        try:
            stamp = _stamp(os.stat(self.path))
        except FileNotFoundError:
            stamp = None
        except OSError as error:
            raise StorageError(f"cannot read the corrections: {error.strerror}", file=str(self.path)) from error
        found = self._content
        if found.stamp != stamp:
            self._content = found = self._read()
        return found

    def _read(self) -> _Content:
        try:
            with open(self.path, "rb") as file:
                stamp = _stamp(os.fstat(file.fileno()))
                data = file.read()
        except FileNotFoundError:
            return _Content(None, {}, True)
        except OSError as error:
            raise StorageError(f"cannot read the corrections: {error.strerror}", file=str(self.path)) from error
        kept: dict[str, Correction] = {}
        lines = data.split(b"\n")
        for number, line in enumerate(lines, 1):
            if not line.strip():
                continue
            try:
                _apply(kept, msgspec.json.decode(line, type=_Line))
            except msgspec.DecodeError as error:
                if line not in self._reported and number < len(lines):  # the last one may be under way
                    self._reported.add(line)
                    logger.warning("%s:%d: left out, it was not written completely (%s)", self.path, number, error)
        return _Content(stamp, kept, not lines[-1])

    def add(self, given: list[Correction], deleted: Iterable[str] = ()) -> list[str]:
        """Keep corrections and take others back; the ids of those that are kept. They are on the disk when this
        returns."""
        lines = [
            _Line(
                id=one.id or f"c-{secrets.token_hex(8)}", time=_now(), tokens=one.tokens, labels=one.labels,
                heads=one.heads, relations=one.relations, class_=one.class_, source=one.source,
            )
            for one in given
        ]  # fmt: skip
        with self._locked() as fd:
            known = self._current().kept
            gone = [_Line(id=id, time=_now(), deleted=True) for id in deleted if id in known]
            self._append(fd, [*gone, *lines])
        return [line.id for line in lines]

    def delete(self, id: str) -> bool:
        """Take a correction back; whether there was one."""
        if id not in self._current().kept:
            return False
        with self._locked() as fd:
            if id not in self._current().kept:
                return False
            self._append(fd, [_Line(id=id, time=_now(), deleted=True)])
            return True

    @contextlib.contextmanager
    def _locked(self) -> Iterator[int]:
        """The file that has the name now, opened for appending and locked; StorageError if it cannot be written."""
        with self._lock:
            try:
                fd = self._opened()
                try:
                    yield fd
                finally:
                    os.close(fd)
            except OSError as error:
                raise StorageError(
                    f"the correction is not kept: {error.strerror}", file=str(self.path),
                    hint="make room, or make the file writable, and send it again",
                ) from error  # fmt: skip

    def _opened(self) -> int:
        while True:
            flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT | getattr(os, "O_BINARY", 0)
            fd = os.open(self.path, flags, 0o644)
            try:
                lock_file(fd)
                if _is_named(fd, self.path):
                    return fd
            except BaseException:
                os.close(fd)
                raise
            os.close(fd)  # the file was replaced while this waited for the lock

    def _append(self, fd: int, lines: list[_Line]) -> None:
        """Write lines and wait until the disk has them. If that fails, none of them stays."""
        before = self._current()
        size = os.fstat(fd).st_size
        data = b"".join(msgspec.json.encode(line) + b"\n" for line in lines)
        try:
            view = memoryview(data if before.whole else b"\n" + data)
            while view:
                view = view[os.write(fd, view) :]
            os.fsync(fd)
            if not size:
                sync_folder(str(self.path.parent))
            if not _is_named(fd, self.path):
                raise OSError(errno.ESTALE, "the file was replaced at the same time")
        except OSError:
            os.ftruncate(fd, size)
            raise
        kept = dict(before.kept)
        for line in lines:
            _apply(kept, line)
        self._content = _Content(_stamp(os.fstat(fd)), kept, True)


def _apply(kept: dict[str, Correction], line: _Line) -> None:
    if line.deleted:
        kept.pop(line.id, None)
    elif line.tokens and (line.labels or line.heads or line.class_ is not None):
        kept[line.id] = Correction(
            tokens=line.tokens, labels=line.labels, heads=line.heads, relations=line.relations, class_=line.class_,
            id=line.id, source=line.source, time=line.time,
        )  # fmt: skip


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="milliseconds")


def _stamp(found: os.stat_result) -> Stamp:
    return found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns


def _is_named(fd: int, path: Path) -> bool:
    """Whether an open file still has its name."""
    try:
        return os.path.samestat(os.fstat(fd), os.stat(path))
    except FileNotFoundError:
        return False
