"""Folders of the user's files: which there are, and new ones written whole or not at all."""

from __future__ import annotations

import contextlib
import os
import shutil
import tempfile
from collections.abc import Iterator

from palmette.data.files import FilePath, shown
from palmette.errors import DataError


def files_in(folder: FilePath, ending: str) -> list[str]:
    """The files of a folder and its subfolders with this ending, by names relative to it, in order."""
    found = []
    try:
        for place, folders, names in os.walk(folder, onerror=_raise):
            folders[:] = [name for name in folders if not name.startswith(".")]
            for name in names:
                if name.endswith(ending) and not name.startswith("."):
                    found.append(os.path.relpath(os.path.join(place, name), folder).replace(os.sep, "/"))
    except OSError as error:
        raise DataError(f"cannot read the folder: {error.strerror}", file=shown(folder)) from error
    return sorted(found)


def _raise(error: OSError) -> None:
    raise error


@contextlib.contextmanager
def new_folder(path: FilePath) -> Iterator[str]:
    """A folder to write files into, which appears under its name when the body ends, and not at all if that raises.
    DataError if there is something under that name already."""
    name = os.path.abspath(os.fspath(path))
    if os.path.lexists(name) and not (os.path.isdir(name) and not os.listdir(name)):
        raise DataError("cannot write: it exists already", file=shown(path), hint="choose the name of a new folder")
    parent = os.path.dirname(name)
    if not os.path.isdir(parent):
        raise DataError(f"cannot write: no folder {parent}", file=shown(path), hint="create the folder first")
    try:
        temporary = tempfile.mkdtemp(prefix=".palmette-", suffix=".folder", dir=parent)
    except OSError as error:
        raise DataError(f"cannot write: {error.strerror}", file=shown(path)) from error
    try:
        yield temporary
        umask = os.umask(0)
        os.umask(umask)
        os.chmod(temporary, 0o777 & ~umask)
        os.replace(temporary, name)
    except BaseException:
        shutil.rmtree(temporary, ignore_errors=True)
        raise


def path_in(folder: str, name: str) -> str:
    """The path of a file in a folder; its subfolders are made."""
    path = os.path.join(folder, *name.split("/"))
    os.makedirs(os.path.dirname(path), exist_ok=True)
    return path
