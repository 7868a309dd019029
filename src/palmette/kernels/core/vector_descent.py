"""A step of AdaGrad for one row of weights as hand-written vector code; see vector.py for why it is written by hand."""

from __future__ import annotations

from functools import partial

import numpy as np

from palmette.kernels.core.compile import JIT, MODE

FLOOR = np.float32(0.01)  # initial sums of squares: features with tiny expectations must not make large steps


def adapt_row(
    w: np.ndarray, a: np.ndarray, squares: np.ndarray, row: np.int64, M: np.ndarray, i: int, value: np.float32,
    decay: np.float32, rate: float, c: float,
) -> None:  # fmt: skip
    """Move w[row] against the slope value * M[i] + decay * w[row]:

    squares += slope^2;  change = -rate * slope / sqrt(squares + FLOOR);  w += change;  a += c * change,
    the last one unless a is of size 0"""
    for h in range(w.shape[1]):
        slope = value * M[i, h] + decay * w[row, h]
        squares[row, h] += slope * slope
        change = -rate * slope / np.sqrt(squares[row, h] + FLOOR)
        w[row, h] += change
        if a.shape[0] > 0:
            a[row, h] += c * change


def fetch_to_change(array: np.ndarray, row: np.int64) -> None:
    """Prefetch all cache lines of array[row], to be written to."""


def fetch_to_write(array: np.ndarray, row: np.int64, column: int) -> None:
    """Prefetch the cache line of array[row, column], to be written to."""


if MODE == JIT:
    from llvmlite import ir
    from numba import types
    from numba.core import cgutils
    from numba.extending import intrinsic

    from .vector import LANES, spread
    from .vector_code import Rows, number, over_strips, vector

    PLAN = ((LANES, 3), (LANES, 1), (LANES // 2, 1), (1, 1))
    LINE = 64

    def _fetch(builder, place):  # type: ignore[no-untyped-def]
        byte, number = ir.IntType(8).as_pointer(), ir.IntType(32)
        kind = ir.FunctionType(ir.VoidType(), [byte, number, number, number])
        fetch = builder.module.declare_intrinsic("llvm.prefetch", [byte], kind)
        write, keep, data = (ir.Constant(number, value) for value in (1, 3, 1))
        builder.call(fetch, [builder.bitcast(place, byte), write, keep, data])

    @intrinsic
    def adapt_row(typingctx, w, a, squares, row, M, i, value, decay, rate, c):  # type: ignore[no-untyped-def]
        def code(context, builder, signature, args):  # type: ignore[no-untyped-def]
            own, sums, state, table = (Rows(context, builder, signature.args[k], args[k]) for k in (0, 1, 2, 4))
            row, i, factors, c = args[3], args[5], args[6:9], args[9]
            single, double = ir.FloatType(), ir.DoubleType()
            down = builder.fneg(factors[2])

            def step(columns, lanes, averages):  # type: ignore[no-untyped-def]
                kind, wide = vector(single, lanes), vector(double, lanes)
                value, decay, by = (spread(builder, one, kind) for one in (factors[0], factors[1], down))
                floor = spread(builder, ir.Constant(single, float(FLOOR)), kind)
                name = f"llvm.sqrt.v{lanes}f32" if lanes > 1 else "llvm.sqrt.f32"
                root = cgutils.get_or_insert_function(builder.module, ir.FunctionType(kind, [kind]), name)
                for column in columns:
                    before = own.load(row, column, lanes)
                    slope = builder.fadd(builder.fmul(value, table.load(i, column, lanes)), builder.fmul(decay, before))
                    total = builder.fadd(state.load(row, column, lanes), builder.fmul(slope, slope))
                    state.store(total, row, column, lanes)
                    change = builder.fdiv(builder.fmul(by, slope), builder.call(root, [builder.fadd(total, floor)]))
                    own.store(builder.fadd(before, change), row, column, lanes)
                    if averages:
                        moved = builder.fmul(spread(builder, c, wide), builder.fpext(change, wide))
                        sums.store(builder.fadd(sums.load(row, column, lanes), moved), row, column, lanes)

            with builder.if_else(builder.icmp_signed(">", sums.count, number(0))) as (then, otherwise):
                with then:
                    over_strips(builder, own.width, PLAN, partial(step, averages=True))
                with otherwise:
                    over_strips(builder, own.width, PLAN, partial(step, averages=False))
            return context.get_dummy_value()

        single = types.float32
        return types.void(w, a, squares, types.int64, M, types.int64, single, single, single, types.float64), code

    @intrinsic
    def fetch_to_change(typingctx, array, row):  # type: ignore[no-untyped-def]
        def code(context, builder, signature, args):  # type: ignore[no-untyped-def]
            rows = Rows(context, builder, signature.args[0], args[0])
            start = builder.bitcast(rows.place(args[1], number(0), 1), ir.IntType(8).as_pointer())
            size = builder.mul(rows.width, number(rows.align))
            with cgutils.for_range_slice(builder, number(0), size, number(LINE), intp=ir.IntType(64)) as (at, _):
                _fetch(builder, builder.gep(start, [at]))
            return context.get_dummy_value()

        return types.void(array, types.int64), code

    @intrinsic
    def fetch_to_write(typingctx, array, row, column):  # type: ignore[no-untyped-def]
        def code(context, builder, signature, args):  # type: ignore[no-untyped-def]
            place = Rows(context, builder, signature.args[0], args[0]).place(args[1], args[2], 1)
            _fetch(builder, place)
            return context.get_dummy_value()

        return types.void(array, types.int64, types.int64), code
