"""States and arrows: rings of hidden states, automata in a row, hypergraphs."""

from __future__ import annotations

import math
from typing import Any

from studies.charts import Point, Sheet, text_width

_NODE = 24.0
_EDGE = 16.0


# Rings


def rings_svg(record: dict[str, Any]) -> str:
    """Rings of four states side by side; beside each state bars of what it is told to be."""
    sheet, width = Sheet(), 366.0
    sheet.text((_EDGE, 26), record["title"], "title")
    for k, ring in enumerate(record["rings"]):
        _ring(sheet, ring, k * width, width)
    return sheet.svg(width * len(record["rings"]), 292, record["title"])


def _ring(sheet: Sheet, ring: dict[str, Any], left: float, width: float) -> None:
    states, middle, reach = ring["states"], (left + width / 2, 166.0), 68.0
    places = [
        (middle[0] + reach * math.cos(turn), middle[1] + reach * math.sin(turn))
        for turn in (math.pi * (2 * k / len(states) - 0.75) for k in range(len(states)))
    ]
    sheet.text((left + width / 2, 58), ring["name"], "strong middle")
    for k, (place, chance) in enumerate(zip(places, ring["next"], strict=True)):
        following = places[(k + 1) % len(places)]
        start, end = _between(place, following, _NODE + 3)
        sheet.arrow([start, end], "ink", 1 + 2.2 * chance)
        across, up = (start[0] + end[0]) / 2 - middle[0], (start[1] + end[1]) / 2 - middle[1]
        inward = 0.6 if abs(across) > abs(up) else 0.72
        sheet.text((middle[0] + inward * across, middle[1] + inward * up + 4), f"{chance:.2f}", "small halo middle")
    for place, state in zip(places, states, strict=True):
        _state(sheet, place, state["name"], state["colour"])
        _bars(sheet, state["bars"], place, -1 if place[0] < middle[0] else 1)
    sheet.text((left + width / 2, 276), ring["note"], "note middle")


def _between(start: Point, end: Point, off: float) -> tuple[Point, Point]:
    """The part of a line that lies outside of two circles around its ends."""
    far = math.hypot(end[0] - start[0], end[1] - start[1]) or 1.0
    dx, dy = (end[0] - start[0]) / far * off, (end[1] - start[1]) / far * off
    return (start[0] + dx, start[1] + dy), (end[0] - dx, end[1] - dy)


def _state(sheet: Sheet, at: Point, name: str, colour: str) -> None:
    sheet.circle(at, _NODE, "paper")
    sheet.circle(at, _NODE, f"{colour}-area")
    sheet.circle(at, _NODE, f"{colour}-line")
    sheet.text((at[0], at[1] + 4.5), name, f"strong {'small ' if len(name) > 3 else ''}middle")


def _bars(sheet: Sheet, bars: list[list[Any]], at: Point, side: int) -> None:
    """Named shares to the left or right of a state."""
    top, room, most = at[1] - 7.5 * len(bars) + 1, 28.0, 40.0
    best = max(share for _, share in bars)
    for k, (name, share) in enumerate(bars):
        y, length = top + 15 * k, most * share
        kind = "strong" if share == best else ""
        inner = at[0] + side * (_NODE + 8)
        start = inner + (room - 6 if side > 0 else -room + 6 - length)
        sheet.text((inner + side * 9, y + 10), name, f"note middle {kind}")
        sheet.box((start, y + 2), (max(length, 0.8), 9), "blue" if share == best else "grey", fill_opacity=0.75)
        beyond = start + length + 5 if side > 0 else start - 5
        sheet.text((beyond, y + 10), f"{100 * share:.0f}%", f"note {'' if side > 0 else 'end'}")


# Automata


def automaton_svg(record: dict[str, Any]) -> str:
    """States in a row. Arrows to the next state are straight, others bent: those back on the record's `back` side."""
    sheet, states, step = Sheet(), record["states"], record.get("step", 128.0)
    above = record["back"] == "above"
    deep = {abs(e["to"] - e["from"]) for e in record["edges"] if e["to"] < e["from"]}
    bends = {far: 44.0 + 30.0 * k for k, far in enumerate(sorted(deep))}
    base = max(112.0, 68 + max(bends.values(), default=0.0) if above else 0.0)
    places = [(_EDGE + record.get("room", 50.0) + step * k, base) for k in range(len(states))]
    sheet.text((_EDGE, 26), record["title"], "title")
    for edge in record["edges"]:
        _edge(sheet, edge, places, bends, -1 if above else 1)
    bottom = base + _NODE
    for place, state in zip(places, states, strict=True):
        _state(sheet, place, state["name"], state["colour"])
        if "start" in state:
            _start(sheet, place, state["start"])
        for k, (word, chance) in enumerate(state.get("emits", ())):
            _emission(sheet, place, word, chance, k)
            bottom = max(bottom, base + 118 + 30 * k)
    bottom = bottom if above else bottom + max(bends.values(), default=0.0)
    for k, line in enumerate(record["notes"]):
        sheet.text((_EDGE, bottom + 26 + 17 * k), line, "note")
    return sheet.svg(places[-1][0] + _NODE + 60, bottom + 26 + 17 * len(record["notes"]), record["title"])


