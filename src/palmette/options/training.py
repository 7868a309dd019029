"""Options of every training that passes over the data: how long, in which order, and which weights come out."""

from __future__ import annotations

from palmette.options.declare import Options, option

PASSES = 10
MOST_PASSES = 100  # with patience, and of L-BFGS, if the number of passes is left open
MOST_COUNT = 1_000_000_000  # that kernels compare with numbers of occurrences
AVERAGES = {
    "avg": "mean of the weights after every example",
    "mavg": "the same mean, from which learning starts again every k-th pass",
    "last": "the weights after the last example",
}


class TrainingOptions(Options):
    """Shared by taggers, parsers and classifiers."""

    passes: int | None = option(
        default=None, low=1, group="training",
        help=f"Passes over the data (default: {PASSES}; with --patience at most {MOST_PASSES}).",
    )  # fmt: skip
    patience: int | None = option(
        default=None, low=1, group="training",
        help="Stop after this many passes without a better score on the development data.",
    )  # fmt: skip
    seed: int = option(
        default=1, low=0, high=2**62, group="training", help="The same seed gives the same model, bit for bit."
    )

    def n_passes(self) -> int:
        """The number of passes in effect."""
        if self.passes is not None:
            return self.passes
        return MOST_PASSES if self.patience is not None else PASSES
