"""Text models of Wapiti, with their patterns, and of CRF++, with their templates."""

from __future__ import annotations

import math
import os
import re
import warnings
from collections import Counter
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from palmette.data.text import NONE
from palmette.errors import DataError, ModelError
from palmette.features.encode import Encoder
from palmette.features.resources import Resources
from palmette.features.templates import TemplateSet, parse
from palmette.kernels.chain.double import DoubleWeights
from palmette.kernels.core.hashing import FeatureIndex
from palmette.kernels.io.columns import join_types
from palmette.structures.chain.imported.model import (
    Imported,
    ImportedModel,
    check_labels,
    imported_model,
    index_of,
    no_lists,
    sorted_lists,
)
from palmette.structures.chain.imported.parts import names_of, within_groups
from palmette.structures.stored import Names, ordered_names

# The lines of a text model, many at a time. A line has a number for messages, counted from 1.

NEWLINE, MOST_DIGITS = 10, 10
LINES_TOGETHER = 1 << 16  # lines that become Python strings together


class ModelLines:
    """A text with a cursor."""

    def __init__(self, data: bytes | memoryview, source: str) -> None:
        text = bytes(data).replace(b"\r\n", b"\n")
        text += b"" if text.endswith(b"\n") else b"\n"
        self.data, self.source, self.at = np.frombuffer(text, np.uint8), source, 0
        self.end = np.flatnonzero(self.data == NEWLINE)  # of each line

    def starts(self, lines: range) -> np.ndarray:
        """Where lines begin, i64[]."""
        before = self.end[max(0, lines.start - 1) : max(0, lines.stop - 1)] + 1
        return before if lines.start else np.concatenate((np.zeros(1, np.int64), before))[: len(lines)]

    def damaged(self, what: str, line: int | None = None) -> ModelError:
        """The error about a line, by default the one after the cursor."""
        return ModelError(f"damaged model: {what}", file=self.source, line=(self.at if line is None else line) + 1)

    def text(self, what: str) -> str:
        """The next line."""
        (place,) = own = self.take(1, what)
        raw = self.data[self.starts(own)[0] : self.end[place]].tobytes()
        try:
            return raw.decode()
        except UnicodeDecodeError:
            raise self.damaged(f"{what} is not UTF-8: {raw[:40]!r}", place) from None

    def texts_until_blank(self, what: str) -> list[str]:
        """The lines up to the next blank one, which is skipped."""
        found = []
        while text := self.text(what):
            found.append(text)
        return found

    def take(self, count: int, what: str) -> range:
        """The numbers of the next lines, from 0."""
        if count > self.end.size - self.at:
            raise self.damaged(
                f"{count:,} lines of {what} should follow, and {self.end.size - self.at:,} do: truncated?"
            )
        self.at += count
        return range(self.at - count, self.at)

    def until_blank(self) -> range:
        """The numbers of the lines up to the next blank one, which is skipped."""
        first = blank = self.at
        while blank < self.end.size:
            own = range(blank, min(blank + LINES_TOGETHER, self.end.size))
            empty = self.end[own.start : own.stop] == self.starts(own)
            if empty.any():
                blank += int(np.argmax(empty))
                break
            blank = own.stop
        self.at = min(blank + 1, self.end.size)
        return range(first, blank)

    def leading_numbers(self, lines: range, after: str, what: str) -> tuple[np.ndarray, np.ndarray]:
        """The whole number that each line begins with, and the place after the character that follows it, i64[]."""
        start, end = self.starts(lines), self.end[lines.start : lines.stop]
        value, digits = np.zeros(start.size, np.int64), np.zeros(start.size, np.int64)
        open_ = np.ones(start.size, np.bool_)
        for k in range(MOST_DIGITS):
            byte = self.data[np.minimum(start + k, end)]
            open_ &= (byte >= ord("0")) & (byte <= ord("9"))
            value = np.where(open_, 10 * value + byte - ord("0"), value)
            digits += open_
        bad = (digits == 0) | (self.data[np.minimum(start + digits, end)] != ord(after))
        if bad.any():
            raise self.damaged(f"{what} should begin with a number and {after!r}", lines.start + int(np.argmax(bad)))
        return value, start + digits + 1

    def strings(self, start: np.ndarray, end: np.ndarray, what: str) -> Names:
        """Pieces of the text."""
        data, offset = join_types(self.data, start, end)
        return names_of(data[: offset[-1]], offset, what, self.source)

    def numbers(self, lines: range, what: str) -> np.ndarray:
        """The decimal number on each line, f64[]."""
        if not len(lines):
            return np.zeros(0)
        text = self.data[self.starts(lines)[0] : self.end[lines.stop - 1]].tobytes()
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("error")
                found = np.fromstring(text.decode("ascii"), sep="\n")
        except (ValueError, DeprecationWarning):
            found = np.zeros(0)
        if found.size != len(lines):
            raise self.damaged(f"{what}: not a number on each line from here on", lines.start)
        return found

    def chunks(self, lines: range, start: np.ndarray) -> Iterator[tuple[int, list[str]]]:
        """The rest of each line from `start` on as strings, and the line that they begin with."""
        for first in range(0, len(lines), LINES_TOGETHER):
            own = range(lines.start + first, min(lines.stop, lines.start + first + LINES_TOGETHER))
            base = int(self.starts(own)[0])
            text = self.data[base : self.end[own.stop - 1]].tobytes().decode("latin-1")
            cuts = (start[first : first + LINES_TOGETHER] - base).tolist()
            ends = (self.end[own.start : own.stop] - base).tolist()
            yield own.start, [text[a:b] for a, b in zip(cuts, ends, strict=True)]


