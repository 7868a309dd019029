"""Label Studio's machine-learning backend: predictions for tasks, and annotations taken over as corrections.

`/setup` and `/predict` have the labelling configuration, an XML text, of which the names of the control and of the text
are read by patterns: nothing of it is expanded or fetched. `/webhook` and `/train` report annotations, which are kept
in the journal of corrections; the wish to train begins a training, if the server has training data.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Sequence
from typing import Any, NamedTuple

import msgspec

from palmette.connect.annotations.align import AlignedSentence, Alignment, aligned
from palmette.connect.annotations.files import sound
from palmette.connect.annotations.labelstudio import read_task
from palmette.connect.annotations.shared import AnnotationKeys
from palmette.data.analysed import At, Document
from palmette.data.formats.raw import Spans, token_spans
from palmette.data.labels.schemes import HYPHEN, spans_in
from palmette.data.notes import Notes
from palmette.errors import DataError, UsageError, counted
from palmette.serve.answers import label, spans_of, with_helpers
from palmette.serve.call import Call, Reply, reply
from palmette.serve.failure import Failure
from palmette.serve.inputs import cut_texts
from palmette.serve.limits import Limits
from palmette.serve.registry import Slot
from palmette.serve.served import Served
from palmette.serve.service import Service
from palmette.serve.session import CorrectionSession
from palmette.serve.spans import labels_of_spans
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
UNPLACED = {  # by kind in notes.KINDS, what is wrong with a region
    "outside": "with offsets that are not in the text",
    "empty": "empty, or only white space",
    "unlabelled": "without a label",
    "nested": "inside a longer one, or as long as one before it",
    "overlapping": "overlapping a longer one",
    "between": "between tokens",
    "differs": "with another text than the one at its offsets",
}


class Config(NamedTuple):
    """What a labelling configuration calls the control of labels and the text."""

    control: str = "label"
    text: str = "text"
    key: str = "text"  # of the data of a task
    other_texts: tuple[str, ...] = ()


def config_of(xml: str | None) -> Config:
    """The names in a labelling configuration; the usual ones if it has none."""
    usual, control = Config(), {}
    keys: dict[str, str] = {}
    for kind, inside in _TAG.findall(xml or ""):
        names = {name: one or other for name, one, other in _ATTRIBUTE.findall(inside)}
        if kind == "Labels":
            control = names
        else:
            keys[names.get("name", usual.text)] = names.get("value", usual.key).lstrip("$")
    text = control.get("toName", next(iter(keys), usual.text))
    key = keys.get(text, next(iter(keys.values()), usual.key))
    return Config(control.get("name", usual.control), text, key, tuple(name for name in keys if name != text))


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
        raise UsageError(f"Label Studio is given spans, and {served.name} is not a tagger of spans")
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
    """Annotations as corrections, one per sentence of the text. All tokens count as checked; hence DataError if a
    region cannot be placed."""
    project = event.project if isinstance(event.project, dict) else {}
    config = config_of(event.label_config or str(project.get("label_config") or ""))
    return [
        correction
        for task, annotation in _annotations(event)
        for correction in _corrections(served, task, annotation, config, limits)
    ]


def _annotations(event: StudioEvent) -> list[tuple[dict[str, Any], dict[str, Any]]]:
    """The annotations of an event that were not cancelled, each with its task."""
    tasks = event.task if isinstance(event.task, list) else [event.task or {}]
    given = event.annotation if isinstance(event.annotation, list) else [event.annotation or {}]
    by_id = {str(task.get("id")): task for task in tasks}
    made = []
    for annotation in given:
        if annotation.get("was_cancelled"):
            continue
        task = tasks[0] if len(tasks) == 1 else by_id.get(str(annotation.get("task")), {})
        if not isinstance(task.get("data"), dict):
            raise DataError("the event has no task with data")
        if not isinstance(annotation.get("result"), list):
            raise DataError(f"the event has no annotation with a result, of task {task.get('id')}")
        made.append((task, annotation))
    return made


def _corrections(
    served: Served, task: dict[str, Any], annotation: dict[str, Any], config: Config, limits: Limits
) -> list[Correction]:
    data = task["data"]
    text_of(data, config)
    how = AnnotationKeys(text_key=config.key if config.key in data else "text")
    notes = Notes()
    place = At(f"Label Studio, task {task.get('id')}"[:1000])
    result = [item for item in annotation["result"] if not _is_of(item, config.other_texts)]
    document = sound(read_task({"data": data, "annotations": [{"result": result}]}, place, how, notes), notes)
    sentences = _aligned(document, limits, notes)
    refused = [
        f"{counted(notes.counts[kind], 'region')} {wrong}" for kind, wrong in UNPLACED.items() if kind in notes.counts
    ]
    if refused:
        hint = "correct the regions in Label Studio and submit the annotation again"
        raise DataError("; ".join(refused), file=str(place), hint=hint)
    words = [[document.text[a:b] for a, b in sentence.tokens] for sentence in sentences]
    return [
        Correction(
            tokens=[list(token) if isinstance(token, tuple) else token for token in tokens],
            labels=list(_labels(served, sentence)),
            id=f"labelstudio-{str(task.get('id', 'task'))[:150]}-{s + 1}",
            source=str(place),
        )
        for s, (sentence, tokens) in enumerate(zip(sentences, with_helpers(served, words), strict=True))
    ]  # fmt: skip


def _is_of(item: Any, texts: Sequence[str]) -> bool:
    """Whether a region is one of these texts."""
    return isinstance(item, dict) and item.get("to_name") in texts


def _aligned(document: Document, limits: Limits, notes: Notes) -> list[AlignedSentence]:
    """The sentences of a document as files are read, within the limits."""

    def cut(piece: str) -> Spans:
        limits.check_words(piece, "word")
        return token_spans(piece, limits.sentence)

    sentences = aligned(document, Alignment(cut), notes)
    limits.check_sizes([len(sentence.tokens) for sentence in sentences])
    return sentences


def _labels(served: Served, sentence: AlignedSentence) -> list[str]:
    chunks = spans_in(sentence.labels, HYPHEN, "BIO")
    return labels_of_spans(served, chunks, len(sentence.labels), "an annotation")


def _outdated(session: CorrectionSession, given: list[Correction]) -> list[str]:
    """Corrections of the same tasks from earlier annotations, which had more sentences."""
    kept = {one.id or "" for one in given}
    tasks = {id.rpartition("-")[0] for id in kept}
    parts = ((one.id or "").rpartition("-") for one in session.journal.all())
    return [
        id for task, _, number in parts if task in tasks and number.isdigit() and (id := f"{task}-{number}") not in kept
    ]


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
            raise Failure(409, f"annotations are for taggers of spans, and {served.name} is not one")
        if name in ANNOTATED:
            given = await self.service.in_thread(call, lambda _: corrections_of(served, event, self.service.limits))
            session.check(given)
            ids = await asyncio.to_thread(session.journal.add, given, _outdated(session, given)) if given else []
            return reply({"status": "kept", "ids": ids, "corrections": len(session.journal)}, 201)
        if name == TRAIN:
            session.retrain(RetrainRequest())
            return reply({"status": "training", "job": session.retraining.state().id}, 201)
        return reply({"status": "ignored", "action": name[:100]})
