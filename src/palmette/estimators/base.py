"""What all estimators share: parameters as scikit-learn expects them, and the error for unfitted use.

`__init__` only stores; `fit` learns; what is learnt ends in `_`. All estimators have `fit`, `predict`, `score`, `save`,
`load`, `get_params` and `set_params` with the same meaning.
"""

from __future__ import annotations

from typing import Any, Self

import numpy as np

from palmette.errors import not_fitted
from palmette.options.declare import Option, Options, UnknownOption, Value
from palmette.options.other_tools import unknown_parameter


class PerSentence(list[Any]):
    """A list with a list per sentence. NumPy makes an array of one dimension of it whose elements are these lists, also
    if all of them have the same length: scikit-learn joins the predictions of folds as arrays."""

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
        made = np.empty(len(self), object)
        for k, own in enumerate(self):
            made[k] = own
        return made if dtype is None else made.astype(dtype)


class Estimator(Options):
    """Base of the estimators. Parameters are declared options; see options/declare.py."""

    def __sklearn_tags__(self) -> Any:
        from sklearn.utils import ClassifierTags, InputTags, Tags, TargetTags

        return Tags(
            estimator_type=None, target_tags=TargetTags(required=True), classifier_tags=ClassifierTags(),
            input_tags=InputTags(one_d_array=True, two_d_array=False, string=True, dict=True),
        )  # fmt: skip

    @classmethod
    def preset(cls, name: str, **changes: Any) -> Self:
        """An estimator with the settings of a published method, as `--as` has them: `Tagger.preset("sun2009")`.
        Changes have the names of flags, such as `latent=2`, `nbest=10` or `passes=80`."""
        from palmette.options.presets import parameters, preset_of

        return cls(**parameters(cls, preset_of(cls, name), changes))

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """The parameters by name; with `deep` also those of a learner, search or state space, as `learner__nbest`."""
        found = self._values()
        if deep:
            for name, option in self.__options__.items():
                if option.variants is not None:
                    inner = option.variant(found[name])
                    found |= {f"{name}__{key}": value for key, value in inner._values().items()}
        return found

    def set_params(self, **params: Any) -> Self:
        """Set parameters; `learner__nbest=5` sets an option of the learner."""
        for name in sorted(params, key=lambda name: "__" in name):  # a learner before its options
            outer, _, inner = name.partition("__")
            if outer not in self.__options__:
                raise UnknownOption(unknown_parameter(type(self), name))
            setattr(self, outer, self._nested(self.__options__[outer], inner, params[name]) if inner else params[name])
        return self

    def _nested(self, option: Option, inner: str, value: Any) -> Value:
        """The value of an option with variants after one of its own options is set."""
        if option.variants is None:
            raise UnknownOption(f"{type(self).__name__}: {option.name} has no options of its own")
        before = option.variant(getattr(self, option.name))
        if inner not in before.__options__:
            raise UnknownOption(f"{option.name}: {type(before).__name__} has no option {inner!r}")
        assert isinstance(before, Value)
        return before.replace(**{inner: value})

    def _fitted(self) -> Any:
        """The trained model; an error if there is none."""
        if not hasattr(self, "model_"):
            raise not_fitted(type(self).__name__)
        return self.model_
