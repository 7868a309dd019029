"""Prefetching of array items that will be read or written to soon."""

from __future__ import annotations

from typing import Any

import numpy as np

from palmette.kernels.core.compile import JIT, MODE


def fetch_item(array: np.ndarray, k: np.int64) -> None:
    """Prefetch the cache line of array[k]."""


def fetch_row(w: np.ndarray, row: np.int64) -> None:
    """Prefetch the first 128 bytes of a row."""


def fetch_to_change(array: np.ndarray, row: np.int64) -> None:
    """Prefetch all cache lines of array[row], to be written to."""


def fetch_to_write(array: np.ndarray, row: np.int64, column: int) -> None:
    """Prefetch the cache line of array[row, column], to be written to."""


if MODE == JIT:
    from llvmlite import ir
    from numba import types
    from numba.core import cgutils
    from numba.extending import intrinsic

    from palmette.kernels.core.vector_code import Rows, number

    LINE = 64
    READ, WRITE = 0, 1

    def _fetch(builder: Any, place: Any, purpose: int) -> None:
        byte, word = ir.IntType(8).as_pointer(), ir.IntType(32)
        kind = ir.FunctionType(ir.VoidType(), [byte, word, word, word])
        fetch = builder.module.declare_intrinsic("llvm.prefetch", [byte], kind)
        keep, data = ir.Constant(word, 3), ir.Constant(word, 1)
        builder.call(fetch, [builder.bitcast(place, byte), ir.Constant(word, purpose), keep, data])

    @intrinsic
    def fetch_item(typingctx, array, k):  # type: ignore[no-untyped-def]
        def code(context: Any, builder: Any, signature: Any, args: Any) -> Any:
            made = context.make_array(signature.args[0])(context, builder, args[0])
            _fetch(builder, builder.gep(made.data, [args[1]]), READ)
            return context.get_dummy_value()

        return types.void(array, types.int64), code

    @intrinsic
    def fetch_row(typingctx, w, row):  # type: ignore[no-untyped-def]
        def code(context: Any, builder: Any, signature: Any, args: Any) -> Any:
            start = Rows(context, builder, signature.args[0], args[0]).place(args[1], number(0), 1)
            address = builder.bitcast(start, ir.IntType(8).as_pointer())
            for line in (0, LINE):
                _fetch(builder, builder.gep(address, [number(line)]), READ)
            return context.get_dummy_value()

        return types.void(w, types.int64), code

    @intrinsic
    def fetch_to_change(typingctx, array, row):  # type: ignore[no-untyped-def]
        def code(context: Any, builder: Any, signature: Any, args: Any) -> Any:
            rows = Rows(context, builder, signature.args[0], args[0])
            start = builder.bitcast(rows.place(args[1], number(0), 1), ir.IntType(8).as_pointer())
            size = builder.mul(rows.width, number(rows.align))
            with cgutils.for_range_slice(builder, number(0), size, number(LINE), intp=ir.IntType(64)) as (at, _):
                _fetch(builder, builder.gep(start, [at]), WRITE)
            return context.get_dummy_value()

        return types.void(array, types.int64), code

    @intrinsic
    def fetch_to_write(typingctx, array, row, column):  # type: ignore[no-untyped-def]
        def code(context: Any, builder: Any, signature: Any, args: Any) -> Any:
            place = Rows(context, builder, signature.args[0], args[0]).place(args[1], args[2], 1)
            _fetch(builder, place, WRITE)
            return context.get_dummy_value()

        return types.void(array, types.int64, types.int64), code
