"""Which sentences are most worth annotating: those that a model is least sure of, and that are not like each other.

Uncertainty u of a sentence of n tokens, from 0 to 1 (`by`):

confidence  1 - P^(1/n), P being the confidence of the best labels: least confidence, per token
margin      1 / (1 + d), d being the difference of the scores of the best and the second-best labels
entropy     the mean entropy of the tokens' label distributions, divided by that of a uniform one

Novelty v is the share of the sentence's distinct word pairs (neighbours; the ends of the sentence count as words) that
no sentence has that was picked before or is excluded. Sentences are picked one by one, always the one with the
largest u * v^diversity, the first of several. A sentence without any new pair is not picked, so that there are no
duplicates. With diversity 0 only u counts, and duplicates are possible. Excluded sentences are never picked.
"""

from __future__ import annotations

import heapq
import logging
from collections.abc import Callable, Iterable, Sequence
from itertools import pairwise
from typing import Any, NamedTuple

import msgspec
import numpy as np

from palmette.data.corpus import Corpus
from palmette.data.files import FilePath, check_apart
from palmette.data.formats.registry import noted, sentence_texts, stream_corpus
from palmette.data.formats.spec import FormatSpec
from palmette.data.items import corpus_from_items
from palmette.data.labels.mask import LabelMask
from palmette.data.text import write_text
from palmette.errors import counted
from palmette.estimators.tagger import Tagger
from palmette.evaluation.findings import DataView, mixed
from palmette.options.declare import OptionError
from palmette.options.search import MEASURES
from palmette.structures.chain.files import spec_for, with_columns
from palmette.structures.chain.model import ChainModel
from palmette.structures.chain.nbest import nbest_lists
from palmette.structures.chain.posteriors import confidence_of, log_posterior
from palmette.structures.chain.python_data import mode_of

logger = logging.getLogger(__name__)

UNCERTAINTY = "uncertainty"
_OUTSIDE, _MANY = np.uint64(0x2545F4914F6CDD1D), np.uint64(0x100000001B3)


class Picked(NamedTuple):
    """A sentence that was picked: its number from 0, its uncertainty, its novelty then, and u * v^diversity."""

    sentence: int
    uncertainty: float
    novelty: float
    score: float


class Pool:
    """Sentences to choose from: how uncertain each is, and its word pairs."""

    def __init__(self) -> None:
        self.uncertainty: list[float] = []
        self.keys: list[bytes] = []
        self.pairs: list[np.ndarray] = []  # of each sentence u64[], distinct

    def add(self, corpus: Corpus, uncertainty: np.ndarray) -> None:
        view = DataView(corpus)
        self.uncertainty += uncertainty.tolist()
        self.keys += view.sentence_words
        self.pairs += word_pairs(view.words, corpus.offset)

    def pick(self, n: int, diversity: float, excluded: Pool | None = None) -> list[Picked]:
        """The n sentences most worth annotating, best first; fewer if there are no more. A score never grows while
        others are picked, so that only the scores at the top need to be computed again."""
        seen: set[int] = set()
        left_out: set[bytes] = set()
        for pairs, key in zip(excluded.pairs, excluded.keys, strict=True) if excluded is not None else ():
            seen.update(pairs.tolist())
            left_out.add(key)
        heap = [(-u, s) for s, u in enumerate(self.uncertainty) if self.keys[s] not in left_out]
        heapq.heapify(heap)
        picked: list[Picked] = []
        while heap and len(picked) < n:
            s = heap[0][1]
            pairs = self.pairs[s].tolist()
            novelty = sum(pair not in seen for pair in pairs) / len(pairs)
            score = self.uncertainty[s] * novelty**diversity
            if diversity and not novelty:
                heapq.heappop(heap)
            elif -score > heap[0][0]:
                heapq.heapreplace(heap, (-score, s))
            else:
                heapq.heappop(heap)
                picked.append(Picked(s, self.uncertainty[s], novelty, score))
                seen.update(pairs)
        return picked


def word_pairs(words: np.ndarray, offset: np.ndarray) -> list[np.ndarray]:
    """The distinct pairs of neighbours of each sentence u64[]; its ends count as words."""
    size = np.diff(offset)
    marked = np.full(words.size + offset.size, _OUTSIDE, np.uint64)
    marked[np.arange(words.size) + np.repeat(np.arange(1, offset.size), size)] = mixed(words)
    pairs = mixed(marked[:-1] * _MANY + marked[1:])
    marks = (offset + np.arange(offset.size)).tolist()
    return [np.unique(pairs[start:end]) for start, end in pairwise(marks)]


