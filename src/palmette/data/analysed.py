"""Sentences and texts as plain records: sentences with labels and spans or with a tree, and annotated texts.

    TaggedSentence.of(["Rolls-Royce", "said"], ["B-ORG", "O"])      # in a notebook: the words with coloured spans
    ParsedSentence.of(["We", "go"], [(2, "nsubj"), (0, "root")])    # arcs over the words

`Tagger.show` and `Parser.show` make sentences. `as_dict` is what JSON holds; text, HTML and SVG are drawn from that.

A `Document` is a text of an annotation tool. Its offsets are characters (Unicode code points), counted from 0, the end
excluded; readers and writers of formats that count otherwise convert. `Span` of data/labels/schemes.py counts tokens.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise
from typing import Any, Generic, NamedTuple, TypeVar

import msgspec
import numpy as np

from palmette.data.labels.schemes import reading, spans
from palmette.display import drawn_by
from palmette.errors import DataError, counted

# One record for every n-best list: an output, its score and, if the model has probabilities, its probability.

Output = TypeVar("Output")
ACCEPT, REJECT, IGNORE, PREDICTED = "accept", "reject", "ignore", "predicted"
ANSWERS = (ACCEPT, REJECT, IGNORE)

Pieces = tuple[tuple[int, int], ...]


class Candidate(NamedTuple, Generic[Output]):
    """One of the best outputs of a sentence.

    A tagger's output is a list of labels; a parser's is a list of (head, relation) pairs, as `Parser.predict` returns
    them."""

    output: Output
    score: float
    probability: float | None = None  # None: the scores of the model are not probabilities


class LabelLists(NamedTuple):
    """The best label sequences of S sentences with N tokens, at most K of each, as numbers of labels."""

    offset: np.ndarray  # i64[S+1]  the tokens of a sentence, from 0
    labels: np.ndarray  # i32[K, N]
    scores: np.ndarray  # f64[S, K]
    probability: np.ndarray | None  # f64[S, K]
    found: np.ndarray  # i64[S]  how many a sentence has

    def candidates(self, names: Sequence[Any]) -> Iterator[list[Candidate[list[str]]]]:
        """The list of each sentence."""
        called = np.array([*names, None], object)[:-1]  # never an array of strings
        scores = self.scores.tolist()
        probability = None if self.probability is None else self.probability.tolist()
        for s, (lo, hi) in enumerate(pairwise(self.offset.tolist())):
            own = called[self.labels[:, lo:hi]].tolist()
            sure = [None] * len(own) if probability is None else probability[s]
            yield [Candidate(own[k], scores[s][k], sure[k]) for k in range(int(self.found[s]))]


Parse = Candidate[list[tuple[int, str]]]  # heads count from 1, 0 is the root


class SentenceLabels(msgspec.Struct, frozen=True):
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
    readings: list[SentenceLabels]
    gold: SentenceLabels | None = None
    labels: list[str] = []
    scheme: str | None = None
    calibrated: bool | None = None

    @classmethod
    def of(cls, tokens: Iterable[str], tags: Iterable[str]) -> TaggedSentence:
        """A sentence with one label per token, from anywhere."""
        return cls([str(token) for token in tokens], [SentenceLabels([str(tag) for tag in tags])])

    def __post_init__(self) -> None:
        if not self.readings:
            raise DataError("a tagged sentence has at least one reading")
        for one in self._every():
            _as_many("tags", one.tags, self.tokens)
            _as_many("confidence", one.confidence, self.tokens)

    def _every(self) -> list[SentenceLabels]:
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

    def _with_spans(self, one: SentenceLabels, encoded: bool) -> dict[str, Any]:
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

    _repr_html_ = drawn_by("reports.notebook:tagged_html")
    __str__ = drawn_by("reports.notebook:tagged_text")


class SentenceTree(msgspec.Struct, frozen=True):
    """A tree: for each word its head (from 1; 0: the root) and its relation; its score if it was guessed."""

    heads: list[int]
    relations: list[str]
    score: float | None = None

    @classmethod
    def of(cls, tree: Iterable[tuple[int, str]], score: float | None = None) -> SentenceTree:
        """From (head, relation) pairs."""
        pairs = list(tree)
        return cls([int(head) for head, _ in pairs], [str(relation) for _, relation in pairs], score)


class ParsedSentence(msgspec.Struct, frozen=True):
    """A sentence with a tree, or with several of them, best first, and gold. `tags` stand below the words."""

    words: list[str]
    trees: list[SentenceTree]
    tags: list[str] | None = None
    gold: SentenceTree | None = None

    @classmethod
    def of(cls, words: Iterable[str], tree: Iterable[tuple[int, str]]) -> ParsedSentence:
        """A sentence with a tree as `Parser.predict` gives it: (head, relation) of each word."""
        return cls([str(word) for word in words], [SentenceTree.of(tree)])

    def __post_init__(self) -> None:
        _as_many("tags", self.tags, self.words)
        for tree in (*self.trees, *([self.gold] if self.gold else [])):
            _as_many("heads", tree.heads, self.words)
            _as_many("relations", tree.relations, self.words)
            for head in tree.heads:
                if not 0 <= head <= len(self.words):
                    raise DataError(f"the head {head} is not a word of {counted(len(self.words), 'word')}, nor 0")

    def as_dict(self) -> dict[str, Any]:
        """The record as plain data."""
        made: dict[str, Any] = msgspec.to_builtins(self)
        return made

    def __repr__(self) -> str:
        return f"ParsedSentence({counted(len(self.words), 'word')}, {counted(len(self.trees), 'tree')})"

    _repr_svg_ = drawn_by("parsing.drawing:parsed_svg")
    _repr_html_ = _repr_svg_  # inside of the notebook's page the picture has the notebook's colours
    __str__ = drawn_by("parsing.drawing:parsed_text")


def _as_many(name: str, row: Sequence[Any] | None, of: Sequence[Any], noun: str = "token") -> None:
    if row is not None and len(row) != len(of):
        raise DataError(f"{name}: {len(row)} for {counted(len(of), noun)}")


class TextSpan(msgspec.Struct, frozen=True):
    """A labelled stretch of a text. `fragments`: its pieces if it is discontinuous; start and end are then the first
    and the last character of all. `extra`: other keys that its format gives it."""

    start: int
    end: int
    label: str
    fragments: Pieces = ()
    score: float | None = None
    id: str | int | None = None
    extra: dict[str, Any] = {}

    @property
    def pieces(self) -> Pieces:
        return self.fragments or ((self.start, self.end),)


class Document(msgspec.Struct):
    """A text with its spans.

    answer: accept; reject or ignore, if the annotator said so; predicted, if a model made the spans; None: not
    annotated. tokens: where the file says that tokens start and end. kept: what the file has besides, which is
    written back in the same format, with `style`, the keys that its text and its spans were under; `others` counts the
    annotations in it that are no spans (relations, ...). place, line: where it comes from, for messages."""

    text: str
    spans: list[TextSpan] = []
    meta: dict[str, Any] = {}
    answer: str | None = ACCEPT
    tokens: list[tuple[int, int]] | None = None
    name: str | None = None
    format: str = ""
    kept: dict[str, Any] = {}
    style: tuple[str | None, ...] = ()
    others: int = 0
    place: str = ""
    line: int | None = None


class At(msgspec.Struct, frozen=True):
    """A place in a file, for messages: a line, or a task by its number from 1."""

    file: str
    line: int | None = None
    task: int | None = None

    def __str__(self) -> str:
        if self.line is not None:
            return f"{self.file}:{self.line}"
        return self.file if self.task is None else f"{self.file}, task {self.task}"

    def error(self, message: str, hint: str | None = None) -> DataError:
        text = message if self.task is None else f"task {self.task}: {message}"
        return DataError(text, file=self.file, line=self.line, hint=hint)


def joined_pieces(text: str, pieces: Sequence[tuple[int, int]]) -> Pieces:
    """Pieces in order, those with only white space (or nothing) between them as one."""
    made: list[tuple[int, int]] = []
    for start, end in sorted(pieces):
        if made and made[-1][1] <= start and not text[made[-1][1] : start].strip():
            made[-1] = made[-1][0], end
        else:
            made.append((start, end))
    return tuple(made)