# A model from the observations of Wapiti or CRF++: strings that the templates make of cells, with weights on labels, on
# label pairs, or on both.


class Entries(NamedTuple):
    """Weights of observations."""

    kind: np.ndarray  # i64[O]      1: on labels, 2: on label pairs, 3: on both
    owner: np.ndarray  # i64[]      the observation of each weight
    place: np.ndarray  # i64[]      the label, or previous * Y + current
    w: np.ndarray  # f64[]
    single: np.ndarray  # bool[]    whether it is on a label


def model_of_observations(
    labels: list[str], encoder: Encoder, observations: Names, entries: Entries, about: Imported,
    reading: dict[str, Any], single: bool = False,
) -> ImportedModel:  # fmt: skip
    """The model; `single`: its tool adds weights in float32."""
    Y = len(labels)
    times = _bare(encoder, observations, entries.kind)
    bare = times > 0
    transitions = np.zeros(Y * Y)
    plain = ~entries.single & bare[entries.owner]
    np.add.at(transitions, entries.place[plain], entries.w[plain] * times[entries.owner[plain]])
    indexes: dict[int, FeatureIndex] = {}
    names: dict[int, Names] = {}
    lists = {1: no_lists(), 2: no_lists()}
    for arity in (1, 2):
        if arity not in encoder.programs:
            continue
        there = (entries.kind & arity > 0) & ~(bare if arity == 2 else np.zeros(bare.size, np.bool_))
        number = np.cumsum(there) - 1
        own = (entries.single if arity == 1 else ~entries.single) & there[entries.owner]
        names[arity] = ordered_names(observations, np.flatnonzero(there))
        indexes[arity] = index_of(names[arity], about.file)
        lists[arity] = sorted_lists(
            number[entries.owner[own]], entries.place[own], entries.w[own], len(names[arity]), Y**arity, about.file
        )
    exact = DoubleWeights(*lists[1], *lists[2], transitions.reshape(Y, Y), single)
    return imported_model(labels, exact, indexes, names, about, encoder, reading)


def _bare(encoder: Encoder, observations: Names, kind: np.ndarray) -> np.ndarray:
    """i64[O]: how many templates without cells make an observation on label pairs: a plain transition, which the tools
    add once per template. 0: no template does."""
    texts = Counter(t.text.encode() for t in encoder.templates.templates if not t.macros and 2 in t.orders)
    times = np.zeros(len(observations), np.int64)
    sizes, wanted = np.diff(observations.offset), {len(text) for text in texts}
    for k in np.flatnonzero((kind & 2 > 0) & np.isin(sizes, list(wanted))).tolist():
        times[k] = texts[observations[k].encode()]
    return times


# Wapiti's text models, with their patterns.
#
#     #mdl#TYPE#N         the type (2: a conditional random field) and how many weights follow; old files have no type
#     #rdr#P/C/A          P patterns, each a netstring `LENGTH:TEXT,`; C columns; A: of models without patterns
#     #qrk#N              N labels as netstrings
#     #qrk#N              N observations in the same way: `u` on labels, `b` on label pairs, `*` on both
#     NUMBER=WEIGHT       weights that are not zero, in C's hexadecimal notation
#
# Weights are numbered over the observations: Y numbers for `u`, Y * Y for `b` (previous label first), both for `*`.

CRF = 2
TYPES = {0: "a maximum entropy model", 1: "a maximum entropy Markov model"}
READING = {"format": "columns", "separator": "space"}


