"""Ctrl-C during training ends it between two slices, so that weights and clock stay in step. SIGTERM does the same in a
process that asked for it."""

from __future__ import annotations

import contextlib
import signal
import threading
from collections.abc import Iterator
from typing import Any


class Interrupt:
    """True once a signal has asked to stop."""

    def __init__(self) -> None:
        self.signal = 0

    def __bool__(self) -> bool:
        return self.signal != 0


def exit_code(signum: int) -> int:
    """The exit code of a process that a signal has ended, as shells report it."""
    return 128 + signum


def exit_on_sigterm() -> None:
    """SIGTERM ends the process as an exception does: unfinished files are deleted."""
    if hasattr(signal, "SIGTERM") and signal.getsignal(signal.SIGTERM) == signal.SIG_DFL:
        signal.signal(signal.SIGTERM, _exit)


def _exit(signum: int, frame: Any) -> None:
    raise SystemExit(exit_code(signum))


@contextlib.contextmanager
def interruptible() -> Iterator[Interrupt]:
    """The first Ctrl-C inside sets the `Interrupt` instead of raising; a second one raises as usual. After
    `exit_on_sigterm` the same holds for SIGTERM. Outside the main thread signals cannot be handled, and nothing
    changes."""
    interrupt = Interrupt()

    def remember(signum: int, frame: Any) -> None:
        if interrupt:
            raise KeyboardInterrupt if signum == signal.SIGINT else SystemExit(exit_code(signum))
        interrupt.signal = signum

    if threading.current_thread() is not threading.main_thread():
        yield interrupt
        return
    handled = [signal.SIGINT] + [signal.SIGTERM] * (signal.getsignal(signal.SIGTERM) is _exit)
    before = [(signum, signal.signal(signum, remember)) for signum in handled]
    try:
        yield interrupt
    finally:
        for signum, handler in before:
            signal.signal(signum, handler)
