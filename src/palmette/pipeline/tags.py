"""`Tags`: the component of a pipeline that finds UPOS, XPOS and FEATS of words."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from typing import Any, Self

import numpy as np

from palmette.data.treebank import NOTHING, Treebank
from palmette.errors import UsageError, not_fitted
from palmette.estimators.tagger import Tagger
from palmette.options.learners import Arow, Perceptron
from palmette.pipeline.chains import (
    accuracy,
    compacted,
    corpus_of,
    packed_chains,
    predicted,
    trained_chain,
    unpacked_chains,
)
from palmette.structures.chain.model import ChainModel
from palmette.training.result import Progress

logger = logging.getLogger(__name__)
FIELDS = ("upos", "xpos", "feats")


class Tags:
    """Taggers of the words of a treebank."""

    def __init__(self, *, passes: int | None = None, seed: int = 1) -> None:
        self.passes, self.seed = passes, seed

    def fit(
        self, treebank: Treebank, dev: Treebank | None = None, *, progress: Progress | None = None, threads: int = 1
    ) -> Self:
        """Learn from the fields that the treebank has."""
        fields = [field for field in FIELDS if treebank.column(field).types not in ([], [NOTHING])]
        if not fields:
            raise UsageError(f"there are no tags to learn: {', '.join(FIELDS)} are empty")
        self.models_: dict[str, ChainModel] = {}
        for field in FIELDS:
            if field not in fields:
                logger.info("tags: the treebank has no %s, and it is left out", field.upper())
                continue
            corpus = corpus_of(treebank, ["form"], treebank.column(field))
            self.models_[field] = trained_chain(corpus, self._tagger(field), progress)
            if dev is not None and dev.n_tokens:
                found = predicted(self.models_[field], corpus_of(dev, ["form"]))
                logger.info("tags: %s: %.2f on dev", field.upper(), 100 * accuracy(found, dev.column(field)))
        return self

    def _tagger(self, field: str) -> Tagger:
        passes = self.passes or 8
        if field == "feats":
            return Tagger("pos", order=1, learner=Perceptron(), state_features="seen", passes=passes, seed=self.seed)
        return Tagger("pos", order=2 if field == "upos" else 1, learner=Arow(nbest=5), passes=passes, seed=self.seed)

    def apply(self, treebank: Treebank) -> Treebank:
        """The treebank with the tags that the taggers find."""
        if not hasattr(self, "models_"):
            raise not_fitted("Tags")
        corpus = corpus_of(treebank, ["form"])
        for field, model in self.models_.items():
            treebank = treebank.with_column(field, predicted(model, corpus))
        return treebank

    def compact(self, dev: Treebank | None, most_loss: float) -> None:
        """Make the models small; at most so many points of a field are lost on `dev`."""
        for field, model in self.models_.items():
            corpus = None if dev is None else corpus_of(dev, ["form"], dev.column(field))
            self.models_[field], _ = compacted(model, corpus, most_loss)

    def parts(self) -> tuple[dict[str, np.ndarray], dict[str, Any]]:
        arrays, models = packed_chains(self.models_)
        return arrays, {"models": models}

    @classmethod
    def from_parts(cls, arrays: Mapping[str, np.ndarray], meta: dict[str, Any], source: str) -> Self:
        made = cls()
        made.models_ = unpacked_chains(arrays, meta["models"], FIELDS, 1, source)
        return made
