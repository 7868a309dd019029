"""JSON of annotators' tools, read strictly: what is not as it should be is an error that names the line or the task."""

from __future__ import annotations

import json
import math
import re
from typing import Any

import msgspec

from palmette.data.document import At
from palmette.data.formats.spec import FormatSpec
from palmette.errors import DataError
from palmette.options.spelling import named

_SURROGATE = re.compile(r"\\u[dD][89a-fA-F]")
LARGEST = 1 << 53  # whole numbers up to which JavaScript counts


def decoded(data: str, at: At) -> Any:
    """The value of a JSON text."""

    def pairs(found: list[tuple[str, Any]]) -> dict[str, Any]:
        made = dict(found)
        if len(made) != len(found):
            names = [name for name, _ in found]
            twice = next(name for name in made if names.count(name) > 1)
            raise at.error(f"the key {twice[:40]!r} comes twice in one object")
        return made

    def constant(name: str) -> Any:
        raise at.error(f"{name} is not a JSON number")

    def finite(text: str) -> float:
        if math.isinf(found := float(text)):
            raise at.error(f"the number {text[:40]} is too large")
        return found

    try:
        value = json.loads(data, object_pairs_hook=pairs, parse_constant=constant, parse_float=finite)
        if _SURROGATE.search(data):
            msgspec.json.encode(value)
        return value
    except DataError:
        raise
    except json.JSONDecodeError as error:
        line = (at.line or 1) + error.lineno - 1
        hint = (
            f"if it is something else, say what by {named(FormatSpec, 'format')}: text, plain, columns or another one"
        )
        raise At(at.file, line).error(f"not JSON: {error.msg} at character {error.colno} of the line", hint) from None
    except UnicodeEncodeError:
        raise at.error("a string holds half of a surrogate pair", "clean the text first") from None
    except RecursionError:
        raise at.error("JSON nested too deeply") from None
    except ValueError as error:  # a number of thousands of digits
        raise at.error(f"JSON that cannot be read: {error}") from None


def record(value: Any, what: str, at: At) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise at.error(f"{what} is {_kind(value)}, not an object")
    return value


def listed(value: Any, what: str, at: At) -> list[Any]:
    if not isinstance(value, list):
        raise at.error(f"{what} is {_kind(value)}, not a list")
    return value


def string(value: Any, what: str, at: At) -> str:
    if not isinstance(value, str):
        raise at.error(f"{what} is {_kind(value)}, not a string")
    return value


def whole(value: Any, what: str, at: At, hint: str | None = None) -> int:
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    if not isinstance(value, int) or isinstance(value, bool):
        raise at.error(f"{what} is {_kind(value)}, not a whole number", hint)
    if abs(value) > LARGEST:
        raise at.error(f"{what} is a number of {len(str(abs(value)))} digits: no text is that long")
    return value


def number(value: Any, what: str, at: At) -> float | None:
    """A finite number, or nothing."""
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int | float) or abs(value) > 1e300:
        raise at.error(f"{what} is {_kind(value)}, not a number")
    return float(value)


def identity(value: Any, what: str, at: At) -> str | int | None:
    """An identifier: a string, a whole number, or nothing."""
    if value is None or isinstance(value, str):
        return value
    if not isinstance(value, int) or isinstance(value, bool):
        raise at.error(f"{what} is {_kind(value)}, neither a string nor a whole number")
    return value


def _kind(value: Any) -> str:
    if value is None:
        return "missing"
    if isinstance(value, str):
        return f"the string {value[:40]!r}"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int | float):
        return f"the number {value}" if abs(value) < LARGEST else "a huge number"
    return "a list" if isinstance(value, list) else "an object"
