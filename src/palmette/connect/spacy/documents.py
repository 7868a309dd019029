"""Training data from spaCy documents, and a pipeline's documents as spaCy's."""

from __future__ import annotations

import logging
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import spacy
from spacy.attrs import ENT_IOB
from spacy.language import Language
from spacy.parts_of_speech import IDS
from spacy.tokens import Doc, DocBin, Span, Token
from spacy.util import filter_spans, minibatch
from spacy.vocab import Vocab

from palmette.connect.spacy.base import SpacyWords, check_attributes
from palmette.connect.spacy.components import OF_WHITESPACE
from palmette.data.convert import convert_labels
from palmette.data.files import FilePath
from palmette.data.formats.conllu_light import UNKNOWN
from palmette.data.labels import schemes
from palmette.data.treebank import NOTHING, OUTSIDE
from palmette.errors import DataError, UsageError, counted

if TYPE_CHECKING:
    from palmette.pipeline.document import ParsedDocument

# Training data from spaCy documents: sentences and labels for a Tagger, sentences and trees for a Parser.
#
#     X, y = sentences("train.spacy")                            # entities; or label="tag_", ...
#     Tagger("ner").fit(X, y).save("ner.palm")
#
# Whitespace tokens are left out, as the components do. What cannot be a label is logged, and the labels there are None:
# training takes them as unknown.

logger = logging.getLogger(__name__)

Documents = FilePath | DocBin | Iterable[Doc]
Entity = tuple[int, int, str]  # characters from, to, label
TOGETHER = 1000  # documents
SHOWN = 3  # examples in a message
GROUP = "spans."


def documents(docs: Documents, vocab: Vocab | None = None) -> Iterator[Doc]:
    """The documents of a `.spacy` file, of a DocBin, or as they are. `vocab`: of the language that made them; without
    it they are read as of no language in particular."""
    if isinstance(docs, str | os.PathLike):
        docs = _read(Path(docs))
    if isinstance(docs, DocBin):
        yield from docs.get_docs(spacy.blank("xx").vocab if vocab is None else vocab)
    else:
        yield from docs


def _read(path: Path) -> DocBin:
    try:
        return DocBin().from_disk(path)
    except Exception as error:  # a damaged file may raise whatever zlib and msgpack do
        raise DataError(f"cannot be read as a DocBin: {error}", file=str(path)) from error


def sentences(
    docs: Documents, label: str = "ents", *, columns: Sequence[str] = ("text",), scheme: str = "IOB2",
    vocab: Vocab | None = None,
) -> tuple[list[list[Any]], list[list[Any]]]:  # fmt: skip
    """Sentences X and labels y for `Tagger.fit`.

    label: `ents`, `spans.KEY` for a group of spans, or a token attribute: tag_, pos_, morph, _.NAME, ...
    columns: the attributes that the model reads. scheme: how entities and spans are written. A token is a string, or a
    tuple if there are several columns; its label is None where nothing is known."""
    of_spans = label == "ents" or label.startswith(GROUP)
    check_attributes([*columns, *([] if of_spans else [label])])
    schemes.scheme_named(scheme)
    X: list[list[Any]] = []
    y: list[list[Any]] = []
    report = _Report()
    for batch in minibatch(documents(docs, vocab), size=TOGETHER):
        words = SpacyWords(batch)
        tokens = words.cells(columns)
        labels: list[Any] = _span_labels(words, label, scheme, report) if of_spans else words.column(label).cells()
        for a, b in pairwise(words.offset.tolist()):
            X.append(tokens[a:b])
            y.append(labels[a:b])
    report.log()
    return X, y


class _Report:
    """Spans that labels cannot express, by the reason."""

    def __init__(self) -> None:
        self.found: dict[str, list[str]] = {}

    def add(self, reason: str, span: Span) -> None:
        self.found.setdefault(reason, []).append(f"{span.text!r} ({span.label_})")

    def log(self) -> None:
        for reason, spans in self.found.items():
            more = ", ..." if len(spans) > SHOWN else ""
            logger.warning("%s: %s: %s%s", counted(len(spans), "span"), reason, ", ".join(spans[:SHOWN]), more)


