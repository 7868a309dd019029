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


_signals = [signal.SIGINT]


def stop_on_sigterm() -> None:
    """From now on SIGTERM interrupts a training in this process as Ctrl-C does. Without it, SIGTERM is left to the
    program."""
    if signal.SIGTERM not in _signals:
        _signals.append(signal.SIGTERM)


@contextlib.contextmanager
def interruptible() -> Iterator[Interrupt]:
    """The first Ctrl-C inside sets the `Interrupt` instead of raising; a second one raises as usual. After
    `stop_on_sigterm` the same holds for SIGTERM. Outside the main thread signals cannot be handled, and nothing
    changes."""
    interrupt = Interrupt()

    def remember(signum: int, frame: Any) -> None:
        if interrupt:
            raise KeyboardInterrupt if signum == signal.SIGINT else SystemExit(exit_code(signum))
        interrupt.signal = signum

    if threading.current_thread() is not threading.main_thread():
        yield interrupt
        return
    before = [(signum, signal.signal(signum, remember)) for signum in _signals]
    try:
        yield interrupt
    finally:
        for signum, handler in before:
            signal.signal(signum, handler)
