"""Learners side by side: each trained with several seeds on the same data, and their means compared on the same gold.

The seeds of two learners are paired. A test over single runs would only tell about two models; here the scores of all
runs are averaged, and a sentence is exchanged in all pairs of runs at once (see `significance.randomisation`).
"""

from __future__ import annotations

import logging
import re
import sys
import time
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol, cast

import msgspec
import numpy as np
from rich.console import Console
from rich.markup import escape

from palmette.cli.common import format_spec
from palmette.cli.compare import labelled
from palmette.cli.output import print_json
from palmette.data.corpus import Corpus
from palmette.data.formats.registry import read_corpus
from palmette.data.formats.spec import FormatSpec
from palmette.data.labels.schemes import are_chunk_labels, unseen_scheme
from palmette.data.subset import take
from palmette.display import html_by, printed_by
from palmette.errors import PalmetteError, UsageError, counted
from palmette.estimators.tagger import Tagger
from palmette.evaluation import significance as test
from palmette.evaluation.rivals import CompareOptions, Pair, paired
from palmette.evaluation.significance import Runs, Tally
from palmette.evaluation.spans import ChunkTables
from palmette.options.chain import TaggerOptions
from palmette.options.declare import OptionError
from palmette.options.learners import ITERATIONS, Learner
from palmette.options.spelling import assemble, flat_options, full_names
from palmette.reports.comparison import difference_cells, rounds_legend
from palmette.reports.progress import Meter
from palmette.reports.tables import OutputConsole, plain_table
from palmette.structures.chain.gold import certain, gold_and_guess
from palmette.structures.training_log import unit_of
from palmette.training.result import CUT_SHORT, MORE, Progress

if TYPE_CHECKING:
    from palmette.cli.compare import Compare
    from palmette.structures.training_log import Epoch

# A name for a learner with one setting, whose value may follow a colon: (learner, setting, default).
SHORT = {"latent": ("perceptron", "latent", 2)}
_OPTION = re.compile(r"[A-Za-z_][\w-]*=")
_SHARED = {
    "seed": "--seeds sets the seeds of all learners",
    "learner": "NAME is the learner",
    "dev_share": "--dev-share is for all learners",
}
_FORM = "write NAME or NAME:key=value,key=value, such as perceptron:estimator=last"


class LearnerSpec(NamedTuple):
    """A learner as it was typed, and the options that it means, by flat name (see options/spelling.py)."""

    name: str
    params: dict[str, Any]

    def unused(self) -> tuple[str, ...]:
        """Options for all learners that this one does not have."""
        alone = Tagger(**assemble(Tagger, self.params))
        learner = cast(Learner, Tagger.__options__["learner"].variant(alone.learner))
        return (*learner.unused, "passes") if learner.full_batch else learner.unused

    def tagger(self, common: Mapping[str, Any], seed: int) -> Tagger:
        """Its tagger; wrong options are reported here, before anything is trained."""
        unused = self.unused()
        shared = {name: value for name, value in common.items() if name not in unused}
        tagger = Tagger(**assemble(Tagger, self.params, shared)).set_params(seed=seed)
        tagger._settings()
        return tagger


def parse_learners(given: Sequence[str]) -> list[LearnerSpec]:
    """Learners written NAME[:key=value[,key=value...]], separated by commas (spaces around them are ignored) or spaces.

    A comma before `key=` goes on with the same learner, any other comma begins the next: no name of a learner has an
    equals sign. Each text of `given` may hold several learners.
    """
    texts: list[str] = []
    for word in re.sub(r"\s*,\s*", ",", " ".join(given)).split():
        for k, piece in enumerate(word.split(",")):
            if k and _OPTION.match(piece):
                texts[-1] += f"{',' if ':' in texts[-1] else ':'}{piece}"
            else:
                texts.append(piece)
    learners = [_learner(text) for text in texts]
    for k, learner in enumerate(learners):
        if learner.params in [other.params for other in learners[:k]]:
            raise UsageError(f"--learners: {learner.name} is there twice")
    return learners


