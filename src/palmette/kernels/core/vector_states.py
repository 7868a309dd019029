"""The inner loops of tagging as vector code that keeps a row of states in registers: the sum of the rows of a token's
attributes (of 32-bit floats, or of 8-bit numbers with a scale), and the best previous state.

A row is processed in strips of several vectors, as in vector_sums.py. The order of the sums
is fixed, so results do not depend on the machine. The plain Python twins are for runs without compilation.
"""

from __future__ import annotations

import numpy as np

from palmette.kernels.core.compile import JIT, MODE


def add_attribute_rows(
    out: np.ndarray, i: int, w: np.ndarray, slot: np.ndarray, att: np.ndarray, z: int, end: int
) -> None:
    """out[i] += (w[slot[att[z]]] + the second) + (the third + the fourth), and so on by fours up to `end`; row 0, which
    is zero, fills the last four."""
    for k in range(z, end, 4):
        a, b, c, d = (w[slot[att[j]] if j < end else 0] for j in range(k, k + 4))
        out[i] += (a + b) + (c + d)


def add_scaled_rows(
    out: np.ndarray, i: int, number: np.ndarray, scale: np.ndarray, att: np.ndarray, z: int, end: int
) -> None:
    """out[i] += (scale[a] * number[a] + the second) + (the third + the fourth), where a = att[z], and so on by fours up
    to `end`; numbers are of 8 bits."""
    for k in range(z, end, 4):
        a, b, c, d = (scale[att[j]] * number[att[j]] if j < end else np.float32(0) for j in range(k, k + 4))
        out[i] += (a + b) + (c + d)


def best_previous(D: np.ndarray, i: int, E: np.ndarray, e: int, U: np.ndarray) -> None:
    """D[i, 0, h] = U[i, h] + max over g of D[i - 1, 0, g] + E[e, g, h]"""
    D[i, 0] = (D[i - 1, 0, : E.shape[1], None] + E[e]).max(axis=0) + U[i]


