"""How uncertain a model is of a sentence: the choices of `palmette pick --by`."""

from __future__ import annotations

MEASURES = {
    "confidence": "1 - P^(1/n): the confidence P of the best labels, per token",
    "margin": "1 / (1 + d): the difference d of the scores of the two best label sequences",
    "entropy": "the mean entropy of the tokens' labels, divided by the largest possible one",
}
