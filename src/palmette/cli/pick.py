"""`palmette pick`: the sentences most worth annotating."""

from __future__ import annotations

import logging

from palmette.cli.command import Command, OutputOptions
from palmette.cli.common import EncodingOptions, HelperOptions, format_spec, load_tagger
from palmette.cli.output import Meter, report_source
from palmette.data.formats.spec import FormatSpec
from palmette.errors import counted
from palmette.options.declare import option
from palmette.options.search import MEASURES

logger = logging.getLogger(__name__)


class Pick(HelperOptions, EncodingOptions, OutputOptions, Command):
    """Pick the sentences most worth annotating from data without labels: those that a model is least sure of, and that
    are not like each other. They are written in the format of the input, the best first. The input is read as the
    training data was, unless the options of the data say otherwise."""

    examples = ("pick chunk.palm unlabelled.txt -n 50 -o next.txt",)
    owners = (FormatSpec,)
    hidden = ("label", "tag-names")
    common = ("output", "number", "exclude", "by", "diversity", "scores", "with", "format", "columns", "quiet")

    model: str = option(argument=True, path="input", help="The model file.")
    data: str = option(
        default="-", argument=True, path="input", help="Sentences to choose from; `-` is standard input."
    )
    output: str = option(
        default="-", short="o", metavar="FILE", path="output", help="Where to write; `-` is standard output."
    )
    number: int = option(default=100, low=1, short="n", help="Sentences to pick.")
    by: str = option(default="confidence", choices=MEASURES, group="model", help="What uncertainty is.")
    diversity: float = option(
        default=1.0, low=0.0, high=100.0, group="model",
        help="How much sentences should differ: uncertainty is multiplied by the share of new word pairs to the power "
        "of this; with 0 they may be equal.",
    )  # fmt: skip
    exclude: list | None = option(
        default=None, repeat=True, metavar="FILE", path="input",
        help="Annotated sentences, which count as picked already; repeatable.",
    )  # fmt: skip
    scores: bool = option(
        default=False, group="output",
        help="Write the uncertainty of each sentence: a line `# uncertainty ...` before it, or a key in JSON.",
    )  # fmt: skip

    def run(self) -> None:
        from palmette.estimators.pick import pick_file

        tagger = load_tagger(self.model, self.quiet)
        report_source(self.data, self.quiet)
        picked = pick_file(
            tagger, self.data, self.output, self.number, by=self.by, diversity=self.diversity,
            exclude=self.exclude or (), scores=self.scores, spec=format_spec(self.params(FormatSpec)),
            add=self.helpers(self.quiet), output_encoding=self.output_encoding,
            progress=None if self.quiet else Meter(),
        )  # fmt: skip
        if self.output != "-":
            logger.info("picked %s; wrote %s", counted(len(picked), "sentence"), self.output)
