"""Options and helpers of the parser commands: taggers that run before the parser, and which sentences are drawn."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from palmette.cli.common import ThreadOptions, load_tagger
from palmette.errors import UsageError
from palmette.options.declare import Options, option
from palmette.options.search import MOST_BEAM

if TYPE_CHECKING:
    from palmette.data.formats.conllu_light import DrawnTree
    from palmette.data.treebank import Treebank
    from palmette.estimators.parser import Parser
    from palmette.estimators.retag import Preparation

logger = logging.getLogger(__name__)
DRAWN = 20  # sentences that are drawn by default


class ParsingOptions(ThreadOptions):
    """Options of commands that parse with a model."""

    beam: int | None = option(
        default=None, low=1, high=MOST_BEAM, help="States that the search keeps (default: as in training)."
    )
    tagger: list | None = option(
        default=None, repeat=True, metavar="[FIELD=]MODEL", path="input",
        help="Tag the sentences with a palmette tagger before parsing: MODEL, upos=MODEL or xpos=MODEL; may be given "
        "several times.",
    )  # fmt: skip


class DrawingOptions(Options):
    """Options of commands that draw trees."""

    svg: str | None = option(
        default=None, metavar="FILE", group="output", path="output", help="Draw trees into this file, as SVG."
    )
    sentences: str | None = option(
        default=None, metavar="1,4-6", group="output", help=f"Which sentences to draw (default: the first {DRAWN})."
    )


def load_parser(path: str, quiet: bool) -> Parser:
    from palmette.estimators.parser import Parser

    return Parser.load(path)


def taggers_of(given: Sequence[str] | None, quiet: bool) -> list[tuple[str, Any]]:
    """The values of --tagger, `MODEL` or `upos=MODEL`, as pairs of the field that is tagged and the tagger."""
    from palmette.data.treebank import FIELDS
    from palmette.estimators.retag import TAGS, tag_field

    found: list[tuple[str, Any]] = []
    for item in given or ():
        name, equals, path = item.partition("=")
        named = bool(equals) and name in TAGS
        if equals and not named and name in FIELDS:
            raise UsageError(f"--tagger {item}: a tagger writes {' or '.join(TAGS)}, not {name}")
        tagger = load_tagger(path if named else item, quiet)
        field = name if named else tag_field(tagger)
        if field in (known for known, _ in found):
            raise UsageError(f"--tagger: two taggers write {field}")
        found.append((field, tagger))
    return found


def preparation(parser: Parser, given: Sequence[str] | None, quiet: bool) -> Preparation:
    """What happens to sentences before parsing: taggers run, and fields that the training ignored are emptied."""
    from palmette.estimators.retag import Preparation

    return Preparation(taggers_of(given, quiet), tuple(parser.model_.meta.get("ignored", ())))


class WarningPreparation:
    """A preparation that warns, once, if the input has no tags and the parser reads them."""

    def __init__(self, parser: Parser, ready: Preparation) -> None:
        self.ready, self.warned = ready, False
        from palmette.estimators.retag import tags_read

        self.needed, self.fields = tags_read(parser, ready), ready.fields

    def __call__(self, treebank: Treebank) -> Treebank:
        if treebank.n_tokens and not self.warned:
            self.warned = True
            lacking = [field for field in self.needed if treebank.column(field).types == ["_"]]
            if lacking:
                names = " and ".join(lacking)
                logger.warning("the input has no %s, which the parser reads: give --tagger MODEL", names)
        return self.ready(treebank)


def chosen_sentences(given: str | None, n: int) -> list[int]:
    """Which of n sentences to draw, counted from 0: those of the text `1,4-6`, or the first few."""
    if given is None:
        if n > DRAWN:
            logger.info("drawing the first %d of %s sentences; choose others with --sentences", DRAWN, f"{n:,}")
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


def show_trees(drawings: Sequence[tuple[str, DrawnTree, DrawnTree | None]], svg: str | None, draw: bool) -> None:
    """Draw (title, tree, gold or None) into a file, in the terminal, or both."""
    if svg is not None:
        from palmette.data.files import write_whole
        from palmette.reports.tree_svg import svg_of

        with write_whole(svg) as out:
            out.write(svg_of(drawings).encode())
    if draw:
        from palmette.reports.tables import OutputConsole
        from palmette.reports.tree import draw_trees

        console = OutputConsole(10_000)
        for text in draw_trees(drawings):
            console.print(text, soft_wrap=True)
