"""`palmette trellis`: the search of one sentence, drawn."""

from __future__ import annotations

from palmette.cli.command import JsonOptions
from palmette.cli.common import BiasOptions, SearchOptions, biases, load_tagger
from palmette.cli.one_sentence import SentenceCommand
from palmette.cli.output import print_json
from palmette.options.declare import option


class DrawTrellis(SearchOptions, BiasOptions, JsonOptions, SentenceCommand):
    """Draw the trellis of a sentence: what each label scores at each token, the best path, the runner-up, and what a
    beam keeps."""

    examples = ('trellis pos.palm "Time flies like an arrow." --svg flies.svg',)
    common = ("svg", "top", "data", "sentence", "with", "search", "beam", "format", "columns", "json", "quiet")

    svg: str | None = option(default=None, metavar="FILE", path="output", help="Write a picture in SVG to this file.")
    top: int = option(default=10, low=1, help="Number of labels (states) to show: those nearest to the best path.")

    def run(self) -> None:
        self.check_source()
        tagger = load_tagger(self.model, self.quiet, self)
        from palmette.structures.chain.trellis import trellis_of

        record = trellis_of(tagger.model_, self.corpus(tagger), biases(self.bias))
        if self.svg is not None:
            from palmette.data.files import write_whole
            from palmette.reports.trellis_svg import trellis_svg

            with write_whole(self.svg) as out:
                out.write(trellis_svg(record, self.top).encode())
        if self.json:
            print_json(record.as_dict())
        elif self.svg is None:
            from palmette.reports.console import OutputConsole
            from palmette.reports.trellis import trellis_text

            console = OutputConsole(80)
            console.print(trellis_text(record, console.width, self.top), end="", soft_wrap=True)
