"""Options of a chain model: its states, search, learner, features and training, and how they go together."""

from __future__ import annotations

import re
from collections.abc import Callable, Hashable, Mapping
from typing import Any, cast

from palmette.errors import counted
from palmette.options.clusters import CLUSTERS, RAW, named_file
from palmette.options.declare import OptionError, Value, option
from palmette.options.learners import (
    BEAM,
    CHAIN,
    MOST_LABELS_IN_PAIRS,
    PASSES_OF_MIRA,
    Auto,
    Crf,
    Dplvm,
    HiddenMarkov,
    Learner,
    Likelihood,
    MaxEnt,
    Mira,
    learners_of,
)
from palmette.options.search import CONTINUING, LIST_UPDATES, TAGGER_SEARCHES, Beam, Search
from palmette.options.spelling import argument, spelt
from palmette.options.training import (
    AVERAGES,
    MOST_COUNT,
    MOST_PASSES,
    PASSES,
    UNICODE,
    TrainingOptions,
    TrainingSettings,
    automatic_batch_size,
)

# The states of a chain model: one per label, several hidden ones per label, or states that remember earlier labels.

MOST_STATES = 64  # of one label
CUSTOM = "custom"  # the memory of a model whose function was given in Python
Step = Callable[[Any, str], Hashable]
_NAMED = re.compile(r"bigram|trigram|run:.+:[1-9][0-9]{0,8}")


class States(Value):
    """What the states of the trellis stand for."""

    parameter = "states"


class Plain(States):
    """One state per label."""

    kind = "plain"


def parse_latent(text: str) -> int | dict[str, int]:
    """`5`, or `B=2,I=5,O=3`: labels that are not named have one state."""
    try:
        if "=" not in text:
            return int(text)
        pairs = [item.strip().rpartition("=") for item in text.split(",")]
        if len({label for label, _, _ in pairs}) < len(pairs):
            raise OptionError("states", f"{text!r} names a label twice")
        return {label: int(count) for label, _, count in pairs}
    except ValueError as error:
        if isinstance(error, OptionError):
            raise
        message = f"{text!r}: write a number of states, or LABEL=NUMBER separated by commas"
        raise OptionError("states", message) from None


def _check_latent(given: Any) -> None:
    for count in given.values() if isinstance(given, Mapping) else (given,):
        if isinstance(count, bool) or not isinstance(count, int) or not 1 <= count <= MOST_STATES:
            raise OptionError("states", f"{count!r} is not a number of states from 1 to {MOST_STATES}")


class SeveralStates(States):
    """State spaces in which a label has several states."""

    tied_update: float = option(
        default=1.0, low=0.0, high=100.0,
        help="How much of an update all states of a label get besides the state on the path (0: the update as "
        "published, which takes longer to lower a label with many states).",
    )  # fmt: skip


class Latent(SeveralStates):
    """Hidden states behind the labels: the model learns what distinguishes them."""

    kind = "latent"
    states: int | dict = option(
        default=2, kw_only=False, flag="latent", selects=True, parse=parse_latent, check=_check_latent,
        metavar="N|LABEL=N,...",
        help="Hidden states behind every label, such as 3, or behind some: B-NP=2,I-NP=5 (the latent perceptron, or "
        "with the learner dplvm a latent CRF).",
    )  # fmt: skip
    init: str = option(
        default="bare", flag="latent-init",
        help="Which weights of a latent model start at random; the others start at zero.",
        choices={
            "bare": "those of states, pairs and triples alone",
            "all": "those of attributes too, as published (a row of weights for every attribute)",
        },
    )  # fmt: skip
    init_size: float = option(
        default=0.01, flag="latent-init-size", low=1e-9, high=100.0,
        help="Size of the random numbers that a latent model starts from.",
    )  # fmt: skip
    split_after: int = option(
        default=0, low=0, help="Train a plain model for so many passes first, then split its labels into states."
    )
    restarts: int = option(
        default=1, low=1, high=100,
        help="Train from so many random starts (seeds SEED, SEED+1, ...) and keep the best on the development data, "
        "for lbfgs without development data by the objective.",
    )  # fmt: skip

    @property
    def hidden(self) -> bool:
        """Whether any label has more than one state."""
        counts = self.states.values() if isinstance(self.states, dict) else (self.states,)
        return max(counts, default=1) > 1


def _check_memory(given: Any) -> None:
    if callable(given):
        return
    if not isinstance(given, str) or (given != CUSTOM and not _NAMED.fullmatch(given)):
        raise OptionError("memory", f"{given!r} is not bigram, trigram, run:LABEL:N or a function")


