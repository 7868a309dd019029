"""Rows of float32 added to each other as hand-written vector code; see vector.py for why it is written by hand."""

from __future__ import annotations

from typing import Any

import numpy as np

from palmette.kernels.core.compile import JIT, MODE

ROW_STEP = 16  # sizes of rows are multiples of it


def add_row(out: np.ndarray, rows: np.ndarray, begin: np.int64) -> None:
    """out[h] += rows[begin + h] for all of out, whose size is a multiple of ROW_STEP."""
    for h in range(out.size):
        out[h] += rows[begin + h]


if MODE == JIT:
    from llvmlite import ir
    from numba import types
    from numba.core import cgutils
    from numba.extending import intrinsic

    @intrinsic
    def add_row(typingctx, out, rows, begin):  # type: ignore[no-untyped-def]
        def code(context: Any, builder: Any, signature: Any, args: Any) -> Any:
            target = context.make_array(signature.args[0])(context, builder, args[0])
            source = context.make_array(signature.args[1])(context, builder, args[1]).data
            source = builder.gep(source, [args[2]])
            index, wide = ir.IntType(64), ir.VectorType(ir.FloatType(), ROW_STEP).as_pointer()
            size = builder.extract_value(target.shape, 0)
            step = ir.Constant(index, ROW_STEP)
            with cgutils.for_range_slice(builder, ir.Constant(index, 0), size, step, intp=index) as (h, _):
                to = builder.bitcast(builder.gep(target.data, [h]), wide)
                what = builder.load(builder.bitcast(builder.gep(source, [h]), wide), align=4)
                builder.store(builder.fadd(builder.load(to, align=4), what), to, align=4)
            return context.get_dummy_value()

        return types.void(out, rows, types.int64), code
