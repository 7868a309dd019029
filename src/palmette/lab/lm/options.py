"""Options of n-gram language models."""

from __future__ import annotations

from palmette.options.declare import Options, option
from palmette.options.training import UNICODE


class NgramOptions(Options):
    """All options of a `LanguageModel`."""

    unicode: str = UNICODE
    order: int | float = option(
        default=3, kw_only=False, low=1, high=5, group="model",
        help="Words of an n-gram; 2.4: a mixture of orders 2 and 3, with a weight of 0.4 for 3.",
    )  # fmt: skip
    min_count: int = option(
        default=1, low=1, group="model", help="Words that occur less often count as unknown words, <unk>."
    )
