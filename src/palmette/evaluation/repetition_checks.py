"""Checks of labelled data that look for the same words again: duplicates, conflicts, overlap, variation of labels."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from palmette.errors import counted
from palmette.evaluation.findings import DataView, Finding, Overlap, mixed

RADIUS = 3  # words on each side that are compared, at most
_PLACES = 5  # lines that a message names
_MANY = np.uint64(0x100000001B3)
_OUTSIDE = np.uint64(0x2545F4914F6CDD1D)


def equal_sentences(view: DataView) -> dict[bytes, list[int]]:
    """The sentences by their words, in order."""
    groups: dict[bytes, list[int]] = defaultdict(list)
    for s, key in enumerate(view.sentence_words):
        groups[key].append(s)
    return groups


def repetitions(view: DataView) -> tuple[list[Finding], list[Finding]]:
    """Equal sentences with equal labels (duplicates) and with different ones (conflicts), those with the most tokens
    first."""
    same: list[tuple[int, Finding]] = []
    other: list[tuple[int, Finding]] = []
    labels, size = view.sentence_labels, np.diff(view.corpus.offset)
    for group in equal_sentences(view).values():
        if len(group) == 1:
            continue
        versions: dict[bytes, list[int]] = defaultdict(list)
        for s in group:
            versions[labels[s]].append(s)
        n_tokens = int(size[group[0]])
        if len(versions) > 1:
            other.append((n_tokens, _conflict(view, list(versions.values()))))
        same += [((len(own) - 1) * n_tokens, _duplicate(view, own)) for own in versions.values() if len(own) > 1]
    return tuple([finding for _, finding in sorted(rows, key=lambda row: -row[0])] for rows in (same, other))  # type: ignore[return-value]


def _duplicate(view: DataView, group: Sequence[int]) -> Finding:
    lines = [view.line_of_sentence(s) for s in group]
    message = f"{counted(len(group), 'time')} ({_places(lines)}): {view.sentence(group[0])}"
    details = {"lines": lines, "tokens": _size(view, group[0])}
    return Finding("duplicates", view.corpus.source, lines[0], message, details)


def _conflict(view: DataView, versions: Sequence[Sequence[int]]) -> Finding:
    """Equal sentences with two or more label sequences; the difference between the first two is shown."""
    first, second = versions[0][0], versions[1][0]
    a, b = int(view.corpus.offset[first]), int(view.corpus.offset[second])
    places = [k for k in range(_size(view, first)) if view.label(a + k) != view.label(b + k)]
    k = places[0]
    lines = [view.line(a + k), view.line(b + k)]
    more = f" and {counted(len(places) - 1, 'other')}" if len(places) > 1 else ""
    message = (
        f"{view.word(a + k)!r} is {view.label(a + k)}, and {view.label(b + k)} in {_where(lines[1])}{more}: "
        f"{view.sentence(first)}"
    )
    every = [[view.line_of_sentence(s) for s in group] for group in versions]
    details = {"lines": every, "tokens": _size(view, first), "differences": len(places)}
    return Finding("conflicts", view.corpus.source, lines[0], message, details)


def _size(view: DataView, s: int) -> int:
    return int(view.corpus.offset[s + 1] - view.corpus.offset[s])


def _where(line: int | None) -> str:
    return "another" if line is None else f"line {line}"


def _places(lines: Sequence[int | None]) -> str:
    shown = [str(line) for line in lines if line is not None]
    more = f" and {len(shown) - _PLACES} more" if len(shown) > _PLACES else ""
    return f"line{'s' if len(shown) > 1 else ''} {', '.join(shown[:_PLACES])}{more}" if shown else "no lines"


def overlap(view: DataView, other: DataView) -> tuple[Overlap, list[Finding]]:
    """The sentences of other data that are in this one too, the longest first."""
    here = equal_sentences(view)
    shared = [s for s, key in enumerate(other.sentence_words) if key in here]
    found = []
    for s in sorted(shared, key=lambda s: -_size(other, s)):
        own = here[other.sentence_words[s]]
        equal = any(view.sentence_labels[t] == other.sentence_labels[s] for t in own)
        line, there = view.line_of_sentence(own[0]), other.line_of_sentence(s)
        where = f"{other.corpus.source}:{there}" if there is not None else f"{other.corpus.source}, sentence {s + 1}"
        labelled = view.corpus.labels is not None and other.corpus.labels is not None
        told = f" ({'equal' if equal else 'different'} labels)" if labelled else ""
        details: dict[str, Any] = {"other": other.corpus.source, "other_line": there, "tokens": _size(other, s)}
        if labelled:
            details["equal_labels"] = equal
        found.append(Finding("overlap", view.corpus.source, line, f"{where}{told}: {other.sentence(s)}", details))
    return Overlap(other.corpus.source, other.corpus.n_sentences, len(shared)), found


def other_labels(view: DataView, other: DataView) -> list[Finding]:
    """The labels that other data has and this one lacks, the most frequent first."""
    here, there = view.corpus.labels, other.corpus.labels
    if here is None or there is None:
        return []
    known, counts = set(here.types), np.bincount(there.ids, minlength=len(there.types)).tolist()
    new = sorted((-n, label) for label, n in zip(there.types, counts, strict=True) if n and label not in known)
    total = other.corpus.n_tokens
    return [
        Finding(
            "labels", view.corpus.source, None,
            f"{label}: {counted(-n, 'token')} of {other.corpus.source} ({-n / total:.1%})",
            {"other": other.corpus.source, "label": label, "tokens": -n},
        )
        for n, label in new
    ]  # fmt: skip


def context_keys(words: np.ndarray, offset: np.ndarray, radius: int) -> np.ndarray:
    """u64[N]: equal for tokens that have equal words from `radius` before to `radius` after them, where all places
    outside of a sentence are equal."""
    size = np.diff(offset)
    padded = np.full(words.size + radius * (offset.size + 1), _OUTSIDE, np.uint64)
    at = np.arange(words.size) + radius * (np.repeat(np.arange(size.size), size) + 1)
    padded[at] = mixed(words)
    key = np.zeros(words.size, np.uint64)
    for step in range(-radius, radius + 1):
        key = mixed(key * _MANY + padded[at + step])
    return key


def variations(view: DataView) -> list[Finding]:
    """Words with equal neighbours whose labels differ, those with the longest equal contexts first. A context is 1 to
    RADIUS words on both sides. Of equal sentences only the first one is looked at: `repetitions` reports the others."""
    column = view.labels
    offset = view.corpus.offset
    first = np.zeros(view.corpus.n_sentences, np.bool_)
    first[[group[0] for group in equal_sentences(view).values()]] = True
    usable = np.repeat(first, np.diff(offset)) & ~view.unknown[column.ids]
    done = np.zeros(usable.size, np.bool_)
    groups: list[tuple[int, np.ndarray]] = []
    for radius in range(RADIUS, 0, -1):
        found = _varying(context_keys(view.words, offset, radius), column.ids, usable)
        fresh = [group for group in found if not done[group].any()]
        for group in fresh:
            done[group] = True
        groups += [(radius, group) for group in fresh]
    runs = sorted(
        _runs(groups, set(offset.tolist())), key=lambda run: (-run.radius, -run.tokens.size, int(run.tokens[0]))
    )
    return [_variation(view, run) for run in runs]


class _Run(NamedTuple):
    """Sequences of `length` words that begin at these tokens i64[], with equal words around them."""

    tokens: np.ndarray
    length: int
    radius: int


def _varying(keys: np.ndarray, labels: np.ndarray, usable: np.ndarray) -> list[np.ndarray]:
    """The groups of tokens i64[], in order, that have equal keys and not all the same label."""
    tokens = np.flatnonzero(usable)
    order = tokens[np.argsort(keys[tokens], kind="stable")]
    if not order.size:
        return []
    new = np.concatenate(([True], keys[order][1:] != keys[order][:-1]))
    starts = np.flatnonzero(new)
    low, high = (np.asarray(f.reduceat(labels[order], starts)) for f in (np.minimum, np.maximum))
    ends = np.concatenate((starts[1:], [order.size]))
    made = [np.sort(order[starts[k] : ends[k]]) for k in np.flatnonzero(low != high).tolist()]
    return sorted(made, key=lambda group: int(group[0]))


def _runs(groups: list[tuple[int, np.ndarray]], starts: set[int]) -> list[_Run]:
    """Groups of tokens, those joined that are the next tokens of each other. `starts`: first tokens of sentences; all
    tokens of a group are such, or none is."""
    by_places = {group.tobytes(): radius for radius, group in groups}

    def beside(group: np.ndarray, step: int) -> int | None:
        """The radius of the group of the tokens that many steps further, if a sentence goes on there."""
        first = int(group[0]) + (step if step > 0 else 0)
        return None if first in starts else by_places.get((group + step).tobytes())

    runs = []
    for radius, group in groups:
        if beside(group, -1) is not None:
            continue
        length = 1
        while (other := beside(group, length)) is not None:
            radius, length = min(radius, other), length + 1
        runs.append(_Run(group, length, radius))
    return runs


def _variation(view: DataView, run: _Run) -> Finding:
    tokens, length, radius = run
    labelled = {t: tuple(view.label(t + k) for k in range(length)) for t in tokens.tolist()}
    ordered = Counter(labelled.values()).most_common()
    rarest = ordered[-1][0]
    odd = next(t for t, labels in labelled.items() if labels == rarest)
    lines = {labels: [view.line(t) for t, own in labelled.items() if own == labels] for labels, _ in ordered}
    parts = [f"{' '.join(labels)} ({_places(own)})" for labels, own in lines.items()]
    words = _in_context(view, odd, length, radius)
    details = {
        "words": [view.word(odd + k) for k in range(length)],
        "context": radius,
        "labels": [{"labels": list(labels), "times": times} for labels, times in ordered],
        "lines": [view.line(t) for t in tokens.tolist()],
    }
    return Finding("variation", view.corpus.source, view.line(odd), f"{words}: {' / '.join(parts)}", details)


def _in_context(view: DataView, token: int, length: int, radius: int) -> str:
    offset = view.corpus.offset
    s = int(np.searchsorted(offset, token, side="right")) - 1
    start, end = int(offset[s]), int(offset[s + 1])
    before = [view.word(k) for k in range(max(start, token - radius), token)]
    inside = " ".join(view.word(token + k) for k in range(length))
    after = [view.word(k) for k in range(token + length, min(end, token + length + radius))]
    return " ".join([*before, f"[{inside}]", *after])
