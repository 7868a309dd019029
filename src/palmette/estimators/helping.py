"""Models of words and further columns: taggers that make these columns, trained on the same data and stored in the
model, so that words alone are enough to tag."""

from __future__ import annotations

import logging
from collections.abc import Callable
from copy import copy
from typing import TYPE_CHECKING, Any

from palmette.data.corpus import Corpus
from palmette.errors import UsageError, counted
from palmette.options.chain import TaggerOptions
from palmette.options.spelling import named
from palmette.structures.chain.gold import evaluated

if TYPE_CHECKING:
    from palmette.structures.chain.model import ChainModel
    from palmette.training.chain.fit import Job
    from palmette.training.chain.request import Fitted, TrainRequest

logger = logging.getLogger(__name__)
Train = Callable[[Corpus, "TrainRequest", int], "ChainModel"]  # a tagger of words, for a column


def fitted_with_helpers(job: Job, wanted: bool, train: Train) -> Fitted:
    """What a training makes, with the helpers that are wanted, or that the model had which is trained further."""
    from palmette.training.chain.fit import fit

    source, dev, request, _ = job
    option = named(TaggerOptions, "helper")
    if wanted and not isinstance(source, Corpus):
        raise UsageError(f"{option}: helpers learn from data in memory, not on disk or in shards")
    found = fit(*job)
    model, old = found.model, request.resume
    if old is not None and old.helpers and not wanted:
        model.helpers = old.helpers
    if not wanted:
        return found
    if found.outcome.interrupted:
        logger.warning("training was interrupted: the model has no %s", option)
        return found
    columns = 0 if model.encoder is None else model.encoder.n_columns
    if columns < 2:
        raise UsageError(f"{option}: the model reads words alone, so that there is no column to make")
    model.helpers = tuple(train(_words_and(source, place), request, place) for place in range(1, columns))
    if dev is not None:
        _report(model, dev)
    return found


def _words_and(corpus: Corpus, place: int) -> Corpus:
    """The words of a corpus, with another column as their labels."""
    return Corpus(corpus.offset, corpus.columns[:1], corpus.columns[place], source=corpus.source)


def trained_helper(make: Callable[..., Any]) -> Train:
    """A function that trains a helper; `make` makes a `Tagger`."""

    def train(corpus: Corpus, request: TrainRequest, place: int) -> ChainModel:
        logger.info("training the tagger of column %d, which the model stores", place)
        tagger = make("pos", seed=request.settings.seed, dev_share=0.0)
        model: ChainModel = tagger.fit_corpus(
            corpus, None, threads=request.threads, names=False, compact=request.compact
        ).model_
        return model

    return train


def _report(model: ChainModel, dev: Corpus) -> None:
    """Log the score with the columns of the development data, and with those that helpers make."""
    words = copy(dev)
    words.columns = dev.columns[:1]
    given, made = (evaluated(model, corpus).main() for corpus in (dev, words))
    makers = "tagger makes" if len(model.helpers) == 1 else "taggers make"
    logger.info(
        "on development data %s is %.2f with its columns, and %.2f with those that the stored %s",
        given.name, 100 * given.value, 100 * made.value, makers,
    )  # fmt: skip


def needed_columns(model: ChainModel) -> str | None:
    """What to tell who trains a model that cannot tag words alone; None: it can."""
    columns = 0 if model.encoder is None else model.encoder.n_columns
    if columns < 2 or model.helpers:
        return None
    return (
        f"the model reads {counted(columns, 'column')}: every input needs them, so that plain text cannot be tagged. "
        "To tag words alone, let a tagger of the other columns be trained and stored in the model (--helper), or learn "
        "from the words (--columns 0)"
    )
