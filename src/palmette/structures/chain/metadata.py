"""The metadata of a chain model's file, declared once. Fields are named as the keys of the file."""

from __future__ import annotations

from typing import Annotated, Any, Literal

import msgspec
from msgspec import UNSET, UnsetType

from palmette.data.labels.automaton import LabelAutomaton
from palmette.data.labels.numbers import LabelNumbers
from palmette.features.resources import Resources
from palmette.options.chain import MOST_STATES
from palmette.structures.chain.temperature import COLDEST, HOTTEST, Calibration
from palmette.structures.stored import Count, Name, StoredTemplates
from palmette.structures.training_log import Epoch

TASK = "chain"
States = Annotated[int, msgspec.Meta(ge=1, le=MOST_STATES)]


class StoredShape(msgspec.Struct, frozen=True):
    """`structures.chain.weights.Shape`."""

    n_labels: int
    order: Literal[0, 1, 2]
    ends: bool = True
    transitions: bool = True
    triples: bool = False
    per: States = 1
    states: tuple[States, ...] = ()
    history: LabelAutomaton | None = None
    local: bool = False


class StoredRows(msgspec.Struct, frozen=True):
    """What a `LinearClassifier` has besides its chain."""

    classes: Annotated[list[str | bool | int | float], msgspec.Meta(min_length=1)]
    dtype: str  # of the classes, as NumPy spells it
    width: int | None  # of rows of numbers; None: rows are attributes
    bias: bool


class StoredCounting(msgspec.Struct, frozen=True):
    """The parameters of an `HMM`, whose tables are further arrays; see lab/hmm/estimator.py."""

    order: Literal[1, 2]
    ends: bool
    smoothing: float
    interpolate: bool
    rare: Count
    dictionary: int | None


class Imported(msgspec.Struct, frozen=True):
    """Where the model of another tool comes from."""

    tool: Literal["crfsuite", "wapiti", "crfpp"]
    file: str = ""


class AboutTraining(msgspec.Struct, kw_only=True, frozen=True):
    """What `ChainModel.meta` holds."""

    history: list[Epoch] = []
    forbidden: list[tuple[str, str]] = []
    best_pass: int | UnsetType = UNSET
    ended: str | UnsetType = UNSET
    features: str | UnsetType | None = UNSET
    reading: dict[str, Any] | UnsetType | None = UNSET  # a FormatSpec
    calibration: Calibration | UnsetType = UNSET
    temperature: Annotated[float, msgspec.Meta(ge=COLDEST, le=HOTTEST)] | UnsetType = UNSET  # before calibration
    rows: StoredRows | UnsetType = UNSET
    counting: StoredCounting | UnsetType = UNSET
    imported: Imported | UnsetType = UNSET
    label_numbers: LabelNumbers | UnsetType = UNSET  # labels of Python data are whole numbers
    vectors: dict[str, Count] | UnsetType = UNSET  # widths of the vectors of Python data
    columns: Count | UnsetType = UNSET  # of the training data, which may be more than the templates read


class ChainMeta(AboutTraining, kw_only=True, frozen=True):
    """Everything of a chain model that is not an array."""

    task: str
    labels: Annotated[list[Name], msgspec.Meta(min_length=1)]
    shape: StoredShape
    scheme: str | None
    templates: StoredTemplates | None  # None: ready-made attributes
    resources: Resources
    sizes: dict[str, Count]  # attributes of each part
    bias: dict[str, float]
    settings: dict[str, Any] = {}
    helpers: list[dict[str, Any]] | UnsetType = UNSET  # the metadata of models that make columns
