"""From a treebank to a pipeline: what is trained on what, and in which order.

The splitter learns from the text, the tags from the words, the lemmas from words and tags. The parser learns from trees
whose other columns are jackknifed: predicted by models that have not seen the sentence, as in use.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from functools import partial
from itertools import islice
from typing import Any, NamedTuple, Protocol

import numpy as np

from palmette.data.corpus import column_of_strings
from palmette.data.subset import dealt
from palmette.data.text import NFC
from palmette.data.treebank import FIELDS, NOTHING, Treebank, tokens_of
from palmette.errors import DataError
from palmette.pipeline.chains import accuracy
from palmette.pipeline.conll18 import evaluate_pipeline
from palmette.pipeline.model import (
    FIELDS_OF,
    METRICS,
    TASK,
    PipelineMeta,
    PipelineModel,
    StoredComponent,
    TrainedOn,
    component_class,
    in_order,
    words_only,
)
from palmette.pipeline.options import COMPONENTS, PipelineOptions
from palmette.pipeline.trees import Trees
from palmette.structures.training_log import Epoch
from palmette.training.clusters import clusters_of
from palmette.training.interrupt import Interrupt, interruptible
from palmette.training.result import Progress

# Jackknifing: parts of a treebank, each annotated by components that have not seen it.

logger = logging.getLogger(__name__)


class Fold(NamedTuple):
    """Some sentences of a treebank with predicted columns."""

    sentences: np.ndarray  # i64[], their numbers
    words: Treebank


def folds_of(treebank: Treebank, most: int, seed: int) -> np.ndarray:
    """The fold i64[S] of each sentence; all are in one if there are too few to divide."""
    n = min(most, treebank.n_sentences)
    return dealt(treebank.n_sentences, n, seed) if n > 1 else np.zeros(treebank.n_sentences, np.int64)


def annotated_fold(
    treebank: Treebank, fold: np.ndarray, k: int, components: Sequence[Callable[[], Any]], progress: Progress | None
) -> Fold:
    """Fold k annotated by components that are trained on the other folds, one after the other."""
    own, rest = np.flatnonzero(fold == k), treebank.take(np.flatnonzero(fold != k))
    words = words_only(treebank.take(own))
    for new in components:
        words = new().fit(rest, progress=progress).apply(words)
    return Fold(own, words)


def joined_folds(treebank: Treebank, folds: Iterable[Fold]) -> Treebank:
    """The treebank with the predicted columns of all its folds; trees as they were."""
    cells = [np.empty(treebank.n_tokens, object) for _ in FIELDS]
    for sentences, words in folds:
        tokens = tokens_of(treebank.offset, sentences)
        for column, found in zip(cells, words.corpus.columns, strict=True):
            column[tokens] = found.cells()
    for field, column in zip(FIELDS[1:], cells[1:], strict=True):
        made = column_of_strings(column.tolist())
        if made.types != [NOTHING]:
            right = 100 * accuracy(made, treebank.column(field))
            logger.info("jackknife: %s: %.2f%% as in the treebank", field.upper(), right)
        treebank = treebank.with_column(field, made)
    return treebank


# Steps of a training that run side by side: each begins when those that it needs have ended.
#
# All steps run in worker threads, also if there is only one. The main thread waits for Ctrl-C, which stops the running
# steps at the next point of their progress; what has ended by then is kept. If a step fails, those that need it do not
# begin, and the others continue.

LOOK = 0.1  # seconds between looks at the signals


class StageReport(Protocol):
    """Gets the progress of the steps; called from several threads."""

    def begins(self, stage: str) -> None: ...

    def progress(self, stage: str, number: int, done: int, total: int, finished: Epoch | None) -> None: ...

    def ends(self, stage: str, seconds: float, note: str) -> None: ...


class Stage(NamedTuple):
    """A step of a training."""

    name: str
    work: Callable[[Mapping[str, Any], Progress], Any]  # from the results so far to that of this step
    needs: tuple[str, ...] = ()
    note: Callable[[Any], str] = lambda result: ""  # what is reported about the result


class StageResults(NamedTuple):
    """What came of the steps that have ended."""

    results: dict[str, Any]
    seconds: dict[str, float]
    signal: int  # that has interrupted the training; 0: none
    errors: dict[str, Exception]  # of the steps that failed, in the order in which they did


class StagesStopped(Exception):
    """Raised inside a step that is asked to stop."""


class _StageRun:
    """The state that the threads share."""

    def __init__(self, report: StageReport | None) -> None:
        self.stop = threading.Event()
        self.report = report
        self.results: dict[str, Any] = {}
        self.seconds: dict[str, float] = {}
        self.errors: dict[str, Exception] = {}

    def do(self, stage: Stage) -> None:
        """Do one step, in a worker thread."""

        def progress(number: int, done: int, total: int, finished: Epoch | None) -> None:
            if self.stop.is_set():
                raise StagesStopped
            if self.report is not None:
                self.report.progress(stage.name, number, done, total, finished)

        if self.stop.is_set():
            return
        begun = time.perf_counter()
        if self.report is not None:
            self.report.begins(stage.name)
        try:
            found = stage.work(self.results, progress)
        except StagesStopped:
            return
        except Exception as error:
            self.errors[stage.name] = error
            if self.report is not None:
                self.report.ends(stage.name, time.perf_counter() - begun, f"failed: {error}")
            return
        self.seconds[stage.name] = time.perf_counter() - begun
        self.results[stage.name] = found
        if self.report is not None:
            self.report.ends(stage.name, self.seconds[stage.name], stage.note(found))


def run_stages(stages: Sequence[Stage], *, threads: int, report: StageReport | None = None) -> StageResults:
    """Run the steps on some threads, those that come first in the list first."""
    run = _StageRun(report)
    with interruptible() as interrupt, ThreadPoolExecutor(threads) as pool:
        try:
            _drive(list(stages), run, pool, interrupt)
        finally:
            run.stop.set()
    return StageResults(run.results, run.seconds, interrupt.signal, run.errors)


def _drive(waiting: list[Stage], run: _StageRun, pool: ThreadPoolExecutor, interrupt: Interrupt) -> None:
    pending: set[Future[None]] = set()
    while True:
        if interrupt:
            run.stop.set()
            waiting.clear()
        for stage in [stage for stage in waiting if all(name in run.results for name in stage.needs)]:
            waiting.remove(stage)
            pending.add(pool.submit(run.do, stage))
        if not pending:
            return
        ended, pending = wait(pending, timeout=LOOK, return_when=FIRST_COMPLETED)
        for future in ended:
            future.result()  # raises what is not an error of a step


SCORES = "dev scores"
ENTITIES = "entities"
SHARES = {
    "tok": 0.1,
    "tag": 0.2,
    "lemma": 0.1,
    "parse": 0.5,
}  # of the points that may be lost; lost tags cost the parser, too


class PipelineOutcome(NamedTuple):
    """What is reported about a training, and not stored."""

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
    entities: Treebank | None = None,
    entities_dev: Treebank | None = None,
    threads: int = 2,
    report: StageReport | None = None,
) -> tuple[PipelineModel, PipelineOutcome]:
    """Train the components that the options name. If it is interrupted or a step fails, the pipeline has those that are
    finished; if there is none, the error of the first step that failed, or KeyboardInterrupt."""
    if not treebank.n_tokens:
        raise DataError("the training data has no sentences", file=treebank.corpus.source)
    if dev is not None and not dev.n_tokens:
        raise DataError("the development data has no sentences", file=dev.corpus.source)
    own = [one for one in (treebank if treebank.entities is not None else None, entities) if one is not None]
    names = _trainable(treebank, in_order(options.components), bool(own))
    if entities_dev is None and dev is not None and dev.entities is not None:
        entities_dev = dev
    plan = _Plan(treebank, dev, options, names, threads, own, entities_dev)
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
    for name in ("lexicons", "clusters"):  # their names: where the files were does not matter
        values[name] = sorted(values[name] or ())
    values["raw"] = bool(values["raw"])
    return {name: list(value) if isinstance(value, tuple) else value for name, value in values.items()}


def _trainable(treebank: Treebank, names: tuple[str, ...], entities: bool) -> tuple[str, ...]:
    """The components that there is something to learn for; others are reported. Few treebanks have entities, which are
    left out silently unless components were chosen."""
    if names == COMPONENTS and not entities:
        names = tuple(name for name in names if name != ENTITIES)
    empty = {
        "tag": all(treebank.column(field).types == [NOTHING] for field in FIELDS_OF["tag"]),
        "lemma": treebank.column("lemma").types == [NOTHING],
        ENTITIES: not entities,
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
        self, treebank: Treebank, dev: Treebank | None, options: PipelineOptions, names: tuple[str, ...], threads: int,
        entities: Sequence[Treebank], entities_dev: Treebank | None,
    ) -> None:  # fmt: skip
        self.entities, self.entities_dev = entities, entities_dev
        self.treebank, self.dev, self.options, self.names, self.threads = treebank, dev, options, names, threads
        self.before = tuple(name for name in ("tag", "lemma") if name in names)  # what the parser reads
        self.fold_of = folds_of(treebank, options.folds, options.seed)
        self.clusters = clusters_of(options.clusters, options.raw, NFC, threads)

    def stages(self) -> list[Stage]:
        """Those that others wait for come first."""
        n = int(self.fold_of.max()) + 1 if self.jackknifed else 0
        folds = tuple(f"fold {k + 1} of {n}" for k in range(n))
        made = [Stage(name, self.fold(k)) for k, name in enumerate(folds)]
        made += [Stage(name, self.work(name)) for name in self.names if name not in ("parse", ENTITIES)]
        if "parse" in self.names:
            needs = (*folds, *(self.before if self.dev is not None else ()))
            made.append(Stage("parse", self.parse(folds), needs))
        if ENTITIES in self.names:
            needs = (*folds, *(name for name in self.before if name == "tag"))
            made.append(Stage(ENTITIES, self.find_entities(folds), needs))
        if self.dev is not None or (ENTITIES in self.names and self.entities_dev is not None):
            made.append(Stage(SCORES, self.scores, self.names))
        return made

    @property
    def jackknifed(self) -> bool:
        """Whether the parser learns from predicted columns."""
        wanted = self.options.jackknife and "parse" in self.names and self.before
        return bool(wanted and self.fold_of.any())

    def new(self, name: str) -> Any:
        """A component that is not trained yet."""
        reading = {"clusters": self.clusters} if name == "tag" else {}
        return component_class(name)(passes=self.options.passes, seed=self.options.seed, **reading)

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
            first = dict(islice(self.clusters.items(), 1))  # a parser reads one
            made = Trees(beam=self.options.beam, passes=self.options.passes, seed=self.options.seed, clusters=first)
            made.fit(self.visible(train), dev, progress=progress, threads=self.threads)
            if not self.options.full:
                made.compact(dev, SHARES["parse"] * self.options.most_loss, threads=self.threads)
            return made

        return work

    def find_entities(self, folds: Sequence[str]) -> Any:
        """A step that trains the entities on predicted UPOS: those of the treebank are jackknifed."""

        def work(results: Mapping[str, Any], progress: Progress) -> Any:
            from palmette.pipeline.entities import Entities, joined

            parts = []
            for data in self.entities:
                if data is self.treebank and folds:
                    parts.append(joined_folds(data, (results[name] for name in folds)))
                else:
                    parts.append(_tagged(data, results))
            made = Entities(
                passes=self.options.passes, seed=self.options.seed, lexicons=self.options.lexicons,
                clusters=self.clusters,
            )  # fmt: skip
            made.fit(joined(parts), progress=progress)
            dev = None if self.entities_dev is None else _tagged(self.entities_dev, results)
            if not self.options.full:
                made.compact(dev, self.options.most_loss)
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
        found = self.treebank_scores(results) if self.dev is not None else {}
        if ENTITIES in self.names and self.entities_dev is not None:
            share = results[ENTITIES].f1(_tagged(self.entities_dev, results))
            found |= dict.fromkeys(METRICS[ENTITIES], round(100 * share, 2))
        return found

    def treebank_scores(self, results: Mapping[str, Any]) -> dict[str, float]:
        """The figures of what a treebank has, on the development treebank."""
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


def _tagged(treebank: Treebank, results: Mapping[str, Any]) -> Treebank:
    """The words and entities with the UPOS that the pipeline finds, if it tags."""
    words = words_only(treebank)
    found = results["tag"].apply(words) if "tag" in results else words
    tagged: Treebank = found.with_entities(treebank.entities)
    return tagged
