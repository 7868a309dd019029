"""Options declared once, and everything that follows from a declaration.

    class Mira(Learner):
        nbest: int = option(default=1, help="Candidates per sentence.", low=1, high=1000)

declares a constructor parameter, its check, its stored value, a command-line flag with help, and an entry in the
reference pages. `Options` is the base of learners, searches, state spaces, formats, estimators and commands.

An option whose value is one of several `Options` classes (a learner, a search) names them in `variants`; a name stands
for the class with its defaults: `learner="mira"` is `learner=Mira()`.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator, Mapping
from functools import cache
from types import NoneType, UnionType
from typing import (
    TYPE_CHECKING,
    Any,
    ClassVar,
    NamedTuple,
    Self,
    TypedDict,
    Union,
    Unpack,
    dataclass_transform,
    get_args,
    get_origin,
    get_type_hints,
)

from palmette.errors import UsageError, either
from palmette.options.other_tools import unknown_parameter

if TYPE_CHECKING:
    import inspect


@cache
def kinds_of(owner: Any) -> dict[str, tuple[type, ...]]:
    """The types that the values of the options of a class may have."""
    return {name: tuple(_plain(hint)) for name, hint in get_type_hints(owner).items() if name in owner.__options__}


def _plain(hint: Any) -> Iterator[type]:
    if get_origin(hint) in (Union, UnionType):
        for part in get_args(hint):
            yield from _plain(part)
    elif hint is Any:
        yield object
    else:
        made = get_origin(hint) or hint
        yield made if isinstance(made, type) else object


class ConstructorSignature:
    """The parameters of a class for `inspect.signature` and `help`, made when they are asked for."""

    def __get__(self, instance: object, owner: type[Options]) -> inspect.Signature:
        from inspect import Parameter, Signature

        made = [
            Parameter(
                name,
                Parameter.KEYWORD_ONLY if option.kw_only else Parameter.POSITIONAL_OR_KEYWORD,
                default=Parameter.empty if option.required else option.default,
            )
            for name, option in owner.__options__.items()
        ]
        return Signature(sorted(made, key=lambda parameter: parameter.kind))


class Documentation:
    """The docstring of a class with a section on its parameters, made when it is asked for: `help` and notebooks show
    what the declarations say. `own` is what was written by hand."""

    def __init__(self, own: str) -> None:
        self.own = own

    def __get__(self, instance: object, owner: type[Options]) -> str:
        import inspect

        own = inspect.cleandoc(self.own)
        lines = [line for option in owner.__options__.values() for line in _parameter_lines(option)]
        return "\n".join([own, "", "Parameters", "----------", *lines]) if lines else own


def own_text(made: type) -> str:
    """The docstring of a class without the section on parameters."""
    found = next((vars(base)["__doc__"] for base in made.__mro__ if vars(base).get("__doc__")), "")
    return found.own if isinstance(found, Documentation) else str(found)


def _parameter_lines(option: Option) -> Iterator[str]:
    """A parameter as numpydoc has it: name, type and default, and the help below."""
    import textwrap

    kinds = [kind.__name__ for kind in option.kinds() if kind not in (NoneType, object)]
    if option.variants is not None:
        kinds = ["str", *(variant.__name__ for variant in option.variants.values())]
    elif isinstance(option.choices, Mapping | tuple) and kinds == ["str"]:
        kinds = [f"{{{', '.join(map(repr, option.choices))}}}"]
    default = [] if option.required else [f"default {option.default!r}"]
    yield f"{option.name} : {', '.join([' or '.join(dict.fromkeys(kinds)) or 'object', *default])}"
    text = re.sub(r"--([a-z][a-z-]*\w)", lambda flag: flag[1].replace("-", "_"), option.help)
    yield from textwrap.wrap(text, 100, initial_indent="    ", subsequent_indent="    ")


class _Required:
    def __repr__(self) -> str:
        return "required"


REQUIRED: Any = _Required()


class OptionError(UsageError):
    """A wrong value of an option, or of several with commas between them. `option` is its Python name; the command line
    shows its flag instead."""

    def __init__(self, option: str, problem: str, flag: str | None = None) -> None:
        self.option = option
        self.problem = problem
        self.flag = flag or option.replace("_", "-")
        flags = ", ".join(f"--{name.strip()}" for name in self.flag.split(","))
        super().__init__(f"{either(option, flags)}: {problem}")


class Option(NamedTuple):
    """The declaration of one option; see `Details` for the fields."""

    default: Any
    help: str
    low: float | None = None
    high: float | None = None
    above: float | None = None
    choices: Mapping[str, str] | tuple[str, ...] | None = None
    variants: Mapping[str, type[Options]] | None = None
    kw_only: bool = True
    selects: bool = False
    flag: str | None = None
    short: str | None = None
    metavar: str | None = None
    parse: Callable[[str], Any] | None = None
    check: Callable[[Any], None] | None = None
    repeat: bool = False
    several: bool = False
    argument: bool = False
    python_only: bool = False
    group: str | None = None
    path: str | None = None
    name: str = ""
    owner: Any = None  # the class that declares it

    @property
    def flag_name(self) -> str:
        """The flag on the command line, without the two hyphens."""
        return self.flag or self.name.replace("_", "-")

    @property
    def required(self) -> bool:
        return self.default is REQUIRED

    def kinds(self) -> tuple[type, ...]:
        """The types that a value may have, None included if it may be left open."""
        assert self.owner is not None
        return kinds_of(self.owner).get(self.name, (object,))

    @property
    def is_switch(self) -> bool:
        """Whether the option is a truth value, which a flag sets without an argument."""
        return bool in self.kinds()

    def variant(self, value: Any) -> Options:
        """The value of an option with variants, a name being short for the class with its defaults."""
        assert self.variants is not None
        if isinstance(value, str):
            if value not in self.variants:
                raise OptionError(self.name, f"there is no {value!r}; choose one of {', '.join(self.variants)}")
            return self.default_of(value)
        if isinstance(value, type) and issubclass(value, Options):
            value = value()
        if not isinstance(value, Options) or type(value) not in self.variants.values():
            shown = getattr(value, "kind", None) or repr(value)
            raise OptionError(
                self.name, f"{shown} does not apply to {self._where()}; choose one of {', '.join(self.variants)}"
            )
        return value

    def default_of(self, kind: str) -> Options:
        """A variant with its defaults, which are those of the option's own default if that is of the same kind."""
        assert self.variants is not None
        made = self.variants[kind]
        return self.default if isinstance(self.default, made) and type(self.default) is made else made()

    def _where(self) -> str:
        return "this structure" if self.owner is None else f"a {self.owner.__name__}"

    def checked(self, value: Any) -> Any:
        """The value, with NumPy scalars as Python numbers; OptionError if it is not allowed."""
        try:
            return self._checked(value)
        except OptionError as error:
            if error.option != self.name or error.flag == self.flag_name:
                raise
            raise OptionError(self.name, error.problem, self.flag_name) from None

    def _checked(self, value: Any) -> Any:
        if self.variants is not None:
            return self.variant(value)
        value = value.item() if type(value).__module__ == "numpy" and hasattr(value, "item") else value
        kinds = self.kinds()
        if value is None and NoneType in kinds:
            return value
        named = isinstance(value, str) or not any(kind in kinds for kind in (int, float))
        if self.choices is not None and named and not (isinstance(value, str) and value in self.choices):
            raise OptionError(self.name, f"there is no {value!r}; choose one of {', '.join(self.choices)}")
        self._check_number(value, kinds)
        if self.check is not None:
            self.check(value)
        return value

    def _check_number(self, value: Any, kinds: tuple[type, ...]) -> None:
        if bool in kinds and isinstance(value, bool):
            return
        if object in kinds or any(kind in kinds and isinstance(value, kind) for kind in (str, list, tuple, dict)):
            return
        whole = int in kinds and float not in kinds
        number = isinstance(value, int if whole else int | float) and not isinstance(value, bool)
        if not (int in kinds or float in kinds) or not number or not self._in_bounds(value):
            raise OptionError(self.name, f"{value!r} is not {self.range_text()}")

    def _in_bounds(self, value: float) -> bool:
        try:
            finite = math.isfinite(value)
        except OverflowError:  # a whole number that is larger than any float
            return False
        return (
            finite
            and (self.low is None or value >= self.low)
            and (self.high is None or value <= self.high)
            and (self.above is None or value > self.above)
        )

    def range_text(self) -> str:
        """The allowed values in words: "a whole number of at least 1"."""
        kinds = self.kinds()
        if bool in kinds:
            return "true or false"
        what = ("a dictionary or " if dict in kinds else "") + ("a whole number" if float not in kinds else "a number")
        if int not in kinds and float not in kinds:
            return "a text" if str in kinds else f"a {' or '.join(k.__name__ for k in kinds if k is not NoneType)}"
        if self.above is not None:
            most = "" if self.high is None else f" and at most {_number(self.high)}"
            return f"{what} above {self.above:g}{most}"
        if self.low is not None and self.high is not None:
            return f"{what} from {_number(self.low)} to {_number(self.high)}"
        if self.low is not None:
            return f"{what} of at least {self.low:g}"
        return what

    def from_text(self, text: str) -> Any:
        """A value typed on a command line."""
        if self.parse is not None:
            return self.parse(text)
        kinds = self.kinds()
        if self.choices is not None and text in self.choices:
            return text
        for kind in (int, float):
            if kind in kinds:
                try:
                    return kind(text)
                except ValueError:
                    continue
        if str in kinds or not (int in kinds or float in kinds):
            return text
        raise OptionError(self.name, f"{text!r} is not {self.range_text()}")


