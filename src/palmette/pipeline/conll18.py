"""The metrics of the CoNLL 2018 shared task between two CoNLL-U files whose tokens, words and sentences may differ.

Tokens and sentences are right if they cover the same characters. Words are aligned: those that are tokens by the
characters that they cover, and those of multi-word tokens, in every stretch of text that such tokens of either side
cover, by the longest common subsequence of their forms, whatever their case. All other metrics count aligned words
whose annotation agrees, over all words of each side:

| metric | what agrees | of |
|---|---|---|
| UPOS, XPOS | the tag | words |
| UFeats | the features whose names are universal, in any order | words |
| AllTags | UPOS, XPOS and UFeats | words |
| Lemmas | the lemma; anything if gold's is `_` | words |
| UAS, LAS | the head; and the relation without its subtype | words |
| CLAS | as LAS | words with a content relation |
| MLAS | as LAS, UPOS, UFeats, and those and the relations of all function words below | words with a content relation |
| BLEX | as LAS, and the lemma | words with a content relation |

A metric is not measured, and its shares are None, if gold has none of its columns (every cell is `_`), or lacks one
that the system has, so that nothing could be right. If the system has no heads although gold has some, the last five
are left out. Only NumPy, no compiled code.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

import msgspec
import numpy as np

from palmette.data.files import FilePath, shown
from palmette.data.formats.conllu import parse_treebank, treebank_bytes
from palmette.data.formats.conllu_light import (
    CONLLU_FIELDS,
    UNKNOWN,
    LightColumn,
    faults,
    heads_of_cells,
    interned,
    is_range_or_empty,
    rows_of_lines,
    wrong_number,
)
from palmette.data.stream import map_in_order
from palmette.data.text import PLAIN, TextSpec, check_utf8, read_text
from palmette.data.treebank import NOTHING, Treebank
from palmette.errors import DataError, counted
from palmette.evaluation.attachment import CONTENT, universal
from palmette.evaluation.record import Cell, Main, Part, Scores, Strong
from palmette.pipeline.model import ANNOTATIONS, PipelineModel, annotated, words_only
from palmette.pipeline.run import make_job, parts_of_text, written
from palmette.pipeline.split_text import gold_split

# CoNLL-U files as stretches of one text, to compare files whose tokens differ.
#
# The text is that of the tokens one after another, without the blanks inside of them (Unicode's Zs): two ways to split
# a text have the same one. Tokens touch each other, so a token is the stretch between two cuts. Comments, empty nodes
# and enhanced dependencies are not read. No compiled code, for the reasons given in `conllu_light`.

CELLS = ("form", "lemma", "upos", "xpos", "feats", "head", "deprel")
_NUMBERS = [CONLLU_FIELDS.index(name) for name in CELLS]
_BLANKS = dict.fromkeys(c for c in range(0x3001) if unicodedata.category(chr(c)) == "Zs")


@dataclass
class Spans:
    """The tokens, words and sentences of a file."""

    source: str
    text: str  # of all tokens, without blanks
    cut: np.ndarray  # i64[T+1]  where tokens begin and end in `text`
    token_line: np.ndarray  # i64[T]
    token: np.ndarray  # i64[N]  the token of each word
    part: np.ndarray  # bool[N]  whether that token has a line of its own, a range such as 3-4
    line: np.ndarray  # i64[N]  of each word
    sentence: np.ndarray  # i64[S+1]  words of each sentence
    columns: dict[str, LightColumn]  # CELLS of N words; forms without blanks
    heads: np.ndarray | None  # i32[N]  checked: every sentence is a tree; None: no word of the file has a head

    @property
    def sentence_cut(self) -> np.ndarray:
        """Where sentences begin and end in `text`, i64[S+1]."""
        return np.append(self.cut[self.token[self.sentence[:-1]]], self.cut[-1])


def read_spans(data: bytes | FilePath, spec: TextSpec = PLAIN, name: str = "") -> Spans:
    """A file, or its bytes; `name`: what messages call it."""
    source = name or ("<bytes>" if isinstance(data, bytes) else shown(data))
    content = data if isinstance(data, bytes) else read_text(data, spec)
    check_utf8(content, source)
    found = _SpanReader(source)
    for line, cells in rows_of_lines(content.decode("utf-8-sig"), source):
        found.row(line, cells)
    found.end_sentence(None)
    return found.made()


class _SpanReader:
    """Takes the rows of a file in their order."""

    def __init__(self, source: str) -> None:
        self.source = source
        self.surface: list[str] = []  # the forms of tokens
        self.token_lines: list[int] = []
        self.words: list[list[str]] = []
        self.tokens: list[int] = []
        self.parts: list[bool] = []
        self.lines: list[int] = []
        self.sentences = [0]
        self.last_part = 0  # the number of the last word of the range that was read last

    def row(self, line: int, cells: list[str]) -> None:
        if not cells:
            return self.end_sentence(line)
        expected = len(self.words) - self.sentences[-1] + 1
        if is_range_or_empty(cells[0]):
            if "-" in cells[0]:
                self._range(cells, expected, line)
            return None
        if cells[0] != str(expected):
            raise wrong_number(cells[0], expected, self.source, line)
        if expected > self.last_part:
            self._token(cells[1], line)
        self.words.append(cells)
        self.tokens.append(len(self.surface) - 1)
        self.parts.append(expected <= self.last_part)
        self.lines.append(line)
        return None

    def _range(self, cells: list[str], expected: int, line: int) -> None:
        first, last = (int(part[:9]) for part in cells[0].split("-"))
        if first != expected or last < first or first <= self.last_part:
            raise DataError(
                f"the multi-word token {cells[0][:30]!r} where word {expected} is expected",
                file=self.source, line=line,
                hint="the line of a multi-word token has the numbers of its first and last word and comes before them",
            )  # fmt: skip
        self._token(cells[1], line)
        self.last_part = last

    def _token(self, form: str, line: int) -> None:
        bare = form.translate(_BLANKS)
        if not bare:
            raise DataError(f"the form {form!r} is only blanks", file=self.source, line=line)
        self.surface.append(bare)
        self.token_lines.append(line)

    def end_sentence(self, line: int | None) -> None:
        if len(self.words) < self.last_part + self.sentences[-1]:
            raise DataError("the sentence ends inside a multi-word token", file=self.source, line=line)
        self.last_part = 0
        if len(self.words) > self.sentences[-1]:
            self.sentences.append(len(self.words))

    def made(self) -> Spans:
        columns = {name: interned(row[k] for row in self.words) for name, k in zip(CELLS, _NUMBERS, strict=True)}
        columns["form"].types = [form.translate(_BLANKS) for form in columns["form"].types]
        sentence, line = np.array(self.sentences, np.int64), np.array(self.lines, np.int64)
        return Spans(
            self.source, "".join(self.surface), np.cumsum([0, *map(len, self.surface)]), np.array(self.token_lines),
            np.array(self.tokens, np.int64), np.array(self.parts, np.bool_), line, sentence, columns,
            _heads_of_words(columns["head"], sentence, line, self.source),
        )  # fmt: skip


def _heads_of_words(cells: LightColumn, sentence: np.ndarray, line: np.ndarray, source: str) -> np.ndarray | None:
    numbers = heads_of_cells(cells.types)
    if (numbers == UNKNOWN).all():
        return None
    heads: np.ndarray = numbers[cells.ids] if cells.types else np.zeros(0, np.int32)
    for fault in faults(heads, sentence):
        raise fault.error(0, source, int(line[fault.token]), hint="scores compare trees; correct this one first")
    return heads


FUNCTION = frozenset(("aux", "cop", "mark", "det", "clf", "case", "cc"))
UNIVERSAL_FEATURES = frozenset(
    ("PronType", "NumType", "Poss", "Reflex", "Foreign", "Abbr", "Gender", "Animacy", "Number", "Case", "Definite",
     "Degree", "VerbForm", "Mood", "Tense", "Aspect", "Voice", "Evident", "Polarity", "Person", "Polite")
)  # fmt: skip
COLUMNS = {
    "UPOS": ("upos",), "XPOS": ("xpos",), "UFeats": ("feats",), "AllTags": ("upos", "xpos", "feats"),
    "Lemmas": ("lemma",), "CLAS": ("deprel",), "MLAS": ("upos", "feats"), "BLEX": ("lemma",),
}  # fmt: skip
"""The columns of a metric in addition to heads."""
TREE_METRICS = ("UAS", "LAS", "CLAS", "MLAS", "BLEX")
_NO_HEAD, _NOT_ALIGNED = -1, -2
_SHOWN = 20  # characters of each text in the message if they differ


class Score(msgspec.Struct, frozen=True):
    """Counts of one metric; the shares that follow from them are fractions of 1, None if nothing is measured."""

    correct: int
    gold_total: int
    system_total: int
    aligned_total: int | None = None  # aligned words (with a content relation in gold); None for spans and words
    measured: bool = True  # False: gold does not have the columns, or not all that the system has

    @property
    def precision(self) -> float | None:
        return self._share(self.correct, self.system_total)

    @property
    def recall(self) -> float | None:
        return self._share(self.correct, self.gold_total)

    @property
    def f1(self) -> float | None:
        return self._share(2 * self.correct, self.gold_total + self.system_total)

    @property
    def aligned_accuracy(self) -> float | None:
        """The share of aligned words that are right."""
        return None if self.aligned_total is None else self._share(self.correct, self.aligned_total)

    def _share(self, part: int, whole: int) -> float | None:
        if not self.measured:
            return None
        return part / whole if whole else 0.0

    def to_dict(self) -> dict[str, Any]:
        """The shares and the counts; without anything measured, None for all but the sizes."""
        shares = {name: getattr(self, name) for name in ("precision", "recall", "f1", "aligned_accuracy")}
        return {
            **shares, "correct": self.correct if self.measured else None, "gold_total": self.gold_total,
            "system_total": self.system_total, "aligned_total": self.aligned_total,
        }  # fmt: skip


class PipelineScores(Scores, frozen=True):
    """Scores by the official scorer's names, in its order: Tokens, Sentences, Words, UPOS, XPOS, UFeats, AllTags,
    Lemmas, UAS, LAS, CLAS, MLAS, BLEX; `scores["LAS"].f1` is the usual figure."""

    metrics: dict[str, Score]

    def __getitem__(self, metric: str) -> Score:
        return self.metrics[metric]

    def __iter__(self) -> Iterator[str]:
        return iter(self.metrics)

    def main(self) -> Main:
        """LAS, or the last metric that was measured where the pipeline finds no trees."""
        measured = {name: score.f1 for name, score in self.metrics.items() if score.f1 is not None}
        name = "LAS" if "LAS" in measured else list(measured)[-1]
        return Main(name, measured[name])

    def headline(self) -> str:
        return (
            f"{counted(self['Words'].gold_total, 'word')}, {counted(self['Sentences'].gold_total, 'sentence')} in gold"
        )

    def parts(self) -> Iterator[Part]:
        """A row for each metric; `aligned` is the share of aligned words that are right."""
        rows: list[tuple[Cell, ...]] = []
        for name, score in self.metrics.items():
            aligned = "" if score.aligned_total is None else score.aligned_accuracy
            right = score.correct if score.measured else None
            sizes = score.gold_total, score.system_total, right
            rows.append((name, score.precision, score.recall, Strong(score.f1), aligned, *sizes))
        yield Part("", ("", "precision", "recall", "F1", "aligned", "gold", "system", "right"), rows)

    def to_dict(self) -> dict[str, Any]:
        return {name: score.to_dict() for name, score in self.metrics.items()}

    __repr__ = msgspec.Struct.__repr__


def evaluate(gold: bytes | FilePath | Spans, system: bytes | FilePath | Spans) -> PipelineScores:
    """All metrics of a system's CoNLL-U file against gold's: paths, the bytes of files, or what `read_spans` gave.

    DataError, which says where, if a file is damaged or if their texts differ in more than white space."""
    here = gold if isinstance(gold, Spans) else read_spans(gold, name="<gold>" if isinstance(gold, bytes) else "")
    there = system if isinstance(system, Spans) else read_spans(system, name="<system>" * isinstance(system, bytes))
    if not here.token.size:
        raise DataError("no sentence to score", file=here.source)
    _check_same_text(here, there)
    words = _Aligned(here, there)
    return PipelineScores(
        {
            "Tokens": _spans(here.cut, there.cut),
            "Sentences": _spans(here.sentence_cut, there.sentence_cut),
            "Words": Score(words.gold.size, here.token.size, there.token.size),
            **_tags(words),
            **_tree_scores(words),
        }
    )


def _check_same_text(gold: Spans, system: Spans) -> None:
    if gold.text == system.text:
        return
    n = min(len(gold.text), len(system.text))
    here, there = (np.frombuffer(side.text[:n].encode("utf-32-le"), np.uint32) for side in (gold, system))
    different = np.flatnonzero(here != there)
    at = int(different[0]) if different.size else n
    where = f"{_place(gold, at)} in gold, {_place(system, at)} in the system's file {system.source}"
    line = gold.token_line[min(int(np.searchsorted(gold.cut, at, side="right")), gold.token_line.size) - 1]
    raise DataError(
        f"the texts differ after {at:,} characters: {where}", file=gold.source, line=int(line),
        hint="both files must have the same text, except for white space: run the system on the text of the gold file",
    )  # fmt: skip


def _place(side: Spans, at: int) -> str:
    if at >= len(side.text):
        return "the end"
    token = int(np.searchsorted(side.cut, at, side="right")) - 1
    return f"{side.text[at : at + _SHOWN]!r} (line {side.token_line[token]})"


def _spans(gold: np.ndarray, system: np.ndarray) -> Score:
    """Stretches between cuts: right if both ends are neighbouring cuts of both sides."""
    _, i, j = np.intersect1d(gold, system, assume_unique=True, return_indices=True)
    right = (np.diff(i) == 1) & (np.diff(j) == 1)
    return Score(int(right.sum()), gold.size - 1, system.size - 1)


class _Pair(NamedTuple):
    """Something of every word of both sides, as numbers that mean the same on both."""

    gold: np.ndarray
    system: np.ndarray


class _Aligned:
    """Both sides and the pairs of aligned words."""

    def __init__(self, gold: Spans, system: Spans) -> None:
        self.sides = (gold, system)
        self.gold, self.system = aligned_words(gold, system)

    def numbers(self, column: str, value: Callable[[str], object] = str) -> _Pair:
        """What a function makes of the cells of a column."""
        known: dict[object, int] = {}
        made = []
        for side in self.sides:
            cells = side.columns[column]
            of_type = [known.setdefault(value(cell), len(known)) for cell in cells.types]
            made.append(np.array(of_type, np.int64)[cells.ids])
        return _Pair(*made)

    def flags(self, column: str, value: Callable[[str], bool]) -> _Pair:
        """Whether a function is true of the cells of a column."""
        columns = (side.columns[column] for side in self.sides)
        return _Pair(*(np.array(list(map(value, cells.types)), np.bool_)[cells.ids] for cells in columns))

    def agree(self, pair: _Pair) -> np.ndarray:
        """bool[aligned]"""
        same: np.ndarray = pair.gold[self.gold] == pair.system[self.system]
        return same

    def score(self, right: np.ndarray, measured: bool = True) -> Score:
        return Score(int(right.sum()), self.sides[0].token.size, self.sides[1].token.size, self.gold.size, measured)

    def measures(self, metric: str) -> bool:
        """Whether gold has a column of a metric, and all those that the system has."""
        gold, system = ({c for c in COLUMNS[metric] if side.columns[c].types != [NOTHING]} for side in self.sides)
        return bool(gold) and gold >= system


def _universal_features(cell: str) -> tuple[str, ...]:
    return tuple(sorted(f for f in cell.split("|") if f.partition("=")[0] in UNIVERSAL_FEATURES))


def _tags(words: _Aligned) -> dict[str, Score]:
    right = {"UPOS": words.agree(words.numbers("upos")), "XPOS": words.agree(words.numbers("xpos"))}
    right["UFeats"] = words.agree(words.numbers("feats", _universal_features))
    right["AllTags"] = right["UPOS"] & right["XPOS"] & right["UFeats"]
    right["Lemmas"] = _lemmas(words)
    return {name: words.score(found, words.measures(name)) for name, found in right.items()}


def _lemmas(words: _Aligned) -> np.ndarray:
    """bool[aligned]: whether the lemma is right, which any is where gold has none."""
    without = words.flags("lemma", lambda lemma: lemma == NOTHING).gold
    right: np.ndarray = words.agree(words.numbers("lemma")) | without[words.gold]
    return right


def _tree_scores(words: _Aligned) -> dict[str, Score]:
    """Scores of trees, which are not measured if gold has none, and left out if only the system has none."""
    gold, system = words.sides
    if gold.heads is None:
        return dict.fromkeys(TREE_METRICS, words.score(np.zeros(0, np.bool_), measured=False))
    return _trees(words) if system.heads is not None else {}


def _trees(words: _Aligned) -> dict[str, Score]:
    heads, relations = _heads(words), words.numbers("deprel", universal)
    tags, features = words.numbers("upos"), words.numbers("feats", _universal_features)
    uas = words.agree(heads)
    las = uas & words.agree(relations)
    mlas = las & words.agree(tags) & words.agree(features) & _same_children(words, (relations, tags, features))
    content = words.flags("deprel", lambda cell: universal(cell) in CONTENT)
    gold, system, here = int(content.gold.sum()), int(content.system.sum()), content.gold[words.gold]
    of_content = {"CLAS": las, "MLAS": mlas, "BLEX": las & _lemmas(words)}
    return {
        "UAS": words.score(uas),
        "LAS": words.score(las),
        **{
            name: Score(int((right & here).sum()), gold, system, int(here.sum()), words.measures(name))
            for name, right in of_content.items()
        },
    }


def _parents(side: Spans) -> np.ndarray:
    """The number of each word's head in the file, or _NO_HEAD."""
    assert side.heads is not None
    start = np.repeat(side.sentence[:-1], np.diff(side.sentence))
    return np.where(side.heads > 0, start + side.heads - 1, _NO_HEAD)


