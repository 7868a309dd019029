"""Ctrl-C during training ends it between two slices, so that weights and clock stay in step."""

from __future__ import annotations

import contextlib
import signal
import threading
from collections.abc import Iterator
from typing import Any


class Interrupt:
    """True once Ctrl-C was pressed."""

    def __init__(self) -> None:
        self.pressed = False

    def __bool__(self) -> bool:
        return self.pressed


@contextlib.contextmanager
def interruptible() -> Iterator[Interrupt]:
    """The first Ctrl-C inside sets the `Interrupt` instead of raising; a second one raises as usual. Outside the main
    thread signals cannot be handled, and nothing changes."""
    interrupt = Interrupt()

    def remember(signum: int, frame: Any) -> None:
        if interrupt.pressed:
            raise KeyboardInterrupt
        interrupt.pressed = True

    if threading.current_thread() is not threading.main_thread():
        yield interrupt
        return
    before = signal.signal(signal.SIGINT, remember)
    try:
        yield interrupt
    finally:
        signal.signal(signal.SIGINT, before)