def _learner(text: str) -> LearnerSpec:
    name, colon, rest = text.partition(":")
    if not name or "=" in name or (colon and not rest):
        raise UsageError(f"--learners {text!r}: {_FORM}")
    params: dict[str, Any] = {"learner": name}
    if name in SHORT:
        learner, setting, default = SHORT[name]
        params = {"learner": learner, setting: default}
    for item in rest.split(",") if rest else ():
        key, equals, value = item.partition("=")
        if not equals and name in SHORT:
            key, value = SHORT[name][1], item
        if not (key and value):
            raise UsageError(f"--learners {text}: {item!r} is not key=value; {_FORM}")
        key = key.replace("-", "_")
        if key in _SHARED:
            raise UsageError(f"--learners {text}: leave {key} out; {_SHARED[key]}")
        params[key] = _value(text, key, value)
    return LearnerSpec(text, params)


def _value(learner: str, key: str, text: str) -> Any:
    """The value of an option; + stands for the commas of A=1,B=2."""
    options = flat_options(Tagger).get(full_names(Tagger).get(key, key))
    if options is None:
        raise UsageError(f"--learners {learner}: there is no option {key!r}; see `palmette train --help`")
    if options[0].is_switch:
        if text.lower() not in ("true", "false"):
            raise UsageError(f"--learners {learner}: {key} is true or false, not {text}")
        return text.lower() == "true"
    return options[0].from_text(text.replace("+", ",") if "=" in text else text)


class LearnerRun(msgspec.Struct, frozen=True):
    """One training: its scores on gold, its time without reading and compiling, the pass that was kept."""

    seed: int
    accuracy: float
    f1: float | None
    seconds: float
    best_pass: int
    dev: float | None
    ended: str
    cut_short: bool  # by the limit of iterations, before it converged


class Spread(msgspec.Struct, frozen=True):
    """Mean and standard deviation (n - 1) over runs; of one run there is none."""

    mean: float
    sd: float | None


class LearnerRuns(msgspec.Struct, frozen=True):
    """A learner over its seeds."""

    name: str
    params: dict[str, Any]
    accuracy: Spread
    f1: Spread | None
    seconds: Spread
    runs: list[LearnerRun]
    remark: str  # why its scores may mislead; empty: they do not


class Ablation(msgspec.Struct, frozen=True):
    """All learners, and each against the first (or all pairs)."""

    tokens: int
    sentences: int
    rounds: int
    learners: list[LearnerRuns]
    pairs: list[Pair]

    def to_dict(self) -> dict[str, Any]:
        """Plain dicts, lists and numbers, ready for JSON."""
        return msgspec.to_builtins(self) | {"pairs": [pair.to_dict() for pair in self.pairs]}

    __str__ = printed_by("lab.ablation:print_ablation")
    _repr_html_ = html_by("lab.ablation:print_ablation")


class AblationData(NamedTuple):
    """What learners are trained and scored on."""

    train: Corpus
    dev: Corpus | None
    gold: Corpus
    threads: int | None = None  # of a training


class AblationProgress(Protocol):
    """Gets the progress of a comparison."""

    def begins(self, learner: LearnerSpec, seed: int) -> Progress | None:
        """A training begins; the returned function gets the progress of its passes."""

    def ended(self, learner: LearnerSpec, run: LearnerRun) -> None:
        """A training has ended."""

    def tell(self, message: str) -> None:
        """What is going on."""


def ablate(
    learners: Sequence[LearnerSpec],
    data: AblationData,
    common: Mapping[str, Any],
    seeds: Sequence[int],
    wish: CompareOptions,
    watcher: AblationProgress,
) -> Ablation:
    """Train each learner with each seed, score all on gold, and compare the means over the seeds."""
    metrics: dict[str, Runs | None] = {"accuracy": None, "f1": None}
    trained = []
    for learner in learners:
        watcher.tell(f"{learner.name}: compiling")
        _compile(learner, data, common)
        made = [_train(learner, data, common, seed, watcher) for seed in seeds]
        for metric in made[0][1]:
            metrics[metric] = [*(metrics[metric] or []), [tallies[metric] for _, tallies in made]]
        trained.append(_trained(learner, [run for run, _ in made]))
    pairs, _ = paired([learner.name for learner in learners], metrics, wish, watcher.tell)
    return Ablation(data.gold.n_tokens, data.gold.n_sentences, wish.rounds, trained, pairs)