def _span_labels(words: SpacyWords, label: str, scheme: str, report: _Report) -> list[str | None]:
    """The label of each word, from entities or a group of spans."""
    offset = words.offset.tolist()
    chunks: list[list[schemes.Span]] = [[] for _ in offset[1:]]
    unknown = np.zeros(words.n_words, np.bool_)
    for doc, own, places in words.parts():
        if label == "ents":
            unknown[own] = _missing(doc)[places]
        for span in _spans(doc, label, report):
            a, b = (own.start + np.searchsorted(places, (span.start, span.end))).tolist()
            s = int(np.searchsorted(words.offset, a, side="right")) - 1
            if a == b:
                report.add("no word in it, left out", span)
            elif b > offset[s + 1]:
                report.add("in two sentences, its labels are unknown", span)
                unknown[a:b] = True
            else:
                chunks[s].append(schemes.Span(span.label_, a - offset[s], b - offset[s]))
    labels: list[str | None] = []
    for own_chunks, (a, b) in zip(chunks, pairwise(offset), strict=True):
        labels += convert_labels(schemes.from_spans(own_chunks, b - a, "IOBES"), scheme)
    return [None if doubt else name for name, doubt in zip(labels, unknown.tolist(), strict=True)]


def _missing(doc: Doc) -> np.ndarray:
    """Which tokens are not annotated for entities, bool[tokens]."""
    missing: np.ndarray = doc.to_array(ENT_IOB) == 0
    if missing.all():
        raise DataError(
            f"no entities are annotated in the document {doc.text[:40]!r}",
            hint="if it has none, set doc.ents = []; else leave it out",
        )
    return missing


def _spans(doc: Doc, label: str, report: _Report) -> list[Span]:
    if label == "ents":
        return list(doc.ents)
    key = label.removeprefix(GROUP)
    if key not in doc.spans:
        groups = ", ".join(doc.spans) or "none"
        raise DataError(f"doc.spans has no group {key!r} in the document {doc.text[:40]!r}; it has {groups}")
    given = list(doc.spans[key])
    kept = filter_spans(given)
    for span in given:
        if not any(span.start == own.start and span.end == own.end and span.label == own.label for own in kept):
            report.add("overlaps with a longer one, left out", span)
    return kept


# Entities by character offsets


class Misaligned(NamedTuple):
    """An entity that tokens cannot express as it is."""

    document: int  # counted from 0
    start: int
    end: int
    label: str
    text: str
    reason: str


def docs_from_offsets(
    nlp: Language, data: Iterable[tuple[str, Any]], *, alignment_mode: str = "strict"
) -> tuple[list[Doc], list[Misaligned]]:
    """Tokenised documents with entities, from (text, [(start, end, label), ...]) pairs, also with spaCy's
    {"entities": [...]} instead of the list; and the entities whose edges are not those of tokens.

    alignment_mode: `strict` leaves these out, and their tokens' labels unknown; `expand` and `contract` move their
    edges to those of tokens."""
    if alignment_mode not in ("strict", "expand", "contract"):
        raise UsageError(f"alignment_mode: {alignment_mode!r} is none of strict, expand, contract")
    docs, misaligned = [], []
    for number, (text, given) in enumerate(data):
        doc = nlp.make_doc(text)
        entities: list[Entity] = given.get("entities", []) if isinstance(given, Mapping) else given
        ents: list[Span] = []
        doubtful: list[Span] = []
        for start, end, label in sorted(entities, key=lambda entity: entity[:2]):
            reason = _place(doc, (start, end, label), alignment_mode, ents, doubtful)
            if reason:
                misaligned.append(Misaligned(number, start, end, label, text[start:end], reason))
        taken = {token.i for ent in ents for token in ent}
        unknown = sorted({token.i for span in doubtful for token in span} - taken)
        doc.set_ents(ents, missing=[doc[i : i + 1] for i in unknown], default="outside")
        docs.append(doc)
    if misaligned:
        shown = "; ".join(f"{one.text!r} in document {one.document}: {one.reason}" for one in misaligned[:SHOWN])
        more = "; ..." if len(misaligned) > SHOWN else ""
        logger.warning("%s not as annotated: %s%s", counted(len(misaligned), "entity", "entities"), shown, more)
    return docs, misaligned


