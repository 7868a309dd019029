"""The tables of a hidden Markov model as dictionaries and as JSON files, which people can read and change.

    {"start": {"D": 0.6, ...},
     "transition": {"D": {"N": 0.9, "</s>": 0.1}, ...},           by the previous label
     "second_order": {"D": {"N": {"V": 0.5, ...}}, ...},          order 2: by the two previous labels
     "emission": {"D": {"the": 0.7, "<lower:ing>": 0.01}, ...},
     "classes": ["<lower:ing>", ...]}                             emissions that are classes of unknown words

Probabilities of 0 are left out. A number is written with all its digits: a file gives the same tables again.
"""

from __future__ import annotations

from typing import Any

import msgspec
import numpy as np

from palmette.data.files import FilePath, read_all, shown, write_whole
from palmette.data.text import CONVERT, check_utf8
from palmette.errors import DataError, UsageError
from palmette.structures.chain.constraints import END
from palmette.structures.hmm.model import HiddenMarkovModel
from palmette.structures.hmm.tables import Context, tables_from_dicts


class StoredTables(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The content of a file."""

    start: dict[str, float]
    transition: dict[str, dict[str, float]]
    emission: dict[str, dict[str, float]]
    second_order: dict[str, dict[str, dict[str, float]]] = {}
    classes: list[str] = []


def tables_to_dicts(model: HiddenMarkovModel) -> dict[str, Any]:
    """The arguments of `tables_from_dicts` that give the model again."""
    labels, vocabulary, tables = model
    transition: dict[Context, dict[str, float]] = {}
    for k, label in enumerate(labels):
        transition[label] = _row(tables.pair[k], labels)
        if tables.end is not None and tables.end[k] > 0:
            transition[label][END] = float(tables.end[k])
    if tables.triple is not None:
        rows: dict[Context, dict[str, float]] = {
            (f, g): _row(tables.triple[i, j], labels) for i, f in enumerate(labels) for j, g in enumerate(labels)
        }
        some = {context: row for context, row in rows.items() if row}
        transition |= some or dict(list(rows.items())[:1])  # a row of two labels makes the order 2
    return {
        "start": _row(tables.start, labels),
        "transition": {context: row for context, row in transition.items() if row or not isinstance(context, str)},
        "emission": {label: _row(tables.emission[k], vocabulary.names) for k, label in enumerate(labels)},
        "classes": list(vocabulary.classes),
    }


def _row(probabilities: np.ndarray, names: list[str]) -> dict[str, float]:
    return {names[k]: float(probabilities[k]) for k in np.flatnonzero(probabilities).tolist()}


def write_tables(path: FilePath, model: HiddenMarkovModel) -> None:
    """Write the tables of a model as JSON, whole or not at all."""
    found = tables_to_dicts(model)
    second: dict[str, dict[str, dict[str, float]]] = {}
    for context, row in found["transition"].items():
        if not isinstance(context, str):
            second.setdefault(context[0], {})[context[1]] = row
    first = {context: row for context, row in found["transition"].items() if isinstance(context, str)}
    stored = StoredTables(found["start"], first, found["emission"], second, found["classes"])
    with write_whole(path) as out:
        out.write(msgspec.json.format(msgspec.json.encode(stored), indent=1) + b"\n")


def read_tables(path: FilePath) -> HiddenMarkovModel:
    """The model of a file of tables; DataError if it is none, or if its numbers are no probabilities."""
    hint = "the file has the objects start, transition and emission; see docs/hmm.md"
    data = read_all(path)
    check_utf8(data, shown(path), hint=CONVERT)
    try:
        stored = msgspec.json.decode(data, type=StoredTables)
    except msgspec.DecodeError as error:
        raise DataError(f"not a file of HMM tables: {error}", file=shown(path), hint=hint) from None
    transition: dict[Context, dict[str, float]] = {}
    transition.update(stored.transition.items())
    for f, rows in stored.second_order.items():
        for g, row in rows.items():
            transition[f, g] = row
    try:
        made = tables_from_dicts(stored.start, transition, stored.emission, classes=stored.classes)
    except UsageError as error:
        raise DataError(str(error), file=shown(path)) from None
    return HiddenMarkovModel(*made)
