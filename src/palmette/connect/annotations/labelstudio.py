"""Label Studio's JSON: a list of tasks with `data`, `annotations` (older: `completions`) and `predictions`, each with a
`result`: a list of regions `{"value": {"start", "end", "text", "labels"}, "from_name", "to_name", "type": "labels"}`.
JSON-MIN has the keys of `data` in the task itself, and the values of the regions under the name of their control.

Of several annotations the ground truth is read, else the first that was not cancelled. Versions since 2022 count
characters, earlier ones UTF-16 units, some count CR LF as one: the text of the regions shows what was counted.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import msgspec

from palmette.connect.annotations.shared import (
    AUTO,
    CHARACTERS,
    AnnotationKeys,
    Ruler,
    by_characters,
    by_widths,
    decoded,
    flat_spans,
    has_wide,
    identity,
    kept_keys,
    listed,
    note_losses,
    number,
    record,
    rulers,
    string,
    whole,
)
from palmette.data.analysed import ACCEPT, IGNORE, PREDICTED, At, Document, TextSpan
from palmette.data.formats.spec import FormatSpec
from palmette.data.notes import Notes
from palmette.options.spelling import spelt

NAME = "labelstudio"
FROM, TO, TYPES = "label", "text", ("labels", "hypertextlabels")
HOLDERS = ("annotations", "completions")
MODEL = "palmette"
_HYPERTEXT = "annotations of HTML are not supported: export the text"
_BEYOND = -1


class Region(NamedTuple):
    """A span as the file gives it: one per label."""

    start: int
    end: int
    text: str | None
    label: str
    score: float | None
    id: str | int | None
    extra: dict[str, Any]


def read_tasks(data: str, file: str, how: AnnotationKeys, notes: Notes) -> list[Document]:
    found = decoded(data, At(file))
    tasks = [found] if isinstance(found, dict) else listed(found, "the file", At(file))
    return [read_task(task, At(file, task=k + 1), how, notes) for k, task in enumerate(tasks)]


def read_task(given: Any, at: At, how: AnnotationKeys, notes: Notes) -> Document:
    task = record(given, "the task", at)
    if "data" not in task:
        return _minimal(task, at, how, notes)
    data = record(task["data"], "data", at)
    key = _text_key(data, how, at)
    text = string(data[key], f"the {key}", at)
    place, answer = _place(task, at, notes)
    result = [] if place is None else listed(place.get("result", []), "the result", at)
    regions: list[Region] = []
    others = 0
    for k, each in enumerate(result):
        if _is_region(item := record(each, f"region {k + 1}", at), how.label_key):
            regions += _regions(record(item.get("value"), f"the value of region {k + 1}", at), item, k, at)
        else:
            others += 1
    return Document(
        text, _in_characters(regions, text, how.offsets, at, notes), record(task.get("meta") or {}, "meta", at), answer,
        format=NAME, kept={k: v for k, v in task.items() if k != "meta"}, style=(key, how.label_key), others=others,
        place=str(at),
    )  # fmt: skip


def _minimal(task: dict[str, Any], at: At, how: AnnotationKeys, notes: Notes) -> Document:
    """A task of JSON-MIN."""
    key = _text_key(task, how, at)
    text = string(task[key], f"the {key}", at)
    name = how.label_key or next((k for k, value in task.items() if _are_values(value)), None)
    regions: list[Region] = []
    for k, value in enumerate(listed(task.get(name, []), str(name), at) if name is not None else []):
        regions += _regions(record(value, f"region {k + 1}", at), {}, k, at)
    annotated = name in task or "annotation_id" in task
    return Document(
        text, _in_characters(regions, text, how.offsets, at, notes), {}, ACCEPT if annotated else None, format=NAME,
        kept={k: v for k, v in task.items() if k not in (key, name)}, style=(key, name, "minimal"), place=str(at),
    )  # fmt: skip


def _are_values(value: Any) -> bool:
    """Whether something is the regions of a control in JSON-MIN."""
    return isinstance(value, list) and bool(value) and all(isinstance(v, dict) and "start" in v for v in value)


def _text_key(data: dict[str, Any], how: AnnotationKeys, at: At) -> str:
    """The key of the text: the one given, `text`, or the only string."""
    keys = [key for key, value in data.items() if isinstance(value, str) and key not in _ADMINISTRATION]
    wanted = how.text_key or (TO if TO in data or len(keys) != 1 else keys[0])
    if wanted not in data:
        known = ", ".join(list(data)[:10]) or "nothing"
        hint = f"give the key of the text: {spelt(FormatSpec, 'columns')}"
        raise at.error(f"no key {wanted!r} in the data: it has {known}", hint)
    return wanted


_ADMINISTRATION = ("annotator", "created_at", "updated_at", "id", "annotation_id")


def _place(task: dict[str, Any], at: At, notes: Notes | None) -> tuple[dict[str, Any] | None, str | None]:
    """The annotation or prediction that is read, and what it counts as."""
    for holder in HOLDERS:
        found = [record(each, f"each of {holder}", at) for each in listed(task.get(holder) or [], holder, at)]
        if not found:
            continue
        valid = [each for each in found if not each.get("was_cancelled")]
        if len(valid) > 1 and notes is not None:
            notes.add("several", at)
        best = next((each for each in valid if each.get("ground_truth")), valid[0] if valid else found[0])
        return best, ACCEPT if valid else IGNORE
    predictions = listed(task.get("predictions") or [], "predictions", at)
    if predictions:
        return record(predictions[0], "each of predictions", at), PREDICTED
    return None, None


def _is_region(item: dict[str, Any], name: str | None) -> bool:
    kind = item.get("type", TYPES[0] if "value" in item else None)
    return kind in TYPES and name in (None, item.get("from_name"))


def _regions(value: dict[str, Any], item: dict[str, Any], k: int, at: At) -> list[Region]:
    what = f"region {k + 1}"
    start = whole(value.get("start"), f"the start of {what}", at, _HYPERTEXT)
    end = whole(value.get("end"), f"the end of {what}", at, _HYPERTEXT)
    text = value.get("text")
    score = number(item.get("score", value.get("score")), f"the score of {what}", at)
    own = identity(item.get("id"), f"the id of {what}", at)
    labels = listed(value.get("labels", value.get("hypertextlabels", [])), f"the labels of {what}", at)
    extra = {key: item[key] for key in item if key not in ("value", "id", "score")}
    names = [string(label, f"a label of {what}", at) for label in labels] or [""]
    return [Region(start, end, text if isinstance(text, str) else None, name, score, own, extra) for name in names]


# Offsets


def _in_characters(regions: Sequence[Region], text: str, offsets: str, at: At, notes: Notes) -> list[TextSpan]:
    """The regions as spans by characters: by what their own text shows if `offsets` is auto."""
    if offsets != AUTO:
        ruler = by_characters(text) if offsets == CHARACTERS else by_widths(text, 2, 2)
        kind = ""
    else:
        kind, ruler = _found_ruler(regions, text)
        if kind:
            notes.add(kind, at)
        elif has_wide(text) and regions and all(region.text is None for region in regions):
            notes.add("units", at)
    made = []
    for region in regions:
        start, end = (found if (found := ruler(place)) is not None else _BEYOND for place in region[:2])
        span = TextSpan(start, end, region.label, score=region.score, id=region.id, extra=region.extra)
        if 0 <= start <= end and not _agrees(region, text[start:end]):
            notes.add("differs", at)
        made.append(span)
    return made


def _found_ruler(regions: Sequence[Region], text: str) -> tuple[str, Ruler]:
    """What offsets count: that by which most texts of regions are right."""
    best: tuple[int, str, Ruler] | None = None
    for kind, make in rulers(text):
        ruler, wrong = make(), 0
        for region in regions:
            start, end = ruler(region.start), ruler(region.end)
            wrong += start is None or end is None or not _agrees(region, text[start:end])
        if best is None or wrong < best[0]:
            best = wrong, kind, ruler
        if wrong == 0:
            break
    assert best is not None
    return best[1:]


def _agrees(region: Region, found: str) -> bool:
    """Whether a region's text is the one found, but for white space, which the tool does not keep."""
    if region.text is None:
        return True
    given = region.text.replace("\\n", " ") if "\\n" not in found else region.text
    return given == found or "".join(given.split()) == "".join(found.split())


