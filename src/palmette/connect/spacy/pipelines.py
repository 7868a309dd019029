"""Whole pipelines in spaCy: a component that annotates documents, and a `Language` with the tokens of a pipeline.

nlp = palmette.connect.spacy.load("en")
nlp.add_pipe("palmette_pipeline", config={"model": "en"})           # after a tokenizer of spaCy
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import spacy
from spacy import util
from spacy.attrs import SENT_START
from spacy.language import Language
from spacy.parts_of_speech import IDS
from spacy.pipeline.dep_parser import parser_score
from spacy.scorer import Scorer, get_ner_prf
from spacy.tokens import Doc, Span
from spacy.vocab import Vocab

from palmette.connect.spacy.base import Component, SpacyWords
from palmette.connect.spacy.components import attach
from palmette.connect.spacy.documents import spacy_doc
from palmette.data.corpus import Corpus
from palmette.data.files import FilePath
from palmette.data.treebank import FIELDS, NOTHING, no_cells, without_trees
from palmette.models import installed, path_of
from palmette.pipeline.document import ParsedDocument
from palmette.pipeline.options import SPLITTER
from palmette.pipeline.output import entity_spans
from palmette.pipeline.pipeline import Pipeline

TOKENIZER = "palmette_tokenizer"
NO_LANGUAGE = "xx"
SET = ("TAG", "POS", "MORPH", "LEMMA", "HEAD", "DEP", "SENT_START", "ENT_IOB", "ENT_TYPE")


class PalmettePipeline(Component):
    """Sets tags, parts of speech, morphology, lemmas, trees, sentence starts and entities, as far as the pipeline finds
    them. Documents with the tokens that the pipeline itself finds get what it gives for their text, also inside of
    multi-word tokens; the tokens of others are taken as words."""

    estimator_class = Pipeline

    def __init__(self, name: str, model: str | None, beam: int | None = None) -> None:
        super().__init__(name, model, beam=beam)

    def _loaded(self, model: str) -> Any:
        return Pipeline.load(path_of(model))

    def _check(self, estimator: Pipeline) -> None:
        """Any pipeline will do."""

    def _labels(self) -> Iterable[str]:
        return self.estimator.components_

    def _batch(self, docs: Sequence[Doc]) -> None:
        pipeline: Pipeline = self.estimator
        if SPLITTER not in pipeline.components_:
            self._annotate(SpacyWords(docs))
            return
        for doc, found in zip(docs, pipeline.pipe([doc.text for doc in docs], beam=self.config["beam"]), strict=True):
            own = spacy_doc(found, doc.vocab)
            if [token.text for token in doc] == [token.text for token in own]:
                attributes: Any = [name for name in SET if own.has_annotation(name) or name == "LEMMA"]
                values: Any = own.to_array(attributes)
                doc.from_array(attributes, values)
            elif len(doc):
                if not doc.has_annotation("SENT_START"):
                    _start_sentences(doc, found)
                self._annotate(SpacyWords([doc]))

    def _annotate(self, words: SpacyWords) -> None:
        """Annotate tokens that the pipeline did not find itself."""
        nothing = no_cells(words.n_words)
        columns = [words.column("text"), *(nothing for _ in FIELDS[1:])]
        bank = without_trees(Corpus(words.offset, columns, source="the documents"))
        names = [name for name in self.estimator.components_ if name != SPLITTER]
        found = self.estimator.annotate(bank, components=names, beam=self.config["beam"] if "parse" in names else None)
        tags, pos, feats, lemmas = (found.column(field).cells() for field in ("xpos", "upos", "feats", "lemma"))
        start = np.repeat(words.offset[:-1], np.diff(words.offset))
        head = np.where(found.heads == 0, np.arange(words.n_words), start + found.heads - 1)
        for (doc, own, places), first in zip(words.parts(), words.first.tolist(), strict=False):
            for place, i in zip(places.tolist(), range(own.start, own.stop), strict=True):
                token = doc[place]
                token.tag_ = "" if tags[i] == NOTHING else tags[i]
                token.pos_ = pos[i] if pos[i] in IDS else ""
                token.set_morph("" if feats[i] == NOTHING else feats[i])
                token.lemma_ = "" if "lemma" not in names else lemmas[i]
            if "parse" in names and places.size:
                values = np.array([doc.vocab.strings.add(name) for name in found.relations.types], np.uint64)
                sentences = words.sentence_of[first : first + len(doc)]
                attach(doc, places, places[head[own] - own.start], values[found.relations.ids[own]], sentences)
            if found.entities is not None:
                cuts = [cut for cut in words.offset.tolist() if own.start <= cut <= own.stop]
                doc.ents = [
                    Span(doc, int(places[lo - own.start + span.start]), int(places[lo - own.start + span.end - 1]) + 1,
                         label=span.type)
                    for lo, hi in pairwise(cuts) for span in entity_spans(found, lo, hi)
                ]  # fmt: skip

    def score(self, examples: Iterable[Any], **settings: Any) -> dict[str, Any]:
        """The scores of all that is set, for `nlp.evaluate` and `spacy evaluate`."""
        examples = list(examples)
        made: dict[str, Any] = {}
        for attribute in ("tag", "pos", "morph", "lemma"):
            made |= Scorer.score_token_attr(examples, attribute, **settings)
        made |= parser_score(examples, **settings)
        made |= get_ner_prf(examples, **settings)
        return made


def _start_sentences(doc: Doc, found: ParsedDocument) -> None:
    """Start sentences where the pipeline does; at the next token where that is inside of one."""
    places = np.array([token.idx for token in doc])
    starts = np.full(len(doc), -1, np.int64)
    starts[0] = 1
    for sentence in found.sentences:
        at = int(np.searchsorted(places, sentence.start))
        if at < len(doc):
            starts[at] = 1
    values: Any = starts.astype(np.uint64).reshape(-1, 1)
    doc.from_array([SENT_START], values)


class PalmetteTokenizer:
    """The tokens of a pipeline, for spaCy."""

    def __init__(self, pipeline: Pipeline, vocab: Vocab) -> None:
        self.pipeline, self.vocab = pipeline, vocab

    def __call__(self, text: str) -> Doc:
        split = self.pipeline.model_.split(text)
        return spacy_doc(ParsedDocument(split, split.treebank()), self.vocab)

    def to_disk(self, path: FilePath, *, exclude: Iterable[str] = ()) -> None:
        """Write the pipeline's splitter."""
        self.pipeline.model_.only([SPLITTER]).save(Path(path))

    def from_disk(self, path: FilePath, *, exclude: Iterable[str] = ()) -> PalmetteTokenizer:
        """Read it again."""
        self.pipeline = Pipeline.load(path)
        return self


def load(model: str) -> Language:
    """A `Language` of an installed model ("en") or of a pipeline's file: its tokenizer, and one component for all that
    it finds."""
    language = model if model in installed() else NO_LANGUAGE
    try:
        util.get_lang_class(language)
    except ImportError:  # a language that spaCy does not have
        language = NO_LANGUAGE
    nlp = spacy.blank(language, config={"nlp": {"tokenizer": {"@tokenizers": TOKENIZER, "model": model}}})
    nlp.add_pipe("palmette_pipeline", config={"model": model})
    return nlp
