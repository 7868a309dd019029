"""How a Tagger learns from files, and from data that need not fit into memory; part of the same class."""

from __future__ import annotations

import logging
import os
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any, cast

from palmette.data.corpus import Corpus
from palmette.data.files import FilePath, check_apart
from palmette.data.formats.registry import read_corpus
from palmette.data.formats.spec import FormatSpec
from palmette.data.labels.numbers import LabelNumbers
from palmette.errors import DataError, UsageError
from palmette.estimators.tagger_items import about_data
from palmette.estimators.tagger_shards import ShardedTraining
from palmette.features.resources import Resources
from palmette.options.chain import ChainSettings, TaggerOptions
from palmette.options.spelling import named, spelt
from palmette.structures.chain.model import ChainModel

if TYPE_CHECKING:
    from palmette.data.scratch import Scratch
    from palmette.data.sources import PieceSource
    from palmette.estimators.tagger import Tagger
    from palmette.training.result import TrainResult

logger = logging.getLogger(__name__)


class LargeData:
    """From files of any size, and from generators, to a model."""

    settings: Callable[[], ChainSettings]
    fit_corpus: Callable[..., Any]
    compact_corpus: Callable[..., Any]
    _fit_shards: Callable[..., Tagger]
    _resources: Callable[[], Resources]
    _wanted: Callable[[], str]
    model_: ChainModel
    outcome_: TrainResult
    out_of_core: bool | None
    scratch: str | None

    def fit_file(
        self, path: FilePath, dev: FilePath | None = None, *, spec: FormatSpec | None = None, **options: Any
    ) -> Tagger:
        """Learn from a labelled file; `options` as for `fit_corpus`. A file that would take more than half of the free
        memory is learnt from in blocks, on disk, unless `out_of_core` is set."""
        return self._fit_paths([path], dev, spec, options)

    def fit_files(
        self,
        paths: FilePath | Sequence[FilePath],
        dev: FilePath | None = None,
        *,
        spec: FormatSpec | None = None,
        cluster: str | None = None,
        output: FilePath | None = None,
        **options: Any,
    ) -> Tagger:
        """Learn from labelled files of one format; `options` as for `fit_corpus`, and as for `fit_file` if there is one
        shard. With several `shards` each of them reads its own files; passes are mixed, gradients summed, which
        docs/cluster.md explains.

        cluster: the address of a Ray cluster whose workers learn, `auto` for the one that is found, `local` for one
        that is started here; None: threads of this process. The model does not depend on it. output: a model file that
        shards write after each pass, with what an exact resumption needs."""
        files = [paths] if isinstance(paths, (str, os.PathLike)) else list(paths)
        if not files:
            raise UsageError("there is no file to learn from")
        if output is not None:
            check_apart([output], [*files, *([] if dev is None else [dev])])
        if self.settings().shards > 1 or cluster is not None:
            return self._fit_shards(ShardedTraining(files, dev, spec or FormatSpec(), cluster, output), options)
        return self._fit_paths(files, dev, spec, options)

    def _fit_paths(
        self, paths: Sequence[FilePath], dev: FilePath | None, spec: FormatSpec | None, options: dict[str, Any]
    ) -> Tagger:
        spec = spec or FormatSpec()
        settings = self.settings()  # wrong parameters are reported before any file is read
        if self._is_large(paths, settings, options):
            return self._fit_large_files(paths, dev, spec, options)
        from palmette.data.joined import joined

        resolved = [spec.resolved(path) for path in paths]
        corpus = joined([read_corpus(path, own) for path, own in zip(paths, resolved, strict=True)])
        held_out = read_corpus(dev, spec) if dev is not None else None
        self.fit_corpus(corpus, held_out, **options)
        self.model_.meta["reading"] = _explicit(resolved[0], len(corpus.columns)).stored()
        return cast("Tagger", self)

    def _is_large(self, paths: Sequence[FilePath], settings: ChainSettings, options: dict[str, Any]) -> bool:
        """Whether files are learnt from on disk: as told, or if they are too large for memory and it is possible."""
        from palmette.data.scratch import shown_size
        from palmette.training.memory import SHARE, estimated_memory, free_memory

        if self.out_of_core is not None:
            return self.out_of_core
        needed, free = estimated_memory(paths), free_memory()
        if free is None or needed <= SHARE * free:
            return False
        why = f"the data would take about {shown_size(needed)} of memory, and {shown_size(free)} are free"
        against = self._obstacle(settings, options)
        if against is not None:
            logger.warning("%s; it is learnt from in memory all the same: %s", why, against)
            return False
        logger.info("%s: training out of core (%s: in memory)", why, spelt(TaggerOptions, "out_of_core", False))
        return True

    def _obstacle(self, settings: ChainSettings, options: dict[str, Any]) -> str | None:
        """What a training out of core cannot do, of what is asked for."""
        from palmette.training.chain.out_of_core import obstacle

        own = cast("Tagger", self)
        if own.dev_share:
            return f"{named(TaggerOptions, 'dev_share')} draws from all sentences: give development data"
        for name in ("resume", "checkpoint"):
            if options.get(name):
                return f"{name} needs all data in memory"
        return obstacle(settings)

    def _fit_large_files(
        self, paths: Sequence[FilePath], dev: FilePath | None, spec: FormatSpec, options: dict[str, Any]
    ) -> Tagger:
        from palmette.data.scratch import Scratch
        from palmette.data.sources import FileSource

        with Scratch(self.scratch) as scratch:
            source = FileSource(paths, spec, scratch)
            held_out = read_corpus(dev, spec) if dev is not None else None
            n_columns = self._fit_source(source, held_out, scratch, options)
        self.model_.meta["reading"] = _explicit(source.spec, n_columns).stored()
        return cast("Tagger", self)

    def _fit_items(
        self,
        data: tuple[Iterable[Any], Iterable[Any]],
        dev: tuple[Iterable[Any], Iterable[Any]] | None,
        numbers: LabelNumbers | None,
        sample_weight: Iterable[float] | None,
        **options: Any,
    ) -> Tagger:
        """Learn from Python data in blocks."""
        from palmette.data.items import corpus_from_items
        from palmette.data.scratch import Scratch
        from palmette.data.sources import ItemSource

        mode = self._wanted()
        with Scratch(self.scratch) as scratch:
            source = ItemSource(*data, scratch, mode=mode, numbers=numbers, weights=sample_weight)
            held_out = None
            if dev is not None:
                if len(dev) != 2:
                    raise UsageError("dev is a pair of sentences and their labels: dev=(X, y)")
                held_out = corpus_from_items(*dev, mode=mode, numbers=numbers).corpus
            self._fit_source(source, held_out, scratch, options)
        return cast("Tagger", self)

    def _fit_source(self, source: PieceSource, dev: Corpus | None, scratch: Scratch, options: dict[str, Any]) -> int:
        """Learn from data in blocks, and return the number of its columns. The first block decides what the data is
        checked for and, if the user does not, which templates read it."""
        from palmette.training.chain.dev import check_labelled
        from palmette.training.chain.out_of_core import fit_out_of_core
        from palmette.training.chain.request import TrainRequest
        from palmette.training.chain.templates import choose_templates
        from palmette.training.checks import warn_of_strange_corpus
        from palmette.training.lines import report_end, reporter

        own, settings = cast("Tagger", self), self.settings()
        against = self._obstacle(settings, options)
        if against is not None:
            raise UsageError(f"{spelt(TaggerOptions, 'out_of_core', True)}: {against}")
        pieces = source.pieces()
        first = next((block for block in map(source.corpus, pieces) if block.n_tokens), None)
        if first is None:
            raise DataError("the training data has no sentences", file=source.name)
        check_labelled(first, "training")
        resources = self._resources()
        templates = choose_templates(own.features, own.template, own.order, first, resources)
        warn_of_strange_corpus(first, templates, bool(settings.partial))
        verbose, progress = bool(options.get("verbose")), options.get("progress")
        request = TrainRequest(
            templates, settings, 1 if own.order is None else own.order, resources, tuple(own.forbidden),
            names=options.get("names", True), ends=own.ends, progress=reporter(progress, verbose),
            threads=options.get("threads"),
        )  # fmt: skip
        self.model_, self.outcome_ = fit_out_of_core(source, (first, pieces), dev, request, scratch)
        report_end(self.outcome_, verbose)
        self.model_.meta["features"] = None if templates is None or own.template is not None else templates.name
        self.model_.meta |= about_data(first)
        if options.get("compact") is not None:
            own.compaction_ = self.compact_corpus(dev, options["compact"])
        return len(first.columns)


def _explicit(spec: FormatSpec, n_columns: int) -> FormatSpec:
    """Name the feature columns when the label is not the last one: without labels they would shift."""
    if spec.format != "columns" or spec.columns is not None or spec.label is None:
        return spec
    n = n_columns + 1
    label = int(spec.label) % n
    if label == n - 1:
        return spec
    return spec.replace(columns=tuple(str(c) for c in range(n) if c != label))
