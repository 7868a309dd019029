"""Options that several commands of pipelines share."""

from __future__ import annotations

from palmette.options.declare import Options, option
from palmette.options.search import MOST_BEAM


class RunningOptions(Options):
    """Options of commands that run a pipeline."""

    beam: int | None = option(
        default=None, low=1, high=MOST_BEAM,
        help="States that the parser's search keeps (default: as in training); 1 is greedy and fastest.",
    )  # fmt: skip
    threads: int = option(default=1, low=1, help="Threads to work with.")
