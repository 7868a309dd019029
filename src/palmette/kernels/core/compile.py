"""The decorators of kernels: `@kernel` is `njit(nogil=True)` with a disk cache of its own.

Numba's cache has an index file that two processes without a cache can overwrite for each other, keeps damaged entries
for ever, and does not detect changes of called functions in other files. This cache has one file per entry, named by a
hash of the kernel's sources with all that they import, the signature, the machine and the versions; a file is written
under a temporary name and renamed. An entry that cannot be read counts as missing. If another process is compiling a
kernel, this one waits for it for a limited time.
"""

from __future__ import annotations

import hashlib
import os
import pickle
import re
import sys
import tempfile
import time
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import numba
import numba.core.config
from numba.core.caching import CompileResultCacheImpl, NullCache
from numba.core.serialize import dumps

try:
    import fcntl
except ImportError:  # Windows: two processes without a cache compile the same kernel twice
    fcntl = None  # type: ignore[assignment]

LONGEST_WAIT = 300.0  # seconds to wait for another process that compiles

config: Any = numba.core.config  # its settings are created at import, invisible to type checkers
njit: Any = numba.njit

# Called with the kernel's name just before something is compiled; the command line sets it.
on_compile: list[Callable[[str], None]] = []


def cache_folder_choices() -> list[Path]:
    """Folders for compiled code, by preference."""
    choices = []
    for variable in ("PALMETTE_CACHE_DIR", "NUMBA_CACHE_DIR"):
        if os.environ.get(variable):
            choices.append(Path(os.environ[variable]))
    home_cache = os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")
    if sys.platform == "win32" and os.environ.get("LOCALAPPDATA"):
        home_cache = os.environ["LOCALAPPDATA"]
    choices.append(Path(home_cache) / "palmette")
    user = os.getuid() if hasattr(os, "getuid") else os.environ.get("USERNAME", "user")
    choices.append(Path(tempfile.gettempdir()) / f"palmette-{user}")
    return choices


def _usable(folder: Path) -> bool:
    """Whether a folder can be used: the cache holds code, so it must belong to the user."""
    try:
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        if hasattr(os, "getuid") and folder.stat().st_uid != os.getuid():
            return False
        with tempfile.TemporaryFile(dir=folder):
            return True
    except OSError:
        return False


@cache
def cache_folder() -> Path | None:
    """The folder in use, or None if none is writable: then every run compiles."""
    return next((folder for folder in cache_folder_choices() if _usable(folder)), None)


_PACKAGE = __name__.removesuffix(".core.compile")
_IMPORT = re.compile(rf"^from {re.escape(_PACKAGE)}\.([\w.]+) import", re.MULTILINE)


@cache
def _sources(source: Path) -> frozenset[Path]:
    """The kernel files that the code of `source` depends on: itself and all that it imports, directly or not. A file
    outside this folder (a kernel of a test or a plug-in) may use all of them."""
    folder = Path(__file__).parents[1]
    if folder not in source.parents:
        return frozenset(folder.rglob("*.py")) | ({source} if source.is_file() else frozenset())
    found, waiting = {source, Path(__file__)}, [source]
    while waiting:
        for name in _IMPORT.findall(waiting.pop().read_text(encoding="utf-8")):
            imported = folder / f"{name.replace('.', '/')}.py"
            if imported not in found:
                found.add(imported)
                waiting.append(imported)
    return frozenset(found)


@cache
def _stamp(source: Path) -> bytes:
    """A hash of the sources of a kernel of this file, and of the compiler versions."""
    digest = hashlib.sha256()
    for path in sorted(_sources(source)):
        digest.update(path.read_bytes())
    settings = (numba.__version__, sys.version, config.BOUNDSCHECK, config.OPT, config.CPU_NAME)
    digest.update(repr(settings).encode())
    return digest.digest()


def _sealed(code: bytes) -> bytes:
    """Code with a checksum in front: a flipped bit in machine code would crash the process."""
    return hashlib.sha256(code).digest() + code


def _unsealed(data: bytes) -> bytes:
    if hashlib.sha256(data[32:]).digest() != data[:32]:
        raise ValueError("damaged")
    return data[32:]


