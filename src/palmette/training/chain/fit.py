"""The road of a training, at every scale: survey, settle, encode, train, finish.

    survey    what is known of the data: labels, words, counts        scale.py, disk.py, shards.py
    settle    labels, tag scheme, learner, constraints, shape         settle.py
    encode    the data as numbers                                     scale.py, disk.py, shards.py
    train     passes, or iterations of L-BFGS                         train.py
    finish    checks, names, metadata, calibration                    finish.py

Sentences may be held out of the data first: a share that was asked for is development data. By the rule all sentences
are learnt from. Weights that have learnt from a sentence are too sure of it, so the temperature comes from a model that
has learnt from a sample of the others; see calibration.py.
"""

from __future__ import annotations

import logging
import os
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import msgspec

from palmette.data.corpus import Corpus
from palmette.data.files import FilePath, check_apart
from palmette.data.formats.registry import read_corpus
from palmette.data.formats.spec import FormatSpec
from palmette.data.items import NO_WEIGHT, corpus_from_items
from palmette.data.labels.numbers import LabelNumbers
from palmette.data.subset import joined, split
from palmette.errors import DataError, UsageError
from palmette.kernels.core.compile import check_compiled
from palmette.lazy import loaded
from palmette.options.chain import TaggerOptions
from palmette.options.declare import OptionError
from palmette.options.learners import HiddenMarkov
from palmette.options.spelling import spelt
from palmette.training import memory
from palmette.training.chain.calibration import for_sample, parts_to_calibrate, sample_calibration
from palmette.training.chain.dev import check_labelled
from palmette.training.chain.finish import finish
from palmette.training.chain.request import Fitted, TrainingData, TrainRequest
from palmette.training.chain.scale import Memory, Scale
from palmette.training.chain.settle import asked, refusal, refuse, settle
from palmette.training.chain.train import train
from palmette.training.result import report_end

if TYPE_CHECKING:
    from palmette.structures.chain.model import ChainModel
    from palmette.training.chain.disk import Disk
    from palmette.training.cluster import Cluster

logger = logging.getLogger(__name__)
MEMORY = Memory()


def fit(source: Any, dev: Corpus | None, request: TrainRequest, scale: Scale = MEMORY) -> Fitted:
    """Train a chain on labelled data: a corpus, or what the scale reads. The scale ends with the training."""
    check_compiled("training")
    with scale.held:
        _check(request, dev is not None, scale)
        if dev is None and isinstance(source, Corpus):
            check_labelled(source, "training")
            if request.dev_share:
                source, dev = split(source, request.dev_share, request.settings.seed)
        if isinstance(request.settings.learner, HiddenMarkov):
            return _ended(loaded("lab.hmm.learner:fit_hmm")(source, dev, request), dev, request)
        survey = scale.survey(source, request)
        problem = scale.encode(survey, settle(survey, scale.refuses), dev)
        trained = train(problem, scale)
        if not request.checkpoint:
            trained = trained._replace(state=dict)  # the sums of the weights are no longer needed
        fitted = Fitted(finish(problem, trained), trained.outcome)
        del problem, trained
        if dev is None and isinstance(source, Corpus) and not fitted.outcome.interrupted:
            _calibrate_by_sample(fitted.model, source, survey.request)
        return _ended(fitted, dev, request)


def _calibrate_by_sample(model: ChainModel, corpus: Corpus, request: TrainRequest) -> None:
    """Give a model that has learnt from all sentences the temperature that a model of some of them shows."""
    parts = parts_to_calibrate(corpus, request)
    if parts is None:
        return
    found = sample_calibration(fit(parts.sample, None, for_sample(request, model.settings)), parts, corpus.n_sentences)
    if found is not None:
        model.meta["calibration"] = msgspec.to_builtins(found)


def _ended(fitted: Fitted, dev: Corpus | None, request: TrainRequest) -> Fitted:
    """Report how a training ended, and make its model small if that was asked for."""
    report_end(fitted.outcome, request.verbose)
    if request.compact is None:
        return fitted
    from palmette.structures.chain.compact import compact_on

    small, report = compact_on(fitted.model, dev, request.compact)
    return Fitted(small, fitted.outcome, report)


def _check(request: TrainRequest, has_dev: bool, scale: Scale) -> None:
    """An error for what is not possible, before any data is read."""
    old = request.resume
    if old is not None and old.compact:
        raise UsageError("a compact model cannot be trained further: use the full model")
    if old is not None and old.exact is not None:
        raise UsageError("a model of another tool cannot be trained further: train a new one on its data")
    if has_dev and request.dev_share:
        raise OptionError("dev_share", "development data is given: leave it out")
    refuse(asked(request, has_dev), scale.refuses)


def prepared(corpus: Corpus, request: TrainRequest) -> TrainingData:
    """A corpus as numbers, before its training."""
    survey = MEMORY.survey(corpus, request)
    return MEMORY.encode(survey, settle(survey, MEMORY.refuses), None)


# What is trained on: Python data, files, and files in shards, each at the scale that it needs. The arguments of `fit`.

Job = tuple[Any, Corpus | None, TrainRequest, Scale]
Items = tuple[Iterable[Any], Iterable[Any]]  # sentences and their labels


