"""Cases of the fuzz of model files. A case is a function of the seed and its number."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import NamedTuple

import numpy as np

from bench.fuzz.models import Model
from bench.fuzz.mutate import WAYS
from bench.fuzz.use import use_model

THOROUGH = (8, 2)  # every so many cases reports are printed too: of all ways, and of metadata, which they print


class Case(NamedTuple):
    """A model and how it is changed."""

    model: Model
    way: str
    rng: np.random.Generator
    other: Model  # of the same task

    def data(self) -> bytes:
        """The changed file."""
        with np.errstate(all="ignore"):
            return WAYS[self.way][1](self.model, self.rng, self.other)


def make_case(models: list[Model], seed: int, number: int) -> Case:
    """The case of this number; the models are those of `read_models`."""
    rng = np.random.default_rng([seed, number])
    model = models[int(rng.integers(len(models)))]
    shares = np.cumsum([share for share, _ in WAYS.values()])
    way = list(WAYS)[int(np.searchsorted(shares, rng.random() * shares[-1], side="right"))]
    alike = [other for other in models if other.task == model.task]
    return Case(model, way, rng, alike[int(rng.integers(len(alike)))])


class ModelCases:
    """Model files that are changed, loaded and used."""

    def __init__(self, models: list[Model], seed: int) -> None:
        self.models, self.seed, self.path = models, seed, Path("case.palm")

    def prepare(self, work: Path) -> None:
        self.path = work / "case.palm"
        warnings.simplefilter("ignore")

    def case(self, number: int) -> Case:
        return make_case(self.models, self.seed, number)

    def kind(self, number: int) -> str:
        return self.case(number).model.name

    def do(self, number: int) -> str:
        case = self.case(number)
        self.path.write_bytes(case.data())
        return use_model(self.path, case.model.task, thorough=number % THOROUGH[case.way == "metadata"] == 0)