def _number(value: float) -> str:
    return f"{value:,}" if isinstance(value, int) else f"{value:,.15g}"


class Details(TypedDict, total=False):
    """What an option may have besides its default and its help."""

    low: float  # inclusive bounds of a number,
    high: float
    above: float  # and an exclusive lower bound
    choices: Mapping[str, str] | tuple[str, ...]  # allowed names, with a line of help each if a mapping
    variants: Mapping[str, type[Options]]  # `Options` classes by name
    selects: bool  # giving the flag chooses this variant
    flag: str  # name on the command line, if it is not the option's own
    short: str  # one-letter flag
    metavar: str  # how help shows the value
    parse: Callable[[str], Any]  # from the text of a flag to the value
    check: Callable[[Any], None]  # a further check, which raises OptionError
    repeat: bool  # the flag may be given several times, for a list of values
    several: bool  # and takes all words up to the next flag: what a shell makes of `*.txt`
    argument: bool  # a positional argument of a command
    python_only: bool  # no flag on the command line
    group: str  # heading under which help lists the option
    path: str  # the value names files: input, output, model (an output that is a model) or folder (of outputs)


def option(*, help: str, default: Any = REQUIRED, kw_only: bool = True, **details: Unpack[Details]) -> Any:
    """Declare an option of an `Options` class; without a default it must be given. kw_only: False for parameters that
    may be given by position."""
    return Option(default=default, help=help, kw_only=kw_only, **details)


