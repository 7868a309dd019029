"""`Splitter`: learns from a treebank where sentences, tokens and words end in plain text, and splits texts.

A text is cut into units (`units.py`), which are words, numbers and marks, or single characters in scripts without
spaces. A chain model tells for each unit whether its token goes on after it, ends, or ends together with the
sentence. Tokens that are several words are looked up or cut by rules (`multiword.py`).
"""

from __future__ import annotations

import logging
import re
from collections.abc import Callable, Iterator, Mapping
from itertools import chain, pairwise
from typing import TYPE_CHECKING, Any, NamedTuple, Self

import msgspec
import numpy as np
from msgspec.structs import replace

from palmette.data.corpus import Column, Corpus, column_of_types
from palmette.data.model_file import AGAIN, check_text, read_metadata
from palmette.data.treebank import Treebank
from palmette.errors import DataError, ModelError, not_fitted
from palmette.estimators.tagger import Tagger
from palmette.features.templates import TemplateSet, parse
from palmette.options.learners import Mira
from palmette.pipeline.chains import compacted, label_numbers, packed_chains, trained_chain, unpacked_chains
from palmette.pipeline.multiword import MultiwordTokens, learn_multiword
from palmette.pipeline.split_text import BETWEEN_PARAGRAPHS, SplitText, empty_split, gold_split, one_blank
from palmette.pipeline.units import (
    N_COLUMNS,
    Capitals,
    UnitReader,
    UnitRule,
    UnitText,
    cells_of,
    codes_of,
    is_word_class,
    learn_capitals,
    learn_units,
)
from palmette.structures.chain.model import ChainModel

if TYPE_CHECKING:
    from palmette.training.result import Progress

# The text of a treebank laid out in several ways, so that a splitter has met them all.
#
# Treebanks mark where paragraphs begin at best. Users have text with a sentence per line, a paragraph per line, or
# lines that are wrapped, and so has the raw text that pipelines are scored on. A splitter learns from the text as it
# is, and from a copy in which each paragraph has one of the layouts.

_WIDTHS = 60, 100  # of wrapped lines
_SHARES = (0.3, 0.3, 0.2, 0.2)  # of paragraphs: as they are, wrapped, sentences per line, paragraphs per line
_PART = 30  # sentences: longer paragraphs are several in the copy


def relaid(split: SplitText, between: list[str]) -> SplitText:
    """A text with other white space between its tokens, T+1 strings."""
    tokens = split.tokens()
    size = np.array([len(token) for token in tokens], np.int64)
    gap = np.array([len(white) for white in between[:-1]], np.int64)
    end = np.cumsum(size + gap)
    pieces = [piece for pair in zip(between, tokens, strict=False) for piece in pair]
    return replace(split, text="".join([*pieces, between[-1]]), start=end - size, end=end)


def joined(splits: list[SplitText]) -> SplitText:
    """Texts one after the other, as paragraphs; of the same words again and again, whose forms are not kept."""
    step = np.cumsum([0, *(len(split.text) + len(BETWEEN_PARAGRAPHS) for split in splits)]).tolist()
    tokens = np.cumsum([0, *(split.n_tokens for split in splits)]).tolist()
    words = np.cumsum([0, *(split.n_words for split in splits)]).tolist()
    return replace(
        splits[0],
        text=BETWEEN_PARAGRAPHS.join(split.text for split in splits),
        start=np.concatenate([split.start + shift for split, shift in zip(splits, step, strict=False)]),
        end=np.concatenate([split.end + shift for split, shift in zip(splits, step, strict=False)]),
        sentence=_joined_offsets([split.sentence for split in splits], tokens),
        first_word=_joined_offsets([split.first_word for split in splits], words),
        paragraph=np.concatenate([split.paragraph for split in splits]),
    )


def _joined_offsets(offsets: list[np.ndarray], shifts: list[int]) -> np.ndarray:
    parts = [offset[1:] + shift for offset, shift in zip(offsets, shifts, strict=False)]
    return np.concatenate([np.zeros(1, np.int64), *parts])


def several_layouts(split: SplitText, seed: int) -> SplitText:
    """The text as it is, and a copy with each paragraph in one of the layouts."""
    rng = np.random.default_rng(seed)
    begins = split.paragraph.copy()
    begins[::_PART] = True
    copy = replace(split, paragraph=begins)
    first = split.sentence[:-1][begins].tolist()
    plain = split.between()
    for t in first[1:]:
        plain[t] = BETWEEN_PARAGRAPHS
    copy = relaid(copy, plain)
    ways = [plain, wrapped(copy, rng), sentence_lines(copy), paragraph_lines(copy)]
    mixed = plain[:1]
    bounds = pairwise([*first, split.n_tokens])
    for (a, b), way in zip(bounds, rng.choice(len(ways), len(first), p=_SHARES).tolist(), strict=True):
        mixed += ways[way][a + 1 : b + 1]
    return joined([split, relaid(copy, mixed)])


