"""Kernels as machine code in a shared library that came with the package; see build/ for how it is made.

Loading it takes `ctypes` and NumPy. A call turns its arguments into 64-bit words (see build/entry.py), after checking
that every array has exactly the declared type: machine code cannot tell. Words of a struct are kept with it, so that a
model or a corpus is checked once and each call passes a pointer. The GIL is released during a call.
"""

from __future__ import annotations

import ctypes
import json
import os
import platform
import struct
import sys
import weakref
from collections.abc import Callable, Iterator
from functools import cache
from typing import Any

import numpy as np

from palmette.kernels.core.signature import BOOL, FLOAT, StructType, n_words, signature_of
from palmette.kernels.core.types import ArrayType

FOLDER = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "_library")
SUFFIX = {"win32": ".dll", "darwin": ".dylib"}.get(sys.platform, ".so")
# What x86-64-v3 has beyond the baseline, as Linux names it
V3_FLAGS = {"avx2", "bmi1", "bmi2", "f16c", "fma", "abm", "movbe"}


# --- which library -------------------------------------------------------------------------------------------


@cache
def about() -> dict[str, Any]:
    """What the build recorded: levels, source hash, signatures. Empty if there is no library."""
    try:
        with open(os.path.join(FOLDER, "library.json"), encoding="utf-8") as file:
            found: dict[str, Any] = json.load(file)
    except (OSError, ValueError):
        return {}
    return found


def _has_v3() -> bool:
    try:
        with open("/proc/cpuinfo", encoding="ascii", errors="replace") as file:
            flags = next((line for line in file if line.startswith("flags")), "")
    except OSError:
        return False
    return set(flags.split()) >= V3_FLAGS


@cache
def level() -> str | None:
    """The best processor level in the package that this machine has."""
    levels = about().get("levels", [])
    if about().get("machine") != platform.machine():
        return None
    for name in levels:  # best first
        if name != "x86-64-v3" or _has_v3():
            return str(name)
    return None


@cache
def is_stale() -> bool:
    """Whether an editable install has sources that are newer than its library."""
    if not about().get("editable"):
        return False
    from palmette.kernels.core.sources import all_sources_hash

    return about().get("sources") != all_sources_hash()


def why_not() -> str:
    """Why there is no usable library, for messages."""
    if not about():
        return "this installation of palmette has no compiled kernels (install a wheel, or the extra palmette[jit])"
    if level() is None:
        return (
            f"the compiled kernels are for {about().get('machine')}, this is {platform.machine()} (try palmette[jit])"
        )
    if is_stale():
        return (
            "the compiled kernels are older than their sources (run `pip install -e .` again, or install palmette[jit])"
        )
    return "the library of compiled kernels cannot be loaded"


def _path() -> str:
    return os.path.join(FOLDER, f"palmette-{level()}{SUFFIX}")


@cache
def is_usable() -> bool:
    return level() is not None and not is_stale() and os.path.exists(_path())


@cache
def _library() -> Any:
    if not is_usable():
        raise RuntimeError(why_not())
    handle = ctypes.CDLL(_path())
    handle.palmette_release.argtypes = [ctypes.c_void_p]
    handle.palmette_release.restype = None
    return handle


# --- arguments -----------------------------------------------------------------------------------------------


def _wrong(kind: ArrayType, value: Any, name: str) -> TypeError:
    if not isinstance(value, np.ndarray):
        return TypeError(f"{name}: {kind} is expected, not {type(value).__name__}")
    flags = value.flags
    order = "" if flags.c_contiguous and flags.aligned else ", not contiguous"
    return TypeError(
        f"{name}: {kind} is expected, not {value.dtype}[{', '.join(':' * value.ndim)}]{order}"
        f"{'' if flags.writeable or kind.readonly else ', read-only'}"
    )


def _array_words(kind: ArrayType, value: Any, name: str, words: list[Any]) -> None:
    if type(value) is not np.ndarray and not isinstance(value, np.ndarray):
        raise _wrong(kind, value, name)
    flags = value.flags
    fits = flags.c_contiguous and flags.aligned if kind.readonly else flags.carray
    if not fits or value.ndim != kind.ndim or value.dtype != kind.dtype:
        raise _wrong(kind, value, name)
    words.append(value.__array_interface__["data"][0])
    words.extend(value.shape)


def _words(kind: Any, value: Any, name: str, words: list[Any]) -> None:
    """Add the words of a value, in order."""
    if isinstance(kind, ArrayType):
        _array_words(kind, value, name, words)
    elif isinstance(kind, StructType):
        if not isinstance(value, kind.cls) or len(value) != len(kind.fields):
            raise TypeError(f"{name}: {kind.cls.__name__} is expected, not {type(value).__name__}")
        for (own, inner), field in zip(kind.fields, value, strict=True):
            _words(inner, field, f"{name}.{own}", words)
    elif kind == BOOL:
        words.append(1 if value else 0)
    else:
        words.append(value)


