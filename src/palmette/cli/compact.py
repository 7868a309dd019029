"""`palmette compact`: a small model from a full one."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Any

from palmette.cli.command import Command, ForceOptions, JsonOptions
from palmette.cli.common import HelperOptions, input_spec, load_tagger
from palmette.cli.compaction import MOST_LOSS, log_loss, save_and_report
from palmette.data.formats.spec import FormatSpec
from palmette.options.declare import option

if TYPE_CHECKING:
    from palmette.structures.chain.compact import CompactReport

logger = logging.getLogger(__name__)


class Compact(HelperOptions, ForceOptions, JsonOptions, Command):
    """Make a model small: weights of 8 bits, and without the attributes that development data does not miss. The loss
    on the development data is reported. A compact model is used like any other; it cannot be trained further."""

    examples = ("compact chunk.palm -o small.palm --dev dev.txt",)
    owners = (FormatSpec,)
    hidden = ("unit", "penn-quotes")
    common = ("output", "dev", "most-loss", "with", "format", "label", "json", "quiet")

    model: str = option(argument=True, path="input", help="The model file of a tagger.")
    output: str = option(short="o", metavar="FILE", path="model", help="The model file to write.")
    dev: str | None = option(
        default=None, metavar="FILE", path="input",
        help="Labelled sentences that the model was not trained on. Without them no attribute is dropped.",
    )  # fmt: skip
    most_loss: float = option(
        default=MOST_LOSS, low=0.0, high=100.0,
        help="The most points of F1 or accuracy, of 100, that may be lost on the development data.",
    )  # fmt: skip

    def run(self) -> None:
        from palmette.data import model_file
        from palmette.data.formats.registry import read_corpus
        from palmette.structures.chain.compact import compact_on
        from palmette.structures.chain.files import with_columns

        model_file.check_output(self.output)
        tagger = load_tagger(self.model, self.quiet)
        corpus = None
        if self.dev is not None:
            corpus = read_corpus(self.dev, input_spec(self, tagger, self.dev, labelled=True))
            corpus = with_columns(corpus, [helper.model_ for helper in self.helpers(self.quiet)], tagger.model_)
        tagger.model_, report = compact_on(tagger.model_, corpus, self.most_loss)
        about = about_compact(report) if self.json else None
        save_and_report(tagger.save, self.model, self.output, about, lambda: log_compact(report))


def about_compact(report: CompactReport) -> dict[str, Any]:
    """What --json prints."""
    return {
        "attributes": list(report.attributes), "weights": list(report.weights), "dropped": report.dropped,
        "dev": [report.before, report.after], "loss": report.loss,
    }  # fmt: skip


def log_compact(report: CompactReport) -> None:
    """Report what became of the model."""
    attributes, weights = (f"{old:,} -> {new:,}" for old, new in (report.attributes, report.weights))
    logger.info("compact: weights of 8 bits; attributes %s; weights %s", attributes, weights)
    log_loss(report.before, report.after, "attribute")
