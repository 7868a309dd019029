"""Options about raw text: word clusters that models read, and how they are learnt."""

from __future__ import annotations

from typing import Any

from palmette.options.declare import OptionError, Options, option

CLASSES, WORDS_PER_CLASS = 1000, 8


def named_file(text: str) -> tuple[str, str]:
    """NAME=FILE."""
    name, equals, path = text.partition("=")
    if not (name and equals and path):
        raise OptionError("lexicons, clusters", f"{text!r}: write NAME=FILE")
    return name, path


# Declared once for taggers, parsers and pipelines; the names are those of their parameters.
CLUSTERS: Any = option(
    default=None, repeat=True, parse=named_file, metavar="NAME=FILE", group="features", path="input",
    help="Word clusters for the atoms cluster:NAME (of parsers: c), as `palmette cluster` and others write them; they "
    "are stored in the model.",
)  # fmt: skip
RAW: Any = option(
    default=None, repeat=True, several=True, metavar="FILE...", group="features", path="input",
    help="Raw text, one sentence or paragraph per line: word clusters called raw are learnt from it first. Takes all "
    "files up to the next flag; `palmette cluster` learns them once for several trainings.",
)  # fmt: skip


class ClusterOptions(Options):
    """How words of raw text are put into classes."""

    classes: int | None = option(
        default=None, low=2, high=1 << 14,
        help=f"Number of classes (default: {CLASSES:,}, or one per {WORDS_PER_CLASS} words if that is less).",
    )  # fmt: skip
    passes: int = option(default=12, low=1, help="Passes over the words at most; it ends when few words still move.")
    min_count: int = option(default=3, low=1, help="Leave out words that occur less often.")
    most_words: int = option(default=100_000, low=2, help="Cluster at most this many words, the most frequent ones.")
