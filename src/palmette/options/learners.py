"""The learners: one class per learner, with its options, the structures it applies to, and its rule as numbers.

To add a learner that works on gold and candidates: a class here, and a branch in kernels/learning/coefficients.py.
"""

from __future__ import annotations

from typing import ClassVar

from palmette.kernels.learning.rule import (
    AROW,
    CAPPED,
    EACH,
    HARD,
    LINEAR,
    MIRA,
    PA,
    PERCEPTRON,
    POLYNOMIAL,
    PROBPERC,
    SOFT,
    SOFTMAX,
    SUM,
    Rule,
)  # fmt: skip
from palmette.options.declare import OptionError, Options, Value, option
from palmette.options.spelling import spelt
from palmette.options.training import UNICODE, TrainingOptions

# Structures that a learner may apply to
CHAIN, BEAM, TREE, LATENT, ROW = "chain", "beam", "tree", "latent", "row"
STRUCTURES = {
    CHAIN: "taggers with exact search",
    BEAM: "taggers with a beam",
    TREE: "parsers",
    LATENT: "classifiers over latent structures",
    ROW: "linear classifiers",
}


class Learner(Value):
    """How weights are learnt."""

    parameter = "learner"
    structures: ClassVar[tuple[str, ...]] = ()
    maximises_likelihood: ClassVar[bool] = False  # has an objective to minimise
    probabilistic: ClassVar[bool] = False  # posteriors of paths are probabilities without calibration
    adaptive: ClassVar[bool] = False  # steps adapt to each weight by its state
    most_batch: ClassVar[int | None] = None  # sentences of a batch, unless the user asks for more; None: no limit
    unused: ClassVar[tuple[str, ...]] = ()  # options of the estimator that have no effect with it

    @property
    def from_forest(self) -> bool:
        """Whether candidates are derivations of merged states, which only parsers have."""
        return False

    @property
    def full_batch(self) -> bool:
        """Whether every step looks at all data."""
        return False

    @property
    def keeps_state(self) -> bool:
        """Whether training remembers a number per weight, which no model file stores."""
        return self.adaptive

    def without_limit(self) -> Learner:
        """The learner for a resumed training, which does not take over how long the first one was."""
        return self

    def rule(self, n_examples: int, listed: int | None = None) -> Rule:
        """The learner as numbers for compiled loops. listed: outputs that a beam holds, None for exact search."""
        raise NotImplementedError


# Learners of probabilities: penalised likelihoods (CRF, latent CRF, maximum entropy), and counts (hidden Markov models)

OPTIMISERS = {
    "lbfgs": "L-BFGS, all data per step (with L1: OWL-QN)",
    "sgd": "a step per sentence with a decaying rate",
    "adagrad": "a step per sentence with a rate per weight that adapts to how much it has moved",
}
RATES = {"sgd": 0.1, "adagrad": 0.1}
ITERATIONS = 1_000  # of L-BFGS, at most: it converges before
PATIENCE = 30  # iterations without a better score on development data, unless the user says how many there are


class Likelihood(Learner):
    """Learners that minimise a penalised negative log-likelihood."""

    maximises_likelihood = True
    probabilistic = True
    l2: float | None = option(default=None, low=0.0, help="Penalty l2 * |w|^2 (default: 1; 0 if --l1 is given).")
    l1: float = option(default=0.0, low=0.0, help="Penalty l1 * sum |w|, which makes most weights zero (lbfgs).")
    l1_then_l2: bool = option(default=False, help="Select weights with L1, then train those with L2 alone (lbfgs).")
    tolerance: float = option(
        default=1e-5, low=0.0, help="lbfgs stops when ten iterations improve the objective by less than this share."
    )
    iterations: int = option(
        default=ITERATIONS, low=1,
        help=f"Iterations of lbfgs, at most; left open, it also stops after {PATIENCE} without a better score on "
        "development data. Other optimisers have --passes. When resuming: further iterations.",
    )  # fmt: skip

    @property
    def penalty(self) -> float:
        """The L2 penalty in effect."""
        return self.l2 if self.l2 is not None else 0.0 if self.l1 else 1.0

    @property
    def full_batch(self) -> bool:
        return True

    @property
    def patience(self) -> int | None:
        """Iterations without a better score on development data after which lbfgs stops."""
        return PATIENCE if self.iterations == ITERATIONS else None

    def without_limit(self) -> Learner:
        return self.replace(iterations=ITERATIONS)

    def validate(self) -> None:
        if self.l1_then_l2 and not (self.l1 and self.l2):
            raise OptionError("l1_then_l2", "needs both penalties, for instance l1=0.5 and l2=0.5")


