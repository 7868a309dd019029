"""Predicted part-of-speech tags for a parser: at parsing time, and for its training data.

A parser in use gets predicted tags. Trained on gold tags it relies on them too much; so does one trained on the tags of
a tagger that has seen the same sentences, which are nearly as good as gold. `jackknife` tags each part of the training
data with a tagger trained on the other parts.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from palmette.data.corpus import Column, Corpus, column_of_types
from palmette.data.formats.conllu_light import CONLLU_FIELDS
from palmette.data.formats.spec import FormatSpec
from palmette.data.subset import dealt
from palmette.data.treebank import FIELDS, NOTHING, Treebank, tokens_of
from palmette.errors import UsageError, counted
from palmette.estimators.tagger import Tagger
from palmette.options.spelling import argument, named, spelt

if TYPE_CHECKING:
    from palmette.parsing.parser import Parser

logger = logging.getLogger(__name__)

TAGS = ("upos", "xpos")
PASSES = 5  # of a tagger of one fold


def tag_field(tagger: Tagger) -> str:
    """The field that a tagger makes: the label of its training data."""
    trained = tagger.model_.meta.get("reading") or {}
    label = field_named(str(trained.get("label")))
    if trained.get("format") != "conllu" or label not in TAGS:
        raise UsageError(
            "the tagger was not trained on upos or xpos of a CoNLL-U file: name the field that it makes "
            f"({argument('field')})"
        )
    return label


def field_named(name: str) -> str:
    """A CoNLL-U field by its name or by its number, as in the metadata of a model; any other text as it is."""
    numbers = {str(k): field for k, field in enumerate(CONLLU_FIELDS)}
    return numbers.get(name, name.lower())


def retagged(treebank: Treebank, tagger: Tagger, field: str | None = None) -> Treebank:
    """The treebank with upos or xpos predicted by a tagger; `field` None: the field of the tagger's training data."""
    field = _checked(field) if field is not None else tag_field(tagger)
    if treebank.n_tokens == 0:
        return treebank
    columns = [treebank.column(name) for name in _inputs(tagger)]
    ids, _ = tagger.model_.tag(Corpus(treebank.offset, columns, source=treebank.corpus.source))
    return treebank.with_column(field, column_of_types(ids, tagger.labels_))


@dataclass(frozen=True)
class Preparation:
    """Steps before parsing: taggers predict tags, then the fields that the parser ignores are emptied."""

    taggers: Sequence[tuple[str, Tagger]] = ()  # (field, its tagger), applied in this order
    ignored: Sequence[str] = ()

    @property
    def fields(self) -> tuple[str, ...]:
        """The fields that change, and are written."""
        return tuple(dict.fromkeys(field for field, _ in self.taggers))

    def __call__(self, treebank: Treebank) -> Treebank:
        for field, tagger in self.taggers:
            treebank = retagged(treebank, tagger, field)
        return blanked(treebank, self.ignored)


def tags_read(parser: Parser, ready: Preparation) -> list[str]:
    """The tags that the parser reads and that no tagger writes: the input must have them."""
    read = parser.model_.templates.columns
    needed = [field for letter, field in (("u", "upos"), ("x", "xpos")) if letter in read]
    if "t" in read and not ready.fields:
        needed = needed or ["xpos"]
    return [field for field in needed if field not in (*ready.fields, *ready.ignored)]


def blanked(treebank: Treebank, fields: Iterable[str]) -> Treebank:
    """The treebank with some of FIELDS empty everywhere."""
    named = list(fields)
    for field in named:
        if field not in FIELDS[1:]:
            raise UsageError(f"cannot ignore {field!r}: choose from {', '.join(FIELDS[1:])}")
    return treebank.without(named)


def _checked(field: str) -> str:
    if field not in TAGS:
        raise UsageError(f"a tagger makes {' or '.join(TAGS)}, not {field!r}")
    return field


def _inputs(tagger: Tagger) -> list[str]:
    """The fields that a tagger reads."""
    trained = tagger.model_.meta.get("reading") or {}
    names = [str(name).lower() for name in trained.get("columns") or ()]
    if trained.get("format") == "conllu":
        names = [field_named(name) for name in names]
    elif tagger.model_.encoder is not None and tagger.model_.encoder.n_columns <= 1:
        names = ["form"]
    if not names or any(name not in FIELDS for name in names):
        raise UsageError(
            "the tagger reads more than the words; for a parser, train it on a CoNLL-U file, with "
            f"{spelt(FormatSpec, 'label', 'upos')} (and {named(FormatSpec, 'columns')}: any of {','.join(FIELDS)})"
        )
    return names


