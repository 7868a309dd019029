"""Options that several commands of pipelines share."""

from __future__ import annotations

from palmette.cli.common import ThreadOptions
from palmette.options.declare import option
from palmette.options.search import MOST_BEAM


class RunningOptions(ThreadOptions):
    """Options of commands that run a pipeline."""

    beam: int | None = option(
        default=None, low=1, high=MOST_BEAM,
        help="States that the parser's search keeps (default: as in training); 1 is greedy and fastest.",
    )  # fmt: skip
