"""`--learner hmm`: a hidden Markov model from a labelled corpus, stored as a chain model.

Column 0 holds the words. Transitions that the tag scheme or the user forbids are left out of sums and searches; all
others have their counted probabilities.
"""

from __future__ import annotations

import logging
import time
from dataclasses import replace
from typing import Any

import numpy as np

from palmette.data.corpus import Corpus
from palmette.data.formats.spec import FormatSpec
from palmette.data.labels.mask import settle_partial, training_mask
from palmette.errors import UsageError, counted
from palmette.lab.hmm.tables import HiddenMarkovModel, count_model, to_chain, word_column
from palmette.options.declare import OptionError
from palmette.options.learners import HiddenMarkov
from palmette.options.spelling import argument, named
from palmette.structures.chain.constraints import constraints, settle_scheme
from palmette.structures.chain.model import best_labels
from palmette.structures.training_log import Epoch
from palmette.training.chain.dev import check_labelled, held_out
from palmette.training.chain.finish import about_data, tuned_bias, write_metadata
from palmette.training.chain.request import Fitted, TrainRequest
from palmette.training.chain.settle import forbidden_pairs
from palmette.training.checks import warn_of_same_labels, warn_of_strange_corpus
from palmette.training.result import TrainResult

logger = logging.getLogger(__name__)


def check_no_features(given: dict[str, Any]) -> None:
    """UsageError if an option about features is set. given: values by option name."""
    for name, value in given.items():
        if value:
            raise OptionError(name, "an hmm reads only words (column 0): leave it out, or choose another learner")


def fit_hmm(corpus: Corpus, dev: Corpus | None, request: TrainRequest) -> Fitted:
    """Estimate an HMM by counting a labelled corpus in one pass; the interface is that of `fit`."""
    check_labelled(corpus, "training")
    request = replace(request, features=None)
    if request.resume is None:
        warn_of_strange_corpus(corpus, None, bool(request.settings.partial))
        warn_of_same_labels(corpus.labels.types if corpus.labels is not None else [])
    if request.resume is not None or request.checkpoint:
        raise UsageError(
            f"an hmm is counted from all data at once: {argument('resume')} and {argument('checkpoint')} do not apply; "
            "train on all data"
        )
    if request.order not in (1, 2):
        raise OptionError("order", f"an hmm has order 1 or 2, not {request.order}")
    begun, settings = time.perf_counter(), request.settings
    counting = settings.learner
    assert isinstance(counting, HiddenMarkov)
    possible = "partial" not in settings.chosen_learner.unused
    settings = settings.replace(partial=settle_partial(corpus, settings.partial, possible))
    corpus, scheme = settle_scheme(corpus, settings.constraints)
    hmm = count_model(
        corpus, order=request.order, smoothing=counting.smoothing, interpolate=counting.interpolate,
        rare=counting.rare, dictionary=counting.dictionary, ends=request.ends, unicode=settings.unicode,
    )  # fmt: skip
    _report(hmm, corpus)
    gold = training_mask(corpus, hmm.labels).rows
    forbidden = forbidden_pairs(request)
    allowed = constraints(hmm.labels, gold, corpus, scheme, settings.constraints, forbidden)
    model = to_chain(*hmm, allowed, unicode=settings.unicode)
    model.scheme = scheme
    model.vocabulary = np.sort(word_column(corpus, settings.unicode).hash)  # rare ones were seen too
    found = held_out(dev, model.encoder, model.feature_indexes, model.labels, settings, scheme)
    guess, _ = best_labels(model.chain, model.encode(corpus), restricted=False)
    wrong = int(np.count_nonzero(guess != gold))
    figure = None if found is None else found.figure(model.chain)
    line = Epoch(1, 0, wrong, 1.0 - wrong / corpus.n_tokens, time.perf_counter() - begun, figure)
    if request.progress is not None:
        request.progress(1, corpus.n_tokens, corpus.n_tokens, line)
    if settings.tune_bias:
        model.bias = tuned_bias(model, found)
    model.settings = settings
    outcome = TrainResult(model.chain, 1, [line], 0, "counted in one pass")
    if not request.names:
        model.names = {}
    write_metadata(model, outcome, request, about_data(corpus), dev)
    return Fitted(model, outcome)


def _report(hmm: HiddenMarkovModel, corpus: Corpus) -> None:
    if len(corpus.columns) > 1:
        others = len(corpus.columns) - 1
        left = "1 other column is" if others == 1 else f"{others} other columns are"
        logger.info(f"an hmm reads only column 0: {left} left out; see {named(FormatSpec, 'columns')}")
    words = hmm.vocabulary
    logger.info(
        f"{counted(corpus.n_sentences, 'sentence')}, {counted(corpus.n_tokens, 'token')}, "
        f"{counted(len(hmm.labels), 'label')}, {counted(len(words.known), 'word')} and "
        f"{counted(len(words.classes), 'class', 'classes')} of rare ones, order {hmm.tables.order}"
    )