def _heads(words: _Aligned) -> _Pair:
    """Heads as numbers of gold's words."""
    gold, system = map(_parents, words.sides)
    return _Pair(gold, np.where(system == _NO_HEAD, _NO_HEAD, _in_gold(words)[system]))


def _in_gold(words: _Aligned) -> np.ndarray:
    """The word of gold that each word of the system is aligned to, or _NOT_ALIGNED."""
    number = np.full(words.sides[1].token.size, _NOT_ALIGNED, np.int64)
    number[words.system] = words.gold
    return number


def _same_children(words: _Aligned, annotations: tuple[_Pair, ...]) -> np.ndarray:
    """bool[aligned]: whether both have the same function words below them, in one order and annotated alike."""
    function = words.flags("deprel", lambda cell: universal(cell) in FUNCTION)
    itself = _Pair(np.arange(words.sides[0].token.size), _in_gold(words))
    lists = []
    for k, side in enumerate(words.sides):
        parent = np.where(function[k], _parents(side), _NO_HEAD)
        below = np.argsort(parent, kind="stable")[np.count_nonzero(parent == _NO_HEAD) :]  # by parent, then by place
        number = np.bincount(parent[below], minlength=side.token.size)
        lists.append((below, np.cumsum(number) - number, number))
    (gold_below, gold_first, gold_number), (below, first, number) = lists
    n = gold_number[words.gold]
    same = n == number[words.system]
    pairs = np.flatnonzero(same & (n > 0))
    which = np.repeat(pairs, n[pairs])  # the aligned pair of each child
    place = np.arange(which.size) - np.repeat(np.cumsum(n[pairs]) - n[pairs], n[pairs])
    here, there = gold_below[gold_first[words.gold[which]] + place], below[first[words.system[which]] + place]
    for pair in (itself, *annotations):
        same[which[pair.gold[here] != pair.system[there]]] = False
    return same


