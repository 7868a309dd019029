"""The dot product of two stretches of numbers, summed in float64, as hand-written vector code.

A plain loop adds one product after the other, since the compiler may not change the order of a sum. Here four vectors
of sums run side by side, and are added up at the end: the order is fixed, so that results do not depend on the machine.
The plain Python twin is for runs without compilation.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from palmette.kernels.core.compile import JIT, MODE
from palmette.kernels.core.vector import LANES


def dot_run(left: np.ndarray, at: int, right: np.ndarray, begin: int, size: int) -> float:
    """The sum of left[at + k] * right[begin + k] for k below size, in float64; the arrays may be float32."""
    a, b = (run.astype(np.float64) for run in (left[at : at + size], right[begin : begin + size]))
    return float(a @ b)


if MODE == JIT:
    from llvmlite import ir
    from numba import types
    from numba.core import cgutils
    from numba.extending import intrinsic

    from .vector_sums import _added_up, _double

    SIDE_BY_SIDE = 4  # vectors of sums: an addition waits for the one before it, but not for those of the others
    INDEX = ir.IntType(64)

    def _load(builder: Any, data: Any, at: Any, lanes: int) -> Any:
        """Numbers as float64."""
        item = data.type.pointee
        kind = ir.VectorType(item, lanes) if lanes > 1 else item
        place = builder.bitcast(builder.gep(data, [at]), kind.as_pointer())
        found = builder.load(place, align=4 if isinstance(item, ir.FloatType) else 8)
        return builder.fpext(found, _double(lanes)) if isinstance(item, ir.FloatType) else found

    @intrinsic
    def dot_run(typingctx, left, at, right, begin, size):  # type: ignore[no-untyped-def]
        def code(context, builder, signature, args):  # type: ignore[no-untyped-def]
            a = builder.gep(context.make_array(signature.args[0])(context, builder, args[0]).data, [args[1]])
            b = builder.gep(context.make_array(signature.args[2])(context, builder, args[2]).data, [args[3]])
            sums = {1: [cgutils.alloca_once_value(builder, ir.Constant(ir.DoubleType(), 0.0))]}
            sums[LANES] = []
            for _ in range(SIDE_BY_SIDE):
                place = cgutils.alloca_once(builder, _double(LANES))
                builder.store(ir.Constant(_double(LANES), [0.0] * LANES), place)
                sums[LANES].append(place)
            builder.store(ir.Constant(ir.DoubleType(), 0.0), sums[1][0])
            start, whole = ir.Constant(INDEX, 0), LANES * SIDE_BY_SIDE
            for lanes, end in ((LANES, builder.and_(args[4], ir.Constant(INDEX, -whole))), (1, args[4])):
                step = ir.Constant(INDEX, lanes * len(sums[lanes]))
                with cgutils.for_range_slice(builder, start, end, step, intp=INDEX) as (k, _):
                    for n, place in enumerate(sums[lanes]):
                        here = builder.add(k, ir.Constant(INDEX, n * lanes))
                        product = builder.fmul(_load(builder, a, here, lanes), _load(builder, b, here, lanes))
                        builder.store(builder.fadd(builder.load(place), product), place)
                start = end
            one, two, three, four = (builder.load(place) for place in sums[LANES])
            total = builder.fadd(builder.fadd(one, two), builder.fadd(three, four))
            return builder.fadd(_added_up(builder, total, LANES, builder.fadd), builder.load(sums[1][0]))

        return types.float64(left, types.int64, right, types.int64, types.int64), code