# The white space between tokens, T+1 strings


def wrapped(split: SplitText, rng: np.random.Generator, widths: tuple[int, int] = _WIDTHS) -> list[str]:
    """Lines of a width that is drawn for each paragraph."""
    between = split.between()
    tokens = split.tokens()
    size = [0] * (len(tokens) + 1)  # of what cannot be wrapped from a token on
    for t in range(len(tokens) - 1, -1, -1):
        size[t] = len(tokens[t]) + (0 if between[t + 1] else size[t + 1])
    width, column = int(rng.integers(*widths)), 0
    for t, token in enumerate(tokens):
        if "\n" in between[t]:
            width, column = int(rng.integers(*widths)), 0
        elif between[t] == " " and column + 1 + size[t] > width:
            between[t], column = "\n", 0
        else:
            column += len(between[t])
        column += len(token)
    return between


def sentence_lines(split: SplitText) -> list[str]:
    """A line for each sentence that white space separates from the one before."""
    between = split.between()
    for t in split.sentence[1:-1][~split.paragraph[1:]].tolist():
        between[t] = "\n" if between[t] else ""
    return between


def paragraph_lines(split: SplitText) -> list[str]:
    """A line for each paragraph."""
    between = split.between()
    for t in split.sentence[1:-1][split.paragraph[1:]].tolist():
        between[t] = "\n"
    return between


# Tokens and sentences of a text of any length, block by block.
#
# A block ends after a blank line, which nothing looks across. Where a whole block has none, it is decided up to the
# last sentence that ends well before its end, and the next block begins there, with the sentence before it as context,
# so that the same sentences come out wherever blocks happen to end. A sentence of more than MOST_TOKENS tokens, or a
# token of more than MOST_CHARACTERS, is no such thing, and is cut.

INSIDE, TOKEN, SENTENCE = range(3)  # what ends at the end of a unit
MOST_TOKENS = 1000
MOST_CHARACTERS = 1000
BLOCK = 1 << 19  # characters
MARGIN = 1 << 10
_BLANK_LINE = re.compile(r"(?:\r\n|\n|\r)[^\S\r\n]*(?:\r\n|\n|\r)\s*")


class Tokens(NamedTuple):
    """Tokens of a text."""

    start: np.ndarray  # i64[T]
    end: np.ndarray  # i64[T]
    last: np.ndarray  # bool[T]  whether a sentence ends
    first: np.ndarray  # bool[T]  whether a paragraph begins

    def kept(self, which: np.ndarray) -> Tokens:
        return Tokens(*(array[which] for array in self))


