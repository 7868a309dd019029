"""Files that exist as long as a training out of core does: what does not fit into memory is kept there.

They have no name, or lose it as soon as they are opened, so that nothing is left behind however the process ends.
Before a large one is written, the free space is compared with its size; a disk that runs full all the same is a
DataError.
"""

from __future__ import annotations

import contextlib
import errno
import mmap
import os
import shutil
import tempfile
from threading import Lock
from types import TracebackType
from typing import Any, BinaryIO, Self, cast

import numpy as np

from palmette.errors import DataError, UsageError
from palmette.options.chain import TaggerOptions
from palmette.options.spelling import spelt

OTHER = "/var/tmp"  # on disk where the folder of temporary files is in memory
IN_MEMORY = ("tmpfs", "ramfs")
FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)


class Scratch:
    """A folder for scratch files, which are closed with it, and how much they hold."""

    def __init__(self, folder: str | None = None) -> None:
        self.folder = default_folder() if folder is None else os.fspath(folder)
        self.files: list[ScratchFile] = []
        self.most = 0  # bytes that the files have held at the same time
        if not os.path.isdir(self.folder):
            raise UsageError(f"{spelt(TaggerOptions, 'scratch', self.folder)}: there is no such folder")

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        for file in list(self.files):
            file.close()

    def file(self) -> ScratchFile:
        """A new file."""
        try:
            opened = tempfile.TemporaryFile(dir=self.folder, buffering=0)  # noqa: SIM115
        except OSError as error:
            reason = (error.strerror or str(error)).lower()
            raise DataError(f"no scratch file can be made here: {reason}", file=self.folder, hint=_another()) from None
        made = ScratchFile(self, cast(BinaryIO, opened))
        self.files.append(made)
        return made

    def check_room(self, needed: int, what: str) -> None:
        """DataError if the disk has less room than `what` needs."""
        with contextlib.suppress(OSError):  # a file system that does not tell
            free = shutil.disk_usage(self.folder).free
            if needed > free:
                raise DataError(
                    f"{what} need {shown_size(needed)} on disk, and {shown_size(free)} are free", file=self.folder,
                    hint=_another(),
                )  # fmt: skip

    def grew(self) -> None:
        """Remember the largest size of all files."""
        self.most = max(self.most, sum(file.size for file in self.files))


class ScratchFile:
    """Bytes on disk, of arrays one after the other, or at places that the writer chooses."""

    def __init__(self, scratch: Scratch, file: BinaryIO) -> None:
        self.scratch, self.file, self.size = scratch, file, 0
        self._lock = Lock()  # several threads may read

    def append(self, array: np.ndarray | bytes) -> int:
        """Write at the end; returns the place."""
        place = self.size
        self.write(array, place)
        return place

    def write(self, array: np.ndarray | bytes, place: int) -> None:
        """Write at a place, in bytes from the start."""
        data = memoryview(array if isinstance(array, bytes) else cast(Any, np.ascontiguousarray(array))).cast("B")
        self.size = max(self.size, place + len(data))
        try:
            with self._lock:
                self.file.seek(place)
                while len(data):
                    data = data[self.file.write(data) :]
        except OSError as error:
            if error.errno not in FULL:
                raise
            raise DataError("the disk is full", file=self.scratch.folder, hint=_another()) from None
        self.scratch.grew()

    def read(self, place: int, count: int, kind: Any) -> np.ndarray:
        """`count` numbers of a NumPy type from a place."""
        out: Any = np.empty(count, kind)
        rest = memoryview(out).cast("B")
        with self._lock:
            self.file.seek(place)
            while len(rest):
                read = self.file.readinto(rest)  # type: ignore[attr-defined]
                assert read
                rest = rest[read:]
        return cast(np.ndarray, out)

    def mapped(self) -> mmap.mmap:
        """The file as memory. Arrays on it may be written to, which does not change the file."""
        return mmap.mmap(self.file.fileno(), self.size, access=mmap.ACCESS_COPY)

    def close(self) -> None:
        """Give the disk its room back."""
        self.file.close()
        if self in self.scratch.files:
            self.scratch.files.remove(self)


def default_folder() -> str:
    """The system's folder of temporary files; another one if that is kept in memory."""
    folder = tempfile.gettempdir()
    if _is_in_memory(folder) and os.access(OTHER, os.W_OK) and not _is_in_memory(OTHER):
        return OTHER
    return folder


def _is_in_memory(folder: str) -> bool:
    """Whether the file system of a folder is kept in memory, as far as the system tells."""
    try:
        with open("/proc/self/mounts") as mounts:
            rows = [line.split() for line in mounts]
    except OSError:
        return False
    path = os.path.realpath(folder)
    over = [row for row in rows if path == row[1] or path.startswith(row[1].rstrip("/") + "/")]
    return bool(over) and max(over, key=lambda row: len(row[1]))[2] in IN_MEMORY


def shown_size(size: float) -> str:
    """A number of bytes in messages."""
    return f"{size / 1e9:,.1f} GB" if size >= 1e9 else f"{size / 1e6:,.0f} MB"


def _another() -> str:
    return f"make room, or choose another folder: {spelt(TaggerOptions, 'scratch')}"
