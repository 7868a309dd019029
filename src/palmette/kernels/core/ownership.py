"""Who can have written a file or folder that holds code. Code of others is never loaded."""

from __future__ import annotations

import os


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
