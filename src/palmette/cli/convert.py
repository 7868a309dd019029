"""`palmette convert`: the labels of a file in another tag scheme."""

from __future__ import annotations

import logging

from palmette.cli.command import Command, OutputOptions
from palmette.cli.common import EncodingOptions, format_spec
from palmette.cli.output import Meter, report_source
from palmette.data.formats.spec import FormatSpec
from palmette.errors import UsageError, counted
from palmette.options.declare import option

logger = logging.getLogger(__name__)


class Convert(EncodingOptions, OutputOptions, Command):
    """Convert the tag scheme of a labelled file. Only the labels change; all other bytes stay. Any scheme is read;
    ill-formed label sequences are read as conlleval reads them. Of a model: convert a model of CRFsuite, Wapiti or
    CRF++ to a Palmette model, or a model to CRFsuite's format (-o model.crfsuite)."""

    owners = (FormatSpec,)
    hidden = ("columns", "unit", "penn-quotes")

    data: str = option(default="-", argument=True, help="Labelled sentences; `-` is standard input.")
    output: str = option(default="-", short="o", metavar="FILE", help="Where to write; `-` is standard output.")
    to: str = option(
        default="iobes", metavar="SCHEME",
        help="The scheme to write: iob1, iob2 (bio), ioe1, ioe2, iobes, or iobes with other letters: bilou, bmes, ...",
    )  # fmt: skip
    constraints: str | None = option(
        default=None, metavar="SCHEME", group="model",
        help="Of a model: label sequences must follow a tag scheme from now on: iob2 or another one; auto: the one "
        "that its labels show.",
    )  # fmt: skip

    def run(self) -> None:
        from palmette.cli.convert_model import convert_model, is_model

        if is_model(self.data):
            convert_model(self.data, self.output, self.constraints)
            return
        if self.constraints is not None:
            raise UsageError(f"--constraints is for models, and {self.data} is none")
        spec = format_spec(self.params(FormatSpec))
        report_source(self.data, self.quiet)
        from palmette.data.convert import convert_file

        n = convert_file(
            self.data, self.output, self.to, spec=spec, output_encoding=self.output_encoding,
            progress=None if self.quiet else Meter(),
        )  # fmt: skip
        if self.output != "-":
            logger.info("%s; wrote %s", counted(n, "token"), self.output)
