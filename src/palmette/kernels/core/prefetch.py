"""Prefetching of array items that will be read soon."""

from __future__ import annotations

from typing import Any

import numpy as np

from palmette.kernels.core.compile import JIT, MODE


def fetch_item(array: np.ndarray, k: np.int64) -> None:
    """Prefetch the cache line of array[k]."""


if MODE == JIT:
    from llvmlite import ir
    from numba import types
    from numba.extending import intrinsic

    @intrinsic
    def fetch_item(typingctx, array, k):  # type: ignore[no-untyped-def]
        def code(context: Any, builder: Any, signature: Any, args: Any) -> Any:
            made = context.make_array(signature.args[0])(context, builder, args[0])
            byte, number = ir.IntType(8).as_pointer(), ir.IntType(32)
            kind = ir.FunctionType(ir.VoidType(), [byte, number, number, number])
            fetch = builder.module.declare_intrinsic("llvm.prefetch", [byte], kind)
            place = builder.bitcast(builder.gep(made.data, [args[1]]), byte)
            builder.call(fetch, [place, ir.Constant(number, 0), ir.Constant(number, 3), ir.Constant(number, 1)])
            return context.get_dummy_value()

        return types.void(array, types.int64), code
