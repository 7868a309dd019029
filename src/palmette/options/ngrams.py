"""Options of n-gram language models."""

from __future__ import annotations

from palmette.options.declare import option
from palmette.options.unicode import UnicodeOptions


class NgramOptions(UnicodeOptions):
    """All options of a `LanguageModel`."""

    order: int = option(default=3, kw_only=False, low=1, high=5, group="model", help="Words of an n-gram.")
    min_count: int = option(
        default=1, low=1, group="model", help="Words that occur less often count as unknown words, <unk>."
    )
