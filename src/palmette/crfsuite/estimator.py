"""`CRF`: sklearn-crfsuite's estimator on palmette's engine, with its parameters, methods and attributes.

    crf = CRF(algorithm="lbfgs", c1=0.1, c2=0.1, max_iterations=100, all_possible_transitions=True)
    crf.fit(X_train, y_train).predict(X_test)

The model is a `.crfsuite` file (`crf.modelfile.name`), temporary unless `model_filename` names one. scikit-learn is not
needed for training and tagging; `clone`, searches, cross-validation and pipelines of it work with this class.
"""

from __future__ import annotations

import inspect
import os
import pickle
import tempfile
import weakref
from collections.abc import Iterable
from importlib import import_module
from pathlib import Path
from typing import IO, Any, Self

import numpy as np

from palmette.crfsuite.metrics import flatten
from palmette.crfsuite.tagger import Tagger
from palmette.crfsuite.trainer import LinePerIterationTrainer
from palmette.data.files import FilePath
from palmette.errors import DataError, UsageError, not_fitted

# What scikit-learn asks of an estimator, without importing it: parameters by name, as `__init__` declares them.
#
# As with scikit-learn's own estimators, a subclass with an `__init__` of its own has the parameters that it declares.


class SklearnParameters:
    """`get_params`, `set_params`, what an estimator prints, and its tags."""

    @classmethod
    def _defaults(cls) -> dict[str, Any]:
        """The names of the parameters with their defaults."""
        named = (inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY)
        declared = list(inspect.signature(cls.__init__).parameters.values())[1:]
        return {one.name: one.default for one in declared if one.kind in named}

    @classmethod
    def _get_param_names(cls) -> list[str]:
        return sorted(cls._defaults())

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """The parameters by name; with `deep` also those of parameters that have some, as `name__inner`."""
        found: dict[str, Any] = {}
        for name in self._get_param_names():
            value = found[name] = getattr(self, name)
            if deep and hasattr(value, "get_params") and not isinstance(value, type):
                found |= {f"{name}__{inner}": one for inner, one in value.get_params().items()}
        return found

    def set_params(self, **params: Any) -> Self:
        """Set parameters; `name__inner` sets a parameter of a parameter."""
        known = self._get_param_names()
        for name in sorted(params, key=lambda name: "__" in name):
            outer, _, inner = name.partition("__")
            if outer not in known:
                raise UsageError(f"{type(self).__name__} has no parameter {outer!r}; it has {', '.join(known)}")
            if inner:
                getattr(self, outer).set_params(**{inner: params[name]})
            else:
                setattr(self, outer, params[name])
        return self

    def __repr__(self) -> str:
        changed = {name: getattr(self, name) for name, default in self._defaults().items()
                   if getattr(self, name) is not default and getattr(self, name) != default}  # fmt: skip
        return f"{type(self).__name__}({', '.join(f'{name}={value!r}' for name, value in changed.items())})"

    def __sklearn_tags__(self) -> Any:
        from sklearn.utils import InputTags, Tags, TargetTags

        return Tags(
            estimator_type=None, target_tags=TargetTags(required=True),
            input_tags=InputTags(one_d_array=True, two_d_array=False, dict=True),
        )  # fmt: skip


# The file in which a `CRF` has its model: one that the user named, or a temporary one that goes with the object.
#
# The content of a temporary file is part of a pickle; a file with a name of its own is stored as that name.

CONTENT = "__FILE_RESOURCE_DATA__"  # of a temporary file, in a pickle; the name that sklearn-crfsuite has for it


