"""`LanguageModel`: n-grams from sentences, probabilities of sentences, and sentences from probabilities.

    model = LanguageModel().fit_file("text.txt")      # a sentence a line, words between spaces
    model.perplexity(["the film is good ."])
    model.sample(3, seed=1)

Estimates: `estimate.py`. Files: `files.py`. Mixtures of two orders, and sampling: `ngrams.py`.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np

from palmette.data.files import FilePath
from palmette.data.text import NFC, NONE, PLAIN, TextSpec, in_form
from palmette.display import drawn_by
from palmette.errors import DataError, UsageError, counted, not_fitted
from palmette.estimators.base import Estimator
from palmette.evaluation.record import Cell, Inspection, Main, Part, Scores, Strong
from palmette.lab.kernels.ngrams import BEGIN, ROOT, UNKNOWN, Grams, Source
from palmette.lab.kernels.text import sentence_hashes
from palmette.lab.lm.estimate import RESERVED, WordNumbers, check_words, estimate, vocabulary_of
from palmette.lab.lm.ngrams import Drawn, Mixture, Progress, Wishes, allowed_words, draw, split_order
from palmette.lab.lm.options import NgramOptions
from palmette.lab.sentences import AnySentence, Sentences, read_sentences, sentences_of
from palmette.options.declare import OptionError
from palmette.options.spelling import argument

# How probable a text is: sums over its words, with and without the unknown words


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


logger = logging.getLogger(__name__)
MAX_LENGTH, LONGEST = 100, 10_000  # words of a sampled sentence: default limit, and largest limit
Texts = Iterable[AnySentence] | Sentences


class LanguageModel(NgramOptions, Estimator):
    """N-grams with interpolated modified Kneser-Ney smoothing.

    After `fit`: `vocabulary_` (with <unk>, <s> and </s> first), `sizes_` (n-grams of each order), `discounts_`, and
    `fell_back_`, the orders whose discounts are the fixed ones since the text is too small.
    """

    _repr_html_ = drawn_by("reports.notebook:model")

    # --- learning ---------------------------------------------------------------------------------------------

    def fit(self, sentences: Texts) -> LanguageModel:
        """Learn from sentences: strings of words separated by white space, or lists of words."""
        self._check_values()
        text = _texts(sentences)
        if not text.n_tokens:
            raise DataError("no word to learn from", file=text.source)
        check_words(text)
        vocabulary = vocabulary_of(text, self.min_count, self.unicode)
        size = f"{counted(text.n_sentences, 'sentence')}, {counted(text.n_tokens, 'token')}"
        size += f", {counted(len(vocabulary) - 3, 'word')}"
        logger.info("%s", size)
        ids = vocabulary.of(text.words)
        found = estimate(ids, text.offset, len(vocabulary), self.order, logger.info)
        self._set(vocabulary, Mixture(found.grams, found.lower, split_order(self.order)[1]), found.sizes)
        self.discounts_, self.fell_back_ = found.discounts, found.fell_back
        self.seen_: np.ndarray | None = np.unique(sentence_hashes(ids, text.offset))
        return self

    def fit_file(self, *paths: FilePath, spec: TextSpec = PLAIN) -> LanguageModel:
        """Learn from files with one sentence per line. spec: their encoding."""
        return self.fit(read_sentences(*paths, spec=spec))

    def _set(self, vocabulary: WordNumbers, mixture: Mixture, sizes: Sequence[int]) -> None:
        self._vocabulary, self._mixture, self.sizes_ = vocabulary, mixture, list(sizes)
        self.vocabulary_ = vocabulary.words
        self._source: Source | None = None

    def _fitted(self) -> tuple[WordNumbers, Mixture]:
        if not hasattr(self, "_mixture"):
            raise not_fitted("LanguageModel")
        return self._vocabulary, self._mixture

    # --- probabilities ----------------------------------------------------------------------------------------

    def log_likelihood(self, sentence: AnySentence) -> float:
        """The natural logarithm of a sentence's probability, its end included."""
        return float(self.sentence_scores([sentence]).logprob[0])

    def perplexity(self, sentences: Texts) -> float:
        """exp(-logprob / (tokens + sentences)), unknown words included; `evaluate` has it without them too."""
        return self.evaluate(sentences).perplexity

    def evaluate(self, sentences: Texts) -> TextScore:
        """The figures of a text."""
        return self.sentence_scores(sentences).together()

    def score(self, sentences: Texts) -> float:
        """Mean natural logarithm of the probability per word, ends of sentences included: -log(perplexity)."""
        found = self.evaluate(sentences)
        return found.logprob / (found.tokens + found.sentences)

    def predict(self, sentences: Texts) -> list[str]:
        """The most probable word after the words of each sentence; `</s>`: its end."""
        self._fitted()
        made = []
        for words in _texts(sentences).texts():
            p = self.distribution(words)
            p[: len(RESERVED) - 1] = 0.0  # <unk> and <s> are not words
            made.append(self.vocabulary_[int(p.argmax())])
        return made

    def sentence_scores(self, sentences: Texts) -> SentenceScores:
        """The figures of each sentence."""
        vocabulary, mixture = self._fitted()
        text = _texts(sentences)
        check_words(text)
        ids = vocabulary.of(text.words)
        return sentence_scores(mixture.word_probabilities(ids, text.offset), ids, text.offset)

    def distribution(self, context: AnySentence = ()) -> np.ndarray:
        """P(word | words before it in its sentence), f64[V], in the order of `vocabulary_`."""
        vocabulary, (grams, lower, share) = self._fitted()
        text = sentences_of([context])
        check_words(text)
        words = vocabulary.of(text.words).tolist() if text.n_tokens else []
        p = _distribution(grams, words, len(vocabulary))
        return p if lower is None else share * p + (1.0 - share) * _distribution(lower, words, len(vocabulary))

    def probability(self, word: str, context: AnySentence = ()) -> float:
        """P(word | words before it in its sentence)."""
        self._fitted()
        return float(self.distribution(context)[self._vocabulary.of_words([word])[0]])

    # --- samples ----------------------------------------------------------------------------------------------

    def sample(self, n: int = 1, **conditions: Any) -> list[list[str]]:
        """n sentences; for the conditions see `draw`."""
        drawn = self.draw(n, **conditions)
        words, marks = [self.vocabulary_[w] for w in drawn.ids.tolist()], drawn.offset.tolist()
        return [words[a:b] for a, b in pairwise(marks)]

    def draw(
        self,
        n: int = 1,
        *,
        seed: int = 1,
        max_length: int = MAX_LENGTH,
        vocabulary: Iterable[str] | None = None,
        lengths: Iterable[int] | None = None,
        new: bool = False,
        exclude: Texts | None = None,
        progress: Progress | None = None,
    ) -> Drawn:
        """A sample as numbers of words, with what it took. Equal seeds give equal samples.

        max_length: longer sentences are dropped; vocabulary: so are those with other words than these, and always those
        with <unk>; lengths: lengths of sentences whose histogram is matched; new: no sentence of the training text;
        exclude: none of these sentences.
        """
        words, mixture = self._fitted()
        if n < 1 or not 1 <= max_length <= LONGEST or seed < 0:
            raise UsageError(f"sample: n must be 1 or more, max_length 1 to {LONGEST:,}, seed 0 or more")
        if self._source is None:
            self._source = mixture.source(len(words))
        wanted = None if vocabulary is None else words.of_words(list(vocabulary))
        wishes = Wishes(n, max_length, allowed_words(len(words), wanted), self._unwanted(new, exclude))
        if lengths is not None:
            wishes.lengths = np.asarray(list(lengths), np.int64)
        return draw(self._source, wishes, seed, progress)

    def _unwanted(self, new: bool, exclude: Texts | None) -> np.ndarray:
        """Hashes of sentences that a sample must not hold, sorted."""
        found = [np.zeros(0, np.uint64)]
        if new:
            if self.seen_ is None:
                raise OptionError(
                    "new", f"an ARPA file does not know its training sentences\n  give them: {argument('exclude')}"
                )
            found.append(self.seen_)
        if exclude is not None:
            text = _texts(exclude)
            found.append(sentence_hashes(self._vocabulary.of(text.words), text.offset))
        return np.unique(np.concatenate(found))

    # --- files ------------------------------------------------------------------------------------------------

    def save(self, path: FilePath, *, arpa: bool | None = None) -> None:
        """Write a model file, or an ARPA file when asked or when the name ends in .arpa or .arpa.gz."""
        from palmette.lab.lm.files import NgramModel, is_arpa_name, save, write_arpa

        vocabulary, (grams, lower, _) = self._fitted()
        if is_arpa_name(path) if arpa is None else arpa:
            self.check_arpa()
            write_arpa(path, vocabulary.words, grams, self.sizes_)
            return
        estimates = (grams, self.sizes_, self.discounts_, self.fell_back_, self.seen_)
        save(NgramModel(self.order, self.min_count, vocabulary.words, *estimates, vocabulary.unicode, lower), path)

    def check_arpa(self) -> None:
        """UsageError if an ARPA file cannot hold a model of this order."""
        if split_order(self.order)[1] < 1:
            raise UsageError(f"order {self.order:g} is a mixture of two models, which an ARPA file cannot hold")

    @classmethod
    def load(cls, path: FilePath, *, copy: bool = False) -> LanguageModel:
        """Read a model file or an ARPA file, whichever the content is. A model file is mapped; `copy` reads it into
        memory instead: for files that may be overwritten in place while the model is in use."""
        from palmette.lab.lm.files import load, looks_like_arpa, read_arpa

        if not looks_like_arpa(path):
            found = load(path, copy=copy)
            model = cls(found.order, min_count=found.min_count, unicode=found.unicode)
            share = split_order(found.order)[1]
            mixture = Mixture(found.grams, found.lower, share)
            model._set(WordNumbers(found.words, found.unicode), mixture, found.sizes)
            model.discounts_, model.fell_back_, model.seen_ = found.discounts, found.fell_back, found.seen
            return model
        words, grams, sizes = read_arpa(path)
        # Words of a text in NFC cannot be other words of the file, whose form is unknown.
        form = NFC if in_form(words, NFC) == words else NONE
        model = cls(len(sizes), unicode=form)
        model._set(WordNumbers(words, form), Mixture(grams), sizes)
        model.discounts_, model.fell_back_, model.seen_ = [], [], None
        return model


