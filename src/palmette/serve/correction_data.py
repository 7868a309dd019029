"""Corrections as training data: a corpus with partly known labels, and a file in the format of the training data."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec

from palmette.data.corpus import Corpus, column_of_strings
from palmette.data.formats.attributes import escaped
from palmette.data.formats.columns import SEPARATORS, column_number
from palmette.data.formats.conllu_light import CONLLU_FIELDS
from palmette.data.formats.labelling import BREAKING
from palmette.data.formats.spec import FormatSpec
from palmette.data.items import corpus_from_items
from palmette.data.labels.mask import ANY
from palmette.errors import DataError
from palmette.parsing.retag import field_named
from palmette.serve.types import Correction

NOTHING = "_"
ENDINGS = {"columns": ".txt", "conllu": ".conllu", "jsonl": ".jsonl", "attributes": ".crfsuite"}


def cell_of(labels: str | list[str] | None) -> str:
    """What is known of a label, as files have it."""
    if labels is None:
        return ANY
    return labels if isinstance(labels, str) else "|".join(labels)


def corpus_of(corrections: Sequence[Correction], mode: str, source: str, labels: Sequence[str] = ()) -> Corpus:
    """Corrected sentences with their labels. mode: columns or attributes; labels: those of the model, which are labels
    even if they look partly known."""
    corpus = corpus_from_items([one.tokens for one in corrections], mode=mode).corpus
    corpus.source = source
    known = set(labels)
    sets: dict[str, frozenset[str]] = {}
    cells = []
    for given in (labels for one in corrections for labels in one.labels):
        cell = cell_of(given)
        if not isinstance(given, str):
            while cell in known:
                cell += ANY
            sets[cell] = frozenset(given or ())
        cells.append(cell)
    corpus.labels = column_of_strings(cells)
    if sets:
        corpus.label_sets = sets
    return corpus


def written_format(reading: dict[str, Any] | None, attributes: bool) -> FormatSpec:
    """The format that corrections are written in: that of the training data, if it can hold partly known labels."""
    spec = FormatSpec() if reading is None else FormatSpec.from_stored(reading)
    if attributes:
        return FormatSpec(format="attributes")
    if spec.format in ENDINGS and spec.format != "attributes":
        return spec
    return FormatSpec(format="columns" if spec.format in ("auto", "attributes") else "jsonl")


def file_bytes(corrections: Sequence[Correction], spec: FormatSpec) -> bytes:
    """The corrections as a file: `?` where nothing is known of a label, `A|B` for one of several."""
    write = {"columns": _columns, "conllu": _conllu, "jsonl": _jsonl, "attributes": _attributes}[spec.format]
    return "".join(write(one, spec) for one in corrections).encode()


def _cells(token: Any) -> list[str]:
    return [token] if isinstance(token, str) else list(token)


def _columns(one: Correction, spec: FormatSpec) -> str:
    between = {"tab": "\t", "space": " ", "auto": "\t"}.get(spec.separator)
    if between is None:
        between = chr(SEPARATORS[spec.separator]) if spec.separator in SEPARATORS else spec.separator
    lines = []
    for token, labels in zip(one.tokens, one.labels, strict=True):
        row = _placed(_cells(token), cell_of(labels), spec)
        broken = next((cell for cell in row if not cell or BREAKING.search(cell) or between in cell), None)
        if broken is not None:
            raise DataError(f"{broken[:40]!r} cannot be a cell of columns: it is empty, or has a separator")
        lines.append(between.join(row))
    return "\n".join(lines) + "\n\n"


def _placed(cells: list[str], label: str, spec: FormatSpec) -> list[str]:
    """The cells of a line where the training data has them; what is not known of it is `_`."""
    places = None if spec.columns is None else [column_number(name) for name in spec.columns]
    at = -1 if spec.label is None else column_number(spec.label)
    if places is None or len(places) != len(cells) or min(places) < 0 or at < -1:
        return [*cells, label]
    width = max([*places, at]) + 1 + (at == -1)
    row = [NOTHING] * width
    for place, cell in zip(places, cells, strict=True):
        row[place] = cell
    row[at] = label
    return row


def _conllu(one: Correction, spec: FormatSpec) -> str:
    fields = list(CONLLU_FIELDS)
    places = [fields.index(field_named(name)) for name in spec.columns or ("form",)]
    at = fields.index(field_named(spec.label or "upos"))
    lines = []
    for i, (token, labels) in enumerate(zip(one.tokens, one.labels, strict=True)):
        row = [str(i + 1), *[NOTHING] * 9]
        for place, cell in zip(places, _cells(token), strict=False):
            row[place] = cell
        row[at] = cell_of(labels)
        broken = next((cell for cell in row if not cell or BREAKING.search(cell)), None)
        if broken is not None:
            raise DataError(f"{broken[:40]!r} cannot be a cell of CoNLL-U: it is empty, or has a TAB or line end")
        lines.append("\t".join(row))
    return "\n".join(lines) + "\n\n"


def _jsonl(one: Correction, spec: FormatSpec) -> str:
    names = spec.columns if spec.format == "jsonl" and spec.columns else ("tokens",)
    rows = [_cells(token) for token in one.tokens]
    width = max(len(row) for row in rows)
    keys = [*names, *(f"column{k}" for k in range(len(names), width))][:width]
    record: dict[str, Any] = {key: [row[k] for row in rows] for k, key in enumerate(keys)}
    record[spec.label or "tags"] = [cell_of(labels) for labels in one.labels]
    return msgspec.json.encode(record).decode() + "\n"


def _attributes(one: Correction, spec: FormatSpec) -> str:
    lines = []
    for token, labels in zip(one.tokens, one.labels, strict=True):
        names = _named_attributes(token)
        if any(not name or BREAKING.search(name) for name in names):
            raise DataError("an attribute is empty, or has a TAB or line end")
        lines.append("\t".join([escaped(cell_of(labels)), *names]))
    return "\n".join(lines) + "\n\n"


def _named_attributes(token: Any) -> list[str]:
    if isinstance(token, str):
        return [escaped(token)]
    if isinstance(token, list):
        return [escaped(name) for name in token]
    made = []
    for name, value in token.items():
        if isinstance(value, list):
            made += [escaped(f"{name}:{each}") for each in value]
        elif isinstance(value, str):
            made.append(escaped(f"{name}:{value}"))
        elif isinstance(value, bool):
            made += [escaped(name)] if value else []
        elif value is not None:
            made.append(f"{escaped(name)}:{value!r}")
    return made
