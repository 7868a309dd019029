"""Parts of a corpus: held-out sentences, and parts of a training set."""

from __future__ import annotations

import numpy as np

from palmette.data.corpus import Attributes, Column, Corpus
from palmette.errors import UsageError, counted

_TOGETHER = 20  # consecutive sentences that go into one fold: neighbours share a topic and its words


def take(corpus: Corpus, sentences: np.ndarray) -> Corpus:
    """The sentences with these numbers, in this order. The text that they were read from is left out."""
    size = np.diff(corpus.offset)[sentences]
    offset = np.concatenate(([0], np.cumsum(size))).astype(np.int64)
    tokens = np.repeat(corpus.offset[sentences] - offset[:-1], size) + np.arange(offset[-1])
    return Corpus(
        offset,
        [picked(column, tokens) for column in corpus.columns],
        None if corpus.labels is None else picked(corpus.labels, tokens),
        corpus.label_sets,
        None if corpus.attributes is None else _attributes(corpus.attributes, tokens),
        None if corpus.weight is None else corpus.weight[sentences],
        source=corpus.source,
        token_lines=_lines(corpus, tokens),
        numbers=sentences if corpus.numbers is None else corpus.numbers[sentences],
        vectors=corpus.vectors,
        label_numbers=corpus.label_numbers,
    )


def _lines(corpus: Corpus, tokens: np.ndarray) -> np.ndarray | None:
    if corpus.lines is not None:
        return corpus.lines.first_line + corpus.lines.tokens[tokens]
    return None if corpus.token_lines is None else corpus.token_lines[tokens]


def picked(column: Column, tokens: np.ndarray) -> Column:
    """The cells of these tokens; types that no longer occur are dropped, the others renumbered."""
    used, first, ids = np.unique(column.ids[tokens], return_index=True, return_inverse=True)
    by_occurrence = np.argsort(first, kind="stable")
    new = np.empty(used.size, np.int32)
    new[by_occurrence] = np.arange(used.size, dtype=np.int32)
    kept = used[by_occurrence]
    return Column(new[ids], column.data, column.start[kept], column.end[kept], column.hash[kept], column.power[kept])


def _attributes(given: Attributes, tokens: np.ndarray) -> Attributes:
    size = np.diff(given.ptr)[tokens]
    ptr = np.concatenate(([0], np.cumsum(size))).astype(np.int64)
    places = np.repeat(given.ptr[tokens] - ptr[:-1], size) + np.arange(ptr[-1])
    val = given.val[places] if given.val.size else given.val
    return Attributes(ptr, picked(given.names, places), val, given.rest[places] if given.rest.size else given.rest)


def split(corpus: Corpus, share: float, seed: int) -> tuple[Corpus, Corpus]:
    """Hold out a share of the sentences, drawn by seed: (the rest, the share)."""
    if not 0.0 < share < 1.0:
        raise UsageError(f"the share to hold out must be between 0 and 1, not {share}")
    n = round(share * corpus.n_sentences)
    if not 0 < n < corpus.n_sentences:
        raise UsageError(f"a share of {share} of {counted(corpus.n_sentences, 'sentence')} leaves one side empty")
    drawn = np.random.default_rng([seed, 0]).permutation(corpus.n_sentences)
    return take(corpus, np.sort(drawn[n:])), take(corpus, np.sort(drawn[:n]))


def held_out(corpus: Corpus, n: int, seed: int) -> tuple[Corpus, Corpus]:
    """Hold out at most n labelled sentences, drawn by seed: (the rest, those). A sentence with a label that no other
    sentence of the rest has stays there, so that training sees every label."""
    assert corpus.labels is not None
    drawn = np.zeros(corpus.n_sentences, bool)
    drawn[np.random.default_rng([seed, 0]).permutation(corpus.n_sentences)[:n]] = True
    owner = np.repeat(np.arange(corpus.n_sentences), np.diff(corpus.offset))
    learnt = np.zeros(len(corpus.labels.types), bool)
    learnt[corpus.labels.ids[~drawn[owner]]] = True
    drawn[owner[~learnt[corpus.labels.ids]]] = False
    return take(corpus, np.flatnonzero(~drawn)), take(corpus, np.flatnonzero(drawn))


def dealt(n_sentences: int, folds: int, seed: int) -> np.ndarray:
    """The fold i64[S] of each sentence; all folds have about as many sentences."""
    if not 2 <= folds <= max(2, n_sentences):
        sentences = counted(n_sentences, "sentence")
        raise UsageError(f"{counted(folds, 'fold')} of {sentences}: choose 2 or more, at most as many")
    together = min(_TOGETHER, max(1, n_sentences // (4 * folds)))
    groups = -(-n_sentences // together)
    drawn = np.random.default_rng([seed, 3]).permutation(groups) % folds
    return np.repeat(drawn, together)[:n_sentences]
