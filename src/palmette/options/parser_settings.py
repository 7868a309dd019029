"""How a parser learns. The defaults are those of the command line and of `Parser` too."""

from __future__ import annotations

import msgspec

from palmette.errors import UsageError
from palmette.kernels.learning.rule import MIRA, PA, PERCEPTRON, PROBPERC, Rule
from palmette.options.settings import (
    LISTING_UPDATES,
    MOST_BEAM,
    PA_TYPES,
    PROBABILITIES,
    RATES,
    UPDATES,
    at_least,
    check_owners,
    one_of,
)

LEARNERS = {"perceptron": PERCEPTRON, "probperc": PROBPERC, "pa": PA, "mira": MIRA}
ESTIMATORS = ("avg", "mavg", "last")
NON_PROJECTIVE = ("pseudo", "skip")
PASSES = 10


class ParserSettings(msgspec.Struct, frozen=True, kw_only=True):
    learner: str = "perceptron"
    update: str | None = None  # where guess and gold are cut; None: see `cutting`
    beam: int = 8
    merge: bool = False  # states that look alike to all templates become one
    passes: int | None = None  # None: 10, with patience at most 100
    patience: int | None = None
    estimator: str = "avg"
    mavg_every: int = 4
    seed: int = 1
    non_projective: str = "pseudo"
    candidates: int | None = None  # items of the beam that probperc and mira look at; None: all
    aggressiveness: float = 0.1  # the largest step of PA-I and MIRA
    pa_type: str = "PA-I"
    rate: float | None = None  # of probperc
    rate_schedule: str = "falling"
    probability_function: str = "softmax"

    def __post_init__(self) -> None:
        one_of("learner", self.learner, tuple(LEARNERS))
        one_of("update", self.cutting, tuple(UPDATES))
        one_of("estimator", self.estimator, ESTIMATORS)
        one_of("non-projective", self.non_projective, NON_PROJECTIVE)
        one_of("pa-type", self.pa_type, PA_TYPES)
        one_of("rate-schedule", self.rate_schedule, ("falling", "constant"))
        one_of("probability-function", self.probability_function, PROBABILITIES)
        check_beam(self.beam)
        for name, value in (("passes", self.passes), ("patience", self.patience), ("nbest", self.candidates)):
            if value is not None:
                at_least(name, value, 1)
        at_least("mavg-every", self.mavg_every, 1)
        at_least("seed", self.seed, 0)
        for name, number in (("aggressiveness", self.aggressiveness), ("rate", self.rate)):
            if number is not None and not (isinstance(number, int | float) and 0 < number <= 1e9):
                raise UsageError(f"{name}: {number!r} is not a number above 0")
        if self.learner != "perceptron" and self.cutting not in LISTING_UPDATES:
            raise UsageError(
                f"update: {self.learner} has {', '.join(LISTING_UPDATES)}; {self.cutting} is the perceptron's"
            )
        if self.merge and self.update == "laso":
            raise UsageError("update: laso goes on from gold, where merged states have no scores; leave merging out")
        check_owners(self, self.learner)
        if self.rate is not None and self.learner != "probperc":
            raise UsageError("rate: only probperc has one")

    @property
    def cutting(self) -> str:
        """The update that was chosen, or else laso, which the perceptron alone has, and not with merging."""
        if self.update is not None:
            return self.update
        return "max-violation" if self.merge or self.learner != "perceptron" else "laso"

    @property
    def n_passes(self) -> int:
        return self.passes if self.passes is not None else 100 if self.patience is not None else PASSES

    def rule(self, sentences: int) -> Rule:
        """The learner as numbers."""
        several = self.learner in ("probperc", "mira")
        return Rule(
            LEARNERS[self.learner],
            min(self.candidates or self.beam, self.beam) if several else 1,
            float(self.aggressiveness),
            PA_TYPES.index(self.pa_type),
            float(RATES["probperc"] if self.rate is None else self.rate),
            1.0 / max(1, sentences) if self.rate_schedule == "falling" else 0.0,
            PROBABILITIES.index(self.probability_function),
            2.0,
            True,
            False,
        )


def check_beam(beam: object) -> None:
    at_least("beam", beam, 1)
    if int(beam) > MOST_BEAM:  # type: ignore[call-overload]
        raise UsageError(f"beam: {beam} is too wide; at most {MOST_BEAM}")
