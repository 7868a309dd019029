"""Trainings of a search on the machines of a Ray cluster: one process per core, which gets the data once.

A process that dies is started again and its training is done again, which gives the same result.
"""

from __future__ import annotations

import pickle
import time
from collections.abc import Iterator, Sequence
from typing import Any, Self

import numpy as np

from palmette.connect.ray_cluster import Connection
from palmette.data.subset import take
from palmette.tuning.trial import Material, Trial, TrialStopped, TrialTask, Watch, run_trial


class _Trainer:
    """What runs in a process of the cluster."""

    def __init__(self) -> None:
        self.material: Material | None = None

    def train(self, data: bytes, task: TrialTask, seconds: float | None) -> Trial | None:
        """The trial, or None if it takes more seconds than these. data: the pickled material; arrays of the object
        store itself cannot be written to."""
        if self.material is None:
            self.material = pickle.loads(data)
        end = None if seconds is None else time.monotonic() + seconds
        try:
            return run_trial(self.material, task, lambda: end is not None and time.monotonic() >= end)
        except TrialStopped:
            return None


class RayWorkers:
    """Trainings on a cluster."""

    def __init__(self, material: Material, address: str, size: int | None = None) -> None:
        self._connection = Connection(address, size)
        self._ray = self._connection.ray
        there = int(self._ray.cluster_resources().get("CPU", 1))
        self.size = min(size or there, max(1, there))
        self._data = self._ray.put(_pickled(material))
        self._idle: list[Any] = []
        self._started = 0
        self._busy: dict[Any, Any] = {}  # the process that does a piece of work

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.stop()

    def run(self, tasks: Sequence[TrialTask], deadline: float | None, watch: Watch) -> Iterator[Trial]:
        waiting = list(tasks)
        while waiting or self._busy:
            while waiting and (self._idle or self._started < self.size):
                seconds = None if deadline is None else deadline - time.monotonic()
                trainer, task = self._trainer(), waiting.pop(0)
                self._busy[trainer.train.remote(self._data, task, seconds)] = trainer
            done, _ = self._ray.wait(list(self._busy), num_returns=1)
            self._idle.append(self._busy.pop(done[0]))
            trial = self._ray.get(done[0])
            if trial is not None:
                yield trial

    def _trainer(self) -> Any:
        if self._idle:
            return self._idle.pop()
        self._started += 1
        made = self._ray.remote(num_cpus=1, max_restarts=-1, max_task_retries=-1)(_Trainer)
        return made.remote()

    def stop(self) -> None:
        for trainer in (*self._idle, *self._busy.values()):
            self._ray.kill(trainer)
        self._idle, self._busy = [], {}
        self._connection.close()


def _pickled(material: Material) -> bytes:
    """The data, without the texts that it was read from."""
    train, dev = (take(corpus, np.arange(corpus.n_sentences)) for corpus in (material.train, material.dev))
    return pickle.dumps(material._replace(train=train, dev=dev), protocol=5)
