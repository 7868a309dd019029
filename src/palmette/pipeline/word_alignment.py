"""Which words of two splittings of a text are the same, as in the CoNLL 2018 shared task.

Words that are tokens are the same if they cover the same characters. The words of a multi-word token cover nothing
by themselves; where either side has such tokens, all words of the stretch that they cover are aligned by the longest
common subsequence of their forms. A stretch ends where no multi-word token of either side sticks out.
"""

from __future__ import annotations

import numpy as np

from palmette.pipeline.conllu_spans import Spans


class _Words:
    """The words of one side as plain lists, which are quicker to walk along than arrays."""

    def __init__(self, side: Spans, forms: list[int]) -> None:
        self.n = side.token.size
        self.start: list[int] = side.cut[side.token].tolist()
        self.end: list[int] = side.cut[side.token + 1].tolist()
        self.part: list[bool] = side.part.tolist()
        self.forms = forms

    def ends_within(self, i: int, end: int) -> bool:
        """Whether word i belongs to a stretch that goes up to `end`: a part of a token by its first character."""
        return i < self.n and (self.start[i] < end if self.part[i] else self.end[i] <= end)


def aligned_words(gold: Spans, system: Spans) -> tuple[np.ndarray, np.ndarray]:
    """The numbers of aligned words, i64[A] of gold and i64[A] of the system; both rise."""
    known: dict[str, int] = {}
    forms = []
    for side in (gold, system):
        cells = side.columns["form"]
        types = np.array([known.setdefault(form.lower(), len(known)) for form in cells.types], np.int64)
        forms.append(types[cells.ids].tolist() if types.size else [])
    pairs = _walk(_Words(gold, forms[0]), _Words(system, forms[1]))
    return np.array([g for g, _ in pairs], np.int64), np.array([s for _, s in pairs], np.int64)


def _walk(gold: _Words, system: _Words) -> list[tuple[int, int]]:
    """Both sides from left to right: what begins first is passed first."""
    pairs: list[tuple[int, int]] = []
    g = s = 0
    while g < gold.n and s < system.n:
        if gold.part[g] or system.part[s]:
            first_g, first_s, g, s = _stretch(gold, system, g, s)
            pairs += _common(gold.forms[first_g:g], system.forms[first_s:s], first_g, first_s)
        elif gold.start[g] == system.start[s] and gold.end[g] == system.end[s]:
            pairs.append((g, s))
            g += 1
            s += 1
        elif gold.start[g] <= system.start[s]:
            g += 1
        else:
            s += 1
    return pairs


def _stretch(gold: _Words, system: _Words, g: int, s: int) -> tuple[int, int, int, int]:
    """The words of the stretch that a part of a token begins: first of gold and system, and those after the last.

    As in the official scorer, of the plain words of the other side that begin before the token only one is passed: if
    more of them are left, they take part in the alignment."""
    end = gold.end[g] if gold.part[g] else system.end[s]
    if gold.part[g]:
        s += not system.part[s] and system.start[s] < gold.start[g]
    else:
        g += not gold.part[g] and gold.start[g] < system.start[s]
    first_g, first_s = g, s
    while gold.ends_within(g, end) or system.ends_within(s, end):
        if g < gold.n and (s >= system.n or gold.start[g] <= system.start[s]):
            end = max(end, gold.end[g]) if gold.part[g] else end
            g += 1
        else:
            end = max(end, system.end[s]) if system.part[s] else end
            s += 1
    return first_g, first_s, g, s


def _common(gold: list[int], system: list[int], first_g: int, first_s: int) -> list[tuple[int, int]]:
    """The longest common subsequence; of several the one whose words of the system are the earliest."""
    if gold == system:
        return [(first_g + k, first_s + k) for k in range(len(gold))]
    longest = _longest(np.array(gold, np.int64), np.array(system, np.int64))
    pairs = []
    g = s = 0
    while g < len(gold) and s < len(system):
        if gold[g] == system[s]:
            pairs.append((first_g + g, first_s + s))
            g += 1
            s += 1
        elif longest[g, s] == longest[g + 1, s]:
            g += 1
        else:
            s += 1
    return pairs


def _longest(gold: np.ndarray, system: np.ndarray) -> np.ndarray:
    """Entry [g, s]: the length of the longest common subsequence of what begins at g and at s."""
    table = np.zeros((gold.size + 1, system.size + 1), np.int32)
    for g in range(gold.size - 1, -1, -1):
        best = np.maximum(table[g + 1, :-1], (gold[g] == system) * (1 + table[g + 1, 1:]))
        table[g, :-1] = np.maximum.accumulate(best[::-1])[::-1]
    return table
