"""Annotated sentences as plain data, for JSON and for tables of columns."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from palmette.data.tree_checks import UNKNOWN
from palmette.data.treebank import FIELDS, NOTHING, Treebank
from palmette.pipeline.split_text import SplitText


def features(text: str) -> dict[str, str]:
    """The cell FEATS by category."""
    return {} if text == NOTHING else dict(pair.partition("=")[::2] for pair in text.split("|"))


def plain_sentences(
    split: SplitText, treebank: Treebank, first: int = 0, last: int | None = None, *, shift: int = 0
) -> Iterator[dict[str, Any]]:
    """Sentences `first` to `last`: text, place, words, and multi-word tokens if there are some. What is not known of a
    word is left out. `shift`: where the text begins, in a larger one that it is a part of."""
    text, marks = split.text, split.first_word
    for s in range(first, split.n_sentences if last is None else last):
        tokens = slice(int(split.sentence[s]), int(split.sentence[s + 1]))
        start, end = split.start[tokens].tolist(), split.end[tokens].tolist()
        ends = marks[tokens.start : tokens.stop + 1]
        own = (np.repeat(np.arange(len(start)), np.diff(ends))).tolist()  # the token of each word
        lo, hi = int(ends[0]), int(ends[-1])
        words = plain_words(treebank, lo, hi)
        for word, t, following in zip(words, own, [*own[1:], -1], strict=True):
            word["start"], word["end"] = shift + start[t], shift + end[t]
            if t == following or (end[t] < len(text) and not text[end[t]].isspace()):
                word["space_after"] = False
        made: dict[str, Any] = {
            "text": text[start[0] : end[-1]], "start": shift + start[0], "end": shift + end[-1], "words": words,
        }  # fmt: skip
        several = [t for t in range(len(start)) if ends[t + 1] - ends[t] > 1]
        if several:
            made["multiword"] = [
                {"text": text[start[t] : end[t]], "words": [int(ends[t]) - lo + 1, int(ends[t + 1]) - lo]}
                for t in several
            ]
        yield made


def plain_words(treebank: Treebank, lo: int, hi: int) -> list[dict[str, Any]]:
    """Words as dictionaries of what is known of them."""
    words: list[dict[str, Any]] = [{"id": number} for number in range(1, hi - lo + 1)]
    for field in FIELDS:
        column = treebank.column(field)
        types = column.types
        for word, k in zip(words, column.ids[lo:hi].tolist(), strict=True):
            cell = types[k]
            if cell != NOTHING or field == "form" or (field == "lemma" and word["form"] == NOTHING):
                word[field] = features(cell) if field == "feats" else cell
    heads = treebank.heads[lo:hi].tolist()
    names = treebank.relations.types
    for word, head, k in zip(words, heads, treebank.relations.ids[lo:hi].tolist(), strict=True):
        if head != UNKNOWN:
            word["head"], word["deprel"] = head, names[k]
    return words


def column_lines(treebank: Treebank) -> Iterator[str]:
    """The words one per line, FIELDS, head and relation with TABs between them, a blank line after each sentence."""
    heads = [NOTHING if head == UNKNOWN else str(head) for head in treebank.heads.tolist()]
    columns = [*(treebank.column(field).cells() for field in FIELDS), heads, treebank.relations.cells()]
    rows = ["\t".join(cells) for cells in zip(*columns, strict=True)]
    for lo, hi in zip(treebank.offset[:-1].tolist(), treebank.offset[1:].tolist(), strict=True):
        yield from rows[lo:hi]
        yield ""
