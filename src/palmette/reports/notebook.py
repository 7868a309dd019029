"""Models, scores, comparisons and explanations in notebooks, as HTML."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from palmette.data.kinds import kind_of
from palmette.errors import counted
from palmette.evaluation.record import Scores
from palmette.lazy import loaded
from palmette.reports.html import Html, element, facts, folded, html, page, quiet, rich_table, rows_table
from palmette.reports.tables import part_table, training_log

if TYPE_CHECKING:
    from palmette.estimators.base import Estimator
    from palmette.structures.chain.explain import Explanation

TOP = 8  # attributes of a label
LABELS = 12  # whose attributes are shown
PASSES = 30  # of the training log, the last ones
MAIN = "strongest weights"
PLAIN = "background:none;color:inherit"
CHAIN = "reports.inspection:inspect_tagger"  # of an estimator that has no kind of its own
TITLE = "font-style:italic;margin-top:0.4em"
SHOWN = 15  # contributions
_BAR = 7.0  # em, of the largest contribution
_FOR, _AGAINST = "rgba(31,119,180,0.55)", "rgba(214,130,20,0.55)"


def model(found: Estimator) -> str:
    """An estimator of any kind, before and after training."""
    kind = kind_of(found)
    words = "a linear classifier" if kind is None else kind.words
    trained = any(hasattr(found, name) for name in ("model_", "tagger_", "sizes_"))
    head = element(
        "div", element("b", type(found).__name__), quiet(f"  {words}{'' if trained else ', not trained yet'}")
    )
    changed = {name: element("code", _shown(value)) for name, value in found._changed().items()}
    parameters = folded("parameters that are not the defaults", facts(changed)) if changed else ""
    if not trained:
        return page(head, parameters)
    shown = loaded(CHAIN if kind is None else kind.inspect)(found, TOP, LABELS)
    log = training_log(shown.about.get("history") or (), shown.about.get("best_pass"))
    left = len(shown.about.get("labels") or ()) - LABELS
    more = quiet(f"and {counted(left, 'more label')}") if left > 0 else ""
    return page(
        head,
        facts(shown.facts),
        *(rich_table(part_table(part)) for part in shown.tables),
        *(
            folded(title, _strongest(rows.items()), more if title == MAIN else "")
            for title, rows in shown.weights.items()
        ),
        "" if log is None else folded("training log", rich_table(part_table(log._replace(rows=log.rows[-PASSES:])))),
        *(folded(title, element("pre", text, style=PLAIN)) for title, text in shown.texts.items()),
        parameters,
    )


def _shown(value: Any) -> str:
    """A parameter in a line."""
    text = repr(value)
    return text if len(text) <= 200 else text[:200] + " ..."


def _strongest(rows: Iterable[tuple[str, Sequence[tuple[str, float]]]]) -> Html:
    """A row for each label: its attributes."""
    return facts({label: _weights(pairs) for label, pairs in rows})


def _weights(pairs: Sequence[tuple[str, float]]) -> Html:
    """Attributes with their weights, as many in a line as there is room for."""
    style = "display:inline-block;margin-right:1.1em"
    return html(*(element("span", f"{name} ", quiet(f"{weight:+.2f}"), style=style) for name, weight in pairs))


def scores(found: Scores) -> str:
    """Totals and tables of the scores of any model; details are folded."""
    parts = [element("div", found.headline())] if found.headline() else []
    for part in found.parts():
        table = rich_table(part_table(part))
        if part.folded:
            parts.append(folded(part.title, table))
        else:
            parts += [element("div", part.title, style=TITLE), table] if part.title else [table]
    return page(*parts)


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
