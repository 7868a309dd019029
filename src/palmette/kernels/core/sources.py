"""Files with code: the sources that a kernel is made of and their hashes, and who may have written a file."""

from __future__ import annotations

import hashlib
import os
import re
from functools import cache
from pathlib import Path

FOLDER = Path(__file__).parents[1]
PACKAGE = FOLDER.parent
_NAME = re.escape(__name__.partition(".kernels.")[0])
_IMPORT = re.compile(rf"^ *from {_NAME}\.((?:\w+\.)?kernels\.[\w.]+) import", re.MULTILINE)


def kernel_files() -> list[Path]:
    """Every file of the folder `kernels`, and of the folders of that name in rooms."""
    return sorted(path for folder in (FOLDER, *PACKAGE.glob("*/kernels")) for path in folder.rglob("*.py"))


@cache
def sources_of(source: Path) -> frozenset[Path]:
    """The kernel files that the code of `source` can come from: itself and all that it imports, over any steps."""
    found, waiting = {source}, [source]
    while waiting:
        for name in _IMPORT.findall(waiting.pop().read_text(encoding="utf-8")):
            imported = PACKAGE / f"{name.replace('.', '/')}.py"
            if imported not in found and name != "kernels.core.compile":  # decorators are not part of any code
                found.add(imported)
                waiting.append(imported)
    return frozenset(found)


@cache
def source_hash(source: Path) -> str:
    """A hash of what a kernel of this file is made of, wherever the folder is."""
    digest = hashlib.sha256()
    for path in sorted(sources_of(source)):
        digest.update(path.name.encode() + b"\0" + path.read_bytes())
    return digest.hexdigest()


@cache
def all_sources_hash() -> str:
    """A hash of all kernels, and of what builds and calls them."""
    digest = hashlib.sha256()
    for path in kernel_files():
        digest.update(path.relative_to(PACKAGE).as_posix().encode() + b"\0" + path.read_bytes())
    return digest.hexdigest()


# Code that other users may have written is never loaded.


def is_own(about: os.stat_result) -> bool:
    """Whether it belongs to this user and nobody else can write to it. Systems without user ids are trusted."""
    if not hasattr(os, "getuid"):
        return True
    return about.st_uid == os.getuid() and not about.st_mode & 0o022


def read_own(path: str | os.PathLike[str]) -> bytes:
    """The bytes of a file, whose owner is checked on the open file. PermissionError if another user can write to it."""
    with open(path, "rb") as file:
        if not is_own(os.fstat(file.fileno())):
            raise PermissionError(f"{os.fspath(path)}: another user can write to it")
        return file.read()


def user_cache() -> str:
    """The folder for caches of this user; "" if there is none, as in a container without a home."""
    local = os.environ.get("LOCALAPPDATA") if os.name == "nt" else None
    home = os.path.join(os.environ.get("HOME") or "", ".cache")
    found = local or os.environ.get("XDG_CACHE_HOME") or home
    return found if os.path.isabs(found) else ""
