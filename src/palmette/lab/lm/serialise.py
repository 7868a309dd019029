"""Language models to and from model files. M n-grams of all orders, the first V are words; see kernels/lm/score.py."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import Annotated, Any, Literal, NamedTuple

import msgspec
import numpy as np
from numpy.typing import NDArray

from palmette.data import array_specs, model_file
from palmette.data.array_specs import Arrays, ArraySpec, Found, Offsets, RisingWithin, if_present
from palmette.data.corpus import bytes_of
from palmette.data.files import FilePath, shown
from palmette.errors import ModelError
from palmette.kernels.lm.score import BEGIN, ROOT, Grams
from palmette.lab.lm.mixture import lower_grams, split_order
from palmette.lab.lm.vocabulary import RESERVED
from palmette.structures.stored_features import Count


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
    lower: Grams | None = None  # of a mixture, see mixture.py


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

    def fault(self, array: NDArray[Any], found: Found) -> str | None:
        V = found.sizes["V"]
        return None if np.array_equal(array[:V], np.arange(V)) else "does not begin with the words"


@dataclass(frozen=True)
class ByOrder:
    """Longer n-grams stand in the order of their contexts; those of each order after those of the order below."""

    sizes: tuple[int, ...]

    def fault(self, array: NDArray[Any], found: Found) -> str | None:
        base = np.cumsum([0, *self.sizes])
        fits = array[-1] == base[-1] and not bool((array[1:] < array[:-1]).any())
        if not fits or not np.array_equal(array[base[:-1]], base[1:]):
            return "does not have the n-grams in the order of their contexts"
        return None


@dataclass(frozen=True)
class OneWordShorter:
    """The suffix of an n-gram is one word shorter; that of a word is ROOT."""

    sizes: tuple[int, ...]

    def fault(self, array: NDArray[Any], found: Found) -> str | None:
        V, depth = found.sizes["V"], np.repeat(np.arange(len(self.sizes)), self.sizes)
        if bool((array[:V] != ROOT).any()) or bool((array[V:] == ROOT).any()):
            return "has a suffix that is not one word shorter than its n-gram"
        return None if np.array_equal(depth[array[V:]], depth[V:] - 1) else "has a suffix of another length"


@dataclass(frozen=True)
class NeverBegins:
    """The start of a sentence has probability 0."""

    def fault(self, array: NDArray[Any], found: Found) -> str | None:
        return None if array[BEGIN] == 0 else "has a probability for the start of a sentence"


@dataclass(frozen=True)
class Words:
    """UTF-8 text that the array `offset` cuts into V distinct words, the reserved ones first."""

    offset: str

    def fault(self, array: NDArray[Any], found: Found) -> str | None:
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
        ArraySpec("text", np.uint8, ("bytes",), rules=(Words("text_offset"),)),
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
