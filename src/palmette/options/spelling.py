"""How messages name what a user can give: by its parameter in Python, by its flag on the command line.

    spelt(TaggerOptions, "dev_share", 0.1)    dev_share=0.1                  --dev-share 0.1
    spelt(Crf, "iterations", 300)             learner=Crf(iterations=300)    --iterations 300
    spelt(Latent, "states", 2)                states=Latent(2)               --latent 2
    as_flags(TaggerOptions, {"beam": 8})                                     --beam 8 (the words of a command line)
    named(Crf, "rate")                        rate                           --rate
    named(FormatSpec, "label")                FormatSpec(label=...)          --label
    argument("dev")                           dev=(X, y)                     --dev FILE

Which of the two it is, `errors.on_command_line` knows. Names and flags come from the declarations of the options; what
is a parameter of a method in Python, and so declared twice, stands in ARGUMENTS.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from palmette.errors import either, on_command_line
from palmette.options.declare import Option, OptionError, Options, Value

# From flat names to nested values: what flags and text such as `mira:nbest=5` have in common.
#
# A flat name is a flag with underscores: `learner_nbest`, `beam`, `latent`. It belongs to the options of a class
# itself, or to those of one or more variants (the learner, the search, the states).


def flat_name(option: Option) -> str:
    return option.flag_name.replace("-", "_")


def variant_options(owner: type[Options]) -> Iterator[tuple[Option, str, Option]]:
    """(option with variants, kind of the variant, option of the variant) for everything that variants declare."""
    for outer in owner.__options__.values():
        for kind, variant in (outer.variants or {}).items():
            for inner in variant.__options__.values():
                yield outer, kind, inner


def flat_options(owner: type[Options]) -> dict[str, list[Option]]:
    """All options by flat name: those of the class, and those of its variants, which may share a name."""
    found: dict[str, list[Option]] = {}
    for option in owner.__options__.values():
        found.setdefault(flat_name(option), []).append(option)
    for _, _, option in variant_options(owner):
        found.setdefault(flat_name(option), []).append(option)
    return found


def full_names(owner: type[Options]) -> dict[str, str]:
    """Flat names by the shorter names that options have in their classes: {"cost": "margin_cost"} for Mira(cost=...).
    Only a name that the flag completes is one: `states` of Latent is not `latent`."""
    known = flat_options(owner)
    pairs = ((option.name, name) for name, options in known.items() for option in options)
    return {own: name for own, name in pairs if own not in known and own in name}


def assemble(owner: type[Options], flat: Mapping[str, Any], base: Mapping[str, Any] | None = None) -> dict[str, Any]:
    """Parameters of `owner` from flat names, or from the names that options have in their classes. base: parameters
    where `flat` has none."""
    full = full_names(owner)
    typed = {full.get(name, name): name for name in flat}
    left = {name: flat[given] for name, given in typed.items()}
    made = dict(base or {})
    own = {flat_name(option): option for option in owner.__options__.values()}
    for name, option in own.items():
        if name in left and option.variants is None:
            made[option.name] = left.pop(name)
    for name, option in own.items():
        if option.variants is not None:
            made |= _variant(option, left, left.pop(name, None), made.get(option.name, option.default))
    for name in left:
        _reject(owner, name, typed[name], made)
    return made


def _variant(option: Option, left: dict[str, Any], given: Any, before: Any) -> dict[str, Any]:
    """The value of an option with variants; takes what belongs to it out of `left`."""
    assert option.variants is not None
    chosen = option.variant(given if given is not None else _selected(option, left) or before)
    if isinstance(before, Value) and type(before) is type(chosen) and (given is None or isinstance(given, str)):
        chosen = before
    inner = {flat_name(each): each.name for each in chosen.__options__.values()}
    changes = {inner[name]: left.pop(name) for name in list(left) if name in inner}
    if changes:
        assert isinstance(chosen, Value)
        return {option.name: chosen.replace(**changes)}
    return {} if given is None and chosen == option.variant(before) else {option.name: given or chosen}


def _selected(option: Option, left: Mapping[str, Any]) -> str | None:
    """The variant that a given flag selects: `--beam 4` needs no `--search beam`."""
    for kind, variant in (option.variants or {}).items():
        if any(each.selects and flat_name(each) in left for each in variant.__options__.values()):
            return kind
    return None


def _reject(owner: type[Options], name: str, typed: str, made: Mapping[str, Any]) -> None:
    """An option of another variant, or of nothing; `typed`: what the user calls it."""
    owners = [(outer, kind) for outer, kind, inner in variant_options(owner) if flat_name(inner) == name]
    if not owners:
        raise OptionError(typed, f"{owner.__name__} has no such option")
    outer = owners[0][0]
    kinds = " and ".join(kind for _, kind in owners)
    chosen = outer.variant(made.get(outer.name, outer.default))
    verb = "are" if outer.name.endswith("s") else "is"
    from palmette.options.other_tools import renamed

    instead = next((f", which has {other}" for other, _ in renamed(name) if other in owner.__options__), "")
    kind = getattr(chosen, "kind", chosen)
    raise OptionError(typed, f"is an option of {kinds}; the {outer.name} {verb} {kind}{instead}")


# Parameters of methods: in Python, and on the command line
ARGUMENTS = {
    "beam": ("beam", "--beam"),
    "add": ("add=[tagger]", "--with pos=pos.palm"),
    "against": ("against", "--against"),
    "bias": ("bias={label: ...}", "--bias LABEL=X"),
    "checkpoint": ("checkpoint=True", "--checkpoint"),
    "confidence": ("confidence=True", "--confidence"),
    "decode": ("decode='viterbi'", "--decode viterbi"),
    "dev": ("dev=(X, y)", "--dev FILE"),
    "exclude": ("exclude=sentences", "--exclude FILE"),
    "field": ("field='upos'", "--with upos=MODEL"),
    "known": ("known", "--known"),
    "lengths": ("lengths=...", "--lengths FILE"),
    "marginals": ("marginals=True", "--marginals"),
    "most_loss": ("most_loss", "--most-loss"),
    "noise": ("noise", "--noise"),
    "output": ("output", "--to"),
    "output_encoding": ("output_encoding='utf-8'", "--output-encoding utf-8"),
    "positive": ("positive", "--positive"),
    "resume": ("resume", "--resume"),
    "scores": ("scores=True", "--scores"),
    "skip_bad": ("skip_bad=True", "--skip-bad"),
    "states": ("states=True", "--show-states"),
    "to": ("to", "--to"),
    "vocabulary": ("vocabulary=...", "--vocabulary FILE"),
}


def argument(name: str, value: Any = None) -> str:
    """A parameter of a method, with a value as it is usual or another one."""
    python, flag = ARGUMENTS[name]
    if value is None:
        return either(python, flag)
    return either(f"{name}={value!r}", f"{flag.partition(' ')[0]} {_typed(value)}")


def named(owner: type[Options], name: str) -> str:
    """An option by its name alone; with its class if that is how a file is read, which few know by its options."""
    option = owner.__options__[name]
    if on_command_line():
        return f"--{option.flag_name}"
    if not issubclass(owner, Value):
        return name
    of_files = owner.parameter == "spec"
    return f"{_class(owner)}({name}=...)" if of_files else name


def spelt(owner: type[Options], name: str, value: Any = ...) -> str:
    """An option with a value; `...` is any."""
    option = owner.__options__[name]
    if not on_command_line():
        return _given(owner, option, "..." if value is ... else repr(value))
    if isinstance(value, bool):
        return f"--{option.flag_name}" if value else f"--no-{option.flag_name}"
    return f"--{option.flag_name} {option.metavar or 'X' if value is ... else _typed(value)}"


def as_flags(owner: type[Options], flat: Mapping[str, Any]) -> list[str]:
    """The words of a command line that give these values, by flat name (options/spelling.py)."""
    options = flat_options(owner)
    return [word for name, value in flat.items() for word in _words(options[name][0], value)]


def _words(option: Option, value: Any) -> Iterator[str]:
    flag = f"--{option.flag_name}"
    if isinstance(value, bool):
        yield flag if value else f"--no-{option.flag_name}"
    elif option.repeat:
        pairs = value.items() if isinstance(value, Mapping) else value
        for item in pairs:
            yield from (flag, "=".join(item) if isinstance(item, tuple) else str(item))
    else:
        yield from (flag, _typed(value))


def _given(owner: type[Options], option: Option, value: str) -> str:
    """An option in Python: of an estimator by itself, of a learner and the like inside of its class."""
    if not issubclass(owner, Value) or not owner.parameter or owner.flat:
        return f"{option.name}={value}"
    inside = f"{option.name}={value}" if option.kw_only else value
    return f"{owner.parameter}={_class(owner)}({inside})"


def _class(owner: type[Value]) -> str:
    return owner.called or owner.__name__


def _typed(value: Any) -> str:
    """A value on the command line."""
    if isinstance(value, Mapping):
        return ",".join(f"{key}={item}" for key, item in value.items())
    return ",".join(map(str, value)) if isinstance(value, tuple | list) else str(value)