class Crf(Likelihood):
    """Conditional random field: the regularised likelihood of all label sequences."""

    kind = "crf"
    structures: ClassVar[tuple[str, ...]] = (CHAIN, ROW)
    optimiser: str = option(default="lbfgs", choices=OPTIMISERS, help="How the objective is minimised.")
    rate: float | None = option(default=None, above=0.0, help="Step size of sgd and adagrad (default: 0.1).")

    @property
    def full_batch(self) -> bool:
        return self.optimiser == "lbfgs"

    def validate(self) -> None:
        super().validate()
        if self.full_batch and self.rate is not None:
            raise OptionError("rate", "applies to the optimisers sgd and adagrad")
        if not self.full_batch:
            for name, value in (("l1", self.l1), ("l1_then_l2", self.l1_then_l2)):
                if value:
                    raise OptionError(name, f"applies to the optimiser lbfgs, not {self.optimiser}")
            for name in ("tolerance", "iterations"):
                if getattr(self, name) != self.__options__[name].default:
                    instead = f"; use {spelt(TrainingOptions, 'passes')}" if name == "iterations" else ""
                    raise OptionError(name, f"applies to the optimiser lbfgs, not {self.optimiser}{instead}")

    @property
    def keeps_state(self) -> bool:
        return self.optimiser == "adagrad"

    @property
    def step_size(self) -> float:
        """The rate in effect of sgd and adagrad."""
        return RATES[self.optimiser] if self.rate is None else self.rate


class Dplvm(Crf):
    """Latent CRF, DPLVM (Morency et al. 2007): a CRF with hidden states; needs `Latent` states."""

    kind = "dplvm"
    structures = (CHAIN,)


class MaxEnt(Likelihood):
    """Maximum entropy Markov model (McCallum et al. 2000): a classifier per label given the labels before it."""

    kind = "maxent"
    structures = (CHAIN, ROW)


class CountingOptions(Options):
    """How a hidden Markov model is counted; shared by the learner hmm and the estimator HMM."""

    smoothing: float = option(default=0.001, low=0.0, high=1e9, help="Added to the count of each word with each label.")
    interpolate: bool = option(
        default=True, help="Mix transition probabilities with those of shorter contexts (deleted interpolation)."
    )
    rare: int = option(
        default=1, low=0, flag="rare-words",
        help="Words seen at most so often are replaced by word-shape classes, and so are new words; 0: no classes, and "
        "new words cannot be tagged.",
    )  # fmt: skip
    dictionary: int | None = option(
        default=None, low=1,
        help="Words seen at least so often have only the labels they were seen with (default: no dictionary).",
    )  # fmt: skip


class HmmOptions(CountingOptions):
    """Options of the estimator HMM."""

    unicode: str = UNICODE
    order: int = option(default=1, kw_only=False, low=1, high=2, help="Previous labels that the next label depends on.")
    ends: bool = option(
        default=True,
        help="Probabilities for the last label; without them the sequences of each length sum to 1.",
    )  # fmt: skip


class HiddenMarkov(CountingOptions, Learner):
    """Hidden Markov model: probabilities counted from words and labels in one pass, no features."""

    kind = "hmm"
    flat = True
    structures = (CHAIN,)
    probabilistic = True
    unused = (
        "features", "template", "lexicons", "clusters", "raw", "states", "estimator", "mavg_every", "partial", "passes",
        "patience", "stop_window", "stop_error", "min_count", "max_attributes", "min_feature_count", "edge_features",
        "state_features", "search", "batch_size", "shards", "mixing",
    )  # fmt: skip


__all__ = [
    "Arow",
    "Crf",
    "Dplvm",
    "Lclr",
    "LclrVariant",
    "MaxEnt",
    "Mira",
    "PassiveAggressive",
    "Perceptron",
    "ProbPerc",
]
MOST_CANDIDATES = 1000
PA_VARIANTS = {"PA": HARD, "PA-I": CAPPED, "PA-II": SOFT}
CAPS = {"each": EACH, "sum": SUM}
FUNCTIONS = {"softmax": SOFTMAX, "linear": LINEAR, "polynomial": POLYNOMIAL}
# Each sentence of a batch makes the whole step after which it is right: from 8 on they go too far together
MARGIN_BATCH = 4


