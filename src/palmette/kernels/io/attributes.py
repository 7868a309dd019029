"""CRFsuite attribute lines from bytes to cells: positions of labels and names, and values as numbers.

One pass, no copies. Names are numbered afterwards by columns.intern_cells; escapes are undone once per
distinct name; values with many digits are left to Python.
"""

from __future__ import annotations

import numpy as np

from palmette.kernels.core.compile import inline, kernel
from palmette.kernels.core.types import F64, I64, U8, Bytes
from palmette.kernels.io.columns import DASH, DOT, NINE, TAB, ZERO

COLON, BACKSLASH, PLUS, SMALL_E, LARGE_E = 58, 92, 43, 101, 69
FINE, LABEL_HAS_COLON, NO_NAME, NO_VALUE = 0, 1, 2, 3  # errors of a cell
POWERS = 10.0 ** np.arange(23)  # all exact: a mantissa below 2^53 multiplied or divided by one is rounded once
MANTISSA = 1 << 53


@inline
def _is_escape(data: np.ndarray, at: int, stop: int) -> bool:
    return data[at] == BACKSLASH and at + 1 < stop and (data[at + 1] == COLON or data[at + 1] == BACKSLASH)


@inline
def _cell(data: np.ndarray, at: int, stop: int) -> tuple[int, int, bool]:
    """The end of the cell at `at`, its first colon (-1 for none) and whether it has an escape."""
    colon = -1
    escaped = False
    while at < stop and data[at] != TAB:
        if _is_escape(data, at, stop):
            escaped = True
            at += 1
        elif data[at] == COLON and colon < 0:
            colon = at
        at += 1
    return at, colon, escaped


@inline
def _small_integer(data: np.ndarray, at: int, stop: int) -> tuple[int, int]:
    """An integer of up to three digits with a sign, and the position after it."""
    sign = 1
    if at < stop and (data[at] == DASH or data[at] == PLUS):
        if data[at] == DASH:
            sign = -1
        at += 1
    number = 0
    last = min(stop, at + 3)
    while at < last and ZERO <= data[at] <= NINE:
        number = number * 10 + int(data[at]) - ZERO
        at += 1
    return sign * number, at


@inline
def _number(data: np.ndarray, at: int, stop: int) -> float:
    """A decimal number, if it is short enough to be exact this way; else NaN."""
    negative = at < stop and data[at] == DASH
    if at < stop and (data[at] == DASH or data[at] == PLUS):
        at += 1
    mantissa = 0
    exponent = 0
    digits = 0
    seen_dot = False
    while at < stop and mantissa < MANTISSA // 10 - 1:
        if ZERO <= data[at] <= NINE:
            mantissa = mantissa * 10 + int(data[at]) - ZERO
            digits += 1
            exponent -= seen_dot
        elif data[at] == DOT and not seen_dot:
            seen_dot = True
        else:
            break
        at += 1
    if digits == 0:
        return np.nan
    if at + 1 < stop and (data[at] == SMALL_E or data[at] == LARGE_E):
        ten, after = _small_integer(data, at + 1, stop)
        if ZERO <= data[after - 1] <= NINE:
            at = after
            exponent += ten
    if at != stop or exponent < -22 or exponent > 22:
        return np.nan
    value = mantissa / POWERS[-exponent] if exponent < 0 else mantissa * POWERS[exponent]
    return -value if negative else value


@kernel
def split_attributes(
    data: Bytes, body: I64, end: I64, tokens: I64, most: int
) -> tuple[I64, I64, I64, I64, I64, F64, bool, bool, int, int, int, int]:
    """The cells of N token lines, line tokens[n] from body[n] to end[tokens[n]].

    Returns label start i64[N] and end i64[N], ptr i64[N+1], name start i64[z] and end i64[z], val f64[z] (NaN:
    left to Python), whether a label and whether a name has an escape; then the first error (FINE: none), its
    token, and its first and last byte. `most` is at least z."""
    N = tokens.size
    label_start, label_end = np.empty(N, np.int64), np.empty(N, np.int64)
    ptr = np.zeros(N + 1, np.int64)
    name_start, name_end = np.empty(most, np.int64), np.empty(most, np.int64)
    val = np.empty(most, np.float64)
    labels_escaped, names_escaped = False, False
    wrong, where, bad_start, bad_end = FINE, 0, 0, 0
    z = 0
    for n in range(N):
        stop = end[tokens[n]]
        first = body[n]
        at, colon, escaped = _cell(data, first, stop)
        labels_escaped |= escaped
        label_start[n] = first
        label_end[n] = at
        if colon >= 0:
            wrong, where, bad_start, bad_end = LABEL_HAS_COLON, n, first, at
            break
        while at < stop:
            first = at + 1
            at, colon, escaped = _cell(data, first, stop)
            if at == first:
                continue
            names_escaped |= escaped
            name_start[z] = first
            name_end[z] = at
            val[z] = 1.0
            if colon >= 0:
                name_end[z] = colon
                val[z] = _number(data, colon + 1, at)
                if colon == first or colon + 1 == at:
                    wrong, where, bad_start, bad_end = NO_NAME if colon == first else NO_VALUE, n, first, at
                    break
            z += 1
        if wrong != FINE:
            break
        ptr[n + 1] = z
    return (
        label_start, label_end, ptr, name_start[:z].copy(), name_end[:z].copy(), val[:z].copy(),
        labels_escaped, names_escaped, wrong, where, bad_start, bad_end,
    )  # fmt: skip


@kernel
def unescaped(data: Bytes, start: I64, end: I64) -> tuple[U8, I64]:
    """The strings data[start[t]:end[t]] without escapes, one after the other, and their offsets i64[T+1]."""
    T = start.size
    offset = np.zeros(T + 1, np.int64)
    size = 0
    for t in range(T):
        size += end[t] - start[t]
    text = np.empty(size, np.uint8)
    to = 0
    for t in range(T):
        at = start[t]
        while at < end[t]:
            if _is_escape(data, at, end[t]):
                at += 1
            text[to] = data[at]
            to += 1
            at += 1
        offset[t + 1] = to
    return text, offset