_turns: dict[Path, Any] = {}  # the locks that this process holds, by cache entry


def _take_turn(path: Path) -> None:
    """Wait until the entry exists or no other process compiles it; then lock it. A lock ends with its process, and a
    stuck process delays others by at most LONGEST_WAIT."""
    if fcntl is None or path in _turns or path.exists():  # exists but is damaged: no need to wait
        return
    try:
        lock = open(path.with_suffix(".lock"), "wb")  # noqa: SIM115 - open for as long as it compiles
    except OSError:
        return
    patience = time.monotonic() + LONGEST_WAIT
    while not path.exists() and time.monotonic() < patience:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            time.sleep(0.02)
        else:
            _turns[path] = lock
            return
    lock.close()


def _end_turn(path: Path) -> None:
    lock = _turns.pop(path, None)
    if lock is not None:
        path.with_suffix(".lock").unlink(missing_ok=True)
        lock.close()


class _OneFileCache(NullCache):
    """One file for each kernel and signature. It has the interface that a Numba dispatcher expects."""

    def __init__(self, py_func: Callable[..., Any], folder: Path) -> None:
        self._name = f"{py_func.__module__.rpartition('.')[2]}.{py_func.__qualname__}"
        self._folder = folder
        self._source = Path(py_func.__code__.co_filename)
        impl: Any = CompileResultCacheImpl
        self._rebuild = impl.rebuild
        self._reduce = impl.reduce

    @property
    def cache_path(self) -> str:
        return str(self._folder)

    def _path(self, signature: Any, codegen: Any) -> Path:
        key = hashlib.sha256(_stamp(self._source) + repr((self._name, signature, codegen.magic_tuple())).encode())
        return self._folder / f"{self._name}-{key.hexdigest()[:24]}.kernel"

    def load_overload(self, signature: Any, target_context: Any) -> Any:
        target_context.refresh()
        path = self._path(signature, target_context.codegen())
        found = self._read(path, target_context)
        if found is None:
            _take_turn(path)
            found = self._read(path, target_context)
            if found is not None:
                _end_turn(path)
                return found
            for listener in on_compile:
                listener(self._name)
        return found

    def _read(self, path: Path, target_context: Any) -> Any:
        try:
            return self._rebuild(None, target_context, pickle.loads(_unsealed(path.read_bytes())))
        except Exception:  # missing, damaged or not a cache entry: compile again
            return None

    def save_overload(self, signature: Any, result: Any) -> None:
        path = self._path(signature, result.codegen)
        beside = path.with_suffix(f".{os.getpid()}.tmp")
        try:
            beside.write_bytes(_sealed(dumps(self._reduce(None, result))))
            os.replace(beside, path)
        except OSError:  # a full disk costs the next run some seconds, but not this run its result
            beside.unlink(missing_ok=True)
        finally:
            _end_turn(path)


def kernel(py_func: Callable[..., Any]) -> Callable[..., Any]:
    """Compile `py_func` on first call for the types it gets, and keep the code on disk."""
    if config.DISABLE_JIT:
        return py_func
    dispatcher: Any = njit(nogil=True)(py_func)
    folder = cache_folder()
    if folder is not None:
        dispatcher._cache = _OneFileCache(py_func, folder)
    return dispatcher


def part(py_func: Callable[..., Any]) -> Callable[..., Any]:
    """A piece of a kernel: no cache entry, and no wrapper to call it from Python (a test that wants it calls
    it through a kernel of its own; wrappers would double the compile time)."""
    if config.DISABLE_JIT:
        return py_func
    made: Callable[..., Any] = njit(nogil=True, no_cpython_wrapper=True, no_cfunc_wrapper=True)(py_func)
    return made


def inline(py_func: Callable[..., Any]) -> Callable[..., Any]:
    """A small piece of an inner loop, always folded into its caller: a call counts references of every array
    it passes, which costs more than the body. Larger pieces are `part`s: folding them all took three times
    as long to compile."""
    if config.DISABLE_JIT:
        return py_func
    options = {"nogil": True, "no_cpython_wrapper": True, "no_cfunc_wrapper": True, "forceinline": True}
    made: Callable[..., Any] = njit(**options)(py_func)
    return made
