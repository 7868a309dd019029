"""A language model: n-grams with interpolated modified Kneser-Ney smoothing, its probabilities, and samples from it."""

from __future__ import annotations

from palmette.lm.model import LanguageModel

__all__ = ["LanguageModel"]
