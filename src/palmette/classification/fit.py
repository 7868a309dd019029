"""Training of a classifier from labelled sentences: attributes, views, initial weights, epochs."""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, cast

import msgspec
import numpy as np

from palmette.classification.kernels.forms import Labelled, Views, Weights
from palmette.classification.learning import (
    BatchLearning,
    LatentLearning,
    carry,
    check_resumed,
    restore,
    saved_state,
    training_log_of,
    with_attributes,
)
from palmette.classification.model import (
    ClassifierModel,
    View,
    check_templates,
    encode,
    largest,
    make_views,
    new_weights,
    no_pos,
    packed,
    scores_of,
    sentences,
    used,
)
from palmette.classification.options import VIEWS, ClassifierOptions, LatentOptions, LatentSettings
from palmette.classification.serialise import AboutClassifier
from palmette.data.corpus import Corpus
from palmette.data.labels.schemes import HYPHEN, reading
from palmette.errors import DataError, UsageError, counted
from palmette.features.encode import Encoder
from palmette.features.templates import to_text
from palmette.kernels.core.compile import check_compiled
from palmette.kernels.core.hashing import FeatureIndex, hash_index, renumbered
from palmette.options.chain import TaggerOptions
from palmette.options.declare import OptionError
from palmette.options.learners import BatchLatent
from palmette.options.spelling import argument, named, spelt
from palmette.options.training import available_cores
from palmette.structures.chain.data import Collected
from palmette.structures.chain.model import ChainModel, check_columns
from palmette.structures.stored import some_names
from palmette.structures.training_log import ClassifierEpoch
from palmette.training.chain.finish import united_names
from palmette.training.chain.settle import LARGE
from palmette.training.result import EpochLog, Progress, TrainResult
from palmette.training.trainer import train_epochs

# Initial weights of a classifier from a supervised chunker.
#
# The chunker must have the classifier's templates: two attributes are the same if their strings are. Its weights are
# copied to the view of its tag scheme, scaled so that the largest one has the requested size; the other views start at
# zero.


def types_of(chunker: ChainModel) -> tuple[str, ...]:
    """The chunk types of a chunker, in the order of its labels."""
    if chunker.scheme not in VIEWS.values():
        raise OptionError("init", "the model is not a chunker: its labels follow no tag scheme", "chunker-init")
    return tuple(dict.fromkeys(kind for letter, kind in _parts(chunker.labels) if letter != "O"))


def check_chunker(chunker: ChainModel, views: Sequence[View], templates: str) -> None:
    """UsageError if the weights of the chunker do not apply to these views and templates."""
    if chunker.scheme not in [view.scheme for view in views]:
        raise OptionError(
            "init", f"the chunker's tags are {chunker.scheme}, and the views are {', '.join(v.name for v in views)}"
        )
    shape, seen = chunker.shape, chunker.chain.weights[0].first.size > 0
    if (
        shape.states_per_label != 1
        or shape.order != 1
        or shape.local
        or seen
        or chunker.encoder is None
        or set(chunker.feature_indexes) != {1}
    ):
        raise OptionError(
            "init",
            "the chunker must be a plain chain of order 1 with dense weights for single labels only; train it with "
            f"{spelt(TaggerOptions, 'order', 1)}",
            "chunker-init",
        )
    own = {line for line in to_text(chunker.encoder.templates).split("\n") if line.startswith(("U", "u"))}
    if not own & set(templates.split("\n")):
        raise OptionError(
            "init",
            "the chunker has none of the classifier's templates; train it with "
            f"{spelt(TaggerOptions, 'features', 'ngrams')}, or give its template file to both",
        )