class LabelHistory(SeveralStates):
    """States that remember earlier labels; the labels determine the state, nothing is hidden."""

    kind = "label-history"

    def to_dict(self) -> dict[str, Any]:
        return super().to_dict() | ({"memory": CUSTOM} if callable(self.memory) else {})

    memory: str | Any = option(
        default="bigram", kw_only=False, flag="label-history", selects=True, check=_check_memory,
        metavar="bigram|trigram|run:LABEL:N",
        help="What states remember of earlier labels: bigram (the previous label), trigram (the previous two), run:O:3 "
        "(how many O in a row, 3 or more being one), or in Python a function (memory, label) -> memory.",
    )  # fmt: skip


TAGGER_STATES: dict[str, type[States]] = {states.kind: states for states in (Plain, Latent, LabelHistory)}


EVERY = (2, 4, 8)  # what `mavg_every="auto"` tries
ESTIMATORS = {
    "auto": "avg; a latent model with development data: the best of avg and mavg every 2, 4, 8 passes",
    **AVERAGES,
}
MIXINGS = {"uniform": "all shards alike", "updates": "by the number of their updates in the pass"}
MOST_SHARDS = 4096
COMBINATIONS = {"all": "every combination has a weight", "seen": "only combinations that occur in the training data"}


# By name, the choice among them included
TAGGER_LEARNERS: dict[str, type[Learner]] = {Auto.kind: Auto, **learners_of(CHAIN, BEAM)}
NAMED_FEATURES = ("pos", "chunk", "ner", "char", "ngrams")


class ChainOptions(TrainingOptions):
    """Options that a chain model is trained with and remembers."""

    unicode: str = UNICODE
    learner: Learner | str = option(
        default="auto", variants=TAGGER_LEARNERS,
        help=f"How weights are learnt (auto: 5-best mira in {PASSES_OF_MIRA} passes, or the perceptron where lists of "
        "paths do not serve).",
    )  # fmt: skip
    search: Search | str = option(
        default="viterbi", variants=TAGGER_SEARCHES, group="model", help="How label sequences are searched."
    )
    states: States | str = option(
        default="plain", variants=TAGGER_STATES, group="model", help="What the states of the model stand for."
    )
    passes: int | None = option(
        default=None, low=1, group="training",
        help=f"Passes over the data (default: {PASSES}, of the learner that auto chooses {PASSES_OF_MIRA}; with "
        f"--patience or --stop-window at most {MOST_PASSES}); crf, dplvm and maxent by lbfgs have --iterations. When "
        "resuming: further passes.",
    )  # fmt: skip
    estimator: str = option(
        default="auto", choices=ESTIMATORS, group="training", help="Which weights come out of the training."
    )
    mavg_every: int | str | None = option(
        default=None, low=1, choices=("auto",), metavar="K|auto", group="training",
        help="The k of mavg: a number of passes, or auto (2, 4 or 8, by the development data).",
    )  # fmt: skip
    shards: int = option(
        default=1, low=1, high=MOST_SHARDS, group="training",
        help="Learn from this many parts of the data at the same time, and mix their weights after each pass; part of "
        "the model, whatever the number of threads.",
    )  # fmt: skip
    mixing: str = option(
        default="uniform", choices=MIXINGS, group="training", help="How the weights of --shards are weighed."
    )
    partial: bool | None = option(
        default=None, group="data",
        help="Labels may be partly known: `?` is any label, `A|B` one of several (off: these are labels).",
    )  # fmt: skip
    metric: str = option(
        default="auto", choices=("auto", "f1", "accuracy"), group="training",
        help="Score on the development data: f1 of spans, accuracy of tokens, or auto (f1 if labels are spans).",
    )  # fmt: skip
    tune_bias: bool = option(
        default=False, group="training", help="Choose the bias of label O that gives the best F1 on development data."
    )
    min_count: int = option(default=1, low=1, group="features", help="Leave out attributes that occur less often.")
    max_attributes: int | None = option(
        default=None, low=1, group="features", help="Keep at most so many attributes per arity, the most frequent ones."
    )
    min_feature_count: int = option(
        default=1, low=1, high=MOST_COUNT, group="features",
        help="Leave out weights of an attribute on a label, label pair or triple that it occurs with less often in the "
        "training data; from 2 on only seen combinations have weights.",
    )  # fmt: skip
    edge_features: str = option(
        default="all",
        choices=COMBINATIONS,
        group="features",
        help="Weights of observations on label pairs and triples.",
    )
    state_features: str = option(
        default="all", choices=COMBINATIONS, group="features",
        help="Weights of observations on single labels.",
    )  # fmt: skip
    transition_features: str = option(
        default="all", choices={"all": "every label pair has a weight", "seen": "only pairs in the training data"},
        group="features", help="Weights of label pairs without observations (crf and perceptron).",
    )  # fmt: skip
    constraints: str = option(
        default="auto", group="model", metavar="auto|strict|none|SCHEME",
        help="Tag scheme that label sequences must follow: auto (found in the labels; rare ill-formed chunks are "
        "repaired), strict (found; an ill-formed chunk is an error), none, or its name (iob2, grobid, ...; bare: each "
        "run of equal labels is a span, and any label may follow any).",
    )  # fmt: skip


