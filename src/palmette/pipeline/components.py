"""The components of a pipeline: their names, their order, and what each of them offers."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Protocol, Self

import numpy as np

from palmette.data.treebank import Treebank
from palmette.errors import UsageError
from palmette.lazy import loaded
from palmette.pipeline.options import COMPONENTS
from palmette.pipeline.split_text import SplitText

Parts = tuple[Mapping[str, np.ndarray], dict[str, Any]]  # arrays and metadata, as a file holds them

# Where the class of each component is
_CLASSES = {
    "tok": "pipeline.splitter:Splitter",
    "tag": "pipeline.tags:Tags",
    "lemma": "pipeline.lemmas:Lemmas",
    "parse": "pipeline.trees:Trees",
}
ABOUT = {
    "tok": "sentences, words",
    "tag": "UPOS, XPOS, FEATS",
    "lemma": "lemmas",
    "parse": "heads, relations",
}
METRICS = {
    "tok": ("Tokens", "Sentences", "Words"), "tag": ("UPOS", "XPOS", "UFeats"), "lemma": ("Lemmas",),
    "parse": ("UAS", "LAS", "CLAS"),
}  # fmt: skip
"""The scores on development data that are kept: of tok from raw text, of the others from gold words."""


class Stored(Protocol):
    """What goes into a pipeline's file."""

    def parts(self) -> Parts: ...

    @classmethod
    def from_parts(cls, arrays: Mapping[str, np.ndarray], meta: dict[str, Any], source: str) -> Self: ...


class Splits(Stored, Protocol):
    """The component `tok`."""

    def split(self, text: str) -> SplitText: ...


class Annotates(Stored, Protocol):
    """The components that fill columns of a treebank."""

    def apply(self, treebank: Treebank) -> Treebank: ...


def component_class(name: str) -> Any:
    """The class of a component, imported when it is needed."""
    return loaded(_CLASSES[name])


def in_order(names: Iterable[str]) -> tuple[str, ...]:
    """Names of components in the order of the pipeline, each once; UsageError for any other name."""
    given = list(names)
    unknown = [name for name in given if name not in COMPONENTS]
    if unknown:
        raise UsageError(f"there is no component {unknown[0]!r}: choose from {', '.join(COMPONENTS)}")
    return tuple(name for name in COMPONENTS if name in given)
