"""The learners: one class per learner, with its options, the structures that it applies to, and its rule as numbers.
Those of probabilities are in likelihoods.py.

To add a learner that works on gold and candidates: a class here, and a branch in kernels/learning/coefficients.py.
"""

from __future__ import annotations

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
from palmette.options.declare import OptionError, option
from palmette.options.learner import BEAM, CHAIN, LATENT, ROW, TREE, Learner
from palmette.options.likelihoods import Crf, Dplvm, HiddenMarkov, MaxEnt

__all__ = [
    "Arow",
    "Crf",
    "Dplvm",
    "HiddenMarkov",
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
    """Probabilistic perceptron: gold goes up by the rate, each of the n best outputs down by its probability.

    Outputs with gold's labels and other latent states count as gold."""

    kind = "probperc"
    structures = (CHAIN, BEAM, TREE, LATENT, ROW)
    nbest: int | None = option(
        default=None, low=1, high=MOST_CANDIDATES,
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
        default="always", help="Which examples change weights.",
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
    """MIRA (Crammer et al. 2006): the smallest change after which gold beats the n best outputs by their costs."""

    kind = "mira"
    most_batch = MARGIN_BATCH
    structures = (CHAIN, BEAM, TREE, LATENT, ROW)
    nbest: int | None = option(
        default=None, low=1, high=MOST_CANDIDATES,
        help="Best outputs that are looked at (default: 1; a parser: as many as its beam has).",
    )  # fmt: skip
    aggressiveness: float = option(default=0.1, above=0.0, help="Largest step; see step-cap.")
    step_cap: str = option(
        default="each", help="What the aggressiveness limits.",
        choices={"each": "the step of each candidate, by itself", "sum": "the sum of the steps of an example"},
    )  # fmt: skip
    cost: str = option(
        default="hamming", help="Cost of a wrong output (taggers).",
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
        default=None, low=1, high=MOST_CANDIDATES,
        help="Best outputs that are looked at (default: 1; a parser: as many as its beam has).",
    )  # fmt: skip
    aggressiveness: float = option(
        default=1.0, above=0.0, help="1 / r of the published rule: larger values make larger steps."
    )
    cost: str = option(
        default="hamming", help="Cost of a wrong output (taggers).",
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
    """Batch learning over latent structures (Chang et al. 2010): positives fixed per pass, negatives cached until no
    new structure is found."""

    kind = "lclr"
    inner_rounds: int = option(default=50, low=1, high=100_000, help="Rounds of decoding negatives per pass, at most.")


class LclrVariant(BatchLatent):
    """Batch learning with the structures of all sentences fixed for a pass."""

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