class TaggerOptions(ChainOptions):
    """All options of a `Tagger`."""

    features: str | None = option(
        default=None, kw_only=False, choices=NAMED_FEATURES, short="f", group="features",
        help="A named template set (default: chosen by the labels; `palmette features` shows them).",
    )  # fmt: skip
    template: str | Any = option(
        default=None,
        short="t",
        group="features",
        metavar="FILE",
        path="input",
        help="A CRF++ or Wapiti template file instead.",
    )
    order: int | None = option(
        default=None, low=0, high=2, group="features",
        help="Markov order of a named set or of ready-made attributes (default: 1; 2 if no learner is given and there "
        f"are at most {MOST_LABELS_IN_PAIRS} labels); a template file states its own.",
    )  # fmt: skip
    lexicons: dict | None = option(
        default=None, repeat=True, parse=named_file, metavar="NAME=FILE", group="features", path="input",
        help="Word lists for the atoms lexicon:NAME.",
    )  # fmt: skip
    clusters: dict | None = CLUSTERS
    raw: Any = RAW
    forbidden: Any = option(
        default=(), group="model", metavar="FILE", path="input",
        help="Label pairs that never follow each other, one pair per line; <s> and </s> are the ends of a sentence.",
    )  # fmt: skip
    ends: bool = option(default=True, group="model", help="Weights for the first and last label of a sentence.")
    helper: bool = option(
        default=False, group="model",
        help="Train a tagger of each column that the model reads besides words, and store it in the model: then words "
        "alone are enough to tag.",
    )  # fmt: skip
    dev_share: float | None = option(
        default=None, low=0.0, high=1.0, group="training",
        help="Hold out this share of the training sentences as development data, such as 0.1; 0: none (default: all "
        "sentences are learnt from; if no learner is given, confidences are calibrated by a model of a sample).",
    )  # fmt: skip
    out_of_core: bool | None = option(
        default=None, group="memory",
        help="Learn from data on disk that need not fit into memory, in blocks (default: if a file would take more "
        "than half of the memory that is free; off: never).",
    )  # fmt: skip
    scratch: str | None = option(
        default=None, group="memory", metavar="FOLDER", path="folder",
        help="Where data is kept on disk while a training out of core lasts (default: the system's folder of temporary "
        "files).",
    )  # fmt: skip


