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
from collections.abc import Callable, Iterator
from functools import cache
from typing import Any

import numpy as np

from palmette.errors import UsageError
from palmette.kernels.core.types import BOOL, FLOAT, ArrayType, StructType, n_words, signature_hash, signature_of

FOLDER = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "_library")
ABI = 2  # of the words that kernels take and return; to be raised with every change of build/entry.py or of this module

# Instruction sets as Linux names them: what CPUID is asked (leaf, subleaf), the register (eax, ebx, ecx, edx), the bits
CPUID: dict[tuple[int, int, int], dict[str, int]] = {
    (1, 0, 2): {
        "pclmulqdq": 1, "ssse3": 9, "fma": 12, "sse4_1": 19, "sse4_2": 20, "movbe": 22, "popcnt": 23, "aes": 25,
        "avx": 28, "f16c": 29,
    },
    (7, 0, 1): {
        "bmi1": 3, "avx2": 5, "bmi2": 8, "avx512f": 16, "avx512dq": 17, "adx": 19, "avx512ifma": 21, "avx512cd": 28,
        "sha_ni": 29, "avx512bw": 30, "avx512vl": 31,
    },
    (7, 0, 2): {
        "avx512vbmi": 1, "avx512_vbmi2": 6, "gfni": 8, "vaes": 9, "vpclmulqdq": 10, "avx512_vnni": 11,
        "avx512_bitalg": 12, "avx512_vpopcntdq": 14,
    },
    (7, 0, 3): {"avx512_vp2intersect": 8, "amx_bf16": 22, "avx512_fp16": 23, "amx_tile": 24, "amx_int8": 25},
    (7, 1, 0): {"avx_vnni": 4, "avx512_bf16": 5},
    (0x80000001, 0, 2): {"abm": 5, "sse4a": 6, "xop": 11, "fma4": 16, "tbm": 21},
}  # fmt: skip
OSXSAVE = 27  # of (1, 0, 2): the system tells which registers it keeps
# Instruction sets are of use if the system keeps their registers: bits of XCR0, by how names begin, the first that fits
KEPT = {"avx512": 0xE6, "amx": 0x60000, **dict.fromkeys(("avx", "fma", "f16c", "vaes", "vpclmul", "xop"), 0x6)}


# --- which library -------------------------------------------------------------------------------------------


@cache
def about() -> dict[str, Any]:
    """What the build recorded: files by level, source hash, signatures. Empty if there is no library, or not one whose
    calling convention we know."""
    try:
        with open(os.path.join(FOLDER, "library.json"), encoding="utf-8") as file:
            found: Any = json.load(file)
    except (OSError, ValueError):
        return {}
    fits = isinstance(found, dict) and found.get("abi") == ABI
    fits = fits and isinstance(found.get("levels"), dict) and isinstance(found.get("kernels"), dict)
    return found if fits else {}


def flags_from(cpuid: Callable[[int, int], tuple[int, ...]], xcr0: Callable[[], int]) -> frozenset[str]:
    """Instruction sets of an x86-64 processor that the system supports."""
    largest = cpuid(0, 0)[0]
    subleaves = cpuid(7, 0)[0] if largest >= 7 else 0
    kept = xcr0() if cpuid(1, 0)[2] >> OSXSAVE & 1 else 0
    found = set()
    for (leaf, subleaf, register), bits in CPUID.items():
        if (leaf > largest and leaf < 0x80000000) or (leaf == 7 and subleaf > subleaves):
            continue
        word = cpuid(leaf, subleaf)[register]
        found |= {name for name, bit in bits.items() if word >> bit & 1}
    needs = {name: next((bits for begin, bits in KEPT.items() if name.startswith(begin)), 0) for name in found}
    return frozenset(name for name in found if needs[name] & kept == needs[name])


def library_flags(library: Any) -> frozenset[str]:
    """Instruction sets of this processor, which a loaded library asks for; none on other processors than x86-64."""
    if not hasattr(library, "palmette_cpuid"):
        return frozenset()

    def cpuid(leaf: int, subleaf: int) -> tuple[int, ...]:
        words = (ctypes.c_uint32 * 4)()
        library.palmette_cpuid(ctypes.c_uint32(leaf), ctypes.c_uint32(subleaf), words)
        return tuple(words)

    return flags_from(cpuid, library.palmette_xcr0)


