"""Rows of labels, intervals, and one step of a parser."""

from __future__ import annotations

from typing import Any

from studies.charts import Point, Sheet, text_width, ticks

_EDGE = 16.0


def nbest_svg(record: dict[str, Any]) -> str:
    """A row for each candidate; what differs from the first one is marked."""
    sheet, tokens, rows = Sheet(), record["tokens"], record["candidates"]
    texts = [[token, *(row["output"][k] for row in rows)] for k, token in enumerate(tokens)]
    wide = [max(text_width(text, "strong") for text in column) + 20 for column in texts]
    left, top, step = _EDGE + 22, 62.0, 34.0
    starts = [left + sum(wide[:k]) for k in range(len(wide))]
    right = left + sum(wide) + 14
    sheet.text((_EDGE, 26), record["title"], "title")
    for x, w, token in zip(starts, wide, tokens, strict=True):
        sheet.text((x + w / 2, top), token, "strong middle")
    sheet.text((right, top), "probability", "note")
    for rank, row in enumerate(rows):
        y = top + 16 + step * rank
        sheet.text((_EDGE, y + 17), f"{rank + 1}", "note")
        for k, (x, w) in enumerate(zip(starts, wide, strict=True)):
            label = row["output"][k]
            differs = label != rows[0]["output"][k]
            if differs:
                sheet.box((x + 3, y), (w - 6, 25), "orange-area", rx=5)
                sheet.box((x + 3, y), (w - 6, 25), "orange-line", rx=5)
            sheet.text((x + w / 2, y + 17), label, f"middle {'strong orange' if differs else ''}")
        sheet.box((right, y + 6), (150 * row["probability"], 13), "blue", rx=2)
        sheet.text((right + 150 * row["probability"] + 6, y + 17), f"{row['probability']:.3f}", "small")
    bottom = top + 16 + step * len(rows)
    sheet.text((_EDGE, bottom + 20), record["note"], "note")
    return sheet.svg(right + 150 + _EDGE, bottom + 34, record["title"])


def intervals_svg(record: dict[str, Any]) -> str:
    """A point and an interval for each system; beside them those of the differences from the first."""
    sheet, systems, step, top = Sheet(), record["systems"], 40.0, 92.0
    names = max(text_width(one["name"]) for one in systems) + _EDGE + 14
    bottom = top + step * len(systems) - 10
    sheet.text((_EDGE, 26), record["title"], "title")
    scores = [(one["score"], one["interval"]) for one in systems]
    differences = [(one["difference"], one["difference_interval"]) for one in systems]
    for k, one in enumerate(systems):
        y = top + step * k
        sheet.text((_EDGE, y + 4), one["name"], "strong" if k == 0 else "")
    width = 230.0
    _intervals(sheet, record["score"], scores, (names, width), (top, step, bottom), None)
    _intervals(sheet, record["difference"], differences, (names + width + 60, width), (top, step, bottom), 0.0)
    for k, line in enumerate(record["notes"]):
        sheet.text((_EDGE, bottom + 50 + 17 * k), line, "note")
    return sheet.svg(names + 2 * width + 60 + 2 * _EDGE, bottom + 52 + 17 * len(record["notes"]), record["title"])


