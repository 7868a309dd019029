"""The report of `palmette classifier cues`: accuracies, overlap, length histograms side by side, and remarks."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence

from palmette.lab.cues.shallow_cues import ShallowCues, Side

ROWS, BAR = 16, 26


def cues_text(found: ShallowCues) -> str:
    """All of it as text."""
    sides = (found.positives, found.negatives)
    lines = [f"{'':26}{'positives':>14}{'negatives':>14}"]
    for key, name, form in FACTS:
        lines.append(f"{name:26}" + "".join(f"{_cell(getattr(side, key), form):>14}" for side in sides))
    lines += ["", "length" + f"{'positives':>{BAR + 9}}  |  negatives"]
    lines += _histogram(found.positives, found.negatives)
    lines += ["", f"accuracy on held-out sentences, {found.compared:,} of each side (guessing: 50)"]
    for name, value in (("lengths alone", found.length_accuracy), ("words alone", found.words_accuracy)):
        lines.append(f"  {name:20}{100 * value:6.1f} %")
    lines.append("")
    for remark in found.remarks:
        lines += textwrap.wrap(remark, 100)
    return "\n".join(lines)


FACTS = (
    ("sentences", "sentences", ","),
    ("tokens", "tokens", ","),
    ("types", "types", ","),
    ("mean_length", "tokens per sentence", ".1f"),
    ("shared_types", "types on both sides", "%"),
    ("shared_tokens", "tokens of these types", "%"),
    ("verbatim", "sentences on both sides", "%"),
    ("repeated", "duplicate sentences", "%"),
)


def _cell(value: float, form: str) -> str:
    return f"{100 * value:.2f} %" if form == "%" else f"{value:{form}}"


def _histogram(positives: Side, negatives: Side) -> list[str]:
    """Bars to the left and to the right, over ranges of lengths."""
    longest = max(len(positives.lengths), len(negatives.lengths)) - 1
    width = max(1, -(-longest // ROWS))
    left, right = (_binned(side.lengths, width) for side in (positives, negatives))
    most = max(max(left), max(right))
    rows = []
    for k, (a, b) in enumerate(zip(left, right, strict=True)):
        low, high = k * width + 1, (k + 1) * width
        name = str(low) if width == 1 else f"{low}-{high}"
        rows.append(f"{name:>7} {100 * a:5.1f} {_bar(a, most):>{BAR}}  |  {_bar(b, most):<{BAR}}{100 * b:5.1f}")
    return rows


def _binned(lengths: Sequence[int], width: int) -> list[float]:
    """Shares of the sentences, by ranges of lengths from 1 on."""
    total = max(1, sum(lengths))
    return [sum(lengths[at : at + width]) / total for at in range(1, max(2, len(lengths)), width)]


def _bar(share: float, most: float) -> str:
    return "█" * round(BAR * share / most) if most else ""
