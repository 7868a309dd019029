"""Checks of labelled data that look at labels alone: tag sequences, rare labels, spellings."""

from __future__ import annotations

import unicodedata
from collections import defaultdict
from itertools import combinations

import numpy as np

from palmette.data.labels.repair import nearest
from palmette.data.labels.schemes import are_chunk_labels, recognise, split_label
from palmette.data.text import nfc
from palmette.errors import counted
from palmette.evaluation.data_view import DataView
from palmette.evaluation.findings import Finding

STRANGE = 100  # labels without a letter are odd if at most one token in so many has one
RARE, RARELY = 5, 100  # a misspelt label occurs at most so often, and the right one so many times more often
LETTERS = 5  # of the shortest type that may be misspelt


def bad_tags(view: DataView) -> tuple[str | None, list[Finding]]:
    """The tag scheme that labels are taken to be in, and the chunks and labels that are not in it."""
    corpus = view.corpus
    column = corpus.labels
    assert column is not None
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
    column = view.corpus.labels
    assert column is not None
    lettered = [name for name in names if split_label(name)[0]]
    others = [name for name in names if not split_label(name)[0]]
    if not others or not are_chunk_labels(lettered) or not any("-" in name for name in lettered):
        return []
    counts = np.bincount(column.ids, minlength=len(column.types))
    n = sum(int(counts[column.types.index(name)]) for name in others)
    return others if n * STRANGE <= column.ids.size else []


def _odd_label(view: DataView, label: str) -> Finding:
    column = view.corpus.labels
    assert column is not None
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
    column = view.corpus.labels
    assert column is not None
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
    column = view.corpus.labels
    assert column is not None
    counts = np.bincount(column.ids, minlength=len(column.types)).tolist()
    groups: dict[str, list[int]] = defaultdict(list)
    for t, label in enumerate(column.types):
        if not view.unknown[t]:
            groups[folded(label)].append(t)
    found = [_variants(view, group, counts) for group in groups.values() if len(group) > 1]
    return found + _misspelt(view, counts)


def _variants(view: DataView, group: list[int], counts: list[int]) -> Finding:
    column = view.corpus.labels
    assert column is not None
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
    column = view.corpus.labels
    assert column is not None
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
