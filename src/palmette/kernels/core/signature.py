"""Signatures of kernels, read from their annotations.

A type is a scalar (`int`, `float`, `bool`), an `ArrayType`, or a `StructType` (a NamedTuple or a tuple of types).
Building makes compiler types of them, loading makes words: a scalar is one word of 64 bits, an array a pointer and its
lengths, a struct its fields side by side.
"""

from __future__ import annotations

import hashlib
import sys
import typing
from collections.abc import Callable, Iterator
from functools import cache
from typing import Any, NamedTuple

from palmette.kernels.core.types import ArrayType

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
