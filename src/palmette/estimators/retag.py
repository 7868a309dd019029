"""Word classes for a parser from a tagger: at parsing time, and for the training data.

A parser meets guessed tags in use. Trained on gold tags it trusts them too much; trained on the tags of a tagger that
has seen the same sentences, which are nearly as good as gold, it does so too. `jackknifed` tags each part of the
training data with a tagger that has learnt from the other parts.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from palmette.data.corpus import Column, Corpus, column_of_types
from palmette.data.formats.conllu_light import CONLLU_FIELDS
from palmette.data.treebank import FIELDS, NOTHING, Treebank, tokens_of
from palmette.errors import UsageError
from palmette.estimators.tagger import Tagger

TAGS = ("upos", "xpos")
_TOGETHER = 20  # sentences that go into one fold as they stand: neighbours share a topic and its words

Told = Callable[[int, int, float], None]
"""Called after each fold: its number, how many there are, the share of its tags that are as they were."""


def tag_field(tagger: Tagger) -> str:
    """Which field a tagger makes: the one of its training data."""
    trained = tagger.model_.meta.get("reading") or {}
    label = str(trained.get("label")).lower()
    label = CONLLU_FIELDS[int(label)] if label.isdigit() and int(label) < len(CONLLU_FIELDS) else label
    if trained.get("format") != "conllu" or label not in TAGS:
        raise UsageError(
            "the tagger was not trained on upos or xpos of a CoNLL-U file: say which of them it makes "
            "(--tagger upos=MODEL, in Python field='upos')"
        )
    return label


def retagged(treebank: Treebank, tagger: Tagger, field: str | None = None) -> Treebank:
    """The treebank with upos or xpos by a tagger; `field` says which of them where the model does not."""
    field = _checked(field) if field is not None else tag_field(tagger)
    if treebank.n_tokens == 0:
        return treebank
    columns = [treebank.column(name) for name in _inputs(tagger)]
    ids, _ = tagger.model_.tag(Corpus(treebank.offset, columns, source=treebank.corpus.source))
    return treebank.with_column(field, column_of_types(ids, tagger.labels_))


@dataclass(frozen=True)
class Preparation:
    """What is done to sentences before they are parsed: taggers first, then fields that the parser is not to see."""

    taggers: Sequence[tuple[str, Tagger]] = ()  # field and who makes it, in this order
    ignored: Sequence[str] = ()

    @property
    def fields(self) -> tuple[str, ...]:
        """What is made anew, and written."""
        return tuple(dict.fromkeys(field for field, _ in self.taggers))

    def __call__(self, treebank: Treebank) -> Treebank:
        for field, tagger in self.taggers:
            treebank = retagged(treebank, tagger, field)
        return blanked(treebank, self.ignored)


def blanked(treebank: Treebank, fields: Iterable[str]) -> Treebank:
    """The treebank as if some of FIELDS were empty in every line."""
    for field in fields:
        if field not in FIELDS[1:]:
            raise UsageError(f"cannot ignore {field!r}: choose from {', '.join(FIELDS[1:])}")
        treebank = treebank.with_column(field, column_of_types(np.zeros(treebank.n_tokens, np.int32), [NOTHING]))
    return treebank


def _checked(field: str) -> str:
    if field not in TAGS:
        raise UsageError(f"a tagger makes {' or '.join(TAGS)}, not {field!r}")
    return field


def _inputs(tagger: Tagger) -> list[str]:
    """The fields that a tagger reads."""
    trained = tagger.model_.meta.get("reading") or {}
    names = [str(name).lower() for name in trained.get("columns") or ()]
    if trained.get("format") == "conllu":
        names = [CONLLU_FIELDS[int(name)] if name.isdigit() else name for name in names]
    elif tagger.model_.encoder is not None and tagger.model_.encoder.n_columns <= 1:
        names = ["form"]
    if not names or any(name not in FIELDS for name in names):
        raise UsageError(
            "the tagger reads more than the words; for a parser train it on CoNLL-U: palmette train FILE.conllu "
            f"--label upos (and --columns with any of {','.join(FIELDS)})"
        )
    return names


def trained_tagger(
    treebank: Treebank, field: str, *, features: str = "pos", passes: int = 5, seed: int = 1, **tagger: Any
) -> Tagger:
    """A tagger of the words, trained on a treebank. More about it in `tagger`, as Tagger takes it."""
    if treebank.column(_checked(field)).types == [NOTHING]:
        raise UsageError(f"there is no {field} to learn: every cell of it is {NOTHING!r}")
    learner = Tagger(features=features, passes=passes, seed=seed, **tagger)
    return learner.fit_corpus(_labelled(treebank, field), None, names=False)


def jackknifed(
    treebank: Treebank, field: str, folds: int = 10, *, seed: int = 1, progress: Told | None = None, **tagger: Any
) -> Treebank:
    """The treebank with upos or xpos guessed, each fold by a tagger of the words that was trained on the others;
    `tagger` as for `trained_tagger`."""
    column = treebank.column(_checked(field))
    if not 2 <= folds <= max(2, treebank.n_sentences):
        raise UsageError(f"{folds} folds of {treebank.n_sentences} sentences: choose 2 or more, at most as many")
    fold = _dealt(treebank.n_sentences, folds, seed)
    made = np.empty(treebank.n_tokens, np.int32)
    number = {name: k for k, name in enumerate(column.types)}
    for k in range(folds):
        part = np.flatnonzero(fold == k)
        learner = trained_tagger(treebank.take(np.flatnonzero(fold != k)), field, seed=seed, **tagger)
        guess, _ = learner.model_.tag(_labelled(treebank.take(part), field))
        tokens = tokens_of(treebank.offset, part)
        made[tokens] = np.array([number[label] for label in learner.labels_], np.int32)[guess]
        if progress is not None:
            progress(k + 1, folds, float((made[tokens] == column.ids[tokens]).mean()))
    return treebank.with_column(field, _used(made, column.types))


def _labelled(treebank: Treebank, field: str) -> Corpus:
    return Corpus(treebank.offset, [treebank.forms], treebank.column(field), source=treebank.corpus.source)


def _dealt(n_sentences: int, folds: int, seed: int) -> np.ndarray:
    """The fold i64[S] of each sentence; all folds have about the same number of sentences."""
    together = min(_TOGETHER, max(1, n_sentences // (4 * folds)))
    groups = -(-n_sentences // together)
    dealt = np.random.default_rng([seed, 3]).permutation(groups) % folds
    return np.repeat(dealt, together)[:n_sentences]


def _used(ids: np.ndarray, types: list[str]) -> Column:
    """A column of the types that occur, in the order they come."""
    used, first, new = np.unique(ids, return_index=True, return_inverse=True)
    rank = np.empty(used.size, np.int32)
    order = np.argsort(first, kind="stable")
    rank[order] = np.arange(used.size, dtype=np.int32)
    return column_of_types(rank[new], [types[k] for k in used[order].tolist()])
