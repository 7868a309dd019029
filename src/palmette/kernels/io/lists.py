"""Text of n-best lists: the rows of the tokens, followed by labels, under headings.

A list of a sentence is written as a block per candidate, or with the labels of all candidates side by side.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from palmette.kernels.core.compile import inline, kernel
from palmette.kernels.core.types import I32_2D, I64, U8, Bytes, struct

NEWLINE = 10


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
    """Copy bytes; returns the place after them."""
    for i in range(start, end):
        out[at + i - start] = data[i]
    return at + end - start


@kernel
def paste_blocks(rows: ListTexts, lists: Listed, headings: ListTexts, labels: ListTexts) -> U8:
    """A block per candidate: its heading (one per candidate, in order), each row with its label, and an empty line."""
    text, row_start, row_end = rows
    offset, chosen, found = lists
    heading, heading_start, heading_end = headings
    names, name_start, name_end = labels
    size = 0
    h = 0
    for s in range(found.size):
        lo, hi = offset[s], offset[s + 1]
        for k in range(found[s]):
            size += heading_end[h] - heading_start[h] + 1
            h += 1
            for i in range(lo, hi):
                size += row_end[i] - row_start[i] + name_end[chosen[k, i]] - name_start[chosen[k, i]]
    out = np.empty(size, np.uint8)
    at = 0
    h = 0
    for s in range(found.size):
        lo, hi = offset[s], offset[s + 1]
        for k in range(found[s]):
            at = _put(out, at, heading, heading_start[h], heading_end[h])
            h += 1
            for i in range(lo, hi):
                at = _put(out, at, text, row_start[i], row_end[i])
                at = _put(out, at, names, name_start[chosen[k, i]], name_end[chosen[k, i]])
            out[at] = NEWLINE
            at += 1
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
    missing = name_end[2 * Y] - name_start[2 * Y]
    size = 0
    for s in range(found.size):
        lo, hi = offset[s], offset[s + 1]
        size += heading_end[s] - heading_start[s] + 1 + (hi - lo) * (1 + max(0, n - found[s]) * missing)
        for i in range(lo, hi):
            size += row_end[i] - row_start[i]
            for k in range(found[s]):
                name = chosen[k, i] + (Y if k > 0 else 0)
                size += name_end[name] - name_start[name]
    out = np.empty(size, np.uint8)
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
            out[at] = NEWLINE
            at += 1
        out[at] = NEWLINE
        at += 1
    return out