def start_from(chunker: ChainModel, views: Sequence[View], packed: Views, weights: Weights, size: float) -> float:
    """Copy the weights of the chunker, whose attributes are the first ones of the classifier. Returns the factor by
    which they were scaled."""
    r = next(k for k, view in enumerate(views) if view.scheme == chunker.scheme)
    tags, H, W = views[r].tags, int(packed.size[r]), int(packed.stride[r])
    states = np.array([tags.index(label) for label in _plain(chunker.labels)])
    columns = packed.column[r] + states
    one, (ends, pairs, _) = chunker.chain.weights[0], chunker.chain.transitions
    n = len(chunker.labels)
    largest = max(float(np.abs(block).max(initial=0.0)) for block in (one.w, ends.w, pairs.w))
    if largest == 0.0:
        raise OptionError("init", "all weights of the chunker are zero", "chunker-init")
    factor = np.float32(size / largest)
    rows = one.w.shape[0]
    A = one.slot.size
    weights.one.slot[:A], weights.one.used[0] = one.slot, rows
    weights.one.w[:rows, columns] = factor * one.w[:, :n]
    if packed.pairs:
        weights.end[:, columns] = factor * ends.w[:, :n]
        table = weights.pair[packed.edge[r] : packed.edge[r + 1]].reshape(H, W)
        table[np.ix_(states, states)] = factor * pairs.w[:n, :n]
    return float(factor)


def _plain(labels: Sequence[str]) -> list[str]:
    """Labels with the prefixes of IOBES: U-PER becomes S-PER."""
    return [f"{letter}-{kind}" if kind else letter for letter, kind in _parts(labels)]


def _parts(labels: Sequence[str]) -> list[tuple[str, str]]:
    notation = reading(labels) or HYPHEN
    return [notation.split(label) for label in labels]


logger = logging.getLogger(__name__)
ZERO_PASSES = 3  # from zero, to find the range of weights; see docs/classify.md
SAME_COLUMNS = "development data needs the columns of the training data"


class ClassifierTask(NamedTuple):
    """Data and options of one training."""

    corpus: Corpus
    y: np.ndarray  # i8[S]
    dev: tuple[Corpus, np.ndarray] | None
    encoder: Encoder
    settings: LatentSettings
    classes: tuple[str, str]
    chunker: ChainModel | None = None
    names: bool = True  # whether to keep attribute names
    range: float | None = None  # largest weight of the chunker after scaling; None: that of a short training from zero
    progress: Progress | None = None
    resume: ClassifierModel | None = None  # the model to continue; its encoder is the task's
    checkpoint: bool = False  # whether to keep what an exact resumption needs
    threads: int | None = None  # None: as many as there are cores
    tagger: str | None = None  # the file of what makes parts of speech, which the model names

    @property
    def n_threads(self) -> int:
        return self.threads or available_cores()


class Prepared(NamedTuple):
    """Everything that is encoded once."""

    collected: Collected
    data: Labelled
    held_out: Labelled | None
    views: list[View]
    tables: Views


def fit_classifier(task: ClassifierTask) -> tuple[ClassifierModel, TrainResult]:
    """Train a classifier."""
    check_compiled("training")
    _check(task)
    task = task._replace(settings=task.settings.with_batch_size_for(task.y.size))
    prepared = _prepare(task)
    size, outcome = task.range, None
    if task.chunker is not None and size is None:
        outcome, size = _range_from_zero(task, prepared)
    if outcome is None or not outcome.interrupted:
        learning, log = _start(task, prepared, size)
        epochs = len(log.epochs) + task.settings.n_passes()
        outcome = train_epochs(learning, task.settings.seed, epochs, log)
    _check_finite(outcome.best, task)
    state = {}
    if task.checkpoint and outcome.interrupted:
        logger.info("no checkpoint is kept: training was interrupted in the middle of a pass")
    elif task.checkpoint:
        state = saved_state(learning.weights, learning.clock, learning.inner)
    model = _model(task, prepared, outcome, state)
    model.meta = metadata(task, outcome, size if task.chunker is not None else None)
    return model, outcome


