"""`palmette convert`: a file in another format, tag scheme or encoding."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

from palmette.cli.command import Command, ForceOptions, JsonOptions
from palmette.cli.common import EncodingOptions, format_spec, is_model
from palmette.cli.output import Meter, print_json, report_source
from palmette.cli.paths import check_replaced
from palmette.data.formats.spec import ANNOTATORS, FormatSpec, format_by_name
from palmette.errors import UsageError, counted
from palmette.options.declare import option

if TYPE_CHECKING:
    from palmette.data.convert import Conversion

logger = logging.getLogger(__name__)

OUTPUTS = ("columns", "jsonl", "conllu", "attributes", *ANNOTATORS)


class Convert(EncodingOptions, ForceOptions, JsonOptions, Command):
    """Convert a file to another format, tag scheme or encoding, and report what was repaired, changed or lost. If the
    format stays, only the labels change and all other bytes stay. Any tag scheme is read; ill-formed label sequences
    are read as conlleval reads them. Of a model: convert a model of CRFsuite, Wapiti or CRF++ to a Palmette model, or a
    model to CRFsuite's format (-o model.crfsuite)."""

    examples = (
        "convert train.txt -o train.jsonl --output-format jsonl",
        "convert train.txt -o bioes.txt --to iobes",
        "convert model.crfsuite -o model.palm",
    )
    owners = (FormatSpec,)
    common = ("output", "to", "output-format", "format", "label", "output-encoding", "constraints", "json", "quiet")

    data: str = option(default="-", argument=True, path="input", help="What to convert; `-` is standard input.")
    output: str = option(
        default="-", short="o", metavar="FILE", path="output",
        help="Where to write; `-` is standard output. For brat NAME.ann, or a new folder.",
    )  # fmt: skip
    to: str | None = option(
        default=None, metavar="SCHEME",
        help="The scheme to write: iob1, iob2 (bio), ioe1, ioe2, iobes, or iobes with other letters: bilou, bmes, ... "
        "(default: labels stay; without --output-format iobes).",
    )  # fmt: skip
    output_format: str | None = option(
        default=None, choices=OUTPUTS, group="output", help="The format to write (default: that of the input)."
    )

    constraints: str | None = option(
        default=None, metavar="SCHEME", group="model",
        help="Of a model: label sequences must follow a tag scheme from now on: iob2 or another one; auto: the one "
        "that its labels show.",
    )  # fmt: skip

    def run(self) -> None:
        from palmette.cli.convert_model import PALMETTE, convert_model

        named = any(path.lower().endswith(PALMETTE) for path in (self.data, self.output))
        if named or is_model(self.data):  # a damaged model may be known by its name only
            self._check_model_flags()
            check_replaced(self, self.output)
            convert_model(self.data, self.output, self.constraints)
            return
        if self.constraints is not None:
            raise UsageError(f"--constraints is for models, and {self.data} is none")
        if self.json and self.output == "-":
            raise UsageError("--json prints an account: write the file elsewhere with -o FILE")
        if self.to in OUTPUTS:
            raise UsageError(f"--to names a tag scheme, and {self.to} is a format: --output-format {self.to}")
        spec = format_spec(self.params(FormatSpec))
        report_source(self.data, self.quiet)
        from palmette.data.convert import Conversion, convert_file

        account = Conversion()
        convert_file(
            self.data, self.output, self.to, output_format=self.output_format, spec=spec,
            output_encoding=self.output_encoding, report=account, progress=None if self.quiet else Meter(),
        )  # fmt: skip
        if self.json:
            print_json({"output": self.output, **account.to_dict()})
        else:
            self._tell(account)

    def _check_model_flags(self) -> None:
        """UsageError if an option of data is given for a model."""
        own = {"--to": self.to, "--output-format": self.output_format, "--output-encoding": self.output_encoding}
        given = [name for name, value in own.items() if value is not None] + (["--json"] if self.json else [])
        given += [f"--{name.replace('_', '-')}" for name in self.given(*FormatSpec.__options__)]
        if given:
            raise UsageError(
                f"{', '.join(given)}: for data, and {self.data} is a model; its format is the name's ending"
            )

    def _tell(self, account: Conversion) -> None:
        for effect, message in account.messages():
            logger.log(logging.INFO if effect == "kept" else logging.WARNING, "%s", message)
        if self.output == "-":
            return
        counts = [(account.documents, "document"), (account.spans, "span"), (account.tokens, "token")]
        done = ", ".join(counted(n, noun) for n, noun in counts if n) or "nothing"
        if self.output_format is None and not _named_so(self.output, account.format):
            logger.warning(
                "%s has the format of the input, %s, and the name of another: choose with --output-format",
                self.output, account.format,
            )  # fmt: skip
        logger.info("%s; wrote %s (%s)", done, self.output, account.format)


def _named_so(path: str, format: str) -> bool:
    """Whether the ending of a file's name is that of a format, or of none."""
    named = format_by_name(path)
    return named in (None, format) or (named == "jsonl" and format in ("prodigy", "doccano"))