def trained_tagger(
    treebank: Treebank, field: str, *, features: str = "pos", passes: int | None = None, seed: int = 1, **tagger: Any
) -> Tagger:
    """A tagger that reads the words, trained on one field of a treebank: a perceptron, since there is one to train for
    every fold. passes: 5 unless the learner has none. `tagger`: further parameters of Tagger."""
    if treebank.column(_checked(field)).types == [NOTHING]:
        raise UsageError(f"there is no {field} to learn: every cell of it is {NOTHING!r}")
    learner = Tagger(features=features, passes=passes, seed=seed, **{"learner": "perceptron"} | tagger)
    chosen = learner._settings().chosen_learner
    if passes is None and not chosen.full_batch and "passes" not in chosen.unused:
        learner.set_params(passes=PASSES)
    return learner.fit_corpus(_labelled(treebank, field), None, names=False)


def jackknife(
    treebank: Treebank, fields: Sequence[str] | None = None, folds: int = 10, *, seed: int = 1, **tagger: Any
) -> Treebank:
    """The treebank with predicted tags: each fold is tagged by a tagger trained on the other folds.

    fields: upos, xpos or both; None: those that have tags. `tagger`: further parameters of `trained_tagger`."""
    made = treebank
    for field in fields if fields is not None else tagged_fields(treebank):
        made = made.with_column(field, _jackknifed_column(treebank, field, folds, seed, tagger))
    return made


def tagged_fields(treebank: Treebank) -> list[str]:
    """The fields of TAGS that are not empty."""
    fields = [field for field in TAGS if treebank.column(field).types != [NOTHING]]
    if not fields:
        raise UsageError(f"the training data has no tags to learn from: {' and '.join(TAGS)} are empty")
    return fields


def _jackknifed_column(treebank: Treebank, field: str, folds: int, seed: int, tagger: dict[str, Any]) -> Column:
    column = treebank.column(_checked(field))
    fold = dealt(treebank.n_sentences, folds, seed)
    made = np.empty(treebank.n_tokens, np.int32)
    number = {name: k for k, name in enumerate(column.types)}
    shares = []
    for k in range(folds):
        part = np.flatnonzero(fold == k)
        learner = trained_tagger(treebank.take(np.flatnonzero(fold != k)), field, seed=seed, **tagger)
        guess, _ = learner.model_.tag(_labelled(treebank.take(part), field))
        tokens = tokens_of(treebank.offset, part)
        made[tokens] = np.array([number[label] for label in learner.labels_], np.int32)[guess]
        shares.append(100 * float((made[tokens] == column.ids[tokens]).mean()))
        logger.info("jackknife: %s, fold %d of %d: %.2f%% as in the file", field, k + 1, folds, shares[-1])
    logger.info("jackknife: %s: %.2f%% as in the file", field, sum(shares) / folds)
    return _used(made, column.types)


class PreparedTraining(NamedTuple):
    """Training and development data with the tags that the parser sees, and what its model records about them."""

    training: Treebank
    dev: Treebank | None
    about: dict[str, Any]


def prepare_training(
    treebank: Treebank, dev: Treebank | None = None, *, taggers: Sequence[tuple[str, Tagger]] = (),
    folds: int | None = None, ignored: Sequence[str] = (),
) -> PreparedTraining:  # fmt: skip
    """Data for a parser that gets predicted tags in use.

    taggers: (field, tagger) that predict tags of both treebanks. folds: the training data gets jackknifed tags instead,
    of the taggers' fields or else of all that have tags; development data is then tagged by the taggers, or else by
    taggers trained on all the training data. ignored: fields that the parser does not see."""
    about: dict[str, Any] = {"ignored": list(ignored), "tags": {field: "tagger" for field, _ in taggers}}
    ready = Preparation(taggers, ignored)
    if folds is None:
        return PreparedTraining(ready(treebank), None if dev is None else ready(dev), about)
    fields = [field for field, _ in taggers] or tagged_fields(treebank)
    made = blanked(jackknife(treebank, fields, folds), ignored)
    about["tags"] = dict.fromkeys(fields, f"jackknifed, {counted(folds, 'fold')}")
    if dev is not None:
        if not taggers:
            ready = Preparation([(field, trained_tagger(treebank, field)) for field in fields], ignored)
        dev = ready(dev)
    return PreparedTraining(made, dev, about)


def _labelled(treebank: Treebank, field: str) -> Corpus:
    return Corpus(treebank.offset, [treebank.forms], treebank.column(field), source=treebank.corpus.source)


def _used(ids: np.ndarray, types: list[str]) -> Column:
    """A column of the types that occur, in order of first occurrence."""
    used, first, new = np.unique(ids, return_index=True, return_inverse=True)
    rank = np.empty(used.size, np.int32)
    order = np.argsort(first, kind="stable")
    rank[order] = np.arange(used.size, dtype=np.int32)
    return column_of_types(rank[new], [types[k] for k in used[order].tolist()])
