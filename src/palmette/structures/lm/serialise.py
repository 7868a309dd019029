"""A language model as a palmette model file, checked number by number on loading."""

from __future__ import annotations

from itertools import pairwise
from typing import Any, NoReturn

import numpy as np

from palmette.data import model_file
from palmette.data.corpus import bytes_of
from palmette.data.files import FilePath, shown
from palmette.errors import ModelError
from palmette.kernels.lm.score import BEGIN, ROOT, Grams
from palmette.structures.lm.model import NgramModel
from palmette.structures.lm.vocabulary import RESERVED

TASK = "lm"
_AGAIN = "train it again with `palmette lm train`"


def save(model: NgramModel, path: FilePath) -> None:
    """Write a model file."""
    text, offset = bytes_of(model.words)
    arrays: dict[str, Any] = model.grams._asdict() | {"text": text[: offset[-1]], "text_offset": offset}
    if model.seen is not None:
        arrays["seen"] = model.seen
    meta = {
        "task": TASK, "order": model.order, "min_count": model.min_count, "sizes": model.sizes,
        "discounts": [list(row) for row in model.discounts], "fell_back": model.fell_back,
    }  # fmt: skip
    model_file.save(path, arrays, meta)


def load(path: FilePath) -> NgramModel:
    """Read a model file. Every number that a kernel follows is checked."""
    file = shown(path)
    arrays, meta = model_file.load(path)
    if meta.get("task") != TASK:
        raise ModelError(f"a model for the task {meta.get('task')!r}, not a language model", file=file, hint=_AGAIN)
    order, sizes = _natural(meta, "order", file), meta.get("sizes")
    if not isinstance(sizes, list) or len(sizes) != order or not all(type(n) is int and n >= 0 for n in sizes):
        _damaged("its numbers of n-grams do not fit its order", file)
    min_count, words = _natural(meta, "min_count", file), _words(arrays, sizes[0], file)
    discounts, fell_back = _rows(meta, "discounts", file), _rows(meta, "fell_back", file)
    grams = _grams(arrays, sizes, file)
    seen = model_file.require(arrays, "seen", np.uint64, (None,), file=file) if "seen" in arrays else None
    triples = [(float(a), float(b), float(c)) for a, b, c in discounts]
    return NgramModel(order, min_count, words, grams, sizes, triples, fell_back, seen)


def _damaged(what: str, file: str) -> NoReturn:
    raise ModelError(f"damaged model: {what}", file=file, hint=_AGAIN)


def _natural(meta: dict[str, Any], name: str, file: str) -> int:
    value = meta.get(name)
    if type(value) is not int or not 1 <= value < 2**31:
        raise ModelError(f"damaged model: {name} is {value!r}", file=file, hint=_AGAIN)
    return value


def _rows(meta: dict[str, Any], name: str, file: str) -> list[Any]:
    value = meta.get(name)
    if not isinstance(value, list):
        raise ModelError(f"damaged model: {name} is not a list", file=file, hint=_AGAIN)
    return value


def _words(arrays: dict[str, Any], n: int, file: str) -> list[str]:
    text = model_file.require(arrays, "text", np.uint8, (None,), file=file)
    offset = model_file.require_offsets(arrays, "text_offset", np.int64, n + 1, text.size, file=file)
    raw, marks = text.tobytes(), offset.tolist()
    try:
        words = [raw[a:b].decode() for a, b in pairwise(marks)]
    except UnicodeDecodeError:
        _damaged("a word is not UTF-8", file)
    if tuple(words[: len(RESERVED)]) != RESERVED or len(set(words)) != n:
        _damaged("its words do not begin with <unk>, <s> and </s>, or are not distinct", file)
    return words


def _grams(arrays: dict[str, Any], sizes: list[int], file: str) -> Grams:
    V, M = sizes[0], sum(sizes)
    word = model_file.require(arrays, "word", np.int32, (M,), low=0, high=V, file=file)
    first = model_file.require(arrays, "first", np.int64, (M + 1,), low=V, high=M + 1, file=file)
    suffix = model_file.require(arrays, "suffix", np.int32, (M,), low=ROOT, high=M, file=file)
    p = model_file.require(arrays, "p", np.float64, (M,), file=file)
    backoff = model_file.require(arrays, "backoff", np.float64, (M,), file=file)
    check_grams(Grams(word, first, suffix, p, backoff), sizes, file)
    return Grams(word, first, suffix, p, backoff)


def check_grams(grams: Grams, sizes: list[int], file: str) -> None:
    """Everything that the kernels rely on."""
    V, M = sizes[0], sum(sizes)
    base = np.cumsum([0, *sizes])
    depth = np.repeat(np.arange(len(sizes)), sizes)
    if not np.array_equal(grams.word[:V], np.arange(V)) or grams.first[0] != V or grams.first[-1] != M:
        _damaged("its words do not come first", file)
    if bool((np.diff(grams.first) < 0).any()) or not np.array_equal(grams.first[base[:-1]], base[1:]):
        _damaged("its n-grams are not in the order of their contexts", file)
    context = np.repeat(np.arange(M), np.diff(grams.first))
    if bool(((np.diff(context) == 0) & (np.diff(grams.word[V:]) <= 0)).any()):
        _damaged("its n-grams are not sorted by their last words", file)
    if bool((grams.suffix[:V] != ROOT).any()) or bool((depth[grams.suffix[V:]] != depth[V:] - 1).any()):
        _damaged("a suffix is not one word shorter than its n-gram", file)
    if not bool(((grams.p >= 0) & (grams.p <= 1 + 1e-6)).all()) or grams.p[BEGIN] != 0:
        _damaged("a probability is not one", file)
    if not bool(((grams.backoff >= 0) & np.isfinite(grams.backoff)).all()):
        _damaged("a back-off weight is negative or not a number", file)
