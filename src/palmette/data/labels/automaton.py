"""States that remember labels: a deterministic automaton over the labels of a sentence.

A chain of order 1 sees one previous label (order 2: two). Further information about earlier labels is put into the
state: it consists of a label and a memory, and the memory is a function of the previous memory and the label,

    memory of token i = step(memory of token i-1, label of token i)        (None before the first token)

so that labels determine states, and transitions that the automaton does not have are forbidden. The states of a label
are adjacent, as latent states are; see structures/chain/weights.py.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from typing import Any, NamedTuple

import numpy as np

from palmette.data.labels.schemes import Transitions
from palmette.errors import ModelError, UsageError

Step = Callable[[Any, str], Hashable]
START = "<s>"
CUSTOM = "custom"  # the name of a user's function in settings
HISTORIES = {
    "bigram": "the previous label",
    "trigram": "the two previous labels",
    "run:LABEL:MOST": "the number of tokens in a row with LABEL up to here, at most MOST",
}


class Automaton(NamedTuple):
    """A step, and how the memory of a state is shown after its label."""

    step: Step
    show: Callable[[Any], str]


class LabelAutomaton(NamedTuple):
    """The automaton of a model as a table, which is saved instead of code."""

    names: tuple[tuple[str, ...], ...]  # of the states of each label
    # Row 0 is the start of a sentence, then there is one row per state, label by label. follow[row][label]: the number
    # of the next state among those of the label.
    follow: tuple[tuple[int, ...], ...]

    @property
    def counts(self) -> tuple[int, ...]:
        """The number of states of each label."""
        return tuple(len(names) for names in self.names)

    def transitions(self, states_per_label: int) -> Transitions:
        """The transitions that the automaton allows, over `states_per_label` states per label, used or not."""
        Y = len(self.names)
        places = [y * states_per_label + k for y, n in enumerate(self.counts) for k in range(n)]
        target = np.arange(Y) * states_per_label + np.array(self.follow, np.int64)  # [1 + states, Y]
        H = Y * states_per_label
        start, pair, end = np.zeros(H, np.bool_), np.zeros((H, H), np.bool_), np.zeros(H, np.bool_)
        start[target[0]] = True
        pair[np.repeat(places, Y), target[1:].reshape(-1)] = True
        end[places] = True
        return Transitions(start, pair, end)

    def state_names(self, states_per_label: int) -> list[str]:
        """Names of all states; empty for places that a label with fewer than `per` states does not use."""
        return [name for names in self.names for name in (*names, *[""] * (states_per_label - len(names)))]


def make_automaton(labels: Sequence[str], asked: str | Step, most: int) -> LabelAutomaton:
    """The automaton of the reachable states, at most `most` per label. `asked`: a name of HISTORIES, or a step."""
    step, show = named_automaton(asked) if isinstance(asked, str) else Automaton(asked, str)
    numbers = {label: y for y, label in enumerate(labels)}
    memories: list[dict[Hashable, int]] = [{} for _ in labels]
    follow: dict[tuple[int, int], tuple[int, ...]] = {}

    def enter(before: Any) -> tuple[int, ...]:
        return tuple(_number(memories[y], step(before, label), label, most) for label, y in numbers.items())

    first = enter(None)
    while waiting := [(y, k) for y, known in enumerate(memories) for k in range(len(known)) if (y, k) not in follow]:
        for y, k in waiting:
            follow[y, k] = enter(list(memories[y])[k])
    shown = tuple(_names(label, [show(memory) for memory in memories[y]]) for label, y in numbers.items())
    return LabelAutomaton(shown, (first, *(follow[place] for place in sorted(follow))))


def _number(known: dict[Hashable, int], memory: Hashable, label: str, most: int) -> int:
    """The number of the state with this memory among those of its label."""
    try:
        number = known.setdefault(memory, len(known))
    except TypeError:
        raise UsageError(f"label history: {memory!r} is not hashable; use numbers, strings or tuples") from None
    if number >= most:
        raise UsageError(f"label history: the label {label!r} would have more than {most} states; use a shorter memory")
    return number


def _names(label: str, memories: list[str]) -> tuple[str, ...]:
    """Names of the states of a label: `O#2`, the label and its memory; only the label if it has one state. Memories
    that are unreadable or not distinct are numbered."""
    if len(memories) == 1:
        return (label,)
    if len(set(memories)) < len(memories) or any(not text or len(text.split()) != 1 for text in memories):
        memories = [str(k) for k in range(1, len(memories) + 1)]
    return tuple(f"{label}#{text}" for text in memories)


def named_automaton(name: str) -> Automaton:
    """One of HISTORIES."""
    if name in ("bigram", "trigram"):
        return _last_labels(2 if name == "bigram" else 3)
    kind, _, rest = name.partition(":")
    label, _, most = rest.rpartition(":")  # a label may contain a colon
    if kind == "run" and label and most.isdecimal() and int(most) >= 1:
        return _run(label, int(most))
    if name == CUSTOM:
        raise UsageError("label history: it was a function, which model files do not contain; give it again")
    raise UsageError(f"label history: there is no {name!r}; choose {', '.join(HISTORIES)} (such as run:O:3)")


def _last_labels(n: int) -> Automaton:
    start = (START,) * n
    return Automaton(lambda before, label: (*(before or start)[1:], label), lambda memory: ",".join(memory[:-1]))


def _run(label: str, most: int) -> Automaton:
    return Automaton(
        lambda before, now: min((before or 0) + 1, most) if now == label else 0,
        lambda memory: f"{memory}+" if memory == most else str(memory),
    )


def check_name(name: str, labels: Sequence[str] | None = None) -> None:
    """UsageError if there is no such history, or if its label is not in the data."""
    named_automaton(name)
    kind, _, rest = name.partition(":")
    label = rest.rpartition(":")[0]
    if kind == "run" and labels is not None and label not in labels:
        raise UsageError(f"label history {name}: no label {label!r} in the training data")


def checked_automaton(given: Any, n_labels: int, file: str) -> LabelAutomaton | None:
    """The table of a model file, with every number checked."""
    if given is None:
        return None
    wrong = ModelError("damaged model: its table of label histories does not fit its labels", file=file)
    if not isinstance(given, list | tuple) or len(given) != 2:
        raise wrong
    names, follow = given
    if not all(isinstance(part, list | tuple) for part in (names, follow, *names, *follow)):
        raise wrong
    history = LabelAutomaton(tuple(map(tuple, names)), tuple(map(tuple, follow)))
    counts = history.counts
    if len(counts) != n_labels or not all(counts) or len(follow) != 1 + sum(counts):
        raise wrong
    if not all(isinstance(name, str) and name for own in history.names for name in own):
        raise wrong
    fits = (len(row) == n_labels and all(type(k) is int and 0 <= k < n for k, n in zip(row, counts, strict=True))
            for row in history.follow)  # fmt: skip
    if not all(fits):
        raise wrong
    return history
