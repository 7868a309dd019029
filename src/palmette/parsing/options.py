"""Options of a dependency parser."""

from __future__ import annotations

from typing import Any, cast

from palmette.options.clusters import CLUSTERS, RAW
from palmette.options.declare import OptionError, option
from palmette.options.learners import PARSER_LEARNERS, Learner
from palmette.options.search import CONTINUING, LIST_UPDATES, Beam, Search
from palmette.options.spelling import spelt
from palmette.options.training import (
    AVERAGES,
    MOST_COUNT,
    UNICODE,
    TrainingOptions,
    TrainingSettings,
    automatic_batch_size,
)

MAVG_EVERY = 4
MOST_VARIANTS = 16
INIT_SIZE = 0.01
HIDDEN_UPDATES = ("standard", "max-violation", "latest")  # with hidden variants


# Of the parser of a pipeline, which learns from jackknifed tags, features and lemmas; chosen on development data.
# The update is laso, that of a perceptron with a beam. Features of fewer than three states are not missed.
PIPELINE_SETTINGS: dict[str, Any] = {"features": "auto", "search": Beam(8), "passes": 10, "min_count": 3}


class TreeOptions(TrainingOptions):
    """Options that a parser is trained with and remembers."""

    unicode: str = UNICODE
    learner: Learner | str = option(default="perceptron", variants=PARSER_LEARNERS, help="How weights are learnt.")
    search: Search | str = option(
        default="beam", variants={"beam": Beam}, python_only=True, help="How trees are searched: always with a beam."
    )
    merge: bool = option(
        default=False, flag="merge-states", group="model",
        help="Merge states that no template can distinguish, by dynamic programming.",
    )  # fmt: skip
    variants: int = option(
        default=1, low=1, high=MOST_VARIANTS, group="model",
        help="Hidden variants of each arc, which training finds and templates may read (features latent).",
    )  # fmt: skip
    init_size: float = option(
        default=INIT_SIZE, flag="variants-init-size", low=0.0, high=100.0, group="model",
        help="Size of the random numbers that hidden variants start from.",
    )  # fmt: skip
    min_count: int = option(
        default=0, low=0, high=MOST_COUNT, group="features",
        help="Leave out features that occur in fewer states of the gold derivations of the training data (0: keep all, "
        "also those that only wrong states have).",
    )  # fmt: skip
    estimator: str = option(
        default="avg", choices=AVERAGES, group="training", help="Which weights come out of the training."
    )
    mavg_every: int | None = option(default=None, low=1, group="training", help="The k of mavg (default: 4).")
    non_projective: str = option(
        default="pseudo", group="data", help="Trees whose arcs cross.",
        choices={"pseudo": "lift arcs, and put them back after parsing", "skip": "leave the trees out"},
    )  # fmt: skip


class ParserOptions(TreeOptions):
    """All options of a `Parser`."""

    features: str | Any = option(
        default="auto", kw_only=False, short="f", group="features", metavar="auto|rich|basic|latent|FILE",
        path="input",
        help="Templates that fit the treebank (auto), a named set of them, or a file; see docs/parsing.md.",
    )  # fmt: skip
    clusters: dict | None = CLUSTERS
    raw: Any = RAW


class TreeSettings(TreeOptions, TrainingSettings):
    """Checked options of one training, every variant as a value."""

    @property
    def chosen_learner(self) -> Learner:
        return cast(Learner, self.learner)

    def with_batch_size_for(self, n_sentences: int) -> TreeSettings:
        """The settings with a size of batches for so many training sentences; left open if it is 1. Adaptive steps need
        that, and searches that go on after an update are better if they see it."""
        if self.batch_size is not None or self.chosen_learner.adaptive or self.beam.update in CONTINUING:
            return self
        return self.replace(batch_size=automatic_batch_size(n_sentences, self.chosen_learner.most_batch))

    @property
    def beam(self) -> Beam:
        """The beam with its update: laso for the perceptron without merging, else max-violation."""
        beam = cast(Beam, self.search)
        if beam.update is not None:
            return beam
        laso = self.chosen_learner.kind == "perceptron" and not self.merge and self.variants == 1
        return beam.replace(update="laso" if laso else "max-violation")

    def validate(self) -> None:
        self.check_stop_rule()
        learner, update = self.chosen_learner, self.beam.update
        if learner.kind != "perceptron" and update not in LIST_UPDATES:
            raise OptionError("update", f"{update} is for the perceptron; {learner.kind} has {', '.join(LIST_UPDATES)}")
        if learner.values().get("cost", "hamming") != "hamming":
            raise OptionError(
                "cost", "spans are for taggers; the cost of a tree is the number of its wrong actions", "margin-cost"
            )
        if self.beam.recombine is not None:
            raise OptionError(
                "recombine", f"is for taggers; a parser merges states with {spelt(TreeOptions, 'merge', True)}"
            )
        if learner.adaptive and self.batch_size not in (None, 1):
            raise OptionError("batch_size", f"{learner.kind} learns from trees one by one: leave it out")
        if self.variants > 1:
            self._check_hidden(str(update))
        elif self.init_size != INIT_SIZE:
            needed = spelt(TreeOptions, "variants", 2)
            raise OptionError("init_size", f"is for hidden variants: {needed}", "variants-init-size")
        if learner.from_forest and not self.merge:
            raise OptionError(
                "candidates", f"a forest is what merged states make: add {spelt(TreeOptions, 'merge', True)}"
            )
        if self.merge and update in CONTINUING:
            raise OptionError(
                "update", f"{update} continues from gold, where merged states have no scores; do not merge"
            )

    def _check_hidden(self, update: str) -> None:
        if self.merge:
            raise OptionError("merge", "does not apply to hidden variants, whose states are kept apart", "merge-states")
        if update not in HIDDEN_UPDATES:
            raise OptionError(
                "update",
                f"{update} cuts where gold leaves the beam, and with hidden variants gold has several derivations; "
                f"choose {', '.join(HIDDEN_UPDATES)}",
            )
