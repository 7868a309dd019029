"""Tables of Arrow and Parquet (extra `[arrow]`): a column of token lists in, a column of label lists added."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from palmette.data.files import FilePath, check_apart, shown, write_whole
from palmette.errors import DataError, UsageError

if TYPE_CHECKING:
    from palmette.estimators.tagger import Tagger

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
