"""Options that several verbs share, and small helpers to read what the user typed."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated, Any

from cyclopts import Parameter

from palmette.errors import DataError, UsageError

if TYPE_CHECKING:
    from palmette.data.formats.registry import FormatSpec
    from palmette.estimators.tagger import Tagger


def _no_option(kind: object, value: str | None) -> None:
    """`-` is standard input or output; whatever else begins so is an option that does not exist."""
    if value is not None and value.startswith("-") and value != "-":
        raise ValueError("It begins with a hyphen: not a file, and no option here.")


def no_options(kind: object, values: Sequence[str]) -> None:
    """The same for several."""
    for value in values:
        _no_option(kind, value)


_FILE = Parameter(allow_leading_hyphen=True, validator=_no_option)
_SWITCH = Parameter(negative=(), show_default=False)

File = Annotated[str, _FILE]
MaybeFile = Annotated[str | None, _FILE]
Output = Annotated[str, Parameter(name=["--output", "-o"]), _FILE]
Flag = Annotated[bool, _SWITCH]
Json = Annotated[bool, Parameter(name="--json"), _SWITCH]
Quiet = Annotated[bool, Parameter(name=["--quiet", "-q"]), _SWITCH]
Columns = Annotated[str | None, Parameter(name="--columns")]
Text = Annotated[str | None, Parameter(allow_leading_hyphen=True)]
# Labels may begin with a hyphen: -LRB-
Repeated = Annotated[list[str] | None, Parameter(consume_multiple=False, negative=(), allow_leading_hyphen=True)]
Helpers = Annotated[list[str] | None, Parameter(name="--with", consume_multiple=False, negative=())]


def pairs(given: Sequence[str] | None, option: str) -> dict[str, str]:
    """`NAME=FILE` options as a dictionary."""
    found: dict[str, str] = {}
    for item in given or ():
        name, equals, value = item.partition("=")
        if not (name and equals and value):
            raise UsageError(f"{option} {item}: write NAME=FILE")
        if name in found:
            raise UsageError(f"{option} {item}: {name} is given twice")
        found[name] = value
    return found


def biases(given: Sequence[str] | None) -> dict[str, float] | None:
    """`--bias O=-0.5` options; None when there are none, so that the model's own bias counts."""
    if not given:
        return None
    found = {}
    for item in given:
        label, equals, value = item.rpartition("=")
        try:
            found[label] = float(value)
        except ValueError:
            equals = ""
        if not (label and equals):
            raise UsageError(f"--bias {item}: write LABEL=NUMBER")
    return found


def forbidden_pairs(path: str | None) -> list[tuple[str, str]]:
    """A file of `BEFORE AFTER` lines; <s> and </s> stand for the ends of a sentence."""
    if path is None:
        return []
    from palmette.data.files import check_utf8, read_all, shown

    data = read_all(path)
    check_utf8(data, shown(path))
    found = []
    for number, line in enumerate(data.decode().splitlines(), 1):
        cells = line.split()
        if cells and not line.startswith("#"):
            if len(cells) != 2:
                raise DataError(
                    f"{len(cells)} labels", file=shown(path), line=number, hint="write the one before and the one after"
                )
            found.append((cells[0], cells[1]))
    return found


def say(quiet: bool) -> Any:
    """A function that tells the user something on stderr, or nothing."""
    return (lambda message: None) if quiet else (lambda message: print(message, file=sys.stderr))


def announce_compiling(quiet: bool) -> None:
    """A cold first run says once that it is compiling."""
    from palmette.kernels.core import compile as compiling

    def first(name: str) -> None:
        compiling.on_compile.clear()
        if not quiet:
            print("compiling for this machine, once (some 20 seconds; see `palmette warmup`) ...", file=sys.stderr)

    compiling.on_compile.append(first)


def load_tagger(path: str, quiet: bool, search: str | None = None, beam: int | None = None) -> Tagger:
    """A model, searched as in training unless something else is said; that it differs is told."""
    announce_compiling(quiet)
    from palmette.estimators.tagger import Tagger

    tagger = Tagger.load(path)
    trained = tagger.model_.beam
    now = tagger.search_with(search, beam).model_.beam
    if now != trained:
        told = [f"a beam of {width}" if width else "exact search" for width in (now, trained)]
        say(quiet)(f"searching with {told[0]}; the model was trained with {told[1]}")
    return tagger


def listed(given: str | None) -> tuple[str, ...] | None:
    """Names with commas between them."""
    return tuple(given.replace(",", " ").split()) if given else None


def reading_from(
    format: str | None, separator: str, columns: str | None, label: str | None, tag_names: str | None = None
) -> FormatSpec:
    """What the user said about the input's form."""
    from palmette.data.formats.registry import FormatSpec

    return FormatSpec(
        format=format or "auto", separator=separator, columns=listed(columns), label=label, tag_names=listed(tag_names)
    )