def read_wapiti(data: bytes | memoryview, source: str) -> ImportedModel:
    """The model in the bytes of a text model of Wapiti; ModelError if it is not one, or damaged."""
    lines = ModelLines(data, source)
    kind, count = _wapiti_header(lines)
    if kind != CRF:
        raise ModelError(
            f"{TYPES.get(kind, f'a model of type {kind}')}; only conditional random fields are read", file=source,
            hint="train it again as a CRF: `wapiti train` without --type, or `palmette train`",
        )  # fmt: skip
    encoder = _patterns(lines)
    names = _quarks(lines, "label")
    labels = [names[k] for k in range(len(names))]
    check_labels(labels, lines.data.size, source)
    observations = _quarks(lines, "observation")
    entries = _weights(lines, count, observations, len(labels))
    about = Imported("wapiti", source)
    return model_of_observations(labels, encoder, observations, entries, about, READING)


def _wapiti_header(lines: ModelLines) -> tuple[int, int]:
    text = lines.text("the header")
    found = re.fullmatch(r"#mdl#(?:(\d{1,3})#)?(\d{1,12})", text)
    if found is None:
        raise lines.damaged(f"the header should be #mdl#TYPE#COUNT, and is {text[:40]!r}", 0)
    return CRF if found[1] is None else int(found[1]), int(found[2])


def _patterns(lines: ModelLines) -> Encoder:
    text = lines.text("the patterns")
    found = re.fullmatch(r"#rdr#(\d{1,9})/(\d{1,9})(?:/(\d))?", text)
    if found is None:
        raise lines.damaged(f"#rdr#PATTERNS/COLUMNS should follow, and {text[:40]!r} does", lines.at - 1)
    if not int(found[1]):
        raise ModelError(
            "the model has no patterns: its input are ready-made observations, which are not read", file=lines.source,
            hint="train it with patterns (`wapiti train -p`)",
        )  # fmt: skip
    names = _netstrings(lines, int(found[1]), "pattern")
    return compiled("\n".join(names[k] for k in range(len(names))), "wapiti", lines.source)


def compiled(text: str, syntax: str, source: str) -> Encoder:
    """The encoder of a model's own templates, which see cells as they are."""
    try:
        templates: TemplateSet = parse(text, f"the templates of {os.path.basename(source)}", syntax)
        return Encoder(templates, Resources(), NONE)
    except DataError as error:
        raise ModelError(f"the templates in the model cannot be read ({error})", file=source) from None


def _quarks(lines: ModelLines, what: str) -> Names:
    text = lines.text(f"the {what}s")
    found = re.fullmatch(r"#qrk#(\d{1,10})", text)
    if found is None:
        raise lines.damaged(f"#qrk#COUNT should follow, and {text[:40]!r} does", lines.at - 1)
    return _netstrings(lines, int(found[1]), what)


def _netstrings(lines: ModelLines, count: int, what: str) -> Names:
    own, one = lines.take(count, f"{what}s"), f"an {what}" if what[0] in "aeiou" else f"a {what}"
    size, start = lines.leading_numbers(own, ":", one)
    end = lines.end[own.start : own.stop] - 1
    bad = (size != end - start) | (lines.data[end] != ord(","))
    if bad.any():
        raise lines.damaged(f"{one} does not have the size that it begins with", own.start + int(np.argmax(bad)))
    return lines.strings(start, end, what)


def _weights(lines: ModelLines, count: int, observations: Names, n_labels: int) -> Entries:
    own = lines.take(count, "weights")
    number, start = lines.leading_numbers(own, "=", "a weight")
    w = np.zeros(count)
    at = 0
    for first, texts in lines.chunks(own, start):
        try:
            w[at : at + len(texts)] = np.fromiter(map(float.fromhex, texts), np.float64, len(texts))
        except (ValueError, OverflowError):
            raise lines.damaged("a weight is not a number", _first_wrong(first, texts)) from None
        at += len(texts)
    kind = _kinds(lines, observations)
    pairs = n_labels * n_labels
    size = n_labels * (kind & 1) + pairs * (kind >> 1)
    begin = np.cumsum(size) - size
    total = int(size.sum())
    if count and number.max() >= total:
        raise lines.damaged(f"weight {int(number.max()):,} of {total:,}", own.start + int(np.argmax(number)))
    owner = np.searchsorted(begin, number, side="right") - 1
    place = number - begin[owner]
    single = (kind[owner] & 1 > 0) & (place < n_labels)
    place = np.where(single | (kind[owner] == 2), place, place - n_labels)
    return Entries(kind, owner, place, w, single)


