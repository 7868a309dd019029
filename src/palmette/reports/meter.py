"""Progress of a comparison, on stderr."""

from __future__ import annotations

import sys
import time


class Meter:
    """Progress on stderr: the current step, after the first second."""

    def __init__(self, quiet: bool) -> None:
        self.quiet = quiet
        self.live = not quiet and sys.stderr.isatty()
        self.next = time.perf_counter() + 1.0
        self.unfinished = False

    def tell(self, message: str) -> None:
        now = time.perf_counter()
        if not self.quiet and now >= self.next:
            # A log of lines needs fewer of them than a line that is written over.
            self.next = now + (0.2 if self.live else 5.0)
            self.unfinished = self.live
            text = f"\r\x1b[K{message}" if self.live else f"{message}\n"
            print(text, end="", file=sys.stderr, flush=True)

    def clear(self) -> None:
        """Remove an unfinished line."""
        if self.unfinished:
            self.unfinished = False
            print("\r\x1b[K", end="", file=sys.stderr, flush=True)
