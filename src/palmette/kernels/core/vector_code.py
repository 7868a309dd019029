"""Tools to write vector code: rows of arrays, strips of vectors, sums that stay in registers. For compiling only."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from llvmlite import ir
from numba.core import cgutils

INDEX = ir.IntType(64)


def number(value: int) -> Any:
    return ir.Constant(INDEX, value)


class Rows:
    """A two-dimensional array with contiguous rows."""

    def __init__(self, context: Any, builder: Any, kind: Any, value: Any) -> None:
        made = context.make_array(kind)(context, builder, value)
        self.builder, self.data = builder, made.data
        self.count = builder.extract_value(made.shape, 0)
        self.width = builder.extract_value(made.shape, 1)
        self.item = context.get_value_type(kind.dtype)
        self.align = self.item.get_abi_size(context.target_data)

    def place(self, row: Any, column: Any, lanes: int) -> Any:
        at = self.builder.add(self.builder.mul(row, self.width), column)
        kind = ir.VectorType(self.item, lanes) if lanes > 1 else self.item
        return self.builder.bitcast(self.builder.gep(self.data, [at]), kind.as_pointer())

    def load(self, row: Any, column: Any, lanes: int) -> Any:
        return self.builder.load(self.place(row, column, lanes), align=self.align)

    def store(self, value: Any, row: Any, column: Any, lanes: int) -> None:
        self.builder.store(value, self.place(row, column, lanes), align=self.align)


class Tables(Rows):
    """A three-dimensional array as the rows of all its tables, `count` rows each."""

    def __init__(self, context: Any, builder: Any, kind: Any, value: Any) -> None:
        super().__init__(context, builder, kind, value)
        made = context.make_array(kind)(context, builder, value)
        self.count, self.width = (builder.extract_value(made.shape, k) for k in (1, 2))


def vector(item: Any, lanes: int) -> Any:
    """The type of so many items; of one, the item's own."""
    return ir.VectorType(item, lanes) if lanes > 1 else item


@contextmanager
def while_whole(builder: Any, column: Any, step: int, width: Any) -> Iterator[Any]:
    """A loop over columns in steps, as long as a whole step fits."""
    head, body, after = (builder.append_basic_block(name) for name in ("strip", "strip.body", "strip.end"))
    builder.branch(head)
    builder.position_at_end(head)
    now = builder.load(column)
    builder.cbranch(builder.icmp_signed("<=", builder.add(now, number(step)), width), body, after)
    builder.position_at_end(body)
    yield now
    builder.store(builder.add(now, number(step)), column)
    builder.branch(head)
    builder.position_at_end(after)


def over_strips(
    builder: Any, width: Any, plan: tuple[tuple[int, int], ...], body: Callable[[list[Any], int], None]
) -> None:
    """body(columns, lanes) for all strips of a row. The plan: pairs of lanes and of vectors at a time, widest first,
    (1, 1) last."""
    column = cgutils.alloca_once_value(builder, number(0))
    builder.store(number(0), column)
    for lanes, strips in plan:
        with while_whole(builder, column, lanes * strips, width) as now:
            body([builder.add(now, number(k * lanes)) for k in range(strips)], lanes)


def accumulators(builder: Any, values: list[Any]) -> list[Any]:
    """Variables that the compiler keeps in registers."""
    made = [cgutils.alloca_once(builder, value.type) for value in values]
    for value, place in zip(values, made, strict=True):
        builder.store(value, place)
    return made
