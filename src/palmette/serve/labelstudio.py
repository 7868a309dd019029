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

from palmette.data.labels.schemes import Span as TokenSpan
from palmette.data.labels.schemes import from_spans
from palmette.errors import DataError, UsageError
from palmette.serve.answers import label, spans_of, with_helpers
from palmette.serve.call import Call, Reply, reply
from palmette.serve.failure import Failure
from palmette.serve.inputs import Inputs, cut_texts
from palmette.serve.limits import Limits
from palmette.serve.registry import Slot
from palmette.serve.served import Served
from palmette.serve.service import Service
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
    """An annotation as corrections, one per sentence of the text. All tokens count as checked."""
    task, annotation = event.task or {}, event.annotation or {}
    if annotation.get("was_cancelled"):
        return []
    data = task.get("data")
    if not isinstance(data, dict):
        raise DataError("the event has no task with data")
    text = text_of(data, config_of(event.label_config))
    inputs = cut_texts([text], Request(), limits)
    regions = [
        _region(item) for item in _listed(annotation.get("result")) if isinstance(item, dict) and "value" in item
    ]
    sentences = with_helpers(served, inputs.sentences)
    return [
        Correction(
            tokens=[list(token) if isinstance(token, tuple) else token for token in sentence],
            labels=list(_labels(served, inputs, s, regions)),
            id=f"labelstudio-{task.get('id', 'task')}-{s + 1}"[:200],
            source=f"Label Studio, task {task.get('id')}"[:1000],
        )
        for s, sentence in enumerate(sentences)
    ]  # fmt: skip


def _listed(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []


def _region(item: dict[str, Any]) -> tuple[int, int, str]:
    value = item["value"] if isinstance(item["value"], dict) else {}
    start, end, labels = value.get("start"), value.get("end"), value.get("labels")
    if type(start) is not int or type(end) is not int or not isinstance(labels, list) or len(labels) != 1:
        raise DataError("a region needs start, end and one label")
    return start, end, str(labels[0])


def _labels(served: Served, inputs: Inputs, s: int, regions: list[tuple[int, int, str]]) -> list[str]:
    """The labels of a sentence by the regions that overlap it, widened to whole tokens."""
    assert inputs.parts is not None
    offsets = inputs.parts[s].offsets
    chunks = []
    for start, end, kind in regions:
        inside = [i for i, (a, b) in enumerate(offsets) if a < end and start < b]
        if inside:
            chunks.append(TokenSpan(kind, inside[0], inside[-1] + 1))
    return from_spans(chunks, len(offsets), served.estimator.model_.scheme or "iob2")


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
            ids = await asyncio.to_thread(session.journal.add, given) if given else []
            return reply({"status": "kept", "ids": ids, "corrections": len(session.journal)}, 201)
        if name == TRAIN:
            session.retrain(RetrainRequest())
            return reply({"status": "training", "job": session.retraining.state().id}, 201)
        return reply({"status": "ignored", "action": name[:100]})
