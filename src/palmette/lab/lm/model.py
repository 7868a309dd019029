"""A trained n-gram language model: what a model file stores."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from palmette.kernels.lm.score import Grams


class NgramModel(NamedTuple):
    """Words, n-grams and how they were estimated."""

    order: float
    min_count: int
    words: list[str]  # <unk>, <s> and </s> first
    grams: Grams
    sizes: list[int]  # n-grams of each order
    discounts: list[tuple[float, float, float]]  # of each order; empty if unknown
    fell_back: list[int]  # orders whose discounts are the fixed ones
    seen: np.ndarray | None  # u64[]: hashes of the training sentences; None if unknown
    unicode: str = "none"  # the form of the words
    lower: Grams | None = None  # of a mixture, see mixture.py