# Alignment. Words that are tokens are the same if they cover the same characters. The words of a multi-word token cover
# nothing by themselves; where either side has such tokens, all words of the stretch that they cover are aligned by the
# longest common subsequence of their forms. A stretch ends where no multi-word token of either side sticks out.


class _WordLists:
    """The words of one side as plain lists, which are quicker to walk along than arrays."""

    def __init__(self, side: Spans, forms: list[int]) -> None:
        self.n = side.token.size
        self.start: list[int] = side.cut[side.token].tolist()
        self.end: list[int] = side.cut[side.token + 1].tolist()
        self.part: list[bool] = side.part.tolist()
        self.forms = forms

    def ends_within(self, i: int, end: int) -> bool:
        """Whether word i belongs to a stretch that goes up to `end`: a part of a token by its first character."""
        return i < self.n and (self.start[i] < end if self.part[i] else self.end[i] <= end)


def aligned_words(gold: Spans, system: Spans) -> tuple[np.ndarray, np.ndarray]:
    """The numbers of aligned words, i64[A] of gold and i64[A] of the system; both rise."""
    known: dict[str, int] = {}
    forms = []
    for side in (gold, system):
        cells = side.columns["form"]
        types = np.array([known.setdefault(form.lower(), len(known)) for form in cells.types], np.int64)
        forms.append(types[cells.ids].tolist() if types.size else [])
    pairs = _walk(_WordLists(gold, forms[0]), _WordLists(system, forms[1]))
    return np.array([g for g, _ in pairs], np.int64), np.array([s for _, s in pairs], np.int64)