class ChainSettings(ChainOptions, TrainingSettings):
    """Checked options of one training, every variant as a value."""

    @property
    def chosen_learner(self) -> Learner:
        return cast(Learner, self.learner)

    @property
    def latent(self) -> Latent | None:
        """The hidden states, if a label has several."""
        return self.states if isinstance(self.states, Latent) and self.states.hidden else None

    @property
    def beam(self) -> Beam | None:
        """The beam with its defaults filled in, or None for exact search."""
        if not isinstance(self.search, Beam):
            return None
        update, recombine = self.search.update, self.search.recombine
        return self.search.replace(
            update="max-violation" if update is None else update, recombine=True if recombine is None else recombine
        )

    @property
    def tied_update(self) -> float:
        """The share of an update that all states of a label get."""
        return self.states.tied_update if isinstance(self.states, SeveralStates) else 0.0

    def only_seen(self, arity: int) -> bool:
        """Whether attributes have weights only for the label n-grams of this arity that they occur with in training."""
        which = self.state_features if arity == 1 else self.edge_features
        return which == "seen" or self.min_feature_count > 1

    def with_learner_for(self, n_labels: int, valued: bool) -> ChainSettings:
        """The settings with the learner that `auto` stands for with so many labels, and its number of passes; valued:
        attributes have values."""
        if not isinstance(self.learner, Auto):
            return self
        several = isinstance(self.states, SeveralStates)
        plain = self.beam is None and not several and self.transition_features == "all" and not valued
        chosen = self.replace(learner=self.learner.chosen(plain, n_labels))
        open_ended = self.passes is None and self.patience is None and self.stop_window is None
        return chosen.replace(passes=PASSES_OF_MIRA) if open_ended and isinstance(chosen.learner, Mira) else chosen

    def order_for(self, n_labels: int, valued: bool) -> int:
        """The order of a model with so many labels if the user leaves it open."""
        chosen = self.with_learner_for(n_labels, valued)
        automatic = isinstance(self.learner, Auto) and isinstance(chosen.learner, Mira)
        return 2 if automatic and n_labels <= MOST_LABELS_IN_PAIRS else 1

    @property
    def learns_one_by_one(self) -> bool:
        """Whether batches have one sentence: the search goes on after an update, or steps of a beam adapt to each
        weight."""
        beam = self.beam
        return beam is not None and (beam.update in CONTINUING or self.chosen_learner.adaptive)

    def with_batch_size_for(self, n_sentences: int) -> ChainSettings:
        """The settings with a size of batches for so many training sentences; left open if it is 1. Learners with
        margins are better one by one."""
        if self.batch_size is not None or self.chosen_learner.full_batch or self.learns_one_by_one:
            return self
        if self.shards > 1 or self.chosen_learner.most_batch is not None:  # threads of shards have work without batches
            return self
        return self.replace(batch_size=automatic_batch_size(n_sentences))

    def resolved(self) -> ChainSettings:
        """The settings with the defaults of the search and the penalty filled in, as a model stores them."""
        learner, beam = self.chosen_learner, self.beam
        changes: dict[str, Any] = {} if beam is None else {"search": beam}
        if isinstance(learner, Likelihood):
            changes["learner"] = learner.replace(l2=learner.penalty)
        return self.replace(**changes)

    def n_passes(self) -> int:
        """The number of passes, or of iterations, in effect; with `auto` that of the learner for most data."""
        if isinstance(self.learner, Auto):
            return self.with_learner_for(1, valued=False).n_passes()
        if self.passes is None and isinstance(self.learner, HiddenMarkov):
            return 1
        learner = self.chosen_learner
        return learner.iterations if isinstance(learner, Likelihood) and learner.full_batch else super().n_passes()

    def validate(self) -> None:
        self.check_stop_rule()
        _check_unused(self)
        _check_states(self)
        _check_beam(self)
        learner = self.chosen_learner
        if isinstance(learner, HiddenMarkov) and learner.rare < 1:
            raise OptionError(
                "rare", "0 is for `HMM`: a tagger meets new words, and needs classes for them", "rare-words"
            )
        if learner.from_forest:
            raise OptionError("candidates", "a forest is what parsers with merged states have; leave it out")
        if self.mavg_every is not None and self.estimator != "mavg":
            raise OptionError("mavg_every", "applies to the estimator mavg")
        _check_transitions(self)
        if self.mixing != "uniform" and self.shards == 1:
            raise OptionError("mixing", f"applies to shards, such as {spelt(ChainOptions, 'shards', 4)}")
        if learner.full_batch:
            _check_full_batch(self)
        if not isinstance(self.constraints, str):
            raise OptionError(
                "constraints", f"{self.constraints!r} is not auto, strict, none or the name of a tag scheme"
            )

    def estimators_to_try(self, has_dev: bool) -> list[tuple[str, int | None]]:
        """Estimators with the k of mavg; the best of several is chosen on development data."""
        mavg: list[tuple[str, int | None]] = [("mavg", k) for k in EVERY]
        if self.estimator == "auto" and self.chosen_learner.maximises_likelihood:
            return [("last", None)]
        if self.estimator == "auto":
            return [("avg", None), *mavg] if self.latent and has_dev else [("avg", None)]
        if self.estimator != "mavg":
            return [(self.estimator, None)]
        if isinstance(self.mavg_every, int):
            return [("mavg", self.mavg_every)]
        if has_dev:
            return mavg
        if self.mavg_every == "auto":
            raise OptionError("mavg_every", f"auto chooses on development data: give {development_data()}")
        return [("mavg", EVERY[1])]


def development_data() -> str:
    """How a tagger is given development data."""
    return f"{argument('dev')} or {spelt(TaggerOptions, 'dev_share', 0.1)}"


