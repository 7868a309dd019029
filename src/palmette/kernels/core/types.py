"""Types of what kernels take and return, for annotations.

A kernel has one type per argument: `int`, `float` and `bool` are 64-bit integers, 64-bit floats and booleans; the names
here are contiguous arrays of one element type and one number of dimensions; a NamedTuple of such types is a struct.
`core/signature.py` reads the annotations. For type checkers the arrays are plain `np.ndarray`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, NamedTuple, TypeVar

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
