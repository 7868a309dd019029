"""Where tables are printed: a rich console that leaves a broken pipe to the command line."""

from __future__ import annotations

from typing import Any

from rich.console import Console


class OutputConsole(Console):
    """Standard output, as wide as the terminal, or as `width` elsewhere."""

    def __init__(self, width: int, **options: Any) -> None:
        # A label between colons is no emoji.
        super().__init__(highlight=False, emoji=False, **options)
        if not self.is_terminal:
            self.width = width

    def on_broken_pipe(self) -> None:
        """Rich would end the program with exit code 1; to have read enough is no error."""
        raise BrokenPipeError
