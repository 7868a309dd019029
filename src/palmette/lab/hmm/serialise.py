"""Hidden Markov models to and from model files.

The file is that of the chain model that it is turned into, so that taggers read it too; the tables are further arrays,
in float64, and the parameters a further entry of the metadata. Y labels, V observations.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from palmette.data import array_specs, model_file
from palmette.data.array_specs import ArraySpec
from palmette.data.files import FilePath, shown
from palmette.errors import ModelError, UsageError
from palmette.options.learners import HiddenMarkov
from palmette.structures.chain.model import ChainModel
from palmette.structures.chain.serialise import chain_from_parts, chain_parts
from palmette.structures.hmm.model import HiddenMarkovModel
from palmette.structures.hmm.tables import SLACK, Tables
from palmette.structures.hmm.words import NAME, Vocabulary

PREFIX = "hmm."


class StoredHmm(NamedTuple):
    """What a file holds: the parameters of the estimator, the model, and the chain that it is turned into."""

    params: dict[str, Any]
    model: HiddenMarkovModel
    chain: ChainModel


def table_specs(order: int, ends: bool) -> tuple[ArraySpec, ...]:
    """The tables; see `Tables`."""
    shapes = {"start": ("Y",), "pair": ("Y", "Y"), "triple": ("Y", "Y", "Y"), "end": ("Y",), "emission": ("Y", "V")}
    absent = {"triple"} if order == 1 else set()
    absent |= set() if ends else {"end"}
    return tuple(
        ArraySpec(PREFIX + name, np.float64, shape, low=0.0, high=1.0 + 2 * SLACK)
        for name, shape in shapes.items()
        if name not in absent
    )


def save_hmm(params: dict[str, Any], model: HiddenMarkovModel, chain: ChainModel, path: FilePath) -> None:
    """Write a model file, whole or not at all."""
    tables = model.tables
    specs = table_specs(tables.order, tables.end is not None)
    parts = {PREFIX + name: block for name, block in tables._asdict().items() if block is not None}
    arrays, meta = chain_parts(chain)
    sizes = {"Y": len(model.labels), "V": len(model.vocabulary)}
    counting = {name: value for name, value in params.items() if name != "unicode"}  # which the settings have
    meta |= {"counting": counting, "forbidden": [], "best_pass": 1, "ended": "counted in one pass"}
    model_file.save(path, arrays | array_specs.pack(parts, specs, sizes), meta)


def _checked(counting: dict[str, Any], file: str) -> dict[str, Any]:
    """The parameters of the estimator, if it could have them."""
    try:
        HiddenMarkov(**{name: counting[name] for name in HiddenMarkov.__options__})
    except UsageError as error:
        raise ModelError(f"damaged model: its settings are wrong ({error})", file=file) from None
    return counting


def load_hmm(path: FilePath, *, copy: bool = False) -> StoredHmm:
    """Read a model file; ModelError if it is not one of an HMM."""
    file = shown(path)
    arrays, meta = model_file.load(path, copy=copy)
    chain = chain_from_parts(arrays, meta, file)
    if "counting" not in chain.meta:
        raise ModelError("a tagger, not an HMM with its tables", file=file, hint="load it with Tagger.load")
    params = _checked(chain.meta["counting"], file) | {"unicode": chain.settings.unicode}
    observed = {} if chain.encoder is None else chain.encoder.resources.observed
    if NAME not in observed:
        raise ModelError("damaged model: its vocabulary is missing", file=file)
    vocabulary = Vocabulary(observed[NAME].known, observed[NAME].classes)
    sizes = {"Y": len(chain.labels), "V": len(vocabulary)}
    found = array_specs.unpack(arrays, table_specs(params["order"], params["ends"]), sizes, file)
    tables = Tables(*(found.get(PREFIX + name) for name in Tables._fields))  # type: ignore[arg-type]
    return StoredHmm(params, HiddenMarkovModel(chain.labels, vocabulary, tables), chain)
