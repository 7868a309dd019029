"""Types of signatures as Numba knows them."""

from __future__ import annotations

from typing import Any

from numba import types

from palmette.kernels.core.signature import BOOL, FLOAT, INT, Signature, StructType
from palmette.kernels.core.types import ArrayType

SCALARS = {INT: types.int64, FLOAT: types.float64, BOOL: types.boolean, None: types.none}


def compiler_type(kind: Any) -> Any:
    """Numba's type for a type of core/signature.py."""
    if isinstance(kind, ArrayType):
        item = getattr(types, kind.dtype if kind.dtype != "bool" else "boolean")
        return types.Array(item, kind.ndim, "C", kind.readonly)
    if isinstance(kind, StructType):
        return types.BaseTuple.from_types([compiler_type(own) for _, own in kind.fields], kind.cls)
    return SCALARS[kind]


def compiler_types(signature: Signature) -> tuple[Any, ...]:
    """Numba's types for the arguments of a kernel."""
    return tuple(compiler_type(kind) for _, kind in signature.arguments)
