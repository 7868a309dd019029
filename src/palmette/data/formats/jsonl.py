"""JSON lines: one sentence per object, `{"tokens": [...], "tags": [...]}`.

Columns are lists of strings of equal length (`tokens`, and others if given). The labels are found under the
first of LABEL_KEYS that the first object has, unless a key is given: strings, or numbers as in Hugging Face data sets,
which need the list of their names. All other keys are kept when tags are written back.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import islice, pairwise
from typing import Any, NamedTuple, TypeVar

import msgspec
import numpy as np

from palmette.data.corpus import Corpus, Lines, column_of_strings
from palmette.data.formats.labelling import Labelling, token_records, write_cells
from palmette.data.formats.registry import Format, Output
from palmette.data.formats.spec import FormatSpec
from palmette.data.stream import LINES
from palmette.data.text import check_utf8
from palmette.errors import DataError, counted
from palmette.kernels.io.columns import BLANK_LINE, OTHER_LINE, TAB, TOKEN_LINE
from palmette.options.spelling import spelt

LABEL_KEYS = ("tags", "ner_tags", "labels", "pos_tags", "chunk_tags", "upos", "xpos")
TAGS = "tags"

_object = msgspec.json.Decoder(dict[str, msgspec.Raw])
_strings = msgspec.json.Decoder(list[str])
_labels = msgspec.json.Decoder(list[str | int])
_T = TypeVar("_T")


class Keys(NamedTuple):
    """The keys of columns and labels in an object. `label` None: derive it from the first object."""

    columns: tuple[str, ...] = ("tokens",)
    label: str | None = None
    labelled: bool | None = None  # False: labels are not read; True: they must be there
    names: tuple[str, ...] | None = None  # of labels that are numbers


class JsonlParser:
    """Blocks of whole lines to corpora. All objects must have the keys that the first one has."""

    def __init__(self, keys: Keys, source: str) -> None:
        self.keys = keys
        self.source = source

    def __call__(self, data: bytes, first_line: int = 1) -> Corpus:
        check_utf8(data, self.source, first_line)
        rows = data.split(b"\n")
        if not rows[-1]:
            rows.pop()
        kind = np.full(len(rows), BLANK_LINE, np.uint8)
        columns: list[list[str]] = [[] for _ in self.keys.columns]
        labels: list[str] = []
        sizes, places = [], []
        for number, row in enumerate(rows):
            if not row.strip():
                continue
            size = self._add(row, columns, labels, first_line + number)
            kind[number] = TOKEN_LINE if size else OTHER_LINE
            if size:
                sizes.append(size)
                places.append(number)
        width = np.array([len(row) for row in rows], np.int64)
        start = np.cumsum(width + 1) - width - 1
        tokens = np.repeat(np.array(places, np.int64), np.array(sizes, np.int64))
        none = np.zeros(0, np.int64)
        raw = np.frombuffer(data, np.uint8)
        lines = Lines(raw, start, start + width, kind, tokens, none, none, TAB, first_line)
        made = [column_of_strings(column) for column in columns] if sizes else []
        offset = np.concatenate(([0], np.cumsum(sizes))).astype(np.int64)
        has_labels = bool(sizes) and self.keys.labelled is not False and self.keys.label is not None
        found = column_of_strings(labels) if has_labels else None
        return Corpus(offset, made, found, lines=lines, source=self.source)

    def _add(self, row: bytes, columns: list[list[str]], labels: list[str], line: int) -> int:
        """Append the cells of one object; the number of its tokens."""
        fields = self._decoded(_object, row, "", line)
        cells = [self._decoded(_strings, self._field(fields, key, line), key, line) for key in self.keys.columns]
        size = len(cells[0])
        for key, column, found in zip(self.keys.columns, columns, cells, strict=True):
            self._check_length(key, len(found), size, line)
            column += found
        if self.keys.labelled is not False:
            labels += self._tags(fields, size, line)
        return size

    def _tags(self, fields: dict[str, msgspec.Raw], size: int, line: int) -> list[str]:
        key = self.keys.label
        if key is None:
            key = next((name for name in LABEL_KEYS if name in fields and name not in self.keys.columns), None)
            if key is None and self.keys.labelled is None:
                # From now on labels are not read: a corpus has labels everywhere or nowhere.
                self.keys = self.keys._replace(labelled=False)
                return []
            if key is None:
                known = ", ".join(LABEL_KEYS)
                raise self._error(
                    f"no labels: none of the keys {known}",
                    line,
                    f"give the key of the labels: {spelt(FormatSpec, 'label')}",
                )
            self.keys = self.keys._replace(label=key)
        found = self._decoded(_labels, self._field(fields, key, line), key, line)
        self._check_length(key, len(found), size, line)
        return [tag if isinstance(tag, str) else self._named(tag, key, line) for tag in found]

    def _named(self, tag: int, key: str, line: int) -> str:
        names = self.keys.names
        if names is None:
            hint = "labels that are numbers need the list of their names (tag_names), in order"
            raise self._error(f"the label {tag} under {key!r} is a number", line, hint)
        if not 0 <= tag < len(names):
            raise self._error(f"the label {tag} under {key!r} has no name: {len(names)} names are given", line)
        return names[tag]

    def _field(self, fields: dict[str, msgspec.Raw], key: str, line: int) -> msgspec.Raw:
        if key not in fields:
            known = ", ".join(list(fields)[:10]) or "none"
            raise self._error(f"no key {key!r}; the object has {known}", line)
        return fields[key]

    def _check_length(self, key: str, found: int, size: int, line: int) -> None:
        if found != size:
            first = self.keys.columns[0]
            raise self._error(f"{counted(found, 'item')} under {key!r} and {size} under {first!r}", line)

    def _decoded(self, decoder: msgspec.json.Decoder[_T], data: Any, key: str, line: int) -> _T:
        try:
            return decoder.decode(data)
        except (msgspec.DecodeError, RecursionError) as error:
            what = f"the list under {key!r} cannot be read" if key else "not a JSON object"
            hint = None if key else 'write one object a line, such as {"tokens": ["a", "dog"], "tags": ["DT", "NN"]}'
            raise self._error(f"{what}: {error}", line, hint) from None

    def _error(self, message: str, line: int, hint: str | None = None) -> DataError:
        return DataError(message, file=self.source, line=line, hint=hint)


# Writing


def write_objects(given: Labelling) -> bytes:
    """A JSON object per sentence, made from its tokens."""
    return _with_tags(given, token_records(given.corpus))


def _write(given: Labelling) -> bytes:
    """The JSON objects of the input with their tags replaced or added; all other keys stay."""
    return _with_tags(given, input_records(given.corpus))


def _with_tags(given: Labelling, objects: Iterator[tuple[dict[str, Any], int]]) -> bytes:
    tags, records, empty = given.tags(), given.records(), given.empty_record()
    sentences = zip(pairwise(given.corpus.offset.tolist()), records, strict=True)
    made = []
    for fields, n_tokens in objects:
        if n_tokens:
            (start, end), record = next(sentences)
            fields |= {TAGS: tags[start:end], **record}
        else:
            fields |= {TAGS: [], **empty}
        made.append(msgspec.json.encode(fields) + b"\n")
    return b"".join(made)


def input_records(corpus: Corpus) -> Iterator[tuple[dict[str, Any], int]]:
    """The objects that the corpus was read from; 0 tokens: it has no sentence, else some number of tokens."""
    lines = corpus.lines
    assert lines is not None
    data = lines.data.tobytes()
    for start, end, kind in zip(lines.start.tolist(), lines.end.tolist(), lines.kind.tolist(), strict=True):
        if kind != BLANK_LINE:
            yield dict(_object.decode(data[start:end])), int(kind != OTHER_LINE)


def _relabel(corpus: Corpus, spec: FormatSpec, ids: np.ndarray, labels: Sequence[str]) -> bytes:
    """The lines of the input with the labels replaced under their own key. Labels that were numbers become names."""
    lines = corpus.lines
    assert lines is not None
    data, tags = lines.data.tobytes(), iter([labels[k] for k in ids.tolist()])
    sizes = iter(np.diff(corpus.offset).tolist())
    made = []
    for row, kind in zip(data.split(b"\n"), lines.kind.tolist(), strict=False):
        if kind == TOKEN_LINE:
            fields: dict[str, Any] = dict(_object.decode(row))
            fields[spec.label or next(name for name in LABEL_KEYS if name in fields)] = list(islice(tags, next(sizes)))
            row = msgspec.json.encode(fields)
        made.append(row)
    return b"\n".join(made) + (b"\n" if data.endswith(b"\n") else b"")


def _parser(spec: FormatSpec, source: str) -> JsonlParser:
    return JsonlParser(Keys(spec.columns or ("tokens",), spec.label, spec.has_label, spec.tag_names), source)


FORMAT = Format(
    _parser,
    LINES,
    {"jsonl": Output(_write), "columns": Output(write_cells)},
    records=input_records,
    relabel=_relabel,
)
