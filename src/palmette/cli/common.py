"""Options and helpers that several commands share."""

from __future__ import annotations

import logging
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING

from palmette.errors import DataError, UsageError
from palmette.options.declare import OptionError

if TYPE_CHECKING:
    from palmette.data.formats.registry import FormatSpec
    from palmette.estimators.tagger import Tagger

logger = logging.getLogger(__name__)


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
        named = [f"a beam of {width}" if width else "exact search" for width in (now, trained)]
        logger.info("searching with %s; the model was trained with %s", *named)
    return tagger


def format_spec(given: dict[str, object]) -> FormatSpec:
    """How the user wants the input read."""
    from palmette.data.formats.registry import FormatSpec

    return FormatSpec(**given)  # type: ignore[arg-type]


def check_threads(threads: int) -> None:
    if threads < 1:
        raise OptionError("threads", f"{threads} is not a whole number of at least 1")
