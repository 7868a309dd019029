"""Checks of labelled data: lines, cells (widths, odd characters, trees), and labels (sequences, rare, spelling)."""

from __future__ import annotations

import unicodedata
from collections import defaultdict
from collections.abc import Iterable, Sequence
from itertools import combinations

import numpy as np

from palmette.data.corpus import Column, Corpus
from palmette.data.formats.columns_light import RaggedRow
from palmette.data.formats.conllu_light import PROBLEMS, UNKNOWN, faults, heads_of_cells
from palmette.data.labels.repair import nearest
from palmette.data.labels.schemes import are_chunk_labels, recognise, split_label
from palmette.data.notes import KINDS, Notes
from palmette.data.text import nfc
from palmette.data.treebank import NOTHING
from palmette.errors import counted
from palmette.evaluation.findings import DataView, Finding

LONG = 100  # characters of a cell
CUSTOM, FEW = 100, 10  # spaces inside are the custom of a column if more than one distinct cell in so many has them
_SHOWN = 30
_JOINERS = "\u200c\u200d"  # parts of words in several scripts, and of emoji
_REPLACEMENT = "\ufffd"
STRANGE = 100  # labels without a letter are odd if at most one token in so many has one
RARE, RARELY = 5, 100  # a misspelt label occurs at most so often, and the right one so many times more often
LETTERS = 5  # of the shortest type that may be misspelt


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


def bad_tags(view: DataView) -> tuple[str | None, list[Finding]]:
    """The tag scheme that labels are taken to be in, and the chunks and labels that are not in it."""
    corpus = view.corpus
    column = view.labels
    names = [label for label, unknown in zip(column.types, view.unknown.tolist(), strict=True) if not unknown]
    odd = _strange(view, names)
    names = [name for name in names if name not in odd]
    if not are_chunk_labels(names):
        return None, []
    found = [_odd_label(view, label) for label in odd]
    numbers = {name: k for k, name in enumerate(names)}
    ids = np.array([numbers.get(label, len(names)) for label in column.types], np.int32)[column.ids]
    fitting = recognise(names, ids, corpus.offset)
    if fitting is not None:
        return fitting, found
    best, taken = nearest(names, ids, corpus.offset)
    for token in best.tokens.tolist():
        around = _around(view, token)
        found.append(
            Finding(
                "tags", corpus.source, view.line(token),
                f"{view.word(token)!r} is ill-formed in {best.scheme}: {' '.join(around)}",
                {"word": view.word(token), "label": view.label(token), "scheme": best.scheme, "labels": around},
            )
        )  # fmt: skip
    return best.scheme if taken else None, sorted(found, key=lambda finding: finding.line or 0)


def _strange(view: DataView, names: list[str]) -> list[str]:
    """The few labels that have no letter of a tag scheme, if nearly all others do."""
    column = view.labels
    lettered = [name for name in names if split_label(name)[0]]
    others = [name for name in names if not split_label(name)[0]]
    if not others or not are_chunk_labels(lettered) or not any("-" in name for name in lettered):
        return []
    counts = np.bincount(column.ids, minlength=len(column.types))
    n = sum(int(counts[column.types.index(name)]) for name in others)
    return others if n * STRANGE <= column.ids.size else []


def _odd_label(view: DataView, label: str) -> Finding:
    column = view.labels
    where = np.flatnonzero(column.ids == column.types.index(label))
    token = int(where[0])
    times = f"; {counted(int(where.size), 'time')}" if where.size > 1 else ""
    message = f"the label {label!r} has no letter of a tag scheme, and the others do{times}"
    details = {"word": view.word(token), "label": label, "times": int(where.size)}
    return Finding("tags", view.corpus.source, view.line(token), message, details)


def _around(view: DataView, token: int) -> list[str]:
    """The label before a token, its own in brackets, and the one after it; the ends of a sentence as `|`."""
    offset = view.corpus.offset
    s = int(np.searchsorted(offset, token, side="right")) - 1
    start, end = int(offset[s]), int(offset[s + 1])
    before = view.label(token - 1) if token > start else "|"
    after = view.label(token + 1) if token + 1 < end else "|"
    return [before, f"[{view.label(token)}]", after]


