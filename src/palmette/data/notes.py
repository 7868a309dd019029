"""What could not be kept as it was, counted and located: nothing is lost without a word."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from typing import Any, NamedTuple

from palmette.errors import counted

logger = logging.getLogger(__name__)

MOST_PLACES = 3


class Event(NamedTuple):
    """What happened: `lost` and `moved` are warnings, `kept` is for information."""

    effect: str
    noun: str
    text: str  # follows the counted noun
    plural: str = ""


KINDS: dict[str, Event] = {
    "rejected": Event("lost", "document", "left out: its answer is reject", "left out: their answer is reject"),
    "ignored": Event("lost", "document", "left out: its answer is ignore", "left out: their answer is ignore"),
    "unannotated": Event(
        "lost", "document", "left out: no one has annotated it", "left out: no one has annotated them"
    ),
    "predicted": Event("lost", "document", "left out: annotated by a model only"),
    "outside": Event("lost", "span", "dropped: its offsets are not in the text", "dropped: offsets not in the text"),
    "empty": Event("lost", "span", "dropped: empty, or only white space"),
    "unlabelled": Event("lost", "span", "dropped: without a label"),
    "duplicate": Event("lost", "span", "dropped: the same span with the same label comes twice"),
    "nested": Event("lost", "span", "dropped: inside a longer one, or as long as one before it"),
    "overlapping": Event("lost", "span", "dropped: overlapping a longer one"),
    "between": Event("lost", "span", "dropped: between the tokens that the file gives"),
    "trimmed": Event("moved", "span", "moved: white space at the edges left out"),
    "widened": Event("moved", "span", "moved to the edges of tokens"),
    "split": Event("moved", "span", "with gaps: each piece becomes a separate span"),
    "others": Event("lost", "annotation", "left out: no span (relation, attribute, note, choice, ...)"),
    "columns": Event("lost", "column", "not written: the format has words and labels only"),
    "keys": Event("lost", "document", "written without keys of its file", "written without keys of their file"),
    "meta": Event("lost", "document", "written without meta data"),
    "score": Event("lost", "span", "written without a score"),
    "several": Event("lost", "task", "annotated several times: one annotation is read"),
    "replaced": Event("lost", "span", "of the input replaced by what the model predicts"),
    "differs": Event("kept", "span", "kept, though the file gives another text than is at the offsets"),
    "units": Event(
        "kept", "document", "with characters beyond U+FFFF, where offsets may count characters or UTF-16 units: see "
        "the option offsets",
    ),
    "utf16": Event("kept", "document", "with offsets in UTF-16 units, which became characters"),
    "line_ends": Event("kept", "document", "with offsets that count CR LF as one character, which became characters"),
    "joined": Event("kept", "sentence end", "inside of a span: not taken as an end"),
}  # fmt: skip


class Notes:
    """Counts by kind, with the first places."""

    def __init__(self) -> None:
        self.counts: dict[str, int] = {}
        self.places: dict[str, list[str]] = {}

    def add(self, kind: str, place: object, n: int = 1) -> None:
        assert kind in KINDS
        if n == 0:
            return
        self.counts[kind] = self.counts.get(kind, 0) + n
        places = self.places.setdefault(kind, [])
        if len(places) < MOST_PLACES and (text := str(place)) not in places:
            places.append(text)

    def take(self, other: Notes) -> None:
        """Add what another has noted."""
        for kind, n in other.counts.items():
            self.counts[kind] = self.counts.get(kind, 0) + n
            places = self.places.setdefault(kind, [])
            places += [place for place in other.places[kind] if place not in places][: MOST_PLACES - len(places)]

    def clear(self) -> None:
        self.counts, self.places = {}, {}

    def total(self, *effects: str) -> int:
        return sum(n for kind, n in self.counts.items() if KINDS[kind].effect in effects)

    def messages(self) -> Iterator[tuple[str, str]]:
        """(effect, message) pairs, in the order of the table."""
        for kind, row in KINDS.items():
            if self.counts.get(kind, 0):
                yield row.effect, self.message(kind)

    def message(self, kind: str) -> str:
        """What happened to how many, and where the first ones are."""
        n, row = self.counts[kind], KINDS[kind]
        text = row.plural if n > 1 and row.plural else row.text
        more = " ..." if n > len(self.places[kind]) else ""
        return f"{counted(n, row.noun)} {text} ({'; '.join(self.places[kind])}{more})"

    def log(self) -> None:
        for effect, message in self.messages():
            logger.log(logging.INFO if effect == "kept" else logging.WARNING, "%s", message)

    def to_dict(self) -> dict[str, Any]:
        """For programs: by kind the effect, the count and the first places."""
        return {
            kind: {"effect": row.effect, "count": self.counts[kind], "places": self.places[kind]}
            for kind, row in KINDS.items()
            if kind in self.counts
        }
