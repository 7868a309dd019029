"""`LinearClassifier`: one label for one row, as a chain of order 0 over sentences of one token.

    classifier = LinearClassifier("crf").fit(rows, labels)      # logistic regression; "perceptron" is the other one
    classifier.predict(rows)

A row is a list or array of numbers, a dict of attributes and their values, or a list of attributes.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from numbers import Real
from typing import Any

import numpy as np

from palmette.data.files import FilePath, shown
from palmette.data.items import corpus_from_items, sample_weights
from palmette.display import drawn_by
from palmette.errors import DataError, ModelError, UsageError, counted, not_fitted
from palmette.estimators.base import Estimator
from palmette.estimators.tagger import Tagger
from palmette.options.chain import ESTIMATORS
from palmette.options.declare import option
from palmette.options.learners import ROW_LEARNERS, Learner
from palmette.options.training import TrainingOptions
from palmette.structures.chain.metadata import StoredRows
from palmette.structures.chain.model import best_labels
from palmette.training.chain.fit import of_items
from palmette.training.result import Progress

BIAS = "bias"
CLASS_KINDS = "Ubiuf"  # of NumPy arrays: strings, truth values, numbers


class LinearClassifier(TrainingOptions, Estimator):
    """A linear classifier: each label scores the attributes of a row, the best one wins.

    learner="crf" is multinomial logistic regression, "perceptron" the averaged perceptron.
    `tagger_` is the chain inside; `palmette inspect` and `palmette tag` (files of attributes) read the saved file.
    """

    learner: Learner | str = option(default="crf", kw_only=False, variants=ROW_LEARNERS, help="How weights are learnt.")
    bias: bool = option(default=True, help="Add an attribute `bias` with the value 1 to each row.")
    estimator: str = option(default="auto", choices=ESTIMATORS, help="Which weights come out of the training.")

    _width: int | None = None  # of rows of numbers
    _repr_html_ = drawn_by("reports.notebook:model")

    def __sklearn_tags__(self) -> Any:
        from sklearn.utils import ClassifierTags, InputTags, Tags, TargetTags

        return Tags(
            estimator_type="classifier", target_tags=TargetTags(required=True), classifier_tags=ClassifierTags(),
            input_tags=InputTags(two_d_array=True, string=True, dict=True),
        )  # fmt: skip

    def fit(
        self,
        X: Iterable[Any],
        y: Iterable[Any],
        *,
        sample_weight: Sequence[float] | None = None,
        dev: tuple[Iterable[Any], Iterable[Any]] | None = None,
        progress: Progress | None = None,
        verbose: bool = False,
    ) -> LinearClassifier:
        """Learn from rows X and their classes y, which may be strings or numbers.

        sample_weight: a number per row that scales its updates. dev: a pair (X, y) of development data that chooses the
        pass. verbose: print a line per pass, or per iteration of L-BFGS."""
        self._check_values()
        self._width = None
        rows, labels = self._labelled(X, y)
        self.classes_ = np.unique(labels)
        held_out = None
        if dev is not None:
            if len(dev) != 2:
                raise UsageError("dev is a pair of rows and their classes: dev=(X, y)")
            more, gold = self._labelled(*dev)
            held_out = more, _names(gold)
        self.tagger_ = Tagger(
            order=0, constraints="none", partial=False, learner=self.learner, passes=self.passes,
            patience=self.patience, stop_window=self.stop_window, stop_error=self.stop_error,
            estimator=self.estimator, seed=self.seed, batch_size=self.batch_size, metric="accuracy",
            ends=False,  # they would be a second and a third bias
        )  # fmt: skip
        about = StoredRows(self.classes_.tolist(), self.classes_.dtype.str, self._width, bool(self.bias))
        request = self.tagger_._request(progress=progress, verbose=verbose, rows=about)
        job = of_items((rows, _names(labels)), held_out, request, mode="auto", sample_weight=sample_weight)
        self.tagger_._fit(job)
        self._find_places()
        return self

    def _labelled(self, X: Iterable[Any], y: Iterable[Any]) -> tuple[list[list[Any]], np.ndarray]:
        """Rows as sentences of one token, and their classes."""
        labels = np.asarray(list(y))
        if labels.ndim != 1 or not labels.size or labels.dtype.kind not in CLASS_KINDS:
            raise DataError("y must hold a string or a number for each row, and at least one")
        if labels.dtype.kind == "f" and not np.isfinite(labels).all():
            raise DataError("y holds a number that is not finite, which is no class")
        rows = self._sentences(X)
        if len(rows) != labels.size:
            raise DataError(f"{counted(labels.size, 'label')} for {counted(len(rows), 'row')}")
        return rows, labels

    def _find_places(self) -> None:
        """Which label of the chain each class is."""
        names = [name for (name,) in _names(self.classes_)]
        self._places = np.array([self.tagger_.labels_.index(name) for name in names])

    def decision_function(self, X: Iterable[Any]) -> np.ndarray:
        """The score of each label f64[rows, labels], in the order of `classes_`."""
        self._fitted()
        return self._scores(self._sentences(X))

    def _scores(self, rows: list[list[Any]]) -> np.ndarray:
        model = self._fitted().model_
        items = corpus_from_items(rows, None, mode="attributes", index=model.feature_indexes[1])
        if not items.size:
            return np.zeros((0, len(model.labels)))
        data = model.encode(items.corpus)
        chain = model.with_bias(model.bias)
        scores = np.zeros((items.corpus.n_sentences, len(model.labels)))
        for y in range(len(model.labels)):
            known = np.full(items.corpus.n_tokens, y, np.int32)
            _, scores[:, y] = best_labels(chain, data._replace(known=known), restricted=True)
        return scores[:, self._places]

    def predict(self, X: Iterable[Any]) -> np.ndarray:
        """The best label of each row."""
        self._fitted()
        return self._predicted(self._sentences(X))

    def _predicted(self, rows: list[list[Any]]) -> np.ndarray:
        return np.asarray(self.classes_[self._scores(rows).argmax(axis=1)])

    def predict_proba(self, X: Iterable[Any]) -> np.ndarray:
        """The probability of each label f64[rows, labels]: exp(score / temperature) over the sum of all. For learners
        other than crf, training with development data fits the temperature."""
        scores = self.decision_function(X) / self.tagger_.temperature_
        if not self.tagger_.calibrated_:
            kind = self.tagger_.model_.settings.chosen_learner.kind
            raise UsageError(
                f"predict_proba: the scores of the {kind} are not calibrated, so there are no probabilities; train "
                "with development data (dev=(X, y)), or use crf"
            )
        shares = np.exp(scores - scores.max(axis=1, keepdims=True))
        return np.asarray(shares / shares.sum(axis=1, keepdims=True))

    def score(self, X: Iterable[Any], y: Iterable[Any], sample_weight: Sequence[float] | None = None) -> float:
        """Accuracy; sample_weight: a number per row that weighs it."""
        self._fitted()
        rows, gold = self._labelled(X, y)
        guess = self._predicted(rows)
        weight = None if sample_weight is None else sample_weights(sample_weight, len(rows), "row")
        if weight is not None and not weight.any():
            raise DataError("the sample weights of all rows are 0")
        return float(np.average(guess == gold, weights=weight))

    # Keeping

    def save(self, path: FilePath) -> None:
        """Write the model file, whole or not at all. `Tagger.load` and `palmette inspect` read it too."""
        self._fitted().save(path)

    @classmethod
    def load(cls, path: FilePath, *, copy: bool = False) -> LinearClassifier:
        """Read a model file, which is mapped. `copy` reads it into memory instead: for files that may be overwritten in
        place while the model is in use."""
        tagger = Tagger.load(path, copy=copy)
        rows = tagger.model_.meta.get("rows")
        if rows is None:
            raise ModelError("a tagger, not a linear classifier", file=shown(path), hint="load it with Tagger.load")
        shared = {name: value for name, value in tagger.get_params(deep=False).items() if name in cls.__options__}
        made = cls(**shared, bias=rows["bias"])
        made.tagger_, made._width, made.classes_ = tagger, rows["width"], _stored_classes(rows, shown(path))
        if set(tagger.labels_) != {name for (name,) in _names(made.classes_)}:
            raise ModelError("damaged model: its classes are not its labels", file=shown(path))
        made._find_places()
        return made

    def _sentences(self, X: Iterable[Any]) -> list[list[Any]]:
        if isinstance(X, str | Mapping) or not isinstance(X, Iterable):
            raise DataError(f"X is of type {type(X).__name__}: a list of rows is expected")
        return [[self._attributes(row, f"X[{i}]")] for i, row in enumerate(X)]

    def _attributes(self, row: Any, where: str) -> dict[str, float]:
        """A row as attributes with their values: numbers are called x0, x1, ..."""
        if isinstance(row, Mapping):
            found = dict(row)
        elif isinstance(row, str) or not isinstance(row, Iterable):
            raise DataError(f"{where} is of type {type(row).__name__}: a row of numbers or attributes is expected")
        else:
            cells = list(row)
            numbers = [isinstance(cell, Real) for cell in cells]
            if any(numbers) and not all(numbers):
                raise DataError(f"{where} has both numbers and names", hint='use a dict: {"f1": 0.3, "round": 1}')
            if cells and all(numbers):
                self._check_width(len(cells), where)
                found = {f"x{k}": float(cell) for k, cell in enumerate(cells)}
            else:
                found = dict.fromkeys(cells, 1.0)
        if self.bias:
            if BIAS in found:
                raise DataError(f"{where} has an attribute {BIAS!r} of its own", hint="set bias=False")
            found[BIAS] = 1.0
        return found

    def _check_width(self, width: int, where: str) -> None:
        """Rows of numbers are as long as the first that was learnt from."""
        if self._width is None:
            self._width = width
        elif width != self._width:
            raise DataError(f"{where} has {counted(width, 'number')}, and the rows before it {self._width}")

    def _fitted(self) -> Tagger:
        if not hasattr(self, "tagger_"):
            raise not_fitted("LinearClassifier")
        return self.tagger_


def _names(classes: np.ndarray) -> list[list[str]]:
    """Classes as the labels of sentences of one token."""
    return [[str(label)] for label in classes.tolist()]


def _stored_classes(rows: Mapping[str, Any], file: str) -> np.ndarray:
    """The classes of a model file, with their type. Only the dtype of an array of them can be theirs: any other string
    could ask for a gigabyte per class."""
    given, spelt = rows["classes"], rows["dtype"]
    wrong = ModelError("damaged model: its classes are not of their type", file=file)
    longest = max(len(name) if isinstance(name, str) else 0 for name in given)
    if re.fullmatch(r"[<>|=]?(b1|[iuf][1248]|U[0-9]{1,9})", spelt) is None:
        raise wrong
    if "U" in spelt and int(spelt.partition("U")[2]) != longest:
        raise wrong
    try:
        classes = np.array(given, np.dtype(spelt))
    except (TypeError, ValueError, OverflowError):
        raise wrong from None
    if np.unique(classes).size != classes.size:
        raise ModelError("damaged model: its classes are not distinct", file=file)
    return classes
