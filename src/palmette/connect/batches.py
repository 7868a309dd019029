"""A tagger to hand to engines that work on batches of rows: Ray Data, Spark, Dask, pandas, Polars, Arrow.

    from palmette.connect.batches import TagBatches

    tag = TagBatches("ner.palm", tokens="words", labels="entities")
    dataset.map_batches(tag)                                            # Ray Data: NumPy, pandas or Arrow batches
    frame.mapInPandas(tag.in_pandas, schema)                            # Spark
    frame.mapInArrow(tag.in_arrow, schema)
    frame.map_partitions(tag, meta=tag.meta(frame))                     # Dask: a column of lists, not of strings
    tag(frame)                                                          # Polars, and any `__arrow_c_stream__`

It is pickled as the path of the model, which workers must be able to read, and each process loads the model once.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np

from palmette.connect.arrow_tables import LABELS, TOKENS, labels_of, load_arrow, with_labels
from palmette.connect.bulk import loaded
from palmette.data.files import FilePath
from palmette.errors import DataError
from palmette.estimators.base import PerSentence

DASK = (
    "read a table that has lists (Parquet), give the column the type "
    "pandas.ArrowDtype(pyarrow.list_(pyarrow.string())), or keep objects: "
    "dask.config.set({'dataframe.convert-string': False})"
)


class TagBatches:
    """Adds a column of label lists to batches that have a column of token lists."""

    def __init__(self, model: FilePath, *, tokens: str = TOKENS, labels: str = LABELS) -> None:
        self.model, self.tokens, self.labels = os.path.abspath(str(os.fspath(model))), tokens, labels

    def __repr__(self) -> str:
        return f"TagBatches({self.model!r}, tokens={self.tokens!r}, labels={self.labels!r})"

    def __call__(self, batch: Any) -> Any:
        """A batch with the labels: a dict of NumPy arrays, a DataFrame of pandas or Polars, a Table or RecordBatch
        of Arrow. Anything else that offers its rows by `__arrow_c_stream__` becomes a Table of Arrow."""
        if isinstance(batch, dict):
            return self._in_dict(batch)
        if hasattr(batch, "schema") and hasattr(batch, "append_column"):
            return with_labels(loaded(self.model), batch, self.tokens, self.labels)
        if hasattr(batch, "assign") and hasattr(batch, "columns"):
            return self._in_frame(batch)
        if hasattr(batch, "__arrow_c_stream__"):
            table = with_labels(loaded(self.model), load_arrow().table(batch), self.tokens, self.labels)
            return type(batch)(table) if type(batch).__module__.startswith("polars.") else table
        raise DataError(
            f"a batch is a dict of arrays, a DataFrame, or what has `__arrow_c_stream__`, not {type(batch).__name__}"
        )

    def in_pandas(self, frames: Iterable[Any]) -> Iterator[Any]:
        """For Spark's `mapInPandas`."""
        for frame in frames:
            yield self._in_frame(frame)

    def in_arrow(self, batches: Iterable[Any]) -> Iterator[Any]:
        """For Spark's `mapInArrow`."""
        for batch in batches:
            yield with_labels(loaded(self.model), batch, self.tokens, self.labels)

    def meta(self, frame: Any) -> Any:
        """The columns of the result, for Dask. DataError if Dask has made strings of the lists, as it does by default
        with those that are Python objects."""
        import pandas as pd

        empty = frame._meta
        if isinstance(empty.dtypes.get(self.tokens), pd.StringDtype):
            raise DataError(f"the column {self.tokens!r} has strings, not lists of tokens", hint=DASK)
        return empty.assign(**{self.labels: self._column(empty, [])})

    def _in_frame(self, frame: Any) -> Any:
        found = self._labels(frame[self.tokens].tolist() if self.tokens in frame.columns else None, list(frame.columns))
        return frame.assign(**{self.labels: self._column(frame, found)})

    def _column(self, frame: Any, found: list[Any]) -> Any:
        """The labels as a column of pandas: lists of Arrow if the tokens are, or objects."""
        import pandas as pd

        if isinstance(frame.dtypes.get(self.tokens), pd.ArrowDtype):
            pa = load_arrow()
            return pd.Series(found, frame.index, pd.ArrowDtype(pa.list_(pa.string())))
        return pd.Series(found, frame.index, object)

    def _in_dict(self, batch: dict[str, Any]) -> dict[str, Any]:
        rows = batch.get(self.tokens)
        found = self._labels(None if rows is None else list(rows), list(batch))
        return {**batch, self.labels: np.asarray(PerSentence(found))}

    def _labels(self, rows: list[Any] | None, names: list[str]) -> list[Any]:
        if rows is None:
            raise DataError(f"no column {self.tokens!r}: there are {', '.join(map(str, names))}")
        plain = [row.tolist() if hasattr(row, "tolist") else row for row in rows]
        return labels_of(loaded(self.model), plain, self.tokens)
