"""Wapiti's text models, with their patterns.

    #mdl#TYPE#N         the type (2: a conditional random field) and how many weights follow; old files have no type
    #rdr#P/C/A          P patterns, each a netstring `LENGTH:TEXT,`; C columns; A: of models without patterns
    #qrk#N              N labels as netstrings
    #qrk#N              N observations, likewise: `u` on labels, `b` on label pairs, `*` on both
    NUMBER=WEIGHT       weights that are not zero, in C's hexadecimal notation

Weights are numbered over the observations: Y numbers for `u`, Y * Y for `b` (previous label first), both for `*`.
"""

from __future__ import annotations

import os
import re

import numpy as np

from palmette.connect.models.lines import Lines
from palmette.connect.models.observed import Entries, model_of_observations
from palmette.data.normal_form import NONE
from palmette.errors import DataError, ModelError
from palmette.features.encode import Encoder
from palmette.features.resources import Resources
from palmette.features.templates import TemplateSet, parse
from palmette.structures.chain.imported.model import Imported, ImportedModel, check_labels
from palmette.structures.stored_features import Names

CRF = 2
TYPES = {0: "a maximum entropy model", 1: "a maximum entropy Markov model"}
READING = {"format": "columns", "separator": "space"}


def read_wapiti(data: bytes | memoryview, source: str) -> ImportedModel:
    """The model in the bytes of a text model of Wapiti; ModelError if it is not one, or damaged."""
    lines = Lines(data, source)
    kind, count = _header(lines)
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


def _header(lines: Lines) -> tuple[int, int]:
    text = lines.text("the header")
    found = re.fullmatch(r"#mdl#(?:(\d{1,3})#)?(\d{1,12})", text)
    if found is None:
        raise lines.damaged(f"the header should be #mdl#TYPE#COUNT, and is {text[:40]!r}", 0)
    return CRF if found[1] is None else int(found[1]), int(found[2])


def _patterns(lines: Lines) -> Encoder:
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


def _quarks(lines: Lines, what: str) -> Names:
    text = lines.text(f"the {what}s")
    found = re.fullmatch(r"#qrk#(\d{1,10})", text)
    if found is None:
        raise lines.damaged(f"#qrk#COUNT should follow, and {text[:40]!r} does", lines.at - 1)
    return _netstrings(lines, int(found[1]), what)


def _netstrings(lines: Lines, count: int, what: str) -> Names:
    own, one = lines.take(count, f"{what}s"), f"an {what}" if what[0] in "aeiou" else f"a {what}"
    size, start = lines.leading_numbers(own, ":", one)
    end = lines.end[own.start : own.stop] - 1
    bad = (size != end - start) | (lines.data[end] != ord(","))
    if bad.any():
        raise lines.damaged(f"{one} does not have the size that it begins with", own.start + int(np.argmax(bad)))
    return lines.strings(start, end, what)


def _weights(lines: Lines, count: int, observations: Names, n_labels: int) -> Entries:
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


def _kinds(lines: Lines, observations: Names) -> np.ndarray:
    """1: on labels, 2: on label pairs, 3: on both, i64[]."""
    length = np.diff(observations.offset)
    first = np.where(length > 0, observations.data[np.minimum(observations.offset[:-1], observations.data.size - 1)], 0)
    kind = (first == ord("u")) * 1 + (first == ord("b")) * 2 + (first == ord("*")) * 3
    if (kind == 0).any():
        raise lines.damaged(
            f"an observation that begins with neither u, b nor *: {observations[int(np.argmin(kind))]!r}"
        )
    return kind.astype(np.int64)
