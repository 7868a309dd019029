"""Types of what kernels take and return: annotations, and the signatures that are read from them.

A kernel has one type per argument: `int`, `float` and `bool` are 64-bit integers, 64-bit floats and booleans; the names
here are contiguous arrays of one element type and one number of dimensions; a NamedTuple of such types is a struct.
For type checkers the arrays are plain `np.ndarray`.
"""

from __future__ import annotations

import hashlib
import math
import sys
import typing
from collections.abc import Callable, Iterator
from functools import cache
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple, TypeVar

if TYPE_CHECKING:
    import numpy as np  # options name rules, and `--help` does not wait for NumPy

T = TypeVar("T")


class ArrayType(NamedTuple):
    """A C-contiguous array."""

    dtype: str  # the name of a NumPy type
    ndim: int
    readonly: bool = False  # kernels do not write to it, so that bytes of a file or a string will do

    def __str__(self) -> str:
        return f"{self.dtype}[{', '.join(':' * self.ndim)}]"


def struct(cls: type[T]) -> type[T]:
    """A NamedTuple class whose instances can be arguments of kernels: they remember their words (core/native.py), for
    which plain named tuples have no place."""
    own = {"__doc__": cls.__doc__, "__module__": cls.__module__, "__qualname__": cls.__qualname__}
    return type(cls.__name__, (cls,), own | {"__reduce__": lambda self: (type(self), tuple(self))})  # without words


Bytes = Annotated["np.ndarray", ArrayType("uint8", 1, readonly=True)]
Bool = Annotated["np.ndarray", ArrayType("bool", 1)]
Bool_2D = Annotated["np.ndarray", ArrayType("bool", 2)]
U8 = Annotated["np.ndarray", ArrayType("uint8", 1)]
I8 = Annotated["np.ndarray", ArrayType("int8", 1)]
I8_2D = Annotated["np.ndarray", ArrayType("int8", 2)]
I16 = Annotated["np.ndarray", ArrayType("int16", 1)]
I16_2D = Annotated["np.ndarray", ArrayType("int16", 2)]
I32 = Annotated["np.ndarray", ArrayType("int32", 1)]
I32_2D = Annotated["np.ndarray", ArrayType("int32", 2)]
I32_3D = Annotated["np.ndarray", ArrayType("int32", 3)]
I64 = Annotated["np.ndarray", ArrayType("int64", 1)]
I64_2D = Annotated["np.ndarray", ArrayType("int64", 2)]
U32 = Annotated["np.ndarray", ArrayType("uint32", 1)]
U64 = Annotated["np.ndarray", ArrayType("uint64", 1)]
U64_2D = Annotated["np.ndarray", ArrayType("uint64", 2)]
F32 = Annotated["np.ndarray", ArrayType("float32", 1)]
F32_2D = Annotated["np.ndarray", ArrayType("float32", 2)]
F32_3D = Annotated["np.ndarray", ArrayType("float32", 3)]
F32_4D = Annotated["np.ndarray", ArrayType("float32", 4)]
F64 = Annotated["np.ndarray", ArrayType("float64", 1)]
F64_2D = Annotated["np.ndarray", ArrayType("float64", 2)]
F64_3D = Annotated["np.ndarray", ArrayType("float64", 3)]
F64_4D = Annotated["np.ndarray", ArrayType("float64", 4)]


# --- signatures ------------------------------------------------------------------------------------------------
# A type is a scalar (`int`, `float`, `bool`), an `ArrayType`, or a `StructType` (a NamedTuple or a tuple of types).
# Building makes compiler types of them, loading makes words: a scalar is one word of 64 bits, an array a pointer and
# its lengths, a struct its fields side by side.

INT, FLOAT, BOOL = "int", "float", "bool"
SCALARS: dict[Any, str] = {int: INT, float: FLOAT, bool: BOOL}


class StructType(NamedTuple):
    """A NamedTuple class (or plain `tuple`) and its fields."""

    cls: Any
    fields: tuple[tuple[str, Any], ...]  # name and type


class Signature(NamedTuple):
    """What a kernel takes, by name, and what it returns: None or a type."""

    arguments: tuple[tuple[str, Any], ...]
    result: Any


def _type_of(annotation: Any, module: str) -> Any:
    """The type that an annotation stands for, written in a module."""
    if isinstance(annotation, typing.ForwardRef):
        annotation = annotation.__forward_arg__
    if isinstance(annotation, str):
        annotation = eval(annotation, vars(sys.modules[module]))  # our own source, as in typing.get_type_hints
    if annotation is None or annotation in SCALARS:
        return SCALARS[annotation] if annotation else None
    for detail in getattr(annotation, "__metadata__", ()):
        if isinstance(detail, ArrayType):
            return detail
    if typing.get_origin(annotation) is tuple:
        return StructType(
            tuple, tuple((str(k), _type_of(a, module)) for k, a in enumerate(typing.get_args(annotation)))
        )
    if isinstance(annotation, type) and issubclass(annotation, tuple) and hasattr(annotation, "_fields"):
        return struct_type(annotation)
    raise TypeError(
        f"{annotation!r} in {module}: kernels take int, float, bool, the arrays of core/types.py and structs"
    )


@cache
def struct_type(cls: Any) -> StructType:
    """The fields of a NamedTuple class."""
    hints = cls.__annotations__ or cls.__base__.__annotations__
    return StructType(cls, tuple((name, _type_of(hints[name], cls.__module__)) for name in cls._fields))


@cache
def signature_of(py_func: Callable[..., Any]) -> Signature:
    """The types of a kernel, from its annotations."""
    hints = dict(py_func.__annotations__)
    result = _type_of(hints.pop("return"), py_func.__module__)
    return Signature(tuple((name, _type_of(hint, py_func.__module__)) for name, hint in hints.items()), result)


def signature_hash(signature: Signature) -> str:
    """Of the names and types of all leaves, in order."""
    return hashlib.sha256(str(signature).encode()).hexdigest()[:16]


def leaves(kind: Any, name: str = "") -> Iterator[tuple[str, Any]]:
    """Scalars and arrays of a type in order, with the path to each: `weights.0.slot`."""
    if isinstance(kind, StructType):
        for own, inner in kind.fields:
            yield from leaves(inner, f"{name}.{own}" if name else own)
    elif kind is not None:
        yield name, kind


def n_words(kind: Any) -> int:
    """How many 64-bit words a type takes."""
    return sum(1 + own.ndim if isinstance(own, ArrayType) else 1 for _, own in leaves(kind))


# --- arrays ----------------------------------------------------------------------------------------------------
CACHE_LINE = 64  # bytes


def aligned_zeros(shape: tuple[int, ...], dtype: Any) -> np.ndarray:
    """Zeros that begin on a line of the cache: a row of 24 states then takes two lines, otherwise often three."""
    import numpy as np

    size = math.prod(shape) * np.dtype(dtype).itemsize
    memory = np.zeros(size + CACHE_LINE, np.uint8)
    skip = -memory.ctypes.data % CACHE_LINE
    return memory[skip : skip + size].view(dtype).reshape(shape)