def _edge(sheet: Sheet, edge: dict[str, Any], places: list[Point], bends: dict[int, float], side: int) -> None:
    start, end, text = places[edge["from"]], places[edge["to"]], edge["text"]
    colour, width = edge["colour"], edge["width"]
    kind = f"small halo middle {colour}"
    if edge["to"] == edge["from"]:
        x, y = start
        sheet.arrow([(x - 12, y - 21), (x - 26, y - 62), (x + 26, y - 62), (x + 12, y - 22)], colour, width)
        sheet.text((x, y - 56), text, kind)
        return
    if edge["to"] == edge["from"] + 1:
        a, b = _between(start, end, _NODE + 3)
        sheet.arrow([a, b], colour, width)
        sheet.text(((a[0] + b[0]) / 2 - 3, a[1] - 8), text, kind)
        return
    far = bends[edge["from"] - edge["to"]]
    control = [(x + 0.12 * (other - x), start[1] + side * far / 0.75) for x, other in
               ((start[0], end[0]), (end[0], start[0]))]  # fmt: skip
    first, last = _between(start, control[0], _NODE + 2)[0], _between(end, control[1], _NODE + 3)[0]
    sheet.arrow([first, *control, last], colour, width)
    top = start[1] + side * far + 0.25 * (first[1] - start[1])
    sheet.text(((start[0] + end[0]) / 2, top - 6), text, kind)


def _start(sheet: Sheet, at: Point, chance: float) -> None:
    far = (at[0] - 46, at[1] + 40)
    sheet.arrow([far, _between(far, at, _NODE + 3)[1]], "grey", 1 + 2 * chance)
    sheet.text((far[0] - 2, far[1] + 15), f"start {chance:g}", "note middle")


def _emission(sheet: Sheet, at: Point, word: str, chance: float, row: int) -> None:
    y = at[1] + 92 + 30 * row
    if row == 0:
        sheet.arrow([(at[0], at[1] + _NODE + 3), (at[0], y - 4)], "grey", 1.4, stroke_dasharray="4 3")
    wide = text_width(word) + 20
    sheet.box((at[0] - wide / 2, y), (wide, 25), "band", rx=5)
    sheet.text((at[0], y + 17), word, "middle")
    sheet.text((at[0] + wide / 2 + 5, y + 17), f"{chance:g}", "note")


# Hypergraphs


def hypergraph_svg(record: dict[str, Any]) -> str:
    """Words at the bottom, each vertex over the words that it spans; the best derivation thick, others dashed."""
    sheet, words, step, level = Sheet(), record["words"], 96.0, 66.0
    rise = {v["name"]: v["level"] for v in record["vertices"]}
    bottom = 72 + level * max(rise.values())
    at = {
        v["name"]: (_EDGE + step * (v["from"] + v["to"]) / 2, bottom - level * v["level"]) for v in record["vertices"]
    }
    sheet.text((_EDGE, 26), record["title"], "title")
    for best in (False, True):
        for edge in record["edges"]:
            if edge["best"] == best:
                _hyperedge(sheet, edge, at)
    for vertex in record["vertices"]:
        x, y = at[vertex["name"]]
        wide = text_width(vertex["label"]) + 16
        best = vertex["best"]
        sheet.box((x - wide / 2, y - 13), (wide, 26), "paper", rx=6)
        sheet.box((x - wide / 2, y - 13), (wide, 26), "blue-area" if best else "orange-area", rx=6)
        sheet.box((x - wide / 2, y - 13), (wide, 26), "blue-line" if best else "orange-line", rx=6)
        sheet.text((x, y + 4.5), vertex["label"], "middle strong")
    for k, word in enumerate(words):
        sheet.text((_EDGE + step * (k + 0.5), bottom + 36), word, "middle")
    for k, (text, kind) in enumerate(record["notes"]):
        sheet.text((_EDGE, bottom + 66 + 17 * k), text, f"small {kind}")
    return sheet.svg(2 * _EDGE + step * len(words), bottom + 66 + 17 * len(record["notes"]), record["title"])


def _hyperedge(sheet: Sheet, edge: dict[str, Any], at: dict[str, Point]) -> None:
    """From the head to a knot below it, and from there to each tail."""
    (x, y), tails = at[edge["head"]], [at[tail] for tail in edge["tails"]]
    across = sum(tail[0] for tail in tails) / len(tails)
    knot = (x + 0.3 * (across - x), y + 30)
    kind = "blue-line" if edge["best"] else "orange-line"
    look: dict[str, object] = {"style": "stroke-width:3px"} if edge["best"] else {"stroke_dasharray": "6 4"}
    sheet.path(f"M{x:.1f} {y + 13:.1f}L{knot[0]:.1f} {knot[1]:.1f}", kind, **look)
    for tx, ty in tails:
        bend = f"{knot[0] + 0.75 * (tx - knot[0]):.1f} {knot[1] + 12:.1f} {tx:.1f} {0.6 * knot[1] + 0.4 * ty:.1f}"
        bend += f" {tx:.1f} {ty - 13:.1f}"
        sheet.path(f"M{knot[0]:.1f} {knot[1]:.1f}C{bend}", kind, **look)
    sheet.circle(knot, 3.4, "blue" if edge["best"] else "orange")
    if edge["text"]:
        end = "end " if not edge["best"] or knot[0] < x - 5 else ""
        sheet.text(
            (knot[0] + (-8 if end else 8), knot[1] - 4), edge["text"], f"small halo {end}{kind.removesuffix('-line')}"
        )