def _walk(gold: _WordLists, system: _WordLists) -> list[tuple[int, int]]:
    """Both sides from left to right: what begins first is passed first."""
    pairs: list[tuple[int, int]] = []
    g = s = 0
    while g < gold.n and s < system.n:
        if gold.part[g] or system.part[s]:
            first_g, first_s, g, s = _stretch(gold, system, g, s)
            pairs += _common(gold.forms[first_g:g], system.forms[first_s:s], first_g, first_s)
        elif gold.start[g] == system.start[s] and gold.end[g] == system.end[s]:
            pairs.append((g, s))
            g += 1
            s += 1
        elif gold.start[g] <= system.start[s]:
            g += 1
        else:
            s += 1
    return pairs


def _stretch(gold: _WordLists, system: _WordLists, g: int, s: int) -> tuple[int, int, int, int]:
    """The words of the stretch that a part of a token begins: first of gold and system, and those after the last.

    As in the official scorer, of the plain words of the other side that begin before the token only one is passed: if
    more of them are left, they take part in the alignment."""
    end = gold.end[g] if gold.part[g] else system.end[s]
    if gold.part[g]:
        s += not system.part[s] and system.start[s] < gold.start[g]
    else:
        g += not gold.part[g] and gold.start[g] < system.start[s]
    first_g, first_s = g, s
    while gold.ends_within(g, end) or system.ends_within(s, end):
        if g < gold.n and (s >= system.n or gold.start[g] <= system.start[s]):
            end = max(end, gold.end[g]) if gold.part[g] else end
            g += 1
        else:
            end = max(end, system.end[s]) if system.part[s] else end
            s += 1
    return first_g, first_s, g, s


