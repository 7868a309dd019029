"""Inner loops of the parser as hand-written vector code; vector.py explains why it is written by hand."""

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


SHORTS = 16


def find_short(lists: np.ndarray, at: np.int64, wanted: np.int64) -> np.int64:
    """The first k below SHORTS with the number `wanted` in the bytes at + 2 k (the lower one first); SHORTS if there is
    none. lists u8[] must have 2 * SHORTS bytes from `at` on."""
    for k in range(SHORTS):
        if int(lists[at + 2 * k]) | int(lists[at + 2 * k + 1]) << 8 == wanted:
            return np.int64(k)
    return np.int64(SHORTS)


if MODE == JIT:
    from llvmlite import ir
    from numba import types
    from numba.extending import intrinsic

    @intrinsic
    def find_short(typingctx, lists, at, wanted):  # type: ignore[no-untyped-def]
        def code(context: Any, builder: Any, signature: Any, args: Any) -> Any:
            data = context.make_array(signature.args[0])(context, builder, args[0]).data
            short, word, kind = ir.IntType(16), ir.IntType(32), ir.VectorType(ir.IntType(16), SHORTS)
            place = builder.bitcast(builder.gep(data, [args[1]]), kind.as_pointer())
            found = builder.load(place, align=1)
            one = builder.insert_element(
                ir.Constant(kind, ir.Undefined), builder.trunc(args[2], short), ir.Constant(word, 0)
            )
            lanes = ir.Constant(ir.VectorType(word, SHORTS), [0] * SHORTS)
            equal = builder.icmp_unsigned("==", found, builder.shuffle_vector(one, one, lanes))
            mask = builder.zext(builder.bitcast(equal, ir.IntType(SHORTS)), word)
            mask = builder.or_(mask, ir.Constant(word, 1 << SHORTS))
            return builder.zext(builder.cttz(mask, ir.Constant(ir.IntType(1), 1)), ir.IntType(64))

        return types.int64(lists, types.int64, types.int64), code
