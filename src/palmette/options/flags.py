"""From flat names back to a command line: the inverse of what a command parses."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from palmette.options.assemble import flat_options
from palmette.options.declare import Option, Options
from palmette.options.spelling import typed


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
        yield from (flag, typed(value))
