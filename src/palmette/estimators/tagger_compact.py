"""Small models: what `palmette compact` does, for taggers in Python."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any

import numpy as np

from palmette.data.corpus import Corpus
from palmette.data.labels.schemes import unseen_scheme
from palmette.errors import UsageError
from palmette.options.declare import OptionError
from palmette.structures.chain.model import ChainModel

if TYPE_CHECKING:
    from palmette.structures.chain.compact import CompactReport


class Compacting:
    """Making a tagger small; part of the class Tagger."""

    _fitted: Callable[[], ChainModel]
    _corpus: Callable[..., Corpus]  # with names of attributes: models of other indexes read it
    gold_and_guess: Callable[..., tuple[np.ndarray, np.ndarray, list[str]]]
    certain: Callable[[Corpus], np.ndarray | None]
    model_: ChainModel

    def compact(
        self, X: Iterable[Any] | None = None, y: Iterable[Any] | None = None, *, most_loss: float = 0.05
    ) -> CompactReport:
        """Make the model small: weights of 8 bits, and without the attributes that X and y, which were not trained on,
        do not miss: at most `most_loss` points of F1 or accuracy are lost on them. Without X no attribute is dropped.
        A compact model tags as fast or faster; it cannot be trained further."""
        if (X is None) != (y is None):
            raise UsageError("compact: give both X and y, or neither")
        return self.compact_corpus(None if X is None else self._corpus(X, y), most_loss)

    def compact_corpus(self, dev: Corpus | None, most_loss: float = 0.05) -> CompactReport:
        """Make the model small, measured and calibrated on a labelled corpus; see `compact`."""
        from palmette.evaluation.scores import score
        from palmette.structures.chain.compact import Found, compact_chain
        from palmette.training.chain.calibration import calibrate_on_dev

        if not 0 <= most_loss <= 100:
            raise OptionError("most_loss", f"{most_loss} is not a number of points between 0 and 100")
        full = self._fitted()

        def trial(model: ChainModel) -> Found:
            """F1 of spans, or else accuracy, with this model."""
            assert dev is not None
            self.model_ = model
            gold, guess, labels = self.gold_and_guess(dev)
            found = score(gold, guess, dev.offset, labels, scheme=unseen_scheme(full.scheme), known=self.certain(dev))
            units = found.tokens if found.f1 is None else sum(row.gold for row in found.by_type.values())
            return Found(found.main().value, guess, units)

        try:
            small, report = compact_chain(full, None if dev is None else trial, most_loss)
        except BaseException:
            self.model_ = full
            raise
        self.model_ = small.changed(meta=dict(small.meta))
        calibrate_on_dev(self.model_, dev)  # the temperature of the full model does not fit other weights
        return report
