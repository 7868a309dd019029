"""What the annotations of a class with options say: the types of their values, and the signature of its constructor."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from types import UnionType
from typing import TYPE_CHECKING, Any, Union, get_args, get_origin, get_type_hints

if TYPE_CHECKING:
    import inspect

    from palmette.options.declare import Options


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
