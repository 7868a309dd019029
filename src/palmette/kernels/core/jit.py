"""Kernels that Numba compiles at their first call, kept on disk in a cache of our own.

Numba's cache has an index file that two processes without a cache can overwrite for each other, keeps damaged entries
for ever, and does not detect changes of called functions in other files. This cache has one file per entry, named by a
hash of the kernel's sources with all that they import, the signature, the machine and the versions; a file is written
under a temporary name and renamed. An entry that cannot be read counts as missing. If another process is compiling a
kernel, this one waits for it for a limited time.
"""

from __future__ import annotations

import hashlib
import itertools
import logging
import os
import pickle
import sys
import tempfile
import time
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import numba
import numba.core.config
import numpy as np
from numba.core.caching import CompileResultCacheImpl, NullCache
from numba.core.serialize import dumps

from palmette.kernels.core.numba_types import compiler_types
from palmette.kernels.core.ownership import is_own, read_own, user_cache
from palmette.kernels.core.signature import StructType, leaves, signature_of
from palmette.kernels.core.sources import source_hash
from palmette.kernels.core.types import ArrayType

try:
    import fcntl
except ImportError:  # Windows: two processes without a cache compile the same kernel twice
    fcntl = None  # type: ignore[assignment]

logger = logging.getLogger(__name__)

LONGEST_WAIT = 300.0  # seconds to wait for another process that compiles

config: Any = numba.core.config  # its settings are created at import, invisible to type checkers
njit: Any = numba.njit

# Options of pieces of kernels. Divisions follow NumPy (inf, nan; whole numbers by 0 are 0): kernels never raise.
PART: dict[str, Any] = {
    "nogil": True, "no_cpython_wrapper": True, "no_cfunc_wrapper": True, "error_model": "numpy"
}  # fmt: skip
INLINE = PART | {"forceinline": True}

_numbers = itertools.count(1)  # of the kernels that this process has compiled


def _report(name: str, number: str = "") -> None:
    """Compiling takes seconds: say so, in Python too."""
    folder = cache_folder()
    kept = f"kept in {folder}" if folder else "not kept: no cache folder of this user; see `palmette doctor`"
    logger.warning("compiling kernel %s: %s (%s)", number or next(_numbers), name, kept)


def cache_folder_choices() -> list[Path]:
    """Folders for compiled code, by preference. Never one that depends on the current folder, which may hold files of
    anybody: an archive that was unpacked there can contain a cache."""
    choices = [os.environ.get("PALMETTE_CACHE_DIR", ""), os.path.join(user_cache(), "palmette")]
    user = os.getuid() if hasattr(os, "getuid") else os.environ.get("USERNAME", "user")
    temporary = tempfile.gettempdir()  # the current folder if there is no other
    if os.path.realpath(temporary) != os.path.realpath(os.curdir):
        choices.append(os.path.join(temporary, f"palmette-{user}"))
    return [Path(choice) for choice in choices if os.path.isabs(choice)]


def why_unusable(folder: Path) -> str | None:
    """Why a folder cannot keep compiled code: it must be writable, by this user only. None if it can."""
    try:
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        if not is_own(folder.stat()):
            return "another user owns it or can write to it"
        with tempfile.TemporaryFile(dir=folder):
            return None
    except OSError as error:
        return str(error.strerror or error)


@cache
def cache_folder() -> Path | None:
    """The folder in use, or None if there is none: then every run compiles."""
    return next((folder for folder in cache_folder_choices() if why_unusable(folder) is None), None)


@cache
def _stamp(source: Path) -> bytes:
    """A hash of what a kernel of this file is made of, and of what compiles it."""
    made_by = (numba.__version__, sys.version, config.BOUNDSCHECK, config.OPT, config.CPU_NAME)
    settings = (source_hash(source), PART, INLINE, made_by)
    return hashlib.sha256(repr(settings).encode()).digest()


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
        self.number, self.compiled = "", False  # for reports

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
            _report(self._name, self.number)
            self.compiled = True
        return found

    def _read(self, path: Path, target_context: Any) -> Any:
        try:
            return self._rebuild(None, target_context, pickle.loads(_unsealed(read_own(path))))
        except Exception:  # missing, damaged, of another user or not a cache entry: compile again
            return None

    def save_overload(self, signature: Any, result: Any) -> None:
        path = self._path(signature, result.codegen)
        beside = path.with_suffix(f".{os.getpid()}.tmp")
        try:
            sealed = _sealed(dumps(self._reduce(None, result)))
            with open(os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
                file.write(sealed)
            os.replace(beside, path)
        except OSError:  # a full disk costs the next run some seconds, but not this run its result
            beside.unlink(missing_ok=True)
        finally:
            _end_turn(path)


class JitKernel:
    """A kernel for the types of its annotations, compiled or loaded at the first call."""

    def __init__(self, py_func: Callable[..., Any], dispatcher: Any) -> None:
        self.py_func, self._dispatcher, self._ready = py_func, dispatcher, False
        self.__name__, self.__doc__, self.__module__ = py_func.__name__, py_func.__doc__, py_func.__module__

    def compile(self, number: str = "") -> bool:
        """Compile or load it now; whether it had to be compiled. `number` is for the report: "3 of 7"."""
        cached = self._dispatcher._cache
        cached.number = number
        if not self._ready:
            self._dispatcher.compile(compiler_types(signature_of(self.py_func)))
            self._dispatcher.disable_compile()  # other types are an error
            self._ready = True
        return bool(getattr(cached, "compiled", True))

    def __call__(self, *arguments: Any) -> Any:
        if not self._ready:
            self.compile()
        kinds = signature_of(self.py_func).arguments
        if len(kinds) == len(arguments):
            arguments = tuple(_as_declared(kind, value) for (_, kind), value in zip(kinds, arguments, strict=True))
        return self._dispatcher(*arguments)


def _as_declared(kind: Any, value: Any) -> Any:
    """Arrays that are declared as read-only are so for Numba, inside of structs too."""
    if isinstance(kind, ArrayType) and kind.readonly and isinstance(value, np.ndarray) and value.flags.writeable:
        value = value.view()
        value.flags.writeable = False
    elif isinstance(kind, StructType) and isinstance(value, kind.cls) and _has_readonly(kind):
        fields = [_as_declared(own, field) for (_, own), field in zip(kind.fields, value, strict=True)]
        return tuple(fields) if kind.cls is tuple else kind.cls(*fields)
    return value


@cache
def _has_readonly(kind: StructType) -> bool:
    return any(isinstance(own, ArrayType) and own.readonly for _, own in leaves(kind))


def throw_away(folder: Path | None) -> tuple[int, int]:
    """Delete compiled kernels, of this version and others; the number of files and bytes. Running processes have loaded
    what they need, or compile it again."""
    files, size = 0, 0
    for path in folder.glob("*.kernel") if folder is not None else ():
        bytes_of_it = path.stat().st_size
        path.unlink(missing_ok=True)
        files, size = files + 1, size + bytes_of_it
    return files, size


def jit_kernel(py_func: Callable[..., Any]) -> Callable[..., Any]:
    """A kernel that is compiled at its first call. One outside of this package (of a test) may leave its types open:
    then every combination of types that it is called with is compiled."""
    dispatcher: Any = njit(nogil=True, error_model="numpy")(py_func)
    folder = cache_folder()
    if folder is not None:
        dispatcher._cache = _OneFileCache(py_func, folder)
    ours = Path(__file__).parents[1] in Path(py_func.__code__.co_filename).parents
    return JitKernel(py_func, dispatcher) if ours else dispatcher
