"""The process that trains again: `python -m palmette.serve.retrain_job`, a `Job` as JSON on standard input, a line of
JSON per pass on standard output."""

from __future__ import annotations

import logging
import os
import sys
from typing import Any

import msgspec

from palmette.errors import PalmetteError
from palmette.lazy import loaded
from palmette.serve.kinds import CORRECTED
from palmette.serve.retrain import Job
from palmette.serve.retrain_kinds import Again
from palmette.structures.training_log import Epoch, unit_of

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
        report(after=after.value)
    made.save(job.output)


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
