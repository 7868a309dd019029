"""What a user chooses for a classifier over latent structures, checked in one place."""

from __future__ import annotations

import math

import msgspec

from palmette.errors import UsageError
from palmette.kernels.latent import forms
from palmette.kernels.learning import rule
from palmette.options.latent import check_latent, type_names, view_names

LEARNERS = {
    "pa": "online passive-aggressive: a step a sentence, negatives decoded again until they are labelled so",
    "lclr": "batch: structures of positives fixed for a pass, those of negatives cached until no new one is found",
    "lclr-variant": "batch: all structures fixed for a pass",
}
COMBINE = {"add": forms.ADD, "vote": forms.VOTE, "cotrain": forms.COTRAIN}
STEPS = {"PA": rule.HARD, "PA-I": rule.CAPPED, "PA-II": rule.SOFT}
ESTIMATORS = {"avg": "mean of all weights", "pass": "mean of those of the last pass", "last": "the last ones"}
MOST_CAP = 10_000
TYPES = 4  # of chunks, where nobody says it: on real data five views gain much by several, see docs/grammaticality.md
CAP = 20  # decodings of a negative sentence in a pass


class Settings(msgspec.Struct, frozen=True, kw_only=True):
    """Settings of a training; see `Classifier`."""

    learner: str = "pa"
    views: tuple[str, ...] = ("iob2",)
    combine: str = "add"
    types: tuple[str, ...] = ("",)
    latent: str | int = "chunks"
    pairs: bool = True
    pa_type: str = "PA"
    aggressiveness: float = 1.0
    normalise: bool = True
    estimator: str = "pass"
    passes: int = 10
    patience: int | None = None
    cap: int = CAP
    inner_rounds: int = 50
    inner_passes: int = 10
    bound: bool = False
    min_count: int = 1
    seed: int = 1

    def decoding(self) -> forms.Decoding:
        """How kernels find structures."""
        return forms.Decoding(COMBINE[self.combine], self.normalise)

    def training(self) -> forms.Training:
        """How kernels learn."""
        learner = rule.Rule(rule.PA, aggressiveness=float(self.aggressiveness), variant=STEPS[self.pa_type])
        return forms.Training(self.decoding(), learner, self.cap)


def checked(settings: Settings) -> Settings:
    """The same, or UsageError."""
    for name, choices in (("learner", LEARNERS), ("combine", COMBINE), ("pa_type", STEPS), ("estimator", ESTIMATORS)):
        value = getattr(settings, name)
        if value not in choices:
            raise UsageError(f"{name}: there is no {value!r}; choose one of {', '.join(choices)}")
    view_names(settings.views)
    type_names(settings.types)
    check_latent(settings.latent)
    if settings.combine != "add" and (settings.latent != "chunks" or len(settings.views) < 2):
        raise UsageError(f"combine: {settings.combine} needs two chunk views or more, such as views=all")
    bounds = {
        "passes": (1, 100_000), "patience": (1, 100_000), "cap": (1, MOST_CAP), "inner_rounds": (1, 100_000),
        "inner_passes": (1, 100_000), "min_count": (1, 2**31), "seed": (0, 2**62),
    }  # fmt: skip
    for name, (low, high) in bounds.items():
        value = getattr(settings, name)
        if value is not None and (type(value) is not int or not low <= value <= high):
            raise UsageError(f"{name}: {value!r} is not a whole number from {low} to {high:,}")
    C = settings.aggressiveness
    if isinstance(C, bool) or not isinstance(C, int | float) or not (0 < C < math.inf):
        raise UsageError(f"aggressiveness: {C!r} is not a number above 0")
    if settings.bound and (settings.pa_type != "PA" or settings.learner != "pa"):
        raise UsageError("bound: the bound on the squared loss holds for the learner pa with pa_type PA")
    return settings