def of_items(
    data: Items, dev: Items | None, request: TrainRequest, *, mode: str,
    numbers: LabelNumbers | None = None, sample_weight: Sequence[float] | None = None,
) -> Job:  # fmt: skip
    """A training on Python data; `mode` as for `corpus_from_items`."""
    if dev is not None and len(dev) != 2:
        raise UsageError("dev is a pair of sentences and their labels: dev=(X, y)")
    if request.out_of_core:
        from palmette.data.sources import ItemSource

        disk = _on_disk(request, dev is not None)
        source = ItemSource(*data, disk.scratch, mode=mode, numbers=numbers, weights=sample_weight)
        held_out = None if dev is None else corpus_from_items(*dev, mode=mode, numbers=numbers).corpus
        return source, held_out, request, disk
    items = corpus_from_items(*data, mode=mode, numbers=numbers)
    corpus = items.corpus
    if sample_weight is not None:
        corpus.weight = items.weights(sample_weight)
        if corpus.weight.size and not corpus.weight.any():
            raise DataError(NO_WEIGHT)
    held_out = None
    if dev is not None:
        held_out = corpus_from_items(
            *dev, mode=mode, widths=corpus.vectors, numbers=numbers, columns=len(corpus.columns) or None
        ).corpus
    return corpus, held_out, request, MEMORY


def of_files(paths: Sequence[FilePath], dev: FilePath | None, spec: FormatSpec | None, request: TrainRequest) -> Job:
    """A training on labelled files of one format."""
    spec = spec or FormatSpec()
    if _is_large(paths, dev is not None, request):
        from palmette.data.sources import FileSource

        disk = _on_disk(request, dev is not None)
        source = FileSource(paths, spec, disk.scratch)
        return source, _read(dev, spec), replace(request, reading=source.spec), disk
    resolved = [spec.resolved(path) for path in paths]
    corpus = joined([read_corpus(path, own) for path, own in zip(paths, resolved, strict=True)])
    return corpus, _read(dev, spec), replace(request, reading=resolved[0]), MEMORY


def _read(path: FilePath | None, spec: FormatSpec) -> Corpus | None:
    return None if path is None else read_corpus(path, spec)


def _on_disk(request: TrainRequest, has_dev: bool) -> Disk:
    """The scale of data on disk; an error for what it refuses, before any data is read."""
    from palmette.data.scratch import Scratch
    from palmette.training.chain.disk import Disk

    refuse(asked(request, has_dev), Disk.refuses)
    return Disk(Scratch(request.scratch))


def _is_large(paths: Sequence[FilePath], has_dev: bool, request: TrainRequest) -> bool:
    """Whether files are learnt from on disk: as told, or if they are too large for memory and it is possible."""
    if request.out_of_core is not None:
        return request.out_of_core
    needed, free = memory.estimated_memory(paths), memory.free_memory()
    if free is None or needed <= memory.SHARE * free:
        return False
    from palmette.data.scratch import shown_size
    from palmette.training.chain.disk import Disk

    why = f"the data would take about {shown_size(needed)} of memory, and {shown_size(free)} are free"
    against = refusal(asked(request, has_dev), Disk.refuses)
    if against is not None:
        logger.warning("%s; it is learnt from in memory all the same: %s", why, against)
        return False
    logger.info("%s: training out of core (%s: in memory)", why, spelt(TaggerOptions, "out_of_core", False))
    return True


def of_shards(
    files: Sequence[FilePath], dev: FilePath | None, spec: FormatSpec | None, request: TrainRequest, *,
    address: str | None = None, output: FilePath | None = None,
) -> Job:  # fmt: skip
    """A training on labelled files of one format, divided into as many shards as the settings say. address: of a
    cluster; None: threads. output: the model file that is written after each pass over shards."""
    if not files:
        raise UsageError("there is no file to learn from")
    if output is not None:
        check_apart([output], [*files, *([] if dev is None else [dev])])
    if request.settings.shards == 1 and address is None:
        return of_files(files, dev, spec, request)
    from palmette.training.chain.shards import Shards

    refuse(asked(request, dev is not None), Shards.refuses)
    if "-" in files:
        raise UsageError("shards are read from files, not from standard input")
    spec = spec or FormatSpec()
    resolved = spec.resolved(files[0])
    held_out = _read(dev, spec)
    keep = None if output is None else lambda model: model.save(os.fspath(output))
    workers = make_cluster(files, resolved, request.settings.shards, address, request.n_threads)
    return workers, held_out, replace(request, reading=resolved), Shards(workers, keep)


def make_cluster(
    files: Sequence[FilePath], spec: FormatSpec, shards: int, address: str | None, threads: int
) -> Cluster:
    """The workers of shards of files."""
    from palmette.data.sources import divided
    from palmette.training.chain.file_shard import FileShard
    from palmette.training.cluster import Threads

    each = [(pieces, spec, k) for k, pieces in enumerate(divided([os.path.abspath(f) for f in files], shards))]
    if address is None:
        return Threads([FileShard(*own) for own in each], threads)
    return ray_cluster(FileShard, each, address)


def ray_cluster(make: Callable[..., Any], arguments: Sequence[tuple[Any, ...]], address: str) -> Cluster:
    """Workers on Ray, which is imported now."""
    made: Cluster = loaded("connect.ray_cluster:RayCluster")(make, arguments, address)
    return made
