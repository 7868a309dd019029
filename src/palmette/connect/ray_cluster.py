"""Workers as actors of Ray (extra `[ray]`), which is imported when the first cluster is made: for shards, and for the
trainings of a search.
"""

from __future__ import annotations

import logging
import pickle
import time
from collections.abc import Callable, Iterator, Sequence
from typing import Any, Self

import numpy as np

from palmette.data.subset import take
from palmette.errors import PalmetteError, UsageError
from palmette.training.cluster import PAUSE, Cluster, Worker, WorkerProgress
from palmette.training.trainer import Monitor
from palmette.tuning.trial import Material, Trial, TrialStopped, TrialTask, Watch, run_trial

# An actor holds one worker. It is called like the workers of `Threads`, with arguments and results in Ray's object
# store. An actor that dies is replaced: the new one goes through the lasting calls of the one before, then does the
# call again with the arguments for a fresh worker, and so returns what the one before would have returned.

logger = logging.getLogger(__name__)
MOST_DEATHS = 5  # of workers of one shard in one call
ASKING = 0.5  # seconds that are waited for the progress of actors
LOCAL, AUTO = "local", "auto"
# Of a cluster in this machine: how long its processes may be silent, since all of them share its cores with the work
PATIENT = {
    "health_check_initial_delay_ms": 60_000, "health_check_timeout_ms": 60_000, "health_check_failure_threshold": 20,
    "gcs_rpc_server_connect_timeout_s": 60, "gcs_rpc_server_reconnect_timeout_s": 600,
}  # fmt: skip


class _Failed:
    """An error that is the input's fault, which travels as a result: Ray would wrap it."""

    def __init__(self, error: PalmetteError) -> None:
        self.kind, self.message = type(error), str(error)

    def again(self) -> PalmetteError:
        error = self.kind(self.message)
        error.__dict__.setdefault("file", None)
        return error


class _Actor:
    """A worker in a process of its own. `progress` and `stop` are answered while it works."""

    def __init__(self, make: Callable[..., Worker], arguments: tuple[Any, ...]) -> None:
        self.worker = make(*arguments)

    def call(self, method: str, arguments: tuple[Any, ...]) -> Any:
        try:
            self.worker.report(0, 0)
            return getattr(self.worker, method)(*arguments)
        except PalmetteError as error:
            return _Failed(error)

    def progress(self) -> tuple[int, int]:
        return self.worker.progress()

    def stop(self, signal: int) -> None:
        self.worker.stop(signal)


def load_ray() -> Any:
    """The module; UsageError if it is not installed."""
    try:
        import ray
    except ImportError:
        raise UsageError("Ray is not installed: pip install 'palmette[ray]'") from None
    return ray


class Connection:
    """A process's connection to Ray: to the cluster at an address, to the one that is found (auto), or to one that is
    started in this machine (local), with so many CPUs. A connection that the program has already is used and stays;
    another one ends with `close`, and so does a cluster that was started for it."""

    def __init__(self, address: str, cpus: int | None = None) -> None:
        ray = self.ray = load_ray()
        self.own = not ray.is_initialized()
        if not self.own:
            return
        here: dict[str, Any] = {}
        if address == LOCAL:
            here = {"num_cpus": cpus, "include_dashboard": False, "_system_config": PATIENT}
            logger.info("starting a Ray cluster in this machine")
        try:
            ray.init(address=address, log_to_driver=False, logging_level=logging.ERROR, configure_logging=False, **here)
        except (ConnectionError, ValueError, RuntimeError) as error:
            why = str(error).splitlines()[0]
            raise UsageError(f"no Ray cluster at {address!r}: {why}; `local` starts one in this machine") from None

    def close(self) -> None:
        if self.own:
            self.own = False
            self.ray.shutdown()


