"""Trainings on Python data, on files and on files in shards, each at the scale that the data needs."""

from __future__ import annotations

import logging
import os
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from palmette.data.corpus import Corpus
from palmette.data.files import FilePath, check_apart
from palmette.data.formats.registry import read_corpus
from palmette.data.formats.spec import FormatSpec
from palmette.data.items import NO_WEIGHT, corpus_from_items
from palmette.data.labels.numbers import LabelNumbers
from palmette.data.subset import joined
from palmette.errors import DataError, UsageError
from palmette.lazy import loaded
from palmette.options.chain import TaggerOptions
from palmette.options.spelling import spelt
from palmette.training import memory
from palmette.training.chain.fit import fit
from palmette.training.chain.request import Fitted, TrainRequest
from palmette.training.chain.settle import asked, refusal, refuse

if TYPE_CHECKING:
    from palmette.training.cluster import Cluster

logger = logging.getLogger(__name__)
Items = tuple[Iterable[Any], Iterable[Any]]  # sentences and their labels


def fit_items(
    data: Items, dev: Items | None, request: TrainRequest, *, mode: str,
    numbers: LabelNumbers | None = None, sample_weight: Sequence[float] | None = None,
) -> Fitted:  # fmt: skip
    """Learn from Python data; `mode` as for `corpus_from_items`."""
    if dev is not None and len(dev) != 2:
        raise UsageError("dev is a pair of sentences and their labels: dev=(X, y)")
    if request.out_of_core:
        from palmette.data.scratch import Scratch
        from palmette.data.sources import ItemSource
        from palmette.training.chain.disk import Disk

        refuse(asked(request, dev is not None), Disk.refuses)
        with Scratch(request.scratch) as scratch:
            source = ItemSource(*data, scratch, mode=mode, numbers=numbers, weights=sample_weight)
            held_out = None if dev is None else corpus_from_items(*dev, mode=mode, numbers=numbers).corpus
            return fit(source, held_out, request, Disk(scratch))
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
    return fit(corpus, held_out, request)


def fit_paths(
    paths: Sequence[FilePath], dev: FilePath | None, spec: FormatSpec | None, request: TrainRequest
) -> Fitted:
    """Learn from labelled files of one format."""
    spec = spec or FormatSpec()
    if _is_large(paths, dev is not None, request):
        from palmette.data.scratch import Scratch
        from palmette.data.sources import FileSource
        from palmette.training.chain.disk import Disk

        refuse(asked(request, dev is not None), Disk.refuses)
        with Scratch(request.scratch) as scratch:
            source = FileSource(paths, spec, scratch)
            return fit(source, _read(dev, spec), replace(request, reading=source.spec), Disk(scratch))
    resolved = [spec.resolved(path) for path in paths]
    corpus = joined([read_corpus(path, own) for path, own in zip(paths, resolved, strict=True)])
    return fit(corpus, _read(dev, spec), replace(request, reading=resolved[0]))


def _read(path: FilePath | None, spec: FormatSpec) -> Corpus | None:
    return None if path is None else read_corpus(path, spec)


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


def fit_files(
    files: Sequence[FilePath], dev: FilePath | None, spec: FormatSpec | None, request: TrainRequest, *,
    address: str | None = None, output: FilePath | None = None,
) -> Fitted:  # fmt: skip
    """Learn from labelled files of one format, divided into as many shards as the settings say. address: of a cluster;
    None: threads. output: the model file that is written after each pass over shards."""
    if not files:
        raise UsageError("there is no file to learn from")
    if output is not None:
        check_apart([output], [*files, *([] if dev is None else [dev])])
    if request.settings.shards == 1 and address is None:
        return fit_paths(files, dev, spec, request)
    from palmette.training.chain.shards import Shards

    refuse(asked(request, dev is not None), Shards.refuses)
    if "-" in files:
        raise UsageError("shards are read from files, not from standard input")
    spec = spec or FormatSpec()
    resolved = spec.resolved(files[0])
    held_out = _read(dev, spec)
    keep = None if output is None else lambda model: model.save(os.fspath(output))
    workers = make_cluster(files, resolved, request.settings.shards, address, request.n_threads)
    try:
        return fit(workers, held_out, replace(request, reading=resolved), Shards(keep))
    finally:
        workers.close()


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
