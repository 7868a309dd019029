"""Checks of labelled data that look at lines and cells: widths, odd characters, trees."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable, Sequence

import numpy as np

from palmette.data.corpus import Column, Corpus
from palmette.data.formats.ragged import RaggedRow
from palmette.data.normal_form import nfc
from palmette.data.notes import KINDS, Notes
from palmette.data.tree_checks import PROBLEMS, UNKNOWN, faults, heads_of_cells
from palmette.data.treebank import NOTHING
from palmette.errors import counted
from palmette.evaluation.data_view import DataView
from palmette.evaluation.findings import Finding

LONG = 100  # characters of a cell
CUSTOM, FEW = 100, 10  # spaces inside are the custom of a column if more than one distinct cell in so many has them
_SHOWN = 30
_JOINERS = "\u200c\u200d"  # parts of words in several scripts, and of emoji
_REPLACEMENT = "\ufffd"


def ragged_rows(rows: Iterable[RaggedRow], file: str) -> list[Finding]:
    """The lines that have more or fewer cells than the others."""
    return [
        Finding(
            "columns", file, row.line, f"{counted(row.found, 'cell')} where {row.width} are expected",
            {"found": row.found, "expected": row.width},
        )
        for row in rows
    ]  # fmt: skip


def lost_spans(notes: Notes, file: str) -> list[Finding]:
    """What became of the spans of annotators, by kind; documents that people left out on purpose are none of these."""
    made = []
    for kind, about in notes.to_dict().items():
        if KINDS[kind].noun in ("span", "task"):
            details = {"reason": kind, **about}
            made.append(Finding("spans", file, None, notes.message(kind), details))
    return made


def problem_of(cell: str) -> str | None:
    """What is odd about a cell; None: nothing."""
    if not cell:
        return "empty"
    if len(cell) > LONG:
        return f"{len(cell):,} characters"
    if cell.isascii() and cell.isprintable() and " " not in cell:
        return None
    for character in cell:
        if character.isspace():
            return f"white space inside ({_named(character)})"
        if character == _REPLACEMENT:
            return f"{_named(character)}: a wrong encoding?"
        if not character.isprintable() and character not in _JOINERS:
            kind = "control character" if unicodedata.category(character) == "Cc" else "invisible character"
            return f"{kind} ({_named(character)})"
    return "not in NFC" if nfc(cell) != cell else None


def _named(character: str) -> str:
    name = unicodedata.name(character, "")
    return f"U+{ord(character):04X}" + (f" {name.lower()}" if name else "")


def odd_cells(view: DataView) -> list[Finding]:
    """Each distinct odd cell of a column, label or name of an attribute, with the first line that has it."""
    corpus, found = view.corpus, []
    for name, column, tokens in _columns(corpus):
        odd = [(t, problem) for t, cell in enumerate(column.types) if (problem := problem_of(cell)) is not None]
        odd = _without_custom(column, odd)
        counts = np.bincount(column.ids, minlength=len(column.types)) if odd else np.zeros(0, np.int64)
        for t, problem in odd:
            at = int(np.argmax(column.ids == t))
            cell, times = column.types[t], int(counts[t])
            shown = repr(cell if len(cell) <= _SHOWN else cell[: _SHOWN - 3] + "...")
            message = f"{name}: {shown}: {problem}" + (f"; {counted(times, 'time')}" if times > 1 else "")
            line = view.line(at if tokens is None else int(tokens[at]))
            found.append(Finding("cells", corpus.source, line, message, _about(name, cell, problem, times)))
    return sorted(found, key=lambda finding: finding.line or 0)


def _without_custom(column: Column, odd: list[tuple[int, str]]) -> list[tuple[int, str]]:
    """Without words that have plain spaces inside, if there are many: in Vietnamese a word has them."""
    spaced = {t for t, _ in odd if problem_of(column.types[t].replace(" ", "")) is None and _inner(column.types[t])}
    if len(spaced) < FEW or len(spaced) * CUSTOM <= len(column.types):
        return odd
    return [(t, problem) for t, problem in odd if t not in spaced]


def _inner(cell: str) -> bool:
    """Whether a cell has single spaces inside, and none at its ends."""
    return " " in cell and all(cell.split(" "))


def _about(name: str, cell: str, problem: str, times: int) -> dict[str, object]:
    return {"column": name, "cell": cell[:LONG], "problem": problem, "times": times}


def _columns(corpus: Corpus) -> Iterable[tuple[str, Column, np.ndarray | None]]:
    """The columns by name; of attributes with the token i64[z] of each."""
    for k, column in enumerate(corpus.columns):
        yield f"column {k}", column, None
    if corpus.attributes is not None:
        given = corpus.attributes
        yield "attribute", given.names, np.repeat(np.arange(corpus.n_tokens), np.diff(given.ptr))
    if corpus.labels is not None:
        yield "label", corpus.labels, None


def broken_trees(corpus: Corpus) -> list[Finding]:
    """Sentences whose heads are not a tree, in a corpus with the columns head and deprel; none if no head is known."""
    if not corpus.n_tokens:
        return []
    cells, relations = corpus.columns
    heads = heads_of_cells(cells.types)[cells.ids]
    if (heads == UNKNOWN).all():
        return []
    nameless = np.array([name in (NOTHING, "") for name in relations.types])[relations.ids]
    return [
        Finding(
            "trees", corpus.source, corpus.line_of(fault.token), f"sentence {fault.sentence + 1}: {_problem(fault)}",
            {"sentence": fault.sentence + 1, "problem": _problem(fault)},
        )
        for fault in faults(heads, corpus.offset, nameless)
    ]  # fmt: skip


def _problem(fault: Sequence[int]) -> str:
    return PROBLEMS[fault[2]]
