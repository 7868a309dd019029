"""A trellis, as text and in SVG.

As text: a row for each label, a column for each token, and in each cell how far behind the best path through it is. In
SVG: a circle for each state at each token, the darker the nearer the best path through it comes to the best of all; the
best path as a thick line, the runner-up dashed, and for each state a thin line from its best predecessor. Latent states
of a label stand in one band; states that a beam did not keep have a cross. Colours follow the light or dark scheme of
the reader.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import pairwise

from rich.cells import cell_len
from rich.text import Text

from palmette.reports.svg import FONT, paint, palette, text_of
from palmette.structures.chain.trellis import Beamed, TrellisRecord

SHOWN_STATES = 10
WIDTH = 80
_GAP = 2
_BEST, _SECOND, _FORBIDDEN = "bold reverse", "underline", "·"
_SIZE, _SMALL = 14, 10
_RADIUS, _ROW, _TOP, _EDGE, _SPACE = 9, 44, 46, 16, 26
_CHARACTER = 0.58  # of the size: about the mean width of a letter
_SHARE = 0.2  # of how far states are behind in the mean: so far behind, a state is a third as dark
# Every rule begins with the picture's own class: notebooks put the picture into their page, where others would see it.
_STYLE = f"""
{palette("palmette-trellis")}
.palmette-trellis text {{ font-family: {FONT}; text-anchor: middle; {paint("fill", "ink")} }}
.palmette-trellis .paper {{ {paint("fill", "paper")} }}
.palmette-trellis .band {{ {paint("fill", "band")} }}
.palmette-trellis .token {{ font-size: {_SIZE}px; font-weight: 600 }}
.palmette-trellis .state {{ font-size: {_SIZE - 1}px; text-anchor: end }}
.palmette-trellis .behind, .palmette-trellis .key {{ font-size: {_SMALL}px; {paint("fill", "quiet")} }}
.palmette-trellis .behind {{ {paint("stroke", "paper")}; stroke-width: 3px; paint-order: stroke }}
.palmette-trellis .key {{ text-anchor: start }}
.palmette-trellis .node {{ {paint("fill", "blue")}; {paint("stroke", "quiet")}; stroke-width: 1px }}
.palmette-trellis .forbidden {{ fill: none; {paint("stroke", "quiet")}; stroke-dasharray: 2 2 }}
.palmette-trellis .thin {{ {paint("stroke", "quiet")}; stroke-width: 0.6px; opacity: 0.55 }}
.palmette-trellis .best {{ {paint("stroke", "blue")}; stroke-width: 3.5px; stroke-linecap: round }}
.palmette-trellis .second {{ {paint("stroke", "orange")}; stroke-width: 2.2px; stroke-dasharray: 6 4 }}
.palmette-trellis .cross {{ {paint("stroke", "orange")}; stroke-width: 1.4px }}
"""


def shown_states(record: TrellisRecord, most: int) -> list[int]:
    """The states that come nearest to the best path anywhere, in the model's order; those of the two paths always."""
    paths = {*record.best, *(record.runner_up or ())}
    far = float("inf")
    nearest = {
        state: min((far if row[state] is None else row[state] or 0.0 for row in record.behind), default=far)
        for state in range(len(record.states))
    }
    order = sorted(nearest, key=lambda state: (state not in paths, nearest[state]))
    return sorted(order[: max(most, len(paths))])


def trellis_text(record: TrellisRecord, width: int = WIDTH, most: int = SHOWN_STATES) -> Text:
    """The trellis in blocks that fit the width, and a line that says how to read it."""
    states = shown_states(record, most)
    left = max(cell_len(record.states[state]) for state in states)
    sizes = [max(cell_len(token), *(len(_cell(record, i, s)) for s in states)) for i, token in enumerate(record.tokens)]
    out, first = Text(), 0
    while first < len(sizes):
        last, used = first, left
        while last < len(sizes) and (last == first or used + _GAP + sizes[last] <= width):
            used += _GAP + sizes[last]
            last += 1
        out.append_text(_block(record, states, left, sizes, range(first, last)))
        first = last
    hidden = len(record.states) - len(states)
    out.append(_key(record, hidden))
    return out


def trellis_lines(record: TrellisRecord) -> str:
    """The trellis as plain text."""
    return trellis_text(record, WIDTH).plain.rstrip("\n")


