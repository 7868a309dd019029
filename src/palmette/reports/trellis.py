"""A trellis as text: a row for each label, a column for each token, and in each cell how far behind the best path
through it is."""

from __future__ import annotations

from rich.cells import cell_len
from rich.text import Text

from palmette.structures.chain.trellis import Beamed, TrellisRecord

SHOWN_STATES = 10
WIDTH = 80
_GAP = 2
_BEST, _SECOND, _FORBIDDEN = "bold reverse", "underline", "·"


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