def _first_wrong(line: int, texts: list[str]) -> int:
    for text in texts:
        try:
            float.fromhex(text)
        except (ValueError, OverflowError):
            return line
        line += 1
    return line


def _kinds(lines: ModelLines, observations: Names) -> np.ndarray:
    """1: on labels, 2: on label pairs, 3: on both, i64[]."""
    length = np.diff(observations.offset)
    first = np.where(length > 0, observations.data[np.minimum(observations.offset[:-1], observations.data.size - 1)], 0)
    kind = (first == ord("u")) * 1 + (first == ord("b")) * 2 + (first == ord("*")) * 3
    if (kind == 0).any():
        raise lines.damaged(
            f"an observation that begins with neither u, b nor *: {observations[int(np.argmin(kind))]!r}"
        )
    return kind.astype(np.int64)


# CRF++'s text models (`crf_learn -t`), with their templates.
#
#     version: 100
#     cost-factor: X       what all weights are multiplied by
#     maxid: N             weights at the end
#     xsize: C             columns without the label
#                          blank lines separate what follows:
#     labels
#     templates
#     NUMBER STRING        an attribute and its first weight: Y weights for U, Y * Y for B (previous label first)
#     weights
#
# `crf_test` reads weights in float32 and adds them in float32, and so does this model.

CRFPP_VERSION = 100


def read_crfpp(data: bytes | memoryview, source: str) -> ImportedModel:
    """The model in the bytes of a text model of CRF++; ModelError if it is not one, or damaged."""
    lines = ModelLines(data, source)
    factor, count = _crfpp_header(lines)
    labels = lines.texts_until_blank("a label")
    check_labels(labels, lines.data.size, source)
    encoder = compiled("\n".join(lines.texts_until_blank("a template")), "crfpp", source)
    own = lines.until_blank()
    first, start = lines.leading_numbers(own, " ", "an attribute")
    names = lines.strings(start, lines.end[own.start : own.stop], "attribute")
    w = lines.numbers(lines.take(count, "weights"), "the weights").astype(np.float32).astype(np.float64) * factor
    entries = _crfpp_entries(lines, names, first, w, len(labels), own.start)
    return model_of_observations(labels, encoder, names, entries, Imported("crfpp", source), READING, single=True)


def _crfpp_header(lines: ModelLines) -> tuple[float, int]:
    version = _field(lines, "version", r"\d{1,9}")
    if int(version) != CRFPP_VERSION:
        raise lines.damaged(f"version {version}; {CRFPP_VERSION} is the one that CRF++ has", 0)
    factor = float(_field(lines, "cost-factor", r"[-+]?\d{1,20}\.?\d{0,20}(?:[eE][-+]?\d{1,3})?"))
    if not math.isfinite(factor):
        raise lines.damaged(f"cost-factor: {factor}", lines.at - 1)
    count = int(_field(lines, "maxid", r"\d{1,12}"))
    _field(lines, "xsize", r"\d{1,9}")
    if lines.text("a blank line"):
        raise lines.damaged("a blank line should follow the header", lines.at - 1)
    return factor, count


def _field(lines: ModelLines, name: str, value: str) -> str:
    text = lines.text(name)
    found = re.fullmatch(rf"{name}: ({value})", text)
    if found is None:
        raise lines.damaged(f"`{name}: NUMBER` should follow, and {text[:40]!r} does", lines.at - 1)
    return found[1]


def _crfpp_entries(
    lines: ModelLines, names: Names, first: np.ndarray, w: np.ndarray, n_labels: int, line: int
) -> Entries:
    size = np.diff(names.offset)
    letter = np.where(size > 0, names.data[np.minimum(names.offset[:-1], max(0, names.data.size - 1))], 0)
    kind = ((letter == ord("U")) * 1 + (letter == ord("B")) * 2).astype(np.int64)
    if (kind == 0).any():
        raise lines.damaged("an attribute that begins with neither U nor B", line + int(np.argmin(kind)))
    count = np.where(kind == 1, n_labels, n_labels * n_labels)
    if int(count.sum()) != w.size:
        raise lines.damaged(f"attributes with {int(count.sum()):,} weights, and there are {w.size:,}", line)
    last = first + count
    if (last > w.size).any():
        wrong = int(np.argmax(last))
        raise lines.damaged(f"weights up to {int(last[wrong]):,}, and there are {w.size:,}", line + wrong)
    owner, place = np.repeat(np.arange(kind.size), count), within_groups(count)
    own = w[np.repeat(first, count) + place]
    there = own != 0
    return Entries(kind, owner[there], place[there], own[there], kind[owner[there]] == 1)
