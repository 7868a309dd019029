"""The component around a Parser: heads, relations and sentence starts."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
from spacy.attrs import DEP, HEAD
from spacy.pipeline.dep_parser import parser_score
from spacy.tokens import Doc

from palmette.connect.spacy.chain import CONLLU
from palmette.connect.spacy.component import Component
from palmette.connect.spacy.words import Words, check_attributes
from palmette.data.corpus import Column, Corpus
from palmette.data.treebank import FIELDS, NOTHING, Treebank, no_cells, without_trees
from palmette.errors import UsageError
from palmette.estimators.parser import Parser
from palmette.options.search import Beam
from palmette.structures.tree.templates import FIELDS as LETTERS

logger = logging.getLogger(__name__)
OF_WHITESPACE = "dep"


class PalmetteParser(Component):
    """Sets the head and the relation of each token, and sentence starts where documents have none."""

    estimator_class = Parser

    def __init__(
        self, name: str, model: str | None, fields: Mapping[str, str | None] | None = None, beam: int | None = None
    ) -> None:
        unknown = [field for field in fields or () if field not in FIELDS[1:]]
        if unknown:
            raise UsageError(f"fields: {unknown[0]!r} is none of {', '.join(FIELDS[1:])}")
        if beam is not None:
            Beam(beam)
        chosen = {**CONLLU, **(fields or {})}
        self.fields = {field: attribute for field, attribute in chosen.items() if attribute is not None}
        check_attributes(self.fields.values())
        self._warned = False
        super().__init__(name, model, fields=None if fields is None else dict(fields), beam=beam)

    def _check(self, estimator: Parser) -> None:
        """Any parser will do: which fields it reads is looked up where documents are read."""

    def _labels(self) -> list[str]:
        return list(self.estimator.relations_)

    def _annotate(self, words: Words) -> None:
        found = self.estimator.parse(self._treebank(words), beam=self.config["beam"])
        relations, relation = found.relations.types, found.relations.ids
        start = np.repeat(words.offset[:-1], np.diff(words.offset))  # i64[N]  the first word of each word's sentence
        head = np.where(found.heads == 0, np.arange(words.n_words), start + found.heads - 1)  # i64[N]  words
        for (doc, own, places), first in zip(words.parts(), words.first.tolist(), strict=False):
            if places.size:
                values = np.array([doc.vocab.strings.add(name) for name in relations], np.uint64)
                sentences = words.sentence_of[first : first + len(doc)]
                _attach(doc, places, places[head[own] - own.start], values[relation[own]], sentences)

    # What the parser reads

    def _treebank(self, words: Words) -> Treebank:
        nothing = no_cells(words.n_words)
        read = self._fields_read()
        found = {field: words.column(name, required=False) for field, name in read.items()}
        self._check_tags(words, found)
        self._warn_of_empty([read[field] for field in ("lemma", "feats") if _is_empty(found.get(field))])
        columns = [found.get(field, nothing) for field in FIELDS]
        return without_trees(Corpus(words.offset, columns, source="the documents"))

    def _fields_read(self) -> dict[str, str]:
        """The token attributes of the fields that the parser reads."""
        model = self.estimator.model_
        read = {LETTERS.get(name.partition(":")[0], name) for name in model.templates.columns}
        read |= {"xpos", "upos"} if "t" in read else set()
        read -= {*model.meta.get("ignored", ())}
        return {field: name for field, name in self.fields.items() if field in read}

    def _check_tags(self, words: Words, found: dict[str, Column]) -> None:
        """DataError if a word has no tag that the parser reads: UPOS, XPOS, or one of them."""
        lacking = {
            field: np.array([cell == NOTHING for cell in found[field].types], np.bool_)[found[field].ids]
            for field in ("upos", "xpos") if field in found
        }  # fmt: skip
        letters = self.estimator.model_.templates.columns
        wanted = [[field] for field in lacking if {"upos": "u", "xpos": "x"}[field] in letters]
        wanted += [list(lacking)] if "t" in letters and lacking else []  # one of them will do
        for fields in wanted:
            without = np.logical_and.reduce([lacking[field] for field in fields])
            if without.any():
                raise words.lacking(int(np.argmax(without)), " or ".join(self.fields[field] for field in fields))

    def _warn_of_empty(self, names: list[str]) -> None:
        if names and not self._warned:
            self._warned = True
            logger.warning(
                "%s: the documents have no %s, which the parser reads; if it was trained without, say so: "
                "config={'fields': {'lemma': None, 'feats': None}}", self.name, " and no ".join(names),
            )  # fmt: skip

    def score(self, examples: Iterable[Any], **settings: Any) -> dict[str, Any]:
        """Attachment scores, for `nlp.evaluate`."""
        made: dict[str, Any] = parser_score(examples, **settings)
        return made


def _is_empty(column: Column | None) -> bool:
    return column is not None and column.types == [NOTHING]


def _attach(doc: Doc, places: np.ndarray, heads: np.ndarray, relations: np.ndarray, sentences: np.ndarray) -> None:
    """Write the heads and relations of the words at `places`. Whitespace hangs on the word before it, or on the word
    after it at the start of a sentence, by the relation that spaCy gives to it."""
    tokens = np.arange(len(doc))
    before = np.searchsorted(places, tokens, side="right") - 1  # the word at or before each token
    after = np.minimum(before + 1, places.size - 1)
    first = (before < 0) | (sentences[places[np.maximum(before, 0)]] != sentences)
    forward = (before < 0) | (first & (sentences[places[after]] == sentences))
    head = places[np.where(forward, after, before)]
    relation = np.full(len(doc), doc.vocab.strings.add(OF_WHITESPACE), np.uint64)
    head[places], relation[places] = heads, relations
    values: Any = np.stack([(head - tokens).astype(np.int64).view(np.uint64), relation], axis=1)
    doc.from_array([HEAD, DEP], values)