if MODE == JIT:
    from llvmlite import ir
    from numba import types
    from numba.core import cgutils
    from numba.extending import intrinsic

    from .vector import spread
    from .vector_code import INDEX, Rows, Tables, accumulators, number, over_strips, vector

    PLAN = ((8, 6), (8, 3), (8, 1), (1, 1))

    @intrinsic
    def add_attribute_rows(typingctx, out, i, w, slot, att, z, end):  # type: ignore[no-untyped-def]
        def code(context, builder, signature, args):  # type: ignore[no-untyped-def]
            to, table = (Rows(context, builder, signature.args[k], args[k]) for k in (0, 2))
            slots, atts = (context.make_array(signature.args[k])(context, builder, args[k]).data for k in (3, 4))
            i, begin, end = args[1], args[5], args[6]
            fours = builder.add(begin, builder.and_(builder.sub(end, begin), number(-4)))

            def row_of(k):  # type: ignore[no-untyped-def]
                attribute = builder.sext(builder.load(builder.gep(atts, [k])), INDEX)
                return builder.sext(builder.load(builder.gep(slots, [attribute])), INDEX)

            def row_or_zero(k):  # type: ignore[no-untyped-def]
                there = builder.icmp_signed("<", k, end)
                row = row_of(builder.select(there, k, begin))
                return builder.select(there, row, number(0))

            def step(columns, lanes):  # type: ignore[no-untyped-def]
                held = accumulators(builder, [to.load(i, column, lanes) for column in columns])

                def add(rows):  # type: ignore[no-untyped-def]
                    for column, place in zip(columns, held, strict=True):
                        a, b, c, d = (table.load(row, column, lanes) for row in rows)
                        total = builder.fadd(builder.fadd(a, b), builder.fadd(c, d))
                        builder.store(builder.fadd(builder.load(place), total), place)

                with cgutils.for_range_slice(builder, begin, fours, number(4), intp=INDEX) as (k, _):
                    add([row_of(builder.add(k, number(j))) for j in range(4)])
                with builder.if_then(builder.icmp_signed("<", fours, end)):
                    add([row_or_zero(builder.add(fours, number(j))) for j in range(4)])
                for column, place in zip(columns, held, strict=True):
                    to.store(builder.load(place), i, column, lanes)

            over_strips(builder, to.width, PLAN, step)
            return context.get_dummy_value()

        return types.void(out, types.int64, w, slot, att, types.int64, types.int64), code

    @intrinsic
    def add_scaled_rows(typingctx, out, i, number_rows, scale, att, z, end):  # type: ignore[no-untyped-def]
        def code(context, builder, signature, args):  # type: ignore[no-untyped-def]
            to, table = (Rows(context, builder, signature.args[k], args[k]) for k in (0, 2))
            scales, atts = (context.make_array(signature.args[k])(context, builder, args[k]).data for k in (3, 4))
            i, begin, end = args[1], args[5], args[6]
            fours = builder.add(begin, builder.and_(builder.sub(end, begin), number(-4)))

            def row_of(k):  # type: ignore[no-untyped-def]
                row = builder.sext(builder.load(builder.gep(atts, [k])), INDEX)
                return row, builder.load(builder.gep(scales, [row]))

            def row_or_zero(k):  # type: ignore[no-untyped-def]
                there = builder.icmp_signed("<", k, end)
                row, factor = row_of(builder.select(there, k, begin))
                return row, builder.select(there, factor, ir.Constant(to.item, 0.0))

            def step(columns, lanes):  # type: ignore[no-untyped-def]
                held = accumulators(builder, [to.load(i, column, lanes) for column in columns])
                kind, whole = vector(to.item, lanes), vector(ir.IntType(32), lanes)

                def add(rows):  # type: ignore[no-untyped-def]
                    factors = [spread(builder, factor, kind) for _, factor in rows]
                    for column, place in zip(columns, held, strict=True):
                        numbers = [builder.sext(table.load(row, column, lanes), whole) for row, _ in rows]
                        a, b, c, d = (
                            builder.fmul(factor, builder.sitofp(found, kind))
                            for factor, found in zip(factors, numbers, strict=True)
                        )
                        total = builder.fadd(builder.fadd(a, b), builder.fadd(c, d))
                        builder.store(builder.fadd(builder.load(place), total), place)

                with cgutils.for_range_slice(builder, begin, fours, number(4), intp=INDEX) as (k, _):
                    add([row_of(builder.add(k, number(j))) for j in range(4)])
                with builder.if_then(builder.icmp_signed("<", fours, end)):
                    add([row_or_zero(builder.add(fours, number(j))) for j in range(4)])
                for column, place in zip(columns, held, strict=True):
                    to.store(builder.load(place), i, column, lanes)

            over_strips(builder, to.width, PLAN, step)
            return context.get_dummy_value()

        return types.void(out, types.int64, number_rows, scale, att, types.int64, types.int64), code

    @intrinsic
    def best_previous(typingctx, D, i, E, e, U):  # type: ignore[no-untyped-def]
        def code(context, builder, signature, args):  # type: ignore[no-untyped-def]
            table, edges = (Tables(context, builder, signature.args[k], args[k]) for k in (0, 2))
            own = Rows(context, builder, signature.args[4], args[4])
            i, first, H = args[1], builder.mul(args[3], edges.count), edges.count
            here, before = (builder.mul(k, table.count) for k in (i, builder.sub(i, number(1))))
            fours = builder.or_(builder.and_(builder.sub(H, number(1)), number(-4)), number(1))

            def larger(p, q):  # type: ignore[no-untyped-def]
                return builder.select(builder.fcmp_ordered(">", p, q), p, q)

            def step(columns, lanes):  # type: ignore[no-untyped-def]
                kind = vector(table.item, lanes)

                def sums(g):  # type: ignore[no-untyped-def]
                    score, row = spread(builder, table.load(before, g, 1), kind), builder.add(first, g)
                    return [builder.fadd(score, edges.load(row, column, lanes)) for column in columns]

                held = accumulators(builder, sums(number(0)))
                with cgutils.for_range_slice(builder, number(1), fours, number(4), intp=INDEX) as (g, _):
                    for place, a, b, c, d in zip(
                        held, *(sums(builder.add(g, number(k))) for k in range(4)), strict=True
                    ):
                        builder.store(larger(builder.load(place), larger(larger(a, b), larger(c, d))), place)
                with cgutils.for_range_slice(builder, fours, H, number(1), intp=INDEX) as (g, _):
                    for place, a in zip(held, sums(g), strict=True):
                        builder.store(larger(builder.load(place), a), place)
                for column, place in zip(columns, held, strict=True):
                    total = builder.fadd(builder.load(place), own.load(i, column, lanes))
                    table.store(total, here, column, lanes)

            over_strips(builder, table.width, PLAN, step)
            return context.get_dummy_value()

        return types.void(D, types.int64, E, types.int64, U), code
