"""The words of a language model as numbers; <unk>, <s> and </s> come first."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from palmette.data.corpus import Column
from palmette.data.formats.sentences import Sentences
from palmette.errors import DataError
from palmette.kernels.lm.score import UNKNOWN

RESERVED = ("<unk>", "<s>", "</s>")


class Vocabulary:
    """Words and their numbers."""

    def __init__(self, words: Sequence[str]) -> None:
        self.words = list(words)
        self.number = {word: w for w, word in enumerate(self.words)}

    def __len__(self) -> int:
        return len(self.words)

    def of(self, column: Column) -> np.ndarray:
        """The number of each cell, i32[N]; UNKNOWN for words that are not here."""
        return self.of_words(column.types)[column.ids]

    def of_words(self, words: Sequence[str]) -> np.ndarray:
        return np.array([self.number.get(word, UNKNOWN) for word in words] or [UNKNOWN], np.int32)


def vocabulary_of(text: Sentences, min_count: int) -> Vocabulary:
    """The words that occur at least so often, in the order of their first occurrence."""
    counts = np.bincount(text.words.ids, minlength=len(text.words.types)).tolist()
    kept = [word for word, n in zip(text.words.types, counts, strict=True) if n >= min_count and word not in RESERVED]
    return Vocabulary([*RESERVED, *kept])


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
