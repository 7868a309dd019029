"""Components around a Tagger (labels of tokens, entities, groups of spans) and around a Parser."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from spacy.attrs import DEP, HEAD, MORPH, POS, TAG
from spacy.parts_of_speech import IDS as UNIVERSAL
from spacy.pipeline.dep_parser import parser_score
from spacy.scorer import Scorer, get_ner_prf
from spacy.tokens import Doc, Span, SpanGroup, Token
from spacy.vocab import Vocab

from palmette.connect.spacy.base import EXTENSION, Component, SpacyWords, check_attributes
from palmette.data import model_file
from palmette.data.corpus import Column, Corpus
from palmette.data.labels.schemes import are_chunk_labels, unseen_scheme
from palmette.data.treebank import FIELDS, NOTHING, Treebank, no_cells, without_trees
from palmette.errors import UsageError, counted
from palmette.estimators.tagger import Tagger
from palmette.evaluation.spans import ChunkTables
from palmette.models import path_of
from palmette.options.search import Beam
from palmette.parsing.parser import Parser
from palmette.parsing.retag import field_named
from palmette.parsing.templates import FIELDS as LETTERS
from palmette.structures.chain.model import ChainModel
from palmette.structures.chain.posteriors import confidence_of, places_of

# Components around a Tagger: labels of tokens, entities, groups of spans.

CONLLU = {"form": "text", "lemma": "lemma_", "upos": "pos_", "xpos": "tag_", "feats": "morph"}
TARGETS = {"tag": TAG, "pos": POS, "morph": MORPH}
DEFAULTS = ("text", "tag_")


class ChainComponent(Component):
    """A component around a Tagger, which reads columns."""

    estimator_class = Tagger

    def __init__(self, name: str, model: str | None, columns: Sequence[str] | None = None, **config: Any) -> None:
        if columns is not None:
            check_attributes(columns)
        self.columns: tuple[str, ...] = ()  # the token attributes that the model reads
        super().__init__(name, model, columns=columns, **config)

    def _check(self, estimator: Tagger) -> None:
        columns = columns_of(estimator.model_, self.config["columns"])
        self._check_labels(estimator.labels_, estimator.model_.scheme)
        self.columns = columns

    def _check_labels(self, labels: list[str], scheme: str | None) -> None:
        """UsageError if the component has no use for such labels."""
        raise NotImplementedError

    def _decoded(self, words: SpacyWords) -> list[str]:
        """The label of each word. A session remembers words from batch to batch; what it does not take, such as very
        long sentences, is decoded together."""
        tokens = words.cells(self.columns)
        sentences = [tokens[a:b] for a, b in pairwise(words.offset.tolist())]
        quick = self.estimator.model_.session().quick
        found = [quick(sentence) for sentence in sentences]
        others = iter(self.estimator.predict([s for s, path in zip(sentences, found, strict=True) if path is None]))
        return [label for path in found for label in (next(others) if path is None else path[0])]


def columns_of(model: ChainModel, given: Sequence[str] | None) -> tuple[str, ...]:
    """The token attributes that are a model's columns: as given, or as it was trained, or the text and the tag."""
    if model.encoder is None:
        raise UsageError(
            "its model reads ready-made attributes (dictionaries), which no token has; train one on words or columns "
            "with templates: Tagger('ner')"
        )
    needed = max(1, model.encoder.n_columns)
    if given is not None:
        if len(given) < needed:
            raise UsageError(f"its model reads {counted(needed, 'column')}, and `columns` has {len(given)}")
        return tuple(given)
    trained = model.meta.get("reading") or {}
    if trained.get("format") == "conllu" and trained.get("columns"):
        fields = [field_named(str(name)) for name in trained["columns"]]
        if all(field in CONLLU for field in fields):
            return tuple(CONLLU[field] for field in fields)
    if needed > len(DEFAULTS):
        raise UsageError(
            f"its model reads {needed} columns; name the token attributes that they are: config={{'columns': "
            "['text', 'tag_', ...]}"
        )
    return DEFAULTS[:needed]


