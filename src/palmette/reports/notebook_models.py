"""Estimators in notebooks: what they are and the facts of their inspection; weights, log, settings folded away."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

from palmette.data.kinds import kind_of
from palmette.errors import counted
from palmette.lazy import loaded
from palmette.reports.html import Html, element, facts, folded, html, page, quiet, rich_table
from palmette.reports.inspected import training_log
from palmette.reports.scores import part_table

if TYPE_CHECKING:
    from palmette.estimators.base import Estimator

TOP = 8  # attributes of a label
LABELS = 12  # whose attributes are shown
PASSES = 30  # of the training log, the last ones
MAIN = "strongest weights"
PLAIN = "background:none;color:inherit"
CHAIN = "reports.inspection:inspect_tagger"  # of an estimator that has no kind of its own


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
