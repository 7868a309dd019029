"""`Trees`: the component of a pipeline that finds heads and relations, a `Parser` with the settings of pipelines."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from typing import Any, Self

import numpy as np

from palmette.data.treebank import Treebank
from palmette.errors import UsageError
from palmette.features.resources import Clusters
from palmette.options.search import Beam
from palmette.parsing.options import PIPELINE_SETTINGS
from palmette.parsing.parser import Parser
from palmette.parsing.serialise import parser_from_parts, parser_parts
from palmette.training.result import Progress

logger = logging.getLogger(__name__)


class Trees:
    """A dependency parser in a pipeline."""

    def __init__(
        self, parser: Parser | None = None, *, beam: int = 8, passes: int | None = None, seed: int = 1,
        clusters: Mapping[str, Clusters] | None = None,
    ) -> None:  # fmt: skip
        given = {"search": Beam(beam), "seed": seed, "clusters": clusters or None}
        if passes is not None:
            given["passes"] = passes
        self.parser = parser or Parser(**(PIPELINE_SETTINGS | given))

    def fit(
        self, treebank: Treebank, dev: Treebank | None = None, *, progress: Progress | None = None, threads: int = 1
    ) -> Self:
        """Learn from trees whose other columns are as the parser will find them."""
        self.parser.fit(treebank, dev=dev, progress=progress, threads=threads)
        return self

    def compact(self, dev: Treebank | None, most_loss: float, *, threads: int = 1) -> None:
        """Make the model small, unless that loses more than `most_loss` points of LAS on `dev`."""
        try:
            self.parser.compact(dev, most_loss=most_loss, threads=threads)
        except UsageError as error:  # rounded weights lose more
            logger.info("the parser keeps all its weights: %s", error)

    def apply(self, treebank: Treebank, *, beam: int | None = None) -> Treebank:
        """The treebank with the trees that the parser finds, with the beam of training or another one."""
        return self.parser.parse(treebank, beam=beam) if treebank.n_tokens else treebank

    def parts(self) -> tuple[dict[str, np.ndarray], dict[str, Any]]:
        return parser_parts(self.parser.model_)

    @classmethod
    def from_parts(cls, arrays: Mapping[str, np.ndarray], meta: dict[str, Any], source: str) -> Self:
        return cls(Parser.from_model(parser_from_parts(arrays, meta, source)))
