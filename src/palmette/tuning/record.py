"""The record of searches: a line of JSON for each training that is over. A search that is run again, after Ctrl-C or
with more trials, takes from it what it has done before.

A line belongs to the searches with the same training data, development data and fixed options, whose `context` it has;
a file may hold those of several.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterator
from typing import Any

import msgspec
import numpy as np

from palmette.data.corpus import Column, Corpus
from palmette.data.files import FilePath, check_output, read_all, shown, write_whole
from palmette.errors import DataError
from palmette.options.declare import Value
from palmette.tuning.space import Settings
from palmette.tuning.trial import Level, Material, Task, Trial


class _Line(msgspec.Struct):
    context: str
    trial: Trial


class Record:
    """Results by settings and level; kept in a file if there is one."""

    def __init__(self, path: FilePath | None, context: str) -> None:
        self.path = path
        self.context = context
        self._found: dict[str, Trial] = {}
        if path is not None:
            check_output(path)
            for line in self._lines():
                if line.context == context:
                    self._found[_key(line.trial.settings, line.trial.level)] = line.trial

    def trial(self, task: Task) -> Trial | None:
        """The result of a task that was done before."""
        found = self._found.get(_key(task.settings, task.level))
        return None if found is None else msgspec.structs.replace(found, number=task.number)

    def add(self, trial: Trial) -> None:
        self._found[_key(trial.settings, trial.level)] = trial
        if self.path is None:
            return
        before = read_all(self.path) if os.path.exists(self.path) else b""
        with write_whole(self.path) as file:
            file.write(before + msgspec.json.encode(_Line(self.context, trial)) + b"\n")

    def _lines(self) -> Iterator[_Line]:
        assert self.path is not None
        if not os.path.exists(self.path):
            return
        for number, line in enumerate(read_all(self.path).splitlines(), 1):
            try:
                yield msgspec.json.decode(line, type=_Line)
            except (msgspec.DecodeError, UnicodeDecodeError):
                raise DataError(
                    "not a line of a record of `palmette tune`", file=shown(self.path), line=number,
                    hint="choose another file, or delete this one",
                ) from None  # fmt: skip


def _key(settings: Settings, level: Level) -> str:
    return msgspec.json.encode((sorted(settings.items()), level)).decode()


def context_of(material: Material) -> str:
    """What results depend on besides settings: the data, and the parameters of the tagger."""
    digest = hashlib.blake2b(digest_size=12)
    for corpus in (material.train, material.dev):
        for part in _parts(corpus):
            digest.update(part)
    fixed = {name: _plain(value) for name, value in sorted(material.space.base.items())}
    digest.update(repr(fixed).encode())
    return digest.hexdigest()


def _plain(value: Any) -> Any:
    return value.to_dict() if isinstance(value, Value) else value


def _parts(corpus: Corpus) -> Iterator[bytes]:
    """The content of a corpus as bytes: sentences, cells, labels, attributes with their values, weights."""
    yield corpus.offset.tobytes()
    given = corpus.attributes
    columns: list[Column | None] = [*corpus.columns, corpus.labels, None if given is None else given.names]
    for column in columns:
        if column is not None:
            yield column.hash[column.ids].tobytes()
    arrays: list[np.ndarray | None] = [corpus.weight]
    if given is not None:
        arrays += [given.ptr, given.val, given.rest]
    yield from (array.tobytes() for array in arrays if array is not None)