# Writing


def write_task(document: Document, notes: Notes) -> bytes:
    """One task, without what separates it from others."""
    note_losses(document, NAME, notes, meta=True, score=True)
    spans = flat_spans(document, notes)
    same = document.format == NAME
    key = (document.style[0] if same else None) or TO
    if same and document.style[2:]:
        values = [_value(span, document.text) for span in spans]
        task = {**document.kept, key: document.text}
        if document.answer is not None or document.style[1] in document.kept:
            task[document.style[1] or FROM] = values
        return msgspec.json.encode(task)
    task = kept_keys(document, NAME)
    task["data"] = {**task.get("data", {}), key: document.text}
    if document.meta:
        task["meta"] = document.meta
    names = _names(task) if same else {}
    _put_result(task, document, [_item(span, document.text, names, same) for span in spans])
    return msgspec.json.encode(task)


def _put_result(task: dict[str, Any], document: Document, items: list[dict[str, Any]]) -> None:
    """Put the regions in place of those that were read: of the first prediction, or of the annotation."""
    if document.answer is None:
        return
    if document.answer == PREDICTED:
        holder, found = "predictions", task.get("predictions") or [{"model_version": MODEL}]
        place = found[0]
    else:
        holder = next((name for name in HOLDERS if task.get(name)), HOLDERS[0])
        place = _place(task, At(document.place), None)[0] if task.get(holder) else None
        found = task.get(holder) or [{"was_cancelled": document.answer != ACCEPT}]
        place = found[0] if place is None else place
    name = document.style[1] if document.style else None
    others = [item for item in place.get("result", []) if not _is_region(item, name)]
    made = {**place, "result": items + others}
    if document.answer == PREDICTED and any(span.score is not None for span in document.spans):
        made["score"] = min(span.score for span in document.spans if span.score is not None)
    task[holder] = [made if each is place else each for each in found]


