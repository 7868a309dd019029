"""Commands that change a trained model: `palmette calibrate` and `palmette compact`."""

from __future__ import annotations

import logging
import os
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from palmette.cli.command import Command, ForceOptions, JsonOptions
from palmette.cli.common import HelperOptions, PartialOptions, check_order, input_spec, load_tagger
from palmette.cli.output import Ticker, print_json
from palmette.data.formats.spec import FormatSpec
from palmette.errors import counted
from palmette.options.declare import option

if TYPE_CHECKING:
    from palmette.structures.chain.compact import CompactReport

logger = logging.getLogger(__name__)
MOST_LOSS = 0.05  # points


class Calibrate(HelperOptions, PartialOptions, ForceOptions, JsonOptions, Command):
    """Fit a temperature on labelled data, so that a tagger's confidences are probabilities. All scores are divided by
    the temperature that makes the gold label sequences of the data most probable; predicted labels do not change.
    The data is read as the training data was, unless the options of the data say otherwise."""

    examples = ("calibrate chunk.palm dev.txt -o chunk.palm",)
    owners = (FormatSpec,)
    hidden = ("unit", "penn-quotes")
    updates = ("model",)
    common = ("output", "with", "partial", "format", "label", "json", "quiet")

    model: str = option(argument=True, path="input", help="The model file.")
    data: str = option(
        argument=True,
        path="input",
        help="Labelled sentences that the model was not trained on, such as development data.",
    )
    output: str = option(short="o", metavar="FILE", path="model", help="The model file to write; may be the same.")

    def run(self) -> None:
        from palmette.data.formats.registry import read_corpus
        from palmette.structures.chain.calibrate import calibrated_on
        from palmette.structures.chain.files import with_columns

        check_order(self)
        tagger = load_tagger(self.model)
        corpus = read_corpus(self.data, input_spec(self, tagger, self.data, labelled=True))
        corpus = with_columns(corpus, [helper.model_ for helper in self.helpers()], tagger.model_)
        watch = None if self.quiet else Watch()
        tagger.model_, found = calibrated_on(tagger.model_, corpus, watch, partial=self.partial)
        tagger.save(self.output)
        if self.json:
            print_json(found)
        elif not self.quiet:
            from palmette.reports.reliability import print_calibration

            print_calibration(found)
        left_out = corpus.n_sentences - found.sentences
        if left_out:
            sentences = counted(left_out, "sentence")
            logger.info("left out: %s with labels that the model does not have or allow", sentences)
        logger.info("wrote %s: its confidences are probabilities now", self.output)


class Watch(Ticker):
    """Prints the temperatures that are tried."""

    def __call__(self, temperature: float, loss: float) -> None:
        if self.due():
            self.tell(f"temperature {temperature:.4g}: negative log-likelihood {loss:.5f} per token")


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
        tagger = load_tagger(self.model)
        corpus = None
        if self.dev is not None:
            corpus = read_corpus(self.dev, input_spec(self, tagger, self.dev, labelled=True))
            corpus = with_columns(corpus, [helper.model_ for helper in self.helpers()], tagger.model_)
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


def save_and_report(
    save: Callable[[str], None], model: str, output: str, about: dict[str, Any] | None, log: Callable[[], None]
) -> None:
    """Save a compact model; then its sizes and `about` as JSON, or what `log` reports and its sizes."""
    before = os.path.getsize(model)
    save(output)
    after = os.path.getsize(output)
    if about is not None:
        print_json({"model": output, "bytes": [before, after], **about})
        return
    log()
    logger.info("wrote %s: %.2f MB instead of %.2f", output, after / 1e6, before / 1e6)


def log_loss(before: float | None, after: float | None, dropped: str, score: str = "") -> None:
    """Report a figure on development data before and after; `dropped`: what is dropped if there is any."""
    if before is None or after is None:
        logger.info("no development data (--dev): no %s was dropped, and the loss is not known", dropped)
        return
    change = 100 * (after - before)
    logger.info("%son the development data %.2f -> %.2f (%+.2f points)", score, 100 * before, 100 * after, change)
