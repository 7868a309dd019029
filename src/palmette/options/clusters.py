"""Options of clusters that are learnt from raw text."""

from __future__ import annotations

from palmette.options.declare import Options, option

CLASSES, WORDS_PER_CLASS = 1000, 8


class ClusterOptions(Options):
    """How words of raw text are put into classes."""

    classes: int | None = option(
        default=None, low=2, high=1 << 14,
        help=f"Number of classes (default: {CLASSES:,}, or one per {WORDS_PER_CLASS} words if that is less).",
    )  # fmt: skip
    passes: int = option(default=12, low=1, help="Passes over the words at most; it ends when few words still move.")
    min_count: int = option(default=3, low=1, help="Leave out words that occur less often.")
    most_words: int = option(default=100_000, low=2, help="Cluster at most this many words, the most frequent ones.")
