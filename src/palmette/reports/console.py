"""Where tables are printed: a rich console that leaves a broken pipe to the command line."""

from __future__ import annotations

import io
import shutil
from collections.abc import Callable, Iterable
from typing import Any

from rich.console import Console
from rich.segment import Segment

from palmette.errors import visible


class OutputConsole(Console):
    """Standard output, as wide as the terminal, or as `width` elsewhere."""

    def __init__(self, width: int, **options: Any) -> None:
        # A label between colons is no emoji.
        super().__init__(highlight=False, emoji=False, **options)
        if not self.is_terminal:
            self.width = width

    def _render_buffer(self, buffer: Iterable[Segment]) -> str:
        """Escape control characters of labels, attributes and words, once all columns have their width."""
        shown = (one if one.control else Segment(visible(one.text), one.style) for one in buffer)
        return super()._render_buffer(shown)

    def on_broken_pipe(self) -> None:
        """Rich would end the program with exit code 1; to have read enough is no error."""
        raise BrokenPipeError


def printed_text(report: Callable[[Console], None]) -> str:
    """What a report prints, as plain text for `print`: as wide as the terminal, or 100 columns."""
    text = io.StringIO()
    report(OutputConsole(shutil.get_terminal_size((100, 24)).columns, file=text))
    return "\n".join(line.rstrip() for line in text.getvalue().splitlines())
