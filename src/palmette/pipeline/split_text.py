"""A text with its sentences, tokens and words, each token with its place: `SplitText`.

White space separates tokens and belongs to none, except inside a token of several written words (Vietnamese), whose
form has one blank in its place. All other characters of the text belong to exactly one token. `gold_split` reads the
text of a treebank; `output.py` writes one as CoNLL-U.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Iterator
from itertools import pairwise

import msgspec
import numpy as np

from palmette.data.corpus import Column, Corpus, column_of_strings
from palmette.data.formats.conllu_light import CONLLU_FIELDS, FORM
from palmette.data.treebank import FIELDS, Treebank, no_cells, without_trees
from palmette.errors import DataError, counted
from palmette.kernels.io.columns import BLANK_LINE, DROPPED_LINE, TOKEN_LINE

# White space between tokens, and how the MISC field of CoNLL-U writes it.
#
# White space is what `str.isspace` says, as for the validator of Universal Dependencies: blanks, TAB, line ends, no-
# break and other Unicode spaces. UDPipe writes it in MISC as `SpacesAfter`, `SpacesBefore` and `SpacesInToken`, with
# the escapes \s \t \r \n \p (a bar) and \\. We add \uXXXX for all other white space, which would not be valid there as
# it is.

WHITE = re.compile(r"\s+")
_ESCAPES = {" ": r"\s", "\t": r"\t", "\r": r"\r", "\n": r"\n", "|": r"\p", "\\": r"\\"}
_PLAIN = {escape[1]: character for character, escape in _ESCAPES.items()}
_ESCAPED = re.compile(r"\\(?:u([0-9a-fA-F]{4})|(.))", re.DOTALL)
_SPECIAL = re.compile(r"[\s|\\]")


def one_blank(token: str) -> str:
    """The form of a token that is one word: its text, with one blank where it has white space."""
    return WHITE.sub(" ", token)


def without_white(text: str) -> str:
    return WHITE.sub("", text)


def escaped(text: str) -> str:
    """A text as a value in MISC."""
    return _SPECIAL.sub(lambda found: _ESCAPES.get(found[0]) or f"\\u{ord(found[0]):04x}", text)


def unescaped(value: str) -> str:
    """The text of a value in MISC; unknown escapes stay as they are."""
    return _ESCAPED.sub(lambda found: chr(int(found[1], 16)) if found[1] else _PLAIN.get(found[2], found[0]), value)


# The surface tokens of a treebank with the white space around them, from its comments, ranges and MISC field.

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
    return list(_GoldReader(treebank))


class _GoldReader:
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


# The text with its tokens

logger = logging.getLogger(__name__)

BETWEEN_PARAGRAPHS = "\n\n"


class SplitText(msgspec.Struct, eq=False):
    """T tokens in S sentences, made of N words. Characters are counted in the text as a str."""

    text: str
    start: np.ndarray  # i64[T]  first character of each token
    end: np.ndarray  # i64[T]
    sentence: np.ndarray  # i64[S+1]  tokens of each sentence
    first_word: np.ndarray  # i64[T+1]  words of each token: one, or the parts of a multi-word token
    forms: Column  # of N words
    paragraph: np.ndarray  # bool[S]  whether a sentence begins a paragraph

    @property
    def n_tokens(self) -> int:
        return self.start.size

    @property
    def n_sentences(self) -> int:
        return self.sentence.size - 1

    @property
    def n_words(self) -> int:
        return int(self.first_word[-1])

    @property
    def offset(self) -> np.ndarray:
        """Words of each sentence, i64[S+1]."""
        return self.first_word[self.sentence]

    def tokens(self) -> list[str]:
        """The tokens as the text has them."""
        return [self.text[a:b] for a, b in zip(self.start.tolist(), self.end.tolist(), strict=True)]

    def between(self) -> list[str]:
        """The white space before the first token, between tokens, and after the last one: T+1 strings."""
        starts, ends = [*self.start.tolist(), len(self.text)], [0, *self.end.tolist()]
        return [self.text[a:b] for a, b in zip(ends, starts, strict=True)]

    def treebank(self) -> Treebank:
        """The words as sentences, with nothing known but their forms."""
        nothing = no_cells(self.n_words)
        columns = [self.forms, *(nothing for _ in FIELDS[1:])]
        return without_trees(Corpus(self.offset, columns, source="the text"))

    def check(self) -> None:
        """DataError if text and tokens do not map to each other."""
        if fault := self._wrong_shape() or self._wrong_text():
            raise DataError(f"sentences, tokens and text do not agree: {fault}")

    def _wrong_shape(self) -> str:
        if not self.start.size == self.end.size == self.first_word.size - 1:
            return "arrays of different lengths"
        bounds = np.stack((self.start, self.end), axis=1).ravel()
        if (np.diff(bounds) < 0).any() or (self.start >= self.end).any():
            return "tokens that are empty or overlap"
        if bounds.size and not (bounds[0] >= 0 and bounds[-1] <= len(self.text)):
            return "tokens outside of the text"
        if not (_is_offset(self.sentence, self.n_tokens) and _is_offset(self.first_word, self.forms.ids.size)):
            return "empty sentences, or tokens without words"
        return "" if self.paragraph.size == self.n_sentences else "not one mark of a paragraph per sentence"

    def _wrong_text(self) -> str:
        between = self.between()
        if any(gap and not gap.isspace() for gap in between):
            return "characters that are in no token"
        if any(t and not between[t] for t in self.sentence[:-1][self.paragraph].tolist()):
            return "a paragraph without white space before it"
        forms, several = self.forms.cells(), (np.diff(self.first_word) > 1).tolist()
        for token, word, parts in zip(self.tokens(), self.first_word.tolist(), several, strict=False):
            if token[0].isspace() or token[-1].isspace():
                return f"the token {token!r}"
            if not parts and one_blank(forms[word]) != one_blank(token):
                return f"the token {token!r} with the word {forms[word]!r}"
        return ""


def _is_offset(offset: np.ndarray, total: int) -> bool:
    """Whether these are the offsets of parts that are not empty."""
    return bool(offset.size and offset[0] == 0 and offset[-1] == total and (np.diff(offset) > 0).all())


def gold_split(treebank: Treebank) -> SplitText:
    """The text of a treebank by its comments and its MISC field, with its sentences, tokens and words.

    The text of a sentence is its `# text`; white space that is given exactly (SpacesAfter, SpacesBefore,
    SpacesInToken) is taken from there. Sentences follow each other with one blank, or without one after SpaceAfter=No;
    `# newpar` and `# newdoc` begin a paragraph, after a blank line. A sentence whose `# text` is missing or does not
    spell its tokens is made of the tokens, with blanks where SpaceAfter=No does not forbid them; that is logged."""
    sentences = gold_sentences(treebank)
    _report(sentences, treebank)
    made = _Assembly()
    for sentence in sentences:
        made.add(sentence)
    return made.split(treebank.forms)


def _report(sentences: list[GoldSentence], treebank: Treebank) -> None:
    without = [s for s in sentences if not s.has_text]
    wrong = [s for s in sentences if s.has_text and not s.text_fits]
    source, total = treebank.corpus.source, counted(len(sentences), "sentence")
    if without:
        logger.warning(
            "%s: %d of %s have no `# text`; their text is made of their words, with blanks except after "
            "SpaceAfter=No. A splitter learns from it what it shows", source, len(without), total,
        )  # fmt: skip
    if wrong:
        logger.warning(
            "%s: the `# text` of %d of %s does not spell their tokens, so their text is made of the words; "
            "the first is before line %d", source, len(wrong), total, wrong[0].line,
        )  # fmt: skip


class _Assembly:
    """A text that grows by sentences."""

    def __init__(self) -> None:
        self.pieces: list[str] = []
        self.length = 0
        self.start: list[int] = []
        self.end: list[int] = []
        self.sentence = [0]
        self.words = [0]
        self.paragraph: list[bool] = []
        self.exact_end = False  # whether SpacesAfter gave it
        self.after: str | None = None  # the white space after the last token; None: one blank

    def add(self, sentence: GoldSentence) -> None:
        begins = sentence.paragraph or not self.paragraph
        for i, token in enumerate(sentence.tokens):
            self._append(self._gap(begins and i == 0) + (token.before or ""))
            self.start.append(self.length)
            self._append(token.text)
            self.end.append(self.length)
            self.words.append(self.words[-1] + token.n_words)
            self.after = token.after
        self.exact_end = sentence.tokens[-1].exact
        self.sentence.append(len(self.start))
        self.paragraph.append(begins)

    def _append(self, piece: str) -> None:
        self.pieces.append(piece)
        self.length += len(piece)

    def _gap(self, begins_paragraph: bool) -> str:
        if not self.start:
            return ""
        if begins_paragraph and not self.exact_end:
            return BETWEEN_PARAGRAPHS
        return " " if self.after is None else self.after

    def split(self, forms: Column) -> SplitText:
        if self.start and self.exact_end:
            self._append(self.after or "")
        return SplitText(
            "".join(self.pieces), np.array(self.start, np.int64), np.array(self.end, np.int64),
            np.array(self.sentence, np.int64), np.array(self.words, np.int64), forms,
            np.array(self.paragraph, np.bool_),
        )  # fmt: skip


def empty_split(text: str = "") -> SplitText:
    """A text of white space only: no sentences."""
    none, zero = np.zeros(0, np.int64), np.zeros(1, np.int64)
    return SplitText(text, none, none, zero, zero, column_of_strings([]), np.zeros(0, np.bool_))
