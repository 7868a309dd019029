"""A tagged sentence to look at, and how a Tagger came to its labels; apart from training and tagging, and part of the
same class."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from msgspec.structs import replace

from palmette.data.labels.schemes import unseen_scheme
from palmette.display import drawn_by
from palmette.errors import DataError
from palmette.structures.chain.model import ChainModel

if TYPE_CHECKING:
    from palmette.data.analysed import TaggedSentence
    from palmette.data.corpus import Corpus
    from palmette.data.items import Items
    from palmette.structures.chain.explain import Explanation
    from palmette.structures.chain.trellis import TrellisRecord


class Views:
    """A sentence with its labels, the search of it, and what decided it."""

    _fitted: Callable[[], ChainModel]
    _items: Callable[..., Items]
    _repr_html_ = drawn_by("reports.notebook_models:model")

    def show(
        self,
        tokens: Any,
        *,
        words: Sequence[str] | None = None,
        nbest: int = 1,
        confidence: bool = False,
        gold: Sequence[str] | None = None,
    ) -> TaggedSentence:
        """One sentence with its labels, to look at: notebooks draw spans as coloured marks, `print` writes a token a
        line. words: what to write for tokens that are dicts or lists of attributes. nbest: so many label sequences,
        below each other. confidence: how sure each label is. gold: the right labels, below the others."""
        from palmette.data.analysed import Reading, TaggedSentence
        from palmette.structures.chain.nbest import nbest_lists
        from palmette.structures.chain.posteriors import are_probabilities, confidence_of

        model, corpus = self._fitted(), self._sentence(tokens, "nothing to show")
        (candidates,) = nbest_lists(model, corpus, nbest)
        readings = [Reading(one.output, one.score, one.probability) for one in candidates]
        if confidence:
            numbers = {label: k for k, label in enumerate(model.labels)}
            for k, one in enumerate(candidates):
                found = confidence_of(model, corpus, np.array([numbers[tag] for tag in one.output], np.int32))
                spans = None if found.spans is None else found.spans.posterior.tolist()
                readings[k] = replace(readings[k], confidence=found.tokens.tolist(), span_confidence=spans)
        plain = corpus.columns[0].cells() if corpus.columns else [str(i) for i in range(1, corpus.n_tokens + 1)]
        called = dict(zip(model.classes, model.labels, strict=True))
        right = None if gold is None else Reading([called.get(label, str(label)) for label in gold])
        written = plain if words is None else list(words)
        calibrated = are_probabilities(model) if confidence else None
        return TaggedSentence(written, readings, right, model.labels, unseen_scheme(model.scheme), calibrated)

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
