"""`Trees`: the component of a pipeline that finds heads and relations, a `Parser` with the settings of pipelines."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Self

import numpy as np

from palmette.data.treebank import Treebank
from palmette.estimators.parser import Parser
from palmette.options.search import Beam
from palmette.structures.tree.compact import ParserCompaction
from palmette.structures.tree.serialise import parser_from_parts, parser_parts
from palmette.training.result import Progress


class Trees:
    """A dependency parser in a pipeline."""

    def __init__(
        self, parser: Parser | None = None, *, beam: int = 8, passes: int | None = None, seed: int = 1
    ) -> None:
        self.parser = parser or Parser(search=Beam(beam), passes=passes, seed=seed)

    def fit(
        self, treebank: Treebank, dev: Treebank | None = None, *, progress: Progress | None = None, threads: int = 1
    ) -> Self:
        """Learn from trees whose other columns are as the parser will find them."""
        self.parser.fit(treebank, dev=dev, progress=progress, threads=threads)
        return self

    def compact(self, dev: Treebank | None, most_loss: float) -> ParserCompaction:
        """Make the model small; at most so many points of LAS are lost on `dev`."""
        return self.parser.compact(dev, most_loss=most_loss)

    def apply(self, treebank: Treebank, *, beam: int | None = None) -> Treebank:
        """The treebank with the trees that the parser finds, with the beam of training or another one."""
        return self.parser.parse(treebank, beam=beam) if treebank.n_tokens else treebank

    def parts(self) -> tuple[dict[str, np.ndarray], dict[str, Any]]:
        return parser_parts(self.parser.model_)

    @classmethod
    def from_parts(cls, arrays: Mapping[str, np.ndarray], meta: dict[str, Any], source: str) -> Self:
        return cls(Parser.from_model(parser_from_parts(arrays, meta, source)))
