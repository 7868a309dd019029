"""Parsers to and from model files.

In the file: the table of features and their lists of weights as arrays (see kernels/weights.py here, and small.py for
compact parsers), and as metadata templates, actions, settings and training log. `parser_parts` and `parser_from_parts`
work on arrays and metadata alone, which a pipeline's file holds among others.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import msgspec
import numpy as np
from msgspec import UNSET, UnsetType
from numpy.typing import NDArray

from palmette.data import array_specs, model_file
from palmette.data.array_specs import Arrays, ArraySpec, CheckedArrays
from palmette.data.files import FilePath, shown
from palmette.data.treebank import FIELDS
from palmette.errors import DataError, ModelError, UsageError
from palmette.features.resources import Clusters
from palmette.parsing.kernels.forms import LEFT, RIGHT, ROOT, Small, action_bytes
from palmette.parsing.kernels.small import small_sizes
from palmette.parsing.kernels.weights import MOST_ACTIONS, lists_of
from palmette.parsing.model import SHIFTING, Action, ParserModel, frozen_weights, n_actions, small_weights
from palmette.parsing.options import TreeSettings
from palmette.parsing.templates import Templates, compile_templates
from palmette.structures.stored import CHECKPOINT, ModelStore
from palmette.structures.training_log import Epoch

TASK = "parse"


class StoredParserTemplates(msgspec.Struct, frozen=True):
    """Templates as text."""

    name: str
    text: str


class AboutParser(msgspec.Struct, kw_only=True, frozen=True):
    """What `ParserModel.meta` holds."""

    history: list[Epoch] = []
    best_pass: int | UnsetType = UNSET
    ignored: list[str] | UnsetType = UNSET  # columns that training did not see
    tags: dict[str, str] | UnsetType = UNSET  # where the tags of a column came from


class ParserMeta(AboutParser, kw_only=True, frozen=True):
    """Everything of a parser that is not an array. Fields are named as the keys of the file."""

    task: str
    templates: StoredParserTemplates
    actions: list[tuple[int, str]]  # a move and a relation; the shift first
    root: str  # the relation of the root, if no action has the move of one
    settings: dict[str, Any] = {}
    clusters: Clusters | UnsetType = UNSET  # what templates read


STORE = ModelStore(TASK, ParserMeta, AboutParser, TreeSettings)


@dataclass(frozen=True)
class FeatureLists:
    """A hash table of pairs (feature, packed place of its list of weights); the feature 0 marks an empty place.

    The number of places is a power of two and one of them is empty, or a search would not end. An empty place has an
    empty list, since a search that finds no feature reads it too. All lists lie within the array `entries`, each in
    places of its own: long ones become rows, and a small file could ask for many.
    """

    entries: str

    def fault(self, array: NDArray[Any], found: CheckedArrays) -> str | None:
        places = array.size // 2
        if array.size % 2 or places & (places - 1) or places < 2 or not (array[::2] == 0).any():
            return "is not a table of features: its places are not a power of two, or none is free"
        if array[1::2][array[::2] == 0].any():
            return "has a list of weights without a feature"
        start, length = lists_of(array)
        entries = found.arrays[self.entries].size // 2
        if (start + length > entries).any():
            return f"has a list of weights that goes beyond the end of {self.entries!r}"
        if int(length.sum()) > entries:
            return f"has lists of weights that share places of {self.entries!r}"
        return None


@dataclass(frozen=True)
class ActionWeights:
    """Pairs of an action and a float32 weight in the same bytes."""

    actions: str  # the size that is their number

    def fault(self, array: NDArray[Any], found: CheckedArrays) -> str | None:
        if array.size % 2 or array.size < 2:
            return "is not a list of pairs"
        if (array[::2] < 0).any() or (array[::2] >= found.sizes[self.actions]).any():
            return "has a weight of an action that does not exist"
        return None if np.isfinite(array.view(np.float32)[1::2]).all() else "has a weight that is not a number"


PARSER_SPECS = (
    ArraySpec("entry", np.int32, ("entry cells",), rules=(ActionWeights("actions"),)),
    ArraySpec("table", np.uint64, ("table cells",), rules=(FeatureLists("entry"),)),
)


@dataclass(frozen=True)
class ListBuckets:
    """Buckets of compact lists of weights, one after the other, which cover all of the array; see
    parsing/kernels/small.py."""

    start: str  # the array of their first bytes
    actions: str  # the size that is the number of actions

    def fault(self, array: NDArray[Any], found: CheckedArrays) -> str | None:
        start, actions = found.arrays[self.start], found.sizes[self.actions]
        if start.size < 2 or start[0] != 0 or start[-1] != array.size or (start[1:] <= start[:-1]).any():
            return f"is not divided into buckets by {self.start!r}"
        small = Small(start, array, np.zeros(2, np.float32), action_bytes(actions))
        features, bucket = small_sizes(small, actions)
        return f"has a bucket ({bucket}) that is not a number of lists of weights" if features < 0 else None


# Of a compact parser
SMALL_SPECS = (
    ArraySpec("small.start", np.int32, ("bucket ends",), low=0),
    ArraySpec("small.lists", np.uint8, ("list bytes",), rules=(ListBuckets("small.start", "actions"),)),
    ArraySpec("small.step", np.float32, (2,), low=0.0, finite=True),
)


@dataclass(frozen=True)
class TrainedLists:
    """As FeatureLists, for the table of a checkpoint: its lists follow each other in the order of their places and take
    all entries, and no list has an action twice, so that training finds room for each of them."""

    actions: str  # the array of the entries' actions

    def fault(self, array: NDArray[Any], found: CheckedArrays) -> str | None:
        places, action = array.size // 2, found.arrays[self.actions]
        if array.size % 2 or places & (places - 1) or places < 2 or not (array[::2] == 0).any():
            return "is not a table of features: its places are not a power of two, or none is free"
        if array[1::2][array[::2] == 0].any():
            return "has a list of weights without a feature"
        start, length = lists_of(array)
        owned = array[::2] != 0
        ends = np.cumsum(length[owned])
        if (start[owned] != ends - length[owned]).any() or int(length.sum()) != action.size:
            return f"does not divide {self.actions!r} into lists"
        pairs = np.repeat(np.arange(places), length) * (MOST_ACTIONS + 1) + action
        return None if np.unique(pairs).size == pairs.size else "has a list with an action twice"


# Of a training that can be continued exactly
CHECKPOINT_SPECS = (
    ArraySpec(f"{CHECKPOINT}clock", np.float64, (1,), low=1, high=np.inf),
    ArraySpec(f"{CHECKPOINT}action", np.int32, ("entries",), low=0, high="actions"),
    ArraySpec(f"{CHECKPOINT}weight", np.float32, ("entries",), finite=True),
    ArraySpec(f"{CHECKPOINT}sums", np.float64, ("entries",), finite=True),
    ArraySpec(f"{CHECKPOINT}table", np.uint64, ("trained cells",), rules=(TrainedLists(f"{CHECKPOINT}action"),)),
)
STATE_SPEC = ArraySpec(f"{CHECKPOINT}state", np.float32, ("entries",), low=0, finite=True)  # of adaptive learners


def parser_specs(arrays: Arrays, settings: TreeSettings) -> tuple[ArraySpec, ...]:
    """The declarations for a file with these arrays: of a full or a compact parser, with a checkpoint or without."""
    weights = SMALL_SPECS if "small.lists" in arrays else PARSER_SPECS
    if not any(name.startswith(CHECKPOINT) for name in arrays):
        return weights
    return (*weights, *CHECKPOINT_SPECS, *((STATE_SPEC,) if settings.chosen_learner.adaptive else ()))


# --- saving -------------------------------------------------------------------------------------------------


def save_parser(model: ParserModel, path: FilePath) -> None:
    """Write a model file, whole or not at all."""
    model_file.save(path, *parser_parts(model))


def parser_parts(model: ParserModel) -> tuple[dict[str, np.ndarray], dict[str, Any]]:
    """The arrays and the metadata of a model file."""
    small = model.weights.small
    parts = {"table": model.weights.table, "entry": model.weights.entry}
    if model.is_compact:
        parts = {"small.start": small.start, "small.lists": small.lists, "small.step": small.step}
    own: dict[str, Any] = {
        "templates": {"name": model.templates.name, "text": model.templates.text},
        "actions": [list(action) for action in model.actions],
        "root": model.root,
    }
    if model.templates.clusters is not None:
        own["clusters"] = model.templates.clusters.to_dict()
    specs = partial(parser_specs, settings=model.settings)
    return STORE.pack(model, own, parts, specs, {"actions": model.n_actions})


# --- loading ------------------------------------------------------------------------------------------------


def load_parser(path: FilePath, *, copy: bool = False) -> ParserModel:
    """Read a model file; ModelError if it is not one of a parser, each number of it as declared."""
    return parser_from_parts(*model_file.load(path, TASK, copy=copy), shown(path))


def parser_from_parts(arrays: Arrays, meta: dict[str, Any], file: str) -> ParserModel:
    """The model of arrays and metadata as `parser_parts` gives them, all of them checked."""
    stored, settings = STORE.read(meta, file)
    _check_actions(stored.actions, settings, file)
    model_file.check_text([stored.root], "the relation of the root", file)
    if not isinstance(stored.ignored, UnsetType) and not set(stored.ignored) <= set(FIELDS[1:]):
        raise ModelError("damaged model: it ignores fields that a treebank does not have", file=file)
    templates = _unpack_templates(stored.templates, stored.clusters, file)
    actions = n_actions(stored.actions, settings)
    found = array_specs.unpack(arrays, parser_specs(arrays, settings), {"actions": actions}, file)
    if "small.lists" in found:
        small = Small(found["small.start"], found["small.lists"], found["small.step"], action_bytes(actions))
        weights = small_weights(small, actions)
    else:
        weights = frozen_weights(found["table"], found["entry"], actions)
    return ParserModel(
        templates, stored.actions, stored.root, weights, settings, **STORE.training(stored, found)
    )  # fmt: skip


def _check_actions(actions: list[Action], settings: TreeSettings, file: str) -> None:
    moves = {move for move, _ in actions[1:]}
    if not actions or actions[0] != SHIFTING or not moves <= {LEFT, RIGHT, ROOT} or len(set(actions)) < len(actions):
        raise ModelError("damaged model: its actions are not one shift, arcs and roots", file=file)
    if not moves & {LEFT, RIGHT}:
        raise ModelError("damaged model: no action makes an arc", file=file)
    model_file.check_text((relation for _, relation in actions), "a relation", file)
    if n_actions(actions, settings) > MOST_ACTIONS:
        count = n_actions(actions, settings)
        raise ModelError(f"damaged model: {count} actions; at most {MOST_ACTIONS}", file=file)


def _unpack_templates(stored: StoredParserTemplates, clusters: Clusters | UnsetType, file: str) -> Templates:
    try:
        found = compile_templates(stored.text, stored.name)
        found = found if isinstance(clusters, UnsetType) else replace(found, clusters=clusters)
        found.check_clusters()
        return found
    except (DataError, UsageError) as error:
        raise ModelError(f"damaged model: its templates cannot be read ({error})", file=file) from None