def _format(kind: Any) -> str:
    """The words of a type for the struct module: signed, pointers, and floats by their bits."""
    if isinstance(kind, StructType):
        return "".join(_format(own) for _, own in kind.fields)
    if isinstance(kind, ArrayType):
        return "Q" + "q" * kind.ndim
    return "d" if kind == FLOAT else "q"


@cache
def _packer(kind: StructType) -> struct.Struct:
    return struct.Struct("=" + _format(kind))


def bound(kind: StructType, value: Any, name: str) -> int:
    """The address of the words of a struct. They are made at the first call and kept in the struct, which keeps its
    arrays alive."""
    try:
        kept = value.__dict__.get("_words")
    except AttributeError:
        raise TypeError(f"{name}: {kind.cls.__name__} is expected, not {type(value).__name__}") from None
    if kept is None or kept[0] is not kind:
        words: list[Any] = []
        _words(kind, value, name, words)
        packer = _packer(kind)
        buffer = ctypes.create_string_buffer(packer.size)
        packer.pack_into(buffer, 0, *words)
        kept = value.__dict__["_words"] = (kind, ctypes.addressof(buffer), buffer)
    return int(kept[1])


# --- results -------------------------------------------------------------------------------------------------


def _arrays(value: Any) -> Iterator[np.ndarray]:
    if isinstance(value, np.ndarray):
        yield value
    elif isinstance(value, tuple):
        for field in value:
            yield from _arrays(field)


def _made_array(kind: ArrayType, words: Iterator[int], arguments: tuple[Any, ...]) -> np.ndarray:
    """An array that a kernel returned: its own, or one that it was given."""
    owner, address = next(words), next(words)
    shape = tuple(next(words) for _ in range(kind.ndim))
    dtype = np.dtype(kind.dtype)
    size = dtype.itemsize
    for length in shape:
        size *= length
    if owner == 0:
        for given in _arrays(arguments):
            if given.__array_interface__["data"][0] == address and given.shape == shape and given.dtype == dtype:
                return given
        return np.frombuffer(ctypes.string_at(address, size), dtype).reshape(shape).copy()
    buffer: Any = (ctypes.c_char * size).from_address(address)
    weakref.finalize(buffer, _library().palmette_release, owner).atexit = False
    return np.frombuffer(buffer, dtype).reshape(shape) if size else np.empty(shape, dtype)


def _result(kind: Any, words: Iterator[int], arguments: tuple[Any, ...]) -> Any:
    if isinstance(kind, StructType):
        values = [_result(own, words, arguments) for _, own in kind.fields]
        return tuple(values) if kind.cls is tuple else kind.cls(*values)
    if isinstance(kind, ArrayType):
        return _made_array(kind, words, arguments)
    word = next(words)
    if kind == FLOAT:
        return struct.unpack("=d", struct.pack("=q", word))[0]
    return bool(word) if kind == BOOL else word


def _result_words(kind: Any) -> int:
    """As `n_words`, with an owner for each array."""
    if isinstance(kind, StructType):
        return sum(_result_words(own) for _, own in kind.fields)
    return n_words(kind) + isinstance(kind, ArrayType)


class NativeKernel:
    """A kernel of the library, bound at its first call."""

    def __init__(self, py_func: Callable[..., Any]) -> None:
        self.py_func = py_func
        self.__name__, self.__doc__, self.__module__ = py_func.__name__, py_func.__doc__, py_func.__module__
        self._function: Any = None

    def _bind(self) -> None:
        recorded = about()["kernels"].get(self.__name__)
        signature = signature_of(self.py_func)
        if recorded != str(signature):
            raise RuntimeError(
                f"kernel {self.__name__} of {self.__module__} is not in the compiled library with these types: "
                "build it again with `pip install`"
            )
        self._signature = signature
        self._names = [f"{self.__name__}({name})" for name, _ in signature.arguments]
        formats = ("Q" if isinstance(kind, StructType) else _format(kind) for _, kind in signature.arguments)
        self._pack = struct.Struct("=" + "".join(formats)).pack
        self._n_results = _result_words(signature.result)
        function = getattr(_library(), f"palmette_{self.__name__}")
        function.argtypes, function.restype = [ctypes.c_char_p, ctypes.c_void_p], ctypes.c_int32
        self._function = function

    def __call__(self, *arguments: Any) -> Any:
        if self._function is None:
            self._bind()
        kinds = self._signature.arguments
        if len(arguments) != len(kinds):
            raise TypeError(f"{self.__name__} takes {len(kinds)} arguments, not {len(arguments)}")
        words: list[Any] = []
        for (_, kind), value, name in zip(kinds, arguments, self._names, strict=True):
            if type(kind) is StructType:
                words.append(bound(kind, value, name))
            else:
                _words(kind, value, name, words)
        try:
            packed = self._pack(*words)
        except struct.error as error:
            raise TypeError(f"{self.__name__}: {error}") from None
        out = (ctypes.c_int64 * self._n_results)()
        if self._function(packed, out):
            raise MemoryError(f"not enough memory in kernel {self.__name__}")
        return None if self._signature.result is None else _result(self._signature.result, iter(out), arguments)
