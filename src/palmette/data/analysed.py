"""Analysed sentences as plain records, to be looked at: with their labels and spans, or with their trees.

    TaggedSentence.of(["Rolls-Royce", "said"], ["B-ORG", "O"])      # in a notebook: the words with coloured spans
    ParsedSentence.of(["We", "go"], [(2, "nsubj"), (0, "root")])    # arcs over the words

`Tagger.show` and `Parser.show` make them. `as_dict` is what JSON holds; text, HTML and SVG are drawn from that.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import msgspec

from palmette.data.labels.schemes import reading, spans
from palmette.display import drawn_by
from palmette.errors import DataError, counted


class Reading(msgspec.Struct, frozen=True):
    """The labels of a sentence, one per token. Of a guess: its score, its probability if the model has any, and how
    sure each label and each span is."""

    tags: list[str]
    score: float | None = None
    probability: float | None = None
    confidence: list[float] | None = None
    span_confidence: list[float] | None = None


class TaggedSentence(msgspec.Struct, frozen=True):
    """A sentence with its labels; with several readings the best one comes first. `labels`: all that there are, so that
    a type has the same colour in each sentence; `scheme`: how the labels encode spans, if they do not show it;
    `calibrated`: whether confidences are probabilities, if there are any."""

    tokens: list[str]
    readings: list[Reading]
    gold: Reading | None = None
    labels: list[str] = []
    scheme: str | None = None
    calibrated: bool | None = None

    @classmethod
    def of(cls, tokens: Iterable[str], tags: Iterable[str]) -> TaggedSentence:
        """A sentence with one label per token, from anywhere."""
        return cls([str(token) for token in tokens], [Reading([str(tag) for tag in tags])])

    def __post_init__(self) -> None:
        if not self.readings:
            raise DataError("a tagged sentence has at least one reading")
        for one in self._every():
            _as_many("tags", one.tags, self.tokens)
            _as_many("confidence", one.confidence, self.tokens)

    def _every(self) -> list[Reading]:
        return [*self.readings, *([self.gold] if self.gold is not None else [])]

    def as_dict(self) -> dict[str, Any]:
        """The record as plain data. Each reading has its `spans`, None if the labels encode none; `types` are those
        that spans can have."""
        known = sorted({*self.labels, *(tag for one in self._every() for tag in one.tags)})
        notation = reading(known, self.scheme)
        types = set() if notation is None else {notation.split(label)[1] for label in known} - {notation.outside}
        made = [self._with_spans(one, notation is not None) for one in self._every()]
        return {
            "tokens": self.tokens,
            "readings": made[: len(self.readings)],
            "gold": None if self.gold is None else made[-1],
            "types": sorted(types - {""}),
            "calibrated": self.calibrated,
        }

    def _with_spans(self, one: Reading, encoded: bool) -> dict[str, Any]:
        row: dict[str, Any] = msgspec.to_builtins(one)
        sure = row.pop("span_confidence")
        found = [span._asdict() for span in spans(one.tags, self.scheme)] if encoded else None
        if found is not None:
            _as_many("span_confidence", sure, found, "span")
            found = [span | {"confidence": sure[k] if sure else None} for k, span in enumerate(found)]
        return row | {"spans": found}

    def __repr__(self) -> str:
        pairs = zip(self.tokens, self.readings[0].tags, strict=True)
        return f"TaggedSentence({' '.join(f'{token}/{tag}' for token, tag in pairs)})"

    _repr_html_ = drawn_by("reports.notebook_sentences:tagged_html")
    __str__ = drawn_by("reports.notebook_sentences:tagged_text")


class Arcs(msgspec.Struct, frozen=True):
    """A tree: for each word its head (from 1; 0: the root) and its relation; its score if it was guessed."""

    heads: list[int]
    relations: list[str]
    score: float | None = None

    @classmethod
    def of(cls, tree: Iterable[tuple[int, str]], score: float | None = None) -> Arcs:
        """From (head, relation) pairs."""
        pairs = list(tree)
        return cls([int(head) for head, _ in pairs], [str(relation) for _, relation in pairs], score)


class ParsedSentence(msgspec.Struct, frozen=True):
    """A sentence with a tree, or with several of them, best first, and gold. `tags` stand below the words."""

    words: list[str]
    trees: list[Arcs]
    tags: list[str] | None = None
    gold: Arcs | None = None

    @classmethod
    def of(cls, words: Iterable[str], tree: Iterable[tuple[int, str]]) -> ParsedSentence:
        """A sentence with a tree as `Parser.predict` gives it: (head, relation) of each word."""
        return cls([str(word) for word in words], [Arcs.of(tree)])

    def __post_init__(self) -> None:
        _as_many("tags", self.tags, self.words)
        for tree in (*self.trees, *([self.gold] if self.gold else [])):
            _as_many("heads", tree.heads, self.words)
            _as_many("relations", tree.relations, self.words)
            for head in tree.heads:
                if not 0 <= head <= len(self.words):
                    raise DataError(f"the head {head} is no word of {counted(len(self.words), 'word')}, nor 0")

    def as_dict(self) -> dict[str, Any]:
        """The record as plain data."""
        made: dict[str, Any] = msgspec.to_builtins(self)
        return made

    def __repr__(self) -> str:
        return f"ParsedSentence({counted(len(self.words), 'word')}, {counted(len(self.trees), 'tree')})"

    _repr_svg_ = drawn_by("reports.notebook_sentences:parsed_svg")
    _repr_html_ = _repr_svg_  # inside of the notebook's page the picture has the notebook's colours
    __str__ = drawn_by("reports.notebook_sentences:parsed_text")


def _as_many(name: str, row: Sequence[Any] | None, of: Sequence[Any], noun: str = "token") -> None:
    if row is not None and len(row) != len(of):
        raise DataError(f"{name}: {len(row)} for {counted(len(of), noun)}")
