"""The file in which a `CRF` has its model: one that the user named, or a temporary one that goes with the object.

The content of a temporary file is part of a pickle; a file with a name of its own is stored as that name.
"""

from __future__ import annotations

import os
import tempfile
import weakref
from pathlib import Path
from typing import Any

from palmette.data.files import FilePath

CONTENT = "__FILE_RESOURCE_DATA__"  # of a temporary file, in a pickle; the name that sklearn-crfsuite has for it


class FileResource:
    """`name` is the path of the file, None before there is one; `auto` says whether it is a temporary file."""

    def __init__(
        self, filename: FilePath | None = None, keep_tempfiles: bool = False, suffix: str = "", prefix: str = ""
    ) -> None:
        self.name = None if filename is None else os.fspath(filename)
        self.auto = filename is None
        self.keep_tempfiles = keep_tempfiles
        self.suffix = suffix
        self.prefix = prefix
        self._removal: weakref.finalize[Any, Any] | None = None

    def ensure_name(self) -> None:
        """Make the temporary file if there is no file yet."""
        if self.name is not None:
            return
        handle, self.name = tempfile.mkstemp(self.suffix, self.prefix)
        os.close(handle)
        if not self.keep_tempfiles:
            self._removal = weakref.finalize(self, _remove, self.name, os.getpid())

    def refresh(self) -> None:
        """A file for a new model: another temporary file, or the named file again."""
        self.cleanup()
        self.ensure_name()

    def cleanup(self) -> None:
        """Remove the temporary file, unless it is to be kept, and forget its name."""
        if not self.auto:
            return
        if self._removal is not None:
            self._removal()
            self._removal = None
        self.name = None

    @property
    def bytes(self) -> bytes | None:
        """The content of the file; None if there is none."""
        return None if self.name is None else Path(self.name).read_bytes()

    def __getstate__(self) -> dict[str, Any]:
        state = {name: value for name, value in vars(self).items() if name != "_removal"}
        if self.auto:
            state |= {"name": None, CONTENT: self.bytes}
        return state

    def __setstate__(self, state: dict[str, Any]) -> None:
        own = {name: state[name] for name in ("name", "auto", "keep_tempfiles", "suffix", "prefix")}
        content = state.get(CONTENT)
        vars(self).update(own, _removal=None)
        if self.auto:
            self.name = None
        if content is not None:
            self.ensure_name()
            assert self.name is not None
            Path(self.name).write_bytes(content)


def _remove(name: str, owner: int) -> None:
    """Remove a file, but not from a process that was forked from the one that made it."""
    if os.getpid() == owner:
        Path(name).unlink(missing_ok=True)
