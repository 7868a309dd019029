"""`palmette parser compact`: a small parser from a full one."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Any

from palmette.cli.change import MOST_LOSS, log_loss, save_and_report
from palmette.cli.command import Command, ForceOptions, JsonOptions
from palmette.cli.common import ThreadOptions, text_spec
from palmette.cli.parser.common import load_parser, preparation
from palmette.data.text import TextSpec
from palmette.options.declare import option

if TYPE_CHECKING:
    from palmette.structures.tree.compact import ParserCompaction

logger = logging.getLogger(__name__)


class CompactParser(ThreadOptions, ForceOptions, JsonOptions, Command):
    """Make a parser small: weights of 8 or 16 bits, and without the weights that development data does not miss. The
    loss on the development data is reported. A compact parser is used like any other."""

    examples = ("parser compact parser.palm -o small.palm --dev dev.conllu",)
    common = ("output", "dev", "most-loss", "tagger", "skip-bad", "threads", "json", "quiet")
    owners = (TextSpec,)

    model: str = option(argument=True, path="input", help="The model file of a parser.")
    output: str = option(short="o", metavar="FILE", path="model", help="The model file to write.")
    dev: str | None = option(
        default=None, metavar="FILE", path="input",
        help="A treebank that the parser was not trained on. Without it no weight is dropped.",
    )  # fmt: skip
    most_loss: float = option(
        default=MOST_LOSS, low=0.0, high=100.0,
        help="The most points of LAS, of 100, that may be lost on the development data.",
    )  # fmt: skip
    tagger: list | None = option(
        default=None, repeat=True, metavar="[FIELD=]MODEL", path="input",
        help="Tag the development data with a palmette tagger first: MODEL, upos=MODEL or xpos=MODEL; may be given "
        "several times.",
    )  # fmt: skip
    skip_bad: bool = option(
        default=False, help="Leave out sentences of the development data that are not trees, and report how many."
    )

    def run(self) -> None:
        from palmette.data import model_file
        from palmette.data.formats.conllu import read_treebank

        model_file.check_output(self.output)
        parser = load_parser(self.model, self.quiet)
        dev = None
        if self.dev is not None:
            ready = preparation(parser, self.tagger, self.quiet or self.json)
            dev = ready(read_treebank(self.dev, skip_bad=self.skip_bad, spec=text_spec(self)))
        report = parser.compact(dev, most_loss=self.most_loss, threads=self.n_threads)
        about = about_compaction(report) if self.json else None
        save_and_report(parser.save, self.model, self.output, about, lambda: log_compaction(report))


def about_compaction(report: ParserCompaction) -> dict[str, Any]:
    """What --json prints."""
    return {
        "features": list(report.features), "weights": list(report.weights), "price": report.price,
        "dev": [report.before, report.after], "loss": report.loss,
    }  # fmt: skip


def log_compaction(report: ParserCompaction) -> None:
    """Report what became of the parser."""
    features, weights = (f"{old:,} -> {new:,}" for old, new in (report.features, report.weights))
    logger.info("compact: features %s; weights %s", features, weights)
    log_loss(report.before, report.after, "weight", "LAS ")