def _block(record: TrellisRecord, states: list[int], left: int, sizes: list[int], tokens: range) -> Text:
    out = Text(" " * left)
    for i in tokens:
        out.append(" " * _GAP + _filled(record.tokens[i], sizes[i]))
    out.append("\n")
    for state in states:
        name = record.states[state]
        out.append(name + " " * (left - cell_len(name)))
        for i in tokens:
            out.append(" " * _GAP)
            out.append(f"{_cell(record, i, state):>{sizes[i]}}", _style(record, i, state))
        out.append("\n")
    out.append("\n")
    return out


def _filled(text: str, size: int) -> str:
    return " " * (size - cell_len(text)) + text


def _cell(record: TrellisRecord, token: int, state: int) -> str:
    """How far behind; the best path in brackets, the runner-up with a dash before it."""
    behind = record.behind[token][state]
    if behind is None:
        return _FORBIDDEN
    if record.best[token] == state:
        return "[0]"
    mark = "~" if record.runner_up is not None and record.runner_up[token] == state else ""
    lost = "x" if record.beam is not None and state not in record.beam.kept[token] else ""
    return f"{lost}{mark}{behind:.1f}"


def _style(record: TrellisRecord, token: int, state: int) -> str:
    if record.best[token] == state:
        return _BEST
    if record.runner_up is not None and record.runner_up[token] == state:
        return _SECOND
    return "dim" if record.behind[token][state] is None or (record.behind[token][state] or 0) > 10 else ""


def _key(record: TrellisRecord, hidden: int) -> str:
    lines = ["[0] the best path. Others: how far behind the best path through the cell is.", "· forbidden"]
    if record.runner_up_score is not None:
        lines.append(f"~ the runner-up, behind by {record.score - record.runner_up_score:.4f}")
    if record.beam is not None:
        lines.append(f"x not in the beam of {record.beam.width}" + _lost(record.beam, record.tokens))
    if hidden:
        lines.append(f"{hidden} further {'states' if len(record.states) > len(record.labels) else 'labels'} not shown")
    return "\n".join(lines) + "\n"


def _lost(beam: Beamed, tokens: list[str]) -> str:
    if all(beam.has_best):
        return ", which has the best path"
    token = beam.has_best.index(False)
    return f", which loses the best path at token {token + 1}, {tokens[token]}"


def trellis_svg(record: TrellisRecord, most: int = 10) -> str:
    """The picture of a trellis with at most so many states, and those of the two paths."""
    states = shown_states(record, most)
    row = {state: k for k, state in enumerate(states)}
    left = _EDGE + max(_width(record.states[state], _SIZE - 1) for state in states) + 22
    x = _across(record.tokens, left)
    y = [_TOP + _ROW * k + _ROW / 2 for k in range(len(states))]
    bottom = _TOP + _ROW * len(states)
    key = _svg_key(record)
    width = max(
        x[-1] + _SPACE + _width(record.tokens[-1], _SIZE) / 2, max(_width(line, _SMALL) for line in key) + _EDGE
    )
    height = bottom + 18 + 15 * len(key)
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" class="palmette-trellis" width="{width:.0f}" '
        f'height="{height:.0f}" viewBox="0 0 {width:.0f} {height:.0f}" role="img" '
        f'aria-label="trellis of {text_of(" ".join(record.tokens))}">',
        f"<style>{_STYLE}</style>",
        '<rect class="paper" width="100%" height="100%"/>',
        *_bands(record, states, width),
        *_thin(record, row, x, y),
        *_path(record.runner_up, "second", row, x, y),
        *_path(record.best, "best", row, x, y),
        *_nodes(record, states, x, y),
        *(
            f'<text class="token" x="{at:.1f}" y="26">{text_of(word)}</text>'
            for at, word in zip(x, record.tokens, strict=True)
        ),
        *(
            f'<text class="state" x="{left - 22:.1f}" y="{y[k] + 4:.1f}">{text_of(record.states[state])}</text>'
            for k, state in enumerate(states)
        ),
        *(
            f'<text class="key" x="{_EDGE}" y="{bottom + 22 + 15 * k:.1f}">{text_of(line)}</text>'
            for k, line in enumerate(key)
        ),
        "</svg>\n",
    ]
    return "\n".join(parts)


def _width(text: str, size: float) -> float:
    return cell_len(text) * size * _CHARACTER


