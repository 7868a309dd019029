"""What to say about a parameter that a class does not have: a learner may have it, or another tool calls it so."""

from __future__ import annotations

from typing import TYPE_CHECKING

from palmette.options.other_tools import renamed

if TYPE_CHECKING:
    from palmette.options.declare import Options


def unknown_parameter(owner: type[Options], name: str) -> str:
    """What is wrong with the parameter, and where it belongs."""
    owners = _owners(owner, name)
    if owners:
        kinds = " and ".join(getattr(variant, "kind", variant.__name__) for _, variant, _ in owners)
        outer, variant, inner = owners[0]
        return (
            f"{owner.__name__} has no parameter {name!r}: it is an option of {kinds}, "
            f"as in {outer}={variant.__name__}({inner}=...)"
        )
    for other, remark in renamed(name):
        told = f" ({remark})" if remark else ""
        if other in owner.__options__:
            return f"{owner.__name__} has no parameter {name!r}: it is {other} here{told}"
        if other != name and _owners(owner, other):
            return unknown_parameter(owner, other).replace(repr(other), repr(name), 1) + told
    return f"{owner.__name__} has no parameter {name!r}; it has {', '.join(owner.__options__)}"


def _owners(owner: type[Options], name: str) -> list[tuple[str, type[Options], str]]:
    """Variants of one option that have an option or flag of this name: (option, variant, option of the variant)."""
    for option in owner.__options__.values():
        owners = [
            (option.name, variant, inner.name)
            for variant in (option.variants or {}).values()
            for inner in variant.__options__.values()
            if name in (inner.name, inner.flag_name.replace("-", "_"))
        ]
        if owners:
            return owners
    return []
