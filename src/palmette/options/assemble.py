"""From flat names to nested values: what flags and text such as `mira:nbest=5` have in common.

A flat name is a flag with underscores: `nbest`, `beam`, `latent`. It belongs to the options of a class itself, or to
those of one or more variants (the learner, the search, the states).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from palmette.options.declare import Option, OptionError, Options, Value


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


def assemble(owner: type[Options], flat: Mapping[str, Any], base: Mapping[str, Any] | None = None) -> dict[str, Any]:
    """Parameters of `owner` from flat names. base: parameters that hold where `flat` does not say otherwise."""
    left = dict(flat)
    made = dict(base or {})
    own = {flat_name(option): option for option in owner.__options__.values()}
    for name, option in own.items():
        if name in left and option.variants is None:
            made[option.name] = left.pop(name)
    for name, option in own.items():
        if option.variants is not None:
            made |= _variant(option, left, left.pop(name, None), made.get(option.name, option.default))
    for name in left:
        _reject(owner, name, made)
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


def _reject(owner: type[Options], name: str, made: Mapping[str, Any]) -> None:
    """An option of another variant, or of nothing."""
    owners = [(outer, kind) for outer, kind, inner in variant_options(owner) if flat_name(inner) == name]
    if not owners:
        raise OptionError(name, f"{owner.__name__} has no such option")
    outer = owners[0][0]
    kinds = " and ".join(kind for _, kind in owners)
    chosen = outer.variant(made.get(outer.name, outer.default))
    verb = "are" if outer.name.endswith("s") else "is"
    from palmette.options.other_tools import renamed

    instead = next((f", which has {other}" for other, _ in renamed(name) if other in owner.__options__), "")
    kind = getattr(chosen, "kind", chosen)
    raise OptionError(name, f"is an option of {kinds}; the {outer.name} {verb} {kind}{instead}")
