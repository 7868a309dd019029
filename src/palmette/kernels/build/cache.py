"""Object files of kernels that were built before, and their bitcode, by a hash of all that determines them. Nothing of
them is run when they are read; a file whose content does not match its name counts as missing."""

from __future__ import annotations

import hashlib
import os
import tempfile
from pathlib import Path

from palmette.kernels.core.sources import is_own, read_own, user_cache


def cache_folder() -> Path | None:
    """$PALMETTE_BUILD_CACHE, or a folder in the user's cache; None if it is not ours alone."""
    given, cache = os.environ.get("PALMETTE_BUILD_CACHE"), user_cache()
    folder = Path(given) if given else Path(cache) / "palmette" / "build"
    if not folder.is_absolute():  # no home: never a folder beside whatever is the current one
        return None
    try:
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        return folder if is_own(folder.stat()) else None
    except OSError:
        return None


def _digest(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()[:32]


def read(folder: Path | None, key: str) -> bytes | None:
    """The object of a key."""
    if folder is None:
        return None
    for path in folder.glob(f"{key}-*.o"):
        try:
            data = read_own(path)
        except OSError:
            continue
        if path.name == f"{key}-{_digest(data)}.o":
            return data
    return None


def write(folder: Path | None, key: str, data: bytes) -> None:
    """Keep an object; a full disk is no error."""
    if folder is None:
        return
    beside = None
    try:
        with tempfile.NamedTemporaryFile(dir=folder, suffix=".tmp", delete=False) as file:
            beside = Path(file.name)
            file.write(data)
        os.replace(beside, folder / f"{key}-{_digest(data)}.o")
    except OSError:
        if beside is not None:
            beside.unlink(missing_ok=True)
