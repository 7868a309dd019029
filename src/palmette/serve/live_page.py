"""`palmette train --page`: the learning curves in a browser while a training runs."""

from __future__ import annotations

import sys
from types import TracebackType
from typing import Any

import msgspec

from palmette.errors import UsageError
from palmette.structures.training_log import Epoch
from palmette.training.result import Progress, watcher_of


class LivePage:
    """A server on this machine that shows the epochs of a training as they end; a `Progress` and a context manager. It
    passes what it is told on to another `Progress`."""

    def __init__(self, told: Progress, about: dict[str, Any]) -> None:
        try:
            from palmette.serve.app import create_app
            from palmette.serve.run import start_in_background
            from palmette.serve.training import TrainingLog
        except ModuleNotFoundError as error:
            if (error.name or "").startswith("palmette"):
                raise
            raise UsageError(f"--page: {error.name} is missing: pip install 'palmette[serve]'") from None
        self.told, self.workers = told, watcher_of(told)
        self.log = TrainingLog(about)
        self.running = start_in_background(create_app([], training=self.log))
        print(f"learning curves at {self.running.address}", file=sys.stderr, flush=True)

    def __call__(self, number: int, done: int, total: int, finished: Epoch | None) -> None:
        if finished is not None:
            self.log.append(msgspec.to_builtins(finished))
        self.told(number, done, total, finished)

    def __enter__(self) -> LivePage:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.log.finish({"ended": "the training failed" if error is not None else "the training has ended"})
        self.running.stop()
