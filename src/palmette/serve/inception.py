"""INCEpTION's external recommender: `/predict` adds annotations to a document, `/train` takes the annotations of people
over as corrections and begins a training if the server has training data."""

from __future__ import annotations

import asyncio
from typing import Any

import msgspec

from palmette.data.formats.labelling import CONFIDENCE
from palmette.data.labels.schemes import Span as Chunk
from palmette.data.labels.schemes import spans
from palmette.errors import DataError, UsageError
from palmette.serve.answers import label, with_helpers
from palmette.serve.call import Call, Reply, reply
from palmette.serve.cas import Cas, CasSentence, Marked, has_score, within
from palmette.serve.failure import Failure
from palmette.serve.limits import Limits
from palmette.serve.served import Served
from palmette.serve.service import Service
from palmette.serve.spans import labels_of_spans
from palmette.serve.types import (
    Correction,
    RecommenderAnswer,
    RecommenderDocument,
    RecommenderMetadata,
    RecommenderRequest,
    RecommenderTraining,
    RetrainRequest,
)


def predictions(served: Served, request: RecommenderRequest, limits: Limits) -> RecommenderAnswer:
    """The document with what the model finds: spans, or a label per token."""
    cas, sentences = _read(served, request.document, limits)
    layer, feature = request.metadata.layer, request.metadata.feature
    found: list[Marked] = []
    labels = label(served, [_words(cas, one) for one in sentences], True)
    sure = _confidences(served, labels.sentences)
    for s, (sentence, own) in enumerate(zip(sentences, labels.labels, strict=True)):
        for a, b, name, score in _marks(served, own, None if sure is None else sure[s]):
            found.append(Marked(sentence.tokens[a][0], sentence.tokens[b - 1][1], name, score))
    xmi = cas.with_predictions(layer, feature, found, has_score(request.typeSystem, layer, feature))
    return RecommenderAnswer(document=xmi)


def _marks(served: Served, labels: list[str], sure: Any) -> list[tuple[int, int, str, float | None]]:
    if not served.has_spans:
        scores = [None] * len(labels) if sure is None else sure["token_confidence"]
        return [(i, i + 1, name, score) for i, (name, score) in enumerate(zip(labels, scores, strict=True))]
    chunks = spans(labels, served.scheme)
    scores = [None] * len(chunks) if sure is None else [one[CONFIDENCE] for one in sure["span_confidence"]]
    return [(one.start, one.end, one.type, score) for one, score in zip(chunks, scores, strict=True)]


def _confidences(served: Served, sentences: list[list[Any]]) -> list[dict[str, Any]] | None:
    """How sure the model is; None if its search has no sums."""
    if served.estimator.model_.beam or served.estimator.model_.reads_earlier_labels:
        return None
    found: list[dict[str, Any]] = served.estimator.predict_confidence(sentences)
    return found


def _read(served: Served, document: RecommenderDocument, limits: Limits) -> tuple[Cas, list[CasSentence]]:
    if served.kind != "tagger":
        raise UsageError(f"INCEpTION is given annotations of tokens and spans, and {served.name} is a {served.kind}")
    cas = Cas(document.xmi)
    limits.check_words(cas.text, "word")
    sentences = cas.sentences()
    limits.check_sizes([len(one.tokens) for one in sentences])
    return cas, sentences


def _words(cas: Cas, sentence: CasSentence) -> list[str]:
    return [cas.text[a:b] for a, b in sentence.tokens]


def corrections_of(served: Served, request: RecommenderTraining, limits: Limits) -> list[Correction]:
    """The sentences that people have annotated as corrections. The others are left out: in INCEpTION an annotator may
    not have come to them yet."""
    return [
        one for document in request.documents for one in _of_document(served, request.metadata, document, limits)
    ]  # fmt: skip


def _of_document(
    served: Served, about: RecommenderMetadata, document: RecommenderDocument, limits: Limits
) -> list[Correction]:
    cas, sentences = _read(served, document, limits)
    marks = cas.layer(about.layer, about.feature)
    where = f"INCEpTION, document {document.documentId}"
    made = []
    for number, sentence in enumerate(sentences, 1):
        start, end = sentence.tokens[0][0], sentence.tokens[-1][1]
        own = [mark for mark in marks if start <= mark.start and mark.end <= end]
        if not own:
            continue
        (tokens,) = with_helpers(served, [_words(cas, sentence)])
        made.append(
            Correction(
                tokens=[list(token) if isinstance(token, tuple) else token for token in tokens],
                labels=[*_labels(served, sentence, own, where)],
                id=f"inception-{about.projectId}-{document.documentId}-{number}",
                source=where,
            )
        )
    return made


def _labels(served: Served, sentence: CasSentence, marks: list[Marked], where: str) -> list[str | None]:
    placed = []
    for mark in marks:
        tokens = within(sentence.tokens, mark)
        if tokens is None:
            raise DataError(f"{where}: the annotation {mark.label!r} at {mark.start} does not end with a token")
        placed.append(Chunk(mark.label, *tokens))
    n = len(sentence.tokens)
    if served.has_spans:
        return [*labels_of_spans(served, placed, n, where)]
    labels: list[str | None] = [None] * n  # what has no annotation is not known
    for chunk in placed:
        labels[chunk.start : chunk.end] = [chunk.type] * (chunk.end - chunk.start)
    return labels


class RecommenderHandlers:
    """INCEpTION's addresses of a model."""

    def __init__(self, service: Service) -> None:
        self.service = service

    async def predict(self, call: Call) -> Reply:
        served = self.service.registry.slot(call.params["name"]).served
        request = msgspec.json.decode(call.body, type=RecommenderRequest)
        limits = self.service.limits
        return reply(await self.service.in_thread(call, lambda _: predictions(served, request, limits)))

    async def train(self, call: Call) -> Reply:
        """Annotations are kept; a training begins if there is training data and none is running."""
        served = self.service.registry.slot(call.params["name"]).served
        request = msgspec.json.decode(call.body, type=RecommenderTraining)
        session = self.service.sessions.get(served.name)
        if session is None or served.kind != "tagger":
            raise Failure(409, f"annotations are for taggers, and {served.name} is a {served.kind}")
        given = await self.service.in_thread(call, lambda _: corrections_of(served, request, self.service.limits))
        session.check(given)
        if given:
            await asyncio.to_thread(session.journal.add, given)
        if session.retraining.state().state == "running":
            raise Failure(429, "a training is running: the annotations are kept, and are used by the next one")
        if given and session.can_retrain:
            session.retrain(RetrainRequest())
        return Reply(b"", 204)
