"""The surface tokens of a treebank with the white space around them, from its comments, ranges and MISC field."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import pairwise

import msgspec

from palmette.data.formats.conllu_light import CONLLU_FIELDS, FORM
from palmette.data.treebank import Treebank
from palmette.errors import DataError
from palmette.kernels.io.columns import BLANK_LINE, DROPPED_LINE, TOKEN_LINE
from palmette.pipeline.white_space import one_blank, unescaped, without_white

_MISC = CONLLU_FIELDS.index("misc")
_TEXT = re.compile(r"#\s*text\s*=\s*(.*)")
_PARAGRAPH = re.compile(r"#\s*(?:newpar|newdoc)(?:\s|$)")


class GoldToken(msgspec.Struct):
    """A surface token as the text has it. `after`: the white space after it, None if one blank or unknown."""

    text: str
    n_words: int
    before: str | None = None  # SpacesBefore
    after: str | None = None
    exact: bool = False  # whether SpacesAfter gave the white space after it
    in_token: str | None = None  # SpacesInToken


class GoldSentence(msgspec.Struct):
    """The tokens of a sentence."""

    tokens: list[GoldToken]
    paragraph: bool  # whether it begins one
    has_text: bool
    text_fits: bool
    line: int | None  # of its first word


def gold_sentences(treebank: Treebank) -> list[GoldSentence]:
    """The sentences of a treebank. One that was made in Python has only its words."""
    lines = treebank.corpus.lines
    if lines is None:
        cells = treebank.forms.cells()
        words = [[GoldToken(form, 1) for form in cells[a:b]] for a, b in pairwise(treebank.offset.tolist())]
        return [GoldSentence(tokens, False, False, False, None) for tokens in words]
    return list(_Reader(treebank))


class _Reader:
    """Goes through the lines of a treebank."""

    def __init__(self, treebank: Treebank) -> None:
        self.source = treebank.corpus.source
        assert treebank.corpus.lines is not None
        self.lines = treebank.corpus.lines
        self.paragraph = False
        self._begin()

    def _begin(self) -> None:
        self.text: str | None = None
        self.tokens: list[GoldToken] = []
        self.n_words = self.until = 0
        self.line = 0

    def __iter__(self) -> Iterator[GoldSentence]:
        raw, first = self.lines.data.tobytes(), self.lines.first_line
        bounds = (array.tolist() for array in (self.lines.start, self.lines.end, self.lines.kind))
        for number, (a, b, kind) in enumerate(zip(*bounds, strict=True), first):
            if kind == DROPPED_LINE:
                continue
            if kind == BLANK_LINE:
                yield from self._finished()
                continue
            line = raw[a:b].decode()
            if line.startswith("#"):
                self._comment(line)
            else:
                self._word(line.split("\t"), kind == TOKEN_LINE, number)
        yield from self._finished()

    def _comment(self, line: str) -> None:
        if found := _TEXT.fullmatch(line):
            self.text = found[1].strip()
        elif _PARAGRAPH.match(line):
            self.paragraph = True

    def _word(self, cells: list[str], is_word: bool, number: int) -> None:
        """A word, unless a range has spoken for it, or the range itself; not an empty node."""
        if not cells[FORM].strip():
            raise DataError(
                f"the form {cells[FORM]!r} is white space", file=self.source, line=number, hint="leave it out"
            )
        if is_word:
            self.line = self.line or number
            self.n_words += 1
            if self.n_words > self.until:
                self.tokens.append(_token(cells, 1))
        elif "-" in cells[0]:
            first, last = map(int, cells[0].split("-"))
            if first != max(self.n_words, self.until) + 1 or last < first:
                raise DataError(
                    f"the multi-word token {cells[0]} is not before its first word, or overlaps another one",
                    file=self.source, line=number,
                    hint="the line 3-4 stands before word 3, which no other such line covers",
                )  # fmt: skip
            self.until = last
            self.tokens.append(_token(cells, last - first + 1))

    def _finished(self) -> Iterator[GoldSentence]:
        if self.n_words:
            if self.until > self.n_words:
                raise DataError(
                    f"a multi-word token ends at word {self.until}, the sentence at word {self.n_words}",
                    file=self.source, line=self.line, hint="correct the line with the range, such as 3-4",
                )  # fmt: skip
            fits = self.text is not None and _fit(self.tokens, self.text)
            if not fits:
                for token in self.tokens:
                    token.text = _exact(token, token.text)
            yield GoldSentence(self.tokens, self.paragraph, self.text is not None, fits, self.line)
            self.paragraph = False
        self._begin()


def _token(cells: list[str], n_words: int) -> GoldToken:
    made = GoldToken(one_blank(cells[FORM]).strip(), n_words)
    if cells[_MISC] == "_":
        return made
    for entry in cells[_MISC].split("|"):
        name, _, value = entry.partition("=")
        if name == "SpacesAfter":
            made.after, made.exact = _white(value), True
        elif name == "SpaceAfter" and value == "No" and not made.exact:
            made.after = ""
        elif name == "SpacesBefore":
            made.before = _white(value)
        elif name == "SpacesInToken":
            made.in_token = unescaped(value)
    return made


def _white(value: str) -> str:
    """White space from MISC; other text, which UDPipe can put there, is none."""
    text = unescaped(value)
    return text if not text or text.isspace() else " " if any(map(str.isspace, text)) else ""


def _exact(token: GoldToken, found: str) -> str:
    """The text of a token: SpacesInToken if that is the same but for white space."""
    given = token.in_token
    return given.strip() if given and without_white(given) == without_white(found) else found


def _fit(tokens: list[GoldToken], text: str) -> bool:
    """Whether the text spells the tokens. If so, they get their text and the white space after them from it."""
    ends = []
    at = 0
    for token in tokens:
        start = at
        while start < len(text) and text[start].isspace():
            start += 1
        at = _end_of(token.text, text, start)
        if at < 0:
            return False
        ends.append((start, at))
    if text[at:].strip():
        return False
    starts = [a for a, _ in ends]
    for token, (a, b), following in zip(tokens, ends, [*starts[1:], None], strict=True):
        token.text = _exact(token, text[a:b])
        if following is not None and not token.exact:
            token.after = text[b:following]
    return True


def _end_of(form: str, text: str, at: int) -> int:
    """Where a form that starts at a place of the text ends there, whatever the white space; -1 if it is not there."""
    if text.startswith(form, at):
        return at + len(form)
    for character in form:
        if character.isspace():
            continue
        while at < len(text) and text[at].isspace():
            at += 1
        if at == len(text) or text[at] != character:
            return -1
        at += 1
    return at
