"""Many sentences of columns to a corpus, quickly: the cells become one buffer of bytes, and a kernel numbers them."""

from __future__ import annotations

from itertools import chain
from typing import Any

import numpy as np

from palmette.data.corpus import Column, Corpus
from palmette.kernels.io.columns import intern_cells

LINE_END = 10


def corpus_of_cells(sentences: list[list[Any]]) -> Corpus | None:
    """As `corpus_from_items(sentences, mode="columns")`; None if the sentences are not all words, or rows of as many
    strings, or if something is wrong with them, which that function says."""
    sizes = np.fromiter(map(len, sentences), np.int64, len(sentences))
    if not sizes.size or not sizes.all():
        return None
    tokens = list(chain.from_iterable(sentences))
    kinds = {*map(type, tokens)}
    if kinds == {str}:
        width, cells = 1, tokens
    elif kinds <= {list, tuple} and len(widths := {*map(len, tokens)}) == 1:
        width, cells = widths.pop(), list(chain.from_iterable(tokens))
    else:
        return None
    try:
        data = "\n".join([*cells, ""]).encode()
    except (TypeError, UnicodeEncodeError):
        return None
    raw = np.frombuffer(data, np.uint8)
    ends = np.flatnonzero(raw == LINE_END)
    if width == 0 or ends.size != len(cells):  # a cell has a line end
        return None
    starts = np.concatenate(([0], ends[:-1] + 1))
    columns = []
    for k in range(width):
        start, end = np.ascontiguousarray(starts[k::width]), np.ascontiguousarray(ends[k::width])
        ids, type_start, type_end, hash, power = intern_cells(raw, start, end)
        columns.append(Column(ids, raw, type_start, type_end, hash, power))
    return Corpus(np.concatenate(([0], np.cumsum(sizes))), columns, source="the data")
