"""Commands about data: `palmette check`, `palmette convert` (models too) and `palmette pick`."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

from palmette.cli.command import Command, ForceOptions, JsonOptions, OutputOptions, check_replaced
from palmette.cli.common import EncodingOptions, HelperOptions, ThreadOptions, format_spec, is_model, load_tagger
from palmette.cli.output import Meter, Ticker, library_muted, print_json, report_source
from palmette.data.formats.spec import ANNOTATORS, FormatSpec, format_by_name, names_from_text
from palmette.errors import UsageError, counted
from palmette.options.declare import option
from palmette.options.search import MEASURES

if TYPE_CHECKING:
    from palmette.data.convert import Conversion
    from palmette.estimators.tagger import Tagger

logger = logging.getLogger(__name__)

OUTPUTS = ("columns", "jsonl", "conllu", "attributes", *ANNOTATORS)
PALMETTE, CRFSUITE = ".palm", ".crfsuite"
ENDINGS = (PALMETTE, CRFSUITE)


class Check(ThreadOptions, JsonOptions, Command):
    """Look at labelled data before training: bad tag sequences, lines and cells, labels that look like mistakes,
    duplicates, test sentences, and with --noise doubtful labels. Exit code: 0, also if something was found; with
    --strict 1 if something was found; 1 if a file cannot be read."""

    examples = ("check train.txt --against test.txt",)
    owners = (FormatSpec,)
    hidden = ("ragged", "unit", "penn-quotes")
    common = ("against", "noise", "skip", "top", "strict", "format", "label", "json", "quiet")

    files: list = option(
        argument=True, repeat=True, metavar="FILE", path="input", help="Labelled sentences, each file on its own."
    )
    against: list | None = option(
        default=None, repeat=True, metavar="FILE", path="input",
        help="Test or development data: list its sentences that are in the files, and its labels that are not; "
        "repeatable.",
    )  # fmt: skip
    noise: bool = option(
        default=False,
        help="List doubtful labels: cross-validated models give them a probability below 0.1 (takes the time of "
        "several trainings).",
    )  # fmt: skip
    folds: int = option(default=5, low=2, help="Parts of the data that --noise trains without, one after the other.")
    seed: int = option(default=1, low=0, help="Seed of the folds and the trainings of --noise.")
    skip: tuple | None = option(
        default=None, parse=names_from_text, metavar="KIND,...",
        help="Kinds of findings to leave out, by the names that the report has: duplicates,once.",
    )  # fmt: skip
    top: int = option(default=10, low=0, group="output", help="Findings of each kind to show, the most telling first.")
    strict: bool = option(default=False, group="output", help="Exit with 1 if anything was found.")

    def run(self) -> None:
        from palmette.estimators.data_check import check

        spec = format_spec(self.params(FormatSpec))
        ticker = None if self.quiet or self.json else Ticker()
        with library_muted():
            result = check(
                *self.files, against=self.against or (), spec=spec, skip=self.skip or (), top=self.top,
                noise=self.folds if self.noise else False, threads=self.n_threads, seed=self.seed,
                progress=None if ticker is None else lambda done, n: _tell(ticker, done, n),
            )  # fmt: skip
        if self.json:
            print_json(result.to_dict())
        elif not self.quiet:
            from palmette.reports.checking import print_check

            print_check(result)
        if self.strict and not result.clean:
            raise SystemExit(1)


def _tell(ticker: Ticker, done: int, n: int) -> None:
    if ticker.due():
        ticker.tell(f"doubtful labels: fold {done} of {n}")


class Convert(EncodingOptions, ForceOptions, JsonOptions, Command):
    """Convert a file to another format, tag scheme or encoding, and report what was repaired, changed or lost. If the
    format stays, only the labels change and all other bytes stay. Any tag scheme is read; ill-formed label sequences
    are read as conlleval reads them. Of a model: convert a model of CRFsuite, Wapiti or CRF++ to a Palmette model, or a
    model to CRFsuite's format (-o model.crfsuite)."""

    examples = (
        "convert train.txt -o train.jsonl --to jsonl",
        "convert train.txt -o bioes.txt --to-scheme iobes",
        "convert model.crfsuite -o model.palm",
    )
    owners = (FormatSpec,)
    common = ("output", "to", "to-scheme", "format", "label", "output-encoding", "constraints", "json", "quiet")

    data: str = option(default="-", argument=True, path="input", help="What to convert; `-` is standard input.")
    output: str = option(
        default="-", short="o", metavar="FILE", path="output",
        help="Where to write; `-` is standard output. For brat NAME.ann, or a new folder.",
    )  # fmt: skip
    to: str | None = option(
        default=None, metavar="FORMAT", choices=OUTPUTS, group="output",
        help="The format to write (default: that of the input).",
    )  # fmt: skip
    to_scheme: str | None = option(
        default=None, metavar="SCHEME",
        help="The tag scheme to write: iob1, iob2 (bio), ioe1, ioe2, iobes, or iobes with other letters: bilou, bmes, "
        "... (default: labels stay; without --to-scheme iobes).",
    )  # fmt: skip
    constraints: str | None = option(
        default=None, metavar="SCHEME", group="model",
        help="Of a model: label sequences must follow a tag scheme from now on: iob2 or another one; auto: the one "
        "that its labels show.",
    )  # fmt: skip

    def run(self) -> None:

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
        spec = format_spec(self.params(FormatSpec))
        report_source(self.data, self.quiet)
        from palmette.data.convert import Conversion, convert_file

        account = Conversion()
        convert_file(
            self.data, self.output, self.to_scheme, output_format=self.to, spec=spec,
            output_encoding=self.output_encoding, report=account, progress=None if self.quiet else Meter(),
        )  # fmt: skip
        if self.json:
            print_json({"output": self.output, **account.to_dict()})
        else:
            self._tell(account)

    def _check_model_flags(self) -> None:
        """UsageError if an option of data is given for a model."""
        own = {"--to": self.to, "--to-scheme": self.to_scheme, "--output-encoding": self.output_encoding}
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
        if self.to is None and not _named_so(self.output, account.format):
            logger.warning(
                "%s has the format of the input, %s, and the name of another: choose with --to",
                self.output, account.format,
            )  # fmt: skip
        logger.info("%s; wrote %s (%s)", done, self.output, account.format)


