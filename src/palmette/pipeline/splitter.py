"""`Splitter`: learns from a treebank where sentences, tokens and words end in plain text, and splits texts.

A text is cut into units (`units.py`), which are words, numbers and marks, or single characters in scripts without
spaces. A chain model tells for each unit whether its token goes on after it, ends, or ends together with the
sentence (`split_training.py`). Tokens that are several words are looked up or cut by rules (`multiword.py`).
"""

from __future__ import annotations

import logging
from collections.abc import Mapping
from itertools import chain
from typing import TYPE_CHECKING, Any, Self

import msgspec
import numpy as np

from palmette.data.corpus import Column, column_of_types
from palmette.data.model_file import AGAIN, check_text, read_metadata
from palmette.data.treebank import Treebank
from palmette.errors import DataError, ModelError, not_fitted
from palmette.pipeline.capitals import Capitals, learn_capitals
from palmette.pipeline.chains import compacted, label_numbers, packed_chains, unpacked_chains
from palmette.pipeline.multiword import Multiword, learn_multiword
from palmette.pipeline.split_blocks import BLOCK, SENTENCE, BlockReader, Tokens, tokens_of
from palmette.pipeline.split_text import SplitText, empty_split, gold_split
from palmette.pipeline.split_training import BIASES, LABELS, learn_marks, marked_corpus
from palmette.pipeline.unit_columns import N_COLUMNS, UnitReader, UnitText
from palmette.pipeline.units import UnitRule, cells_of, codes_of, learn_units
from palmette.pipeline.white_space import one_blank
from palmette.structures.chain.model import ChainModel

if TYPE_CHECKING:
    from palmette.training.result import Progress

logger = logging.getLogger(__name__)

MARKS, WORDS = "marks", "words"  # the two models