def _check_unused(settings: ChainSettings) -> None:
    """Options that have no effect with the learner must be left alone."""
    learner, changed = settings.chosen_learner, settings.changed()
    for name in learner.unused:
        if name in changed and not (name == "partial" and settings.partial is False):
            raise OptionError(name, f"has no effect with the learner {learner.kind}; leave it out")


def _check_full_batch(settings: ChainSettings) -> None:
    """An optimiser that looks at all data in each step has neither passes nor several results."""
    learner, n = settings.chosen_learner, settings.passes
    if n is not None:
        use = spelt(type(learner), "iterations", n)
        raise OptionError("passes", f"{learner.kind} by lbfgs has iterations, not passes: use {use}")
    if settings.estimator != "auto":
        raise OptionError("estimator", f"{learner.kind} by lbfgs has one result, its optimum")
    if settings.batch_size is not None:
        raise OptionError("batch_size", f"{learner.kind} by lbfgs looks at all sentences in every step")
    if settings.mixing != "uniform":
        raise OptionError("mixing", f"{learner.kind} by lbfgs sums over all shards in every step")


def _check_states(settings: ChainSettings) -> None:
    learner, latent = settings.chosen_learner, settings.latent
    if isinstance(learner, Dplvm) and latent is None:
        raise OptionError("learner", f"dplvm needs hidden states, for instance {spelt(Latent, 'states', 2)}")
    if type(learner) is Crf and latent is not None:
        raise OptionError("learner", "a crf with hidden states is called dplvm")
    if isinstance(learner, MaxEnt) and (latent is not None or isinstance(settings.states, LabelHistory)):
        raise OptionError("states", "maxent is given the previous labels: use order 2, or dplvm for hidden states")
    if isinstance(settings.states, Latent) and latent is None:
        for name in ("init", "split_after", "restarts"):
            if getattr(settings.states, name) != Latent.__options__[name].default:
                raise OptionError(name, "needs a label with several states")
    if latent is not None and latent.init == "all":
        if latent.split_after:
            raise OptionError(
                "init", "all does not apply with split_after, which starts from a plain model", "latent-init"
            )
        if settings.state_features != "all":
            raise OptionError("init", "all needs state_features all: other weights would never move", "latent-init")
    if learner.adaptive and settings.tied_update:
        raise OptionError("tied_update", f"{learner.kind} adapts to single weights; set it to 0")
    if latent is not None and learner.maximises_likelihood and (latent.split_after or latent.tied_update != 1.0):
        raise OptionError("split_after, tied_update", f"they do not apply to {learner.kind}")


def _check_transitions(settings: ChainSettings) -> None:
    """Label pairs without weights are for learners that move one weight at a time, or all of those that exist."""
    if settings.transition_features == "all":
        return
    kind, several = settings.chosen_learner.kind, isinstance(settings.states, SeveralStates)
    if settings.beam is not None or several or kind not in ("auto", "crf", "perceptron"):
        how = "a beam" if settings.beam is not None else "several states of a label" if several else kind
        raise OptionError("transition_features", f"seen is for crf and perceptron with exact search, not for {how}")


def _check_beam(settings: ChainSettings) -> None:
    beam, learner = settings.beam, settings.chosen_learner
    if beam is None:
        return
    if BEAM not in learner.structures:
        raise OptionError(
            "search",
            f"{learner.kind} sums over all label sequences, which a beam does not have; with a beam use "
            + ", ".join(learners_of(BEAM)),
        )
    if settings.latent is not None and settings.latent.split_after:
        raise OptionError("split_after", "needs exact search; leave the beam out")
    if settings.tune_bias:
        raise OptionError(
            "tune_bias", f"needs exact search; leave the beam out, or use {argument('bias')} when tagging"
        )
    if learner.kind not in ("auto", "perceptron") and beam.update not in LIST_UPDATES:
        raise OptionError(
            "update", f"{beam.update} is for the perceptron; {learner.kind} has {', '.join(LIST_UPDATES)}"
        )
    if beam.update == "laso-mean" and isinstance(settings.states, SeveralStates):
        raise OptionError("update", "laso-mean is for models with one state per label; choose laso")
    if settings.learns_one_by_one and settings.batch_size not in (None, 1):
        why = f"the search goes on after updates by {beam.update}" if beam.update in CONTINUING else learner.kind
        raise OptionError("batch_size", f"a beam learns from sentences one by one with {why}: leave it out")
    nbest = getattr(learner, "nbest", None)
    if nbest is not None and nbest > beam.width:
        kept = counted(beam.width, "prefix", "prefixes")
        raise OptionError("nbest", f"{nbest} candidates, and the beam has {kept}", "learner-nbest")
