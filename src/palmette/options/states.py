"""The states of a chain model: one per label, several hidden ones per label, or states that remember earlier labels."""

from __future__ import annotations

import re
from collections.abc import Callable, Hashable, Mapping
from typing import Any

from palmette.options.declare import OptionError, Value, option

MOST_STATES = 64  # of one label
CUSTOM = "custom"  # the memory of a model whose function was given in Python
Step = Callable[[Any, str], Hashable]
_NAMED = re.compile(r"bigram|trigram|run:.+:[1-9][0-9]{0,8}")


class States(Value):
    """What the states of the trellis stand for."""

    parameter = "states"


class Plain(States):
    """One state per label."""

    kind = "plain"


def parse_latent(text: str) -> int | dict[str, int]:
    """`5`, or `B=2,I=5,O=3`: labels that are not named have one state."""
    try:
        if "=" not in text:
            return int(text)
        pairs = [item.strip().rpartition("=") for item in text.split(",")]
        if len({label for label, _, _ in pairs}) < len(pairs):
            raise OptionError("states", f"{text!r} names a label twice")
        return {label: int(count) for label, _, count in pairs}
    except ValueError as error:
        if isinstance(error, OptionError):
            raise
        message = f"{text!r}: write a number of states, or LABEL=NUMBER separated by commas"
        raise OptionError("states", message) from None


def _check_latent(given: Any) -> None:
    for count in given.values() if isinstance(given, Mapping) else (given,):
        if isinstance(count, bool) or not isinstance(count, int) or not 1 <= count <= MOST_STATES:
            raise OptionError("states", f"{count!r} is not a number of states from 1 to {MOST_STATES}")


class SeveralStates(States):
    """State spaces in which a label has several states."""

    tied_update: float = option(
        default=1.0, low=0.0, high=100.0,
        help="How much of an update all states of a label get besides the state on the path (0: the update as "
        "published, which takes longer to lower a label with many states).",
    )  # fmt: skip


class Latent(SeveralStates):
    """Hidden states behind the labels: the model learns what distinguishes them."""

    kind = "latent"
    states: int | dict = option(
        default=2, kw_only=False, flag="latent", selects=True, parse=parse_latent, check=_check_latent,
        metavar="N|LABEL=N,...",
        help="Hidden states behind every label, such as 3, or behind some: B-NP=2,I-NP=5.",
    )  # fmt: skip
    init: str = option(
        default="bare", help="Which weights of a latent model start at random; the others start at zero.",
        choices={
            "bare": "those of states, pairs and triples alone",
            "all": "those of attributes too, as published (a row of weights for every attribute)",
        },
    )  # fmt: skip
    init_size: float = option(
        default=0.01, low=1e-9, high=100.0, help="Size of the random numbers that a latent model starts from."
    )
    split_after: int = option(
        default=0, low=0, help="Train a plain model for so many passes first, then split its labels into states."
    )
    restarts: int = option(
        default=1, low=1, high=100,
        help="Train from so many random starts (seeds SEED, SEED+1, ...) and keep the best on the development data, "
        "for lbfgs without development data by the objective.",
    )  # fmt: skip

    @property
    def hidden(self) -> bool:
        """Whether any label has more than one state."""
        counts = self.states.values() if isinstance(self.states, dict) else (self.states,)
        return max(counts, default=1) > 1


def _check_memory(given: Any) -> None:
    if callable(given):
        return
    if not isinstance(given, str) or (given != CUSTOM and not _NAMED.fullmatch(given)):
        raise OptionError("memory", f"{given!r} is not bigram, trigram, run:LABEL:N or a function")


class LabelHistory(SeveralStates):
    """States that remember earlier labels; the labels determine the state, nothing is hidden."""

    kind = "label-history"

    def to_dict(self) -> dict[str, Any]:
        return super().to_dict() | ({"memory": CUSTOM} if callable(self.memory) else {})

    memory: str | Any = option(
        default="bigram", kw_only=False, flag="label-history", selects=True, check=_check_memory,
        metavar="bigram|trigram|run:LABEL:N",
        help="What states remember of earlier labels: bigram (the previous label), trigram (the previous two), run:O:3 "
        "(how many O in a row, 3 or more being one), or in Python a function (memory, label) -> memory.",
    )  # fmt: skip


TAGGER_STATES: dict[str, type[States]] = {states.kind: states for states in (Plain, Latent, LabelHistory)}