@cache
def _load(name: str) -> tuple[Any, str]:
    """The library of a level, or None and why it cannot be loaded. Loading runs nothing of it."""
    file = about()["levels"][name]
    try:
        path = os.path.join(FOLDER, file["file"])
        size = os.path.getsize(path)
        if size != file["size"]:  # reading beyond the end of a mapped file would kill the process
            return None, f"{file['file']} has {size} bytes, expected {file['size']}"
        handle = ctypes.CDLL(path)
        handle.palmette_release.argtypes, handle.palmette_release.restype = [ctypes.c_void_p], None
    except (OSError, AttributeError) as error:
        return None, str(error)
    return handle, ""


@cache
def processor_flags() -> frozenset[str]:
    """Instruction sets of this processor. Every library knows how to ask for them, in code for all processors."""
    return next((library_flags(found) for name in about()["levels"] if (found := _load(name)[0])), frozenset())


@cache
def level() -> str | None:
    """The best processor level in the package that this machine has. Instruction sets that $PALMETTE_HIDE_FLAGS names
    count as missing, so that the lower levels can be tested."""
    if about().get("machine") != platform.machine():
        return None
    flags = processor_flags().difference(os.environ.get("PALMETTE_HIDE_FLAGS", "").replace(",", " ").split())
    for name, file in about()["levels"].items():  # best first
        if flags.issuperset(file["flags"]):
            return str(name)
    if not any(_load(name)[0] for name in about()["levels"]):  # none could ask the processor: opening tells why
        return next(iter(about()["levels"]), None)
    return None


@cache
def is_stale() -> bool:
    """Whether an editable install has sources that are newer than its library."""
    if not about().get("editable"):
        return False
    from palmette.kernels.core.sources import all_sources_hash

    return about().get("sources") != all_sources_hash()


@cache
def _opened() -> tuple[Any, str]:
    """The library, or None and why it cannot be loaded."""
    name = level()
    return (None, "") if name is None or is_stale() else _load(name)


def is_usable() -> bool:
    """Whether there is a library for this machine that is as new as the sources and can be loaded."""
    return _opened()[0] is not None


def why_not() -> str:
    """Why there is no usable library, for messages."""
    if not about():
        return "this installation of palmette has no compiled kernels (install a wheel, or palmette[jit])"
    if level() is None:
        theirs = f"{about().get('machine')} ({', '.join(about()['levels'])})"
        return f"the compiled kernels are for {theirs}, not for this {platform.machine()} (try palmette[jit])"
    if is_stale():
        return (
            "the compiled kernels are older than their sources (run `pip install -e .` again, or install palmette[jit])"
        )
    return f"the compiled kernels cannot be loaded: {_opened()[1]} (install palmette again, or palmette[jit])"


def _library() -> Any:
    handle, _ = _opened()
    if handle is None:
        raise UsageError(why_not())
    return handle


# --- arguments -----------------------------------------------------------------------------------------------


DTYPES = {
    name: np.dtype(name)
    for name in ("bool", "uint8", "int8", "int16", "int32", "int64", "uint32", "uint64", "float32", "float64")
}


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
    if not fits or value.ndim != kind.ndim or value.dtype != DTYPES[kind.dtype]:
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
        if not isinstance(value, bool | np.bool_):
            raise TypeError(f"{name}: bool is expected, not {type(value).__name__}")
        words.append(int(value))
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


def bound(kind: StructType, value: Any, name: str) -> tuple[StructType, int, Any]:
    """The words of a struct: (type, their address, the buffer that holds them, to be kept during the call). They are
    made at the first call and kept in the struct, which keeps its arrays alive."""
    try:
        kept = value.__dict__.get("_words")
    except AttributeError:
        raise TypeError(f"{name}: {kind.cls.__name__} is expected, not {type(value).__name__}") from None
    if kept is None or kept[0].cls is not kind.cls:
        if kept is not None:  # it was used as a value of another class
            value.__dict__.pop("_words", None)
        words: list[Any] = []
        _words(kind, value, name, words)
        packer = _packer(kind)
        buffer = ctypes.create_string_buffer(packer.size)
        try:
            packer.pack_into(buffer, 0, *words)
        except struct.error as error:
            raise TypeError(f"{name}: {error}") from None
        kept = value.__dict__.setdefault("_words", (kind, ctypes.addressof(buffer), buffer))  # of the first thread
    return kept