class PalmetteTagger(ChainComponent):
    """Sets an attribute of each token: its tag, its universal part of speech, its morphology, or an extension."""

    def __init__(
        self, name: str, model: str | None, columns: Sequence[str] | None = None, set: str = "tag",
        overwrite: bool = True,
    ) -> None:  # fmt: skip
        own = set.removeprefix(EXTENSION)
        if set.startswith(EXTENSION) and not Token.has_extension(own):
            Token.set_extension(own, default=None)
        elif set not in TARGETS and not set.startswith(EXTENSION):
            raise UsageError(f"set: {set!r} is none of {', '.join(TARGETS)} and _.NAME")
        self.target, self.overwrite = set, overwrite
        super().__init__(name, model, columns, set=set, overwrite=overwrite)

    def _check_labels(self, labels: list[str], scheme: str | None) -> None:
        strange = [label for label in labels if label not in UNIVERSAL]
        if self.target == "pos" and strange:
            raise UsageError(
                f"its model has the label {strange[0]!r}, which is not a universal part of speech; use config={{'set': "
                "'tag'}"
            )

    def _labels(self) -> list[str]:
        return list(self.estimator.labels_)

    def _annotate(self, words: SpacyWords) -> None:
        labels = self._decoded(words)
        vocab, values = None, {}
        for doc, own, places in words.parts():
            if self.target in TARGETS:
                if doc.vocab is not vocab:
                    vocab, values = doc.vocab, self._values(doc.vocab, set(labels))
                self._write(doc, places, np.array([values[label] for label in labels[own]], np.uint64))
            else:
                self._extend(doc, places, labels[own])

    def _values(self, vocab: Vocab, labels: Iterable[str]) -> dict[str, int]:
        """What a document stores for each label. Strings are added for each batch: a vocabulary may forget them."""
        if self.target == "pos":
            return {label: int(UNIVERSAL[label]) for label in labels}
        add = vocab.morphology.add if self.target == "morph" else vocab.strings.add
        return {label: add(label) for label in labels}

    def _write(self, doc: Doc, places: np.ndarray, chosen: np.ndarray) -> None:
        attribute = TARGETS[self.target]
        values: Any = doc.to_array(attribute)
        before = values[places]
        values[places] = chosen if self.overwrite else np.where(before == 0, chosen, before)
        doc.from_array([attribute], values)

    def _extend(self, doc: Doc, places: np.ndarray, labels: list[str]) -> None:
        own = self.target.removeprefix(EXTENSION)
        for i, label in zip(places.tolist(), labels, strict=True):
            beyond = doc[i]._
            if self.overwrite or beyond.get(own) is None:
                beyond.set(own, label)

    def score(self, examples: Iterable[Any], **settings: Any) -> dict[str, Any]:
        """Accuracy of the attribute, for `nlp.evaluate`."""
        return Scorer.score_token_attr(examples, self.target, **settings) if self.target in TARGETS else {}


class FoundSpans(NamedTuple):
    """A span that a model has found."""

    start: int  # token of the document
    end: int  # the token after its last
    label: str
    confidence: float


class SpanComponent(ChainComponent):
    """A component whose labels are those of spans, in any tag scheme."""

    def __init__(self, name: str, model: str | None, columns: Sequence[str] | None, label: str, **config: Any) -> None:
        self.bare = label  # what spans without a type are called
        super().__init__(name, model, columns, label=label, **config)

    def _check_labels(self, labels: list[str], scheme: str | None) -> None:
        if not are_chunk_labels(labels, unseen_scheme(scheme)):
            raise UsageError(
                f"the labels of its model are not those of spans (B-PER, I-PER, O): {', '.join(labels[:5])}, ...; "
                "for labels of tokens use palmette_tagger"
            )

    def _labels(self) -> list[str]:
        return [kind or self.bare for kind in self._tables().types]

    def _tables(self) -> ChunkTables:
        return ChunkTables.of(self.estimator.labels_, unseen_scheme(self.estimator.model_.scheme))

    def _found(self, words: SpacyWords, *, confidence: bool = False) -> list[tuple[Doc, list[FoundSpans]]]:
        """The spans of each document, in order."""
        if not words.n_words:
            return [(doc, []) for doc in words.docs]
        model = self.estimator.model_
        number = {label: k for k, label in enumerate(model.labels)}
        ids = np.array([number[label] for label in self._decoded(words)], np.int32)
        sentence, first, end, kind = places_of(ids, words.offset, model.labels, unseen_scheme(model.scheme))
        sure = np.ones(kind.size)
        if confidence:
            spans = confidence_of(model, words.corpus(self.columns), ids).spans
            assert spans is not None
            sure = spans.posterior
        begin, last = words.offset[sentence] + first, words.offset[sentence] + end - 1  # words
        names = self._labels()
        made = []
        for doc, own, places in words.parts():
            a, b = np.searchsorted(begin, (own.start, own.stop)).tolist()
            start, stop = places[begin[a:b] - own.start], places[last[a:b] - own.start] + 1
            rows = zip(start.tolist(), stop.tolist(), kind[a:b].tolist(), sure[a:b].tolist(), strict=True)
            made.append((doc, [FoundSpans(i, j, names[k], share) for i, j, k, share in rows]))
        return made


