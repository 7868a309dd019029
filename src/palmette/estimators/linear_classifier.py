"""`LinearClassifier`: one label for one row, as a chain of order 0 over sentences of one token.

    classifier = LinearClassifier("crf").fit(rows, labels)      # logistic regression; "perceptron" is the other one
    classifier.predict(rows)

A row is a list or array of numbers, a dict of attributes and their values, or a list of attributes.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Mapping
from numbers import Real
from typing import Any

import numpy as np

from palmette.data.items import corpus_from_items
from palmette.errors import DataError, UsageError
from palmette.estimators.tagger import Tagger
from palmette.options.settings import LIKELIHOOD, TOLERANCE
from palmette.structures.chain.model import best_labels

BIAS = "bias"
LEARNERS = ("crf", "maxent", "perceptron", "probperc", "pa", "mira")  # without states and with attributes


class LinearClassifier:
    """A linear classifier: each label scores the attributes of a row, the best one wins.

    learner: crf (multinomial logistic regression, by L-BFGS) or perceptron (averaged; estimator="last" for the plain
        one). What l2, l1, passes, estimator, seed and tolerance mean is told in `palmette train --help`.
    bias: add an attribute `bias` with the value 1 to each row.

    `tagger_` is the chain inside: save it and `palmette inspect` it, or tag files of attributes with it.
    """

    _width: int | None = None  # of rows of numbers

    def __init__(
        self,
        learner: str = "crf",
        *,
        bias: bool = True,
        l2: float | None = None,
        l1: float = 0.0,
        passes: int | None = None,
        estimator: str = "auto",
        seed: int = 1,
        tolerance: float = TOLERANCE,
    ) -> None:
        self.learner = learner
        self.bias = bias
        self.l2 = l2
        self.l1 = l1
        self.passes = passes
        self.estimator = estimator
        self.seed = seed
        self.tolerance = tolerance

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        return {name: getattr(self, name) for name in _parameters()}

    def set_params(self, **params: Any) -> LinearClassifier:
        for name, value in params.items():
            if name not in _parameters():
                raise UsageError(f"LinearClassifier has no parameter {name!r}; it has {', '.join(_parameters())}")
            setattr(self, name, value)
        return self

    def __repr__(self) -> str:
        default = {n: p.default for n, p in inspect.signature(type(self).__init__).parameters.items()}
        changed = [f"{name}={value!r}" for name, value in self.get_params().items() if value != default[name]]
        return f"LinearClassifier({', '.join(changed)})"

    def __sklearn_tags__(self) -> Any:
        from sklearn.utils import ClassifierTags, InputTags, Tags, TargetTags

        return Tags(
            estimator_type="classifier", target_tags=TargetTags(required=True), classifier_tags=ClassifierTags(),
            input_tags=InputTags(two_d_array=True, string=True, dict=True),
        )  # fmt: skip

    def fit(self, X: Iterable[Any], y: Iterable[Any], *, say: Callable[[str], None] | None = None) -> LinearClassifier:
        """Learn from rows X and their labels y, which may be strings or numbers."""
        if self.learner not in LEARNERS:
            raise UsageError(f"learner: {self.learner!r}; choose one of {', '.join(LEARNERS)}")
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
            order=0, constraints="none", partial=False, learner=self.learner, l2=self.l2, l1=self.l1,
            passes=self.passes, estimator=self.estimator, seed=self.seed, tolerance=self.tolerance,
            ends=False,  # they would be a second and a third bias
        )  # fmt: skip
        self.tagger_.fit(sentences, [[names[k]] for k in numbers.tolist()], say=say)
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
        if self.learner not in LIKELIHOOD:
            raise UsageError(f"predict_proba: the {self.learner} has no probabilities; choose the learner crf")
        scores = self.decision_function(X)
        shares = np.exp(scores - scores.max(axis=1, keepdims=True))
        return np.asarray(shares / shares.sum(axis=1, keepdims=True))

    def score(self, X: Iterable[Any], y: Iterable[Any]) -> float:
        """The share of the rows whose label is right."""
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
            raise UsageError("this LinearClassifier has not been trained: call fit")
        return self.tagger_


def _parameters() -> list[str]:
    return [name for name in inspect.signature(LinearClassifier.__init__).parameters if name != "self"]
