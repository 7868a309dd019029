"""What all estimators share: parameters as scikit-learn expects them, and the error for unfitted use.

`__init__` only stores; `fit` learns; what is learnt ends in `_`. All estimators have `fit`, `predict`, `score`, `save`,
`load`, `get_params` and `set_params` with the same meaning.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple, Self, TypedDict

import numpy as np

from palmette.data.files import FilePath
from palmette.data.stream import Processed, process_file
from palmette.data.text import PLAIN, TextSpec
from palmette.errors import not_fitted
from palmette.estimators.documented import document_methods
from palmette.options.declare import Option, OptionError, Options, UnknownOption, Value
from palmette.options.other_tools import unknown_parameter
from palmette.options.spelling import assemble, flat_name, full_names, variant_options

if TYPE_CHECKING:
    from palmette.training.result import Progress


class FitOptions(TypedDict, total=False):
    """Keyword parameters that the methods of all structures which learn have."""

    resume: Any  # a model to continue from
    checkpoint: bool  # keep what an exact resumption needs
    names: bool  # keep the attributes' names
    threads: int | None  # None: as many as there are cores; the model is the same for any number
    progress: Progress | None  # is called for each pass
    verbose: bool  # print a line per pass


_OF_FIT = FitOptions.__annotations__


class FileUse(NamedTuple):
    """How a file goes through a model, block by block."""

    threads: int = 1
    spec: TextSpec = PLAIN  # the encoding of the source
    output_encoding: str | None = None  # None: that of the source
    progress: Callable[[int], None] | None = None  # is called after each block

    def write(self, blocks: Iterable[Any], work: Callable[[Any], Processed], target: FilePath) -> int:
        """Write work(block) for every block; the sum of the first counts."""
        encoding = self.output_encoding or self.spec.encoding
        return sum(process_file(
            blocks, work, target, threads=self.threads, progress=self.progress, encoding=encoding
        ))  # fmt: skip


class PerSentence(list[Any]):
    """A list with a list per sentence. NumPy makes an array of one dimension of it whose elements are these lists, also
    if all of them have the same length: scikit-learn joins the predictions of folds as arrays."""

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
        made = np.empty(len(self), object)
        for k, own in enumerate(self):
            made[k] = own
        return made if dtype is None else made.astype(dtype)


class Estimator(Options):
    """Base of the estimators. Parameters are declared options; see options/declare.py.

    Options of the learner, the search and the states may be given flat, by the names that flags have: `learner="crf",
    l2=1` is `learner=Crf(l2=1)`.
    """

    _documented = True

    def __init_subclass__(cls, **rest: Any) -> None:
        super().__init_subclass__(**rest)
        document_methods(cls)

    def __init__(self, *given: Any, **named: Any) -> None:
        flat = {name: named.pop(name) for name in list(named) if name not in self.__options__ and self._is_flat(name)}
        strange = next((name for name in named if name in _OF_FIT and name not in self.__options__), None)
        if strange is not None:
            kind = type(self).__name__
            raise UnknownOption(f"{kind}: {strange} is a parameter of fit, as in {kind}().fit(X, y, {strange}=...)")
        super().__init__(*given, **named)
        self._set_flat(flat)

    @classmethod
    def _is_flat(cls, name: str) -> bool:
        """Whether a name is that of an option of some learner, search or state space."""
        return name in full_names(cls) or any(flat_name(inner) == name for _, _, inner in variant_options(cls))

    def _set_flat(self, flat: Mapping[str, Any]) -> None:
        """Set options of the learner, the search and the states by their flat names."""
        if not flat:
            return
        outer = {name: getattr(self, name) for name, option in self.__options__.items() if option.variants is not None}
        full = full_names(type(self))
        for name, value in outer.items():
            changed = {flat_name(value.__options__[key]) for key in value.changed()} if isinstance(value, Value) else ()
            twice = next((key for key in flat if full.get(key, key) in changed), None)
            if twice is not None:
                raise OptionError(twice, f"it is given twice: by itself, and in {name}={value!r}")
        for name, value in assemble(type(self), flat, outer).items():
            setattr(self, name, value)

    def __sklearn_tags__(self) -> Any:
        from sklearn.utils import ClassifierTags, InputTags, Tags, TargetTags

        return Tags(
            estimator_type=None, target_tags=TargetTags(required=True), classifier_tags=ClassifierTags(),
            input_tags=InputTags(one_d_array=True, two_d_array=False, string=True, dict=True),
        )  # fmt: skip

    def get_metadata_routing(self) -> Any:
        """What scikit-learn's searches and pipelines pass on to the methods, as `set_fit_request` has set it."""
        from inspect import signature

        from sklearn.utils.metadata_routing import MetadataRequest

        made = MetadataRequest(owner=self)
        for method in ("fit", "score"):
            asked = getattr(self, "_asked", {}).get(method, {})
            found = signature(getattr(self, method)).parameters.values()
            for name in (each.name for each in found if each.kind == each.KEYWORD_ONLY or each.name == "sample_weight"):
                getattr(made, method).add_request(param=name, alias=asked.get(name))
        return made

    def set_fit_request(self, **wanted: bool | str | None) -> Self:
        """Which parameters of `fit` scikit-learn's searches pass on, with metadata routing enabled:
        `set_fit_request(sample_weight=True)`; a text is the name that the caller has for it."""
        return self._set_request("fit", wanted)

    def set_score_request(self, **wanted: bool | str | None) -> Self:
        """Which parameters of `score` scikit-learn's searches pass on, such as `sample_weight`."""
        return self._set_request("score", wanted)

    def _set_request(self, method: str, wanted: dict[str, bool | str | None]) -> Self:
        known = getattr(self.get_metadata_routing(), method).requests
        for name in wanted:
            if name not in known:
                raise UnknownOption(
                    f"{type(self).__name__}.{method} has no parameter {name!r}; it has {', '.join(known)}"
                )
        asked = getattr(self, "_asked", {})
        self._asked = asked | {method: asked.get(method, {}) | wanted}
        return self

    def __sklearn_clone__(self) -> Self:
        from sklearn.base import clone

        made = type(self)(**{name: clone(value, safe=False) for name, value in self.get_params(deep=False).items()})
        if hasattr(self, "_asked"):
            made._asked = {method: dict(wanted) for method, wanted in self._asked.items()}
        return made

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
        flat = {name: params.pop(name) for name in list(params) if name not in self.__options__ and self._is_flat(name)}
        for name in sorted(params, key=lambda name: "__" in name):  # a learner before its options
            outer, _, inner = name.partition("__")
            if outer not in self.__options__:
                raise UnknownOption(unknown_parameter(type(self), name))
            setattr(self, outer, self._nested(self.__options__[outer], inner, params[name]) if inner else params[name])
        for name, value in flat.items():
            own = assemble(type(self), {name: value}, self._values())
            for outer in (key for key, option in self.__options__.items() if option.variants is not None):
                setattr(self, outer, own[outer])
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


document_methods(Estimator)