def _compile(learner: LearnerSpec, data: AblationData, common: Mapping[str, Any]) -> None:
    """Compile on two sentences, so that the seconds shown are those of learning. They may be too few for some setting;
    what is truly wrong shows in the training itself."""
    few = take(data.train, np.arange(min(2, data.train.n_sentences)))
    try:
        tagger = _shortest(learner.tagger(common, 1)).set_params(dev_share=None)
        gold_and_guess(tagger.fit_corpus(few, None if data.dev is None else few).model_, few)
    except PalmetteError:
        return


def _shortest(tagger: Tagger) -> Tagger:
    """The tagger with one pass or iteration."""
    full_batch = tagger._settings().chosen_learner.full_batch
    return tagger.set_params(**{"learner__iterations" if full_batch else "passes": 1})


def _train(
    learner: LearnerSpec, data: AblationData, common: Mapping[str, Any], seed: int, watcher: AblationProgress
) -> tuple[LearnerRun, dict[str, Tally]]:
    tagger = learner.tagger(common, seed)
    progress = watcher.begins(learner, seed)
    begun = time.perf_counter()
    tagger.fit_corpus(data.train, data.dev, names=False, threads=data.threads, progress=progress)
    seconds = time.perf_counter() - begun
    outcome = tagger.outcome_
    if outcome.interrupted:
        raise KeyboardInterrupt
    gold, guess, labels = gold_and_guess(tagger.model_, data.gold)
    offset, known = data.gold.offset, certain(data.gold)
    tallies = {"accuracy": test.token_tally(gold, guess, offset, known)}
    scheme = unseen_scheme(tagger.model_.scheme)
    if are_chunk_labels(labels, scheme):
        tallies["f1"] = test.span_tally(gold, guess, offset, ChunkTables.of(labels, scheme), known)
    dev = None if outcome.kept is None else outcome.kept.dev
    f1 = tallies["f1"].value if "f1" in tallies else None
    run = LearnerRun(
        seed, tallies["accuracy"].value, f1, seconds, outcome.best_epoch, dev, outcome.ended, outcome.cut_short
    )
    watcher.ended(learner, run)
    return run, tallies


def _trained(learner: LearnerSpec, runs: list[LearnerRun]) -> LearnerRuns:
    spans = [run.f1 for run in runs if run.f1 is not None]
    return LearnerRuns(
        learner.name, learner.params, _spread([run.accuracy for run in runs]), _spread(spans) if spans else None,
        _spread([run.seconds for run in runs]), runs, _remark(learner, runs),
    )  # fmt: skip


def _remark(learner: LearnerSpec, runs: list[LearnerRun]) -> str:
    """That the limit of iterations has ended trainings, and what to compare instead."""
    short = [run for run in runs if run.cut_short]
    if not short:
        return ""
    more = MORE * learner.params.get("iterations", ITERATIONS)
    which = "" if len(short) == len(runs) else f" (with {counted(len(short), 'seed')} of {len(runs)})"
    return f"{short[0].ended}{which}; compare {learner.params['learner']}:iterations={more}, or a larger tolerance"


def _spread(values: Sequence[float]) -> Spread:
    return Spread(float(np.mean(values)), float(np.std(values, ddof=1)) if len(values) > 1 else None)


# `palmette compare --learners`: the learners, how far their trainings are, and the table, in a terminal and in
# notebooks.


def compare_learners(command: Compare, train: str) -> None:
    """Train the learners of a command, and compare them."""
    assert command.gold is not None
    learners = parse_learners(command.learners or [])
    if len(learners) < 2:
        raise UsageError("--learners: two or more, to be compared")
    common = command.params(TaggerOptions)
    for learner in learners:
        learner.tagger(common, 1)
    if "passes" in common and all("passes" in learner.unused() for learner in learners):
        raise OptionError("passes", "no learner has any; L-BFGS has iterations, as in --learners crf:iterations=50")
    spec = format_spec(command.params(FormatSpec))
    data = AblationData(
        labelled(read_corpus(train, spec), train),
        None if command.dev is None else labelled(read_corpus(command.dev, spec), command.dev),
        labelled(read_corpus(command.gold, spec), command.gold),
        command.threads,
    )
    meter = LearnerMeter(command.quiet)
    for handler in logging.getLogger("palmette").handlers:
        handler.addFilter(meter.shows)
    found = ablate(learners, data, common, range(1, (command.seeds or 3) + 1), command.options(), meter)
    meter.clear()
    note = use_of_dev(command.dev, common.get("dev_share"), command.gold)
    if command.json:
        about: dict[str, Any] = {"train": train, "dev": command.dev, "gold": command.gold, "use_of_dev": note}
        print_json(about | {"common": common} | found.to_dict())
    else:
        print_ablation(found, note)