def _distribution(grams: Grams, words: Sequence[int], n_words: int) -> np.ndarray:
    """P(word | words at the beginning of a sentence), f64[V]."""
    at = BEGIN  # the longest n-gram that ends here
    for w in words:
        while at != ROOT and (found := _child(grams, at, w)) < 0:
            at = int(grams.suffix[at])
        at = w if at == ROOT else found
    chain = [at]
    while chain[-1] != ROOT:
        chain.append(int(grams.suffix[chain[-1]]))
    p = grams.p[:n_words].copy()
    for g in reversed(chain[:-1]):
        own = slice(grams.first[g], grams.first[g + 1])
        p *= grams.backoff[g]
        p[grams.word[own]] = grams.p[own]
    return np.asarray(p)


def _child(grams: Grams, g: int, w: int) -> int:
    """As `find_child`, from Python."""
    low, high = int(grams.first[g]), int(grams.first[g + 1])
    k = low + int(np.searchsorted(grams.word[low:high], w))
    return k if k < high and grams.word[k] == w else -1


def _texts(given: Texts) -> Sentences:
    return given if isinstance(given, Sentences) else sentences_of(given)


def inspect_language_model(model: LanguageModel, top: int = 0, labels: int | None = None) -> Inspection:
    """Sizes, and the discounts of each order."""
    rows: list[list[Cell]] = [
        [f"{n}-grams", *(f"{value:.4f}" for value in row)] for n, row in enumerate(model.discounts_, 1)
    ]
    width = max((len(row) - 1 for row in rows), default=0)
    heads = ["discounts", *(f"seen {n}{' and more' if n == width else ''}" for n in range(1, width + 1))]
    facts = {
        "order": str(model.order),
        "words": f"{len(model.vocabulary_):,}",
        "n-grams": ", ".join(f"{size:,} of {n}" for n, size in enumerate(model.sizes_, 1)),
        "fixed discounts": ", ".join(f"order {n}" for n in model.fell_back_),
    }
    about = {
        "task": "lm", "order": model.order, "min_count": model.min_count, "words": len(model.vocabulary_),
        "sizes": model.sizes_, "discounts": model.discounts_, "fell_back": model.fell_back_,
    }  # fmt: skip
    return Inspection(facts, about, tables=[Part("", heads, rows)] if rows else [])