class BlockReader(NamedTuple):
    """How a block becomes units, and units get one of INSIDE, TOKEN, SENTENCE, i64[M]."""

    units: Callable[[str], UnitText]
    marks: Callable[[UnitText], np.ndarray]
    block: int = BLOCK

    @property
    def margin(self) -> int:
        """Characters before the end of a block in which nothing is decided, and most of the context."""
        return min(MARGIN, self.block // 4)


def tokens_of(text: str, reader: BlockReader) -> Iterator[Tokens]:
    """The tokens of a text in parts; all white space and nothing else is between them."""
    at = context = 0
    while at < len(text):
        stop = _block_end(text, at, reader.block)
        found = _tokens_from(text, reader, (context, at, stop))
        certain = stop == len(text) or _ends_paragraph(text[at:stop])
        if not certain and found.start.size:
            found = found.kept(np.arange(found.start.size) < _decided(found, stop - reader.margin))
            found.last[-1] = True
            stop = int(found.end[-1])
        yield found
        at = stop
        context = at if certain or not found.start.size else _context(found, reader.margin)


def _tokens_from(text: str, reader: BlockReader, places: tuple[int, int, int]) -> Tokens:
    """The tokens of a block between the second place and the third, read with what is before it from the first on."""
    context, at, stop = places
    found = _tokens(reader, text[context:stop], at - context)
    if found is None:  # a word continues that an earlier block has cut
        found = _tokens(reader, text[at:stop], 0)
        assert found is not None
        found.first[:1] = False
        context = at
    moved = Tokens(found.start + context, found.end + context, found.last, found.first)
    return moved.kept(moved.start >= at)


def _block_end(text: str, at: int, block: int) -> int:
    """Where the block that begins at a place ends: the text's end, after the last blank line, or anywhere."""
    stop = at + block
    if stop >= len(text):
        return len(text)
    ends = [match.end() for match in _BLANK_LINE.finditer(text, at, stop)]
    return next((end for end in reversed(ends) if end < stop), stop)


def _ends_paragraph(block: str) -> bool:
    """Whether a block ends with a blank line."""
    solid = len(block.rstrip())
    return 0 < solid < len(block) and _BLANK_LINE.search(block, solid) is not None


def _decided(found: Tokens, limit: int) -> int:
    """How many tokens of a block that ends anywhere are certain: those of sentences that end up to a place, or at
    least one token."""
    early = int(np.searchsorted(found.end, limit, side="right"))
    ends = np.flatnonzero(found.last[:early])
    return int(ends[-1]) + 1 if ends.size else max(1, early)


def _context(found: Tokens, margin: int) -> int:
    """Where the last sentence begins, or a token of it that is near enough."""
    ends = np.flatnonzero(found.last[:-1])
    first = int(ends[-1]) + 1 if ends.size else 0
    near = int(np.searchsorted(found.start, int(found.end[-1]) - margin))
    return int(found.start[min(max(first, near), found.start.size - 1)])


def _tokens(reader: BlockReader, text: str, known: int) -> Tokens | None:
    """The tokens of a block. After `known` characters a sentence is known to end; None if no unit does."""
    read = reader.units(text)
    start, end, offset = read.units.start, read.units.end, read.corpus.offset
    if known and known not in end:
        return None
    if not start.size:
        none, no = np.zeros(0, np.int64), np.zeros(0, np.bool_)
        return Tokens(none, none, no, no)
    marks = reader.marks(read)
    marks[offset[1:] - 1] = SENTENCE
    if known:
        marks[np.searchsorted(end, known)] = SENTENCE
    _cut_long_tokens(marks, start, end)
    ends = np.flatnonzero(marks)
    begins = np.append(0, ends[:-1] + 1)
    last = marks[ends] == SENTENCE
    _cut_long_sentences(last)
    first = np.zeros(start.size, np.bool_)
    first[offset[:-1]] = True
    return Tokens(start[begins], end[ends], last, first[begins])


def _cut_long_tokens(marks: np.ndarray, start: np.ndarray, end: np.ndarray) -> None:
    ends = np.flatnonzero(marks)
    begins = np.append(0, ends[:-1] + 1)
    for token in np.flatnonzero(end[ends] - start[begins] > MOST_CHARACTERS).tolist():
        first, last = int(begins[token]), int(ends[token])
        firsts, lasts = start[first : last + 1].tolist(), end[first : last + 1].tolist()
        low = firsts[0]
        for unit in range(last - first):
            if lasts[unit + 1] - low > MOST_CHARACTERS:
                marks[first + unit], low = TOKEN, firsts[unit + 1]


def _cut_long_sentences(last: np.ndarray) -> None:
    ends = np.flatnonzero(last) + 1
    begins = np.append(0, ends[:-1])
    for sentence in np.flatnonzero(ends - begins > MOST_TOKENS).tolist():
        last[int(begins[sentence]) + MOST_TOKENS - 1 : int(ends[sentence]) : MOST_TOKENS] = True


# The chain model of a splitter: its templates, and its training from the text of a treebank.

LABELS = ["inside", "token", "sentence"]  # by the numbers INSIDE, TOKEN, SENTENCE
_PASSES = 8
_SEQUENCE = 60  # units of a training sequence, about
# Added to the score of the end of a sentence, in units of the cost of a wrong mark. Two sentences that are found count
# more than one that is missed, so a doubtful end is worth more than none.
BIASES = (0.0, 0.1, 0.2)  # the first one without development data

# Columns: the unit, the white space after it, the word around it, its place there, its capital
TEMPLATES = """\
U00:%x[0,0]/%x[0,1]
U01:%x[0,0,lower]/%x[0,1]/%x[1,0,lower]
U02:%x[-1,0,lower]/%x[-1,1]/%x[0,0]/%x[0,1]
U03:%x[0,1]/%x[1,0]
U04:%x[0,1]/%x[1,0,lower]
U05:%x[0,1]/%x[1,0,short_shape]
U06:%x[0,0,short_shape]/%x[0,1]/%x[1,0,short_shape]
U07:%x[-1,0,short_shape]/%x[-1,1]/%x[0,0,short_shape]/%x[0,1]/%x[1,0,short_shape]
U08:%x[-1,0,short_shape]/%x[-1,1]/%x[0,0,short_shape]/%x[0,1]/%x[1,0,short_shape]/%x[1,1]/%x[2,0,short_shape]
U09:%x[-1,0,short_shape]/%x[-1,1]/%x[0,0]/%x[0,1]/%x[1,0,short_shape]
U10:%x[-1,0,lower]/%x[-1,1]/%x[0,0]/%x[0,1]/%x[1,0,short_shape]
U11:%x[0,0]/%x[0,1]/%x[1,0,lower]
U12:%x[0,0]/%x[0,1]/%x[1,0,short_shape]/%x[1,1]/%x[2,0,short_shape]
U13:%x[0,0]/%x[0,1]/%x[1,0]/%x[1,1]/%x[2,0,short_shape]
U14:%x[-2,0,lower]/%x[-2,1]/%x[-1,0,lower]/%x[-1,1]/%x[0,0]/%x[0,1]
U15:%x[0,2]/%x[0,3]
U16:%x[0,2]/%x[0,3]/%x[0,1]/%x[1,0,short_shape]
U17:%x[0,2,short_shape]/%x[0,3]/%x[0,1]
U18:%x[0,0,lower.suffix3]/%x[0,1]
U19:%x[-1,0,length]/%x[-1,1]/%x[0,0]/%x[0,1]/%x[1,0,short_shape]
U20:%x[2,0,lower]/%x[0,1]
U21:%x[-1,0,lower]/%x[0,1]
U22:%x[0,1]/%x[1,0]/%x[1,1]/%x[2,0]
U23:%x[0,0]/%x[0,1]/%x[1,0]/%x[1,1]/%x[2,0]
U24:%x[-1,0]/%x[-1,1]/%x[0,0]/%x[0,1]/%x[1,0]
U25:%x[-1,0]/%x[0,1]/%x[1,0]
U30:%x[0,0]/%x[0,1]/%x[1,4]
U31:%x[0,0,short_shape]/%x[0,1]/%x[1,4]
U32:%x[0,4]/%x[0,1]/%x[1,4]
U33:%x[0,1]/%x[1,4]/%x[2,4]
U34:%x[-1,4]/%x[0,0]/%x[0,1]/%x[1,4]
B
"""

# Where characters are units, a word is several of them: from and to these units, besides
WIDE = ((-2, 0), (-3, 0), (-4, 0), (1, 2), (1, 3), (1, 4), (1, 5), (-2, 1), (-1, 2), (-3, 1), (0, 3), (-2, 2))


def templates_for(rule: UnitRule) -> TemplateSet:
    """The templates; more of them if the letters of a script are units by themselves."""
    wide = WIDE if any(map(is_word_class, rule.apart)) else ()
    lines = ["".join([f"U{40 + k}:", *(f"%x[{n},0]" for n in range(a, b + 1))]) for k, (a, b) in enumerate(wide)]
    return parse("".join(line + "\n" for line in lines) + TEMPLATES)


def learn_marks(
    split: SplitText, reader: UnitReader, progress: Progress | None = None, *, passes: int | None = None, seed: int = 1
) -> ChainModel:
    """Train the model that predicts what ends after each unit, on a text in several layouts."""
    learner = Mira(nbest=3, aggressiveness=0.02)
    tagger = Tagger(
        template=templates_for(reader.rule), learner=learner, passes=passes or _PASSES, seed=seed, ends=False
    )
    return trained_chain(marked_corpus(several_layouts(split, seed), reader), tagger, progress)


def marked_corpus(split: SplitText, reader: UnitReader) -> Corpus:
    """The units of a text with what ends after them, in short sequences, so that learners look at many of them."""
    read = reader.read(split.text)
    marks = np.full(len(split.text) + 1, INSIDE, np.int32)
    marks[split.end] = TOKEN
    marks[split.end[split.sentence[1:] - 1]] = SENTENCE
    size = np.diff(read.corpus.offset)
    pieces = np.maximum(1, np.rint(size / _SEQUENCE)).astype(np.int64)
    number = np.arange(1, pieces.sum() + 1) - np.repeat(np.cumsum(pieces) - pieces, pieces)
    ends = np.repeat(read.corpus.offset[:-1], pieces) + np.repeat(size, pieces) * number // np.repeat(pieces, pieces)
    labels = column_of_types(marks[read.units.end], LABELS)
    return replace(read.corpus, offset=np.append(0, ends), labels=labels)


logger = logging.getLogger(__name__)

MARKS, WORDS = "marks", "words"  # the two models


class _Stored(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The metadata: everything in the file but arrays."""

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
    multiword: MultiwordTokens

    def __init__(self, *, passes: int | None = None, seed: int = 1) -> None:
        self.passes, self.seed = passes, seed

    def fit(self, treebank: Treebank, dev: Treebank | None = None, *, progress: Progress | None = None) -> Self:
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
        """Make the models small. Lose at most `most_loss` points in the accuracy of units on development data; without
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
        made.multiword = MultiwordTokens.from_stored(stored.multiword, words, source)
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
