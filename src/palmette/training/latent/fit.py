"""Training of a classifier from labelled sentences: attributes, views, initial weights, epochs."""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import NamedTuple

import msgspec
import numpy as np

from palmette.data.corpus import Corpus
from palmette.errors import DataError, UsageError, counted
from palmette.features.encode import Encoder
from palmette.features.templates import to_text
from palmette.kernels.core.compile import check_compiled
from palmette.kernels.core.index import FeatureIndex, hash_index
from palmette.kernels.core.table import renumbered
from palmette.kernels.latent.forms import Labelled, Views, Weights
from palmette.options.latent import LatentSettings
from palmette.options.learners import Lclr
from palmette.structures.chain.data import Collected
from palmette.structures.chain.model import ChainModel, check_columns
from palmette.structures.latent.data import check_templates, encode, sentences
from palmette.structures.latent.model import NO_POS, ClassifierModel, scores_of
from palmette.structures.latent.views import make_views, packed
from palmette.structures.latent.weights import largest, new_weights, used
from palmette.structures.stored_features import some_names
from palmette.training.chain.fit import attribute_names
from palmette.training.chain.prepare import LARGE
from palmette.training.latent.batch import BatchLearning
from palmette.training.latent.online import LatentLearning
from palmette.training.latent.start import check_chunker, start_from
from palmette.training.result import EpochLog, Progress, TrainResult
from palmette.training.trainer import train_epochs

logger = logging.getLogger(__name__)
SAME_COLUMNS = "development data needs the columns of the training data"


class Task(NamedTuple):
    """Data and options of one training."""

    corpus: Corpus
    y: np.ndarray  # i8[S]
    dev: tuple[Corpus, np.ndarray] | None
    encoder: Encoder
    settings: LatentSettings
    classes: tuple[str, str]
    chunker: ChainModel | None = None
    names: bool = True  # whether to keep attribute names
    range: float | None = 0.1  # largest weight of the chunker after scaling; None: that of a model trained from zero
    progress: Progress | None = None


def fit_classifier(task: Task) -> tuple[ClassifierModel, TrainResult]:
    """Train a classifier."""
    check_compiled("training")
    _check(task)
    settings = task.settings
    old = None if task.chunker is None else {1: task.chunker.feature_indexes[1]}
    collected = Collected(task.corpus, task.encoder, old, settings.min_count)
    feature_index = collected.feature_indexes[1]
    data = Labelled(sentences(task.corpus.offset, collected.actives[1], feature_index.size), task.y)
    views = make_views(settings.latent, settings.view_names, settings.chunk_types)
    tables = packed(views, settings.chunk_types, settings.pairs)
    held_out = None if task.dev is None else Labelled(encode(task.dev[0], task.encoder, feature_index), task.dev[1])
    logger.info(
        f"{counted(int((task.y > 0).sum()), 'sentence')} of class {task.classes[1]}, {int((task.y < 0).sum()):,} "
        f"of class {task.classes[0]}, {counted(task.corpus.n_tokens, 'token')}, "
        f"{counted(feature_index.size, 'attribute')}, "
        + ", ".join(f"{view.name} ({counted(len(view.tags), 'tag')})" for view in views)
    )
    _warn_of_size(task, (feature_index.size + 1) * tables.kind.size)

    def train(size: float | None) -> TrainResult:
        adaptive = settings.training(task.y.size).rule.spread > 0
        weights = new_weights(tables, feature_index.size, settings.estimator != "last", adaptive)
        if task.chunker is not None and size is not None:
            factor = start_from(task.chunker, views, tables, weights, size)
            logger.info(f"started from the chunker's weights times {factor:.4g}, the largest being {size:.4g}")
        kind = BatchLearning if isinstance(settings.learner, Lclr) else LatentLearning
        learning = kind(tables, weights, data, settings, _accuracy_on(held_out, tables, settings))
        return train_epochs(learning, settings.seed, settings.n_passes(), EpochLog(settings.patience, task.progress))

    size, outcome = task.range, None
    if task.chunker is not None and size is None:
        outcome = train(None)
        size = largest(outcome.best)
        logger.info(f"trained from zero: the largest weight is {size:.4g}")
    if outcome is None or not outcome.interrupted:
        outcome = train(size)
    names = attribute_names(collected, task.chunker).get(1) if task.names else None
    if names is not None:
        names = some_names(names, outcome.best.one.slot > 0)
    feature_index, weights = _moved_only(feature_index, outcome.best)
    model = ClassifierModel(task.classes, settings, task.encoder, feature_index, weights, names)
    model.meta = {
        "history": msgspec.to_builtins(outcome.training_log), "best_pass": outcome.best_epoch, "ended": outcome.ended,
        "sentences": [int((task.y < 0).sum()), int((task.y > 0).sum())],
        "start": None if task.chunker is None else size,
    }  # fmt: skip
    return model, outcome


def _warn_of_size(task: Task, n_weights: int) -> None:
    size = n_weights * (4 if task.settings.estimator == "last" else 12)
    if size > LARGE:
        logger.warning(
            f"the weights may take {size / 2**30:.1f} GB; --min-count 2, fewer types or fewer views reduce their number"
        )


def _check(task: Task) -> None:
    check_templates(task.encoder)
    check_columns(task.corpus, task.encoder, NO_POS)
    for sign, name in zip((-1, 1), task.classes, strict=True):
        if not (task.y == sign).any():
            raise DataError(f"there is no training sentence of the class {name}", file=task.corpus.source)
    if task.dev is None and task.settings.patience is not None:
        raise UsageError("patience needs development data")
    if task.dev is not None:
        check_columns(task.dev[0], task.encoder, SAME_COLUMNS)
        if not task.dev[1].size:
            raise DataError("there is no development sentence", file=task.dev[0].source)
    if task.chunker is not None:
        if task.settings.latent != "chunks":
            raise UsageError("init: a chunker is a start for chunk views, not for latent states or none")
        views = make_views("chunks", task.settings.view_names, task.settings.chunk_types)
        check_chunker(task.chunker, views, to_text(task.encoder.templates))
        if task.range is not None and not 0 < task.range < np.inf:
            raise UsageError(f"init_range: {task.range} is not a number above 0, nor auto")


def _accuracy_on(
    held_out: Labelled | None, views: Views, settings: LatentSettings
) -> Callable[[Weights], float] | None:
    if held_out is None:
        return None
    x, y = held_out
    none = np.zeros((views.size.size, 0), np.int16)

    def accuracy(weights: Weights) -> float:
        return float(np.mean((scores_of(views, weights, x, settings, none) >= 0) == (y > 0)))

    return accuracy


def _moved_only(feature_index: FeatureIndex, weights: Weights) -> tuple[FeatureIndex, Weights]:
    """Drop attributes without weights."""
    keep = weights.one.slot > 0
    new = np.where(keep, np.cumsum(keep) - 1, -1).astype(np.int32)
    kept = int(np.count_nonzero(keep))
    keys, numbers = renumbered(feature_index.keys, feature_index.numbers, new, kept)
    rows = weights.one._replace(slot=weights.one.slot[keep], w=weights.one.w[: used(weights)])
    return hash_index(keys, numbers, kept), weights._replace(one=rows)
