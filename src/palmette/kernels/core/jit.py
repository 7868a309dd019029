"""Kernels that Numba compiles at their first call in a process."""

from __future__ import annotations

import itertools
import logging
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import numba
import numpy as np
from numba import types

from palmette.kernels.core.types import BOOL, FLOAT, INT, ArrayType, Signature, StructType, leaves, signature_of

SCALARS = {INT: types.int64, FLOAT: types.float64, BOOL: types.boolean, None: types.none}


def compiler_type(kind: Any) -> Any:
    """Numba's type for a type of core/types.py."""
    if isinstance(kind, ArrayType):
        item = getattr(types, kind.dtype if kind.dtype != "bool" else "boolean")
        return types.Array(item, kind.ndim, "C", kind.readonly)
    if isinstance(kind, StructType):
        return types.BaseTuple.from_types([compiler_type(own) for _, own in kind.fields], kind.cls)
    return SCALARS[kind]


def compiler_types(signature: Signature) -> tuple[Any, ...]:
    """Numba's types for the arguments of a kernel."""
    return tuple(compiler_type(kind) for _, kind in signature.arguments)


logger = logging.getLogger(__name__)
njit: Any = numba.njit
# Options of pieces of kernels. Divisions follow NumPy (inf, nan; whole numbers by 0 are 0): kernels never raise.
PART: dict[str, Any] = {
    "nogil": True, "no_cpython_wrapper": True, "no_cfunc_wrapper": True, "error_model": "numpy"
}  # fmt: skip
INLINE = PART | {"forceinline": True}
_numbers = itertools.count(1)  # of the kernels that this process has compiled


class JitKernel:
    """A kernel for the types of its annotations, compiled at the first call."""

    def __init__(self, py_func: Callable[..., Any], dispatcher: Any) -> None:
        self.py_func, self._dispatcher, self._ready = py_func, dispatcher, False
        self.__name__, self.__doc__, self.__module__ = py_func.__name__, py_func.__doc__, py_func.__module__

    def _compile(self) -> None:
        """Compiling takes seconds, which are reported, in Python too."""
        name = f"{self.__module__.rpartition('.')[2]}.{self.__name__}"
        logger.warning("compiling kernel %s: %s", next(_numbers), name)
        self._dispatcher.compile(compiler_types(signature_of(self.py_func)))
        self._dispatcher.disable_compile()  # other types are an error
        self._ready = True

    def __call__(self, *arguments: Any) -> Any:
        if not self._ready:
            self._compile()
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


def jit_kernel(py_func: Callable[..., Any]) -> Callable[..., Any]:
    """A kernel that is compiled at its first call. One outside of this package (of a test) may leave its types open:
    then every combination of types that it is called with is compiled."""
    dispatcher: Any = njit(nogil=True, error_model="numpy")(py_func)
    ours = Path(__file__).parents[2] in Path(py_func.__code__.co_filename).parents
    return JitKernel(py_func, dispatcher) if ours else dispatcher
