"""Prodigy's JSON lines: one task per line, with `text`, `spans`, and perhaps `tokens`, `meta` and `answer`.

A task without an answer whose key `spans` exists counts as accepted; without both, no one has annotated it. Prodigy
counts characters.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec

from palmette.connect.annotations.shared import (
    AnnotationKeys,
    flat_spans,
    identity,
    kept_keys,
    listed,
    note_losses,
    number,
    record,
    string,
    whole,
)
from palmette.data.analysed import ACCEPT, ANSWERS, PREDICTED, At, Document, TextSpan
from palmette.data.formats.spec import FormatSpec
from palmette.data.notes import Notes
from palmette.options.spelling import spelt

NAME = "prodigy"
_SPAN_KEYS = ("start", "end", "label", "score", "id", "token_start", "token_end")


def read_task(given: Any, at: At, how: AnnotationKeys, notes: Notes) -> Document:
    task = record(given, "the task", at)
    key = how.text_key or "text"
    if key not in task:
        hint = f"the key of the text can be given: {spelt(FormatSpec, 'columns')}"
        raise at.error(f"no key {key!r}; the task has {', '.join(list(task)[:10]) or 'none'}", hint)
    text = string(task[key], f"the {key}", at)
    spans_key = how.label_key or "spans"
    found = task.get(spans_key)
    answer = task.get("answer", ACCEPT if found is not None else None)
    if answer not in (None, *ANSWERS):
        raise at.error(f"the answer is {answer!r}: expected {', '.join(ANSWERS)}")
    spans = [] if found is None else [_span(each, k, at) for k, each in enumerate(listed(found, spans_key, at))]
    tokens = task.get("tokens")
    own = ("answer", "meta", "tokens", key, spans_key)
    relations = task.get("relations")
    return Document(
        text, spans, record(task.get("meta") or {}, "meta", at), answer,
        None if tokens is None else _tokens(listed(tokens, "tokens", at), text, at),
        format=NAME, kept={k: v for k, v in task.items() if k not in own},
        others=len(relations) if isinstance(relations, list) else 0, place=str(at), line=at.line,
    )  # fmt: skip


def _span(given: Any, k: int, at: At) -> TextSpan:
    what = f"span {k + 1}"
    span = record(given, what, at)
    start = whole(span.get("start"), f"the start of {what}", at)
    end = whole(span.get("end"), f"the end of {what}", at)
    label = span.get("label")
    return TextSpan(
        start, end, "" if label is None else string(label, f"the label of {what}", at),
        score=number(span.get("score"), f"the score of {what}", at),
        id=identity(span.get("id"), f"the id of {what}", at),
        extra={key: value for key, value in span.items() if key not in _SPAN_KEYS},
    )  # fmt: skip


def _tokens(given: Sequence[Any], text: str, at: At) -> list[tuple[int, int]]:
    made: list[tuple[int, int]] = []
    for k, each in enumerate(given):
        what = f"token {k}"
        token = record(each, what, at)
        start = whole(token.get("start"), f"the start of {what}", at)
        end = whole(token.get("end"), f"the end of {what}", at)
        if not (made[-1][1] if made else 0) <= start <= end <= len(text):
            raise at.error(f"{what} is at {start} to {end}, before the token before it or beyond the text")
        own = token.get("text", text[start:end])
        if own != text[start:end]:
            raise at.error(f"{what} is {str(own)[:40]!r}, and the text has {text[start:end][:40]!r} at its place")
        made.append((start, end))
    return made


def write_task(document: Document, notes: Notes) -> bytes:
    note_losses(document, NAME, notes, meta=True, score=True)
    task: dict[str, Any] = {"text": document.text, **kept_keys(document, NAME)}
    if document.answer == PREDICTED:
        task.pop("_task_hash", None)  # it stands for other spans
    if document.meta:
        task["meta"] = document.meta
    firsts, lasts = {}, {}
    if document.tokens is not None:
        task["tokens"] = [
            {"text": document.text[a:b], "start": a, "end": b, "id": k, "ws": document.text[b : b + 1].isspace()}
            for k, (a, b) in enumerate(document.tokens)
        ]
        firsts = {a: k for k, (a, _) in enumerate(document.tokens)}
        lasts = {b: k for k, (_, b) in enumerate(document.tokens)}
    if document.answer is not None:
        task["spans"] = [_written(span, firsts, lasts, document.format == NAME) for span in flat_spans(document, notes)]
    if document.answer in ANSWERS:
        task["answer"] = document.answer
    return msgspec.json.encode(task) + b"\n"


def _written(span: TextSpan, firsts: dict[int, int], lasts: dict[int, int], same: bool) -> dict[str, Any]:
    made: dict[str, Any] = {"start": span.start, "end": span.end}
    if span.start in firsts and span.end in lasts and firsts[span.start] <= lasts[span.end]:
        made |= {"token_start": firsts[span.start], "token_end": lasts[span.end]}
    if span.label:
        made["label"] = span.label
    if span.score is not None:
        made["score"] = span.score
    if same and span.id is not None:
        made["id"] = span.id
    return made | (span.extra if same else {})
