"""How sure a chain model is of its labels, for sentences of Python: marginals, confidences and probabilities.

A confidence is the share of exp(score / temperature) that some label sequences have among all of them (or among those
that `allowed` leaves); it is called a probability only where the learner makes it one, or calibration has.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from palmette.data.formats.confidence import ConfidenceOutput, confidence_records
from palmette.data.labels.mask import training_mask
from palmette.structures.chain.model import ChainModel
from palmette.structures.chain.posteriors import (
    are_probabilities,
    check_probabilities,
    confidence_of,
    log_posterior,
)
from palmette.structures.chain.python_data import items_of, mask_of

if TYPE_CHECKING:
    from palmette.data.items import Items

logger = logging.getLogger(__name__)


def warn_if_uncalibrated(model: ChainModel, method: str) -> None:
    """Log, once per model, that its confidences are not probabilities."""
    if not are_probabilities(model) and not model.warned:
        model.warned = True
        logger.warning(
            "%s: the confidences of this model are not calibrated; calibrate(X, y), or training with development "
            "data, makes them probabilities", method,
        )  # fmt: skip


def marginals_by_label(model: ChainModel, X: Iterable[Any], allowed: Iterable[Any] | None) -> list[list[dict]]:
    """For each token the confidence of every label."""
    items, found = _marginals(model, X, allowed)
    labels = model.classes
    rows = [dict(zip(labels, row, strict=True)) for row in found.tolist()]
    return items.with_empty([rows[a:b] for a, b in pairwise(items.corpus.offset.tolist())], list)


def probabilities(model: ChainModel, X: Iterable[Any], allowed: Iterable[Any] | None, method: str) -> list[np.ndarray]:
    """For each sentence the probabilities of labels f64[n, Y]; an error that names the method if they are none."""
    check_probabilities(model, method)
    items, found = _marginals(model, X, allowed)
    Y = found.shape[1]
    parts = [found[a:b] for a, b in pairwise(items.corpus.offset.tolist())]
    return items.with_empty(parts, lambda: np.zeros((0, Y)))


def _marginals(model: ChainModel, X: Iterable[Any], allowed: Iterable[Any] | None) -> tuple[Items, np.ndarray]:
    items = items_of(model, X)
    known = mask_of(model, allowed, items)
    nothing = np.zeros(items.corpus.n_tokens, np.int32)
    found = confidence_of(model, items.corpus, nothing, known=known, marginals=True, whole=False)
    assert found.marginals is not None
    return items, found.marginals


def labels_with_confidence(
    model: ChainModel, X: Iterable[Any], allowed: Iterable[Any] | None, decode: str
) -> list[dict[str, Any]]:
    """Labels and how sure they are, for each sentence."""
    items = items_of(model, X)
    known = mask_of(model, allowed, items)
    labels = model.decode(items.corpus, decode, known=known).labels
    found = confidence_of(model, items.corpus, labels, known=known)
    told = confidence_records(items.corpus.offset, found, model.labels, ConfidenceOutput(confidence=True))
    cuts = pairwise(items.corpus.offset.tolist())
    classes = model.classes
    names = [classes[k] for k in labels.tolist()]
    rows = [{"tags": names[a:b], **note} for (a, b), note in zip(cuts, told, strict=True)]
    empty: dict[str, Any] = {"tags": [], "confidence": 1.0, "token_confidence": [], "calibrated": found.calibrated}
    return items.with_empty(rows, lambda: empty | ({} if found.spans is None else {"span_confidence": []}))


def log_confidences(model: ChainModel, items: Items) -> list[float]:
    """log of the confidence of whole label sequences; those of a latent model sum over their states."""
    if not items.corpus.n_tokens:
        return [0.0] * items.size
    found = log_posterior(model, items.corpus, training_mask(items.corpus, model.labels))
    return items.with_empty(found.tolist(), float)
