"""`LinearClassifier`: one label for one row, as a chain of order 0 over sentences of one token.

    classifier = LinearClassifier("crf").fit(rows, labels)      # logistic regression; "perceptron" is the other one
    classifier.predict(rows)

A row is a list or array of numbers, a dict of attributes and their values, or a list of attributes.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from numbers import Real
from typing import Any, cast

import numpy as np

from palmette.data.items import corpus_from_items
from palmette.errors import DataError, UsageError, not_fitted
from palmette.estimators.base import Estimator
from palmette.estimators.tagger import Tagger
from palmette.options.chain import ESTIMATORS
from palmette.options.declare import option
from palmette.options.learners import ROW_LEARNERS, Learner
from palmette.options.training import TrainingOptions
from palmette.structures.chain.model import best_labels

BIAS = "bias"


class LinearClassifier(TrainingOptions, Estimator):
    """A linear classifier: each label scores the attributes of a row, the best one wins.

    learner="crf" is multinomial logistic regression, "perceptron" the averaged perceptron.
    `tagger_` is the chain inside: save it and `palmette inspect` it, or tag files of attributes with it.
    """

    learner: Learner | str = option(default="crf", kw_only=False, variants=ROW_LEARNERS, help="How weights are learnt.")
    bias: bool = option(default=True, help="Add an attribute `bias` with the value 1 to each row.")
    estimator: str = option(default="auto", choices=ESTIMATORS, help="Which weights come out of the training.")

    _width: int | None = None  # of rows of numbers

    def __sklearn_tags__(self) -> Any:
        from sklearn.utils import ClassifierTags, InputTags, Tags, TargetTags

        return Tags(
            estimator_type="classifier", target_tags=TargetTags(required=True), classifier_tags=ClassifierTags(),
            input_tags=InputTags(two_d_array=True, string=True, dict=True),
        )  # fmt: skip

    def fit(self, X: Iterable[Any], y: Iterable[Any]) -> LinearClassifier:
        """Learn from rows X and their labels y, which may be strings or numbers."""
        self.check()
        labels = np.asarray(list(y))
        if labels.ndim != 1 or not labels.size or labels.dtype.kind not in "Ubiuf":
            raise DataError("y must hold a string or a number for each row, and at least one")
        if labels.dtype.kind == "f" and not np.isfinite(labels).all():
            raise DataError("y holds a number that is not finite, which is no class")
        self._width = None
        sentences = self._sentences(X)
        if len(sentences) != labels.size:
            raise DataError(f"{labels.size} labels for {len(sentences)} rows")
        self.classes_, numbers = np.unique(labels, return_inverse=True)
        names = [str(label) for label in self.classes_.tolist()]
        self.tagger_ = Tagger(
            order=0, constraints="none", partial=False, learner=self.learner, passes=self.passes,
            patience=self.patience, estimator=self.estimator, seed=self.seed,
            ends=False,  # they would be a second and a third bias
        )  # fmt: skip
        self.tagger_.fit(sentences, [[names[k]] for k in numbers.tolist()])
        self._places = np.array([self.tagger_.labels_.index(name) for name in names])
        return self

    def decision_function(self, X: Iterable[Any]) -> np.ndarray:
        """The score of each label f64[rows, labels], in the order of `classes_`."""
        model = self._fitted().model_
        items = corpus_from_items(self._sentences(X), None, mode="attributes")
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
        best = self.decision_function(X).argmax(axis=1)
        return np.asarray(self.classes_[best])

    def predict_proba(self, X: Iterable[Any]) -> np.ndarray:
        """The probability of each label f64[rows, labels]: exp(score) over the sum of all. A perceptron's scores were
        not learnt as such."""
        learner = cast(Learner, self.__options__["learner"].variant(self.learner))
        if not learner.probabilistic:
            raise UsageError(f"predict_proba: the scores of the {learner.kind} are not probabilities; use crf")
        scores = self.decision_function(X)
        shares = np.exp(scores - scores.max(axis=1, keepdims=True))
        return np.asarray(shares / shares.sum(axis=1, keepdims=True))

    def score(self, X: Iterable[Any], y: Iterable[Any]) -> float:
        """Accuracy."""
        return float(np.mean(self.predict(X) == np.asarray(list(y))))

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
                raise DataError(f"{where} has an attribute {BIAS!r} of its own", hint="say bias=False")
            found[BIAS] = 1.0
        return found

    def _check_width(self, width: int, where: str) -> None:
        """Rows of numbers are as long as the first that was learnt from."""
        if self._width is None:
            self._width = width
        elif width != self._width:
            raise DataError(f"{where} has {width} numbers, and the rows before it {self._width}")

    def _fitted(self) -> Tagger:
        if not hasattr(self, "tagger_"):
            raise not_fitted("LinearClassifier")
        return self.tagger_