class FileResource:
    """`name` is the path of the file, None before there is one; `auto` says whether it is a temporary file."""

    def __init__(
        self, filename: FilePath | None = None, keep_tempfiles: bool = False, suffix: str = "", prefix: str = ""
    ) -> None:
        self.name = None if filename is None else os.fspath(filename)
        self.auto = filename is None
        self.keep_tempfiles = keep_tempfiles
        self.suffix = suffix
        self.prefix = prefix
        self._removal: weakref.finalize[Any, Any] | None = None

    def ensure_name(self) -> None:
        """Make the temporary file if there is no file yet."""
        if self.name is not None:
            return
        handle, self.name = tempfile.mkstemp(self.suffix, self.prefix)
        os.close(handle)
        if not self.keep_tempfiles:
            self._removal = weakref.finalize(self, _remove, self.name, os.getpid())

    def refresh(self) -> None:
        """A file for a new model: another temporary file, or the named file again."""
        self.cleanup()
        self.ensure_name()

    def cleanup(self) -> None:
        """Remove the temporary file, unless it is to be kept, and forget its name."""
        if not self.auto:
            return
        if self._removal is not None:
            self._removal()
            self._removal = None
        self.name = None

    @property
    def bytes(self) -> bytes | None:
        """The content of the file; None if there is none."""
        return None if self.name is None else Path(self.name).read_bytes()

    def __getstate__(self) -> dict[str, Any]:
        state = {name: value for name, value in vars(self).items() if name != "_removal"}
        if self.auto:
            state |= {"name": None, CONTENT: self.bytes}
        return state

    def __setstate__(self, state: dict[str, Any]) -> None:
        own = {name: state[name] for name in ("name", "auto", "keep_tempfiles", "suffix", "prefix")}
        content = state.get(CONTENT)
        vars(self).update(own, _removal=None)
        if self.auto:
            self.name = None
        if content is not None:
            self.ensure_name()
            assert self.name is not None
            Path(self.name).write_bytes(content)


def _remove(name: str, owner: int) -> None:
    """Remove a file, but not from a process that was forked from the one that made it."""
    if os.getpid() == owner:
        Path(name).unlink(missing_ok=True)


HELD_OUT = 1  # the group of development data; -1 is none

# Parameters of the constructor that a Trainer has under another name
RENAMED = {
    "min_freq": "feature.minfreq",
    "all_possible_states": "feature.possible_states",
    "all_possible_transitions": "feature.possible_transitions",
    "calibration_eta": "calibration.eta",
    "calibration_rate": "calibration.rate",
    "calibration_samples": "calibration.samples",
    "calibration_candidates": "calibration.candidates",
    "calibration_max_trials": "calibration.max_trials",
    "pa_type": "type",
}
SAME = (
    "c1", "c2", "max_iterations", "num_memories", "epsilon", "period", "delta", "linesearch", "max_linesearch",
    "c", "error_sensitive", "averaging", "variance", "gamma",
)  # fmt: skip
NOT_OURS = ("_info_cached", "_sklearn_version")  # in a pickle of sklearn-crfsuite
TRAINER_NAMES = RENAMED | {name: name for name in SAME}


