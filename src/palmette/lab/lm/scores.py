"""How probable a text is: sums over its words, with and without those that the model does not know."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from palmette.display import drawn_by
from palmette.kernels.lm.score import UNKNOWN


@dataclass(frozen=True, slots=True)
class TextScore:
    """Figures of a text. Logarithms are natural; the end of each sentence counts as a word in perplexities."""

    sentences: int
    tokens: int
    unknown: int  # tokens that the model does not know
    logprob: float
    perplexity: float
    perplexity_without_unknown: float  # their probabilities left out; they are still contexts

    _repr_html_ = drawn_by("notebook_scores:text_score")


@dataclass(frozen=True)
class SentenceScores:
    """Figures of each sentence, as arrays."""

    tokens: np.ndarray  # i64[S]
    unknown: np.ndarray  # i64[S]
    logprob: np.ndarray  # f64[S]
    known_logprob: np.ndarray  # f64[S]  without the unknown words

    def together(self) -> TextScore:
        tokens, unknown, ends = int(self.tokens.sum()), int(self.unknown.sum()), self.tokens.size
        return TextScore(
            ends, tokens, unknown, float(self.logprob.sum()),
            _perplexity(float(self.logprob.sum()), tokens + ends),
            _perplexity(float(self.known_logprob.sum()), tokens + ends - unknown),
        )  # fmt: skip


def _perplexity(logprob: float, n: int) -> float:
    return float(np.exp(min(-logprob / n, 700.0))) if n and np.isfinite(logprob) else float("inf" if n else "nan")


def sentence_scores(p: np.ndarray, ids: np.ndarray, offset: np.ndarray) -> SentenceScores:
    """From the probabilities of all words and ends, as `score_words` gives them."""
    with np.errstate(divide="ignore"):
        log = np.log(p)
    S = offset.size - 1
    sentence = np.repeat(np.arange(S), np.diff(offset) + 1)
    known = np.ones(p.size, bool)
    known[np.arange(ids.size) + np.repeat(np.arange(S), np.diff(offset))] = ids != UNKNOWN
    return SentenceScores(
        np.diff(offset), np.bincount(sentence, ~known, S).astype(np.int64), np.bincount(sentence, log, S),
        np.bincount(sentence[known], log[known], S),
    )  # fmt: skip
