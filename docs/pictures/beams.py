"""Where gold falls out of a beam, and where each update cuts: the search of one sentence from its trellis."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from palmette.structures.chain.trellis import TrellisRecord
from studies.charts import Sheet, ticks

Path = tuple[int, ...]
_EDGE, _COLUMN = 16.0, 56.0


def prefix_score(trellis: TrellisRecord, path: Sequence[int]) -> float:
    """What the weights give to the first labels of a sentence, at order 1."""
    assert trellis.edges is not None
    total = 0.0
    for i, state in enumerate(path):
        own = trellis.own[i][state]
        table = trellis.edges[i if len(trellis.edges) > 1 else 0]
        edge = table[path[i - 1]][state] if i else 0.0
        if own is None or edge is None:
            return -math.inf
        total += own + edge
    return total


def beams(trellis: TrellisRecord, width: int, start: Path = ()) -> list[list[tuple[float, Path]]]:
    """The best prefixes after each token from `start` on; of those that end alike the best one."""
    beam, found = [start], []
    for _ in range(len(start), len(trellis.tokens)):
        best: dict[int, tuple[float, Path]] = {}
        for prefix in beam:
            for state in range(len(trellis.states)):
                longer = (*prefix, state)
                score = prefix_score(trellis, longer)
                if score > best.get(state, (-math.inf, ()))[0]:
                    best[state] = score, longer
        found.append(sorted(best.values(), key=lambda one: -one[0])[:width])
        beam = [prefix for _, prefix in found[-1]]
    return found


def lost_at(found: list[list[tuple[float, Path]]], gold: Path, start: int) -> int | None:
    """The first token at which gold is not in the beam."""
    for k, beam in enumerate(found, start):
        if gold[: k + 1] not in [prefix for _, prefix in beam]:
            return k
    return None


def laso_cuts(trellis: TrellisRecord, gold: Path, width: int) -> list[int]:
    """Each token at which a search that goes on from gold loses it, and the end if gold is there and not the best; the
    weights are those before the first update."""
    cuts: list[int] = []
    start = 0
    while start < len(gold):
        found = beams(trellis, width, gold[:start])
        here = lost_at(found, gold, start)
        if here is None and found[-1][0][1] == gold:
            break
        cuts.append(len(gold) - 1 if here is None else here)
        start = cuts[-1] + 1
    return cuts


def cuts_record(trellis: TrellisRecord, gold: list[str], width: int) -> dict[str, Any]:
    """How far the best prefix is above gold after each token, and the last token of each update."""
    path = tuple(trellis.labels.index(label) for label in gold)
    found = beams(trellis, width)
    lead = [beam[0][0] - prefix_score(trellis, path[: k + 1]) for k, beam in enumerate(found)]
    lost, end = lost_at(found, path, 0), len(path) - 1
    if lost is None:
        raise ValueError("gold stays in the beam")
    top = max(lead)
    return {
        "tokens": trellis.tokens, "gold": gold, "guess": [trellis.labels[k] for k in found[-1][0][1]],
        "width": width, "lead": lead, "lost": lost,
        "in_beam": [path[: k + 1] in [prefix for _, prefix in beam] for k, beam in enumerate(found)],
        "cuts": {
            "early": [lost], "max-violation": [max(k for k, value in enumerate(lead) if value == top)],
            "latest": [max(k for k, value in enumerate(lead) if value >= 0)], "laso": laso_cuts(trellis, path, width),
            "standard": [end],
        },
    }  # fmt: skip


_TOLD = {
    "early": "where gold is lost",
    "max-violation": "where the lead is largest",
    "latest": "the last token with a lead",
    "laso": "as early, then on from gold",
    "standard": "the end, where gold is ahead: a bad update",
}


def cuts_svg(record: dict[str, Any]) -> str:
    """The lead of the best prefix over gold by token; under it, for each update, the part that it learns from."""
    sheet, tokens, lead = Sheet(), record["tokens"], record["lead"]
    left, top, deep = _EDGE + 108.0, 92.0, 150.0
    x = [left + _COLUMN * (k + 0.5) for k in range(len(tokens))]
    low, high = min(*lead, 0.0), max(lead)
    low, high = low - 0.12 * (high - low), high + 0.16 * (high - low)

    def y(value: float) -> float:
        return top + (high - value) / (high - low) * deep

    right = left + _COLUMN * len(tokens)
    title = f"Gold falls out of a beam of {record['width']} at token {record['lost'] + 1}; each update cuts elsewhere"
    sheet.text((_EDGE, 26), title, "title")
    sheet.text((_EDGE, 58), "best prefix minus gold", "strong")
    sheet.text((_EDGE, 75), "above 0: a violation", "note")
    for mark in ticks(low, high, 4):
        sheet.line((left, y(mark)), (right, y(mark)), "axis" if mark == 0 else "rule")
        sheet.text((left - 6, y(mark) + 4), f"{mark:g}", "note end")
    sheet.line((x[record["lost"]], y(high)), (x[record["lost"]], top + deep), "orange-line", stroke_dasharray="4 3")
    sheet.text((x[record["lost"]] - 7, top + 2), "gold falls out", "small halo end orange")
    sheet.polyline([(at, y(value)) for at, value in zip(x, lead, strict=True)], "blue-line")
    for at, value in zip(x, lead, strict=True):
        sheet.circle((at, y(value)), 4, "blue")
        if abs(value) >= 0.05:
            off = 20 if at == x[record["lost"]] else 0  # beside the line there
            sheet.text((at + off, y(value) - 9 if value > 0 else y(value) + 18), f"{value:.1f}", "small halo middle")
    _sentence(sheet, record, x, top + deep + 26)
    bottom = _strips(sheet, record, x, top + deep + 118)
    return sheet.svg(right + _EDGE, bottom + 6, title)


def _sentence(sheet: Sheet, record: dict[str, Any], x: list[float], y: float) -> None:
    """Tokens, gold, and what the beam says at the end."""
    for name, row in (("gold", 20), ("best at the end", 38), ("gold in the beam", 58)):
        sheet.text((_EDGE, y + row), name, "note")
    for k, at in enumerate(x):
        gold, guess = record["gold"][k], record["guess"][k]
        sheet.text((at, y), record["tokens"][k], "strong middle")
        sheet.text((at, y + 20), gold, "small middle")
        sheet.text((at, y + 38), guess, f"small middle {'orange' if guess != gold else ''}")
        if record["in_beam"][k]:
            sheet.circle((at, y + 54), 4.5, "teal")
        else:
            for way in (1, -1):
                sheet.line((at - 4, y + 54 - 4 * way), (at + 4, y + 54 + 4 * way), "orange-line")


def _strips(sheet: Sheet, record: dict[str, Any], x: list[float], top: float) -> float:
    sheet.text((_EDGE, top), "what each update learns from", "strong")
    for row, (name, cuts) in enumerate(record["cuts"].items()):
        y = top + 14 + 30 * row
        sheet.text((_EDGE, y + 14), name, "small strong")
        start, colour = 0, "orange" if record["lead"][cuts[-1]] < 0 and name == "standard" else "blue"
        for cut in cuts:
            a, b = x[start] - _COLUMN / 2 + 3, x[cut] + _COLUMN / 2 - 3
            sheet.box((a, y), (b - a, 20), f"{colour}-area", rx=3)
            sheet.line((b, y - 1), (b, y + 21), f"{colour}-line", style="stroke-width:3.5px")
            start = cut + 1
        sheet.text((x[0] - _COLUMN / 2 + 12, y + 14), _TOLD[name], "small")
    return top + 14 + 30 * len(record["cuts"])
