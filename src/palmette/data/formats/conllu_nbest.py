"""N-best lists of trees as CoNLL-U: each sentence is repeated per tree, under comments with rank and score."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from palmette.data.candidate import Parse
from palmette.data.corpus import column_of_strings
from palmette.data.formats.conllu import TREE, treebank_bytes
from palmette.data.treebank import Treebank
from palmette.kernels.io.columns import BLANK_LINE


def nbest_treebank_bytes(treebank: Treebank, lists: Sequence[Sequence[Parse]], fields: Sequence[str] = ()) -> bytes:
    """The text of a treebank with several trees per sentence; their numbers may differ."""
    most = max((len(found) for found in lists), default=0)
    ranked = [_ranked(treebank, lists, rank, fields) for rank in range(most)]
    made: list[bytes] = []
    at = 0
    for s, found in enumerate(lists):
        start, end = _lines_of(treebank, s)
        if ranked and start > at:
            made += ranked[0][at:start]
        for rank, one in enumerate(found):
            block = ranked[rank][start:end]
            carriage = "\r" if block[0].endswith(b"\r") else ""
            if block[-1].strip(b" \t\r"):
                block = [*block, carriage.encode()]  # the last sentence of a file may have no blank line
            head = (f"# nbest = {rank + 1}{carriage}", f"# score = {one.score:.6g}{carriage}")
            made += [*(line.encode() for line in head), *block]
        at = end
    rest = ranked[0][at:] if ranked else treebank_bytes(treebank, fields=()).split(b"\n")
    return b"\n".join([*made, *rest]) if made and rest else b"\n".join(made or rest)


def _ranked(treebank: Treebank, lists: Sequence[Sequence[Parse]], rank: int, fields: Sequence[str]) -> list[bytes]:
    """The lines with the trees of one rank (the last tree if a list is shorter)."""
    chosen = [found[min(rank, len(found) - 1)] for found in lists]
    heads = np.array([head for one in chosen for head, _ in one.output], np.int32)
    relations = column_of_strings(name for one in chosen for _, name in one.output)
    return treebank_bytes(treebank.with_trees(heads, relations), fields=(*TREE, *fields)).split(b"\n")


def _lines_of(treebank: Treebank, s: int) -> tuple[int, int]:
    """The lines of a sentence, from after the blank line before it up to and with the one after it."""
    lines = treebank.corpus.lines
    assert lines is not None
    blank = np.flatnonzero(lines.kind == BLANK_LINE)
    first = int(lines.tokens[treebank.offset[s]])
    k = int(np.searchsorted(blank, first))
    start = int(blank[k - 1]) + 1 if k else 0
    return start, int(blank[k]) + 1 if k < blank.size else int(lines.start.size)