def _place(doc: Doc, entity: Entity, mode: str, ents: list[Span], doubtful: list[Span]) -> str:
    """Add an entity to those of its document, or its tokens to the doubtful ones; what is wrong with it, or nothing."""
    start, end, label = entity
    if not 0 <= start < end <= len(doc.text):
        return f"characters {start} to {end} are not in the text, which has {len(doc.text)}"
    around: Any = doc.char_span(start, end, label=label, alignment_mode="expand")
    span = doc.char_span(start, end, label=label, alignment_mode=mode)
    if span is None or not len(span):
        doubtful.append(around)
        return f"its edges are inside of {around.text!r}, left out"
    if ents and span.start < ents[-1].end:
        doubtful.append(span)
        return f"overlaps with {ents[-1].text!r}, left out"
    ents.append(span)
    exact = (span.start_char, span.end_char) == (start, end)
    return "" if exact else f"moved to {span.text!r}"


# Trees


def trees(
    docs: Documents, *, vocab: Vocab | None = None
) -> tuple[list[list[dict[str, str]]], list[list[tuple[int, str]]]]:
    """Sentences and trees for `Parser.fit`: words with their form, lemma, upos, xpos and feats as far as they are
    set, and per word its head (from 1; 0 is the root) and relation."""
    found, arcs = [], []
    for doc in documents(docs, vocab):
        if len(doc) and not doc.has_annotation("DEP"):
            raise DataError(f"no tree is annotated in the document {doc.text[:40]!r}")
        for sentence in doc.sents:
            words = [token for token in sentence if not token.is_space]
            number = {token.i: k for k, token in enumerate(words, 1)}
            if words:
                found.append([_fields(token) for token in words])
                arcs.append([(_head(token, number), token.dep_) for token in words])
    return found, arcs


def _head(token: Token, number: dict[int, int]) -> int:
    """The number of the head; of the next word above it if that is whitespace; 0 for the root."""
    above = token
    while above.head.i != above.i:
        above = above.head
        if above.i in number:
            return number[above.i]
    return 0


def _fields(token: Token) -> dict[str, str]:
    cells = {
        "form": token.text, "lemma": token.lemma_, "upos": token.pos_, "xpos": token.tag_, "feats": str(token.morph),
    }  # fmt: skip
    return {field: cell for field, cell in cells.items() if cell}


# A pipeline's document as spaCy's `Doc`, whose text is that of the document, character by character.
#
# spaCy's tokens are those of the text. A multi-word token has the annotations of that of its words which depends on
# none of the others; white space that is not one blank is a token of its own, as spaCy has it.


def spacy_doc(document: ParsedDocument, vocab: Vocab) -> Doc:
    """The document with sentences, tags, features, lemmas, trees and entities, as far as it has them."""
    split = document.split
    words, spaces, places = _spacy_tokens(split.tokens(), split.between())
    chosen = _chosen_words(document)
    fields: dict[str, Any] = {
        "tags": _spread(document, "xpos", chosen, places, len(words)),
        "pos": [cell if cell in IDS else "" for cell in _spread(document, "upos", chosen, places, len(words))],
        "morphs": _spread(document, "feats", chosen, places, len(words)),
        "lemmas": _spread(document, "lemma", chosen, places, len(words)),
    }
    if document.treebank.entities is not None:
        fields["ents"] = _entity_tags(document, places, len(words))
    if split.n_tokens and (document.treebank.heads != UNKNOWN).all():
        fields |= _spacy_trees(document, chosen, places, len(words))
    else:
        starts = np.full(len(words), -1)
        starts[places[split.sentence[:-1]]] = 1
        starts[:1] = 1
        fields["sent_starts"] = starts.tolist()
    return Doc(vocab, words=words, spaces=spaces, **fields)


