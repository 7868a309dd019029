"""A text with its sentences, tokens and words, each token with its place: `SplitText`.

White space (`white_space.py`) separates tokens and belongs to none, except inside a token of several written words
(Vietnamese), whose form has one blank in its place. All other characters of the text belong to exactly one token.
`gold_split` reads the text of a treebank; `conllu_text.py` writes one as CoNLL-U.
"""

from __future__ import annotations

import logging

import msgspec
import numpy as np

from palmette.data.corpus import Column, Corpus, column_of_strings
from palmette.data.treebank import FIELDS, Treebank, no_cells, without_trees
from palmette.errors import DataError, counted
from palmette.pipeline.gold_tokens import GoldSentence, gold_sentences
from palmette.pipeline.white_space import one_blank

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
    """The text of a treebank as its comments and its MISC field tell it, with its sentences, tokens and words.

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
