"""The process that trains again: `python -m palmette.serve.retrain_job`, a `Job` as JSON on standard input, a line of
JSON per pass on standard output."""

from __future__ import annotations

import logging
import os
import sys
from typing import Any

import msgspec

from palmette.errors import PalmetteError
from palmette.evaluation.rivals import CompareOptions, Rivals, compare
from palmette.lazy import loaded
from palmette.serve.kinds import CORRECTED
from palmette.serve.retrain import Job
from palmette.serve.retrain_kinds import Again
from palmette.structures.training_log import Epoch, unit_of

ROUNDS = 2000  # of the bootstrap
NICE = 5  # the server comes first


def report(**record: Any) -> None:
    """Tell the server something."""
    sys.stdout.buffer.write(msgspec.json.encode(record) + b"\n")
    sys.stdout.buffer.flush()


def progress(number: int, done: int, total: int, finished: Epoch | None) -> None:
    if finished is not None:
        row = msgspec.to_builtins(finished)
        report(**{unit_of(finished.figures): number, "pass": number, **row})


def run(job: Job) -> None:
    again: Again = loaded(CORRECTED[job.kind].training)(job)
    before = again.before()
    if before is not None:
        report(measure=before.name, before=before.value)
    made, after = again.train(progress)
    if after is not None:
        report(after=after.value, continued=again.continued)
        report(**measured(again.rivals(made), after.name.lower()))
    made.save(job.output)


def measured(rivals: Rivals, metric: str) -> dict[str, Any]:
    """How sure the two scores and their difference are."""
    found = compare(rivals, CompareOptions(rounds=ROUNDS, differences=0))
    old, new = (system.metrics[metric] for system in found.systems)
    difference = found.pairs[0].differences[metric]
    assert old is not None
    assert new is not None
    assert difference is not None
    intervals = {"before": old.interval, "after": new.interval, "difference": difference.interval}
    made: dict[str, Any] = {f"{name}_interval": (one.low, one.high) for name, one in intervals.items()}
    return made | {"within_noise": difference.interval.low <= 0 <= difference.interval.high}


def main() -> int:
    logging.disable(logging.WARNING)
    if hasattr(os, "nice"):
        os.nice(NICE)
    try:
        run(msgspec.json.decode(sys.stdin.buffer.read(), type=Job))
    except PalmetteError as error:
        report(error=str(error))
        return 1
    except MemoryError:
        report(error="out of memory")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
