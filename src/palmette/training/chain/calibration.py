"""The temperature of a model that learns from all sentences: that of a model of a sample, on sentences outside of it.

The two models differ in how much they have learnt from. More sentences make margins larger, and with them the
temperature that fits; how it grows is known from measurements, see docs/learners.md.
"""

from __future__ import annotations

import logging
from dataclasses import replace
from typing import NamedTuple

import msgspec
import numpy as np

from palmette.data.corpus import Corpus
from palmette.data.labels.mask import partial_looks
from palmette.data.subset import drawn_together, take
from palmette.errors import counted
from palmette.options.chain import ChainSettings, SeveralStates, TaggerOptions
from palmette.options.learners import Auto, Mira
from palmette.options.spelling import spelt
from palmette.structures.chain.calibrate import calibrated_on_dev
from palmette.structures.chain.temperature import Calibration
from palmette.training.chain.request import Fitted, TrainRequest

logger = logging.getLogger(__name__)
LEAST = 200  # sentences, below which too few could be set aside
SAMPLE = 3_000  # sentences at most that the other model learns from
ASIDE, SHARE = 500, 5  # sentences that a temperature is fitted on, at most, and one of how many
GROWTH = 0.12  # the temperature grows with the number of sentences to this power


class CalibrationParts(NamedTuple):
    """Parts of a corpus that have no sentence in common."""

    sample: Corpus
    aside: Corpus


def parts_to_calibrate(corpus: Corpus, request: TrainRequest) -> CalibrationParts | None:
    """The parts of the corpus of a new training that calibrate its model by the rule; None if the user has chosen a
    learner, development data is needed for other choices, or labels are partly known."""
    settings = request.settings
    if not request.leaves_dev_open or corpus.n_sentences < LEAST or not isinstance(settings.learner, Auto):
        return None
    assert corpus.labels is not None
    other = settings.patience is not None or settings.tune_bias or isinstance(settings.states, SeveralStates)
    if other or corpus.label_sets or partial_looks(corpus.labels.types):
        return None
    n = min(corpus.n_sentences // SHARE, ASIDE)
    drawn = drawn_together(corpus.n_sentences, settings.seed)
    aside = take(corpus, np.sort(drawn[:n]))
    aside.source = "sentences of the training data"
    return CalibrationParts(take(corpus, np.sort(drawn[n : n + SAMPLE])), aside)


def for_sample(request: TrainRequest, settings: ChainSettings) -> TrainRequest:
    """The request for the model of the sample, with the settings of the model of all sentences, whose request is
    given."""
    return replace(
        request, settings=settings, compact=None, verbose=False, names=False, progress=None, again=None,
        dev_share=0.0, is_sample=True,
    )  # fmt: skip


def sample_calibration(tried: Fitted, parts: CalibrationParts, sentences: int) -> Calibration | None:
    """The calibration of a model of so many sentences, by that of the sample."""
    found = None if tried.outcome.interrupted else calibrated_on_dev(tried.model, parts.aside)
    if found is None:
        return None
    times = (sentences / parts.sample.n_sentences) ** GROWTH if isinstance(tried.model.settings.learner, Mira) else 1.0
    logger.info(
        "confidences are calibrated on %s, by a model of %s (%s: they are not)",
        counted(found.sentences, "sentence"), counted(parts.sample.n_sentences, "other"),
        spelt(TaggerOptions, "dev_share", 0),
    )  # fmt: skip
    return msgspec.structs.replace(found, temperature=times * found.temperature)
