"""`palmette hmm count|model`: the tables of hidden Markov models as JSON, and model files made from them."""

from __future__ import annotations

import logging

from palmette.cli.command import Command, ForceOptions, OutputOptions
from palmette.cli.common import format_spec
from palmette.cli.output import report_source
from palmette.data.formats.spec import FormatSpec
from palmette.errors import counted
from palmette.options.declare import option
from palmette.options.likelihoods import HmmOptions

logger = logging.getLogger(__name__)


class CountTables(OutputOptions, Command):
    """Count a hidden Markov model and write its probabilities as JSON, to be read, changed, or made into a model file
    by `palmette hmm model`. The words are the first of the columns that are read."""

    examples = ("hmm count train.txt -o tables.json",)
    common = (
        "output",
        "order",
        "smoothing",
        "interpolate",
        "rare",
        "dictionary",
        "ends",
        "format",
        "columns",
        "label",
        "quiet",
    )
    owners = (HmmOptions, FormatSpec)
    hidden = ("unit", "penn-quotes")

    data: str = option(default="-", argument=True, path="input", help="Labelled sentences; `-` is standard input.")
    output: str = option(
        default="-", short="o", metavar="FILE", path="output", help="The JSON file; `-` is standard output."
    )

    def run(self) -> None:
        spec = format_spec(self.params(FormatSpec))
        report_source(self.data, self.quiet)
        from palmette.lab.hmm.estimator import HMM

        hmm = HMM(**self.params(HmmOptions)).fit_file(self.data, spec=spec)
        hmm.save_tables(self.output)
        if self.output != "-":
            words = hmm.vocabulary_
            about = (
                f"{counted(len(hmm.labels_), 'label')}, {counted(len(words.known), 'word')}, "
                f"{counted(len(words.classes), 'class', 'classes')} of rare words"
            )
            logger.info("wrote %s: %s", self.output, about)


class MakeModel(ForceOptions, Command):
    """Make a model file from the tables of a hidden Markov model, for `palmette tag` and the other commands."""

    examples = ("hmm model tables.json -o hmm.palm",)
    tables: str = option(
        argument=True, path="input", help="A JSON file of `palmette hmm count`, or one written by hand."
    )
    output: str = option(short="o", metavar="FILE", path="model", help="The model file to write.")

    def run(self) -> None:
        from palmette.data import model_file
        from palmette.lab.hmm.estimator import HMM

        model_file.check_output(self.output)
        HMM.load_tables(self.tables).save(self.output)
        logger.info("wrote %s", self.output)