class ListLearner(Learner):
    """Learners that look at several candidates."""

    candidates: str = option(
        default="beam", help="Where a parser that merges states finds its candidates.",
        choices={"beam": "the states of the beam, each with its best derivation", "forest": "all derivations of them"},
    )  # fmt: skip

    @property
    def from_forest(self) -> bool:
        return self.candidates == "forest"

    def n_candidates(self, default: int, listed: int | None) -> int:
        """The number of candidates: at most what a beam holds, unless they are derivations."""
        wanted: int | None = self.values()["nbest"]
        if listed is None:
            return wanted or default
        return wanted or listed if self.from_forest else min(wanted or listed, listed)


class Perceptron(Learner):
    """Structured perceptron (Collins 2002): after an error gold goes up and the guess down by 1."""

    kind = "perceptron"
    structures = (CHAIN, BEAM, TREE, LATENT, ROW)

    def rule(self, n_examples: int, listed: int | None = None) -> Rule:
        return Rule(PERCEPTRON)


class ProbPerc(ListLearner):
    """Probabilistic perceptron, probPerc (Sun): gold goes up by the rate, each of the n best outputs down by its
    probability.

    Outputs with gold's labels and other latent states count as gold."""

    kind = "probperc"
    structures = (CHAIN, BEAM, TREE, LATENT, ROW)
    nbest: int | None = option(
        default=None, flag="learner-nbest", low=1, high=MOST_CANDIDATES,
        help="Best outputs that are looked at (default: 5; a parser: as many as its beam has).",
    )  # fmt: skip
    rate: float = option(default=0.1, above=0.0, help="Step size.")
    rate_schedule: str = option(
        default="constant", help="How the rate develops.",
        choices={"falling": "rate / (1 + passes done)", "constant": "the same throughout"},
    )  # fmt: skip
    probability_function: str = option(
        default="softmax", help="From scores to probabilities.",
        choices={"softmax": "exp(score)", "linear": "by score between worst and best", "polynomial": "its power"},
    )  # fmt: skip
    degree: float = option(default=2.0, low=0.0, high=100.0, help="Degree of the probability function polynomial.")
    add_gold: bool = option(default=True, help="Count gold among the candidates even if the search did not list it.")
    when: str = option(
        default="always", flag="update-when", help="Which examples change weights.",
        choices={"always": "all", "errors": "only those whose best output is wrong"},
    )  # fmt: skip

    def validate(self) -> None:
        if self.degree != 2.0 and self.probability_function != "polynomial":
            raise OptionError(
                "degree", f"applies to the probability function polynomial, not {self.probability_function}"
            )

    def rule(self, n_examples: int, listed: int | None = None) -> Rule:
        return Rule(
            PROBPERC, candidates=self.n_candidates(5, listed), rate=float(self.rate),
            decay=1.0 / max(1, n_examples) if self.rate_schedule == "falling" else 0.0,
            function=FUNCTIONS[self.probability_function], degree=float(self.degree), add_gold=self.add_gold,
            on_errors=self.when == "errors",
        )  # fmt: skip


class Mira(ListLearner):
    """MIRA, n-best MIRA (Crammer et al. 2006): the smallest change after which gold beats the n best outputs by their
    costs."""

    kind = "mira"
    most_batch = MARGIN_BATCH
    structures = (CHAIN, BEAM, TREE, LATENT, ROW)
    nbest: int | None = option(
        default=None, flag="learner-nbest", low=1, high=MOST_CANDIDATES,
        help="Best outputs that are looked at (default: 1; a parser: as many as its beam has).",
    )  # fmt: skip
    aggressiveness: float = option(default=0.1, above=0.0, help="Largest step; see step-cap.")
    step_cap: str = option(
        default="each", help="What the aggressiveness limits.",
        choices={"each": "the step of each candidate, by itself", "sum": "the sum of the steps of an example"},
    )  # fmt: skip
    cost: str = option(
        default="hamming", flag="margin-cost", help="Cost of a wrong output (taggers).",
        choices={"hamming": "wrong tokens", "span": "spans that only one of the two has"},
    )  # fmt: skip

    def rule(self, n_examples: int, listed: int | None = None) -> Rule:
        return Rule(
            MIRA, candidates=self.n_candidates(1, listed), aggressiveness=float(self.aggressiveness),
            cap=CAPS[self.step_cap],
        )  # fmt: skip


class PassiveAggressive(Learner):
    """Passive-aggressive (Crammer et al. 2006): the smallest change after which gold beats the worst violator.

    Taggers and parsers find the violator by cost-augmented search, exact or by beam; a parser with merged states takes
    the best output in the beam, and a classifier the other class."""

    kind = "pa"
    most_batch = MARGIN_BATCH
    structures = (CHAIN, BEAM, TREE, LATENT, ROW)
    pa_type: str = option(
        default="PA-I", help="How far a step goes.",
        choices={"PA": "the whole step", "PA-I": "at most the aggressiveness", "PA-II": "with a soft limit"},
    )  # fmt: skip
    aggressiveness: float = option(default=0.1, above=0.0, help="Largest step (PA-I), or its softness (PA-II).")

    def rule(self, n_examples: int, listed: int | None = None) -> Rule:
        return Rule(PA, variant=PA_VARIANTS[self.pa_type], aggressiveness=float(self.aggressiveness))


