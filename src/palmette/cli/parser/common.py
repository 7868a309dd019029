"""What the commands about parsers share: taggers that go before, and which sentences to draw."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated, Any

from cyclopts import Parameter

from palmette.cli.options import announce_compiling, load_tagger, say
from palmette.errors import UsageError

if TYPE_CHECKING:
    from palmette.data.formats.conllu_light import Tree
    from palmette.data.treebank import Treebank
    from palmette.estimators.parser import Parser
    from palmette.estimators.retag import Preparation

Taggers = Annotated[list[str] | None, Parameter(name="--tagger", consume_multiple=False, negative=())]
DRAWN = 20  # sentences that are drawn where nothing is said


def load_parser(path: str, quiet: bool) -> Parser:
    announce_compiling(quiet)
    from palmette.estimators.parser import Parser

    return Parser.load(path)


def taggers_of(given: Sequence[str] | None, quiet: bool) -> list[tuple[str, Any]]:
    """`--tagger MODEL` or `--tagger upos=MODEL` options: the field each makes, and the tagger."""
    from palmette.data.treebank import FIELDS
    from palmette.estimators.retag import TAGS, tag_field

    found: list[tuple[str, Any]] = []
    for item in given or ():
        name, equals, path = item.partition("=")
        named = bool(equals) and name in TAGS
        if equals and not named and name in FIELDS:
            raise UsageError(f"--tagger {item}: a tagger makes {' or '.join(TAGS)}, not {name}")
        tagger = load_tagger(path if named else item, quiet)
        field = name if named else tag_field(tagger)
        if field in (known for known, _ in found):
            raise UsageError(f"--tagger: {field} is made twice")
        found.append((field, tagger))
    return found


def preparation(parser: Parser, given: Sequence[str] | None, quiet: bool) -> Preparation:
    """What a parser's input goes through: taggers, and what it was trained not to see."""
    from palmette.estimators.retag import Preparation

    return Preparation(taggers_of(given, quiet), tuple(parser.model_.meta.get("ignored", ())))


def tags_read(parser: Parser, ready: Preparation) -> list[str]:
    """The tags that a parser looks at and nobody makes: the input must have them."""
    read = parser.model_.templates.columns
    needed = [field for letter, field in (("u", "upos"), ("x", "xpos")) if letter in read]
    if "t" in read and not ready.fields:
        needed = needed or ["xpos"]
    return [field for field in needed if field not in (*ready.fields, *ready.ignored)]


class Watched:
    """A preparation that says so, once, where the input lacks tags that the parser looks at."""

    def __init__(self, parser: Parser, ready: Preparation, quiet: bool) -> None:
        self.ready, self.silent = ready, quiet
        self.needed, self.fields = tags_read(parser, ready), ready.fields

    def __call__(self, treebank: Treebank) -> Treebank:
        if treebank.n_tokens and not self.silent:
            self.silent = True
            lacking = [field for field in self.needed if treebank.column(field).types == ["_"]]
            if lacking:
                names = " and ".join(lacking)
                say(False)(
                    f"the input has no {names}, which the parser looks at: give --tagger MODEL, or expect errors"
                )
        return self.ready(treebank)


def numbers(given: str | None, n: int, quiet: bool) -> list[int]:
    """Which sentences, counted from 0: `1,4-6` of n, or the first few."""
    if given is None:
        if n > DRAWN and not quiet:
            import sys

            print(f"drawing the first {DRAWN} of {n:,} sentences; choose others with --sentences", file=sys.stderr)
        return list(range(min(n, DRAWN)))
    found: list[int] = []
    for part in given.split(","):
        first, dash, last = part.strip().partition("-")
        ends = [first, last if dash else first]
        if not all(end.isascii() and end.isdigit() and len(end) < 10 for end in ends):
            raise UsageError(f"--sentences {given}: write numbers and ranges, such as 1,4-6")
        low, high = int(ends[0]), int(ends[1])
        if not 1 <= low <= high <= n:
            raise UsageError(f"--sentences {part.strip()}: there are sentences 1 to {n}")
        found += range(low - 1, high)
    return found


def show_trees(drawings: Sequence[tuple[str, Tree, Tree | None]], svg: str | None, draw: bool) -> None:
    """Drawings to a file and to the terminal, whose reader may go away: (title, tree, gold or None)."""
    if svg is not None:
        from palmette.data.files import write_whole
        from palmette.reports.tree_svg import svg_of

        with write_whole(svg) as out:
            out.write(svg_of(drawings).encode())
    if draw:
        from palmette.reports.console import OutputConsole
        from palmette.reports.tree import draw_trees

        console = OutputConsole(10_000)
        for text in draw_trees(drawings):
            console.print(text, soft_wrap=True)
