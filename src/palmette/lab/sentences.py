"""Plain sentences: one per line, words separated by white space, no labels. The training data of language models."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from palmette.data.corpus import Column, column_of_strings
from palmette.data.files import FilePath, shown
from palmette.data.text import PLAIN, TextSpec, check_utf8, read_text
from palmette.errors import DataError
from palmette.kernels.io.columns import intern_cells
from palmette.lab.kernels.text import split_words

LOOKED = 1 << 16  # bytes by which columns are recognised
FEWEST = 8  # lines of which that is said

AnySentence = str | Sequence[str]


@dataclass
class Sentences:
    """Sentences as numbers of words; N words, S sentences."""

    words: Column  # ids i32[N] and the distinct words
    offset: np.ndarray  # i64[S+1]
    lines: np.ndarray  # i64[S]  the line of each sentence in its file, from 0
    source: str = "the input"

    @property
    def n_sentences(self) -> int:
        return self.offset.size - 1

    @property
    def n_tokens(self) -> int:
        return int(self.offset[-1])

    @property
    def lengths(self) -> np.ndarray:
        return np.diff(self.offset)

    def texts(self) -> list[str]:
        """The sentences as strings, a space between words."""
        types, ids, marks = self.words.types, self.words.ids.tolist(), self.offset.tolist()
        return [" ".join([types[i] for i in ids[a:b]]) for a, b in pairwise(marks)]


def parse_sentences(data: bytes, source: str = "the input") -> Sentences:
    """Sentences from the bytes of whole lines; lines without a word are left out."""
    check_utf8(data, source)
    # Numba requires a buffer even if it is empty; one more line end changes nothing.
    raw = np.frombuffer(data + b"\n", np.uint8)
    start, end, offset, lines = split_words(raw, raw.size // 2 + 1, data.count(b"\n") + 2)
    return Sentences(_column(raw, start, end), offset, lines, source)


def read_sentences(*paths: FilePath, spec: TextSpec = PLAIN) -> Sentences:
    """The sentences of one or several files; `-` is standard input. `spec`: their encoding."""
    texts = []
    for path in paths:
        data = read_text(path, spec)
        check_utf8(data, shown(path))
        _check_not_columns(data, shown(path))
        texts.append(data)
    name = ", ".join(shown(path) for path in paths)
    found = parse_sentences(b"\n".join(texts), name)
    if not found.n_sentences:
        raise DataError(
            "no sentence in it", file=name, hint="expected one sentence per line, with spaces between words"
        )
    return found


def _check_not_columns(data: bytes, file: str) -> None:
    """DataError if a text has a word per line: as many cells in each, and blank lines between sentences."""
    lines = [line for line in data[:LOOKED].split(b"\n")[:-1] if not line.startswith(b"# ")]
    sizes = {len(line.split()) for line in lines if line.strip()}
    blank = sum(not line.strip() for line in lines)
    if len(sizes) == 1 and min(sizes) > 1 and len(lines) - blank >= FEWEST and 0 < blank < len(lines) // 2:
        raise DataError(
            f"looks like columns: {min(sizes)} on every line, and blank lines between sentences", file=file,
            hint="language models read one sentence per line, with spaces between words: write the words of each "
            "sentence on one line",
        )  # fmt: skip


def sentences_of(given: Iterable[AnySentence]) -> Sentences:
    """Sentences from Python: strings that are cut at white space, or lists of words. Unlike in a file,
    empty sentences are kept, so that results align with the input."""
    if isinstance(given, str):
        raise DataError(
            "one string: a list of sentences is expected", hint="write [sentence], or sentence.split('\\n')"
        )
    rows = [sentence.split() if isinstance(sentence, str) else list(sentence) for sentence in given]
    for s, row in enumerate(rows):
        for word in row:
            if not isinstance(word, str) or not word or len(word.split()) != 1:
                raise DataError(f"sentence {s} has {word!r} where a word is expected: a string without white space")
    offset = np.zeros(len(rows) + 1, np.int64)
    np.cumsum([len(row) for row in rows], out=offset[1:])
    return Sentences(column_of_strings(word for row in rows for word in row), offset, np.arange(len(rows)))


def _column(raw: np.ndarray, start: np.ndarray, end: np.ndarray) -> Column:
    ids, type_start, type_end, hash, power = intern_cells(raw, start, end)
    return Column(ids, raw, type_start, type_end, hash, power)