class RayCluster(Cluster):
    """An actor for each shard."""

    def __init__(
        self, make: Callable[..., Worker], arguments: Sequence[tuple[Any, ...]], address: str = AUTO, cpus: float = 1.0
    ) -> None:
        """make(*arguments[k]) is the worker of shard k; cpus: that an actor reserves."""
        self.connection = Connection(address, max(1, len(arguments)))
        self.ray = self.connection.ray
        self.make, self.arguments, self.cpus = make, list(arguments), cpus
        self.lasting: list[tuple[str, Any]] = []  # calls that every worker has had: method, references of arguments
        self.actors = [self._new(k) for k in range(len(self.arguments))]
        self.known = [WorkerProgress(0, 0, False)] * self.size

    @property
    def size(self) -> int:
        return len(self.arguments)

    def _new(self, k: int) -> Any:
        remote = self.ray.remote(num_cpus=self.cpus, max_concurrency=2, max_restarts=0)(_Actor)
        return remote.remote(self.make, self.arguments[k])

    def run(
        self,
        method: str,
        *arguments: Any,
        fresh: Callable[[], tuple[Any, ...]] | None = None,
        monitor: Monitor | None = None,
    ) -> list[Any]:
        shared = self.ray.put(arguments)
        return self._results(method, [shared] * self.size, fresh, monitor)

    def each(self, method: str, arguments: Sequence[tuple[Any, ...]], lasting: bool = False) -> list[Any]:
        known: dict[int, Any] = {}  # equal arguments are stored once
        references = []
        for own in arguments:
            if id(own) not in known:
                known[id(own)] = self.ray.put(own)
            references.append(known[id(own)])
        found = self._results(method, references, None, None)
        if lasting:
            self.lasting.append((method, references))
        return found

    def _results(
        self,
        method: str,
        references: Sequence[Any],
        fresh: Callable[[], tuple[Any, ...]] | None,
        monitor: Monitor | None,
    ) -> list[Any]:
        running = {self.actors[k].call.remote(method, references[k]): k for k in range(self.size)}
        results: list[Any] = [None] * self.size
        deaths = [0] * self.size
        self.known = [WorkerProgress(0, 0, False, one.replaced) for one in self.known]
        while running:
            ready, _ = self.ray.wait(list(running), num_returns=len(running), timeout=PAUSE)
            for reference in ready:
                k = running.pop(reference)
                try:
                    results[k] = self.ray.get(reference)
                except self.ray.exceptions.RayTaskError:
                    raise
                except self.ray.exceptions.RayError as error:
                    deaths[k] += 1
                    if deaths[k] > MOST_DEATHS:
                        raise UsageError(f"the worker of shard {k + 1} died {deaths[k]} times: {error}") from None
                    logger.warning("the worker of shard %d is lost (%s): replaced", k + 1, type(error).__name__)
                    again = references[k] if fresh is None else self.ray.put(fresh())
                    running[self._replacement(k).call.remote(method, again)] = k
                    continue
                if isinstance(results[k], _Failed):
                    raise results[k].again()
            if monitor is not None or self.watcher is not None:
                self.tell(self._progress(set(running.values())), monitor)
        return results

    def _replacement(self, k: int) -> Any:
        """A new worker of shard k, in the state that the lasting calls leave. Calls of an actor are done in turn, for
        which it is enough that each is waited for."""
        self.known[k] = WorkerProgress(0, 0, False, self.known[k].replaced + 1)
        self.ray.kill(self.actors[k])
        actor = self.actors[k] = self._new(k)
        for method, references in self.lasting:
            self.ray.get(actor.call.remote(method, references[k]))
        return actor

    def _progress(self, busy: set[int]) -> list[WorkerProgress]:
        """How far each worker is, or was when it answered last."""
        for k, (_, total, _, replaced) in enumerate(self.known):
            if k not in busy:
                self.known[k] = WorkerProgress(total, total, True, replaced)
        asked = {self.actors[k].progress.remote(): k for k in busy}
        ready, _ = self.ray.wait(list(asked), num_returns=len(asked), timeout=ASKING) if asked else ([], [])
        for reference in ready:
            k = asked[reference]
            try:
                done, total = self.ray.get(reference)
            except self.ray.exceptions.RayError:  # its death shows when its work is waited for
                continue
            self.known[k] = WorkerProgress(done, total, False, self.known[k].replaced)
        return self.known

    def stop(self, signal: int) -> None:
        for actor in self.actors:
            actor.stop.remote(signal)

    @property
    def replaced(self) -> int:
        """Workers that were lost so far."""
        return sum(one.replaced for one in self.known)

    def close(self) -> None:
        for actor in self.actors:
            self.ray.kill(actor)
        self.connection.close()


# Trainings of a search on the machines of a Ray cluster: one process per core, which gets the data once.
#
# A process that dies is started again and its training is done again, which gives the same result.


class _TrialActor:
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
        made = self._ray.remote(num_cpus=1, max_restarts=-1, max_task_retries=-1)(_TrialActor)
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