def _common(gold: list[int], system: list[int], first_g: int, first_s: int) -> list[tuple[int, int]]:
    """The longest common subsequence; of several the one whose words of the system are the earliest."""
    if gold == system:
        return [(first_g + k, first_s + k) for k in range(len(gold))]
    longest = _longest(np.array(gold, np.int64), np.array(system, np.int64))
    pairs = []
    g = s = 0
    while g < len(gold) and s < len(system):
        if gold[g] == system[s]:
            pairs.append((first_g + g, first_s + s))
            g += 1
            s += 1
        elif longest[g, s] == longest[g + 1, s]:
            g += 1
        else:
            s += 1
    return pairs


def _longest(gold: np.ndarray, system: np.ndarray) -> np.ndarray:
    """Entry [g, s]: the length of the longest common subsequence of what begins at g and at s."""
    table = np.zeros((gold.size + 1, system.size + 1), np.int32)
    for g in range(gold.size - 1, -1, -1):
        best = np.maximum(table[g + 1, :-1], (gold[g] == system) * (1 + table[g + 1, 1:]))
        table[g, :-1] = np.maximum.accumulate(best[::-1])[::-1]
    return table


# Scores of a pipeline on a gold treebank, from its raw text or from its words.


def evaluate_pipeline(
    model: PipelineModel, gold: FilePath | Treebank, input: str = "text", beam: int | None = None, threads: int = 1,
    spec: TextSpec = PLAIN,
) -> PipelineScores:  # fmt: skip
    """The metrics of the CoNLL 2018 shared task. input: text, or gold-tokens."""
    if isinstance(gold, Treebank):
        treebank, right = gold, treebank_bytes(gold, fields=())
    else:
        right = read_text(gold, spec)
        treebank = parse_treebank(right, shown(gold), labelled=False)
    if input == "gold-tokens":
        guess = treebank_bytes(_annotated(model, treebank, beam, threads), fields=ANNOTATIONS)
    else:
        job = make_job(model, "text", "conllu", None, beam)
        parts = map_in_order(job.work, parts_of_text(job, [gold_split(treebank).text]), threads)
        guess = b"".join(data for data, _ in written(job, parts))
    return evaluate(right, guess)


def _annotated(model: PipelineModel, gold: Treebank, beam: int | None, threads: int) -> Treebank:
    """The words of gold with what the pipeline finds, and nothing else. A parser alone reads gold's tags and lemmas."""
    words = words_only(gold)
    if not {"tag", "lemma"} & set(model.names):
        found = annotated(model, gold, ["parse"], beam, threads) if "parse" in model.names else words
        return words.with_trees(found.heads, found.relations)
    return annotated(model, words, beam=beam, threads=threads)
