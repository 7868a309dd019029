"""What travels on the road of a training: the request, the settled plan's data, and the trained weights."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from msgspec import UNSET, UnsetType

from palmette.data.corpus import Corpus
from palmette.data.files import FilePath
from palmette.data.formats.spec import FormatSpec
from palmette.data.labels.schemes import Transitions
from palmette.features.encode import Encoder
from palmette.features.resources import Resources
from palmette.features.templates import TemplateSet
from palmette.kernels.chain.forms import Data
from palmette.options.chain import ChainSettings
from palmette.options.training import available_cores
from palmette.structures.chain.data import Collected
from palmette.structures.chain.metadata import AboutTraining, StoredRows
from palmette.structures.chain.model import ChainModel
from palmette.structures.chain.weights import Shape
from palmette.training.chain.dev import Dev
from palmette.training.result import Progress, TrainResult
from palmette.training.trainer import ExampleOrder

if TYPE_CHECKING:
    from palmette.structures.chain.compact import CompactReport


class Features(NamedTuple):
    """The user's wishes for templates, which the data decides about."""

    name: str | None = None  # of a template set
    template: FilePath | TemplateSet | None = None
    order: int | None = None


@dataclass
class TrainRequest:
    """Inputs of a training besides the data."""

    templates: TemplateSet | Features | None  # `Features`: chosen by the data; None: the data has attributes
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
    dev_share: float | None = 0.0  # of the sentences, which are held out; None: by the rule
    reading: FormatSpec | None = None  # of files
    out_of_core: bool | None = None  # None: if files are too large for memory
    scratch: str | None = None  # the folder of data on disk
    compact: float | None = None  # the points that a compact model may lose; None: the model is not made small
    verbose: bool = False
    features: str | UnsetType | None = UNSET  # the name of the template set, which the model stores
    is_sample: bool = False  # of data that has been checked and reported
    again: ChainModel | None = None  # a model that this one replaces: resources, names of templates and of columns stay
    rows: StoredRows | UnsetType = UNSET  # of a `LinearClassifier`

    @property
    def n_threads(self) -> int:
        return self.threads or available_cores()

    @property
    def leaves_dev_open(self) -> bool:
        """Whether sentences may be held out by the rule: a new training, and no word about development data."""
        return self.dev_share is None and self.resume is None and not self.checkpoint

    def encoder(self) -> Encoder | None:
        """The encoder of columns, whose templates are chosen; None for data with attributes."""
        if self.resume is not None:
            return self.resume.encoder
        assert not isinstance(self.templates, Features)
        return None if self.templates is None else Encoder(self.templates, self.resources, self.settings.unicode)


class Plan(NamedTuple):
    """What is settled before the data is encoded."""

    labels: list[str]
    scheme: str | None  # of the labels
    allowed: Transitions
    shape: Shape
    settings: ChainSettings  # with defaults filled in
    encoder: Encoder | None
    rows: np.ndarray  # i32[N]  the row of `allow` of each token of the surveyed labels
    allow: np.ndarray  # bool[G, Y]
    request: TrainRequest


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
    dev_corpus: Corpus | None = None
    extremes: Data | None = None  # the largest sums and values of data on disk, by which weights are checked
    vocabulary: np.ndarray | None = None  # u64[]  hashes of the words of the training data
    about: AboutTraining = AboutTraining()  # what is known of the data

    @property
    def n_sentences(self) -> int:
        """Sentences of the whole corpus."""
        return self.data.offset.size - 1 if self.sentences is None else self.sentences


class Fitted(NamedTuple):
    """A model, how its training went, and what was lost if it was made small."""

    model: ChainModel
    outcome: TrainResult
    compaction: CompactReport | None = None


class TrainedChain(NamedTuple):
    """The outcome of a training."""

    outcome: TrainResult
    settings: ChainSettings  # with all automatic choices resolved
    infeasible: int  # sentences without an allowed path
    state: Callable[[], dict[str, np.ndarray]]  # arrays for an exact resumption