def _named_so(path: str, format: str) -> bool:
    """Whether the ending of a file's name is that of a format, or of none."""
    named = format_by_name(path)
    return named in (None, format) or (named == "jsonl" and format in ("prodigy", "doccano"))


def convert_model(path: str, output: str, constraints: str | None = None) -> None:
    """Read a model and write it in the format that the name of the output asks for; `constraints`: a tag scheme."""
    from palmette.data import model_file
    from palmette.estimators.tagger import Tagger

    if not output.lower().endswith(ENDINGS):
        raise UsageError(
            f"{path} is a model: name what to write with -o, a file that ends in {PALMETTE} or {CRFSUITE} (CRFsuite's)"
        )
    model_file.check_output(output)
    tagger = Tagger.load(path)
    if constraints is not None:
        tagger.constrain(constraints)
    tagger.save(output)
    logger.info("%s; wrote %s", _said(tagger), output)


def _said(tagger: Tagger) -> str:
    """What a model is."""
    from palmette.reports.inspection import TOOLS

    model = tagger.model_
    attributes = counted(sum(index.size for index in model.feature_indexes.values()), "attribute")
    origin = model.meta.get("imported")
    named = f"a model of {TOOLS[origin['tool']]}" if origin else "a Palmette model"
    return f"{named} with {counted(len(model.labels), 'label')} and {attributes}"


class Pick(HelperOptions, EncodingOptions, OutputOptions, Command):
    """Pick the sentences most worth annotating from data without labels: those that a model is least sure of, and that
    are not like each other. They are written in the format of the input, the best first. The input is read as the
    training data was, unless the options of the data say otherwise."""

    examples = ("pick chunk.palm unlabelled.txt -n 50 -o next.txt",)
    owners = (FormatSpec,)
    hidden = ("label", "tag-names")
    common = ("output", "number", "exclude", "uncertainty", "diversity", "scores", "with", "format", "columns", "quiet")

    model: str = option(argument=True, path="input", help="The model file.")
    data: str = option(
        default="-", argument=True, path="input", help="Sentences to choose from; `-` is standard input."
    )
    output: str = option(
        default="-", short="o", metavar="FILE", path="output", help="Where to write; `-` is standard output."
    )
    number: int = option(default=100, low=1, short="n", help="Sentences to pick.")
    by: str = option(
        default="confidence", flag="uncertainty", choices=MEASURES, group="model", help="What uncertainty is."
    )
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
        from palmette.estimators.picking import pick_file

        tagger = load_tagger(self.model)
        report_source(self.data, self.quiet)
        picked = pick_file(
            tagger, self.data, self.output, self.number, by=self.by, diversity=self.diversity,
            exclude=self.exclude or (), scores=self.scores, spec=format_spec(self.params(FormatSpec)),
            add=self.helpers(), output_encoding=self.output_encoding,
            progress=None if self.quiet else Meter(),
        )  # fmt: skip
        if self.output != "-":
            logger.info("picked %s; wrote %s", counted(len(picked), "sentence"), self.output)
