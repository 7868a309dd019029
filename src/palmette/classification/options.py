"""Options of a classifier over latent structures."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, cast

from palmette.options.chain import NAMED_FEATURES
from palmette.options.declare import OptionError, option
from palmette.options.learners import CLASSIFIER_LEARNERS, BatchLatent, Learner, PassiveAggressive
from palmette.options.training import (
    AVERAGES,
    PASSES,
    UNICODE,
    TrainingOptions,
    TrainingSettings,
    automatic_batch_size,
)

if TYPE_CHECKING:
    from palmette.classification.kernels.forms import Decoding, Training

# Representations of a chunking, and other names that people use for them
VIEWS = {"iob1": "IOB1", "iob2": "IOB2", "ioe1": "IOE1", "ioe2": "IOE2", "o+c": "IOBES"}
_OTHER_NAMES = {"iobes": "o+c", "bioes": "o+c", "bio": "iob2"}
MOST_TYPES = 200
MOST_LATENT = 256
TYPES = 4  # of chunks by default: on real data five views gain much from several, see docs/benchmarks.md
MOST_BATCH = 4  # chosen by itself: accuracy is that of one by one; batches of 16 lose five points
COMBINE = {
    "add": "each view has its own structure",
    "vote": "all views take the majority's structure",
    "cotrain": "each view takes the structure of the others",
    "joint": "all views take the structure with the best sum of their scores",
}


def combine_number(name: str) -> int:
    """The number of a way to combine views in kernels, which import NumPy: `--help` does not wait for that."""
    from palmette.classification.kernels import forms

    numbers = (forms.ADD, forms.VOTE, forms.COTRAIN, forms.JOINT)
    return dict(zip(COMBINE, numbers, strict=True))[name]


def view_names(given: str | Sequence[str]) -> tuple[str, ...]:
    """`all`, names separated by commas, or a list of names; each at most once."""
    if isinstance(given, str):
        asked = given.replace(",", " ").split()
    else:
        asked = list(given) if isinstance(given, list | tuple) else [str(given)]
    if asked == ["all"]:
        return tuple(VIEWS)
    names = tuple(_OTHER_NAMES.get(str(name).lower(), str(name).lower()) for name in asked)
    strange = [name for name in names if name not in VIEWS]
    if strange or not names:
        found = strange[0] if strange else "nothing"
        raise OptionError("views", f"{found!r}: choose all, or some of {', '.join(VIEWS)}")
    if len(set(names)) < len(names):
        raise OptionError("views", f"{', '.join(names)}: name each view once")
    return names


def type_names(given: int | Sequence[str]) -> tuple[str, ...]:
    """Chunk types: a number of them, or their names. A single type has no name: its tags are bare letters."""
    if isinstance(given, int):
        if not 1 <= given <= MOST_TYPES:
            raise OptionError("types", f"{given} is not between 1 and {MOST_TYPES}")
        return ("",) if given == 1 else tuple(f"T{k}" for k in range(1, given + 1))
    names = tuple(given) if isinstance(given, list | tuple) else ()
    if not all(isinstance(name, str) and " " not in name for name in names) or any(not name for name in names[1:]):
        names = ()
    if not names or not len(set(names)) == len(names) <= MOST_TYPES:
        raise OptionError("types", f"{given!r} is not a number or a list of different names")
    return names


def check_latent(latent: object) -> None:
    if latent in ("chunks", "none") or (type(latent) is int and 2 <= latent <= MOST_LATENT):
        return
    raise OptionError("latent", f"{latent!r}: choose chunks, none, or a number of states from 2 to {MOST_LATENT}")


def _parse_types(text: str) -> int | tuple[str, ...]:
    return int(text) if text.isdecimal() else tuple(text.replace(",", " ").split())


def _parse_latent(text: str) -> int | str:
    return int(text) if text.isdecimal() else text


class LatentOptions(TrainingOptions):
    """Options that a classifier is trained with and remembers."""

    unicode: str = UNICODE
    # The margin of a class is 1 and features are normalised, so the whole step of PA is the sensible default here.
    learner: Learner | str = option(
        default=PassiveAggressive(pa_type="PA", aggressiveness=1.0), variants=CLASSIFIER_LEARNERS,
        help="How weights are learnt (default: pa with the whole step).",
    )  # fmt: skip
    views: str | tuple | list = option(
        default=("iob2",), group="model", metavar="all|NAME,...", check=lambda given: void(view_names(given)),
        help=f"Representations of the latent chunking: all, or some of {', '.join(VIEWS)}.",
    )  # fmt: skip
    combine: str = option(
        default="add", choices=COMBINE, group="model", help="How several views are combined (Clifton et al. 2013)."
    )
    types: int | tuple | list | None = option(
        default=None, group="model", metavar="N|NAME,...", parse=_parse_types,
        check=lambda given: void(type_names(given)),
        help=f"Chunk types: how many, or their names (default: {TYPES}, or those of the chunker that it starts from).",
    )  # fmt: skip
    latent: str | int = option(
        default="chunks", group="model", metavar="chunks|none|N", parse=_parse_latent, check=check_latent,
        help="The latent structure: chunks, a number of general states, or none (words alone).",
    )  # fmt: skip
    pairs: bool = option(default=True, group="model", help="Weights for pairs of tags.")
    normalise: bool = option(default=True, group="model", help="Divide the features of a sentence by their length.")
    # A mean over the last pass: negatives are decoded until they are right, so early passes weigh down a mean of all.
    estimator: str = option(
        default="pass", group="training", help="Which weights come out of the training.",
        choices={"avg": AVERAGES["avg"], "pass": "mean over the last pass", "last": AVERAGES["last"]},
    )  # fmt: skip
    passes: int | None = option(
        default=None,
        low=1,
        group="training",
        help=f"Passes over the data (default: {PASSES}, also with --patience and --stop-window).",
    )
    cap: int = option(
        default=20, flag="negative-cap", low=1, high=10_000, group="training",
        help="Decodings of a negative sentence per pass, at most.",
    )  # fmt: skip
    bound: bool = option(default=False, group="training", help="Measure the bound on the squared loss (pa, PA).")
    min_count: int = option(default=1, low=1, group="features", help="Leave out attributes that occur less often.")


def parse_helper(text: str) -> str:
    """The file of `pos=FILE`, which may be given without the name of what it makes."""
    return text.removeprefix("pos=")


def _parse_range(text: str) -> float | str:
    try:
        return float(text)
    except ValueError:
        return text


def _check_range(given: Any) -> None:
    if given != "auto" and not (isinstance(given, int | float) and 0 < given < math.inf):
        raise OptionError("init_range", f"{given!r} is not a number above 0, nor auto", "chunker-init-range")


class ClassifierOptions(LatentOptions):
    """All options of a `Classifier`."""

    features: str = option(
        default="ngrams", kw_only=False, choices=NAMED_FEATURES, short="f", group="features",
        help="A named template set.",
    )  # fmt: skip
    template: str | Any = option(
        default=None,
        short="t",
        group="features",
        metavar="FILE",
        path="input",
        help="A template file instead of a named set.",
    )
    init: str | Any = option(
        default=None, flag="chunker-init", group="model", metavar="MODEL", path="input",
        help="A supervised chunker (a Tagger, or its file) to start from.",
    )  # fmt: skip
    init_range: float | str = option(
        default="auto", flag="chunker-init-range", group="model", metavar="NUMBER|auto", parse=_parse_range,
        check=_check_range,
        help="Largest weight of the chunker after scaling; auto: that of a short training from zero.",
    )  # fmt: skip
    tagger: str | Any = option(
        default=None, flag="with", group="data", metavar="[pos=]MODEL", path="input", parse=parse_helper,
        help="A tagger (a Tagger, or its file) that adds parts of speech to sentences of bare words.",
    )  # fmt: skip
    dev_share: float | None = option(
        default=None, above=0.0, high=1.0, group="training",
        help="Hold out this share of the training sentences of each class as development data, such as 0.1.",
    )  # fmt: skip


def void(given: object) -> None:
    """Use a function that returns something as a check."""


class LatentSettings(LatentOptions, TrainingSettings):
    """Checked options of one training; views and types as tuples of names, every variant as a value."""

    def __init__(self, *given: Any, **named: Any) -> None:
        views, types = named.get("views", ("iob2",)), named.get("types")
        named["views"] = view_names(views)
        named["types"] = type_names(TYPES if types is None else types)
        super().__init__(*given, **named)

    @property
    def chosen_learner(self) -> Learner:
        return cast(Learner, self.learner)

    @property
    def view_names(self) -> tuple[str, ...]:
        return cast(tuple[str, ...], self.views)

    @property
    def chunk_types(self) -> tuple[str, ...]:
        return cast(tuple[str, ...], self.types)

    def with_batch_size_for(self, n_sentences: int) -> LatentSettings:
        """The settings with a size of batches for so many training sentences; left open if it is 1. Steps of larger
        batches, found with the same weights, add up to too much: features of tags are shared by all sentences. With
        several views any batch costs accuracy."""
        if self.batch_size is not None or isinstance(self.learner, BatchLatent) or len(self.view_names) > 1:
            return self
        return self.replace(batch_size=automatic_batch_size(n_sentences, MOST_BATCH))

    def decoding(self) -> Decoding:
        """How kernels find structures."""
        from palmette.classification.kernels.forms import Decoding

        return Decoding(combine_number(self.combine), self.normalise)

    def training(self, n_examples: int) -> Training:
        """How kernels learn."""
        from palmette.classification.kernels.forms import Training

        return Training(self.decoding(), self.chosen_learner.rule(n_examples), self.cap)

    def n_passes(self) -> int:
        return self.passes if self.passes is not None else PASSES

    def validate(self) -> None:
        self.check_stop_rule()
        if self.combine != "add" and (self.latent != "chunks" or len(self.views) < 2):
            raise OptionError("combine", f"{self.combine} needs two chunk views or more, such as views=all")
        learner = self.chosen_learner
        if isinstance(learner, BatchLatent) and self.batch_size not in (None, 1):
            raise OptionError("batch_size", f"{learner.kind} decodes all sentences with the same weights: leave it out")
        if (learner.values().get("nbest") or 1) > 1:
            raise OptionError("nbest", "a classifier has one candidate per sentence: the other class", "learner-nbest")
        if learner.values().get("cost", "hamming") != "hamming":
            raise OptionError("cost", "spans are for taggers; a wrong class costs 1", "margin-cost")
        if learner.from_forest:
            raise OptionError("candidates", "a forest is what parsers with merged states have; leave it out")
        if self.bound and not (learner.kind == "pa" and learner.values()["pa_type"] == "PA"):
            raise OptionError("bound", "the bound on the squared loss holds for the learner pa with pa_type PA")
