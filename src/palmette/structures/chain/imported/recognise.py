"""Which tool a model file is of, by its first bytes."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import TYPE_CHECKING

from palmette.data.files import FilePath, peek, read_all, shown
from palmette.lazy import loaded

if TYPE_CHECKING:
    from palmette.structures.chain.model import ChainModel

Reader = Callable[[bytes, str], "ChainModel"]
LONGEST = 16  # bytes that decide
READERS = {
    b"lCRF": "connect.crfsuite_models:read_crfsuite",
    b"#mdl#": "connect.wapiti_models:read_wapiti",
    b"version: ": "connect.wapiti_models:read_crfpp",
}


def reader_of(path: FilePath) -> Reader | None:
    """What reads the model of another tool; None: it is a Palmette model, or no model at all."""
    if not os.path.isfile(path):
        return None
    head = peek(path, lambda data: len(data) >= LONGEST)
    return next((loaded(place) for mark, place in READERS.items() if head.startswith(mark)), None)


def load_imported(path: FilePath) -> ChainModel | None:
    """The model of another tool; None if the file is not one."""
    reader = reader_of(path)
    return None if reader is None else reader(read_all(path), shown(path))
