"""Label Studio's machine-learning backend: predictions for tasks, and annotations taken over as corrections.

`/setup` and `/predict` have the labelling configuration, an XML text, of which the names of the control and of the text
are read by patterns: nothing of it is expanded or fetched. `/webhook` and `/train` report annotations, which are kept
in the journal of corrections; the wish to train begins a training, if the server has training data.
"""

from __future__ import annotations

import asyncio
import re
from typing import Any, NamedTuple

import msgspec

from palmette.connect.annotations.align import Alignment, Sentence, aligned
from palmette.connect.annotations.labelstudio import read_task
from palmette.connect.annotations.read import sound
from palmette.connect.annotations.shared import Reading
from palmette.data.document import At, Document
from palmette.data.labels.schemes import HYPHEN, from_spans, spans_in
from palmette.data.notes import Notes
from palmette.data.tokeniser import Spans, token_spans
from palmette.errors import DataError, UsageError
from palmette.serve.answers import label, spans_of, with_helpers
from palmette.serve.call import Call, Reply, reply
from palmette.serve.failure import Failure
from palmette.serve.inputs import cut_texts
from palmette.serve.limits import Limits
from palmette.serve.registry import Slot
from palmette.serve.served import Served
from palmette.serve.service import Service
from palmette.serve.session import CorrectionSession
from palmette.serve.types import (
    Correction,
    Request,
    RetrainRequest,
    StudioEvent,
    StudioPrediction,
    StudioPredictions,
    StudioRequest,
    StudioSetup,
)

_TAG = re.compile(r"<(Labels|Text|HyperText)\b([^<>]{0,2000})>")
_ATTRIBUTE = re.compile(r"""(name|toName|value)\s*=\s*(?:"([^"]{0,200})"|'([^']{0,200})')""")
ANNOTATED = ("ANNOTATION_CREATED", "ANNOTATION_UPDATED", "ANNOTATIONS_CREATED")
TRAIN = "START_TRAINING"
UNPLACED = ("outside", "empty", "unlabelled", "nested", "overlapping", "between", "differs")  # see notes.KINDS


class Config(NamedTuple):
    """What a labelling configuration calls the control of labels and the text."""

    control: str = "label"
    text: str = "text"
    key: str = "text"  # of the data of a task


def config_of(xml: str | None) -> Config:
    """The names in a labelling configuration; the usual ones if it has none."""
    found = Config()
    for kind, inside in _TAG.findall(xml or ""):
        names = {name: one or other for name, one, other in _ATTRIBUTE.findall(inside)}
        if kind == "Labels":
            found = found._replace(control=names.get("name", found.control), text=names.get("toName", found.text))
        else:
            found = found._replace(key=names.get("value", f"${found.key}").lstrip("$"))
    return found


def text_of(data: dict[str, Any], config: Config) -> str:
    """The text of a task."""
    text = data.get(config.key, data.get("text"))
    if not isinstance(text, str):
        raise DataError(
            f"the data of a task has no text {config.key!r}: it has {', '.join(list(data)[:10]) or 'nothing'}"
        )
    return text


def predictions(served: Served, request: StudioRequest, limits: Limits) -> StudioPredictions:
    """The spans of tasks as regions of Label Studio."""
    if served.kind != "tagger" or not served.has_spans:
        raise UsageError(f"Label Studio is given spans, and {served.name} is no tagger of spans")
    config, version = config_of(request.label_config), version_of(served)
    inputs = cut_texts([text_of(task.data, config) for task in request.tasks], Request(), limits)
    found = label(served, inputs.sentences, True)
    sure = _confidences(served, found.sentences)
    results: list[list[dict[str, Any]]] = [[] for _ in request.tasks]
    scores = [1.0] * len(request.tasks)
    for s, labels in enumerate(found.labels):
        task = inputs.number(s)
        for k, span in enumerate(spans_of(served, labels, inputs, s) or []):
            score = sure[s][k] if sure is not None else None
            value = {"start": span.start_char, "end": span.end_char, "text": span.text, "labels": [span.label]}
            region: dict[str, Any] = {
                "id": f"s{s}-{k}", "from_name": config.control, "to_name": config.text, "type": "labels",
                "value": value,
            }  # fmt: skip
            if score is not None:
                region["score"] = score
                scores[task] = min(scores[task], score)
            results[task].append(region)
    made = [
        StudioPrediction(result=regions, score=score, model_version=version)
        for regions, score in zip(results, scores, strict=True)
    ]
    return StudioPredictions(results=made, model_version=version)


def _confidences(served: Served, sentences: list[list[Any]]) -> list[list[float]] | None:
    """How sure the spans of each sentence are; None if the model searches by a beam, which has no sums."""
    if served.estimator.model_.beam:
        return None
    rows = served.estimator.predict_confidence(sentences)
    return [[one["confidence"] for one in row["span_confidence"]] for row in rows]