@dataclass_transform(kw_only_default=True, field_specifiers=(option,))
class Options:
    """Base of everything that declares options. Instances hold the values under the options' names."""

    __options__: ClassVar[dict[str, Option]] = {}
    _documented: ClassVar[bool] = False  # whether the docstring lists the options
    __signature__ = ConstructorSignature()

    def __init_subclass__(cls, **rest: Any) -> None:
        super().__init_subclass__(**rest)
        found: dict[str, Option] = {}
        for base in reversed(cls.__mro__[1:]):
            found |= base.__dict__.get("__options__", {})
        for name, value in list(vars(cls).items()):
            if isinstance(value, Option):
                found[name] = value._replace(name=name, owner=cls)
                setattr(cls, name, None if value.required else value.default)
        cls.__options__ = found
        if cls._documented and isinstance(vars(cls).get("__doc__"), str):
            cls.__doc__ = Documentation(str(cls.__doc__))  # type: ignore[assignment]

    def __init__(self, *given: Any, **named: Any) -> None:
        positional = [name for name, option in self.__options__.items() if not option.kw_only]
        if len(given) > len(positional):
            raise TypeError(f"{type(self).__name__} takes at most {len(positional)} arguments by position")
        for name, value in zip(positional, given, strict=False):
            if name in named:
                raise TypeError(f"{type(self).__name__}: {name} is given twice")
            named[name] = value
        for name in named:
            if name not in self.__options__:
                raise UnknownOption(unknown_parameter(type(self), name))
        for name, option in self.__options__.items():
            if option.required and name not in named:
                raise UnknownOption(f"{type(self).__name__} needs {name}")
            object.__setattr__(self, name, named.get(name, option.default))

    def _values(self) -> dict[str, Any]:
        """The values by name, as they were given."""
        return {name: getattr(self, name) for name in self.__options__}

    def _check_values(self) -> None:
        """Raise OptionError (a ValueError) if a value is wrong."""
        for name, option in self.__options__.items():
            option.checked(getattr(self, name))

    def _changed(self) -> dict[str, Any]:
        """The values that are not the defaults."""
        return {
            name: value
            for name, value in self._values().items()
            if not _same(value, self.__options__[name].default, self.__options__[name])
        }

    def __repr__(self) -> str:
        changed = self._changed()
        positional = [name for name, option in self.__options__.items() if not option.kw_only]
        leading: list[str] = []
        for name in positional:
            if name not in changed:
                break
            leading.append(repr(changed.pop(name)))
        for name, value in list(changed.items()):
            if isinstance(value, Value) and value.flat:
                del changed[name]
                changed |= {name: value.kind, **value.changed()}
        return f"{type(self).__name__}({', '.join([*leading, *(f'{k}={v!r}' for k, v in changed.items())])})"


