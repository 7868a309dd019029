"""Models, scores, comparisons, explanations and analysed sentences in notebooks, as HTML; sentences as text too."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from palmette.data.analysed import TaggedSentence
from palmette.data.formats.labelling import NOT_CALIBRATED
from palmette.data.kinds import kind_of
from palmette.errors import counted
from palmette.evaluation.record import Scores
from palmette.lazy import loaded
from palmette.reports.html import QUIET, Html, element, facts, folded, html, page, quiet, rich_table, rows_table
from palmette.reports.sentence import aligned
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
# Grounds of types, told apart on white and on black, also by those who see few colours; each has its line below.
COLOURS = (
    (31, 119, 180), (214, 130, 20), (44, 160, 90), (200, 70, 110), (130, 100, 200), (150, 120, 60), (20, 160, 170),
    (170, 170, 40),
)  # fmt: skip
_WORDS = "line-height:2.3"
_LABEL = "font-size:0.72em;font-weight:600;opacity:0.8;margin-left:0.4em"
_COLUMN = "display:inline-block;text-align:center;line-height:1.25;margin:0.15em 0.55em 0.25em 0;vertical-align:top"
_OTHER = "text-decoration:underline dotted;text-underline-offset:0.25em"


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


def tagged_html(sentence: TaggedSentence) -> str:
    return record_html(sentence.as_dict())


def record_html(record: Mapping[str, Any]) -> str:
    """The words of a tagged sentence with coloured spans, or with a label below each word; several readings below each
    other, tokens that differ from the first one underlined."""
    first = record["readings"][0]
    rows = [(_figures(one), one) for one in record["readings"]]
    rows += [] if record["gold"] is None else [("gold", record["gold"])]
    drawn = [(name, _drawn(record, one, first["tags"])) for name, one in rows]
    note = element("div", quiet(NOT_CALIBRATED)) if record["calibrated"] is False else ""
    if len(drawn) == 1:
        return page(drawn[0][1], note)
    cell = "text-align:left;vertical-align:top;border:none;background:none;padding:0 1em 0 0"
    head = cell + ";white-space:nowrap;padding-top:0.55em"
    lines = [
        element("tr", element("td", quiet(name), style=head), element("td", words, style=cell)) for name, words in drawn
    ]
    return page(element("table", *lines, style="border-collapse:collapse;border:none"), note)


def _figures(one: Mapping[str, Any]) -> str:
    if one["probability"] is not None:
        return f"{one['probability']:.4f}"
    return "" if one["score"] is None else f"{one['score']:.2f}"


def _drawn(record: Mapping[str, Any], one: Mapping[str, Any], first: Sequence[str]) -> Html:
    other = [tag != usual for tag, usual in zip(one["tags"], first, strict=True)]
    words = [
        element("span", word, style=_OTHER) if odd else html(word)
        for word, odd in zip(record["tokens"], other, strict=True)
    ]
    if one["spans"] is None:
        labels = _with_confidence(one["tags"], one["confidence"])
        parts = [_column(word, label) for word, label in zip(words, labels, strict=True)]
        return element("div", *parts)
    return element("div", *_between(_marks(words, one["spans"], record["types"])), style=_WORDS)


def _with_confidence(tags: Sequence[str], sure: Sequence[float] | None) -> list[str]:
    return list(tags) if sure is None else [f"{tag} {value:.2f}" for tag, value in zip(tags, sure, strict=True)]


def _column(word: Html, label: str) -> Html:
    return element(
        "span", word, Html("<br/>"), element("span", label, style=f"font-size:0.75em;{QUIET}"), style=_COLUMN
    )


def _between(parts: Iterator[Html]) -> Iterator[str]:
    for part in parts:
        yield part
        yield " "


def _marks(words: Sequence[Html], spans: Sequence[Mapping[str, Any]], types: Sequence[str]) -> Iterator[Html]:
    """The words, and spans as marks with their types."""
    at = 0
    for span in spans:
        yield from words[at : span["start"]]
        at = span["end"]
        red, green, blue = COLOURS[types.index(span["type"]) % len(COLOURS) if span["type"] in types else 0]
        ground = f"background:rgba({red},{green},{blue},0.22);border-bottom:2px solid rgb({red},{green},{blue})"
        figure = "" if span["confidence"] is None else f" {span['confidence']:.2f}"
        label = element("span", span["type"] + figure, style=_LABEL)
        inside = html(*_between(iter(words[span["start"] : at])))
        style = f"{ground};color:inherit;border-radius:0.25em;padding:0.25em 0.4em;box-decoration-break:clone"
        yield element("mark", inside, label, style=style)
    yield from words[at:]


def tagged_text(sentence: TaggedSentence) -> str:
    """A token a line: the word, its label in each reading, and gold's; above them their scores."""
    record = sentence.as_dict()
    readings = record["readings"]
    rows = [[word, *(one["tags"][k] for one in readings)] for k, word in enumerate(record["tokens"])]
    if record["gold"] is not None:
        rows = [[*row, tag] for row, tag in zip(rows, record["gold"]["tags"], strict=True)]
    heads = [_figures(one) for one in readings] + ([] if record["gold"] is None else ["gold"])
    return aligned([["", *heads], *rows] if any(heads) and len(heads) > 1 else rows) if rows else ""
