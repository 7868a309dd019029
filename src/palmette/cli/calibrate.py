"""`palmette calibrate`: fit a temperature for a model's scores, so that its confidences are probabilities."""

from __future__ import annotations

import logging

from palmette.cli.command import Command, ForceOptions, JsonOptions
from palmette.cli.common import HelperOptions, PartialOptions, input_spec, load_tagger
from palmette.cli.output import Ticker, print_json
from palmette.data.formats.spec import FormatSpec
from palmette.errors import counted
from palmette.options.declare import option

logger = logging.getLogger(__name__)


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

        tagger = load_tagger(self.model, self.quiet)
        corpus = read_corpus(self.data, input_spec(self, tagger, self.data, labelled=True))
        corpus = with_columns(corpus, [helper.model_ for helper in self.helpers(self.quiet)], tagger.model_)
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