class Arow(ListLearner):
    """AROW (Crammer et al. 2009) for structured outputs: margins as in MIRA, with a confidence per weight: weights that
    moved often take smaller steps."""

    kind = "arow"
    most_batch = MARGIN_BATCH
    structures = (CHAIN, BEAM, TREE, LATENT, ROW)
    adaptive = True
    nbest: int | None = option(
        default=None, flag="learner-nbest", low=1, high=MOST_CANDIDATES,
        help="Best outputs that are looked at (default: 1; a parser: as many as its beam has).",
    )  # fmt: skip
    aggressiveness: float = option(
        default=1.0, above=0.0, help="1 / r of the published rule: larger values make larger steps."
    )
    cost: str = option(
        default="hamming", flag="margin-cost", help="Cost of a wrong output (taggers).",
        choices={"hamming": "wrong tokens", "span": "spans that only one of the two has"},
    )  # fmt: skip

    def rule(self, n_examples: int, listed: int | None = None) -> Rule:
        C = float(self.aggressiveness)
        return Rule(AROW, candidates=self.n_candidates(1, listed), aggressiveness=C, spread=C)


class BatchLatent(Learner):
    """Batch learning over latent structures that are fixed for a pass (Chang et al. 2010)."""

    structures = (LATENT,)
    pa_type: str = option(default="PA", choices=tuple(PA_VARIANTS), help="How far an inner step goes.")
    aggressiveness: float = option(default=1.0, above=0.0, help="Largest inner step (PA-I), or its softness (PA-II).")
    inner_passes: int = option(default=10, low=1, high=100_000, help="Passes over fixed structures, at most.")

    def rule(self, n_examples: int, listed: int | None = None) -> Rule:
        return Rule(PA, variant=PA_VARIANTS[self.pa_type], aggressiveness=float(self.aggressiveness))


class Lclr(BatchLatent):
    """LCLR, batch learning over latent structures (Chang et al. 2010): positives fixed per pass, negatives cached until
    no new structure is found."""

    kind = "lclr"
    inner_rounds: int = option(default=50, low=1, high=100_000, help="Rounds of decoding negatives per pass, at most.")


class LclrVariant(BatchLatent):
    """LCLR variant (Clifton et al. 2013, algorithm 5): the structures of all sentences are fixed for a pass."""

    kind = "lclr-variant"


LEARNERS: dict[str, type[Learner]] = {
    learner.kind: learner
    for learner in (
        Perceptron, ProbPerc, Mira, PassiveAggressive, Arow, Crf, Dplvm, MaxEnt, HiddenMarkov, Lclr, LclrVariant,
    )
}  # fmt: skip


def learners_of(*structures: str) -> dict[str, type[Learner]]:
    """The learners that apply to any of the structures, by name."""
    return {kind: made for kind, made in LEARNERS.items() if set(structures) & set(made.structures)}


PARSER_LEARNERS = learners_of(TREE)
CLASSIFIER_LEARNERS = learners_of(LATENT)
ROW_LEARNERS = learners_of(ROW)


# The default learner, and how its confidences are calibrated.
# docs/learners.md has the measurements behind these rules; `python -m bench defaults` makes them.

TEMPERATURE = 0.2  # at which confidences of mira are of a useful size, for data that is too small to fit it
MOST_LABELS = 500  # from more on, lists of paths take long
MOST_LABELS_IN_PAIRS = 30  # up to so many, labels depend on the two before them: with more that takes long
PASSES_OF_MIRA = 15


class Auto(Learner):
    """The learner that wins on average over tasks, chosen when training begins: mira with the 5 best paths; the
    perceptron with a beam, hidden states, label histories, transition features seen, attributes that have values, or
    more than 500 labels. A model stores the learner that was chosen."""

    kind = "auto"
    structures = (CHAIN, BEAM)

    def chosen(self, plain: bool, n_labels: int) -> Learner:
        """plain: exact search over one state per label, with weights for all pairs of labels, and attributes that are
        there or not: the steps of mira depend on the size of values."""
        return Mira(nbest=5) if plain and n_labels <= MOST_LABELS else Perceptron()