def labels_once(view: DataView) -> list[Finding]:
    """Labels that occur once."""
    column = view.labels
    once = np.flatnonzero((np.bincount(column.ids, minlength=len(column.types)) == 1) & ~view.unknown)
    tokens = [int(np.argmax(column.ids == t)) for t in once.tolist()]
    return [
        Finding(
            "once", view.corpus.source, view.line(token), f"{view.label(token)} occurs once, on {view.word(token)!r}",
            {"label": view.label(token), "word": view.word(token)},
        )
        for token in tokens
    ]  # fmt: skip


def folded(label: str) -> str:
    """A label without case, compatibility forms, spaces, hyphens and underscores; what has no letter or digit stays."""
    if not any(map(str.isalnum, label)):
        return label
    text = unicodedata.normalize("NFKC", label).casefold()
    return "".join(c for c in text if not c.isspace() and c not in "-_\u2010\u2011")


def spellings(view: DataView) -> list[Finding]:
    """Labels that are equal but for case or spelling, and rare types that are one letter away from a frequent one."""
    column = view.labels
    counts = np.bincount(column.ids, minlength=len(column.types)).tolist()
    groups: dict[str, list[int]] = defaultdict(list)
    for t, label in enumerate(column.types):
        if not view.unknown[t]:
            groups[folded(label)].append(t)
    found = [_variants(view, group, counts) for group in groups.values() if len(group) > 1]
    return found + _misspelt(view, counts)


def _variants(view: DataView, group: list[int], counts: list[int]) -> Finding:
    column = view.labels
    ordered = sorted(group, key=lambda t: (-counts[t], t))
    rarest = ordered[-1]
    shown = " and ".join(f"{column.types[t]} ({counted(counts[t], 'time')})" for t in ordered)
    if len({nfc(column.types[t]) for t in ordered}) < len(ordered):
        shown += (
            ", of which some are equal in Unicode's NFC" if len(ordered) > 2 else ", which are equal in Unicode's NFC"
        )
    return Finding(
        "spelling", view.corpus.source, view.line(int(np.argmax(column.ids == rarest))), shown,
        {"labels": {column.types[t]: counts[t] for t in ordered}},
    )  # fmt: skip


def _misspelt(view: DataView, counts: list[int]) -> list[Finding]:
    """Types of chunk labels, or else labels, of some length: a rare one beside a frequent one that differs by one
    letter."""
    column = view.labels
    kinds: dict[str, list[int]] = defaultdict(list)
    for t, label in enumerate(column.types):
        kinds[split_label(label)[1]].append(t)
    totals = {kind: sum(counts[t] for t in own) for kind, own in kinds.items() if len(kind) >= LETTERS}
    found = []
    for pair in combinations(totals, 2):
        rare, often = sorted(pair, key=lambda kind: totals[kind])
        few = totals[rare] <= RARE and totals[rare] * RARELY <= totals[often]
        if few and folded(rare) != folded(often) and one_apart(rare, often):
            token = int(np.argmax(np.isin(column.ids, kinds[rare])))
            message = f"{rare} ({counted(totals[rare], 'time')}) is one letter away from {often} ({totals[often]:,})"
            details = {"labels": {often: totals[often], rare: totals[rare]}}
            found.append(Finding("spelling", view.corpus.source, view.line(token), message, details))
    return found


def one_apart(a: str, b: str) -> bool:
    """Whether one letter added, dropped or replaced, or two neighbours exchanged, make b of a."""
    if abs(len(a) - len(b)) > 1 or a == b:
        return False
    short, long = sorted((a, b), key=len)
    i = next((k for k, (x, y) in enumerate(zip(short, long, strict=False)) if x != y), len(short))
    if len(short) < len(long):
        return short[i:] == long[i + 1 :]
    return short[i + 1 :] == long[i + 1 :] or (
        short[i : i + 2] == long[i : i + 2][::-1] and short[i + 2 :] == long[i + 2 :]
    )
