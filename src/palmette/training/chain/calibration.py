"""Calibration at the end of a training that has development data."""

from __future__ import annotations

import logging

import numpy as np

from palmette.data.corpus import Corpus
from palmette.data.labels.partial import mark_partial_labels
from palmette.data.subset import take
from palmette.errors import DataError, UsageError, counted
from palmette.structures.chain.calibrate import fit_temperature
from palmette.structures.chain.model import ChainModel
from palmette.structures.chain.temperature import Calibration

logger = logging.getLogger(__name__)
MOST_SENTENCES = 500  # that a temperature is fitted on: one number needs no more
PRECISION = 0.01  # of its logarithm


def calibrated_on_dev(model: ChainModel, dev: Corpus | None) -> Calibration | None:
    """Fit the temperature of a model whose weights were not learnt from the development data. None without such data,
    or where no temperature can be fitted."""
    if dev is None or model.reads_earlier_labels:
        return None
    mark_partial_labels(dev, model.settings.partial, model.labels)
    if dev.n_sentences > MOST_SENTENCES:
        drawn = np.random.default_rng(model.settings.seed).permutation(dev.n_sentences)[:MOST_SENTENCES]
        dev = take(dev, np.sort(drawn))
    try:
        _, found = fit_temperature(model, dev, precision=PRECISION)
    except (DataError, UsageError) as error:
        logger.info("the confidences of the model are not calibrated: %s", error)
        return None
    logger.info("calibrated on %s: temperature %.4g", counted(found.sentences, "sentence"), found.temperature)
    return found
