"""What all learners have in common, and the structures that they may apply to."""

from __future__ import annotations

from typing import ClassVar

from palmette.kernels.learning.rule import Rule
from palmette.options.declare import Value

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
