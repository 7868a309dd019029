"""CRF++'s text models (`crf_learn -t`), with their templates.

    version: 100
    cost-factor: X       what all weights are multiplied by
    maxid: N             weights at the end
    xsize: C             columns without the label
                         blank lines separate what follows:
    labels
    templates
    NUMBER STRING        an attribute and its first weight: Y weights for U, Y * Y for B (previous label first)
    weights

`crf_test` reads weights in float32 and adds them in float32, and so does this model.
"""

from __future__ import annotations

import math
import re

import numpy as np

from palmette.connect.models.lines import Lines
from palmette.connect.models.observed import Entries, model_of_observations
from palmette.connect.models.wapiti import compiled
from palmette.structures.chain.imported.model import Imported, ImportedModel, check_labels
from palmette.structures.chain.imported.parts import within_groups
from palmette.structures.stored_features import Names

VERSION = 100
READING = {"format": "columns", "separator": "space"}


def read_crfpp(data: bytes | memoryview, source: str) -> ImportedModel:
    """The model in the bytes of a text model of CRF++; ModelError if it is not one, or damaged."""
    lines = Lines(data, source)
    factor, count = _header(lines)
    labels = lines.texts_until_blank("a label")
    check_labels(labels, lines.data.size, source)
    encoder = compiled("\n".join(lines.texts_until_blank("a template")), "crfpp", source)
    own = lines.until_blank()
    first, start = lines.leading_numbers(own, " ", "an attribute")
    names = lines.strings(start, lines.end[own.start : own.stop], "attribute")
    w = lines.numbers(lines.take(count, "weights"), "the weights").astype(np.float32).astype(np.float64) * factor
    entries = _entries(lines, names, first, w, len(labels), own.start)
    return model_of_observations(labels, encoder, names, entries, Imported("crfpp", source), READING, single=True)


def _header(lines: Lines) -> tuple[float, int]:
    version = _field(lines, "version", r"\d{1,9}")
    if int(version) != VERSION:
        raise lines.damaged(f"version {version}; {VERSION} is the one that CRF++ has", 0)
    factor = float(_field(lines, "cost-factor", r"[-+]?\d{1,20}\.?\d{0,20}(?:[eE][-+]?\d{1,3})?"))
    if not math.isfinite(factor):
        raise lines.damaged(f"cost-factor: {factor}", lines.at - 1)
    count = int(_field(lines, "maxid", r"\d{1,12}"))
    _field(lines, "xsize", r"\d{1,9}")
    if lines.text("a blank line"):
        raise lines.damaged("a blank line should follow the header", lines.at - 1)
    return factor, count


def _field(lines: Lines, name: str, value: str) -> str:
    text = lines.text(name)
    found = re.fullmatch(rf"{name}: ({value})", text)
    if found is None:
        raise lines.damaged(f"`{name}: NUMBER` should follow, and {text[:40]!r} does", lines.at - 1)
    return found[1]


def _entries(lines: Lines, names: Names, first: np.ndarray, w: np.ndarray, n_labels: int, line: int) -> Entries:
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
