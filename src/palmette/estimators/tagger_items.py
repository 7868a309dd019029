"""How a Tagger reads Python data; kept apart from training and tagging, and part of the same class."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any

import msgspec

from palmette.data.corpus import Corpus
from palmette.data.labels.mask import LabelMask, mask_from_items
from palmette.data.labels.numbers import label_numbers
from palmette.errors import UsageError
from palmette.structures.chain.model import ChainModel

if TYPE_CHECKING:
    from palmette.data.items import Items


def about_data(corpus: Corpus) -> dict[str, Any]:
    """What a model keeps about the data that it was trained on, which later data is compared with."""
    made: dict[str, Any] = {}
    if corpus.vectors is not None:
        made["vectors"] = corpus.vectors
    if corpus.label_numbers is not None:
        made["label_numbers"] = msgspec.to_builtins(corpus.label_numbers)
    if corpus.columns:
        made["columns"] = len(corpus.columns)
    return made


class PythonData:
    """From X, y and `allowed` to what the model reads; see data/items.py."""

    _fitted: Callable[[], ChainModel]
    _wanted: Callable[[], str]
    model_: ChainModel

    def _corpus(self, X: Iterable[Any], y: Iterable[Any] | None = None, labels: Any = None) -> Corpus:
        """A corpus with the names of its attributes, to learn from."""
        from palmette.data.items import corpus_from_items

        numbers, model = label_numbers(labels), getattr(self, "model_", None)
        if model is not None:
            if labels is not None and numbers != model.label_numbers:
                raise UsageError("labels: the model has other names; leave them out to train it further")
            numbers = model.label_numbers
        widths, columns = (None if model is None else model.meta.get(name) for name in ("vectors", "columns"))
        return corpus_from_items(X, y, mode=self._mode(), widths=widths, numbers=numbers, columns=columns).corpus

    def _items(self, X: Iterable[Any], y: Iterable[Any] | None = None) -> Items:
        """A corpus for the model, which looks ready-made attributes up."""
        from palmette.data.items import corpus_from_items

        model = self._fitted()
        index = model.feature_indexes[1] if model.encoder is None else None
        widths = model.meta.get("vectors")
        return corpus_from_items(
            X, y, mode=self._mode(), index=index, widths=widths, numbers=model.label_numbers,
            columns=model.meta.get("columns"),
        )  # fmt: skip

    def _mode(self) -> str:
        """Whether a list as a token means columns or attributes."""
        if hasattr(self, "model_"):
            return "attributes" if self.model_.encoder is None else "columns"
        return self._wanted()

    def _mask(self, allowed: Iterable[Any] | None, items: Items) -> LabelMask | None:
        """The labels that the user allows."""
        model = self._fitted()
        return None if allowed is None else mask_from_items(allowed, items.corpus, model.labels, model.label_numbers)
