"""Plain text with one sentence per line, split at white space: word positions, and a hash per sentence."""

from __future__ import annotations

import numpy as np

from palmette.kernels.core.compile import inline, kernel
from palmette.kernels.core.hashing import BASE, mixed
from palmette.kernels.core.types import I32, I64, U64, Bytes
from palmette.kernels.io.columns import NEWLINE, SPACE

FIRST_SPACE, LAST_SPACE = 9, 13  # TAB, line feed, vertical TAB, form feed, carriage return


@inline
def _is_space(byte: int) -> bool:
    return byte == SPACE or FIRST_SPACE <= byte <= LAST_SPACE


@kernel
def split_words(data: Bytes, n_words: int, n_lines: int) -> tuple[I64, I64, I64, I64]:
    """Word starts i64[N] and ends i64[N], sentence offsets i64[S+1], and the line of each sentence i64[S], from 0.
    Lines without a word are skipped. `n_words` and `n_lines` are upper bounds."""
    start = np.empty(n_words, np.int64)
    end = np.empty(n_words, np.int64)
    offset = np.empty(n_lines + 1, np.int64)
    lines = np.empty(n_lines, np.int64)
    offset[0] = 0
    N, S, line, at = 0, 0, 0, 0
    while at <= data.size:
        if at == data.size or data[at] == NEWLINE:
            if offset[S] < N:
                lines[S] = line
                S += 1
                offset[S] = N
            line += 1
            at += 1
        elif _is_space(data[at]):
            at += 1
        else:
            start[N] = at
            while at < data.size and not _is_space(data[at]):
                at += 1
            end[N] = at
            N += 1
    return start[:N].copy(), end[:N].copy(), offset[: S + 1].copy(), lines[:S].copy()


@inline
def extended(h: np.uint64, word: int) -> np.uint64:
    """The hash of a sentence with one more word; that of nothing is 0."""
    return h * BASE + mixed(np.uint64(word + 1))


@kernel
def sentence_hashes(ids: I32, offset: I64) -> U64:
    """A hash per sentence, u64[S], from the numbers of its words."""
    out = np.empty(offset.size - 1, np.uint64)
    for s in range(out.size):
        h = np.uint64(0)
        for i in range(offset[s], offset[s + 1]):
            h = extended(h, ids[i])
        out[s] = h
    return out
