"""Options of a command in a TOML file: read by `--config`, written by `--save-config`, so that a training can be
repeated from one file. The names are those of the flags without hyphens in front, and of the arguments:

    data = ["train.txt"]
    output = "chunk.palm"
    learner = "crf"
    l2 = 0.5
    dev-share = 0.1
"""

from __future__ import annotations

import json
import math
import tomllib
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from palmette.data.files import write_whole
from palmette.errors import DataError

if TYPE_CHECKING:
    from palmette.cli.command import Words
    from palmette.options.declare import Option


def read_config(path: str, options: Mapping[str, Option]) -> dict[str, Words]:
    """The words of each option that the file has; `options` are those that it may have, by name."""
    try:
        with open(path, "rb") as file:
            found = tomllib.load(file)
    except FileNotFoundError:
        raise DataError("there is no such file", file=path) from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise DataError(f"not a TOML file: {error}", file=path) from None
    return {name: _words(name, value, options, path) for name, value in found.items()}


def _words(name: str, value: Any, options: Mapping[str, Option], path: str) -> Words:
    if name not in options:
        import difflib

        near = difflib.get_close_matches(name.replace("_", "-"), options, 1, 0.6)
        raise DataError(f"there is no option {name}" + (f"; did you mean {near[0]}?" if near else ""), file=path)
    option = options[name]
    if option.is_switch:
        if isinstance(value, bool):
            return value
        raise DataError(f"{name} = {value!r}: expected true or false", file=path)
    if option.repeat:
        return [_text(name, one, path) for one in (value if isinstance(value, list) else [value])]
    return _text(name, value, path)


def _text(name: str, value: Any, path: str) -> str:
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        raise DataError(f"{name} = {value!r}: expected a text or a number", file=path)
    return str(value)


def write_config(path: str, command: str, given: Mapping[str, Words]) -> None:
    """Write the words of a command line."""
    lines = [f"# palmette {command} --config {path}", *(f"{name} = {_toml(value)}" for name, value in given.items())]
    with write_whole(path) as file:
        file.write("".join(f"{line}\n" for line in lines).encode())


def _toml(value: Words) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, list):
        return f"[{', '.join(map(_toml, value))}]"
    for kind in (int, float):
        try:
            if str(kind(value)) == value and math.isfinite(kind(value)):
                return value
        except ValueError:
            continue
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
