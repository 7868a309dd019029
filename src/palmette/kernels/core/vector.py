"""Inner loops over rows of states as hand-written vector code; and exp and log.

The compiler vectorises such loops too, but adds checks that rows do not overlap and unrolls for thousands of items,
while a row of states has about twenty: the hand-written code is twice as fast. It handles rows of any length: whole
vectors, then single items. The order of the sums is fixed, so results do not depend on the machine.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from palmette.kernels.core.compile import JIT, MODE, inline

LANES = 8


def max_four(
    out: np.ndarray,
    scores: tuple[float, float, float, float],
    a: np.ndarray,
    b: np.ndarray,
    c: np.ndarray,
    d: np.ndarray,
) -> None:
    """out[h] = max(out[h], scores[0] + a[h], ..., scores[3] + d[h]), in the precision of out and scores; rows may be
    float32 where out is float64"""
    x, y, z, t = scores
    for h in range(out.size):
        out[h] = max(out[h], max(max(x + a[h], y + b[h]), max(z + c[h], t + d[h])))


def add_run(
    out: np.ndarray, at: np.int64, w: np.ndarray, begin: np.int64, size: np.int64, factor: float | np.float32
) -> None:
    """out[at + k] += factor * w[begin + k] for k below size; w may be float32 where out is float64"""
    for k in range(size):
        out[at + k] += factor * w[begin + k]


if MODE == JIT:
    from llvmlite import ir
    from numba import types
    from numba.core import cgutils
    from numba.extending import intrinsic

    def _over_row(
        context: Any, builder: Any, arrays: list[Any], step: Callable[[Callable[[int], Any], Any], Any]
    ) -> None:
        """For every item of the first array: arrays[0][h] = step(load, kind); vectors first, then the rest. Items of
        the other arrays are widened to the type of the first."""
        made = [context.make_array(kind)(context, builder, value) for kind, value in arrays]
        items = [context.get_value_type(kind.dtype) for kind, _ in arrays]
        item = items[0]
        index = ir.IntType(64)
        size = builder.extract_value(made[0].shape, 0)
        whole = builder.and_(size, ir.Constant(index, -LANES))
        for kind, begin, end, by in ((ir.VectorType(item, LANES), 0, whole, LANES), (item, whole, size, 1)):
            start = ir.Constant(index, begin) if isinstance(begin, int) else begin
            with cgutils.for_range_slice(builder, start, end, ir.Constant(index, by), intp=index) as (h, _):

                def place(k: int, by: int = by, h: Any = h) -> Any:
                    own = ir.VectorType(items[k], by) if by > 1 else items[k]
                    return builder.bitcast(builder.gep(made[k].data, [h]), own.as_pointer())

                def load(k: int, kind: Any = kind, place: Any = place) -> Any:
                    found = builder.load(place(k), align=items[k].get_abi_size(context.target_data))
                    return found if items[k] == item else builder.fpext(found, kind)

                builder.store(step(load, kind), place(0), align=item.get_abi_size(context.target_data))

    def spread(builder: Any, value: Any, kind: Any) -> Any:
        """The value in every lane."""
        if not isinstance(kind, ir.VectorType):
            return value
        one = builder.insert_element(ir.Constant(kind, ir.Undefined), value, ir.Constant(ir.IntType(32), 0))
        lanes = ir.Constant(ir.VectorType(ir.IntType(32), kind.count), [0] * kind.count)
        return builder.shuffle_vector(one, ir.Constant(kind, ir.Undefined), lanes)

    @intrinsic
    def max_four(typingctx, out, scores, a, b, c, d):  # type: ignore[no-untyped-def]
        def code(context, builder, signature, args):  # type: ignore[no-untyped-def]
            def larger(p, q):  # type: ignore[no-untyped-def]
                return builder.select(builder.fcmp_ordered(">", p, q), p, q)

            def step(load, kind):  # type: ignore[no-untyped-def]
                starts = [spread(builder, builder.extract_value(args[1], k), kind) for k in range(4)]
                sums = [builder.fadd(starts[k], load(k + 1)) for k in range(4)]
                return larger(load(0), larger(larger(sums[0], sums[1]), larger(sums[2], sums[3])))

            rows = [(signature.args[k], args[k]) for k in (0, 2, 3, 4, 5)]
            _over_row(context, builder, rows, step)
            return context.get_dummy_value()

        return types.void(out, types.UniTuple(out.dtype, 4), a, b, c, d), code

    @intrinsic
    def add_run(typingctx, out, at, w, begin, size, factor):  # type: ignore[no-untyped-def]
        def code(context, builder, signature, args):  # type: ignore[no-untyped-def]
            target = context.make_array(signature.args[0])(context, builder, args[0]).data
            source = context.make_array(signature.args[2])(context, builder, args[2]).data
            target, source = builder.gep(target, [args[1]]), builder.gep(source, [args[3]])
            size, index = args[4], ir.IntType(64)
            item, of_w = (context.get_value_type(signature.args[k].dtype) for k in (0, 2))
            align, align_w = (one.get_abi_size(context.target_data) for one in (item, of_w))
            start = ir.Constant(index, 0)
            for lanes in (LANES, LANES // 2, 1):  # blocks of latent states are small
                kind, kind_w = (ir.VectorType(one, lanes) if lanes > 1 else one for one in (item, of_w))
                end = builder.and_(size, ir.Constant(index, -lanes))
                with cgutils.for_range_slice(builder, start, end, ir.Constant(index, lanes), intp=index) as (k, _):
                    to = builder.bitcast(builder.gep(target, [k]), kind.as_pointer())
                    what = builder.load(builder.bitcast(builder.gep(source, [k]), kind_w.as_pointer()), align=align_w)
                    what = what if kind == kind_w else builder.fpext(what, kind)
                    times = builder.fmul(spread(builder, args[5], kind), what)
                    builder.store(builder.fadd(builder.load(to, align=align), times), to, align=align)
                start = end
            return context.get_dummy_value()

        return types.void(out, types.int64, w, types.int64, types.int64, out.dtype), code

# --- tagging ---------------------------------------------------------------------------------------------------

# The inner loops of tagging as vector code that keeps a row of states in registers: the sum of the rows of a token's
# attributes, and the best previous state.
#
# A row is processed in strips of several vectors, as in vector_sums.py. The order of the sums
# is fixed, so results do not depend on the machine. The plain Python twins are for runs without compilation.


def add_attribute_rows(
    out: np.ndarray, i: int, w: np.ndarray, slot: np.ndarray, att: np.ndarray, z: int, end: int
) -> None:
    """out[i] += (w[slot[att[z]]] + the second) + (the third + the fourth), and so on by fours up to `end`; row 0, which
    is zero, fills the last four."""
    for k in range(z, end, 4):
        a, b, c, d = (w[slot[att[j]] if j < end else 0] for j in range(k, k + 4))
        out[i] += (a + b) + (c + d)


def best_previous(D: np.ndarray, i: int, E: np.ndarray, e: int, U: np.ndarray) -> None:
    """D[i, 0, h] = U[i, h] + max over g of D[i - 1, 0, g] + E[e, g, h]"""
    D[i, 0] = (D[i - 1, 0, : E.shape[1], None] + E[e]).max(axis=0) + U[i]


if MODE == JIT:
    from palmette.kernels.core.vector_code import INDEX, Rows, Tables, accumulators, number, over_strips, vector

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


# --- parsing ---------------------------------------------------------------------------------------------------

ROW_STEP = 16  # sizes of rows are multiples of it


def add_row(out: np.ndarray, rows: np.ndarray, begin: np.int64) -> None:
    """out[h] += rows[begin + h] for all of out, whose size is a multiple of ROW_STEP."""
    for h in range(out.size):
        out[h] += rows[begin + h]


if MODE == JIT:

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


# --- exp and log -----------------------------------------------------------------------------------------------

# exp and log as polynomials, which become vector code: the functions of the C library process one number at a time.

SHIFT = 1.5 * 2.0**52  # from here to twice this value a float64 has no fractional part
SHIFT_BITS = np.int64(0x4338000000000000)
EXPONENT_OF_1 = np.int64(1023 << 52)
FROM_ROOT_HALF = np.int64((1023 << 52) - 0x3FE6A09E667F3BCD)  # bits of 1 - bits of sqrt(1/2)
LOG2_E = 1.4426950408889634
LOG_2_HIGH = 6.93147180369123816490e-01  # times a whole number of 11 bits: exact
LOG_2_LOW = 1.90821492927058770002e-10


@inline
def exp_of(x: float) -> float:
    """exp(x) for x <= 0 within 4e-16 of its value; 0 below -700.

    x = n log 2 + r, |r| <= log(2) / 2; the series of exp(r) to the 12th power, and n added to its exponent. Adding
    SHIFT rounds to a whole number, which is then in the last bits."""
    y = max(x, -700.0)
    t = y * LOG2_E + SHIFT
    n = t - SHIFT
    r = (y - n * LOG_2_HIGH) - n * LOG_2_LOW
    p = 1 / 479001600
    p = p * r + 1 / 39916800
    p = p * r + 1 / 3628800
    p = p * r + 1 / 362880
    p = p * r + 1 / 40320
    p = p * r + 1 / 5040
    p = p * r + 1 / 720
    p = p * r + 1 / 120
    p = p * r + 1 / 24
    p = p * r + 1 / 6
    p = ((p * r + 0.5) * r + 1.0) * r + 1.0
    bits = np.float64(p).view(np.int64) + (np.float64(t).view(np.int64) << np.int64(52))
    return np.int64(bits).view(np.float64) if x >= -700.0 else 0.0


@inline
def log_of(x: float) -> float:
    """log(x) for an x that is neither tiny nor infinite; undefined for 0, which the caller handles.

    x = 2^n m with m around 1, s = (m - 1) / (m + 1): log m = 2 (s + s^3/3 + s^5/5 + ...)"""
    bits = np.float64(x).view(np.int64)
    n = (bits + FROM_ROOT_HALF) >> np.int64(52)
    m = np.int64(bits - (n << np.int64(52)) + EXPONENT_OF_1).view(np.float64)
    k = np.int64(n + SHIFT_BITS).view(np.float64) - (SHIFT + 1023.0)
    s = np.divide(m - 1.0, m + 1.0)  # the operator checks for a division by zero, which prevents vector code
    z = s * s
    p = 1 / 21
    p = p * z + 1 / 19
    p = p * z + 1 / 17
    p = p * z + 1 / 15
    p = p * z + 1 / 13
    p = p * z + 1 / 11
    p = p * z + 1 / 9
    p = p * z + 1 / 7
    p = p * z + 1 / 5
    p = p * z + 1 / 3
    return k * LOG_2_HIGH + (2.0 * s + (2.0 * s * z * p + k * LOG_2_LOW))