class CRF(SklearnParameters):
    """A linear-chain CRF (or perceptron, PA, AROW) over tokens that are dicts or lists of features.

    Parameters that are None have the default of the algorithm; those of another algorithm must stay None.

    algorithm: lbfgs (default), l2sgd, ap, pa, arow.
    min_freq: features seen less often are left out. all_possible_states, all_possible_transitions: weights also for
    pairs of attribute and label, or of two labels, that the training data do not have.
    max_iterations: of passes or steps. epsilon (lbfgs, ap, pa, arow), period and delta (lbfgs, l2sgd): when to stop.
    lbfgs: c1 and c2 (L1 and L2), num_memories, linesearch (MoreThuente), max_linesearch.
    l2sgd: c2, calibration_eta, calibration_rate, calibration_samples, calibration_candidates, calibration_max_trials.
    pa: pa_type (0, 1, 2), c, error_sensitive, averaging. arow: variance, gamma.
    verbose: print the course of training. model_filename: where the model is, or is to be; without it a temporary file
    that is removed with the object unless keep_tempfiles. trainer_cls: a class to use instead of the usual `Trainer`.
    """

    algorithm: str | None
    verbose: bool
    model_filename: FilePath | None
    keep_tempfiles: bool
    trainer_cls: Any

    def __init__(
        self,
        algorithm: str | None = None,
        min_freq: float | None = None,
        all_possible_states: bool | None = None,
        all_possible_transitions: bool | None = None,
        c1: float | None = None,
        c2: float | None = None,
        max_iterations: int | None = None,
        num_memories: int | None = None,
        epsilon: float | None = None,
        period: int | None = None,
        delta: float | None = None,
        linesearch: str | None = None,
        max_linesearch: int | None = None,
        calibration_eta: float | None = None,
        calibration_rate: float | None = None,
        calibration_samples: int | None = None,
        calibration_candidates: int | None = None,
        calibration_max_trials: int | None = None,
        pa_type: int | None = None,
        c: float | None = None,
        error_sensitive: bool | None = None,
        averaging: bool | None = None,
        variance: float | None = None,
        gamma: float | None = None,
        verbose: bool = False,
        model_filename: FilePath | None = None,
        keep_tempfiles: bool = False,
        trainer_cls: Any = None,
    ) -> None:
        given = locals()
        for name in CRF._defaults():
            setattr(self, name, given[name])
        self.training_log_: Any = None
        self._use_file()

    def _use_file(self) -> None:
        """Take the model from the file that the parameters name; without a name, there is none before `fit`."""
        self.modelfile = FileResource(self.model_filename, self.keep_tempfiles, suffix=".crfsuite", prefix="model")
        self._forget()

    def _forget(self) -> None:
        self._tagger: Tagger | None = None
        self._info: Any = None

    def set_params(self, **params: Any) -> Self:
        super().set_params(**params)
        if "model_filename" in params or "keep_tempfiles" in params:
            self._use_file()
        return self

    # Training

    def fit(
        self,
        X: Iterable[Any],
        y: Iterable[Any],
        X_dev: Iterable[Any] | None = None,
        y_dev: Iterable[Any] | None = None,
    ) -> Self:
        """Learn from sequences of tokens X and their labels y; `X_dev`, `y_dev`: scored after each iteration."""
        if (X_dev is None) != (y_dev is None):
            raise DataError("development data are X_dev and y_dev: pass both")
        made = self.trainer_cls or LinePerIterationTrainer
        trainer = made(algorithm=self.algorithm, params=self._trainer_params(), verbose=self.verbose)
        for xseq, yseq in _pairs(X, y, "X and y"):
            trainer.append(xseq, yseq)
        if X_dev is not None and y_dev is not None:
            for xseq, yseq in _pairs(X_dev, y_dev, "X_dev and y_dev"):
                trainer.append(xseq, yseq, HELD_OUT)
        self._forget()
        self.modelfile.refresh()
        assert self.modelfile.name is not None
        try:
            trainer.train(self.modelfile.name, holdout=-1 if X_dev is None else HELD_OUT)
        except BaseException:
            self.modelfile.cleanup()
            raise
        self.training_log_ = trainer.logparser
        return self

    def _trainer_params(self) -> dict[str, Any]:
        """The parameters that are given, under their names in a Trainer."""
        own = {name: getattr(self, attribute) for attribute, name in TRAINER_NAMES.items()}
        return {name: value for name, value in own.items() if value is not None}

    # Using

    def predict(self, X: Iterable[Any]) -> np.ndarray:
        """The labels of each sequence: an array of lists."""
        tagger = self._model()
        return _array([tagger.tag(xseq) for xseq in X])

    def predict_single(self, xseq: Any) -> list[str]:
        """The labels of one sequence."""
        found: list[str] = self._model().tag(xseq)
        return found

    def predict_marginals(self, X: Iterable[Any]) -> np.ndarray:
        """For each token of each sequence a dict from labels to their probabilities: an array of lists."""
        return _array([self.predict_marginals_single(xseq) for xseq in X])

    def predict_marginals_single(self, xseq: Any) -> list[dict[str, float]]:
        """For each token of one sequence a dict from labels to their probabilities."""
        tagger = self._model()
        labels = tagger.labels()
        return [dict(zip(labels, row, strict=True)) for row in tagger.marginals(xseq).tolist()]

    def score(self, X: Iterable[Any], y: Iterable[Iterable[Any]]) -> float:
        """The share of tokens whose label is right."""
        gold, guess = [list(one) for one in y], self.predict(X)
        if list(map(len, gold)) != list(map(len, guess)):
            raise DataError("X and y differ in the number of sequences, or a sequence in the number of its tokens")
        pairs = list(zip(flatten(gold), flatten(guess), strict=True))
        if not pairs:
            raise DataError("there is no token to score")
        return sum(a == b for a, b in pairs) / len(pairs)

    # What was learnt

    @property
    def tagger_(self) -> Tagger | None:
        """The tagger of the model; None before there is a model."""
        if self._tagger is None and self.modelfile.name is not None:
            tagger = Tagger()
            tagger.open(self.modelfile.name)
            self._tagger = tagger
        return self._tagger

    def _model(self) -> Tagger:
        tagger = self.tagger_
        if tagger is None:
            raise not_fitted(type(self).__name__, "give model_filename")
        return tagger

    def _about(self) -> Any:
        """What the tagger reports about its model; None before training."""
        if self._info is None and self.tagger_ is not None:
            self._info = self.tagger_.info()
        return self._info

    @property
    def classes_(self) -> list[str] | None:
        """The labels."""
        return None if self.tagger_ is None else self.tagger_.labels()

    @property
    def size_(self) -> int | None:
        """The bytes of the model."""
        return None if self._about() is None else int(self._about().header["size"])

    @property
    def num_attributes_(self) -> int | None:
        """The number of attributes with a weight that is not zero."""
        return None if self._about() is None else int(self._about().header["num_attrs"])

    @property
    def attributes_(self) -> list[str] | None:
        """The attributes with a weight that is not zero, in the order of the model."""
        return None if self._about() is None else list(self._about().attributes)

    @property
    def state_features_(self) -> dict[tuple[str, str], float] | None:
        """The weights of attributes: {(attribute, label): weight}."""
        return None if self._about() is None else self._about().state_features

    @property
    def transition_features_(self) -> dict[tuple[str, str], float] | None:
        """The weights of label pairs: {(label, next label): weight}."""
        return None if self._about() is None else self._about().transitions

    def __sklearn_is_fitted__(self) -> bool:
        return self.modelfile.name is not None

    def __getstate__(self) -> dict[str, Any]:
        return vars(self) | {"_tagger": None, "_info": None}

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Also of a pickle of sklearn-crfsuite's, which has other names for what is not kept."""
        vars(self).update({name: value for name, value in state.items() if name not in NOT_OURS})
        self._forget()


