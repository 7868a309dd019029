"""What commands print: the standard streams, JSON, progress of long work, and the outcome of a training.

Labels, attributes and words come from files of others, and a terminal obeys the control characters in them. `write`
escapes all of them; drawings by rich, which have control characters on purpose, are written as they are, and
reports/tables.py escapes their content.

If the reader of messages ends (`palmette train ... 2>&1 | head -2`), the command goes on without them, since it has
files to write. The data that a command writes to standard output does not come here: see data/files.py.
"""

from __future__ import annotations

import io
import logging
import os
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from typing import TYPE_CHECKING, Any, TextIO

from palmette.data.files import silence
from palmette.errors import counted, visible

if TYPE_CHECKING:
    from palmette.training.result import TrainResult

CLEAR = "\r\x1b[K"  # what removes an unfinished line of progress
WIDTH = 70  # of a line that is written over


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


def print_json(about: Any) -> None:
    import msgspec

    print(msgspec.json.format(msgspec.json.encode(about), indent=2).decode())


class Ticker:
    """Lines on stderr about long work, from its second second on: one after the other, or in a terminal in place."""

    def __init__(self, seconds: float = 1.0, live_seconds: float = 0.2) -> None:
        self.live = sys.stderr.isatty()
        self.every = live_seconds if self.live else seconds
        self.next = time.perf_counter() + 1.0

    def due(self) -> bool:
        return time.perf_counter() >= self.next

    def tell(self, text: str) -> None:
        self.next = time.perf_counter() + self.every
        print(f"{text:{WIDTH}}" if self.live else text, end="\r" if self.live else "\n", file=sys.stderr, flush=True)


class Meter(Ticker):
    """Progress of tagging; `unit` is what is counted, in the singular."""

    def __init__(self, unit: str = "token") -> None:
        super().__init__()
        self.unit = unit

    def __call__(self, done: int) -> None:
        if self.due():
            self.tell(counted(done, self.unit))


def library_muted() -> AbstractContextManager[None]:
    """Without the messages of trainings on tiny data that only compile kernels; the command's own are shown."""
    return _muted(("training", "structures", "estimators", "lab"), logging.CRITICAL)


def details_muted() -> AbstractContextManager[None]:
    """Without what each of many trainings tells about itself; warnings are shown."""
    told = ("training", "structures", "estimators", "features", "lab", "parsing", "pipeline")
    return _muted(told, logging.WARNING)


@contextmanager
def _muted(packages: Sequence[str], level: int) -> Iterator[None]:
    """Without the messages of some packages below a level."""
    loggers = [logging.getLogger(f"palmette.{name}") for name in packages]
    levels = [logger.level for logger in loggers]
    for logger in loggers:
        logger.setLevel(max(level, logger.level))
    try:
        yield
    finally:
        for logger, level in zip(loggers, levels, strict=True):
            logger.setLevel(level)


def report_source(data: str, quiet: bool, what: str = "") -> None:
    """Print that the command waits for input from the terminal."""
    if data == "-" and sys.stdin is not None and sys.stdin.isatty() and not quiet:
        print(f"reading {what}from the terminal; end with Ctrl-D (or give a file, or --text)", file=sys.stderr)


def report_rate(n: int, unit: str, seconds: float, files: list[str]) -> None:
    """Print the speed and the files written."""
    rate = f"{counted(n, unit)} in {seconds:.2f} s ({n / max(seconds, 1e-9):,.0f} per second)"
    print(f"{rate}; wrote {' and '.join(files)}", file=sys.stderr)


def exit_if_interrupted(outcome: TrainResult) -> None:
    """End the process as the signal asked that has interrupted a training, now that its model is saved."""
    if outcome.interrupted:
        from palmette.training.interrupt import exit_code

        raise SystemExit(exit_code(outcome.signal))


def report_training(
    outcome: TrainResult, output: str, seconds: float, about: Callable[[], dict[str, Any]], json: bool, quiet: bool,
    score: str = "dev",
) -> None:  # fmt: skip
    """The outcome of a training: a line, or a JSON object that includes `about()`, which is called only for JSON."""
    if json:
        ending = {
            "model": output,
            "bytes": os.path.getsize(output) if os.path.isfile(output) else None,
            "best_pass": outcome.best_epoch,
            "dev": None if outcome.kept is None else outcome.kept.dev,
            "interrupted": outcome.interrupted,
            "ended": outcome.ended,
            "cut_short": outcome.cut_short,
            "seconds": round(seconds, 3),
        }
        print_json(ending | about())
    elif not quiet:
        print(f"{outcome.summary(score)}; {seconds:.1f} s in all; saved {output}")