class PalmetteNER(SpanComponent):
    """Sets doc.ents. Entities that are there already stay unless a new one overlaps with them; with `overwrite` off,
    new ones give way."""

    def __init__(
        self, name: str, model: str | None, columns: Sequence[str] | None = None, overwrite: bool = True,
        label: str = "ENTITY",
    ) -> None:  # fmt: skip
        self.overwrite = overwrite
        super().__init__(name, model, columns, label, overwrite=overwrite)

    def _annotate(self, words: SpacyWords) -> None:
        for doc, found in self._found(words):
            old, new = list(doc.ents), [Span(doc, span.start, span.end, label=span.label) for span in found]
            if self.overwrite:
                old = _apart(old, new)
            else:
                new = _apart(new, old)
            doc.ents = sorted(old + new, key=lambda span: span.start)

    def score(self, examples: Iterable[Any], **settings: Any) -> dict[str, Any]:
        """Precision, recall and F1 of entities, for `nlp.evaluate`."""
        made: dict[str, Any] = get_ner_prf(examples, **settings)
        return made


def _apart(spans: list[Span], others: list[Span]) -> list[Span]:
    """The spans that share no token with the others."""
    taken = {i for other in others for i in range(other.start, other.end)}
    return [span for span in spans if taken.isdisjoint(range(span.start, span.end))] if taken else spans


class PalmetteSpans(SpanComponent):
    """Sets doc.spans[key]; with `confidence`, doc.spans[key].attrs["scores"] has a number per span, as spaCy's own span
    categoriser has it, and attrs["calibrated"] whether these are probabilities."""

    def __init__(
        self, name: str, model: str | None, columns: Sequence[str] | None = None, key: str = "palmette",
        confidence: bool = False, label: str = "SPAN",
    ) -> None:  # fmt: skip
        self.key, self.confidence = key, confidence
        super().__init__(name, model, columns, label, key=key, confidence=confidence)

    def _annotate(self, words: SpacyWords) -> None:
        sure = self.confidence and self.estimator.calibrated_
        for doc, found in self._found(words, confidence=self.confidence):
            spans = [Span(doc, span.start, span.end, label=span.label) for span in found]
            attrs: dict[str, Any] = {}
            if self.confidence:
                attrs = {"scores": np.array([span.confidence for span in found]), "calibrated": sure}
            doc.spans[self.key] = SpanGroup(doc, name=self.key, attrs=attrs, spans=spans)

    def score(self, examples: Iterable[Any], **settings: Any) -> dict[str, Any]:
        """Precision, recall and F1 of the spans, for `nlp.evaluate`."""
        options = {"attr": f"spans_{self.key}", "allow_overlap": True, "labels": self.labels, **settings}
        return Scorer.score_spans(examples, getter=self._group, has_annotation=self._has_group, **options)

    def _group(self, doc: Doc, _: str) -> Any:
        return doc.spans.get(self.key, [])

    def _has_group(self, doc: Doc) -> bool:
        return self.key in doc.spans


# The component around a Parser: heads, relations and sentence starts.

logger = logging.getLogger(__name__)
OF_WHITESPACE = "dep"
PIPELINE = "pipeline"  # the task in the files of pipelines


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

    def _refuse(self, model: str) -> None:
        if model_file.peek_task(path_of(model)) == PIPELINE:
            raise UsageError(
                f"{self.name}: {model} is a pipeline, not a parser: add palmette_pipeline, or take its parser out with "
                "`palmette pipeline extract`"
            )

    def _check(self, estimator: Parser) -> None:
        """Any parser will do: which fields it reads is looked up where documents are read."""

    def _labels(self) -> list[str]:
        return list(self.estimator.relations_)

    def _annotate(self, words: SpacyWords) -> None:
        found = self.estimator.parse(self._treebank(words), beam=self.config["beam"])
        relations, relation = found.relations.types, found.relations.ids
        start = np.repeat(words.offset[:-1], np.diff(words.offset))  # i64[N]  the first word of each word's sentence
        head = np.where(found.heads == 0, np.arange(words.n_words), start + found.heads - 1)  # i64[N]  words
        for (doc, own, places), first in zip(words.parts(), words.first.tolist(), strict=False):
            if places.size:
                values = np.array([doc.vocab.strings.add(name) for name in relations], np.uint64)
                sentences = words.sentence_of[first : first + len(doc)]
                attach(doc, places, places[head[own] - own.start], values[relation[own]], sentences)

    # What the parser reads

    def _treebank(self, words: SpacyWords) -> Treebank:
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

    def _check_tags(self, words: SpacyWords, found: dict[str, Column]) -> None:
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
                "%s: the documents have no %s, which the parser reads; if it was trained without, set "
                "config={'fields': {'lemma': None, 'feats': None}}", self.name, " and no ".join(names),
            )  # fmt: skip

    def score(self, examples: Iterable[Any], **settings: Any) -> dict[str, Any]:
        """Attachment scores, for `nlp.evaluate`."""
        made: dict[str, Any] = parser_score(examples, **settings)
        return made


def _is_empty(column: Column | None) -> bool:
    return column is not None and column.types == [NOTHING]


def attach(doc: Doc, places: np.ndarray, heads: np.ndarray, relations: np.ndarray, sentences: np.ndarray) -> None:
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
