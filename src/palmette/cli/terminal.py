"""Standard output and standard error of a command: control characters are escaped, and readers may go away.

Labels, attributes and words come from files of others, and a terminal obeys the control characters in them. `write`
escapes all of them; drawings by rich, which have control characters on purpose, are written as they are, and
reports/console.py escapes their content.

If the reader of messages ends (`palmette train ... 2>&1 | head -2`), the command goes on without them, since it has
files to write. The data that a command writes to standard output does not come here: see data/files.py.
"""

from __future__ import annotations

import io
import os
from typing import Any, TextIO

from palmette.data.files import silence
from palmette.errors import visible

CLEAR = "\r\x1b[K"  # what removes an unfinished line of progress


class Terminal(io.TextIOWrapper):
    """A standard stream that a command prints to."""

    def write(self, text: str, /) -> int:
        head = CLEAR if text.startswith(CLEAR) else ""
        return super().write(head + visible(text[len(head) :]))

    @property
    def rich_proxied_file(self) -> Any:
        """Where rich writes to."""
        return _Drawings(self)


class _Drawings:
    """The stream without escapes."""

    def __init__(self, stream: Terminal) -> None:
        self.stream = stream

    def write(self, text: str) -> int:
        return io.TextIOWrapper.write(self.stream, text)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.stream, name)


class _Lasting(io.FileIO):
    """A descriptor that takes bytes also after its reader has ended; `always`: after any other failure too."""

    def __init__(self, fd: int, always: bool) -> None:
        super().__init__(fd, "wb", closefd=False)
        self.failures: type[OSError] = OSError if always else BrokenPipeError

    def write(self, data: Any, /) -> int:
        try:
            return super().write(data)
        except self.failures:
            silence(self.fileno())
            return memoryview(data).nbytes


def terminal(stream: TextIO, *, messages: bool) -> TextIO:
    """A standard stream as a command prints to it; `messages`: standard error, without which a command can work."""
    try:
        fd = stream.fileno()
    except (OSError, ValueError):  # an object in memory
        return stream
    stream.flush()
    # The console of Windows takes characters, by the buffer that Python has made for it.
    buffer: Any = stream.buffer if os.name == "nt" else io.BufferedWriter(_Lasting(fd, messages))
    return Terminal(
        buffer, stream.encoding, stream.errors, line_buffering=messages or stream.isatty(), write_through=True
    )
