"""`Entities`: the component of a pipeline that finds named entities, and its training data.

A chain reads words and UPOS as the pipeline tags them. Few treebanks have entities, so the component is trained on
its own data: columns, CoNLL-U with `Entity=B-PER` in MISC, and every other format with spans.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Iterable, Mapping
from itertools import pairwise
from typing import Any, Self

import msgspec
import numpy as np

from palmette.data.convert import convert_labels
from palmette.data.corpus import Column, Corpus, column_of_strings
from palmette.data.files import FilePath, shown
from palmette.data.formats.conllu import read_treebank
from palmette.data.formats.registry import read_corpus
from palmette.data.formats.spec import FormatSpec
from palmette.data.labels.schemes import are_chunk_labels
from palmette.data.model_file import AGAIN, check_text, read_metadata
from palmette.data.text import PLAIN, TextSpec
from palmette.data.treebank import FIELDS, OUTSIDE, Treebank, no_cells, without_trees
from palmette.errors import DataError, ModelError, UsageError, not_fitted
from palmette.estimators.tagger import Tagger
from palmette.features.resources import Clusters
from palmette.options.learners import Mira
from palmette.pipeline.chains import corpus_of, packed_chains, predicted, unpacked_chains
from palmette.pipeline.output import entity_spans
from palmette.structures.chain.compact import compact_on
from palmette.structures.chain.model import ChainModel
from palmette.training.result import Progress

logger = logging.getLogger(__name__)
READ = ("form", "upos")
PASSES = 8
NAME = "entities"
_LABEL = re.compile(r"O|[BI]-[^|\s]+")  # as MISC can hold it


class EntitiesMeta(msgspec.Struct, frozen=True):
    """The metadata that is stored with the arrays."""

    models: dict[str, Any]


class Entities:
    """Entities of the words of a treebank."""

    def __init__(
        self,
        *,
        passes: int | None = None,
        seed: int = 1,
        lexicons: Mapping[str, FilePath] | None = None,
        clusters: Mapping[str, FilePath | Clusters] | None = None,
    ) -> None:
        self.passes, self.seed, self.lexicons, self.clusters = passes, seed, lexicons, clusters

    def fit(self, treebank: Treebank, dev: Treebank | None = None, *, progress: Progress | None = None) -> Self:
        """Learn from the entities of a treebank, whose UPOS are as the pipeline finds them. `dev` is not used."""
        corpus = _labelled(treebank)
        tagger = Tagger(
            "ner", order=2, learner=Mira(nbest=5, aggressiveness=0.1), passes=self.passes or PASSES, seed=self.seed,
            batch_size=1, partial=False,
            lexicons=dict(self.lexicons or {}) or None, clusters=dict(self.clusters or {}) or None,
        )  # fmt: skip
        # One thread: components learn side by side.
        self.model_: ChainModel = tagger.fit_corpus(corpus, None, names=False, threads=1, progress=progress).model_
        return self

    def compact(self, dev: Treebank | None, most_loss: float) -> None:
        """Make the model small, losing at most `most_loss` points of F1 on `dev`; without it weights are rounded."""
        try:
            self.model_ = compact_on(self.model_, None if dev is None else _labelled(dev), most_loss)[0]
        except UsageError as error:  # weights of 8 bits lose more
            logger.info("the model of entities keeps all its weights: %s", error)

    def apply(self, treebank: Treebank) -> Treebank:
        """The treebank with the entities that are found."""
        if not hasattr(self, "model_"):
            raise not_fitted("Entities")
        if not treebank.n_tokens:
            return treebank
        return treebank.with_entities(predicted(self.model_, corpus_of(treebank, READ)))

    def f1(self, gold: Treebank) -> float:
        """Return the F1 of entities on a treebank whose UPOS are as the pipeline finds them."""
        return entity_f1(gold, self.apply(gold))

    def parts(self) -> tuple[dict[str, np.ndarray], dict[str, Any]]:
        arrays, models = packed_chains({NAME: self.model_})
        return arrays, {"models": models}

    @classmethod
    def from_parts(cls, arrays: Mapping[str, np.ndarray], meta: dict[str, Any], source: str) -> Self:
        stored = read_metadata(meta, EntitiesMeta, "metadata", source)
        model = unpacked_chains(arrays, stored.models, [NAME], len(READ), source).get(NAME)
        if model is None:
            raise ModelError("damaged model: it has no entities", file=source, hint=AGAIN)
        check_text(model.labels, "a label", source)
        if not all(map(_LABEL.fullmatch, model.labels)):
            raise ModelError("damaged model: a label that is not of an entity", file=source, hint=AGAIN)
        made = cls()
        made.model_ = model
        return made


def _labelled(treebank: Treebank) -> Corpus:
    """The words with the labels of their entities, as the chain reads them."""
    if treebank.entities is None:
        raise UsageError("there are no entities to learn: give data that has some")
    return corpus_of(treebank, READ, treebank.entities)


def entity_f1(gold: Treebank, found: Treebank) -> float:
    """Return the F1 of the entities of a treebank with the same words."""
    right, wrong, missed = 0, 0, 0
    for lo, hi in pairwise(gold.offset.tolist()):
        known, own = entity_spans(gold, lo, hi), entity_spans(found, lo, hi)
        both = len(set(known) & set(own))
        right, wrong, missed = right + both, wrong + len(own) - both, missed + len(known) - both
    return 2 * right / max(1, 2 * right + wrong + missed)


# Training data


def read_entities(paths: Iterable[FilePath], spec: TextSpec = PLAIN) -> Treebank:
    """Return the sentences of files with entities; a file that is given twice counts twice."""
    return joined([_read(path, spec) for path in paths])


def _read(path: FilePath, text: TextSpec) -> Treebank:
    spec = FormatSpec(encoding=text.encoding, max_line=text.max_line, max_cell=text.max_cell).resolved(path)
    if spec.format == "conllu":
        treebank = read_treebank(path, labelled=False, spec=text)
        if treebank.entities is None:
            raise DataError("no word has an entity", file=shown(path), hint="MISC has entities as `Entity=B-PER`")
        return treebank
    corpus = read_corpus(path, spec)
    if corpus.labels is None or not corpus.columns:
        raise DataError(
            "words and labels are expected", file=shown(path), hint="write `word TAB label`, one word per line"
        )
    made = without_trees(_with_fields(corpus.offset, corpus.columns[0], shown(path)))
    return made.with_entities(_entity_labels(corpus.labels, corpus.offset, shown(path)))


def _with_fields(offset: np.ndarray, forms: Column, source: str) -> Corpus:
    nothing = no_cells(forms.ids.size)
    return Corpus(offset, [forms, *(nothing for _ in FIELDS[1:])], source=source)


def _entity_labels(labels: Column, offset: np.ndarray, source: str) -> Column:
    """Return IOB2 labels for those of any scheme."""
    others = [label for label in labels.types if label != OUTSIDE]
    if others and not are_chunk_labels(labels.types):
        raise DataError(
            f"the label {others[0]!r} is not of an entity", file=source,
            hint="label entities as B-PER I-PER O, in the last column",
        )  # fmt: skip
    cells = labels.cells()
    made = convert_labels([cells[a:b] for a, b in pairwise(offset.tolist())], "iob2")
    flat = [label for sentence in made for label in sentence]
    bad = next((label for label in dict.fromkeys(flat) if not _LABEL.fullmatch(label)), None)
    if bad is not None:
        raise DataError(
            f"the entity {bad!r} has no type, or one with a blank or `|`, which CoNLL-U cannot hold", file=source,
            hint="rename it, such as B-PER",
        )  # fmt: skip
    return column_of_strings(flat)


def joined(treebanks: list[Treebank]) -> Treebank:
    """Return the words, UPOS and entities of several treebanks, one after the other."""
    sizes = np.concatenate([np.diff(one.offset) for one in treebanks])
    offset = np.concatenate(([0], np.cumsum(sizes))).astype(np.int64)
    forms, upos = (column_of_strings(cell for one in treebanks for cell in one.column(field).cells()) for field in READ)
    labels = column_of_strings(
        cell for one in treebanks for cell in (one.entities.cells() if one.entities else [OUTSIDE] * one.n_tokens)
    )
    made = without_trees(_with_fields(offset, forms, treebanks[0].corpus.source))
    return made.with_column("upos", upos).with_entities(labels)
