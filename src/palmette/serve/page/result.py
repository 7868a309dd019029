"""The first view: what a model finds in a text, as people read it. Sentences come with their places in the text, so
that the page draws spans, tags or trees over it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any

import numpy as np

from palmette.data.formats.labelling import Confidence
from palmette.data.formats.raw import character_spans, sentence_spans, token_spans
from palmette.data.labels.schemes import reading, spans, unseen_scheme
from palmette.data.treebank import NOTHING, Treebank
from palmette.errors import DataError
from palmette.estimators.tagger import Tagger
from palmette.parsing.parser import Parser
from palmette.pipeline.pipeline import Pipeline
from palmette.serve.page.classes import classified
from palmette.serve.page.models import MOST_TOKENS, PageModel, page_model, rows_of, sentence_of
from palmette.serve.page.trees import prepared, words_in
from palmette.structures.chain.posteriors import are_probabilities, confidence_of

OTHERS = 3  # labels that are shown besides the best one
LEAST = 0.005  # the share from which they are shown


def result(model: Any, request: Mapping[str, Any]) -> dict[str, Any]:
    """What a model finds in `text`, which may have several sentences, or in one sentence as other views take it."""
    shown = page_model(model)
    if isinstance(shown.estimator, Pipeline):
        whole = shown.reads_text() and isinstance(request.get("text"), str)
        return _document(shown.estimator, request) if whole else _of_sentences(shown, request, _analysed)
    if isinstance(shown.estimator, Tagger):
        return _of_sentences(shown, request, _tagged) | _about_labels(shown.estimator)
    if isinstance(shown.estimator, Parser):
        return _of_sentences(shown, request, _tree)
    return _of_sentences(shown, request, _class)


def _of_sentences(shown: PageModel, request: Mapping[str, Any], found: Any) -> dict[str, Any]:
    """Sentence by sentence: `found` makes the record of one."""
    made = []
    text = request.get("text")
    if isinstance(text, str):
        for start, end in sentence_spans(text):
            piece = text[start:end]
            found_spans = character_spans(piece) if shown.unit() == "char" else token_spans(piece, MOST_TOKENS)
            offsets = [(start + a, start + b) for a, b in found_spans]
            made.append(found(shown, {"tokens": [text[a:b] for a, b in offsets]}) | {"offsets": offsets})
        if not made:
            raise DataError("there is no word in the text")
    else:
        parts = _parts(request)
        made = [found(shown, part) | {"request": part} for part in parts]
    return {"text": text, "sentences": made, "kind": made[0]["kind"]}


def _parts(request: Mapping[str, Any]) -> list[dict[str, Any]]:
    """One request per sentence: lines are cut at blank ones."""
    lines = request.get("lines")
    if not isinstance(lines, str):
        return [dict(request)]
    parts = ["\n".join(part) for part in _paragraphs(lines.splitlines())]
    return [{"lines": part} for part in parts] or [dict(request)]


def _paragraphs(lines: Sequence[str]) -> list[list[str]]:
    cuts = [-1, *(k for k, line in enumerate(lines) if not line.strip()), len(lines)]
    return [part for a, b in pairwise(cuts) if (part := list(lines[a + 1 : b]))]


# Taggers


def _about_labels(tagger: Tagger) -> dict[str, Any]:
    chain = tagger.model_
    return {"probabilities": not chain.reads_earlier_labels and are_probabilities(chain)}


def _tagged(shown: PageModel, request: Mapping[str, Any]) -> dict[str, Any]:
    chain, corpus = shown.tagger().model_, sentence_of(shown, request)
    ids = chain.decode(corpus, "viterbi").labels
    labels = [chain.labels[k] for k in ids.tolist()]
    scheme = unseen_scheme(chain.scheme)
    has_spans = reading(chain.labels, scheme) is not None
    made: dict[str, Any] = {"kind": "spans" if has_spans else "tags", "tokens": [row[0] for row in rows_of(corpus)]}
    made |= {"labels": labels, "confidence": None, "others": None}
    found = None
    if not chain.reads_earlier_labels:
        found = confidence_of(chain, corpus, ids, marginals=True)
        made |= {"confidence": found.tokens.tolist(), "others": _others(chain.labels, ids, found)}
    if has_spans:
        made["spans"] = [
            {"type": one.type, "start": one.start, "end": one.end, "confidence": share}
            for one, share in zip(spans(labels, scheme), _shares(found, len(labels)), strict=False)
        ]
    return made


def _shares(found: Confidence | None, n: int) -> list[float | None]:
    return [None] * n if found is None or found.spans is None else found.spans.posterior.tolist()


def _others(labels: Sequence[str], ids: np.ndarray, found: Confidence) -> list[list[list[Any]]]:
    """The most likely other labels of each token with their shares."""
    assert found.marginals is not None
    made = []
    for best, row in zip(ids.tolist(), found.marginals, strict=True):
        near = [int(k) for k in np.argsort(-row, kind="stable")[: OTHERS + 1] if k != best and row[k] >= LEAST]
        made.append([[labels[k], float(row[k])] for k in near[:OTHERS]])
    return made


# Trees


def _tree(shown: PageModel, request: Mapping[str, Any]) -> dict[str, Any]:
    parser, bank, lacks = prepared(shown, request)
    return _drawn(parser.parse(bank), 0, bank.n_tokens) | {"lacks": lacks}


def _analysed(shown: PageModel, request: Mapping[str, Any]) -> dict[str, Any]:
    bank = shown.estimator.model_.annotate(words_in(request))
    return _drawn(bank, 0, bank.n_tokens) | {"lacks": []}


def _document(pipeline: Pipeline, request: Mapping[str, Any]) -> dict[str, Any]:
    """A text by all components of a pipeline."""
    document = pipeline(request["text"])
    if not document.split.n_words:
        raise DataError("there is no word in the text")
    first = document.split.first_word
    made = []
    for s, (a, b) in enumerate(pairwise(document.split.sentence.tolist())):
        record = _drawn(document.treebank, int(first[a]), int(first[b]))
        sentence = document.sentences[s]
        offsets = [(token.start, token.end) for token in sentence.tokens for _ in token.words]
        made.append(record | {"offsets": offsets, "lacks": []})
    return {"text": document.text, "sentences": made, "kind": "trees"}


def _drawn(bank: Treebank, a: int, b: int) -> dict[str, Any]:
    """Words a to b of a treebank: what the page writes below and draws above them."""
    cells = {field: bank.column(field).cells()[a:b] for field in ("form", "lemma", "upos", "xpos", "feats")}
    made: dict[str, Any] = {"kind": "trees", "tokens": cells.pop("form")}
    made |= {field: column for field, column in cells.items() if set(column) != {NOTHING}}
    heads = bank.heads[a:b].tolist()
    if all(head >= 0 for head in heads):
        made |= {"heads": heads, "relations": bank.relations.cells()[a:b]}
    return made


# Classes


def _class(shown: PageModel, request: Mapping[str, Any]) -> dict[str, Any]:
    found = classified(shown, request)
    name = found["classes"][found["class"]]
    return {"kind": "classes", "tokens": found["tokens"], "class": name, "score": found["score"]}
