"""The training log: one record per epoch, shown while training runs and kept in the model file.

Trainers write it, model files store it (without `seconds`), reports print it and a resumed training continues it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec


class Epoch(msgspec.Struct, frozen=True):
    """A line of the training log."""

    number: int
    updates: int
    wrong: int
    train_accuracy: float
    seconds: float = 0.0  # not stored in a model file, which a seed determines bit for bit
    dev: float | None = None
    figures: dict[str, float] = {}  # what the structure reports about its weights, by name


class ClassifierEpoch(Epoch, frozen=True):
    """A line of a classifier's training log. `wrong` counts sentences, by their first decoding in the epoch."""

    wrong_positives: int = 0
    wrong_negatives: int = 0
    decoded: int = 0  # sentences decoded, repeated decodings included
    again: list[int] = msgspec.field(default_factory=list)  # negatives decoded again 0, 1, 2, ... times
    capped: int = 0  # negatives that were left labelled positive when the cap was reached
    squared_loss: float = 0.0  # sum of (loss / ||f||)^2; ||f|| is 1 with normalised features
    bound: float | None = None  # what that sum cannot exceed, if the bound was asked for
    new_structures: list[int] = msgspec.field(default_factory=list)  # batch: of each inner round
    inner_passes: list[int] = msgspec.field(default_factory=list)  # batch: over fixed structures, of each round


def unit_of(figures: Mapping[str, float]) -> str:
    """What a line of the log is about, by its figures: an iteration of L-BFGS, or a pass over the data."""
    return "iteration" if "gradient" in figures else "pass"


def without_times(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The log as it is stored. Times differ from run to run, and equal trainings make equal files."""
    return [{name: value for name, value in row.items() if name != "seconds"} for row in rows]