def _intervals(
    sheet: Sheet, name: str, rows: list[tuple[float | None, list[float]]], across: Point, down: tuple[float, ...],
    zero: float | None,
) -> None:  # fmt: skip
    """Points with intervals over one axis; those of differences that leave out zero are coloured."""
    (left, width), (top, step, bottom) = across, down
    ends = [end for value, interval in rows if value is not None for end in interval]
    ends += [] if zero is None else [zero]
    low, high = min(ends), max(ends)
    room = 0.05 * (high - low)
    low, high = low - room, high + room

    def x(value: float) -> float:
        return left + (value - low) / (high - low) * width

    sheet.text((left, top - 34), name, "strong")
    for mark in ticks(low, high, 5):
        sheet.line((x(mark), top - 20), (x(mark), bottom), "axis" if mark == zero else "rule")
        sheet.text((x(mark), bottom + 17), f"{mark:g}", "note middle")
    for k, (value, interval) in enumerate(rows):
        y = top + step * k
        if value is None:
            sheet.text((x(0.0) - 8, y + 4), "compared with it", "note end")
            continue
        apart = zero is not None and not interval[0] <= zero <= interval[1]
        colour = "orange" if apart else "blue" if zero is None else "grey"
        sheet.line((x(interval[0]), y), (x(interval[1]), y), f"{colour}-line", style="stroke-width:3px")
        sheet.circle((x(value), y), 5.5, colour)
        sheet.text((x(value), y - 10), f"{value:.1f}" if zero is None else f"{value:+.1f}",
                   f"small halo middle {colour}")  # fmt: skip


def step_svg(record: dict[str, Any]) -> str:
    """A parser's stack, queue and arcs before and after one action."""
    sheet, words = Sheet(), record["words"]
    sheet.text((_EDGE, 26), record["title"], "title")
    widest = max(text_width(word, "strong") for word in words) + 16
    where = 0.0
    for k, (name, state) in enumerate((("before", record["before"]), ("after", record["after"]))):
        top = 34 + 200 * k
        where = max(where, _parser_state(sheet, words, state, top, name, widest))
    y = 34 + 176 - 2
    sheet.arrow([(_EDGE + 90, y - 22), (_EDGE + 90, y + 22)], "blue", 2.4)
    sheet.text((_EDGE + 106, y - 3), record["action"], "strong blue")
    sheet.text((_EDGE + 106, y + 14), record["meaning"], "note")
    for k, line in enumerate(record["notes"]):
        sheet.text((_EDGE, 398 + 17 * k), line, "note")
    return sheet.svg(where + _EDGE, 398 + 17 * len(record["notes"]), record["title"])


def _parser_state(
    sheet: Sheet, words: list[str], state: dict[str, Any], top: float, name: str, widest: float
) -> float:  # fmt: skip
    """Boxes of the stack, a gap, boxes of the queue; arcs from heads to dependants over them. Returns the right end."""
    y, left = top + 76, _EDGE + 62
    step = widest + 8
    places: dict[int, float] = {}
    stack, queue, arcs = state["stack"], state["queue"], state["arcs"]
    sheet.text((_EDGE, y + 19), name, "strong")
    shown = sorted({*stack, *(arc[0] for arc in arcs), *(arc[1] for arc in arcs)})
    for k, word in enumerate([*shown, *queue]):
        places[word] = left + step * k + (34 if word in queue else 0) + widest / 2
    for word, x in places.items():
        done = word not in stack and word not in queue
        kind = "grey" if word in queue else "blue"
        if not done:
            sheet.box((x - widest / 2, y), (widest, 29), f"{kind}-area", rx=5)
            sheet.box((x - widest / 2, y), (widest, 29), f"{kind}-line", rx=5)
        sheet.text((x, y + 19), words[word], "middle note" if done else "middle strong")
    for part, own in (("stack", stack), ("queue", queue)):
        if own:
            sheet.text(((places[own[0]] + places[own[-1]]) / 2, y + 46), part, "note middle")
    split = left + step * len(shown) + 13
    sheet.line((split, y - 6), (split, y + 36), "axis", stroke_dasharray="3 3")
    for head, dependant, relation, new in arcs:
        start, end = places[head], places[dependant]
        colour, high = ("blue", 2.2) if new else ("grey", 1.4)
        lift = 26 + 7 * abs(head - dependant)
        way = 1 if end > start else -1
        sheet.arrow([(start + 8 * way, y - 2), (start + 8 * way, y - 2 - lift * 1.2), (end, y - 2 - lift * 1.2),
                     (end, y - 2)], colour, high)  # fmt: skip
        sheet.text(((start + end) / 2, y - 6 - lift * 0.92), relation, f"small halo middle {colour}")
    return max(places.values()) + widest / 2
