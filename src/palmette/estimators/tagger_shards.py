"""How a Tagger learns from files in shards, on threads or on a cluster; part of the same class."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from palmette.data.corpus import Corpus
from palmette.data.files import FilePath
from palmette.data.formats.registry import read_corpus
from palmette.data.formats.spec import FormatSpec
from palmette.errors import UsageError
from palmette.features.resources import Resources
from palmette.features.templates import TemplateSet
from palmette.lazy import loaded
from palmette.options.chain import ChainSettings
from palmette.options.declare import OptionError
from palmette.options.learners import HiddenMarkov
from palmette.options.spelling import argument
from palmette.structures.chain.model import ChainModel

if TYPE_CHECKING:
    from palmette.estimators.tagger import Tagger
    from palmette.training.chain.request import TrainRequest
    from palmette.training.cluster import Cluster
    from palmette.training.result import Progress

KEPT = ("features", "reading", "temperature", "columns")  # what is known about a model that learns more


class ShardedTraining(NamedTuple):
    """What shards learn from, who learns, and what is written meanwhile; see `Tagger.fit_files`."""

    files: Sequence[FilePath]
    dev: FilePath | None
    spec: FormatSpec
    cluster: str | None
    output: FilePath | None


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
    dev_share: float | None
    compact_corpus: Callable[..., Any]
    compaction_: Any

    def _fit_shards(self, job: ShardedTraining, options: Mapping[str, Any]) -> Tagger:
        """Learn from labelled files, divided into as many `shards` as the tagger has; options as for `fit_corpus`."""
        from palmette.training.chain.fit_files import fit_files
        from palmette.training.chain.templates import choose_templates
        from palmette.training.lines import report_end

        settings = self.settings()
        if isinstance(settings.learner, HiddenMarkov):
            raise UsageError("hmm counts in one pass: use fit_file")
        self._check_dev(job)
        compact, options = options.get("compact"), {name: options[name] for name in options if name != "compact"}
        resolved = job.spec.resolved(job.files[0])
        request = self._shard_request(settings, **options)
        held_out = None if job.dev is None else read_corpus(job.dev, job.spec)

        columns: dict[str, int] = {}

        def choose(corpus: Corpus) -> TemplateSet | None:
            if corpus.columns:
                columns["columns"] = len(corpus.columns)
            return choose_templates(self.features, self.template, self.order, corpus, request.resources)

        def keep(model: ChainModel) -> None:
            self._with_meta(model, request, resolved, columns).save(os.fspath(str(job.output)))

        workers = make_cluster(job.files, resolved, settings.shards, job.cluster, request.n_threads)
        try:
            found = fit_files(workers, held_out, request, choose, None if job.output is None else keep)
        finally:
            workers.close()
        self.model_, self.outcome_ = self._with_meta(found[0], request, resolved, columns), found[1]
        report_end(self.outcome_, bool(options.get("verbose")))
        if compact is not None:
            self.compaction_ = self.compact_corpus(held_out, compact)
        return self  # type: ignore[return-value]

    def _check_dev(self, job: ShardedTraining) -> None:
        """OptionError if sentences would have to be held out: the workers read the files, and no process has all."""
        if self.dev_share and job.dev is None:
            raise OptionError("dev_share", f"does not apply to files in shards: give {argument('dev')}")

    def _shard_request(
        self,
        settings: ChainSettings,
        *,
        threads: int | None = None,
        resume: ChainModel | None = None,
        checkpoint: bool = False,
        names: bool = True,
        progress: Progress | None = None,
        verbose: bool = False,
    ) -> TrainRequest:
        """The request of a training whose templates are chosen later."""
        from palmette.training.chain.request import TrainRequest
        from palmette.training.lines import reporter

        return TrainRequest(
            None, settings, 1 if self.order is None else self.order, self._resources(), tuple(self.forbidden), resume,
            checkpoint, names, self.ends, reporter(progress, verbose), threads,
        )  # fmt: skip

    def _with_meta(
        self, model: ChainModel, request: TrainRequest, spec: FormatSpec, columns: Mapping[str, int]
    ) -> ChainModel:
        """The model with how its data was read, and which named templates it has."""
        templates, resume = request.templates, request.resume
        own = {"features": None if templates is None or self.template is not None else templates.name, **columns}
        before = own if resume is None else {name: kept for name, kept in resume.meta.items() if name in KEPT}
        model.meta |= {"reading": spec.stored()} | before
        return model


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
    made: Cluster = loaded("connect.ray_cluster:RayCluster")(make, arguments, address)
    return made
