"""Why a tagger chose its labels, in notebooks."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from palmette.reports.explanation import SHOWN
from palmette.reports.html import element, html, page, quiet, rows_table

if TYPE_CHECKING:
    from palmette.structures.chain.explain import Explanation

_BAR = 7.0  # em, of the largest contribution
_FOR, _AGAINST = "rgba(31,119,180,0.55)", "rgba(214,130,20,0.55)"


def explained(found: Explanation) -> str:
    return explanation_html(found.to_dict())


def explanation_html(record: Mapping[str, Any]) -> str:
    """The best label sequence beside the runner-up, and what decides between them, from `palmette explain --json`."""
    best, second = record["best"], record["runner_up"]
    pairs = zip(*(one.get("states") or one["tags"] for one in (best, second)), strict=True)
    rows: list[list[Any]] = [
        [word, one, quiet("=") if one == two else element("b", two)]
        for word, (one, two) in zip(record["tokens"], pairs, strict=True)
    ]
    rows.append([quiet("score"), f"{best['score']:.4f}", f"{second['score']:.4f}"])
    if "probability" in best and "probability" in second:
        rows.append([quiet("probability"), f"{best['probability']:.4f}", f"{second['probability']:.4f}"])
    return page(
        rows_table(["", "best", "runner-up"], rows, left=3),
        element("div", f"The best sequence is ahead by {record['difference']:.4f}:", style="margin-top:0.5em"),
        _weighed(record),
    )


def _weighed(record: Mapping[str, Any]) -> str:
    shown, rest = record["contributions"][:SHOWN], record["contributions"][SHOWN:]
    most = max((abs(one["amount"]) for one in shown), default=0.0) or 1.0
    rows: list[list[Any]] = []
    for one in shown:
        number = str(one["token"])
        where = number if one["word"] == number else f"{number} {one['word']}"
        amount = f"{one['amount']:+.4f}"
        rows.append([amount, _bar(one["amount"] / most), one["name"], where, one["best"], one["runner_up"]])
    if rest:
        rows.append([f"{sum(one['amount'] for one in rest):+.4f}", "", quiet(f"{len(rest)} others"), "", "", ""])
    rows.append([element("b", f"{record['difference']:+.4f}"), "", element("b", "total"), "", "", ""])
    return html(rows_table(["", "", "attribute", "at", "best", "runner-up"], rows, left=6))


def _bar(share: float) -> str:
    colour = _FOR if share > 0 else _AGAINST
    style = f"display:inline-block;height:0.75em;width:{_BAR * abs(share):.2f}em;background:{colour}"
    return element("span", style=style)
