"""What a Tagger says about how sure it is; kept apart from training and tagging, and part of the same class."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from palmette.data.corpus import Corpus
from palmette.data.formats.labelling import ConfidenceOutput, confidence_records
from palmette.data.labels.mask import LabelMask, mark_partial_labels, training_mask
from palmette.errors import DataError
from palmette.structures.chain.model import ChainModel

logger = logging.getLogger(__name__)

if TYPE_CHECKING:
    from palmette.data.items import Items
    from palmette.structures.chain.calibrate import Watch
    from palmette.structures.chain.temperature import Calibration


class Confidences:
    """Marginals, confidences and probabilities. A confidence is the share of exp(score / temperature) that some label
    sequences have among all of them (or among those that `allowed` leaves); it is called a probability only where the
    learner makes it one, or `calibrate` has."""

    _fitted: Callable[[], ChainModel]
    _items: Callable[..., Items]
    _mask: Callable[..., LabelMask | None]
    model_: ChainModel
    _warned_of: ChainModel | None = None  # whose confidences are not probabilities

    @property
    def temperature_(self) -> float:
        """What scores are divided by: fitted on development data by training, or by `calibrate`."""
        return self._fitted().temperature

    @property
    def calibrated_(self) -> bool:
        """Whether confidences are probabilities."""
        from palmette.structures.chain.posteriors import are_probabilities

        return are_probabilities(self._fitted())

    def predict_marginals(self, X: Iterable[Any], *, allowed: Iterable[Any] | None = None) -> list[list[dict]]:
        """For each token the confidence of every label, as sklearn-crfsuite tells it. A warning is logged, once per
        model, if these are not probabilities."""
        self._warn_if_uncalibrated("predict_marginals")
        items, found = self._marginals(X, allowed)
        labels = self._fitted().classes
        rows = [dict(zip(labels, row, strict=True)) for row in found.tolist()]
        return items.with_empty([rows[a:b] for a, b in pairwise(items.corpus.offset.tolist())], list)

    def predict_proba(self, X: Iterable[Any], *, allowed: Iterable[Any] | None = None) -> list[np.ndarray]:
        """For each sentence the probabilities of labels f64[n, Y], in the order of `classes_`; calibrated models."""
        from palmette.structures.chain.posteriors import check_probabilities

        check_probabilities(self._fitted(), "predict_proba")
        items, found = self._marginals(X, allowed)
        Y = found.shape[1]
        parts = [found[a:b] for a, b in pairwise(items.corpus.offset.tolist())]
        return items.with_empty(parts, lambda: np.zeros((0, Y)))

    def _warn_if_uncalibrated(self, method: str) -> None:
        model = self._fitted()
        if not self.calibrated_ and self._warned_of is not model:
            self._warned_of = model
            logger.warning(
                "%s: the confidences of this model are not calibrated; calibrate(X, y), or training with development "
                "data, makes them probabilities", method,
            )  # fmt: skip

    def _marginals(self, X: Iterable[Any], allowed: Iterable[Any] | None) -> tuple[Items, np.ndarray]:
        from palmette.structures.chain.posteriors import confidence_of

        model = self._fitted()
        items = self._items(X)
        known = self._mask(allowed, items)
        nothing = np.zeros(items.corpus.n_tokens, np.int32)
        found = confidence_of(model, items.corpus, nothing, known=known, marginals=True, whole=False)
        assert found.marginals is not None
        return items, found.marginals

    def predict_confidence(
        self, X: Iterable[Any], *, allowed: Iterable[Any] | None = None, decode: str = "viterbi"
    ) -> list[dict[str, Any]]:
        """Labels and how sure they are, for each sentence: `tags`, `confidence` (of all of them together),
        `token_confidence`, and for labels of spans `span_confidence`, a list of {type, start, end, confidence}.
        `calibrated`: whether these are probabilities; if not, a warning is logged, once per model."""
        from palmette.structures.chain.posteriors import confidence_of

        self._warn_if_uncalibrated("predict_confidence")
        model = self._fitted()
        items = self._items(X)
        known = self._mask(allowed, items)
        labels = model.decode(items.corpus, decode, known=known).labels
        found = confidence_of(model, items.corpus, labels, known=known)
        told = confidence_records(items.corpus.offset, found, model.labels, ConfidenceOutput(confidence=True))
        cuts = pairwise(items.corpus.offset.tolist())
        classes = model.classes
        names = [classes[k] for k in labels.tolist()]
        rows = [{"tags": names[a:b], **note} for (a, b), note in zip(cuts, told, strict=True)]
        empty: dict[str, Any] = {"tags": [], "confidence": 1.0, "token_confidence": [], "calibrated": found.calibrated}
        return items.with_empty(rows, lambda: empty | ({} if found.spans is None else {"span_confidence": []}))

    def log_confidence(self, X: Iterable[Any], y: Iterable[Any]) -> list[float]:
        """log of the confidence of whole label sequences; a latent model sums over their states. Labels may be partly
        known (sets, None): then of all sequences that fit. -inf where a sequence is impossible."""
        from palmette.structures.chain.posteriors import log_posterior

        model = self._fitted()
        items = self._items(X, y)
        if not items.corpus.n_tokens:
            return [0.0] * items.size
        found = log_posterior(model, items.corpus, training_mask(items.corpus, model.labels))
        return items.with_empty(found.tolist(), float)

    def log_probability(self, X: Iterable[Any], y: Iterable[Any]) -> list[float]:
        """log P(labels | sentence), for calibrated models; otherwise as `log_confidence`."""
        from palmette.structures.chain.posteriors import check_probabilities

        check_probabilities(self._fitted(), "log_probability")
        return self.log_confidence(X, y)

    def probability(self, X: Iterable[Any], y: Iterable[Any]) -> list[float]:
        """P(labels | sentence), likewise."""
        from palmette.structures.chain.posteriors import check_probabilities

        check_probabilities(self._fitted(), "probability")
        return np.exp(self.log_confidence(X, y)).tolist()

    def calibrate(self, X: Iterable[Any], y: Iterable[Any]) -> Calibration:
        """Fit the temperature on labelled sentences that were not trained on; what was found. Labels stay as they
        are, only confidences change."""
        return self.calibrate_corpus(self._items(X, y).corpus)

    def calibrate_corpus(
        self, corpus: Corpus, watch: Watch | None = None, *, partial: bool | None = None
    ) -> Calibration:
        """Fit the temperature on a labelled corpus; `watch` is called with each temperature that is tried and its loss.
        `partial`: whether labels may be partly known; None: as in training."""
        from palmette.structures.chain.calibrate import fit_temperature

        model = self._fitted()
        if corpus.labels is None or not corpus.n_tokens:
            raise DataError("no labelled sentence to calibrate on", file=corpus.source)
        mark_partial_labels(corpus, model.settings.partial if partial is None else partial, model.labels)
        self.model_, found = fit_temperature(model, corpus, watch)
        return found
