"""A search among sixteen numbers of two bytes at once, as hand-written vector code; see vector.py."""

from __future__ import annotations

from typing import Any

import numpy as np

from palmette.kernels.core.compile import JIT, MODE

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
