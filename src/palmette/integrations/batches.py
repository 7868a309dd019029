"""A tagger to hand to engines that work on batches of rows: Ray Data, Spark, Dask, pandas, Arrow.

    from palmette.integrations.batches import TagBatches

    tag = TagBatches("ner.palm", tokens="words", labels="entities")
    dataset.map_batches(tag)                                            # Ray Data: NumPy, pandas or Arrow batches
    frame.mapInPandas(tag.in_pandas, schema)                            # Spark
    frame.mapInArrow(tag.in_arrow, schema)
    frame.map_partitions(tag, meta=tag.meta(frame))                     # Dask

It is pickled as the path of the model, which workers must be able to read, and each process loads the model once.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from typing import Any

from palmette.data.files import FilePath
from palmette.errors import DataError
from palmette.estimators.arrow_tables import LABELS, TOKENS, labels_of, with_labels
from palmette.estimators.bulk import loaded


class TagBatches:
    """Adds a column of label lists to batches that have a column of token lists."""

    def __init__(self, model: FilePath, *, tokens: str = TOKENS, labels: str = LABELS) -> None:
        self.model, self.tokens, self.labels = os.path.abspath(str(os.fspath(model))), tokens, labels

    def __repr__(self) -> str:
        return f"TagBatches({self.model!r}, tokens={self.tokens!r}, labels={self.labels!r})"

    def __call__(self, batch: Any) -> Any:
        """A batch with the labels: a dict of NumPy arrays, a DataFrame of pandas, a Table or RecordBatch of Arrow."""
        if isinstance(batch, dict):
            return self._in_dict(batch)
        if hasattr(batch, "schema") and hasattr(batch, "append_column"):
            return with_labels(loaded(self.model), batch, self.tokens, self.labels)
        if hasattr(batch, "assign") and hasattr(batch, "columns"):
            return self._in_frame(batch)
        raise DataError(f"a batch is a dict of arrays, a DataFrame, or a table of Arrow, not {type(batch).__name__}")

    def in_pandas(self, frames: Iterable[Any]) -> Iterator[Any]:
        """For Spark's `mapInPandas`."""
        for frame in frames:
            yield self._in_frame(frame)

    def in_arrow(self, batches: Iterable[Any]) -> Iterator[Any]:
        """For Spark's `mapInArrow`."""
        for batch in batches:
            yield with_labels(loaded(self.model), batch, self.tokens, self.labels)

    def meta(self, frame: Any) -> Any:
        """The columns of the result, for Dask."""
        return frame._meta.assign(**{self.labels: None}).astype({self.labels: object})

    def _in_frame(self, frame: Any) -> Any:
        found = self._labels(frame[self.tokens].tolist() if self.tokens in frame.columns else None, list(frame.columns))
        column = frame[self.tokens].astype(object).copy()
        column[:] = found
        return frame.assign(**{self.labels: column})

    def _in_dict(self, batch: dict[str, Any]) -> dict[str, Any]:
        import numpy as np

        rows = batch.get(self.tokens)
        found = self._labels(None if rows is None else list(rows), list(batch))
        out = np.empty(len(found), object)
        out[:] = found
        return {**batch, self.labels: out}

    def _labels(self, rows: list[Any] | None, names: list[str]) -> list[Any]:
        if rows is None:
            raise DataError(f"no column {self.tokens!r}: there are {', '.join(map(str, names))}")
        plain = [row.tolist() if hasattr(row, "tolist") else row for row in rows]
        return labels_of(loaded(self.model), plain, self.tokens)