def metadata(task: ClassifierTask, outcome: TrainResult, start: float | None) -> dict[str, Any]:
    """What a trained classifier keeps about its training, and from the training before. start: the largest weight that
    it began with."""
    before = {} if task.resume is None else task.resume.meta
    tagger = before.get("tagger", msgspec.UNSET) if task.tagger is None else task.tagger
    made = AboutClassifier(
        history=cast(list[ClassifierEpoch], outcome.training_log), best_pass=outcome.best_epoch, ended=outcome.ended,
        sentences=[int((task.y < 0).sum()), int((task.y > 0).sum())], start=before.get("start", start), tagger=tagger,
    )  # fmt: skip
    found: dict[str, Any] = msgspec.to_builtins(made)
    return found


def _prepare(task: ClassifierTask) -> Prepared:
    settings = task.settings
    before = task.resume.feature_index if task.resume is not None else None
    if task.chunker is not None:
        before = task.chunker.feature_indexes[1]
    collected = Collected(task.corpus, task.encoder, None if before is None else {1: before}, settings.min_count)
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
    return Prepared(collected, data, held_out, views, tables)


def _new_learning(task: ClassifierTask, prepared: Prepared, evaluate: bool = True) -> LatentLearning:
    """A learner with weights of zero."""
    settings, tables = task.settings, prepared.tables
    adaptive = settings.training(task.y.size).rule.spread > 0
    attributes = prepared.collected.feature_indexes[1].size
    weights = new_weights(tables, attributes, settings.estimator != "last", adaptive)
    kind = BatchLearning if isinstance(settings.learner, BatchLatent) else LatentLearning
    on_dev = _accuracy_on(prepared.held_out if evaluate else None, tables, settings, task.n_threads)
    return kind(tables, weights, prepared.data, settings, on_dev, task.n_threads)


def _range_from_zero(task: ClassifierTask, prepared: Prepared) -> tuple[TrainResult, float]:
    """The range of weights after a short training from zero with the same settings and data: the largest weight."""
    passes = min(ZERO_PASSES, task.settings.n_passes())
    outcome = train_epochs(_new_learning(task, prepared, False), task.settings.seed, passes, EpochLog())
    size = largest(outcome.best)
    logger.info(f"{passes} passes from zero: the largest weight is {size:.4g}")
    return outcome, size or 1.0


def _start(task: ClassifierTask, prepared: Prepared, size: float | None) -> tuple[LatentLearning, EpochLog]:
    """A learner with its initial weights, and the log that it continues."""
    learning, old = _new_learning(task, prepared), task.resume
    done, best = [], None
    if task.chunker is not None and size is not None:
        factor = start_from(task.chunker, prepared.views, prepared.tables, learning.weights, size)
        logger.info(f"started from the chunker's weights times {factor:.4g}, the largest being {size:.4g}")
    if old is not None:
        done = training_log_of(old)
        if old.checkpoint:
            restore(learning.weights, old.checkpoint)
            learning.clock[:], learning.inner = old.checkpoint["clock"], int(old.checkpoint["inner"][0])
            if any(epoch.dev is not None for epoch in done):
                best = with_attributes(old.weights, learning.weights.one.slot.size)
            logger.info("resumed exactly where training stopped")
        else:
            carry(learning.weights, old.weights)
            logger.info("resumed from the weights of the model (it has no checkpoint)")
    return learning, EpochLog(task.settings.patience, task.progress, done, best, window=task.settings.stop_rule())


def _check_finite(weights: Weights, task: ClassifierTask) -> None:
    """DataError if the weights have overflowed, as steps that are found with the same weights can make them."""
    if all(np.isfinite(block).all() for block in (weights.end, weights.pair, weights.one.w)):
        return
    size, option = task.settings.batch_size or 1, named(LatentOptions, "batch_size")
    hint = f"steps of {size} sentences add up to too much: choose a smaller {option}" if size > 1 else None
    raise DataError("the weights have overflowed", file=task.corpus.source, hint=hint)


