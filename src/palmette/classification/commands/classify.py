"""`palmette classifier classify`: the class and score of each sentence, and its latent structures on request."""

from __future__ import annotations

import time

from palmette.classification.commands.common import ClassifyingOptions, FormatOption, load_with_tagger
from palmette.cli.command import Command, OutputOptions
from palmette.cli.common import OF_FILES, EncodingOptions, ThreadOptions, text_spec
from palmette.cli.output import Meter, report_rate, report_source
from palmette.data.text import TextSpec
from palmette.errors import UsageError
from palmette.options.declare import option

WRITTEN = {"lines": "class, score and words, separated by TABs", "jsonl": "one JSON object per sentence"}


class Classify(FormatOption, ClassifyingOptions, ThreadOptions, EncodingOptions, OutputOptions, Command):
    """Write the class and the score of each sentence."""

    examples = ("classifier classify classifier.palm input.txt -o classes.tsv",)
    common = ("output", "text", "tagger", "format", "to", "structures", "threads", "quiet")
    owners = (TextSpec,)
    hidden = ("max-cell",)

    model: str = option(argument=True, path="input", help="The model file.")
    data: str = option(
        default="-", argument=True, path="input",
        help="One sentence per line: words, optionally followed by <TAB>parts of speech; or columns or JSON lines. "
        "`-` is standard input.",
    )  # fmt: skip
    output: str = option(
        default="-", short="o", metavar="FILE", path="output", help="Where to write; `-` is standard output."
    )
    text: str | None = option(default=None, help="A sentence to classify instead of a file: words separated by spaces.")
    to: str = option(default="lines", choices=WRITTEN, group="output", help="Format of the output.")
    structures: bool = option(
        default=False, group="output",
        help="Write the latent tags of each view too: a line per view below the sentence, which begins with `#`.",
    )  # fmt: skip

    def run(self) -> None:
        if self.text is not None and (self.data != "-" or self.format is not None or self.given(*OF_FILES)):
            raise UsageError("--text is a sentence instead of a file: leave the file and the options for files out")
        classifier = load_with_tagger(self.model, self.tagger, self.quiet)
        if self.text is not None:
            from palmette.classification.files import parse_line
            from palmette.data.text import UTF8, write_text

            sentence = parse_line(self.text, "--text", 1, labelled=False)
            with write_text(self.output, self.output_encoding or UTF8) as out:
                out.write(classifier.classified([sentence], output=self.to, structures=self.structures))
            return
        report_source(self.data, self.quiet)
        begun = time.perf_counter()
        n = classifier.classify_file(
            self.data, self.output, format=self.format, output=self.to, structures=self.structures,
            spec=text_spec(self), output_encoding=self.output_encoding, threads=self.n_threads,
            progress=None if self.quiet else Meter("sentence"),
        )  # fmt: skip
        if self.output != "-" and not self.quiet:
            report_rate(n, "sentence", time.perf_counter() - begun, [self.output])