def _same(value: Any, default: Any, option: Option) -> bool:
    if option.variants is not None and isinstance(value, str) != isinstance(default, str):
        try:
            return option.variant(value) == option.variant(default)
        except OptionError:
            return False
    try:
        return bool(value == default)
    except ValueError:  # an array
        return False


class UnknownOption(UsageError, TypeError):
    """A parameter that a class does not have, or lacks."""


class Value(Options):
    """Options as an immutable value, checked when it is made: learners, searches, state spaces, formats."""

    kind: ClassVar[str] = ""  # its name among the variants
    parameter: ClassVar[str] = ""  # what estimators and functions call it: learner, search, states, spec
    _documented = True
    flat: ClassVar[bool] = False  # given by its name and flat options alone: the class is not public
    called: ClassVar[str] = ""  # the class that messages name, if that is another one with the same options

    def __init__(self, *given: Any, **named: Any) -> None:
        super().__init__(*given, **named)
        for name, option in self.__options__.items():
            object.__setattr__(self, name, option.checked(getattr(self, name)))
        self.validate()

    values = Options._values
    changed = Options._changed

    def validate(self) -> None:
        """Check what several options have to do with each other."""

    def __setattr__(self, name: str, value: Any) -> None:
        raise AttributeError(f"{type(self).__name__} is immutable: make a new one with .replace({name}=...)")

    def replace(self, **changes: Any) -> Self:
        """A copy with some options changed."""
        return type(self)(**(self.values() | changes))

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        return self.values()

    def __eq__(self, other: object) -> bool:
        return type(self) is type(other) and self.values() == other.values()

    def __hash__(self) -> int:
        return hash((type(self), repr(self)))

    def __reduce__(self) -> tuple[Any, ...]:
        return _rebuilt, (type(self), self.values())

    def to_dict(self) -> dict[str, Any]:
        """The value as plain data that JSON can hold: its kind if it is a variant, and all options."""
        values = {name: value.to_dict() if isinstance(value, Value) else value for name, value in self.values().items()}
        return {"kind": self.kind, **values} if self.kind else values

    @classmethod
    def from_dict(cls, data: object) -> Self:
        """The value that `to_dict` wrote; OptionError if it is not one."""
        if not isinstance(data, dict):
            raise OptionError("settings", f"{data!r} is not a table of names and values")
        strange = [name for name in data if name not in cls.__options__ and name != "kind"]
        if strange:
            raise OptionError(str(strange[0]), f"{cls.__name__} has no such option")
        return cls(**{name: _restored(cls.__options__[name], value) for name, value in data.items() if name != "kind"})


def _rebuilt(kind: type[Value], values: dict[str, Any]) -> Value:
    return kind(**values)


def _restored(option: Option, value: Any) -> Any:
    """A stored value as it was: variants by their kind, tuples from lists."""
    if option.variants is not None:
        kind = value.get("kind") if isinstance(value, dict) else None
        if not isinstance(kind, str) or kind not in option.variants:
            raise OptionError(option.name, f"{value!r} is none of {', '.join(option.variants)}")
        variant = option.variants[kind]
        assert issubclass(variant, Value)
        return variant.from_dict(value)
    return tuple(value) if isinstance(value, list) and tuple in option.kinds() else value