def _model(
    task: ClassifierTask, prepared: Prepared, outcome: TrainResult, state: dict[str, np.ndarray]
) -> ClassifierModel:
    """The model of a training. Without a checkpoint, attributes without weights are dropped."""
    collected, weights = prepared.collected, outcome.best
    feature_index, names = collected.feature_indexes[1], None
    if task.names:
        old = task.resume.names if task.resume is not None else None
        if task.chunker is not None:
            old = task.chunker.names.get(1)
        names = united_names(collected, 1, old)
    if not state:
        names = None if names is None else some_names(names, weights.one.slot > 0)
        feature_index, weights = _moved_only(feature_index, weights)
    return ClassifierModel(task.classes, task.settings, task.encoder, feature_index, weights, names, checkpoint=state)


def _warn_of_size(task: ClassifierTask, n_weights: int) -> None:
    size = n_weights * (4 if task.settings.estimator == "last" else 12)
    if size > LARGE:
        logger.warning(
            f"the weights may take {size / 2**30:.1f} GB; {spelt(LatentOptions, 'min_count', 2)}, fewer types or fewer "
            "views reduce their number"
        )


def _check(task: ClassifierTask) -> None:
    check_templates(task.encoder)
    check_columns(task.corpus, task.encoder, no_pos())
    for sign, name in zip((-1, 1), task.classes, strict=True):
        if not (task.y == sign).any():
            raise DataError(f"there is no training sentence of the class {name}", file=task.corpus.source)
    if task.dev is None and task.settings.patience is not None:
        how = f"{argument('dev')} or {spelt(ClassifierOptions, 'dev_share', 0.1)}"
        raise OptionError("patience", f"needs development data: {how}")
    if task.dev is not None:
        check_columns(task.dev[0], task.encoder, SAME_COLUMNS)
        if not task.dev[1].size:
            raise DataError("there is no development sentence", file=task.dev[0].source)
    if task.checkpoint and task.settings.chosen_learner.keeps_state:
        kind = task.settings.chosen_learner.kind
        raise UsageError(f"{argument('checkpoint')}: {kind} has state per weight, which model files do not store")
    if task.resume is not None:
        check_resumed(task.resume, task.settings)
        if task.chunker is not None:
            raise OptionError("init", "a training that continues another one has its weights already", "chunker-init")
    if task.chunker is not None:
        if task.settings.latent != "chunks":
            raise OptionError(
                "init", "a chunker is a start for chunk views, not for latent states or none", "chunker-init"
            )
        views = make_views("chunks", task.settings.view_names, task.settings.chunk_types)
        check_chunker(task.chunker, views, to_text(task.encoder.templates))
        if task.range is not None and not 0 < task.range < np.inf:
            raise OptionError("init_range", f"{task.range} is not a number above 0, nor auto", "chunker-init-range")


def _accuracy_on(
    held_out: Labelled | None, views: Views, settings: LatentSettings, threads: int
) -> Callable[[Weights], float] | None:
    if held_out is None:
        return None
    x, y = held_out
    none = np.zeros((views.size.size, 0), np.int16)

    def accuracy(weights: Weights) -> float:
        return float(np.mean((scores_of(views, weights, x, settings, none, threads=threads) >= 0) == (y > 0)))

    return accuracy


def _moved_only(feature_index: FeatureIndex, weights: Weights) -> tuple[FeatureIndex, Weights]:
    """Drop attributes without weights."""
    keep = weights.one.slot > 0
    new = np.where(keep, np.cumsum(keep) - 1, -1).astype(np.int32)
    kept = int(np.count_nonzero(keep))
    keys, numbers = renumbered(feature_index.keys, feature_index.numbers, new, kept)
    rows = weights.one._replace(slot=weights.one.slot[keep], w=weights.one.w[: used(weights)])
    return hash_index(keys, numbers, kept), weights._replace(one=rows)
