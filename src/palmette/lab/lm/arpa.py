"""ARPA files, the text form of back-off language models that all tools share, out and in.

    \\data\\                       a line `ngram 1=N` for each order, then a section for each:
    \\1-grams:                    log10 p TAB word ... word [TAB log10 backoff]
    \\end\\

Names are looked up order by order with sorted keys (context number times V plus word), never with Python tuples.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple, NoReturn

import numpy as np

from palmette.data.files import FilePath, read_blocks, shown, write_whole
from palmette.data.text import CONVERT, check_utf8, read_text
from palmette.errors import DataError, counted
from palmette.kernels.lm.score import BEGIN, ROOT, Grams
from palmette.lab.lm.estimate import Level, flattened
from palmette.lab.lm.vocabulary import RESERVED

NOTHING = -99.0  # what other tools write for the logarithm of 0
_COUNT = re.compile(r"ngram\s+(\d+)\s*=\s*(\d+)")
_SECTION = re.compile(r"\\(\d+)-grams:")


def is_arpa_name(path: FilePath) -> bool:
    return os.fspath(path).lower().endswith((".arpa", ".arpa.gz"))


def looks_like_arpa(path: FilePath) -> bool:
    """By the name, or by `\\data\\` near the beginning; a model file begins with its length in bytes."""
    return is_arpa_name(path) or os.fspath(path) == "-" or begins_as_arpa(path)


def begins_as_arpa(path: FilePath) -> bool:
    """Whether `\\data\\` is near the beginning of a file."""
    head = next(iter(read_blocks(path)), b"")[:4096]
    return b"\0" not in head and b"\\data\\" in head


# --- out ----------------------------------------------------------------------------------------------------


def write_arpa(path: FilePath, words: Sequence[str], grams: Grams, sizes: Sequence[int]) -> None:
    """All n-grams with ten digits, so that reading gives the same model to nine."""
    base = np.cumsum([0, *sizes])
    with write_whole(path) as out:
        head = "".join(f"ngram {k}={n}\n" for k, n in enumerate(sizes, 1))
        out.write(f"\\data\\\n{head}\n".encode())
        spelled = list(words)
        for k, n in enumerate(sizes, 1):
            lo, hi = int(base[k - 1]), int(base[k])
            if k > 1:
                context = np.repeat(np.arange(sizes[k - 2]), np.diff(grams.first[base[k - 2] : base[k - 1] + 1]))
                ends = grams.word[lo:hi].tolist()
                spelled = [f"{spelled[c]} {words[w]}" for c, w in zip(context.tolist(), ends, strict=True)]
            p, backoff = _log10(grams.p[lo:hi]), _log10(grams.backoff[lo:hi])
            out.write(f"\\{k}-grams:\n".encode())
            for at in range(0, n, 1 << 16):
                own = zip(p[at : at + (1 << 16)], spelled[at:], backoff[at:], strict=False)
                rows = own if k < len(sizes) else ((x, text, None) for x, text, _ in own)
                out.write("".join(_line(*row) for row in rows).encode())
            out.write(b"\n")
        out.write(b"\\end\\\n")


def _log10(values: np.ndarray) -> list[float]:
    with np.errstate(divide="ignore"):
        found = np.log10(values)
    return np.maximum(found, NOTHING).tolist()


def _line(p: float, text: str, backoff: float | None) -> str:
    tail = f"\t{backoff:.10g}" if backoff else ""
    return f"{p:.10g}\t{text}{tail}\n"


# --- in -----------------------------------------------------------------------------------------------------


class _Rows(NamedTuple):
    """The lines of one section."""

    p: np.ndarray  # f64[n]
    words: np.ndarray  # i64[n, k]
    backoff: np.ndarray  # f64[n]
    line: np.ndarray  # i64[n]


class _Reader:
    """The lines of a file with their numbers, and errors that tell where."""

    def __init__(self, path: FilePath) -> None:
        self.file = shown(path)
        data = read_text(path)
        check_utf8(data, self.file, hint=CONVERT)
        self.lines = data.decode().split("\n")
        self.at = 0

    def rest(self) -> Iterator[str]:
        """The lines that follow, without white space around them, blank ones left out."""
        while self.at < len(self.lines):
            self.at += 1
            if line := self.lines[self.at - 1].strip():
                yield line

    def fail(self, message: str, line: int | None = None) -> NoReturn:
        raise DataError(f"not a valid ARPA file: {message}", file=self.file, line=self.at if line is None else line)


def read_arpa(path: FilePath) -> tuple[list[str], Grams, list[int]]:
    """(words, n-grams, number of n-grams of each order)."""
    reader = _Reader(path)
    sizes = _counts(reader)
    words = list(RESERVED)
    numbers = {word: w for w, word in enumerate(words)}
    first = _section(reader, 1, sizes[0], numbers, words)
    _check_unigrams(reader, first)
    V = len(words)
    p, backoff = np.zeros(V), np.ones(V)
    own = first.words[:, 0]
    p[own], backoff[own] = first.p, first.backoff
    p[BEGIN] = 0.0
    none = np.full(V, ROOT, np.int64)
    levels, keys = [Level(np.arange(V, dtype=np.int32), none, none, none)], [np.zeros(0, np.int64)]
    tables, above = [(p, np.ones(0))], backoff
    for k in range(2, len(sizes) + 1):
        rows = _section(reader, k, sizes[k - 1], numbers, None)
        level, key, order = _level(reader, rows, k, keys, V)
        levels.append(level)
        keys.append(key)
        tables.append((rows.p[order], above))
        above = rows.backoff[order]
    if next(reader.rest(), "") != "\\end\\":
        reader.fail("\\end\\ is expected here")
    return words, flattened(levels, tables), [len(level.word) for level in levels]


def _counts(reader: _Reader) -> list[int]:
    for line in reader.rest():
        if line == "\\data\\":
            break
    else:
        reader.fail("it has no \\data\\")
    sizes: list[int] = []
    for line in reader.rest():
        if (found := _COUNT.fullmatch(line)) is None:
            reader.at -= 1
            break
        if int(found[1]) != len(sizes) + 1:
            reader.fail(f"order {found[1]} where {len(sizes) + 1} is expected")
        sizes.append(int(found[2]))
    if not 1 <= len(sizes) <= 5:
        reader.fail(f"{len(sizes)} orders; palmette has models of orders 1 to 5")
    return sizes


def _section(reader: _Reader, k: int, n: int, numbers: dict[str, int], words: list[str] | None) -> _Rows:
    """The n-grams of order k; with `words`, new words are added there."""
    title = _SECTION.fullmatch(next(reader.rest(), ""))
    if title is None or int(title[1]) != k:
        reader.fail(f"\\{k}-grams: is expected here")
    p, backoff, ids, lines = np.empty(n), np.zeros(n), np.empty((n, k), np.int64), np.empty(n, np.int64)
    for i in range(n):
        cells = next(reader.rest(), "\\").split()
        if len(cells) not in (k + 1, k + 2):
            reader.fail(
                f"{counted(len(cells), 'cell')}; a probability, {counted(k, 'word')} and perhaps a back-off weight "
                "are expected"
            )
        try:
            p[i] = float(cells[0])
            backoff[i] = float(cells[k + 1]) if len(cells) == k + 2 else 0.0
        except ValueError:
            reader.fail("a number is expected at the beginning, and at the end if something follows the words")
        for j, word in enumerate(cells[1 : k + 1]):
            if word not in numbers:
                if words is None:
                    reader.fail(f"the word {word!r} is not among the 1-grams")
                numbers[word] = len(words)
                words.append(word)
            ids[i, j] = numbers[word]
        lines[i] = reader.at
    if not bool((p <= 1e-6).all() and (p > -np.inf).all() and np.isfinite(backoff).all()):
        reader.fail(f"a number among the {k}-grams is not the logarithm of a probability")
    return _Rows(_powers(p), ids, _powers(backoff), lines)


def _powers(logs: np.ndarray) -> np.ndarray:
    return np.where(logs <= NOTHING, 0.0, 10.0 ** np.maximum(logs, NOTHING))


def _check_unigrams(reader: _Reader, rows: _Rows) -> None:
    own, place, times = np.unique(rows.words[:, 0], return_index=True, return_counts=True)
    if times.size and times.max() > 1:
        reader.fail("a word occurs twice among the 1-grams", int(rows.line[place[np.argmax(times)]]))
    missing = {BEGIN, BEGIN + 1} - set(own.tolist())
    if missing:
        reader.fail(f"the 1-grams lack {', '.join(RESERVED[w] for w in sorted(missing))}")


def _level(
    reader: _Reader, rows: _Rows, k: int, keys: list[np.ndarray], V: int
) -> tuple[Level, np.ndarray, np.ndarray]:
    """The n-grams of order k sorted by context and word, their keys, and the order in which they stood."""
    context = _find(reader, rows, rows.words[:, :-1], keys, V)
    suffix = _find(reader, rows, rows.words[:, 1:], keys, V)
    key = context * V + rows.words[:, -1]
    order = np.argsort(key, kind="stable")
    key = key[order]
    if bool((np.diff(key) == 0).any()):
        reader.fail(f"a {k}-gram occurs twice", int(rows.line[order[int(np.argmax(np.diff(key) == 0)) + 1]]))
    word = rows.words[order, -1].astype(np.int32)
    return Level(word, context[order], suffix[order], np.zeros(0, np.int64)), key, order


def _find(reader: _Reader, rows: _Rows, words: np.ndarray, keys: list[np.ndarray], V: int) -> np.ndarray:
    """The number of each n-gram among those of its order; an error where it is missing."""
    node = words[:, 0]
    for j in range(1, words.shape[1]):
        wanted = node * V + words[:, j]
        node = np.searchsorted(keys[j], wanted)
        there = node < keys[j].size
        there[there] = keys[j][node[there]] == wanted[there]
        if not there.all():
            line = int(rows.line[int(np.argmin(there))])
            reader.fail("its words without the first or the last one are not an n-gram of the file", line)
    return node