def uncertainties(model: ChainModel, corpus: Corpus, by: str = "confidence") -> np.ndarray:
    """f64[S] from 0 to 1; see MEASURES."""
    if by not in MEASURES:
        raise OptionError("by", f"there is no {by!r}; choose one of {', '.join(MEASURES)}")
    if by != "margin":
        model.need_exact(f"uncertainty by {by}")
    if not corpus.n_tokens:
        return np.zeros(0)
    if by == "margin":
        return np.array([_by_margin([one.score for one in best]) for best in nbest_lists(model, corpus, 2)])
    Y = len(model.labels)
    best = np.ascontiguousarray(model.decode(corpus, "viterbi").labels, np.int32)
    if by == "confidence":
        found = log_posterior(model, corpus, LabelMask(best, np.zeros((0, Y), np.bool_)))
        return np.asarray(-np.expm1(found / np.diff(corpus.offset)))
    shares = confidence_of(model, corpus, best, marginals=True, whole=False).marginals
    assert shares is not None
    entropy = -(shares * np.log(np.maximum(shares, 1e-300))).sum(axis=1) / np.log(max(2, Y))
    return np.asarray(np.add.reduceat(entropy, corpus.offset[:-1]) / np.diff(corpus.offset))


def _by_margin(scores: Sequence[float]) -> float:
    """Of the scores of the best and, if there is one, the second-best label sequence."""
    return 1.0 / (1.0 + scores[0] - scores[1]) if len(scores) > 1 else 0.0


def pick(
    tagger: Tagger, X: Iterable[Any], n: int = 100, *, by: str = "confidence", diversity: float = 1.0,
    exclude: Iterable[Any] = (),
) -> list[Picked]:  # fmt: skip
    """The sentences of X that are most worth annotating, best first; `exclude` are sentences that are annotated."""
    _check(n, diversity)
    tagger._fitted()
    items, known, pool = corpus_from_items(X, mode=mode_of(tagger.model_)), Pool(), Pool()
    pool.add(items.corpus, uncertainties(tagger.model_, items.corpus, by))
    annotated = corpus_from_items(exclude, mode=mode_of(tagger.model_)).corpus
    known.add(annotated, np.zeros(annotated.n_sentences))
    return [found._replace(sentence=int(items.places[found.sentence])) for found in pool.pick(n, diversity, known)]


class PickRequest(msgspec.Struct, frozen=True, kw_only=True):
    """What is picked from a file, and how it is read and written."""

    n: int = 100
    by: str = "confidence"
    diversity: float = 1.0
    exclude: Sequence[FilePath] = ()  # annotated files, whose sentences count as picked
    scores: bool = False  # write the uncertainty of each sentence too
    spec: FormatSpec | None = None  # how to read the files, if not as the training data
    add: Sequence[Tagger] = ()  # they make columns that the file lacks
    output_encoding: str | None = None  # None: that of the input


def pick_file(
    tagger: Tagger, source: FilePath, target: FilePath, n: int = 100, *,
    progress: Callable[[int], None] | None = None, **options: Any,
) -> list[Picked]:  # fmt: skip
    """Write the sentences of a file that are most worth annotating, best first, in the format of the file. `options`
    are the other fields of `PickRequest`; progress is called with the number of tokens that are read."""
    request = PickRequest(n=n, **options)
    check_apart([target], [source, *request.exclude])
    _check(n, request.diversity)
    spec = spec_for(tagger.model_, source, request.spec).resolved(source)
    known, pool, texts = _excluded(tagger, request), Pool(), []
    helpers = [helper.model_ for helper in request.add]
    n_tokens = 0
    for corpus in stream_corpus(source, spec):
        pool.add(corpus, uncertainties(tagger.model_, with_columns(corpus, helpers, tagger.model_), request.by))
        texts += sentence_texts(corpus, spec.format)
        n_tokens += corpus.n_tokens
        if progress is not None:
            progress(n_tokens)
    picked = pool.pick(n, request.diversity, known)
    if len(picked) < n:
        others = "no other has a new pair of words" if request.diversity else "all others are excluded"
        more = f"; {others}" if len(picked) < len(pool.keys) else ""
        logger.warning("picked only %d of %s%s", len(picked), counted(len(pool.keys), "sentence"), more)
    encoding = spec.encoding if request.output_encoding is None else request.output_encoding
    with write_text(target, encoding) as out:
        for one in picked:
            text = texts[one.sentence]
            out.write(noted(text, UNCERTAINTY, one.uncertainty, spec.format) if request.scores else text)
    return picked


def _excluded(tagger: Tagger, request: PickRequest) -> Pool:
    known = Pool()
    for path in request.exclude:
        for corpus in stream_corpus(path, spec_for(tagger.model_, path, request.spec)):
            known.add(corpus, np.zeros(corpus.n_sentences))
    return known


def _check(n: int, diversity: float) -> None:
    if n < 1:
        raise OptionError("n", f"{n} is not a number of sentences of at least 1")
    if not 0.0 <= diversity < float("inf"):
        raise OptionError("diversity", f"{diversity} is not a number of at least 0")
