"""Inputs and outputs of chain training."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from palmette.data.labels.schemes import Transitions
from palmette.features.resources import Resources
from palmette.features.templates import TemplateSet
from palmette.kernels.chain.forms import Data
from palmette.options.chain import ChainSettings
from palmette.options.training import available_cores
from palmette.structures.chain.data import Collected
from palmette.structures.chain.model import ChainModel
from palmette.structures.chain.weights import Shape
from palmette.training.chain.dev import Dev
from palmette.training.result import Progress, TrainResult
from palmette.training.trainer import ExampleOrder


@dataclass
class TrainRequest:
    """Inputs of `fit_chain` besides the corpora."""

    templates: TemplateSet | None  # None: the data has attributes
    settings: ChainSettings
    order: int = 1  # for data with attributes; templates define their own
    resources: Resources = field(default_factory=Resources)
    forbidden: Sequence[tuple[str, str]] = ()  # label pairs, with <s> and </s> for the ends
    resume: ChainModel | None = None
    checkpoint: bool = False
    names: bool = True
    ends: bool = True
    progress: Progress | None = None
    threads: int | None = None  # None: as many as there are cores
    # The least sum of an attribute's values with a label, and of occurrences of a label pair, that has a weight, as
    # CRFsuite counts; None: occurrences count, as the settings say
    least_sum: float | None = None

    @property
    def n_threads(self) -> int:
        return self.threads or available_cores()


class TrainingData(NamedTuple):
    """A corpus as numbers, the shape of the weights, and how to train them."""

    collected: Collected
    data: Data
    shape: Shape
    allowed: Transitions
    labels: list[str]
    dev: Dev | None
    settings: ChainSettings  # with defaults filled in
    request: TrainRequest
    scheme: str | None = None  # of the labels
    order: ExampleOrder | None = None  # of data on disk
    sentences: int | None = None  # of the whole corpus, if the data is a shard of it

    @property
    def n_sentences(self) -> int:
        """Sentences of the whole corpus."""
        return self.data.offset.size - 1 if self.sentences is None else self.sentences


class TrainedChain(NamedTuple):
    """The outcome of a training."""

    outcome: TrainResult
    settings: ChainSettings  # with all automatic choices resolved
    infeasible: int  # sentences without an allowed path
    state: Callable[[], dict[str, np.ndarray]]  # arrays for an exact resumption
