"""From settings to the numbers that compiled loops learn by."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from palmette.evaluation.spans import ChunkTables
from palmette.kernels.chain.costs import Chunks, no_chunks
from palmette.kernels.learning.rule import (
    CAPPED,
    HARD,
    LINEAR,
    MIRA,
    PA,
    PERCEPTRON,
    POLYNOMIAL,
    PROBPERC,
    SOFT,
    SOFTMAX,
    Rule,
)
from palmette.options.settings import RATES, Settings, n_candidates

VARIANTS = {"PA": HARD, "PA-I": CAPPED, "PA-II": SOFT}
FUNCTIONS = {"softmax": SOFTMAX, "linear": LINEAR, "polynomial": POLYNOMIAL}
LISTING = ("perceptron", "probperc", "pa", "mira")  # learners over gold and candidates


def rule_for(settings: Settings, n_examples: int) -> Rule:
    """The rule of a learner over gold and candidates."""
    C = float(settings.aggressiveness)
    if settings.learner == "perceptron":
        return Rule(PERCEPTRON)
    if settings.learner == "pa":
        return Rule(PA, aggressiveness=C, variant=VARIANTS[settings.pa_type])
    most = n_candidates(settings) if settings.beam is None else min(n_candidates(settings), settings.beam)
    if settings.learner == "mira":
        return Rule(MIRA, most, aggressiveness=C)
    return Rule(
        PROBPERC,
        most,
        rate=float(RATES["probperc"] if settings.rate is None else settings.rate),
        decay=1.0 / max(1, n_examples) if settings.rate_schedule == "falling" else 0.0,
        function=FUNCTIONS[settings.probability_function],
        degree=float(settings.degree),
        add_gold=settings.add_gold,
        on_errors=settings.when == "errors",
    )


def chunks_for(settings: Settings, labels: Sequence[str]) -> Chunks:
    """Tables for the cost of spans; empty if the cost is that of tokens."""
    if settings.cost != "span":
        return no_chunks()
    tables = ChunkTables.of(labels)
    return Chunks(tables.starts, tables.ends, np.asarray(tables.type_of, np.int64))
