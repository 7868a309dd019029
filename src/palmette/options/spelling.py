"""How messages name what a user can give: by its parameter in Python, by its flag on the command line.

    spelt(TaggerOptions, "dev_share", 0.1)    dev_share=0.1                  --dev-share 0.1
    spelt(Crf, "iterations", 300)             learner=Crf(iterations=300)    --iterations 300
    spelt(Latent, "states", 2)                states=Latent(2)               --latent 2
    as_flags(TaggerOptions, {"nbest": 5})                                    --nbest 5 (the words of a command line)
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
from palmette.options.assemble import flat_options
from palmette.options.declare import Option, Options, Value

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
    "field": ("field='upos'", "--tagger upos=MODEL"),
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
    """The words of a command line that give these values, by flat name (options/assemble.py)."""
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
    if not issubclass(owner, Value) or not owner.parameter:
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
