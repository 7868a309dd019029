"""Rows of Hugging Face `datasets`, or plain dicts, for taggers: to train on, to score, and to add predictions to.

    from palmette.connect.datasets import fit_dataset, predict_dataset

    tagger = fit_dataset(Tagger("ner"), data["train"], dev=data["validation"], labels="ner_tags")
    tagged = predict_dataset(tagger, data["test"])      # a column "predicted", with the ClassLabel of the training data

A column of labels with a feature `List(ClassLabel)` has numbers and names: the model keeps the names, predictions are
the numbers. `tokens` says what a token is: the name of a column of words (or of vectors); a list of such names, for
templates that read several columns; or a dict from names of attributes to columns. `datasets` is imported only where a
data set of its own comes back.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any, NamedTuple

import numpy as np

from palmette.data.labels.numbers import label_numbers
from palmette.errors import DataError, UsageError
from palmette.estimators.tagger import Tagger

BATCH = 1000  # rows
TOKENS, LABELS, PREDICTED = "tokens", "ner_tags", "predicted"  # names of columns
Tokens = str | Sequence[str] | Mapping[str, str]


class DatasetColumns(NamedTuple):
    """What a Tagger takes: `tagger.fit(X, y, labels=names)`."""

    X: list[Any]
    y: list[Any]
    names: list[str] | None  # of labels that are numbers


def read_dataset(
    rows: Any, *, tokens: Tokens = TOKENS, labels: str = LABELS, names: Sequence[str] | None = None
) -> DatasetColumns:
    """Sentences and labels of rows, and the names of the labels: those of the feature `List(ClassLabel)` of their
    column, unless `names` are given."""
    _check_rows(rows)
    found = DatasetColumns([], [], list(names) if names is not None else _names(rows, labels))
    for batch in _batches(rows, {**_columns(tokens), labels: labels}):
        found.X.extend(_sentences(batch, tokens, rows))
        found.y.extend(batch[labels])
    return found


def fit_dataset(
    tagger: Tagger,
    rows: Any,
    *,
    tokens: Tokens = TOKENS,
    labels: str = LABELS,
    names: Sequence[str] | None = None,
    dev: Any = None,
    **options: Any,
) -> Tagger:
    """Train a tagger on rows; `dev` are rows of development data, `options` go to `Tagger.fit`."""
    data = read_dataset(rows, tokens=tokens, labels=labels, names=names)
    if dev is not None:
        held_out = read_dataset(dev, tokens=tokens, labels=labels, names=names)
        options["dev"] = held_out.X, _as_names(held_out)
    return tagger.fit(data.X, data.y, labels=data.names, **options)


def score_dataset(
    tagger: Tagger, rows: Any, *, tokens: Tokens = TOKENS, labels: str = LABELS, names: Sequence[str] | None = None
) -> float:
    """Token accuracy on rows. Labels that have names are compared by them, whatever their numbers are."""
    data, numbers = read_dataset(rows, tokens=tokens, labels=labels, names=names), tagger._fitted().label_numbers
    nameless = numbers is not None and numbers.names is None
    return tagger.score(data.X, data.y if nameless else _as_names(data))


@dataclass
class Predictor:
    """A function of batches for `map`: `data.map(Predictor(tagger), batched=True)`."""

    tagger: Tagger
    tokens: Tokens = TOKENS
    column: str = PREDICTED
    source: Any = None  # whose features give the names of columns of numbers

    def __call__(self, batch: Mapping[str, Sequence[Any]]) -> dict[str, list[list[Any]]]:
        return {self.column: self.tagger.predict(_sentences(batch, self.tokens, self.source))}


def predict_dataset(tagger: Tagger, rows: Any, *, tokens: Tokens = TOKENS, column: str = PREDICTED) -> Any:
    """The rows with a column of predicted labels: numbers with the names of the training data, if it had them. Rows of
    `datasets` come back as such (all splits of a DatasetDict), others as a list of dicts."""
    if isinstance(rows, Mapping):
        parts = {name: predict_dataset(tagger, part, tokens=tokens, column=column) for name, part in rows.items()}
        return type(rows)(parts)  # type: ignore[call-arg]
    _check_rows(rows)
    predict = Predictor(tagger, tokens, column, _features(rows))
    if column in _features(rows):
        raise UsageError(f"the rows have a column {column!r}: choose another one, or remove it first")
    if not hasattr(rows, "features"):
        made = []
        for batch, own in _batches_and_rows(rows, _columns(tokens)):
            made += [{**row, column: labels} for row, labels in zip(own, predict(batch)[column], strict=True)]
        return made
    if not hasattr(rows, "add_column") or not hasattr(rows, "num_rows"):  # not in memory: batch by batch, when asked
        features = None if rows.features is None else type(rows.features)({**rows.features, column: _feature(tagger)})
        return rows.map(predict, batched=True, features=features)
    labels = [label for batch in _batches(rows, _columns(tokens)) for label in predict(batch)[column]]
    return rows.add_column(column, labels, feature=_feature(tagger))


def _feature(tagger: Tagger) -> Any:
    """The feature of a column of predictions."""
    from datasets import ClassLabel, Sequence, Value  # type: ignore[import-untyped, unused-ignore]

    numbers = tagger._fitted().label_numbers
    if numbers is None:
        return Sequence(Value("string"))
    return Sequence(Value("int64") if numbers.names is None else ClassLabel(names=list(numbers.names)))


# --- rows -----------------------------------------------------------------------------------------------------


def _check_rows(rows: Any) -> None:
    if isinstance(rows, Mapping):
        raise UsageError(f"these are several splits ({', '.join(map(str, rows))}): choose one, such as data['train']")
    if isinstance(rows, str) or not isinstance(rows, Iterable):
        raise UsageError(f"rows are of type {type(rows).__name__}: a data set or a list of dicts is expected")


def _features(rows: Any) -> Mapping[str, Any]:
    return getattr(rows, "features", None) or {}


def _names_of(feature: Any) -> list[str] | None:
    """The names of a ClassLabel, or of a list of these."""
    names = getattr(getattr(feature, "feature", feature), "names", None)
    return None if names is None else list(names)


def _names(rows: Any, column: str) -> list[str] | None:
    return _names_of(_features(rows).get(column))


def _columns(tokens: Tokens) -> dict[str, str]:
    """What the columns of tokens are called in a token."""
    if isinstance(tokens, str):
        return {tokens: tokens}
    return dict(tokens) if isinstance(tokens, Mapping) else {name: name for name in tokens}


def _batches(rows: Any, columns: Mapping[str, str]) -> Iterator[Mapping[str, Sequence[Any]]]:
    """Some columns of rows, in batches."""
    if not hasattr(rows, "features"):
        for batch, _ in _batches_and_rows(rows, columns):
            yield batch
        return
    wanted = list(dict.fromkeys(columns.values()))
    has = list(_features(rows)) or None
    _check_columns(wanted, has)
    chosen = rows.select_columns(wanted) if has else rows
    yield from chosen.with_format(None).iter(BATCH)


def _batches_and_rows(
    rows: Iterable[Mapping[str, Any]], columns: Mapping[str, str]
) -> Iterator[tuple[dict[str, list[Any]], list[Mapping[str, Any]]]]:
    """Batches of plain rows: some columns, and the rows themselves."""
    rest, at = iter(rows), 0
    while own := list(islice(rest, BATCH)):
        for row in own:
            if not isinstance(row, Mapping):
                raise DataError(f"row {at} is of type {type(row).__name__}: a dict is expected")
            _check_columns(columns.values(), row, f"row {at} has")
            at += 1
        yield {name: [row[name] for row in own] for name in columns.values()}, own


def _check_columns(wanted: Iterable[str], has: Iterable[str] | None, which: str = "the rows have") -> None:
    missing = [] if has is None else [name for name in wanted if name not in set(has)]
    if missing:
        raise UsageError(
            f"{which} no column {missing[0]!r}, only {', '.join(map(str, has or ()))}: see tokens= and labels="
        )


def _sentences(batch: Mapping[str, Sequence[Any]], tokens: Tokens, rows: Any) -> list[Any]:
    """The sentences of a batch: words, tuples or dicts."""
    features = rows if isinstance(rows, Mapping) else _features(rows)
    columns = _columns(tokens)
    found = {key: [_cells(own, _names_of(features.get(name))) for own in batch[name]] for key, name in columns.items()}
    if isinstance(tokens, str):
        return found[tokens]
    _check_lengths(found)
    parts = [list(zip(*own, strict=True)) for own in zip(*found.values(), strict=True)]
    if not isinstance(tokens, Mapping):
        return parts
    return [[dict(zip(columns, cells, strict=True)) for cells in sentence] for sentence in parts]


def _check_lengths(found: Mapping[str, Sequence[Any]]) -> None:
    (first, given), *others = found.items()
    for name, other in others:
        for one, two in zip(given, other, strict=True):
            if len(one) != len(two):
                raise DataError(f"a row has {len(one)} tokens in {first!r} and {len(two)} in {name!r}")


def _cells(own: Any, names: list[str] | None) -> Any:
    """One column of a sentence: words, names in place of numbers, or a matrix."""
    if names is not None:
        strange = [number for number in own if number is None or not 0 <= number < len(names)]
        if strange:
            raise DataError(f"a column of tokens holds {strange[0]}, which has no name: it has {len(names)} names")
        return [names[number] for number in own]
    if len(own) and isinstance(own[0], list | tuple) and own[0] and isinstance(own[0][0], int | float):
        try:
            return np.asarray(own, np.float32)
        except ValueError:
            return [np.asarray(vector, np.float32) for vector in own]
    return own


def _as_names(data: DatasetColumns) -> list[Any]:
    """Labels by name, if they are numbers that have names."""
    if data.names is None:
        return data.y
    numbers = label_numbers(data.names)
    return [[numbers.named(label, f"y[{s}][{i}]") for i, label in enumerate(labels)] for s, labels in enumerate(data.y)]
