"""How a Tagger came to the labels of one sentence; kept apart from training and tagging, and part of the same class."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from palmette.errors import DataError
from palmette.structures.chain.model import ChainModel

if TYPE_CHECKING:
    from palmette.data.corpus import Corpus
    from palmette.data.items import Items
    from palmette.structures.chain.explain import Explanation
    from palmette.structures.chain.trellis import TrellisRecord


class Views:
    """The search of a sentence, and what decided it."""

    _fitted: Callable[[], ChainModel]
    _items: Callable[..., Items]

    def trellis(self, tokens: Any) -> TrellisRecord:
        """The search of one sentence, as a plain record: scores, best path, runner-up, what a beam keeps."""
        from palmette.structures.chain.trellis import trellis_of

        return trellis_of(self._fitted(), self._sentence(tokens, "no trellis"))

    def explain(self, tokens: Any, *, bias: dict[str, float] | None = None) -> Explanation:
        """Why one sentence gets its labels: the best label sequence (`first`), the runner-up (`second`), and the
        attributes that decide between them (`contributions`, the largest first)."""
        from palmette.structures.chain.explain import explain

        return explain(self._fitted(), self._sentence(tokens, "nothing to explain"), bias)

    def _sentence(self, tokens: Any, without: str) -> Corpus:
        corpus = self._items([tokens]).corpus
        if not corpus.n_tokens:
            raise DataError(f"a sentence without tokens has {without}")
        return corpus
