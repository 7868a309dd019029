"""Options of a search for the best options of a tagger."""

from __future__ import annotations

from palmette.options.declare import Options, option

TRIALS = 27


class TuningOptions(Options):
    """How much is tried, and where."""

    trials: int | None = option(
        default=None, low=1,
        help=f"Settings to try (default: {TRIALS}, or as many as fit into --minutes). The same number and seed try "
        "the same settings and give the same result.",
    )  # fmt: skip
    minutes: float | None = option(
        default=None, above=0.0, help="End the search after this many minutes, with the best settings found until then."
    )
    halving: bool = option(
        default=True,
        help="Train all settings a little, the best third of them more, and so on; few are trained in full (off: all "
        "are).",
    )  # fmt: skip
    threads: int | None = option(
        default=None, low=1, help="Trainings at a time (default: one per core); the result is the same for any number."
    )
    ray: str | None = option(
        default=None, metavar="ADDRESS",
        help="Train on the machines of a Ray cluster: its address, auto (the one that this machine belongs to), or "
        "local (start one on this machine); needs the extra `ray`.",
    )  # fmt: skip
    record: str | None = option(
        default=None, metavar="FILE", path="output",
        help="Where results are kept, one per line; a search that is run again takes them from there.",
    )  # fmt: skip
