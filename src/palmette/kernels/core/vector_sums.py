"""Sums of weighted rows as hand-written vector code, for forward-backward and for gathering its results.

A row is processed in strips of vectors that stay in registers during all additions: in plain loops each addition would
store its row and load it again. Multiplications and additions are separate instructions in a fixed order, so that
results do not depend on the machine. The plain Python twins are for runs without compilation.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from palmette.kernels.core.compile import JIT, MODE
from palmette.kernels.core.vector import LANES


def below_largest(out: np.ndarray, U: np.ndarray, i: int) -> float:
    """out[i, h] = U[i, h] - the largest U[i]. Returns the largest U[i]."""
    top = U[i].max()
    for h in range(U.shape[1]):
        out[i, h] = float(U[i, h]) - float(top) if top > -np.inf else 0.0
    return float(top)


def chain_step(A: np.ndarray, sums: np.ndarray, V: np.ndarray, i: int, j: int, X: np.ndarray, scale: float) -> float:
    """sums[i, h] = sum over g of A[j, g] X[g, h];   A[i, h] = sums[i, h] * (V[i, h] * scale);   the sum of A[i].
    Rows of X whose A[j, g] is 0 are skipped: in a restricted trellis these are most of them."""
    total = 0.0
    for h in range(A.shape[1]):
        sums[i, h] = 0.0
        for g in range(X.shape[0]):
            sums[i, h] += A[j, g] * X[g, h]
        A[i, h] = sums[i, h] * (V[i, h] * scale)
        total += A[i, h]
    return total


def add_neighbours(O: np.ndarray, A: np.ndarray, B: np.ndarray, n: int) -> None:
    """O[g, h] += sum over i from 1 to n - 1 of A[i - 1, g] * B[i, h]"""
    for i in range(1, n):
        for g in range(O.shape[0]):
            for h in range(O.shape[1]):
                O[g, h] += A[i - 1, g] * B[i, h]


def sum_listed(
    out: np.ndarray, row: np.int64, base: np.ndarray, factor: float, table: np.ndarray, rows: np.ndarray, k: int,
    end: int,
) -> None:  # fmt: skip
    """out[row] = factor * base[row] + table[rows[k]] + ... + table[rows[end - 1]]; float64 from a float32 table."""
    for h in range(out.shape[1]):
        total = factor * base[row, h]
        for place in range(k, end):
            total += float(table[rows[place], h])
        out[row, h] = total


if MODE == JIT:
    from llvmlite import ir
    from numba import types
    from numba.core import cgutils
    from numba.extending import intrinsic

    from palmette.kernels.core.vector import spread
    from palmette.kernels.core.vector_code import INDEX, Rows, accumulators, number, over_strips, vector

    PLAN = ((LANES, 3), (LANES, 1), (LANES // 2, 1), (1, 1))  # rows of up to 24 numbers are processed at once

    def _double(lanes: int) -> Any:
        return vector(ir.DoubleType(), lanes)

    def _added_up(builder: Any, value: Any, lanes: int, step: Callable[[Any, Any], Any]) -> Any:
        """Reduce the lanes of a vector, half by half."""
        while lanes > 1:
            lanes //= 2
            undefined = ir.Constant(value.type, ir.Undefined)
            halves = [
                builder.shuffle_vector(
                    value, undefined, ir.Constant(ir.VectorType(ir.IntType(32), lanes), list(range(at, at + lanes)))
                )
                for at in (0, lanes)
            ]
            value = step(*halves)
        return (
            builder.extract_element(value, ir.Constant(ir.IntType(32), 0))
            if isinstance(value.type, ir.VectorType)
            else value
        )

    def _add_weighted(
        builder: Any, held: list[Any], columns: list[Any], lanes: int, count: Any, weight: Any, rows: Rows, first: Any
    ) -> None:
        """held[c] += sum over k < count of weight(k) * rows[first + k, c], four rows at a time, since each sum depends
        on the one before it. Rows of weight 0, of which a restricted trellis has many, are skipped."""
        zero = ir.Constant(ir.DoubleType(), 0.0)

        def tree(items: list[Any]) -> Any:
            while len(items) > 1:
                items = [builder.fadd(p, q) for p, q in zip(items[::2], items[1::2], strict=True)]
            return items[0]

        begin, fours = number(0), builder.and_(count, number(-4))
        for size, end in ((4, fours), (1, count)):
            with cgutils.for_range_slice(builder, begin, end, number(size), intp=INDEX) as (k, _):
                places = [builder.add(k, number(d)) for d in range(size)]
                weights = [weight(place) for place in places]
                with builder.if_then(builder.fcmp_unordered("!=", tree(weights), zero)):
                    wide = [spread(builder, one, _double(lanes)) for one in weights]
                    for column, sums in zip(columns, held, strict=True):
                        products = [
                            builder.fmul(factor, rows.load(builder.add(first, place), column, lanes))
                            for factor, place in zip(wide, places, strict=True)
                        ]
                        builder.store(builder.fadd(builder.load(sums), tree(products)), sums)
            begin = fours

    @intrinsic
    def below_largest(typingctx, out, U, i):  # type: ignore[no-untyped-def]
        def code(context, builder, signature, args):  # type: ignore[no-untyped-def]
            to, scores = (Rows(context, builder, signature.args[k], args[k]) for k in (0, 1))
            lowest = ir.Constant(scores.item, float("-inf"))
            tops = {
                lanes: cgutils.alloca_once(builder, ir.VectorType(scores.item, lanes)) for lanes in (LANES, LANES // 2)
            }
            tops[1] = cgutils.alloca_once(builder, scores.item)
            for place in tops.values():
                builder.store(spread(builder, lowest, place.type.pointee), place)

            def larger(p, q):  # type: ignore[no-untyped-def]
                return builder.select(builder.fcmp_ordered(">", p, q), p, q)

            def look(columns, lanes):  # type: ignore[no-untyped-def]
                for column in columns:
                    builder.store(larger(builder.load(tops[lanes]), scores.load(args[2], column, lanes)), tops[lanes])

            over_strips(builder, scores.width, PLAN, look)
            top = builder.load(tops[1])
            for lanes in (LANES, LANES // 2):
                top = larger(top, _added_up(builder, builder.load(tops[lanes]), lanes, larger))
            found = builder.fpext(top, ir.DoubleType())

            def subtract(columns, lanes):  # type: ignore[no-untyped-def]
                for column in columns:
                    score = builder.fpext(scores.load(args[2], column, lanes), _double(lanes))
                    to.store(builder.fsub(score, spread(builder, found, _double(lanes))), args[2], column, lanes)

            over_strips(builder, scores.width, PLAN, subtract)
            return found

        return types.float64(out, U, types.int64), code

    @intrinsic
    def chain_step(typingctx, A, sums, V, i, j, X, scale):  # type: ignore[no-untyped-def]
        def code(context, builder, signature, args):  # type: ignore[no-untyped-def]
            paths, raw, own, table = (Rows(context, builder, signature.args[k], args[k]) for k in (0, 1, 2, 5))
            i, j, scale = args[3], args[4], args[6]
            zero = ir.Constant(ir.DoubleType(), 0.0)
            totals = {lanes: cgutils.alloca_once(builder, _double(lanes)) for lanes in (LANES, LANES // 2, 1)}
            for lanes, place in totals.items():
                builder.store(spread(builder, zero, _double(lanes)), place)

            def step(columns, lanes):  # type: ignore[no-untyped-def]
                kind = _double(lanes)
                held = accumulators(builder, [spread(builder, zero, kind) for _ in columns])
                _add_weighted(
                    builder, held, columns, lanes, table.count, lambda g: paths.load(j, g, 1), table, number(0)
                )
                for column, place in zip(columns, held, strict=True):
                    total = builder.load(place)
                    factor = builder.fmul(own.load(i, column, lanes), spread(builder, scale, kind))
                    scaled = builder.fmul(total, factor)
                    raw.store(total, i, column, lanes)
                    paths.store(scaled, i, column, lanes)
                    builder.store(builder.fadd(builder.load(totals[lanes]), scaled), totals[lanes])

            over_strips(builder, paths.width, PLAN, step)
            found = builder.load(totals[1])
            for lanes in (LANES, LANES // 2):
                found = builder.fadd(found, _added_up(builder, builder.load(totals[lanes]), lanes, builder.fadd))
            return found

        return types.float64(A, sums, V, types.int64, types.int64, X, types.float64), code

    @intrinsic
    def add_neighbours(typingctx, O, A, B, n):  # type: ignore[no-untyped-def]
        def code(context, builder, signature, args):  # type: ignore[no-untyped-def]
            to, left, right = (Rows(context, builder, signature.args[k], args[k]) for k in (0, 1, 2))
            with cgutils.for_range(builder, to.count, intp=INDEX) as outer:

                def step(columns, lanes, g=outer.index):  # type: ignore[no-untyped-def]
                    held = accumulators(builder, [to.load(g, column, lanes) for column in columns])
                    before = builder.sub(args[3], number(1))
                    _add_weighted(builder, held, columns, lanes, before, lambda i: left.load(i, g, 1), right, number(1))
                    for column, place in zip(columns, held, strict=True):
                        to.store(builder.load(place), g, column, lanes)

                over_strips(builder, to.width, PLAN, step)
            return context.get_dummy_value()

        return types.void(O, A, B, types.int64), code

    @intrinsic
    def sum_listed(typingctx, out, row, base, factor, table, rows, k, end):  # type: ignore[no-untyped-def]
        def code(context, builder, signature, args):  # type: ignore[no-untyped-def]
            to, start, tables = (Rows(context, builder, signature.args[k], args[k]) for k in (0, 2, 4))
            numbers = context.make_array(signature.args[5])(context, builder, args[5]).data
            row, factor = args[1], args[3]

            def step(columns, lanes):  # type: ignore[no-untyped-def]
                kind = _double(lanes)
                wide = spread(builder, factor, kind)
                held = accumulators(builder, [builder.fmul(wide, start.load(row, c, lanes)) for c in columns])
                with cgutils.for_range_slice(builder, args[6], args[7], number(1), intp=INDEX) as (k, _):
                    token = builder.sext(builder.load(builder.gep(numbers, [k])), INDEX)
                    for column, place in zip(columns, held, strict=True):
                        found = builder.fpext(tables.load(token, column, lanes), kind)
                        builder.store(builder.fadd(builder.load(place), found), place)
                for column, place in zip(columns, held, strict=True):
                    to.store(builder.load(place), row, column, lanes)

            over_strips(builder, to.width, PLAN, step)
            return context.get_dummy_value()

        return types.void(out, types.int64, base, types.float64, table, rows, types.int64, types.int64), code


# The dot product of two stretches of numbers, summed in float64, as hand-written vector code.
#
# A plain loop adds one product after the other, since the compiler may not change the order of a sum. Here four
# vectors of sums run side by side, and are added up at the end: the order is fixed, so that results do not depend on
# the machine. The plain Python twin is for runs without compilation.


def dot_run(left: np.ndarray, at: int, right: np.ndarray, begin: int, size: int) -> float:
    """The sum of left[at + k] * right[begin + k] for k below size, in float64; the arrays may be float32."""
    a, b = (run.astype(np.float64) for run in (left[at : at + size], right[begin : begin + size]))
    return float(a @ b)


if MODE == JIT:
    SIDE_BY_SIDE = 4  # vectors of sums: an addition waits for the one before it, but not for those of the others

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


# --- AdaGrad ---------------------------------------------------------------------------------------------------

FLOOR = np.float32(0.01)  # initial sums of squares: features with tiny expectations must not make large steps


def adapt_row(
    w: np.ndarray, a: np.ndarray, squares: np.ndarray, row: np.int64, M: np.ndarray, i: int,
    factors: tuple[np.float32, np.float32, np.float32], c: float,
) -> None:  # fmt: skip
    """Move w[row] against the slope value * M[i] + decay * w[row], the factors being value, decay and rate:

    squares += slope^2;  change = -rate * slope / sqrt(squares + FLOOR);  w += change;  a += c * change,
    the last one unless a is of size 0"""
    value, decay, rate = factors
    for h in range(w.shape[1]):
        slope = value * M[i, h] + decay * w[row, h]
        squares[row, h] += slope * slope
        change = -rate * slope / np.sqrt(squares[row, h] + FLOOR)
        w[row, h] += change
        if a.shape[0] > 0:
            a[row, h] += c * change


if MODE == JIT:

    @intrinsic
    def adapt_row(typingctx, w, a, squares, row, M, i, factors, c):  # type: ignore[no-untyped-def]
        def code(context, builder, signature, args):  # type: ignore[no-untyped-def]
            own, sums, state, table = (Rows(context, builder, signature.args[k], args[k]) for k in (0, 1, 2, 4))
            row, i, c = args[3], args[5], args[7]
            factors = [builder.extract_value(args[6], k) for k in range(3)]
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

        factors = types.UniTuple(types.float32, 3)
        return types.void(w, a, squares, types.int64, M, types.int64, factors, types.float64), code
