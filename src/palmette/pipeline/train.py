"""From a treebank to a pipeline: what is trained on what, and in which order.

The splitter learns from the text, the tags from the words, the lemmas from words and tags. The parser learns from trees
whose other columns are jackknifed: predicted by models that have not seen the sentence, as in use.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple

from palmette.data.treebank import FIELDS, NOTHING, Treebank
from palmette.errors import DataError
from palmette.pipeline.components import METRICS, component_class, in_order
from palmette.pipeline.evaluate import evaluate_pipeline
from palmette.pipeline.file import TASK, PipelineMeta, StoredComponent, TrainedOn
from palmette.pipeline.folds import Fold, annotated_fold, folds_of, joined_folds
from palmette.pipeline.model import FIELDS_OF, PipelineModel, words_only
from palmette.pipeline.options import PipelineOptions
from palmette.pipeline.stages import Stage, StageReport, run_stages
from palmette.pipeline.trees import Trees
from palmette.training.result import Progress

logger = logging.getLogger(__name__)

SCORES = "dev scores"
SHARES = {"tok": 0.1, "tag": 0.2, "parse": 0.5}  # of the points that may be lost; lost tags cost the parser, too


class PipelineOutcome(NamedTuple):
    """What is told about a training, and not stored."""

    seconds: dict[str, float]  # by step
    signal: int  # that has interrupted it; 0: none
    errors: dict[str, Exception]  # of steps that failed
    scores: dict[str, float]  # on development data, in percent

    @property
    def interrupted(self) -> bool:
        return self.signal != 0


def train_pipeline(
    treebank: Treebank,
    dev: Treebank | None,
    options: PipelineOptions,
    *,
    threads: int = 2,
    report: StageReport | None = None,
) -> tuple[PipelineModel, PipelineOutcome]:
    """Train the components that the options name. If it is interrupted or a step fails, the pipeline has those that are
    finished; if there is none, the error of the first step that failed, or KeyboardInterrupt."""
    if not treebank.n_tokens:
        raise DataError("the training data has no sentences", file=treebank.corpus.source)
    if dev is not None and not dev.n_tokens:
        raise DataError("the development data has no sentences", file=dev.corpus.source)
    names = _trainable(treebank, in_order(options.components))
    plan = _Plan(treebank, dev, options, names, threads)
    found = run_stages(plan.stages(), threads=threads, report=report)
    finished = {name: found.results[name] for name in names if name in found.results}
    if not finished:
        raise next(iter(found.errors.values()), KeyboardInterrupt())
    scores = found.results.get(SCORES, {})
    about = {
        name: StoredComponent({}, {metric: scores[metric] for metric in METRICS[name] if metric in scores})
        for name in finished
    }
    sizes = TrainedOn(
        treebank.n_sentences, treebank.n_tokens, dev.n_sentences if dev else 0, dev.n_tokens if dev else 0
    )
    meta = PipelineMeta(task=TASK, components=about, settings=_settings(options), trained_on=sizes)
    return PipelineModel(finished, meta), PipelineOutcome(found.seconds, found.signal, found.errors, scores)


def _settings(options: PipelineOptions) -> dict[str, Any]:
    values = {name: getattr(options, name) for name in PipelineOptions.__options__}
    return {name: list(value) if isinstance(value, tuple) else value for name, value in values.items()}


def _trainable(treebank: Treebank, names: tuple[str, ...]) -> tuple[str, ...]:
    """The components that the treebank has something to learn for; others are reported."""
    empty = {
        "tag": all(treebank.column(field).types == [NOTHING] for field in FIELDS_OF["tag"]),
        "lemma": treebank.column("lemma").types == [NOTHING],
    }
    for name in names:
        if empty.get(name):
            logger.warning("%s: there is nothing to learn for %s, which is left out", treebank.corpus.source, name)
    found = tuple(name for name in names if not empty.get(name))
    if not found:
        raise DataError(f"there is nothing to learn for {', '.join(names)}", file=treebank.corpus.source)
    return found


class _Plan:
    """The steps of one training."""

    def __init__(
        self, treebank: Treebank, dev: Treebank | None, options: PipelineOptions, names: tuple[str, ...], threads: int
    ) -> None:
        self.treebank, self.dev, self.options, self.names, self.threads = treebank, dev, options, names, threads
        self.before = tuple(name for name in ("tag", "lemma") if name in names)  # what the parser reads
        self.fold_of = folds_of(treebank, options.folds, options.seed)

    def stages(self) -> list[Stage]:
        """Those that others wait for come first."""
        n = int(self.fold_of.max()) + 1 if self.jackknifed else 0
        folds = tuple(f"fold {k + 1} of {n}" for k in range(n))
        made = [Stage(name, self.fold(k)) for k, name in enumerate(folds)]
        made += [Stage(name, self.work(name)) for name in self.names if name != "parse"]
        if "parse" in self.names:
            needs = (*folds, *(self.before if self.dev is not None else ()))
            made.append(Stage("parse", self.parse(folds), needs))
        if self.dev is not None:
            made.append(Stage(SCORES, self.scores, self.names))
        return made

    @property
    def jackknifed(self) -> bool:
        """Whether the parser learns from predicted columns."""
        wanted = self.options.jackknife and "parse" in self.names and self.before
        return bool(wanted and self.fold_of.any())

    def new(self, name: str) -> Any:
        """A component that is not trained yet."""
        return component_class(name)(passes=self.options.passes, seed=self.options.seed)

    def work(self, name: str) -> Any:
        """A step that trains a component."""

        def fit(results: Mapping[str, Any], progress: Progress) -> Any:
            made = self.new(name).fit(self.treebank, self.dev, progress=progress)
            if name in SHARES and not self.options.full:
                made.compact(self.dev, SHARES[name] * self.options.most_loss)
            return made

        return fit

    def fold(self, k: int) -> Any:
        """A step that annotates fold k."""

        def work(results: Mapping[str, Any], progress: Progress) -> Fold:
            makers = [partial(self.new, name) for name in self.before]
            return annotated_fold(self.treebank, self.fold_of, k, makers, progress)

        return work

    def parse(self, folds: Sequence[str]) -> Any:
        """A step that trains the parser on what it will read: predicted columns, and nothing where nothing is."""

        def work(results: Mapping[str, Any], progress: Progress) -> Any:
            train, dev = self.treebank, self.dev
            if folds:
                train = joined_folds(train, (results[name] for name in folds))
            if dev is not None and self.before:
                words = words_only(dev)
                for name in self.before:
                    words = results[name].apply(words)
                dev = words.with_trees(dev.heads, dev.relations)
            made = Trees(beam=self.options.beam, passes=self.options.passes, seed=self.options.seed)
            made.fit(self.visible(train), dev, progress=progress, threads=self.threads)
            if not self.options.full:
                made.compact(dev, SHARES["parse"] * self.options.most_loss, threads=self.threads)
            return made

        return work

    def visible(self, treebank: Treebank) -> Treebank:
        """The treebank without columns that the pipeline will not have; all of them if it has none itself."""
        if not self.before:
            return treebank
        kept = {field for name in self.before for field in FIELDS_OF[name]}
        return treebank.without(field for field in FIELDS[1:] if field not in kept)

    def scores(self, results: Mapping[str, Any], progress: Progress) -> dict[str, float]:
        """The figures of METRICS on development data."""
        assert self.dev is not None
        about = {name: StoredComponent({}) for name in self.names}
        model = PipelineModel({name: results[name] for name in self.names}, PipelineMeta(task=TASK, components=about))
        found: dict[str, float] = {}
        for source, names in (("text", ("tok",)), ("gold-tokens", ("tag", "lemma", "parse"))):
            wanted = [metric for name in names if name in self.names for metric in METRICS[name]]
            if wanted:
                part = model if source == "gold-tokens" else model.only(["tok"])
                made = evaluate_pipeline(part, self.dev, source)
                shares = {metric: made[metric].f1 for metric in wanted if metric in made.metrics}
                found |= {metric: round(100 * share, 2) for metric, share in shares.items() if share is not None}
        return found