def with_new_prediction(kept: dict[str, Any]) -> dict[str, Any]:
    """A task with an empty prediction before others, for spans that a model makes."""
    if "data" not in kept:
        return kept
    return {**kept, "predictions": [{"model_version": MODEL}, *(kept.get("predictions") or [])]}


def _value(span: TextSpan, text: str) -> dict[str, Any]:
    return {"start": span.start, "end": span.end, "text": text[span.start : span.end], "labels": [span.label]}


def _names(task: dict[str, Any]) -> dict[str, Any]:
    """The names of control and text that other regions of a task have."""
    for holder in (*HOLDERS, "predictions"):
        for each in task.get(holder) or []:
            for item in each.get("result", []):
                if _is_region(item, None):
                    return {key: item[key] for key in ("from_name", "to_name", "type") if key in item}
    return {}


def _item(span: TextSpan, text: str, names: dict[str, Any], same: bool) -> dict[str, Any]:
    made: dict[str, Any] = {"from_name": FROM, "to_name": TO, "type": TYPES[0], **names}
    if same:
        made |= span.extra
    if same and span.id is not None:
        made["id"] = span.id
    if span.score is not None:
        made["score"] = span.score
    value = _value(span, text)
    if made["type"] == TYPES[1]:
        value[TYPES[1]] = value.pop("labels")
    return made | {"value": value}
