"""How a Tagger learns from files in shards, on threads or on a cluster; part of the same class."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from palmette.data.corpus import Corpus
from palmette.data.files import FilePath
from palmette.data.formats.registry import read_corpus
from palmette.data.formats.spec import FormatSpec
from palmette.errors import UsageError
from palmette.features.resources import Resources
from palmette.features.templates import TemplateSet
from palmette.options.chain import ChainSettings
from palmette.options.learners import HiddenMarkov
from palmette.structures.chain.model import ChainModel

if TYPE_CHECKING:
    from palmette.estimators.tagger import Tagger
    from palmette.training.cluster import Cluster
    from palmette.training.result import Progress

KEPT = ("features", "reading", "temperature")  # what is known about a model that learns more


class ShardedFiles:
    """Training from files that need not fit into the memory of this process."""

    settings: Callable[[], ChainSettings]
    _resources: Callable[[], Resources]
    model_: ChainModel
    outcome_: Any
    features: str | None
    template: Any
    order: int | None
    forbidden: Any
    ends: bool

    def _fit_shards(
        self,
        files: Sequence[FilePath],
        dev: FilePath | None,
        *,
        spec: FormatSpec | None,
        cluster: str | None,
        output: FilePath | None,
        threads: int | None = None,
        resume: ChainModel | None = None,
        checkpoint: bool = False,
        names: bool = True,
        progress: Progress | None = None,
        verbose: bool = False,
    ) -> Tagger:
        """Learn from labelled files, divided into as many `shards` as the tagger has; see `fit_files`."""
        from palmette.training.chain.fit_files import fit_files
        from palmette.training.chain.request import TrainRequest
        from palmette.training.chain.templates import choose_templates
        from palmette.training.lines import report_end, reporter

        settings = self.settings()
        if isinstance(settings.learner, HiddenMarkov):
            raise UsageError("hmm counts in one pass: use fit_file")
        resolved = (spec or FormatSpec()).resolved(files[0])
        resources = self._resources()
        request = TrainRequest(
            None, settings, 1 if self.order is None else self.order, resources, tuple(self.forbidden), resume,
            checkpoint, names, self.ends, reporter(progress, verbose), threads,
        )  # fmt: skip
        held_out = None if dev is None else read_corpus(dev, spec or FormatSpec())

        def choose(corpus: Corpus) -> TemplateSet | None:
            return choose_templates(self.features, self.template, self.order, corpus, resources)

        def finish(model: ChainModel) -> ChainModel:
            templates = request.templates
            own = {"features": None if templates is None or self.template is not None else templates.name}
            before = own if resume is None else {k: v for k, v in resume.meta.items() if k in KEPT}
            model.meta |= {"reading": resolved.stored()} | before
            return model

        def keep(model: ChainModel) -> None:
            finish(model).save(os.fspath(str(output)))

        workers = make_cluster(files, resolved, settings.shards, cluster, request.n_threads)
        try:
            found = fit_files(workers, held_out, request, choose, None if output is None else keep)
        finally:
            workers.close()
        self.model_, self.outcome_ = finish(found[0]), found[1]
        report_end(self.outcome_, verbose)
        return self  # type: ignore[return-value]


def make_cluster(
    files: Sequence[FilePath], spec: FormatSpec, shards: int, address: str | None, threads: int
) -> Cluster:
    """The workers of shards of files."""
    from palmette.data.pieces import divided
    from palmette.training.chain.file_shard import FileShard
    from palmette.training.cluster import Threads

    each = [(pieces, spec, k) for k, pieces in enumerate(divided([os.path.abspath(f) for f in files], shards))]
    if address is None:
        return Threads([FileShard(*own) for own in each], threads)
    return ray_cluster(FileShard, each, address)


def ray_cluster(make: Callable[..., Any], arguments: Sequence[tuple[Any, ...]], address: str) -> Cluster:
    """Workers on Ray, which is imported now."""
    from palmette.training.ray_cluster import RayCluster

    return RayCluster(make, arguments, address)
