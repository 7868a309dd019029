"""Learners of probabilities: penalised likelihoods (CRF, latent CRF, maximum entropy), and counted ones (hidden Markov
models)."""

from __future__ import annotations

from typing import ClassVar

from palmette.options.declare import OptionError, Options, option
from palmette.options.learner import CHAIN, ROW, Learner
from palmette.options.spelling import spelt
from palmette.options.training import TrainingOptions
from palmette.options.unicode import UnicodeOptions

OPTIMISERS = {
    "lbfgs": "L-BFGS, all data per step (with L1: OWL-QN)",
    "sgd": "a step per sentence with a decaying rate",
    "adagrad": "a step per sentence with a rate per weight that adapts to how much it has moved",
}
RATES = {"sgd": 0.1, "adagrad": 0.1}
ITERATIONS = 100  # of L-BFGS, at most


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
        help="Iterations of lbfgs, at most; other optimisers have --passes. When resuming: further iterations.",
    )  # fmt: skip

    @property
    def penalty(self) -> float:
        """The L2 penalty in effect."""
        return self.l2 if self.l2 is not None else 0.0 if self.l1 else 1.0

    @property
    def full_batch(self) -> bool:
        return True

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
    """Latent CRF (Morency et al. 2007): a CRF with hidden states; needs `Latent` states."""

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
        default=1, low=0,
        help="Words seen at most so often are replaced by word-shape classes, and so are new words; 0: no classes, and "
        "new words cannot be tagged.",
    )  # fmt: skip
    dictionary: int | None = option(
        default=None, low=1,
        help="Words seen at least so often have only the labels they were seen with (default: no dictionary).",
    )  # fmt: skip


class HmmOptions(CountingOptions, UnicodeOptions):
    """Options of the estimator HMM."""

    order: int = option(default=1, kw_only=False, low=1, high=2, help="Previous labels that the next label depends on.")
    ends: bool = option(
        default=True,
        help="Probabilities for the last label; without them the sequences of each length sum to 1.",
    )  # fmt: skip


class HiddenMarkov(CountingOptions, Learner):
    """Hidden Markov model: probabilities counted from words and labels in one pass, no features."""

    kind = "hmm"
    structures = (CHAIN,)
    probabilistic = True
    unused = (
        "features", "template", "lexicons", "clusters", "states", "estimator", "mavg_every", "partial", "passes",
        "patience", "stop_window", "stop_error", "min_count", "max_attributes", "min_feature_count", "edge_features",
        "state_features", "search", "batch_size", "shards", "mixing",
    )  # fmt: skip
