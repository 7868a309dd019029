"""Tagged sentences, drawn from their records (`data/analysed.py`): labels and spans in HTML, and as text."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from palmette.data.analysed import TaggedSentence
from palmette.data.formats.labelling import NOT_CALIBRATED
from palmette.reports.html import QUIET, Html, element, html, page, quiet
from palmette.reports.sentence import aligned

# Grounds of types, told apart on white and on black, also by those who see few colours; each has its line below.
COLOURS = (
    (31, 119, 180), (214, 130, 20), (44, 160, 90), (200, 70, 110), (130, 100, 200), (150, 120, 60), (20, 160, 170),
    (170, 170, 40),
)  # fmt: skip
_WORDS = "line-height:2.3"
_LABEL = "font-size:0.72em;font-weight:600;opacity:0.8;margin-left:0.4em"
_COLUMN = "display:inline-block;text-align:center;line-height:1.25;margin:0.15em 0.55em 0.25em 0;vertical-align:top"
_OTHER = "text-decoration:underline dotted;text-underline-offset:0.25em"


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
