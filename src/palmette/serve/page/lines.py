"""Sentences that are given line by line, a token each: columns for models that read more than words, or attributes for
models whose features a program of the user makes."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

from palmette.data.corpus import Corpus
from palmette.data.formats.attributes import escaped, parse_attributes
from palmette.data.items import corpus_from_items
from palmette.errors import DataError, counted
from palmette.reports.inspection import top_attributes
from palmette.structures.chain.model import ChainModel

SOURCE = "the sentence"
EXAMPLE = 5  # tokens of an example


def lines_of(text: Any) -> list[str]:
    """The lines of a sentence that are not blank."""
    if not isinstance(text, str) or not text.strip():
        raise DataError("lines: a line per token is expected")
    return [line.strip() for line in text.encode(errors="replace").decode().splitlines() if line.strip()]


def cells_of(text: Any, columns: int) -> list[list[str]]:
    """The cells of each token: as many as the model reads, separated by white space."""
    rows = [line.split() for line in lines_of(text)]
    for number, row in enumerate(rows, 1):
        if len(row) < columns:
            raise DataError(f"line {number} has {counted(len(row), 'column')}, and the model reads {columns}")
    return [row[:columns] for row in rows]


def attribute_sentence(text: Any) -> Corpus:
    """A sentence of attributes, as CRFsuite reads them but without labels: separated by tabs, or else by spaces."""
    rows = [line if "\t" in line else "\t".join(line.split()) for line in lines_of(text)]
    return parse_attributes("".join(f"?\t{row}\n" for row in rows).encode(), SOURCE, labelled=False)


def attribute_items(given: Any) -> Corpus:
    """A sentence of attributes as JSON has it: a list of names, or an object, per token."""
    if not isinstance(given, list) or not given or not all(isinstance(one, (list, dict)) for one in given):
        raise DataError("items: a list is expected, with a list or an object of attributes per token")
    return corpus_from_items([given], mode="attributes").corpus


def attribute_rows(corpus: Corpus) -> list[list[str]] | None:
    """The names of the attributes of each token; None if there are none, or if some have values other than 1."""
    found = corpus.attributes
    if found is None or found.val.size:
        return None
    names = found.names.cells()
    return [names[a:b] for a, b in pairwise(found.ptr.tolist())]


def attribute_names(corpus: Corpus) -> list[str]:
    """What to call tokens of attributes: the first attribute by which they differ, else their numbers."""
    found = corpus.attributes
    n = corpus.n_tokens
    if found is None:
        return [str(i + 1) for i in range(n)]
    names = found.names.cells()
    rows = [names[a:b] for a, b in pairwise(found.ptr.tolist())]
    shortest = min(len(row) for row in rows)
    for k in range(shortest):
        if n == 1 or len({row[k] for row in rows}) > 1:
            return [row[k] for row in rows]
    return [str(i + 1) for i in range(n)]


def example_lines(model: ChainModel) -> str:
    """A sentence to begin with, of the strongest attributes of some labels."""
    made: list[str] = []
    for label in model.labels if 1 in model.names else ():
        strongest = [str(one["attribute"]) for one in top_attributes(model, label, 2) if one["weight"] > 0]
        if strongest and len(made) < EXAMPLE:
            made.append("\t".join(map(escaped, strongest)))
    return "\n".join(made)