def _pairs(X: Iterable[Any], y: Iterable[Any], names: str) -> Iterable[tuple[Any, Any]]:
    """Sequences with their labels; an error if there are more of the one than of the other."""
    left, right, end = iter(X), iter(y), object()
    while True:
        xseq, yseq = next(left, end), next(right, end)
        if xseq is end and yseq is end:
            return
        if xseq is end or yseq is end:
            raise DataError(f"{names} have different lengths: each sequence needs its labels")
        yield xseq, yseq


def _array(rows: list[list[Any]]) -> np.ndarray:
    """An array of lists, also where all of them have the same length."""
    made = np.empty(len(rows), object)
    for k, row in enumerate(rows):
        made[k] = row
    return made


# Pickles of sklearn-crfsuite's estimators, read as ours: neither that package nor python-crfsuite need be there.
#
# As any pickle, these run code when they are read: read only those that you trust.


# Where the classes in such a pickle are here
_PICKLED = {
    ("sklearn_crfsuite.estimator", "CRF"): "estimator",
    ("sklearn_crfsuite._fileresource", "FileResource"): "estimator",
    ("sklearn_crfsuite.trainer", "LinePerIterationTrainer"): "trainer",
    ("pycrfsuite._logparser", "TrainLogParser"): "trainer",
    ("pycrfsuite._logparser", "LabelScore"): "trainer",
}


class _Unpickler(pickle.Unpickler):
    def find_class(self, module: str, name: str) -> Any:
        home = _PICKLED.get((module, name))
        if home is None:
            return super().find_class(module, name)
        return getattr(import_module(f"palmette.crfsuite.{home}"), name)


def load_pickle(file: FilePath | IO[bytes]) -> Any:
    """What `pickle.dump` has written, or `joblib.dump` without compression: an estimator of sklearn-crfsuite, or
    something that holds some, with our `CRF` in its place."""
    if isinstance(file, str | os.PathLike):
        with open(file, "rb") as opened:
            return _Unpickler(opened).load()
    return _Unpickler(file).load()
