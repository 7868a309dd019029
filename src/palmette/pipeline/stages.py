"""Steps of a training that run side by side: each begins when those that it needs have ended.

All steps run in worker threads, also if there is only one. The main thread waits for Ctrl-C, which stops the running
steps at the next point of their progress; what has ended by then is kept. If a step fails, those that need it do not
begin, and the others go on.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from typing import Any, NamedTuple, Protocol

from palmette.structures.training_log import Epoch
from palmette.training.interrupt import Interrupt, interruptible
from palmette.training.result import Progress

LOOK = 0.1  # seconds between looks at the signals


class StageReport(Protocol):
    """Who is told of the steps; called from several threads."""

    def begins(self, stage: str) -> None: ...

    def progress(self, stage: str, number: int, done: int, total: int, finished: Epoch | None) -> None: ...

    def ends(self, stage: str, seconds: float, note: str) -> None: ...


class Stage(NamedTuple):
    """A step of a training."""

    name: str
    work: Callable[[Mapping[str, Any], Progress], Any]  # from the results so far to that of this step
    needs: tuple[str, ...] = ()
    note: Callable[[Any], str] = lambda result: ""  # what is reported about the result


class StageResults(NamedTuple):
    """What came of the steps that have ended."""

    results: dict[str, Any]
    seconds: dict[str, float]
    signal: int  # that has interrupted the training; 0: none
    errors: dict[str, Exception]  # of the steps that failed, in the order in which they did


class Stopped(Exception):
    """Raised inside a step that is asked to stop."""


class _Run:
    """The state that the threads share."""

    def __init__(self, report: StageReport | None) -> None:
        self.stop = threading.Event()
        self.report = report
        self.results: dict[str, Any] = {}
        self.seconds: dict[str, float] = {}
        self.errors: dict[str, Exception] = {}

    def do(self, stage: Stage) -> None:
        """Do one step, in a worker thread."""

        def progress(number: int, done: int, total: int, finished: Epoch | None) -> None:
            if self.stop.is_set():
                raise Stopped
            if self.report is not None:
                self.report.progress(stage.name, number, done, total, finished)

        if self.stop.is_set():
            return
        begun = time.perf_counter()
        if self.report is not None:
            self.report.begins(stage.name)
        try:
            found = stage.work(self.results, progress)
        except Stopped:
            return
        except Exception as error:
            self.errors[stage.name] = error
            if self.report is not None:
                self.report.ends(stage.name, time.perf_counter() - begun, f"failed: {error}")
            return
        self.seconds[stage.name] = time.perf_counter() - begun
        self.results[stage.name] = found
        if self.report is not None:
            self.report.ends(stage.name, self.seconds[stage.name], stage.note(found))


def run_stages(stages: Sequence[Stage], *, threads: int, report: StageReport | None = None) -> StageResults:
    """Run the steps on some threads, those that come first in the list first."""
    run = _Run(report)
    with interruptible() as interrupt, ThreadPoolExecutor(threads) as pool:
        try:
            _drive(list(stages), run, pool, interrupt)
        finally:
            run.stop.set()
    return StageResults(run.results, run.seconds, interrupt.signal, run.errors)


def _drive(waiting: list[Stage], run: _Run, pool: ThreadPoolExecutor, interrupt: Interrupt) -> None:
    pending: set[Future[None]] = set()
    while True:
        if interrupt:
            run.stop.set()
            waiting.clear()
        for stage in [stage for stage in waiting if all(name in run.results for name in stage.needs)]:
            waiting.remove(stage)
            pending.add(pool.submit(run.do, stage))
        if not pending:
            return
        ended, pending = wait(pending, timeout=LOOK, return_when=FIRST_COMPLETED)
        for future in ended:
            future.result()  # raises what is not an error of a step
