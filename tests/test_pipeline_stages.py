"""Steps of a training side by side: order, results, errors, Ctrl-C."""

from __future__ import annotations

import signal
import threading
import time
from collections.abc import Mapping
from typing import Any

import pytest

from palmette.errors import DataError
from palmette.pipeline.train import Stage, run_stages
from palmette.structures import Epoch


class Log:
    """Who is told."""

    def __init__(self) -> None:
        self.told: list[tuple[str, ...]] = []

    def begins(self, stage: str) -> None:
        self.told.append(("begins", stage))

    def progress(self, stage: str, number: int, done: int, total: int, finished: Epoch | None) -> None:
        self.told.append(("progress", stage))

    def ends(self, stage: str, seconds: float, note: str) -> None:
        self.told.append(("ends", stage, note))


def add(*names: str) -> Any:
    def work(results: Mapping[str, Any], progress: Any) -> int:
        progress(1, 1, 1, None)
        return 1 + sum(results[name] for name in names)

    return work


@pytest.mark.parametrize("threads", [1, 2, 5])
def test_a_step_begins_when_those_it_needs_have_ended(threads: int) -> None:
    log = Log()
    steps = [Stage("d", add("b", "c"), ("b", "c"), str), Stage("b", add("a"), ("a",)), Stage("a", add())]
    steps.append(Stage("c", add("a"), ("a",)))
    found = run_stages(steps, threads=threads, report=log)
    assert found.results == {"a": 1, "b": 2, "c": 2, "d": 5}
    assert found.signal == 0
    assert set(found.seconds) == set("abcd")
    assert log.told[-1] == ("ends", "d", "5")
    order = log.told.index
    assert order(("ends", "a", "")) < order(("begins", "b")) < order(("progress", "b")) < order(("begins", "d"))


def test_steps_run_side_by_side() -> None:
    meet = threading.Barrier(2, timeout=10)

    def work(results: Mapping[str, Any], progress: Any) -> bool:
        meet.wait()
        return True

    assert run_stages([Stage("a", work), Stage("b", work)], threads=2).results == {"a": True, "b": True}


@pytest.mark.parametrize("threads", [1, 2])
def test_after_an_error_steps_that_do_not_need_it_go_on(threads: int) -> None:
    def bad(results: Mapping[str, Any], progress: Any) -> None:
        raise DataError("no such thing")

    log = Log()
    steps = [Stage("a", bad), Stage("b", add("a"), ("a",)), Stage("c", add()), Stage("d", add("c"), ("c",))]
    found = run_stages(steps, threads=threads, report=log)
    assert found.results == {"c": 1, "d": 2}
    assert [str(error) for error in found.errors.values()] == ["no such thing"]
    assert ("ends", "a", "failed: no such thing") in log.told


def test_ctrl_c_keeps_what_has_ended() -> None:
    begun = threading.Event()

    def endless(results: Mapping[str, Any], progress: Any) -> None:
        begun.set()
        for k in range(10_000):
            progress(k, 0, 1, None)
            time.sleep(0.01)

    def interrupt() -> None:
        begun.wait(10)
        signal.raise_signal(signal.SIGINT)

    before = signal.getsignal(signal.SIGINT)
    threading.Thread(target=interrupt).start()
    found = run_stages([Stage("a", add()), Stage("b", endless, ("a",)), Stage("c", add("b"), ("b",))], threads=1)
    assert found.results == {"a": 1}
    assert found.signal == signal.SIGINT
    assert signal.getsignal(signal.SIGINT) is before