# --- results -------------------------------------------------------------------------------------------------


def _arrays(value: Any) -> Iterator[np.ndarray]:
    if isinstance(value, np.ndarray):
        yield value
    elif isinstance(value, tuple):
        for field in value:
            yield from _arrays(field)


class _Made:
    """Memory that a kernel has allocated: the base of the array that it becomes, released with it."""

    __slots__ = ("__array_interface__", "_owner", "_release")

    def __init__(self, shape: tuple[int, ...], dtype: np.dtype[Any], address: int, owner: int) -> None:
        self.__array_interface__ = {"version": 3, "shape": shape, "typestr": dtype.str, "data": (address, False)}
        self._owner, self._release = owner, _library().palmette_release

    def __del__(self) -> None:
        self._release(self._owner)


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
    made = _Made(shape, dtype, address, owner)
    return np.asarray(made) if size else np.empty(shape, dtype)


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
        library, recorded = _library(), about()["kernels"].get(self.__name__)
        signature = signature_of(self.py_func)
        if recorded != signature_hash(signature):
            raise RuntimeError(
                f"kernel {self.__name__} of {self.__module__} is not in the compiled library with these types: "
                "build it again with `pip install`"
            )
        self._signature = signature
        kinds = [kind for _, kind in signature.arguments]
        classes = [kind.cls if isinstance(kind, StructType) else None for kind in kinds]
        self._plan = kinds, classes, [f"{self.__name__}({name})" for name, _ in signature.arguments]
        formats = ("Q" if isinstance(kind, StructType) else _format(kind) for _, kind in signature.arguments)
        self._pack = struct.Struct("=" + "".join(formats)).pack
        self._n_results = _result_words(signature.result)
        function = getattr(library, f"palmette_{self.__name__}")
        function.argtypes, function.restype = [ctypes.c_char_p, ctypes.c_void_p], ctypes.c_int32
        self._function = function

    def _packed(self, arguments: tuple[Any, ...]) -> tuple[bytes, list[Any]]:
        """The words of the arguments, and what must stay alive until the call is over."""
        if self._function is None:
            self._bind()
        kinds = self._signature.arguments
        if len(arguments) != len(kinds):
            raise TypeError(f"{self.__name__} takes {len(kinds)} arguments, not {len(arguments)}")
        words: list[Any] = []
        structs = []
        for kind, cls, name, value in zip(*self._plan, arguments, strict=True):
            if cls is not None:
                kept = value.__dict__.get("_words") if type(value) is cls else None
                if kept is None or kept[0] is not kind:
                    kept = bound(kind, value, name)
                structs.append(kept)
                words.append(kept[1])
            elif type(kind) is ArrayType:
                _array_words(kind, value, name, words)
            else:
                _words(kind, value, name, words)
        try:
            return self._pack(*words), structs
        except struct.error as error:
            raise TypeError(f"{self.__name__}: {error}") from None

    def __call__(self, *arguments: Any) -> Any:
        packed, alive = self._packed(arguments)
        out = (ctypes.c_int64 * self._n_results)()
        if self._function(packed, out):
            raise self._out_of_memory()
        del alive
        return None if self._signature.result is None else _result(self._signature.result, iter(out), arguments)

    def _out_of_memory(self) -> MemoryError:
        return MemoryError(f"kernel {self.__name__}: not enough memory, or lengths that do not fit together")

    def prepare(self, *arguments: Any) -> Callable[[], None]:
        """A call on these arguments, whose arrays may change but not move: a microsecond instead of five. For kernels
        that return nothing."""
        packed, alive = self._packed(arguments)
        if self._signature.result is not None:
            raise TypeError(f"{self.__name__} returns a value: it cannot be prepared")
        function = self._function

        def call(alive: Any = (arguments, alive)) -> None:
            if function(packed, None):
                raise self._out_of_memory()

        return call
