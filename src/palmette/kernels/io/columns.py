"""From bytes to interned cells: one pass finds lines and cells, one pass per column numbers its distinct cells.
Python strings are made for distinct cells only, and only if they are needed.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from palmette.kernels.core.compile import inline, kernel, part
from palmette.kernels.core.hashing import BASE, hash_bytes, mixed, power_of
from palmette.kernels.core.types import I32, I32_2D, I64, I64_2D, U8, U64, Bytes, struct

TAB, NEWLINE, RETURN, SPACE, HASH, DASH, DOT, ZERO, NINE = 9, 10, 13, 32, 35, 45, 46, 48, 57
RUNS = 0  # the separator for runs of spaces and TABs
# other: comments, ranges; mark: -DOCSTART-; dropped: a line of a skipped sentence
BLANK_LINE, TOKEN_LINE, OTHER_LINE, MARK_LINE, DROPPED_LINE = 0, 1, 2, 3, 4
DOCSTART = np.frombuffer(b"-DOCSTART-", np.uint8)


@inline
def _is_blank(data: np.ndarray, start: int, end: int) -> bool:
    for i in range(start, end):  # noqa: SIM110 (no generators in kernels)
        if data[i] != SPACE and data[i] != TAB:
            return False
    return True


@inline
def _is_docstart(data: np.ndarray, start: int, end: int) -> bool:
    size = DOCSTART.size
    if end - start < size:
        return False
    for i in range(size):
        if data[start + i] != DOCSTART[i]:
            return False
    return end - start == size or data[start + size] == SPACE or data[start + size] == TAB


@inline
def _is_other_conllu(data: np.ndarray, start: int, end: int) -> bool:
    """A comment, a range `1-2` or an empty node `8.1`. All other lines are words or errors."""
    if data[start] == HASH:
        return True
    at = start
    while at < end and ZERO <= data[at] <= NINE:
        at += 1
    if at == start or at >= end or (data[at] != DASH and data[at] != DOT):
        return False
    second = at + 1
    at = second
    while at < end and ZERO <= data[at] <= NINE:
        at += 1
    return at > second and (at == end or data[at] == TAB)


@kernel
def split_lines(data: Bytes, n_lines: int, conllu: bool) -> tuple[I64, I64, U8]:
    """line start i64[L], end i64[L] (without line end), kind u8[L]. The last line may lack its end."""
    start = np.empty(n_lines, np.int64)
    end = np.empty(n_lines, np.int64)
    kind = np.empty(n_lines, np.uint8)
    at = 0
    for line in range(n_lines):
        stop = at
        while stop < data.size and data[stop] != NEWLINE:
            stop += 1
        start[line] = at
        at = stop + 1
        if stop > start[line] and data[stop - 1] == RETURN:
            stop -= 1
        end[line] = stop
        if _is_blank(data, start[line], stop):
            kind[line] = BLANK_LINE
        elif conllu and _is_other_conllu(data, start[line], stop):
            kind[line] = OTHER_LINE
        elif _is_docstart(data, start[line], stop) and not conllu:
            kind[line] = MARK_LINE
        else:
            kind[line] = TOKEN_LINE
    return start, end, kind


@kernel
def split_cells(
    data: Bytes, start: I64, end: I64, tokens: I64, n_columns: int, separator: int
) -> tuple[I64_2D, I64_2D, int, int]:
    """Cell starts i64[C, N] and ends of the token lines `tokens`; (.., bad line or -1, columns found there).

    `separator`: one byte, every occurrence of which separates, or RUNS."""
    cell_start = np.empty((n_columns, tokens.size), np.int64)
    cell_end = np.empty((n_columns, tokens.size), np.int64)
    runs = separator == RUNS
    for n in range(tokens.size):
        line = tokens[n]
        at = start[line]
        stop = end[line]
        found = 0
        while True:
            if runs:
                while at < stop and (data[at] == SPACE or data[at] == TAB):
                    at += 1
                if at >= stop:
                    break
            first = at
            if runs:
                while at < stop and data[at] != TAB and data[at] != SPACE:
                    at += 1
            else:
                while at < stop and data[at] != separator:
                    at += 1
            if found < n_columns:
                cell_start[found, n] = first
                cell_end[found, n] = at
            found += 1
            if at >= stop:
                break
            at += 1
        if found != n_columns:
            return cell_start, cell_end, line, found
    return cell_start, cell_end, -1, 0


@inline
def _same_bytes(data: np.ndarray, a: int, b: int, size: int) -> bool:
    for i in range(size):  # noqa: SIM110
        if data[a + i] != data[b + i]:
            return False
    return True


@part
def _grown(slots: np.ndarray, hashes: np.ndarray, n_types: int) -> np.ndarray:
    larger = np.full(slots.size * 2, -1, np.int32)
    mask = np.uint64(larger.size - 1)
    for t in range(n_types):
        k = mixed(hashes[t]) & mask
        while larger[k] >= 0:
            k = (k + np.uint64(1)) & mask
        larger[k] = t
    return larger


@kernel
def intern_cells(data: Bytes, start: I64, end: I64) -> tuple[I32, I64, I64, U64, U64]:
    """Number the distinct cells by first occurrence: ids i32[N], then per type: its position
    (start i64[T], end i64[T]), its hash u64[T] and power B^len u64[T]."""
    N = start.size
    ids = np.empty(N, np.int32)
    slots = np.full(1024, -1, np.int32)
    capacity = 512
    type_start = np.empty(capacity, np.int64)
    type_end = np.empty(capacity, np.int64)
    hashes = np.empty(capacity, np.uint64)
    T = 0
    for n in range(N):
        h = hash_bytes(data, start[n], end[n])
        mask = np.uint64(slots.size - 1)
        k = mixed(h) & mask
        size = end[n] - start[n]
        while True:
            t = slots[k]
            if t < 0:
                break
            same = hashes[t] == h and type_end[t] - type_start[t] == size
            if same and _same_bytes(data, start[n], type_start[t], size):
                break
            k = (k + np.uint64(1)) & mask
        if t < 0:
            if capacity == T:
                type_start = np.concatenate((type_start, np.empty(capacity, np.int64)))
                type_end = np.concatenate((type_end, np.empty(capacity, np.int64)))
                hashes = np.concatenate((hashes, np.empty(capacity, np.uint64)))
                capacity *= 2
            t = T
            slots[k] = t
            type_start[t] = start[n]
            type_end[t] = end[n]
            hashes[t] = h
            T += 1
            if slots.size < T * 2:
                slots = _grown(slots, hashes, T)
        ids[n] = t
    powers = np.empty(T, np.uint64)
    for t in range(T):
        powers[t] = power_of(BASE, type_end[t] - type_start[t])
    return ids, type_start[:T].copy(), type_end[:T].copy(), hashes[:T].copy(), powers


@struct
class PasteLines(NamedTuple):
    """L lines of a text with N tokens, and the position for the label of each token."""

    data: Bytes  # []
    start: I64  # [L]
    end: I64  # [L]
    kind: U8  # [L]
    cut: I64  # [N]     the label replaces the bytes cut..resume
    resume: I64  # [N]


@kernel
def paste_labels(lines: PasteLines, labels: I32, text: Bytes, offset: I64, separator: int, mark_label: int) -> U8:
    """The lines, each token line with the text of its label in place of the bytes cut..resume.

    labels i32[N] number the strings text[offset[k]:offset[k+1]]; `separator` (0: none) is written before the label.
    Document marks get `mark_label` (-1: nothing), so that all lines have as many columns."""
    data, start, end, kind, cut, resume = lines
    size = 0
    n = 0
    for line in range(start.size):
        size += end[line] - start[line] + 1
        if kind[line] == TOKEN_LINE:
            size += 1 + offset[labels[n] + 1] - offset[labels[n]]
            n += 1
        elif kind[line] == MARK_LINE and mark_label >= 0:
            size += 1 + offset[mark_label + 1] - offset[mark_label]
    out = np.empty(size, np.uint8)
    at = 0
    n = 0
    for line in range(start.size):
        stop, back, label = end[line], end[line], -1
        if kind[line] == TOKEN_LINE:
            stop, back, label = cut[n], resume[n], labels[n]
            n += 1
        elif kind[line] == MARK_LINE:
            label = mark_label
        for i in range(start[line], stop):
            out[at] = data[i]
            at += 1
        if label >= 0:
            if separator > 0:
                out[at] = separator
                at += 1
            for i in range(offset[label], offset[label + 1]):
                out[at] = text[i]
                at += 1
        for i in range(back, end[line]):
            out[at] = data[i]
            at += 1
        out[at] = NEWLINE
        at += 1
    return out[:at]


@kernel
def join_types(data: Bytes, start: I64, end: I64) -> tuple[U8, I64]:
    """The byte strings data[start[t]:end[t]] one after the other, and their offsets i64[T+1]."""
    offset = np.zeros(start.size + 1, np.int64)
    for t in range(start.size):
        offset[t + 1] = offset[t] + end[t] - start[t]
    text = np.empty(offset[-1], np.uint8)
    for t in range(start.size):
        at = offset[t] - start[t]
        for i in range(start[t], end[t]):
            text[at + i] = data[i]
    return text, offset


# Replacement of byte ranges: writes new heads and relations into the lines of a treebank.


@kernel
def splice(data: Bytes, start: I64, end: I64, piece: I64, text: Bytes, offset: I64) -> U8:
    """data u8[] with the ranges start[k]..end[k] (i64[K], sorted, disjoint) replaced by the strings
    text[offset[p]:offset[p + 1]] of p = piece[k]."""
    size = data.size
    for k in range(start.size):
        size += start[k] - end[k] + offset[piece[k] + 1] - offset[piece[k]]
    out = np.empty(size, np.uint8)
    at = 0
    done = 0
    for k in range(start.size):
        for i in range(done, start[k]):
            out[at] = data[i]
            at += 1
        for i in range(offset[piece[k]], offset[piece[k] + 1]):
            out[at] = text[i]
            at += 1
        done = end[k]
    for i in range(done, data.size):
        out[at] = data[i]
        at += 1
    return out


# --- n-best lists ----------------------------------------------------------------------------------------------
# Text of n-best lists: the rows of the tokens, followed by labels, under headings.
#
# A list of a sentence is written as a block per candidate, or with the labels of all candidates side by side.


@struct
class ListTexts(NamedTuple):
    """Strings data[start[k]:end[k]]."""

    data: Bytes  # []
    start: I64  # []
    end: I64  # []


@struct
class Listed(NamedTuple):
    """Candidates of S sentences with N tokens, at most K of each sentence."""

    offset: I64  # [S+1]    the tokens of a sentence, from 0
    labels: I32_2D  # [K, N]
    found: I64  # [S]       how many candidates a sentence has


@inline
def _put(out: np.ndarray, at: int, data: np.ndarray, start: int, end: int) -> int:
    """Copy bytes, or only measure them if `out` is of size 0; returns the place after them."""
    if out.size > 0:
        for i in range(start, end):
            out[at + i - start] = data[i]
    return at + end - start


@inline
def _end_line(out: np.ndarray, at: int) -> int:
    if out.size > 0:
        out[at] = NEWLINE
    return at + 1


@kernel
def paste_blocks(rows: ListTexts, lists: Listed, headings: ListTexts, labels: ListTexts) -> U8:
    """A block per candidate: its heading (one per candidate, in order), each row with its label, and an empty line."""
    text, row_start, row_end = rows
    offset, chosen, found = lists
    heading, heading_start, heading_end = headings
    names, name_start, name_end = labels
    out, at = np.empty(0, np.uint8), 0
    for write in (False, True):
        if write:
            out = np.empty(at, np.uint8)
        at, h = 0, 0
        for s in range(found.size):
            for k in range(found[s]):
                at = _put(out, at, heading, heading_start[h], heading_end[h])
                h += 1
                for i in range(offset[s], offset[s + 1]):
                    at = _put(out, at, text, row_start[i], row_end[i])
                    at = _put(out, at, names, name_start[chosen[k, i]], name_end[chosen[k, i]])
                at = _end_line(out, at)
    return out


@kernel
def paste_columns(rows: ListTexts, lists: Listed, headings: ListTexts, labels: ListTexts, n: int) -> U8:
    """Per sentence its heading, each row with n labels, and an empty line. Of Y labels, the pieces are: each as the
    first of a row, then each as a further one, and at 2 Y what stands for a candidate that does not exist."""
    text, row_start, row_end = rows
    offset, chosen, found = lists
    heading, heading_start, heading_end = headings
    names, name_start, name_end = labels
    Y = name_start.size // 2
    out, at = np.empty(0, np.uint8), 0
    for write in (False, True):
        if write:
            out = np.empty(at, np.uint8)
        at = 0
        for s in range(found.size):
            at = _put(out, at, heading, heading_start[s], heading_end[s])
            for i in range(offset[s], offset[s + 1]):
                at = _put(out, at, text, row_start[i], row_end[i])
                for k in range(max(n, found[s])):
                    name = 2 * Y
                    if k < found[s]:
                        name = chosen[k, i] + (Y if k > 0 else 0)
                    at = _put(out, at, names, name_start[name], name_end[name])
                at = _end_line(out, at)
            at = _end_line(out, at)
    return out
