"""`BaseTrainer` and `Trainer`: collect sequences, set parameters, train, and hear how it goes."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any, Self

from palmette.crfsuite.log_parser import TrainLogParser
from palmette.crfsuite.parameters import Parameters
from palmette.crfsuite.sequences import Sequences

if TYPE_CHECKING:
    from palmette.structures.chain.model import ChainModel

ZERO_BYTE = "CRFsuite's format cannot hold a label or an attribute with a zero byte; a name that ends in .palm can"


class BaseTrainer:
    """Trains a CRF of order 1 on sequences of items: `append` them, then `train`.

    algorithm: lbfgs (default), l2sgd, ap, pa or arow; params: parameters by name, see `params` and `help`; verbose:
    print the log.
    """

    verbose: Any
    _sequences: Sequences
    _parameters: Parameters

    def __new__(cls, *args: Any, **more: Any) -> Self:
        """A subclass need not call `__init__`, as with python-crfsuite."""
        made = super().__new__(cls)
        made.verbose, made._sequences, made._parameters = None, Sequences(), Parameters("lbfgs")
        return made

    def __init__(
        self, algorithm: str | None = None, params: Mapping[str, Any] | None = None, verbose: bool = True
    ) -> None:
        if algorithm is not None:
            self.select(algorithm)
        if params is not None:
            self.set_params(params)
        self.verbose = verbose

    def select(self, algorithm: str, type: str = "crf1d") -> None:
        """Choose the algorithm; its parameters have their defaults then."""
        self._parameters = Parameters(algorithm, type)

    def append(self, xseq: Any, yseq: Iterable[Any], group: int = 0) -> None:
        """Add a sequence of items, as `ItemSequence` describes them, and their labels. The group is a number: one of
        them may be held out in training."""
        self._sequences.append(xseq, yseq, group)

    def clear(self) -> None:
        """Forget all sequences."""
        self._sequences = Sequences()

    def params(self) -> list[str]:
        """The names of the parameters of the algorithm."""
        return list(self._parameters.declared)

    def set(self, name: str, value: Any) -> None:
        """Set a parameter."""
        self._parameters.set(name, value)

    def get(self, name: str) -> Any:
        """The value of a parameter."""
        return self._parameters.get(name)

    def set_params(self, params: Mapping[str, Any]) -> None:
        """Set parameters by name."""
        for name, value in params.items():
            self.set(name, value)

    def get_params(self) -> dict[str, Any]:
        """All parameters by name."""
        return {name: self.get(name) for name in self.params()}

    def help(self, name: str) -> str:
        """What a parameter means."""
        return self._parameters.find(name).help

    def message(self, message: str) -> None:
        """Called with each message of the log: prints it."""
        if self.verbose:
            print(message, end="")

    def train(self, model: str | os.PathLike[str], holdout: int = -1) -> None:
        """Train, and write the model: in CRFsuite's format, or for a name that ends in .palm as a model of palmette;
        nothing is written if the name is empty. The sequences of the group `holdout` are not trained on: their scores
        are in the log."""
        path = os.fsdecode(model)
        if path:
            self._check_writing(path)
        self._before_train()
        trained = self._trained(holdout)
        if path:
            write_model(trained, path)
        self._stored(trained)

    def _check_writing(self, path: str) -> None:
        """An error, before a long training, if it is clear that its model cannot be written."""
        from palmette.data.files import check_output

        check_output(path)
        if not path.endswith(".palm") and self._sequences.has_zero_byte():
            raise ValueError(f"{path}: {ZERO_BYTE}")

    def _before_train(self) -> None:
        """Called before each training."""

    def _trained(self, holdout: int) -> ChainModel:
        from palmette.crfsuite.job import model_of, new_job
        from palmette.crfsuite.log import Log
        from palmette.training.interrupt import interruptible

        algorithm, log = self._parameters.algorithm, Log(self.message)
        with interruptible() as interrupt:
            job = new_job(self._sequences, self._parameters, holdout, log, interrupt)
            if algorithm == "lbfgs":
                from palmette.crfsuite.lbfgs import train_lbfgs

                chain, ended = train_lbfgs(job)
            elif algorithm == "l2sgd":
                from palmette.crfsuite.sgd import train_l2sgd

                chain, ended = train_l2sgd(job)
            else:
                from palmette.crfsuite.margins import train_by_margins

                chain, ended = train_by_margins(job, algorithm)
            log.total()
            model = model_of(job, algorithm, chain, ended)
            job.stop_if_asked()
        self._sizes, self._log = job.sizes, log
        return model

    def _stored(self, model: ChainModel) -> None:
        from palmette.structures.chain.weights import n_weights

        features, attributes = self._sizes
        self._log.say(
            "Storing the model",
            f"Number of active features: {n_weights(model.chain)} ({features})",
            f"Number of active attributes: {model.feature_indexes[1].size} ({attributes})",
            f"Number of active labels: {len(model.labels)} ({len(model.labels)})",
            "Writing labels",
            "Writing attributes",
            "Writing feature references for transitions",
            "Writing feature references for attributes",
            f"Seconds required: {self._log.seconds()}",
            "",
        )


class Trainer(BaseTrainer):
    """A trainer that reads its own log: override `on_iteration` and the others to follow it; `logparser` has the
    figures of all iterations."""

    logparser: TrainLogParser | None = None

    def _before_train(self) -> None:
        self.logparser = TrainLogParser()

    def message(self, message: str) -> None:
        """Called with each message of the log."""
        parser = self.logparser
        assert parser is not None
        event = parser.feed(message)
        if not self.verbose or event is None:
            return
        more: tuple[Any, ...] = ()
        if event == "featgen_progress":
            more = (parser.featgen_percent,)
        elif event == "iteration":
            more = (parser.last_iteration,)
        getattr(self, f"on_{event}")(parser.last_log, *more)

    def on_start(self, log: str) -> None:
        """Training begins. This and the others print their part of the log."""
        print(log, end="")

    def on_featgen_progress(self, log: str, percent: int) -> None:
        """Features are being counted."""
        print(log, end="")

    def on_featgen_end(self, log: str) -> None:
        """Features are counted."""
        print(log, end="")

    def on_prepared(self, log: str) -> None:
        """The first iteration begins."""
        print(log, end="")

    def on_prepare_error(self, log: str) -> None:
        """No iteration was possible."""
        print(log, end="")

    def on_iteration(self, log: str, info: dict[str, Any]) -> None:
        """An iteration is over; `info` has its figures."""
        print(log, end="")

    def on_optimization_end(self, log: str) -> None:
        """Training is over."""
        print(log, end="")

    def on_end(self, log: str) -> None:
        """The model is written."""
        print(log, end="")


def write_model(model: ChainModel, path: str) -> None:
    """Write a model file, whole or not at all."""
    if path.endswith(".palm"):
        model.save(path)
        return
    from palmette.connect.models.crfsuite_write import crfsuite_bytes
    from palmette.data.files import write_whole

    data = crfsuite_bytes(model)
    with write_whole(path) as file:
        file.write(data)
