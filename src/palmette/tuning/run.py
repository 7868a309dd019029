"""`tune`: which options of a tagger are best for given data, by successive halving on development data.

found = tuning.tune(X, y, tagger=Tagger("ner"), space={"learner": ["crf", "mira"], "l2": "0.1..10"}, trials=20)
tagger = Tagger(**found.best_params).fit(X, y)
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import msgspec

from palmette.data.corpus import Corpus
from palmette.data.files import FilePath
from palmette.data.formats.registry import read_corpus
from palmette.data.formats.spec import FormatSpec
from palmette.data.items import corpus_from_items
from palmette.data.labels.schemes import are_chunk_labels
from palmette.data.subset import split
from palmette.display import html_by, printed_by
from palmette.errors import PalmetteError, UsageError
from palmette.estimators.tagger import Tagger
from palmette.lazy import loaded
from palmette.structures.training_log import Epoch
from palmette.training.chain.dev import check_labelled
from palmette.tuning.options import TuningOptions
from palmette.tuning.search import Record, TuningSearch, Watcher, best_of, context_of, rank
from palmette.tuning.space import TEMPLATES, Settings, Space, default_space
from palmette.tuning.trial import Material, Trial, TrialTask, TrialThreads

HELD_OUT = 0.1  # share of the sentences that is held out if there is no other development data


class TuneResult(msgspec.Struct, frozen=True):
    """What a search has found."""

    metric: str  # f1 or accuracy
    trials: list[Trial]  # every training: those on all sentences first, by score
    best: Trial
    best_params: dict[str, Any]  # of a `Tagger`
    settings: Settings  # the same by flat name, without what was given: the flags of the best trial
    left_out: list[str]  # given options, by flat name, that mean nothing with the best settings
    interrupted: bool  # by Ctrl-C
    seconds: float

    @property
    def given(self) -> Trial | None:
        """The tagger as it was given, without any settings; None if it was not trained."""
        return next((trial for trial in self.trials if trial.number == 0), None)

    @property
    def table(self) -> list[dict[str, Any]]:
        """A row for each training, best first, such as `pandas.DataFrame` takes."""
        return [
            {
                "trial": trial.number, "score": trial.score, "share": trial.level.share, "passes": trial.passes,
                "best_pass": trial.best_pass, "seconds": trial.seconds, **trial.settings,
            }
            for trial in self.trials
        ]  # fmt: skip

    def tagger(self) -> Tagger:
        """A new tagger with the best parameters, not trained yet."""
        return Tagger(**self.best_params)

    __str__ = printed_by("tuning.report:print_tuning")
    _repr_html_ = html_by("tuning.report:print_tuning")


class _Silent:
    """Report nothing."""

    def begins(self, level: int, n_levels: int, tasks: Sequence[TrialTask]) -> None: ...
    def epoch(self, task: TrialTask, epoch: Epoch) -> None: ...
    def ended(self, trial: Trial, known: bool) -> None: ...


def tune(
    X: Iterable[Any],
    y: Iterable[Any],
    *,
    dev: tuple[Iterable[Any], Iterable[Any]] | None = None,
    tagger: Tagger | None = None,
    space: Mapping[str, Any] | None = None,
    watcher: Watcher | None = None,
    **options: Any,
) -> TuneResult:
    """Find good options of a tagger for sentences X with labels y.

    dev: a pair (X, y) to score on; without it a tenth of the sentences is held out, or the `dev_share` of the tagger.
    tagger: parameters that hold for all trials. space: values to try, by the names of flags with underscores
    (`learner`, `min_count`, `l2`, ...): a list, or a text such as "0.1..10"; without it what usually matters for such
    data. options: trials, minutes, halving, threads, ray, record, as of `palmette tune`. Ctrl-C ends the search with
    the best so far."""
    tagger = Tagger() if tagger is None else tagger
    named = any(name in TEMPLATES for name in space or ()) or any(getattr(tagger, name) for name in TEMPLATES)
    mode = "columns" if named else "auto"
    corpus = corpus_from_items(X, y, mode=mode).corpus
    held_out = None
    if dev is not None:
        if len(dev) != 2:
            raise UsageError("dev is a pair of sentences and their labels: dev=(X, y)")
        held_out = corpus_from_items(*dev, mode=mode, widths=corpus.vectors).corpus
    return tune_corpus(corpus, held_out, tagger, space, _checked(options), watcher)


def tune_file(
    path: FilePath,
    dev: FilePath | None = None,
    *,
    spec: FormatSpec | None = None,
    tagger: Tagger | None = None,
    space: Mapping[str, Any] | None = None,
    watcher: Watcher | None = None,
    **options: Any,
) -> TuneResult:
    """Find good options of a tagger for a labelled file; see `tune`."""
    made, spec = _checked(options), spec or FormatSpec()
    corpus = read_corpus(path, spec.resolved(path))
    held_out = None if dev is None else read_corpus(dev, spec)
    return tune_corpus(corpus, held_out, Tagger() if tagger is None else tagger, space, made, watcher)


def tune_corpus(
    corpus: Corpus,
    dev: Corpus | None,
    tagger: Tagger,
    space: Mapping[str, Any] | None,
    options: TuningOptions,
    watcher: Watcher | None = None,
) -> TuneResult:
    """Find good options of a tagger for a labelled corpus; see `tune`."""
    begun = time.perf_counter()
    tagger._settings()
    check_labelled(corpus, "training")
    base, shared = _held_out_share(tagger, dev)
    if shared:
        assert base.dev_share is not None
        corpus, dev = split(corpus, base.dev_share, base.seed)
    assert dev is not None
    check_labelled(dev, "development")
    tries = default_space(corpus, base) if space is None else space
    material = Material(corpus, dev, Space(tries, base.set_params(dev_share=None)))
    record = Record(options.record, context_of(material))
    with _workers(material, options) as workers:
        search = TuningSearch(workers, record, watcher or _Silent(), options)
        search.run(material.space, tagger.seed, corpus.n_sentences)
    best = best_of(search.trials)
    if best is None:
        raise _nothing(search)
    params = _changed(Tagger(**material.space.params(best.settings)))
    if shared:
        params["dev_share"] = HELD_OUT if tagger.dev_share is None else tagger.dev_share
    trials = sorted(search.trials, key=lambda trial: (not trial.in_full, -trial.level.share, *rank(trial)))
    return TuneResult(
        _metric(tagger, corpus), trials, best, params, best.settings,
        material.space.left_out(best.settings), search.interrupted, time.perf_counter() - begun,
    )  # fmt: skip


def _checked(options: Mapping[str, Any]) -> TuningOptions:
    made = TuningOptions(**options)
    made._check_values()
    return made


def _held_out_share(tagger: Tagger, dev: Corpus | None) -> tuple[Tagger, bool]:
    """A tagger with the same parameters, and whether its share of the sentences is held out to score on."""
    made = Tagger(**tagger.get_params(deep=False))
    if dev is not None:
        if tagger.dev_share:
            raise UsageError("give development data or a share of the sentences to hold out, not both")
        return made, False
    if tagger.dev_share == 0:
        raise UsageError("a search needs development data: a share of 0 leaves none")
    return made.set_params(dev_share=tagger.dev_share or HELD_OUT), True


def _workers(material: Material, options: TuningOptions) -> Any:
    if options.ray is None:
        return TrialThreads(material, options.threads)
    return loaded("connect.ray_cluster:RayWorkers")(material, options.ray, options.threads)


def _metric(tagger: Tagger, corpus: Corpus) -> str:
    assert corpus.labels is not None
    if tagger.metric != "auto":
        return str(tagger.metric)
    bare = tagger.constraints == "bare"
    return "f1" if are_chunk_labels(corpus.labels.types, "bare" if bare else None) else "accuracy"


def _changed(tagger: Tagger) -> dict[str, Any]:
    return tagger._changed()


def _nothing(search: TuningSearch) -> PalmetteError | KeyboardInterrupt:
    """Why there is no result."""
    if search.interrupted:
        return KeyboardInterrupt()
    failed = next((trial for trial in search.trials if trial.error), None)
    if failed is not None:
        return UsageError(f"no training was possible: {failed.error}")
    return UsageError("the time was too short for a single training in full: give more minutes, or a smaller space")