def _across(tokens: Sequence[str], left: float) -> list[float]:
    """The middles of the columns."""
    x: list[float] = []
    for k, token in enumerate(tokens):
        half = max(_width(token, _SIZE), 40) / 2
        before = max(_width(tokens[k - 1], _SIZE), 40) / 2 if k else 0.0
        x.append(left + half if k == 0 else x[-1] + before + half + _SPACE)
    return x


def _bands(record: TrellisRecord, states: Sequence[int], width: float) -> list[str]:
    """A band behind the states of every other label, where labels have several."""
    if len(record.states) == len(record.labels):
        return []
    groups: list[list[int]] = []
    for k, state in enumerate(states):
        if groups and record.label_of[states[k - 1]] == record.label_of[state]:
            groups[-1].append(k)
        else:
            groups.append([k])
    return [
        f'<rect class="band" x="0" y="{_TOP + _ROW * group[0]}" width="{width:.0f}" height="{_ROW * len(group)}"/>'
        for group in groups[::2]
    ]


def _line(kind: str, start: tuple[float, float], end: tuple[float, float]) -> str:
    (x1, y1), (x2, y2) = start, end
    return f'<line class="{kind}" x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}"/>'


def _path(
    path: Sequence[int] | None, kind: str, row: dict[int, int], x: Sequence[float], y: Sequence[float]
) -> list[str]:
    points = [] if path is None else [(x[i], y[row[state]]) for i, state in enumerate(path)]
    return [_line(kind, start, end) for start, end in pairwise(points)]


def _thin(record: TrellisRecord, row: dict[int, int], x: Sequence[float], y: Sequence[float]) -> list[str]:
    """From each state's best predecessor; of order 1, where it depends on nothing else."""
    if record.edges is None:
        return []
    lines, score = [], [-math.inf if value is None else value for value in record.own[0]]
    for i in range(1, len(record.tokens)):
        table = record.edges[i if len(record.edges) > 1 else 0]
        now = []
        for state, own in enumerate(record.own[i]):
            ways = [
                -math.inf if edge is None else score[before] + edge
                for before, edge in enumerate(each[state] for each in table)
            ]
            before = max(range(len(ways)), key=ways.__getitem__)
            now.append(-math.inf if own is None else ways[before] + own)
            if state in row and before in row and now[-1] > -math.inf:
                lines.append(_line("thin", (x[i - 1], y[row[before]]), (x[i], y[row[state]])))
        score = now
    return lines


def _scale(record: TrellisRecord, states: Sequence[int]) -> float:
    """How far behind a state is a third as dark: models have scores of different sizes."""
    found = [row[state] for row in record.behind for state in states]
    shown = [behind for behind in found if behind is not None and 0.0 < behind < math.inf]
    return _SHARE * sum(shown) / len(shown) if shown else 1.0


def _nodes(record: TrellisRecord, states: Sequence[int], x: Sequence[float], y: Sequence[float]) -> list[str]:
    parts, scale = [], _scale(record, states)
    for i, at in enumerate(x):
        for k, state in enumerate(states):
            behind = record.behind[i][state]
            place = f'cx="{at:.1f}" cy="{y[k]:.1f}"'
            if behind is None:
                parts.append(f'<circle class="forbidden" {place} r="{_RADIUS - 4}"/>')
                continue
            shade = max(0.04, math.exp(-max(0.0, behind) / scale))
            parts.append(f'<circle class="paper" {place} r="{_RADIUS}"/>')
            parts.append(f'<circle class="node" {place} r="{_RADIUS}" fill-opacity="{shade:.3f}"/>')
            if record.best[i] != state:
                parts.append(f'<text class="behind" x="{at:.1f}" y="{y[k] + _RADIUS + 10:.1f}">{behind:.1f}</text>')
            if record.beam is not None and state not in record.beam.kept[i]:
                r = _RADIUS * 0.6
                parts.append(_line("cross", (at - r, y[k] - r), (at + r, y[k] + r)))
                parts.append(_line("cross", (at - r, y[k] + r), (at + r, y[k] - r)))
    return parts


def _svg_key(record: TrellisRecord) -> list[str]:
    lines = ["thick: the best path. Numbers: how far the best path through a circle is behind."]
    if record.runner_up_score is not None:
        lines.append(f"dashed: the runner-up, behind by {record.score - record.runner_up_score:.2f}")
    if record.beam is not None:
        lines.append(f"crossed: not in the beam of {record.beam.width}")
    return lines
