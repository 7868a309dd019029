"""How probable a text is: sums over its words, with and without those that the model does not know."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from palmette.evaluation.record import Cell, Main, Part, Scores, Strong
from palmette.kernels.lm.score import UNKNOWN


class TextScore(Scores, frozen=True):
    """Figures of a text. Logarithms are natural; the end of each sentence counts as a word in perplexities."""

    sentences: int
    tokens: int
    unknown: int  # tokens that the model does not know
    logprob: float
    perplexity: float
    perplexity_without_unknown: float  # their probabilities left out; they are still contexts

    told = ("sentences", "tokens", "unknown", "logprob", "perplexity", "perplexity_without_unknown")

    def main(self) -> Main:
        return Main("perplexity", self.perplexity)

    def parts(self) -> Iterator[Part]:
        without = self.perplexity_without_unknown
        rows: list[tuple[Cell, ...]] = [
            ("sentences", self.sentences, "tokens", self.tokens),
            ("unknown", self.unknown, "share", self.unknown / self.tokens if self.tokens else None),
            ("perplexity", Strong(f"{self.perplexity:,.2f}"), "without unknown words", f"{without:,.2f}"),
        ]
        yield Part("", (), rows)


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
