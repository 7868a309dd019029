"""What the user chooses about learning, checked in one place, saved in the model."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import msgspec

from palmette.data.labels.automaton import CUSTOM, check_name
from palmette.errors import UsageError

LEARNERS = {
    "perceptron": "structured perceptron (Collins 2002): on an error, gold up and guess down by 1",
    "probperc": "probabilistic perceptron: the n best paths go down by their probabilities, gold goes up",
    "mira": "the smallest change after which gold is better than the n best paths by their costs",
    "pa": "passive-aggressive: the same for the one path that violates the margin most",
    "crf": "conditional random field: the regularised likelihood of all the data, by L-BFGS (with L1: OWL-QN)",
    "dplvm": "the same with latent states (a latent CRF)",
    "hmm": "hidden Markov model: probabilities counted from words and labels, in one go",
    "maxent": "maximum entropy Markov model: a classifier of each label given those before it, by L-BFGS",
}
LIKELIHOOD = ("crf", "dplvm", "maxent")  # learners with an objective to minimise
PROBABILISTIC = ("crf", "dplvm", "hmm", "maxent")  # learners whose shares of paths are probabilities as they come
OPTIMISERS = {
    "lbfgs": "L-BFGS: all the data for each step (with L1: OWL-QN)",
    "sgd": "a step after each sentence, with a rate that decays",
    "adagrad": "a step after each sentence, with a rate for each weight that adapts to how much it has moved",
}
RATES = {"sgd": 0.1, "adagrad": 0.1, "probperc": 0.2}
SEARCHES = {
    "viterbi": "exact search: the best of all label sequences",
    "beam": "from left to right, keeping the best prefixes; templates may read any earlier labels",
}
# What is updated when a beam has lost gold; their numbers are those of kernels/learning/violation.py
UPDATES = {
    "standard": "the whole sentence, violation or not",
    "early": "up to the first step after which gold is not in the beam",
    "max-violation": "up to the step where the best prefix is furthest above gold",
    "latest": "up to the last step where the best prefix is not below gold",
    "hybrid": "the whole sentence if that is a violation, else early",
    "laso": "early, and the search goes on from gold",
}
LISTING_UPDATES = ("standard", "early", "max-violation")  # those of learners with candidates
BEAM = 8
MOST_BEAM = 4096
BEAM_LEARNERS = ("perceptron", "probperc", "pa", "mira")
PROBABILITIES = ("softmax", "linear", "polynomial")
PA_TYPES = ("PA", "PA-I", "PA-II")
NBEST = {"probperc": 5, "mira": 1}
MOST_CANDIDATES = 1000
# Settings that only some learners have
ONLY = {
    "candidates": ("probperc", "mira"), "rate_schedule": ("probperc",), "probability_function": ("probperc",),
    "degree": ("probperc",), "add_gold": ("probperc",), "when": ("probperc",),
    "aggressiveness": ("pa", "mira"), "pa_type": ("pa",), "cost": ("mira",),
}  # fmt: skip
ESTIMATORS = {
    "auto": "avg; for a latent model with development data, the best of avg and mavg every 2, 4, 8 passes",
    "avg": "the mean of the weights after every example",
    "mavg": "the same mean, from which learning starts again every k-th pass",
    "last": "the weights after the last example",
}
EVERY = (2, 4, 8)  # what `mavg_every="auto"` tries
MOST_STATES = 64  # of a label
TOLERANCE = 1e-5
SMOOTHING = 0.001
RARE = 1
# Parameters (of settings, and of a Tagger) that mean nothing to a learner.
IDLE = {
    "hmm": frozenset((
        "latent", "estimator", "mavg_every", "init_size", "share", "split_after", "partial", "passes", "patience",
        "l1", "l2", "l1_then_l2", "tolerance", "min_count", "max_attributes", "edge_features", "state_features",
        "optimiser", "rate", "restarts", "label_history", "search", "beam", "update", *ONLY,
        "features", "template", "lexicons", "clusters",
    )),
}  # fmt: skip
COUNTING = ("smoothing", "interpolate", "rare", "dictionary")  # what only an hmm reads
INIT_SIZE = 0.01
MOST = 100.0
METRICS = ("auto", "f1", "accuracy")


class Settings(msgspec.Struct, frozen=True, kw_only=True):
    """How to learn. The defaults are those of the command line too."""

    learner: str = "perceptron"
    latent: int | dict[str, int] = 1  # states of every label, or of some
    estimator: str = "auto"
    mavg_every: int | str | None = None
    label_history: str | None = None  # what states remember of the labels before them
    init_size: float = INIT_SIZE  # of the random start of a latent model
    share: float = 1.0  # of an update that all states of a label get
    split_after: int = 0  # passes of a plain model before its labels are split into states
    partial: bool | None = None  # `?` and `A|B` are partial labels; None: nobody said
    passes: int | None = None  # None: 10; with patience or a batch learner at most 100
    l2: float | None = None  # of batch learners: l2 * |w|^2; None: 1, with L1 0
    l1: float = 0.0  # l1 * sum |w|
    l1_then_l2: bool = False  # select weights with L1, then train those that are left with L2
    optimiser: str = "lbfgs"  # of crf and dplvm
    rate: float | None = None  # of sgd, adagrad and probperc
    rate_schedule: str = "falling"  # or constant
    candidates: int | None = None  # the n best paths that probperc (5) and mira (1) look at
    probability_function: str = "softmax"  # of a candidate, by its score: softmax, linear, polynomial
    degree: float = 2.0  # of the polynomial
    add_gold: bool = True  # to the candidates where it is missing
    when: str = "always"  # or on errors: the updates of probperc
    search: str = "viterbi"  # or beam
    beam: int | None = None  # prefixes that a beam keeps; None: 8
    update: str | None = None  # what a beam updates that has lost gold; None: max-violation
    aggressiveness: float = 0.1  # the largest step of PA-I and MIRA
    pa_type: str = "PA-I"
    cost: str = "hamming"  # of a candidate of MIRA: wrong tokens, or spans
    tolerance: float = TOLERANCE  # L-BFGS ends when ten iterations have made less of the objective than this share
    seed: int = 1
    patience: int | None = None
    metric: str = "auto"
    min_count: int = 1
    max_attributes: int | None = None
    edge_features: str = "all"
    state_features: str = "all"  # or "seen": weights of crf and dplvm for labels that an attribute occurred with
    restarts: int = 1  # trainings of a latent model from different random starts, of which the best one is kept
    constraints: str = "auto"
    tune_bias: bool = False
    smoothing: float = SMOOTHING  # of hmm: added to the count of each word with each label
    interpolate: bool = True  # of hmm: mix transition probabilities with those of shorter contexts
    rare: int = RARE  # of hmm: words seen at most so often are replaced by word classes
    dictionary: int | None = None  # of hmm: words seen at least so often have only the labels they were seen with

    def __post_init__(self) -> None:
        one_of("learner", self.learner, LEARNERS)
        one_of("optimiser", self.optimiser, OPTIMISERS)
        one_of("estimator", self.estimator, ESTIMATORS)
        one_of("metric", self.metric, METRICS)
        one_of("edge-features", self.edge_features, ("all", "seen"))
        one_of("state-features", self.state_features, ("all", "seen"))
        if not isinstance(self.constraints, str):
            raise UsageError(f"constraints: {self.constraints!r} is not auto, none or the name of a tag scheme")
        for states in self.latent.values() if isinstance(self.latent, dict) else (self.latent,):
            at_least("latent", states, 1)
            if states > MOST_STATES:
                raise UsageError(f"latent: {states} states for a label; at most {MOST_STATES}")
        self._check_history()
        if self.mavg_every is not None:
            if self.estimator != "mavg":
                raise UsageError("mavg-every: only the estimator mavg restarts from the average")
            if self.mavg_every != "auto":
                at_least("mavg-every", self.mavg_every, 1)
        _between("share", self.share, 0.0, MOST)
        _between("init-size", self.init_size, 1e-9, MOST)
        if self.passes is not None:
            at_least("passes", self.passes, 1)
        at_least("restarts", self.restarts, 1)
        if self.restarts > 1 and not is_latent(self):
            raise UsageError("restarts: only a latent model has a random start; say how many states with latent")
        self._check_learner()
        self._check_candidates()
        self._check_search()
        at_least("split-after", self.split_after, 0)
        if self.split_after and not is_latent(self):
            raise UsageError("split-after: there is nothing to split into; say how many states with latent")
        at_least("min-count", self.min_count, 1)
        at_least("seed", self.seed, 0)
        for name, value in (("patience", self.patience), ("max-attributes", self.max_attributes)):
            if value is not None:
                at_least(name, value, 1)

    def _check_history(self) -> None:
        if self.label_history is None:
            return
        if not isinstance(self.label_history, str):
            raise UsageError(f"label-history: {self.label_history!r} is neither a name nor a function")
        if self.label_history != CUSTOM:
            check_name(self.label_history)
        if is_latent(self):
            raise UsageError("label-history, latent: a state remembers labels or is hidden; choose one of them")

    def _check_search(self) -> None:
        """What a beam can do, and what is about a beam alone."""
        one_of("search", self.search, SEARCHES)
        if self.search != "beam":
            if self.beam is not None or self.update is not None:
                raise UsageError("beam, update: they are about a search that is not exact; say --search beam")
            return
        if self.learner not in BEAM_LEARNERS:
            raise UsageError(
                f"search: {self.learner} sums over all label sequences, which a beam does not have; "
                f"with a beam learn {', '.join(BEAM_LEARNERS)}"
            )
        if is_latent(self) or self.label_history is not None or self.split_after:
            raise UsageError("search: a beam keeps labels, and latent states or label histories are for exact search")
        if self.tune_bias:
            raise UsageError("tune-bias: it is for exact search; leave --search beam out, or choose --bias at tag time")
        if self.beam is not None:
            _between("beam", self.beam, 1, MOST_BEAM)
            at_least("beam", self.beam, 1)
        if self.update is not None:
            one_of("update", self.update, UPDATES)
        if self.learner != "perceptron" and self.update not in (None, *LISTING_UPDATES):
            raise UsageError(
                f"update: {self.update} is for the perceptron; {self.learner} has {', '.join(LISTING_UPDATES)}"
            )
        if self.candidates is not None and self.candidates > (self.beam or BEAM):
            raise UsageError(f"nbest (candidates): {self.candidates}, and the beam has {self.beam or BEAM} prefixes")

    def _check_counting(self) -> None:
        """What an hmm reads, and what it does not."""
        default = dict(zip(self.__struct_fields__, self.__struct_defaults__, strict=True))
        other = COUNTING if self.learner != "hmm" else [name for name in default if name in IDLE["hmm"]]
        why = "an hmm is counted, and has no use for it" if self.learner == "hmm" else "only an hmm counts words"
        for name in other:
            if name != "partial" and getattr(self, name) != default[name]:
                raise UsageError(f"{name.replace('_', '-')}: {why}; leave it out")
        if self.learner == "hmm" and self.partial:
            raise UsageError("partial: labels that are not fully known cannot be counted; perceptron or crf use them")
        _between("smoothing", self.smoothing, 0.0, 1e9)
        at_least("rare", self.rare, 1)
        if self.dictionary is not None:
            at_least("dictionary", self.dictionary, 1)

    def _check_learner(self) -> None:
        """What goes with which learner."""
        self._check_counting()
        likelihood, batch = self.learner in LIKELIHOOD, is_batch(self)
        named = (("l2", self.l2), ("l1", self.l1), ("tolerance", self.tolerance), ("rate", self.rate))
        for name, value in named:
            if value is not None:
                _between(name, value, 0.0, 1e9)
        if not likelihood and (self.l2 is not None or self.l1 or self.optimiser != "lbfgs"):
            given = "l2" if self.l2 is not None else "l1" if self.l1 else "optimiser"
            raise UsageError(f"{given}: it is for {', '.join(LIKELIHOOD)}; the {self.learner} minimises nothing")
        if not batch and (self.l1 or self.tolerance != TOLERANCE):
            given = "l1" if self.l1 else "tolerance"
            raise UsageError(f"{given}: it is for the optimiser lbfgs of {', '.join(LIKELIHOOD)}")
        if not batch and self.state_features != "all":
            raise UsageError(f"state-features: seen is for the optimiser lbfgs of {', '.join(LIKELIHOOD)}")
        if self.rate == 0:
            raise UsageError("rate: with a step size of 0 nothing is learnt")
        if self.rate is not None and (batch or self.learner not in (*LIKELIHOOD, "probperc")):
            raise UsageError("rate: only probperc and the optimisers sgd and adagrad have one")
        if likelihood and (self.split_after or self.share != 1.0):
            raise UsageError(f"split-after, share: they are for the perceptron, not for {self.learner}")
        if self.l1_then_l2 and not (self.l1 and self.l2):
            raise UsageError("l1-then-l2: say both, for instance --l1 0.5 --l2 0.5")
        if batch and self.estimator != "auto":
            raise UsageError(f"estimator: {self.learner} has one result, its optimum; leave the estimator out")
        if self.learner == "dplvm" and not is_latent(self):
            raise UsageError("dplvm: say how many latent states a label has, for instance --latent 2")
        if self.learner == "crf" and is_latent(self):
            raise UsageError("crf: with latent states it is called dplvm")
        if self.learner == "maxent" and not batch:
            raise UsageError("optimiser: maxent is trained by lbfgs")
        if self.learner == "maxent" and self.label_history is not None:
            raise UsageError("label-history: maxent has labels before a token as features; take a template of order 2")
        if self.learner == "maxent" and is_latent(self):
            raise UsageError("maxent: it is given the labels before, and latent states are not given; take dplvm")

    def _check_candidates(self) -> None:
        """What the learners with candidates and margins have, and the others do not."""
        check_owners(self, self.learner)
        one_of("rate-schedule", self.rate_schedule, ("falling", "constant"))
        one_of("probability-function", self.probability_function, PROBABILITIES)
        one_of("when", self.when, ("always", "errors"))
        one_of("pa-type", self.pa_type, PA_TYPES)
        one_of("cost", self.cost, ("hamming", "span"))
        _between("degree", self.degree, 0.0, MOST)
        _between("aggressiveness", self.aggressiveness, 1e-9, 1e9)
        if self.degree != 2.0 and self.probability_function != "polynomial":
            raise UsageError(f"degree: it is for the probability-function polynomial, not {self.probability_function}")
        if self.aggressiveness != 0.1 and self.learner == "pa" and self.pa_type == "PA":
            raise UsageError("aggressiveness: PA takes the whole step; choose the pa-type PA-I or PA-II")
        if self.candidates is not None:
            at_least("nbest (candidates)", self.candidates, 1)
            if self.candidates > MOST_CANDIDATES:
                raise UsageError(f"nbest (candidates): {self.candidates} candidates; at most {MOST_CANDIDATES}")


def idle(settings: Mapping[str, Any]) -> set[str]:
    """Names of settings that mean nothing beside the others, for those who look at a model."""
    learner = settings.get("learner", "")
    if learner in IDLE:
        return set(IDLE[learner])
    found = {name for name, learners in ONLY.items() if learner not in learners} | set(COUNTING)
    if learner in LIKELIHOOD:
        found |= {"estimator"}
    else:
        found |= {"l1", "l2", "l1_then_l2", "optimiser", "tolerance", "state_features"}
    if settings.get("latent", 1) == 1:
        found |= {"init_size", "share", "split_after", "restarts"}
    return found


def check_owners(settings: msgspec.Struct, learner: str) -> None:
    """Complain about a setting that another learner has."""
    for field in msgspec.structs.fields(settings):
        learners = ONLY.get(field.name)
        if learners and getattr(settings, field.name) != field.default and learner not in learners:
            told = "nbest (candidates)" if field.name == "candidates" else field.name.replace("_", "-")
            raise UsageError(f"{told}: it is for {' and '.join(learners)}, not {learner}")


def is_batch(settings: Settings) -> bool:
    """Whether all the data is gone through for each step."""
    return settings.learner in LIKELIHOOD and settings.optimiser == "lbfgs"


def n_candidates(settings: Settings) -> int:
    """How many of the best paths a learner looks at."""
    return settings.candidates if settings.candidates is not None else NBEST.get(settings.learner, 1)


def with_beam(settings: Settings) -> Settings:
    """The settings with everything said about a beam, if there is one."""
    if settings.search != "beam":
        return settings
    beam, update = settings.beam or BEAM, settings.update or "max-violation"
    return msgspec.structs.replace(settings, beam=beam, update=update)


def penalty_of(settings: Settings) -> float:
    """The L2 penalty; where nobody said, 1, or nothing beside an L1 one."""
    return settings.l2 if settings.l2 is not None else 0.0 if settings.l1 else 1.0


def is_latent(settings: Settings) -> bool:
    """Whether a label has more than one state."""
    latent = settings.latent
    return (max(latent.values(), default=1) if isinstance(latent, dict) else latent) > 1


def n_passes(settings: Settings) -> int:
    """How many passes or iterations there are at most."""
    if settings.passes is not None:
        return settings.passes
    if settings.learner == "hmm":
        return 1
    return 100 if settings.patience is not None or is_batch(settings) else 10


def parse_latent(text: str) -> int | dict[str, int]:
    """`5`, or `B=2,I=5,O=3`: labels that are not named have one state."""
    try:
        if "=" not in text:
            return int(text)
        pairs = [item.strip().rpartition("=") for item in text.split(",")]
        if len({label for label, _, _ in pairs}) < len(pairs):
            raise UsageError(f"latent {text!r}: a label is named twice")
        return {label: int(count) for label, _, count in pairs}
    except ValueError:
        raise UsageError(f"latent {text!r}: write a number of states, or LABEL=NUMBER with commas between") from None


def estimators_to_try(settings: Settings, has_dev: bool) -> list[tuple[str, int | None]]:
    """The estimators to try, each with how often mavg starts again; more than one are chosen from on dev."""
    latent = is_latent(settings)
    mavg: list[tuple[str, int | None]] = [("mavg", k) for k in EVERY]
    if settings.estimator == "auto" and settings.learner in LIKELIHOOD:
        return [("last", None)]
    if settings.estimator == "auto":
        return [("avg", None), *mavg] if latent and has_dev else [("avg", None)]
    if settings.estimator != "mavg":
        return [(settings.estimator, None)]
    if isinstance(settings.mavg_every, int):
        return [("mavg", settings.mavg_every)]
    if has_dev:
        return mavg
    if settings.mavg_every == "auto":
        raise UsageError("--mavg-every auto chooses on development data: --dev FILE or --dev-share 0.1")
    return [("mavg", EVERY[1])]


def one_of(name: str, value: str, known: object) -> None:
    names = list(known)  # type: ignore[call-overload]
    if value not in names:
        raise UsageError(f"{name}: there is no {value!r}; choose one of {', '.join(names)}")


def _between(name: str, value: object, low: float, high: float) -> None:
    if isinstance(value, bool) or not isinstance(value, int | float) or not low <= value <= high:
        raise UsageError(f"{name}: {value!r} is not a number between {low:g} and {high:g}")


def at_least(name: str, value: object, least: int) -> None:
    if isinstance(value, bool) or not isinstance(value, int) or value < least or not math.isfinite(value):
        raise UsageError(f"{name}: {value!r} is not a whole number of at least {least}")
