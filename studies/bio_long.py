"""Bio-entities with as many passes as published: the rows of Sun et al. (2009, table 2), five seeds, and their tests.

The settings are those that the search (studies/bio_latent.py) found on the development file, and at one cut-off the
published number of states beside them. The pass is the best one on the development file, of 60 at order 1 and 24 at
order 2. The outcome of each run by token and by sentence is kept beside the record until rows are compared.
"""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any, NamedTuple

from palmette import Tagger
from palmette.data import FormatSpec
from palmette.data.formats.registry import read_corpus
from studies.common import DOCS, Cell
from studies.paired import kept

SEEDS = (1, 2, 3, 4, 5)
PASSES = {1: 60, 2: 24}  # by order
PLAIN, FOUR = "perceptron", "latent, 4 states"
# Cut-off and order of the rows with the published number of states
FOUR_AT = ((15, 1),)


class Row(NamedTuple):
    """A method at a cut-off and an order."""

    method: str
    states: int
    settings: dict[str, Any]
    cut: int
    order: int

    def what(self, seed: int) -> Cell:
        return {"stage": "long test", "method": self.method, "cut": self.cut, "order": self.order, "seed": seed,
                "states": self.states}  # fmt: skip

    def output(self, seed: int) -> Path:
        name = self.method.replace(", ", "_").replace(" ", "_")
        return DOCS / "runs" / f"bio_long-{name}-{self.cut}-{self.order}-{seed}.npz"


def tested(row: Row, tagger: Tagger, data: Path, seed: int, begun: float) -> Cell:
    """F on test of a tagger that has the best pass on the development file, and the curve there."""
    seconds = time.process_time() - begun
    return {
        "f1": kept(row.output(seed), tagger, read_corpus(data / "jnlpba" / "test.txt", FormatSpec())),
        "dev": [round(100 * log["dev"], 3) for log in tagger.training_log_],
        "passes": tagger.outcome_.best_epoch,
        "cpu": round(seconds, 1),
    }