def version_of(served: Served) -> str:
    return f"{served.name}-{served.generation}"


def corrections_of(served: Served, event: StudioEvent, limits: Limits) -> list[Correction]:
    """An annotation as corrections, one per sentence of the text. All tokens count as checked; hence DataError if a
    region cannot be placed."""
    task, annotation = event.task or {}, event.annotation or {}
    if annotation.get("was_cancelled"):
        return []
    data = task.get("data")
    if not isinstance(data, dict):
        raise DataError("the event has no task with data")
    config = config_of(event.label_config)
    text_of(data, config)
    how = Reading(text_key=config.key if config.key in data else "text")
    notes = Notes()
    place = At(f"Label Studio, task {task.get('id')}"[:1000])
    given = {"data": data, "annotations": [annotation]}
    document = sound(read_task(given, place, how, notes), notes)
    sentences = _aligned(document, limits, notes)
    refused = [notes.message(kind) for kind in UNPLACED if kind in notes.counts]
    if refused:
        raise DataError("; ".join(refused), hint="correct the regions in Label Studio and submit the annotation again")
    words = [[document.text[a:b] for a, b in sentence.tokens] for sentence in sentences]
    return [
        Correction(
            tokens=[list(token) if isinstance(token, tuple) else token for token in tokens],
            labels=list(_labels(served, sentence)),
            id=f"{prefix_of(task)}{s + 1}",
            source=str(place),
        )
        for s, (sentence, tokens) in enumerate(zip(sentences, with_helpers(served, words), strict=True))
    ]  # fmt: skip


def prefix_of(task: dict[str, Any]) -> str:
    """What the ids of the corrections of a task begin with."""
    return f"labelstudio-{str(task.get('id', 'task'))[:150]}-"


def _aligned(document: Document, limits: Limits, notes: Notes) -> list[Sentence]:
    """The sentences of a document as files are read, within the limits."""

    def cut(piece: str) -> Spans:
        limits.check_words(piece, "word")
        return token_spans(piece, limits.sentence)

    sentences = aligned(document, Alignment(cut), notes)
    limits.check_sizes([len(sentence.tokens) for sentence in sentences])
    return sentences


def _labels(served: Served, sentence: Sentence) -> list[str]:
    chunks = spans_in(sentence.labels, HYPHEN, "BIO")
    return from_spans(chunks, len(sentence.labels), served.estimator.model_.scheme or "iob2")


def _outdated(session: CorrectionSession, event: StudioEvent, given: list[Correction]) -> list[str]:
    """Corrections of the same task from an earlier annotation, which had more sentences."""
    prefix, kept = prefix_of(event.task or {}), {one.id for one in given}
    known = (one.id or "" for one in session.journal.all())
    return [id for id in known if id.startswith(prefix) and id.removeprefix(prefix).isdigit() and id not in kept]


class StudioHandlers:
    """Label Studio's addresses, for the model that is named or the first one."""

    def __init__(self, service: Service) -> None:
        self.service = service

    def slot(self, call: Call) -> Slot:
        registry = self.service.registry
        return registry.slot(call.params["name"]) if "name" in call.params else registry.first()

    async def setup(self, call: Call) -> Reply:
        msgspec.json.decode(call.body or b"{}", type=StudioSetup)
        return reply({"model_version": version_of(self.slot(call).served)})

    async def predict(self, call: Call) -> Reply:
        served = self.slot(call).served
        request = msgspec.json.decode(call.body, type=StudioRequest)
        limits = self.service.limits
        return reply(await self.service.in_thread(call, lambda _: predictions(served, request, limits)))

    async def train(self, call: Call) -> Reply:
        """An event: annotations are kept, the wish to train is followed."""
        served = self.slot(call).served
        event = msgspec.json.decode(call.body or b"{}", type=StudioEvent)
        name = event.action or event.event or TRAIN
        session = self.service.sessions.get(served.name)
        if session is None or not served.has_spans:
            raise Failure(409, f"annotations are for taggers of spans, and {served.name} is none")
        if name in ANNOTATED:
            given = await self.service.in_thread(call, lambda _: corrections_of(served, event, self.service.limits))
            session.check(given)
            ids = await asyncio.to_thread(session.journal.add, given, _outdated(session, event, given)) if given else []
            return reply({"status": "kept", "ids": ids, "corrections": len(session.journal)}, 201)
        if name == TRAIN:
            session.retrain(RetrainRequest())
            return reply({"status": "training", "job": session.retraining.state().id}, 201)
        return reply({"status": "ignored", "action": name[:100]})
