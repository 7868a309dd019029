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
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import numpy as np

from palmette.connect.bulk import loaded
from palmette.data.files import FilePath, check_apart, shown, write_whole
from palmette.errors import DataError, UsageError
from palmette.estimators.base import PerSentence

if TYPE_CHECKING:
    from palmette.estimators.tagger import Tagger

# Tables of Arrow and Parquet (extra `[arrow]`): a column of token lists in, a column of label lists added.

TOKENS, LABELS = "tokens", "labels"
ROWS = 4096  # that are tagged at a time
FEATHER = (".arrow", ".feather")


def load_arrow() -> Any:
    """The module; UsageError if it is not installed."""
    try:
        import pyarrow
    except ImportError:
        raise UsageError("pyarrow is not installed: pip install 'palmette[arrow]'") from None
    return pyarrow


def with_labels(tagger: Tagger, batch: Any, tokens: str = TOKENS, labels: str = LABELS, source: str = "") -> Any:
    """A RecordBatch or Table of Arrow with a column of label lists more; rows without tokens (null) have no labels."""
    pa = load_arrow()
    if tokens not in batch.schema.names:
        raise DataError(
            f"no column {tokens!r}: there are {', '.join(batch.schema.names)}", file=source or None,
            hint="name the column that has the tokens of each sentence: tokens='...'",
        )  # fmt: skip
    if labels in batch.schema.names:
        raise DataError(f"there is a column {labels!r} already", file=source or None, hint="name another: labels='...'")
    rows = batch.column(tokens).to_pylist()
    column = pa.array(labels_of(tagger, rows, tokens), pa.list_(pa.string()))
    return batch.append_column(pa.field(labels, column.type), column)


def labels_of(tagger: Tagger, rows: list[Any], tokens: str) -> list[list[str] | None]:
    """The labels of lists of tokens; None for None."""
    for k, row in enumerate(rows):
        if isinstance(row, (str, bytes)):
            raise DataError(
                f"row {k} of {tokens!r} is a string, not a list of tokens", hint="split the text into words"
            )
    given = [row for row in rows if row is not None]
    found = iter(tagger.predict([list(row) for row in given]) if given else [])
    return [None if row is None else [str(label) for label in next(found)] for row in rows]


def tag_table(
    tagger: Tagger, source: FilePath, target: FilePath, *, tokens: str = TOKENS, labels: str = LABELS, **options: Any
) -> int:
    """Tag a Parquet, Arrow or Feather file in batches; the target has the same format, and is written whole or not at
    all. Returns the number of tokens."""
    check_apart([target], [source])
    if any(options.values()):
        raise UsageError(f"{', '.join(name for name, value in options.items() if value)}: not for tables")
    n = 0
    with write_whole(target) as out, _batches(source) as (schema, batches):
        pa = load_arrow()
        made = schema.append(pa.field(labels, pa.list_(pa.string()))) if labels not in schema.names else schema
        with _writer(str(source), out, made) as writer:
            for batch in batches:
                done = with_labels(tagger, batch, tokens, labels, shown(source))
                n += sum(len(row) for row in done.column(labels).to_pylist() if row is not None)
                writer.write_batch(done)
    return n


@contextmanager
def _batches(source: FilePath) -> Iterator[tuple[Any, Iterator[Any]]]:
    """The schema of a table file, and its rows in batches."""
    pa = load_arrow()
    try:
        if str(source).endswith(FEATHER):
            with pa.memory_map(str(source)) as mapped:
                reader = pa.ipc.open_file(mapped)
                yield reader.schema, (reader.get_batch(k) for k in range(reader.num_record_batches))
        else:
            import pyarrow.parquet as parquet

            with parquet.ParquetFile(str(source)) as file:
                yield file.schema_arrow, file.iter_batches(ROWS)
    except (pa.ArrowInvalid, OSError) as error:
        raise DataError(str(error), file=shown(source)) from None


def _writer(source: str, out: Any, schema: Any) -> Any:
    if source.endswith(FEATHER):
        return load_arrow().ipc.new_file(out, schema)
    import pyarrow.parquet as parquet

    return parquet.ParquetWriter(out, schema)


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
