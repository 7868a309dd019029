"""The served models by name, and their replacement when a file changes.

A request takes the model that is there when it is decoded, and keeps it until it is answered: a replaced model is let
go when nobody uses it any more. A file that cannot be loaded leaves the old model in place.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Mapping
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

from palmette.errors import DataError, PalmetteError, UsageError
from palmette.estimators.tagger import Tagger
from palmette.serve.failure import Failure
from palmette.serve.model_files import files_of
from palmette.serve.served import Served, stamp_of

logger = logging.getLogger(__name__)


class Source(NamedTuple):
    """Where models come from: files by name, files of helpers by name, and files of data by name (see served.FILES) or,
    for one model, by `MODEL:NAME`."""

    models: Mapping[str, str]
    helpers: Mapping[str, str] = {}
    files: Mapping[str, str] = {}
    corrections: str | None = None  # the folder of corrections; None: beside the model
    copy: bool = False  # read models into memory instead of mapping them


def named_models(given: list[str]) -> dict[str, str]:
    """`FILE` and `NAME=FILE` words as names and files. A name is what stands in addresses."""
    found: dict[str, str] = {}
    for word in given:
        name, equals, path = word.partition("=")
        if not equals or Path(word).is_file():
            name, path = Path(word).name.split(".")[0], word
        if not name or not all(c.isalnum() or c in "-_" for c in name):
            raise UsageError(f"{word}: {name!r} cannot be a name; write NAME=FILE, a name of letters, digits, - and _")
        if name in found:
            raise UsageError(f"two models are called {name}: {found[name]} and {path}; write NAME=FILE for one of them")
        found[name] = path
    return found


class Slot:
    """A name under which a model is served, and the model that is there now."""

    def __init__(self, served: Served) -> None:
        self.served = served
        self.reload_error: str | None = None
        self.failed_stamp: tuple[int, int, int] | None = None


class Registry:
    """All served models. Loading and replacing happen in one thread at a time; looking up needs no lock."""

    def __init__(self, source: Source) -> None:
        self.source = source
        self.lock = threading.Lock()
        self.helpers, self.helper_stamps = self._load_helpers()
        self.slots: dict[str, Slot] = {}
        for name, path in source.models.items():
            self.slots[name] = Slot(self._load(name, path, 1))

    @cached_property
    def files(self) -> dict[str, dict[str, str]]:
        """The files of data of each model by name, which are read to see whether it can use them."""
        return files_of([slot.served for slot in self.slots.values()], self.source.files)

    def slot(self, name: str) -> Slot:
        """The slot of a name; Failure if there is none."""
        found = self.slots.get(name)
        if found is None:
            known = ", ".join(self.slots) or "none"
            raise Failure(404, f"there is no model {name[:100]!r}; there are: {known}")
        return found

    def first(self) -> Slot:
        """The model that was named first."""
        if not self.slots:
            raise Failure(404, "no model is served")
        return next(iter(self.slots.values()))

    def _load_helpers(self) -> tuple[dict[str, Tagger], dict[str, Any]]:
        stamps = {name: _stamp(path) for name, path in self.source.helpers.items()}
        return {name: Tagger.load(path, copy=self.source.copy) for name, path in self.source.helpers.items()}, stamps

    def _load(self, name: str, path: str, generation: int) -> Served:
        _stamp(path)
        return Served(name, path, self.helpers, copy=self.source.copy, generation=generation)

    def refresh(self) -> list[str]:
        """Load what has changed on the disk; the names of the models that were replaced."""
        with self.lock:
            helpers_changed = self._refresh_helpers()
            changed = []
            for name, slot in self.slots.items():
                if self._refresh(name, slot, helpers_changed):
                    changed.append(name)
            return changed

    def _refresh_helpers(self) -> bool:
        try:
            if all(_stamp(path) == self.helper_stamps[name] for name, path in self.source.helpers.items()):
                return False
            self.helpers, self.helper_stamps = self._load_helpers()
        except PalmetteError as error:
            logger.warning("a model of --with is not replaced: %s", error)
            return False
        return True

    def _refresh(self, name: str, slot: Slot, anyway: bool) -> bool:
        old = slot.served
        stamp = None
        try:
            stamp = _stamp(old.path)
            if not anyway and stamp in (old.stamp, slot.failed_stamp):
                return False
            slot.served = self._load(name, old.path, old.generation + 1)
        except (PalmetteError, OSError) as error:
            if stamp is not None and slot.failed_stamp == stamp:
                return False
            if slot.reload_error != str(error):
                logger.warning("%s is not replaced, the model from before is served on: %s", name, error)
            slot.reload_error, slot.failed_stamp = str(error), stamp
            return False
        slot.reload_error = slot.failed_stamp = None
        logger.info("%s is replaced by what %s has now", name, old.path)
        return True


def _stamp(path: str) -> tuple[int, int, int]:
    try:
        return stamp_of(path)
    except OSError as error:
        raise DataError(f"cannot read: {error.strerror}", file=path) from error
