r"""Language models to and from files: ARPA, the text form that all tools share, and model files of palmette.

    \data\                       a line `ngram 1=N` for each order, then a section for each:
    \1-grams:                    log10 p TAB word ... word [TAB log10 backoff]
    \end\

Names are looked up order by order with sorted keys (context number times V plus word), never with Python tuples.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Annotated, Any, Literal, NamedTuple, NoReturn

import msgspec
import numpy as np
from numpy.typing import NDArray

from palmette.data import array_specs, model_file
from palmette.data.array_specs import Arrays, ArraySpec, CheckedArrays, Offsets, RisingWithin, if_present
from palmette.data.corpus import bytes_of
from palmette.data.files import FilePath, read_blocks, shown, write_whole
from palmette.data.text import CONVERT, check_utf8, read_text
from palmette.errors import DataError, ModelError, counted
from palmette.lab.kernels.ngrams import BEGIN, ROOT, Grams
from palmette.lab.lm.estimate import RESERVED, OrderCounts, flattened
from palmette.lab.lm.ngrams import lower_grams, split_order
from palmette.structures.stored import Count

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


# --- ARPA files, out ----------------------------------------------------------------------------------------


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


# --- ARPA files, in -----------------------------------------------------------------------------------------


class _Rows(NamedTuple):
    """The lines of one section."""

    p: np.ndarray  # f64[n]
    words: np.ndarray  # i64[n, k]
    backoff: np.ndarray  # f64[n]
    line: np.ndarray  # i64[n]


class _ArpaReader:
    """The lines of a file with their numbers, and errors that name the place."""

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
    reader = _ArpaReader(path)
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
    levels, keys = [OrderCounts(np.arange(V, dtype=np.int32), none, none, none)], [np.zeros(0, np.int64)]
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


def _counts(reader: _ArpaReader) -> list[int]:
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


def _section(reader: _ArpaReader, k: int, n: int, numbers: dict[str, int], words: list[str] | None) -> _Rows:
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


def _check_unigrams(reader: _ArpaReader, rows: _Rows) -> None:
    own, place, times = np.unique(rows.words[:, 0], return_index=True, return_counts=True)
    if times.size and times.max() > 1:
        reader.fail("a word occurs twice among the 1-grams", int(rows.line[place[np.argmax(times)]]))
    missing = {BEGIN, BEGIN + 1} - set(own.tolist())
    if missing:
        reader.fail(f"the 1-grams lack {', '.join(RESERVED[w] for w in sorted(missing))}")


def _level(
    reader: _ArpaReader, rows: _Rows, k: int, keys: list[np.ndarray], V: int
) -> tuple[OrderCounts, np.ndarray, np.ndarray]:
    """The n-grams of order k sorted by context and word, their keys, and the order in which they stood."""
    context = _find(reader, rows, rows.words[:, :-1], keys, V)
    suffix = _find(reader, rows, rows.words[:, 1:], keys, V)
    key = context * V + rows.words[:, -1]
    order = np.argsort(key, kind="stable")
    key = key[order]
    if bool((np.diff(key) == 0).any()):
        reader.fail(f"a {k}-gram occurs twice", int(rows.line[order[int(np.argmax(np.diff(key) == 0)) + 1]]))
    word = rows.words[order, -1].astype(np.int32)
    return OrderCounts(word, context[order], suffix[order], np.zeros(0, np.int64)), key, order


def _find(reader: _ArpaReader, rows: _Rows, words: np.ndarray, keys: list[np.ndarray], V: int) -> np.ndarray:
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


# --- Model files --------------------------------------------------------------------------------------------
# M n-grams of all orders, the first V are words; see lab/kernels/ngrams.py.


class NgramModel(NamedTuple):
    """Words, n-grams and how they were estimated."""

    order: float
    min_count: int
    words: list[str]  # <unk>, <s> and </s> first
    grams: Grams
    sizes: list[int]  # n-grams of each order
    discounts: list[tuple[float, float, float]]  # of each order; empty if unknown
    fell_back: list[int]  # orders whose discounts are the fixed ones
    seen: np.ndarray | None  # u64[]: hashes of the training sentences; None if unknown
    unicode: str = "none"  # the form of the words
    lower: Grams | None = None  # of a mixture, see ngrams.py


TASK = "lm"
Positive = Annotated[int, msgspec.Meta(ge=1, lt=2**31)]


class NgramMeta(msgspec.Struct, kw_only=True, frozen=True):
    """Everything of a language model that is not an array. Fields are named as the keys of the file."""

    task: str
    order: Positive  # the highest
    min_count: Positive
    sizes: Annotated[list[Count], msgspec.Meta(min_length=1)]  # n-grams of each order
    discounts: list[tuple[float, float, float]]
    fell_back: list[int]
    unicode: Literal["nfc", "none"]  # the form of the words
    share: Annotated[float, msgspec.Meta(gt=0, le=1)]  # of the model of the highest order in a mixture


@dataclass(frozen=True)
class WordsFirst:
    """The first V n-grams are the words, by their numbers."""

    def fault(self, array: NDArray[Any], found: CheckedArrays) -> str | None:
        V = found.sizes["V"]
        return None if np.array_equal(array[:V], np.arange(V)) else "does not begin with the words"


@dataclass(frozen=True)
class ByOrder:
    """Longer n-grams stand in the order of their contexts; those of each order after those of the order below."""

    sizes: tuple[int, ...]

    def fault(self, array: NDArray[Any], found: CheckedArrays) -> str | None:
        base = np.cumsum([0, *self.sizes])
        fits = array[-1] == base[-1] and not bool((array[1:] < array[:-1]).any())
        if not fits or not np.array_equal(array[base[:-1]], base[1:]):
            return "does not have the n-grams in the order of their contexts"
        return None


@dataclass(frozen=True)
class OneWordShorter:
    """The suffix of an n-gram is one word shorter; that of a word is ROOT."""

    sizes: tuple[int, ...]

    def fault(self, array: NDArray[Any], found: CheckedArrays) -> str | None:
        V, depth = found.sizes["V"], np.repeat(np.arange(len(self.sizes)), self.sizes)
        if bool((array[:V] != ROOT).any()) or bool((array[V:] == ROOT).any()):
            return "has a suffix that is not one word shorter than its n-gram"
        return None if np.array_equal(depth[array[V:]], depth[V:] - 1) else "has a suffix of another length"


@dataclass(frozen=True)
class NeverBegins:
    """The start of a sentence has probability 0."""

    def fault(self, array: NDArray[Any], found: CheckedArrays) -> str | None:
        return None if array[BEGIN] == 0 else "has a probability for the start of a sentence"


@dataclass(frozen=True)
class StoredWords:
    """UTF-8 text that the array `offset` cuts into V distinct words, the reserved ones first."""

    offset: str

    def fault(self, array: NDArray[Any], found: CheckedArrays) -> str | None:
        try:
            words = cut_words(array, found.arrays[self.offset])
        except UnicodeDecodeError:
            return "is not UTF-8"
        if tuple(words[: len(RESERVED)]) != RESERVED or len(set(words)) != len(words):
            return "does not begin with <unk>, <s> and </s>, or has a word twice"
        return None


def cut_words(text: np.ndarray, offset: np.ndarray) -> list[str]:
    """The words that offsets i64[V+1] cut out of bytes u8[]."""
    raw = text.tobytes()
    return [raw[a:b].decode() for a, b in pairwise(offset.tolist())]


def lm_specs(sizes: tuple[int, ...], mixed: bool, arrays: Arrays) -> tuple[ArraySpec, ...]:
    """All arrays of a language model's file. `seen`: hashes of the training sentences, if they are known. `lower`: of
    the model one order below in a mixture, with the first L n-grams."""
    lower = (
        ArraySpec("lower.p", np.float64, ("L",), low=0, high=1 + 1e-6, rules=(NeverBegins(),)),
        ArraySpec("lower.backoff", np.float64, ("L",), low=0, high=np.inf),
    )
    return (
        ArraySpec("text_offset", np.int64, ("V+1",), rules=(Offsets("bytes"),)),
        ArraySpec("text", np.uint8, ("bytes",), rules=(StoredWords("text_offset"),)),
        ArraySpec("first", np.int64, ("M+1",), low="V", high="M+1", rules=(ByOrder(sizes),)),
        ArraySpec("word", np.int32, ("M",), low=0, high="V", rules=(WordsFirst(), RisingWithin("first"))),
        ArraySpec("suffix", np.int32, ("M",), low=ROOT, high="M", rules=(OneWordShorter(sizes),)),
        ArraySpec("p", np.float64, ("M",), low=0, high=1 + 1e-6, rules=(NeverBegins(),)),
        ArraySpec("backoff", np.float64, ("M",), low=0, high=np.inf),
        *if_present((ArraySpec("seen", np.uint64, ("sentences",)),), arrays),
        *(lower if mixed else ()),
    )


def save(model: NgramModel, path: FilePath) -> None:
    """Write a model file, whole or not at all."""
    highest, share = split_order(model.order)
    text, offset = bytes_of(model.words)
    parts: dict[str, np.ndarray] = model.grams._asdict() | {"text": text[: offset[-1]], "text_offset": offset}
    if model.seen is not None:
        parts["seen"] = model.seen
    if model.lower is not None:
        parts |= {"lower.p": model.lower.p, "lower.backoff": model.lower.backoff}
    meta = {
        "task": TASK, "order": highest, "share": share, "min_count": model.min_count, "sizes": model.sizes,
        "discounts": [list(row) for row in model.discounts], "fell_back": model.fell_back,
        "unicode": model.unicode,
    }  # fmt: skip
    arrays = array_specs.pack(parts, lm_specs(tuple(model.sizes), share < 1, parts), lm_sizes(model.sizes))
    model_file.save(path, arrays, model_file.declared(meta, NgramMeta))


def load(path: FilePath, *, copy: bool = False) -> NgramModel:
    """Read a model file; ModelError if it is not one of a language model, each number of it as declared."""
    file = shown(path)
    arrays, meta = model_file.load(path, TASK, copy=copy)
    model_file.check_task(meta, TASK, file)
    stored = model_file.read_metadata(meta, NgramMeta, "metadata", file)
    mixed = stored.share < 1
    if len(stored.sizes) != stored.order or (mixed and stored.order < 2):
        raise ModelError("damaged model: its numbers of n-grams do not fit its order", file=file)
    if mixed and split_order(stored.order - 1 + stored.share)[0] != stored.order:
        raise ModelError(f"damaged model: a share of {stored.share} leaves nothing of its highest order", file=file)
    found = array_specs.unpack(arrays, lm_specs(tuple(stored.sizes), mixed, arrays), lm_sizes(stored.sizes), file)
    grams = Grams(*(found[name] for name in Grams._fields))
    lower = None
    if mixed:
        lower = lower_grams(grams, stored.sizes, found["lower.p"], found["lower.backoff"])
    return NgramModel(
        stored.order - 1 + stored.share if mixed else stored.order,
        stored.min_count,
        cut_words(found["text"], found["text_offset"]),
        grams,
        stored.sizes,
        stored.discounts,
        stored.fell_back,
        found.get("seen"),
        stored.unicode,
        lower,
    )


def lm_sizes(sizes: list[int]) -> dict[str, int]:
    return {"V": sizes[0], "M": sum(sizes), "L": sum(sizes[:-1])}
