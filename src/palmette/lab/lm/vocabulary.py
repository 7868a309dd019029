"""The words of a language model as numbers; <unk>, <s> and </s> come first."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from palmette.data.corpus import Column
from palmette.data.formats.sentences import Sentences
from palmette.data.normal_form import in_form
from palmette.errors import DataError
from palmette.kernels.lm.score import UNKNOWN

RESERVED = ("<unk>", "<s>", "</s>")


class Vocabulary:
    """Words and their numbers."""

    def __init__(self, words: Sequence[str], unicode: str) -> None:
        self.words = list(words)
        self.unicode = unicode  # the form of the words
        self.number = {word: w for w, word in enumerate(self.words)}

    def __len__(self) -> int:
        return len(self.words)

    def of(self, column: Column) -> np.ndarray:
        """The number of each cell, i32[N]; UNKNOWN for words that are not here."""
        column = column.in_form(self.unicode)
        return self._numbers(column.types)[column.ids]

    def of_words(self, words: Sequence[str]) -> np.ndarray:
        """The number of each word, i32[words]."""
        return self._numbers(in_form(words, self.unicode))

    def _numbers(self, words: Sequence[str]) -> np.ndarray:
        return np.array([self.number.get(word, UNKNOWN) for word in words] or [UNKNOWN], np.int32)


def vocabulary_of(text: Sentences, min_count: int, unicode: str) -> Vocabulary:
    """The words that occur at least so often, in the order of their first occurrence."""
    words = text.words.in_form(unicode)
    counts = np.bincount(words.ids, minlength=len(words.types)).tolist()
    kept = [word for word, n in zip(words.types, counts, strict=True) if n >= min_count and word not in RESERVED]
    return Vocabulary([*RESERVED, *kept], unicode)


def check_words(text: Sentences) -> None:
    """Raise DataError where a sentence holds <s> or </s>, which stand for its ends. (<unk> is an unknown word.)"""
    for word in RESERVED[1:]:
        if word in text.words.types:
            at = int(np.argmax(text.words.ids == text.words.types.index(word)))
            line = int(text.lines[np.searchsorted(text.offset, at, side="right") - 1]) + 1
            raise DataError(
                f"{word} inside of a sentence", file=text.source, line=line,
                hint="the ends of sentences are set by palmette; take the marks out",
            )  # fmt: skip
