"""What scikit-learn asks of an estimator, without importing it: parameters by name, as `__init__` declares them.

As with scikit-learn's own estimators, a subclass with an `__init__` of its own has the parameters that it declares.
"""

from __future__ import annotations

import inspect
from typing import Any, Self

from palmette.errors import UsageError


class Parameters:
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
