"""What is asked of a training of chains, what a learner then gets, and what it gives back."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from palmette.data.labels.automaton import Step
from palmette.data.labels.schemes import Transitions
from palmette.features.resources import Resources
from palmette.features.templates import TemplateSet
from palmette.kernels.chain.forms import Data
from palmette.options.settings import Settings
from palmette.structures.chain.data import Collected
from palmette.structures.chain.model import ChainModel
from palmette.structures.chain.weights import Shape
from palmette.training.chain.exact import Dev
from palmette.training.result import Progress, TrainResult


@dataclass
class TrainRequest:
    """What is asked of `fit_chain` besides the data."""

    templates: TemplateSet | None  # None: ready-made attributes
    settings: Settings
    order: int = 1  # for ready-made attributes; templates say it themselves
    resources: Resources = field(default_factory=Resources)
    forbidden: Sequence[tuple[str, str]] = ()  # label pairs, with <s> and </s> for the ends
    resume: ChainModel | None = None
    checkpoint: bool = False
    names: bool = True
    ends: bool = True
    progress: Progress | None = None
    say: Callable[[str], None] = lambda message: None
    threads: int = 1
    history: Step | None = None  # a function for the settings' label history; None: they name one, or none


class TrainingData(NamedTuple):
    """The data as numbers, the form of the weights, and what is wished."""

    collected: Collected
    data: Data
    shape: Shape
    allowed: Transitions
    labels: list[str]
    dev: Dev | None
    wish: TrainRequest


class TrainedChain(NamedTuple):
    """What came out of training."""

    outcome: TrainResult
    settings: Settings  # with everything decided
    infeasible: int  # sentences without an allowed path
    state: Callable[[], dict[str, np.ndarray]]  # what an exact resumption needs
