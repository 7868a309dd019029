"""CoNLL-U files as stretches of one text, to compare files whose tokens differ.

The text is that of the tokens one after another, without the blanks inside of them (Unicode's Zs): two ways to split
a text have the same one. Tokens touch each other, so a token is the stretch between two cuts. Comments, empty nodes and
enhanced dependencies are not read. No compiled code, for the reasons given in `conllu_light`.
"""

from __future__ import annotations

import unicodedata
from dataclasses import dataclass

import numpy as np

from palmette.data.files import FilePath, shown
from palmette.data.formats.conllu_light import (
    CONLLU_FIELDS,
    LightColumn,
    interned,
    is_range_or_empty,
    rows_of_lines,
    wrong_number,
)
from palmette.data.text import PLAIN, TextSpec, check_utf8, read_text
from palmette.data.tree_checks import UNKNOWN, faults, heads_of_cells
from palmette.errors import DataError

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
    found = _Reader(source)
    for line, cells in rows_of_lines(content.decode("utf-8-sig"), source):
        found.row(line, cells)
    found.end_sentence(None)
    return found.made()


class _Reader:
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
            _heads(columns["head"], sentence, line, self.source),
        )  # fmt: skip


def _heads(cells: LightColumn, sentence: np.ndarray, line: np.ndarray, source: str) -> np.ndarray | None:
    numbers = heads_of_cells(cells.types)
    if (numbers == UNKNOWN).all():
        return None
    heads: np.ndarray = numbers[cells.ids] if cells.types else np.zeros(0, np.int32)
    for fault in faults(heads, sentence):
        raise fault.error(0, source, int(line[fault.token]), hint="scores compare trees; correct this one first")
    return heads
