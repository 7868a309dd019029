"""Progress of a pipeline's training on stderr: a bar per component on a terminal, lines elsewhere."""

from __future__ import annotations

import sys
import threading
from types import TracebackType
from typing import Any

from palmette.structures.training_log import Epoch


class PipelineDisplay:
    """Shows the steps of a training as they go on; a context manager, called from several threads."""

    def __init__(self, quiet: bool = False) -> None:
        self.quiet = quiet
        self._lock = threading.Lock()
        self._bars: Any = None
        self._tasks: dict[str, Any] = {}

    def __enter__(self) -> PipelineDisplay:
        if not self.quiet and sys.stderr.isatty():
            from rich.console import Console
            from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

            self._bars = Progress(
                TextColumn("{task.description:12}"), BarColumn(bar_width=30), TextColumn("{task.fields[about]}"),
                TimeElapsedColumn(), console=Console(stderr=True), transient=True,
            )  # fmt: skip
            self._bars.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._bars is not None:
            self._bars.stop()

    def begins(self, stage: str) -> None:
        with self._lock:
            if self._bars is not None:
                self._tasks[stage] = self._bars.add_task(stage, total=None, about="")

    def progress(self, stage: str, number: int, done: int, total: int, finished: Epoch | None) -> None:
        if self._bars is None:
            return
        with self._lock:
            dev = "" if finished is None or finished.dev is None else f", dev {100 * finished.dev:.2f}"
            self._bars.update(self._tasks[stage], total=max(1, total), completed=done, about=f"pass {number}{dev}")

    def ends(self, stage: str, seconds: float, note: str) -> None:
        if self.quiet:
            return
        line = f"{stage:<14}{seconds:>8.1f} s   {note}".rstrip()
        with self._lock:
            if self._bars is not None:
                self._bars.remove_task(self._tasks.pop(stage))
                self._bars.console.print(line, highlight=False, markup=False)
            else:
                print(line, file=sys.stderr, flush=True)