class _Stored(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What the file says beside arrays."""

    together: list[tuple[str, str]]
    apart: list[str]
    cuts: dict[str, list[int]]
    small: list[str]
    names: list[str]
    multiword: dict[str, list[str]]
    models: dict[str, Any]


class Splitter:
    """Sentences, tokens and words of plain text."""

    reader: UnitReader
    model: ChainModel
    multiword: Multiword

    def __init__(self, *, passes: int | None = None, seed: int = 1) -> None:
        self.passes, self.seed = passes, seed

    def fit(
        self, treebank: Treebank, dev: Treebank | None = None, *, progress: Progress | None = None, threads: int = 1
    ) -> Self:
        """Learn from a treebank with its text. Development data chooses how readily sentences end."""
        split = gold_split(treebank)
        if not split.n_sentences:
            raise DataError("no sentence to learn from", file=treebank.corpus.source)
        _report(split, treebank.corpus.source)
        rule = learn_units(split)
        codes = codes_of(split.text)
        units = rule.units(codes, cells_of(split.text, codes))
        self.reader = UnitReader(rule, learn_capitals(split, units))
        self.multiword = learn_multiword(split, seed=self.seed)
        self.model = learn_marks(split, self.reader, progress, passes=self.passes, seed=self.seed)
        self._ready()
        self._choose_bias(dev)
        return self

    def _ready(self) -> Self:
        self._marks = np.array([LABELS.index(label) for label in self.model.labels])
        return self

    def _choose_bias(self, dev: Treebank | None) -> None:
        """Of BIASES the one with which most sentences of the development data are found; the first one without."""

        def found(bias: float) -> float:
            self.model.bias = {LABELS[SENTENCE]: bias}
            return sentence_f1(gold, self.split(gold.text))

        best = BIASES[0]
        if dev is not None and dev.n_tokens and LABELS[SENTENCE] in self.model.labels:
            gold = gold_split(dev)
            best = max(BIASES, key=found)  # the first of equals
        self.model.bias = {LABELS[SENTENCE]: best} if best else {}

    def compact(self, dev: Treebank | None, most_loss: float) -> None:
        """Make the models small, with at most so many points lost in the accuracy of units on development data; without
        it no attribute is dropped."""
        measured = None if dev is None else marked_corpus(gold_split(dev), self.reader)
        self.model = compacted(self.model, measured, most_loss)
        self.multiword = self.multiword.compact()
        self._ready()

    def split(self, text: str, *, block: int = BLOCK) -> SplitText:
        """The sentences, tokens and words of a text. About `block` characters are looked at at a time."""
        if not hasattr(self, "_marks"):
            raise not_fitted("Splitter", "Splitter.from_parts")
        try:
            parts = list(tokens_of(text, BlockReader(self.reader.read, self._marked, block)))
        except UnicodeEncodeError as error:
            raise DataError(
                f"a text that is not valid Unicode: {text[error.start :][:20]!r}",
                hint="it holds half of a surrogate pair; clean the text first",
            ) from None
        found = Tokens(*map(np.concatenate, zip(*parts, strict=True))) if parts else None
        return empty_split(text) if found is None or not found.start.size else self._with_words(text, found)

    def _marked(self, read: UnitText) -> np.ndarray:
        return self._marks[label_numbers(self.model, read.corpus)]

    def _with_words(self, text: str, tokens: Tokens) -> SplitText:
        """The tokens with their words."""
        column = cells_of(text, codes_of(text)).column(tokens.start, tokens.end)
        ends = np.flatnonzero(tokens.last) + 1
        sentence = np.append(0, ends)
        words = self._words(column)
        if words:
            sizes = np.ones(len(column.types), np.int64)
            sizes[list(words)] = [len(parts) for parts in words.values()]
            first_word = np.append(0, np.cumsum(sizes[column.ids]))
            column = _replaced(column, words, sizes)
        else:
            first_word = np.arange(tokens.start.size + 1)
        return SplitText(text, tokens.start, tokens.end, sentence, first_word, column, tokens.first[sentence[:-1]])

    def _words(self, column: Column) -> dict[int, tuple[str, ...]]:
        """The words of those tokens that are not one word as it is written, by type."""
        types = column.types
        white = {k: (one_blank(token),) for k, token in enumerate(types) if len(token.split()) > 1}
        kept = [k for k in range(len(types)) if k not in white] if white else range(len(types))
        several = self.multiword.apart([types[k] for k in kept] if white else types)
        return {**white, **{kept[k]: words for k, words in several.items()}}

    def parts(self) -> tuple[dict[str, np.ndarray], dict[str, Any]]:
        """Arrays and metadata to store."""
        models = {MARKS: self.model}
        if self.multiword.model is not None:
            models[WORDS] = self.multiword.model
        arrays, about = packed_chains(models)
        rule, capitals = self.reader
        cuts = {word: list(places) for word, places in sorted(rule.cuts.items())}
        meta = _Stored(
            sorted(rule.together), sorted(rule.apart), cuts, sorted(capitals.small), sorted(capitals.names),
            self.multiword.stored, about,
        )  # fmt: skip
        return arrays, msgspec.to_builtins(meta)

    @classmethod
    def from_parts(cls, arrays: Mapping[str, np.ndarray], meta: dict[str, Any], source: str) -> Self:
        """The splitter of what `parts` gave; ModelError if that cannot be."""
        stored = read_metadata(meta, _Stored, "splitter", source)
        names = chain(stored.apart, stored.cuts, stored.small, stored.names, chain.from_iterable(stored.together))
        check_text(names, "a class or word of the splitter", source)
        made = cls()
        rule = UnitRule(stored.together, stored.apart, _checked_cuts(stored.cuts, source))
        made.reader = UnitReader(rule, Capitals(stored.small, stored.names))
        models = unpacked_chains(arrays, stored.models, (MARKS, WORDS), N_COLUMNS, source)
        words = models.get(WORDS)
        if MARKS not in models or not set(models[MARKS].labels) <= set(LABELS):
            raise ModelError("damaged model: the splitter has no model", file=source, hint=AGAIN)
        if words is not None and (words.encoder is None or words.encoder.n_columns > 1):
            raise ModelError("damaged model: multi-word tokens by other columns", file=source, hint=AGAIN)
        made.model = models[MARKS]
        made.multiword = Multiword.from_stored(stored.multiword, words, source)
        return made._ready()


def sentence_f1(gold: SplitText, found: SplitText) -> float:
    """F1 of the sentences of a text, as the CoNLL 2018 shared task counts them."""
    sides = (
        set(zip(one.start[one.sentence[:-1]].tolist(), one.end[one.sentence[1:] - 1].tolist(), strict=True))
        for one in (gold, found)
    )
    a, b = sides
    return 2 * len(a & b) / (len(a) + len(b))


def _report(split: SplitText, source: str) -> None:
    between = split.between()
    inner = split.sentence[1:-1][~split.paragraph[1:]].tolist()
    if inner and not any(between[t] for t in inner):
        logger.warning(
            "%s: there is never a blank between sentences (SpaceAfter=No at their ends), so the splitter learns that "
            "sentences follow each other without one", source,
        )  # fmt: skip


def _replaced(column: Column, words: Mapping[int, tuple[str, ...]], sizes: np.ndarray) -> Column:
    """The words of tokens as a column: those types that are in `words` become them. sizes: words of each type."""
    types = column.types
    numbers: dict[str, int] = {}
    flat = np.array(
        [numbers.setdefault(word, len(numbers)) for k, token in enumerate(types) for word in words.get(k, (token,))],
        np.int32,
    )
    begin = np.cumsum(sizes) - sizes
    n = sizes[column.ids]
    number = np.arange(n.sum()) - np.repeat(np.cumsum(n) - n, n)
    return column_of_types(flat[np.repeat(begin[column.ids], n) + number], list(numbers))


def _checked_cuts(cuts: Mapping[str, list[int]], source: str) -> dict[str, tuple[int, ...]]:
    for word, places in cuts.items():
        if places != sorted(set(places)) or not all(0 < place < len(word) for place in places):
            raise ModelError("damaged model: a word of the splitter is cut outside", file=source, hint=AGAIN)
    return {word: tuple(places) for word, places in cuts.items()}