class LearnerMeter(Meter):
    """Progress, and each training as it ends."""

    def __init__(self, quiet: bool) -> None:
        super().__init__(quiet)
        self.shown: set[str] = set()
        self.first_run = False

    def begins(self, learner: LearnerSpec, seed: int) -> Progress:
        self.first_run = seed == 1

        def show_epoch(number: int, done: int, total: int, finished: Epoch | None) -> None:
            unit = "pass" if finished is None else unit_of(finished.figures)
            self.tell(f"{learner.name}, seed {seed}: {unit} {number}, {100 * done // max(1, total)}%")

        return show_epoch

    def ended(self, learner: LearnerSpec, run: LearnerRun) -> None:
        self.first_run = False
        if not self.quiet:
            self.clear()
            spans = "" if run.f1 is None else f"F1 {100 * run.f1:.2f}, "
            text = f"{learner.name}, seed {run.seed}: {spans}accuracy {100 * run.accuracy:.2f}, {run.seconds:.2f} s"
            print(text, file=sys.stderr, flush=True)

    def shows(self, record: logging.LogRecord) -> bool:
        """A filter of log messages: those of a learner's first training, once; the other seeds would repeat them."""
        message = record.getMessage()
        if not self.first_run or message in self.shown or hasattr(record, CUT_SHORT):  # the table marks such learners
            return False
        self.shown.add(message)
        self.clear()
        return True


def use_of_dev(dev: str | None, share: float | None, gold: str) -> str:
    """What development data was used for, in a sentence."""
    kept = f"{gold} was used for scores only"
    if dev is None and share is None:
        return f"no development data: each training keeps its last pass; {kept}"
    source = dev or f"a share of {share:g} of the training sentences"
    return f"{source} selected the pass of each training (and the estimator if it is auto); {kept}"


def print_ablation(found: Ablation, note: str = "", console: Console | None = None) -> None:
    """One table: mean and standard deviation over seeds, time, and significance against the first learner."""
    console = console or OutputConsole(100)
    seeds = len(found.learners[0].runs)
    spans = found.learners[0].f1 is not None
    several = len(found.pairs) > 1
    console.print(
        f"{counted(found.sentences, 'sentence')}, {counted(found.tokens, 'token')}; "
        f"mean and standard deviation over {seeds} "
        f"seed{'s' if seeds > 1 else ''}"
    )
    main = "F1" if spans else "accuracy"
    heads = ["learner", *(["F1"] if spans else []), "accuracy", "seconds", f"{main} - first", "p"]
    table = plain_table([*heads, *(["p (Holm)"] if several else [])])
    for learner in found.learners:
        pair = next((pair for pair in found.pairs if pair.second == learner.name), None)
        tested: list[str] = []
        gain = None if pair is None else pair.differences["f1"] or pair.differences["accuracy"]
        if gain is not None:
            difference, _, *p_values = difference_cells(gain, several)
            tested = [difference, *p_values]
        cells = [_spread_text(one, 100) for one in (learner.f1, learner.accuracy) if one is not None]
        mark = " *" if learner.remark else ""
        table.add_row(escape(learner.name) + mark, *cells, _spread_text(learner.seconds, 1), *tested)
    console.print(table)
    for learner in found.learners:
        if learner.remark:
            console.print(f"* {learner.name}: {learner.remark}", markup=False)
    paired = "; seeds are paired, and a sentence is exchanged in all pairs at once" if seeds > 1 else ""
    console.print(f"{rounds_legend(found.rounds, found.pairs)}{paired}", style="dim", markup=False)
    console.print(note, style="dim", markup=False)


def _spread_text(found: Spread, scale: float) -> str:
    return f"{scale * found.mean:.2f}" + ("" if found.sd is None else f" ±{scale * found.sd:.2f}")