def _entity_tags(document: ParsedDocument, places: np.ndarray, n: int) -> list[str]:
    """The label of each of spaCy's tokens, in IOB2. White space inside of an entity belongs to it."""
    tags = [OUTSIDE] * n
    for entity in document.entities:
        first, last = (int(places[document.token_of[word.index]]) for word in (entity.words[0], entity.words[-1]))
        if tags[first] == OUTSIDE:  # two entities in a multi-word token: the first one stays
            tags[first : last + 1] = [f"B-{entity.label}", *[f"I-{entity.label}"] * (last - first)]
    return tags


def _spacy_tokens(tokens: list[str], between: list[str]) -> tuple[list[str], list[bool], np.ndarray]:
    """spaCy's tokens, whether a blank follows each of them, and the place of each of ours among them."""
    words: list[str] = []
    spaces: list[bool] = []
    places = np.zeros(len(tokens), np.int64)
    for t, gap in enumerate(between):
        if t:
            places[t - 1] = len(words)
            words.append(tokens[t - 1])
            spaces.append(gap.startswith(" "))
            gap = gap.removeprefix(" ")
        if gap:
            words.append(gap)
            spaces.append(False)
    return words, spaces, places


def _chosen_words(document: ParsedDocument) -> np.ndarray:
    """i64[T]: the word whose annotations a token gets: the first that depends on no other word of the token."""
    split, heads = document.split, document.treebank.heads
    chosen = split.first_word[:-1].copy()
    for t in np.flatnonzero(np.diff(split.first_word) > 1).tolist():
        lo, hi = int(split.first_word[t]), int(split.first_word[t + 1])
        before = _sentence_start(document, lo)
        free = [i for i in range(lo, hi) if not lo <= before + int(heads[i]) - 1 < hi or heads[i] <= 0]
        chosen[t] = free[0] if free else lo
    return chosen


def _sentence_start(document: ParsedDocument, word: int) -> int:
    offset = document.split.offset
    return int(offset[np.searchsorted(offset, word, side="right") - 1])


def _spread(document: ParsedDocument, field: str, chosen: np.ndarray, places: np.ndarray, n: int) -> list[str]:
    """The cells of the chosen words at their tokens' places; nothing at white space."""
    column = document.treebank.column(field)
    made = [""] * n
    for place, k in zip(places.tolist(), column.ids[chosen].tolist(), strict=True):
        cell = column.types[k]
        made[place] = "" if cell == NOTHING and field != "lemma" else cell
    return made


def _spacy_trees(document: ParsedDocument, chosen: np.ndarray, places: np.ndarray, n: int) -> dict[str, list[Any]]:
    """Heads as places of spaCy's tokens, and relations. White space hangs on the token before it, or at the start on
    the first one."""
    split, bank = document.split, document.treebank
    start = np.repeat(split.offset[:-1], np.diff(split.offset))
    parent = np.where(bank.heads > 0, start + bank.heads - 1, np.arange(split.n_words))[chosen]
    heads = np.maximum(np.searchsorted(places, np.arange(n), side="right") - 1, 0)
    heads = places[heads]
    heads[places] = places[document.token_of[parent]]
    relations = [OF_WHITESPACE] * n
    for place, word in zip(places.tolist(), chosen.tolist(), strict=True):
        relations[place] = bank.relations.types[bank.relations.ids[word]]
    return {"heads": heads.tolist(), "deps": relations}
