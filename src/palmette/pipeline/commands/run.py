"""`palmette pipeline run`: from plain text, or words, to tags, lemmas and trees."""

from __future__ import annotations

import logging
import time
from typing import TYPE_CHECKING

from palmette.cli.command import Command, OutputOptions
from palmette.cli.common import text_spec
from palmette.cli.output import Meter, report_rate, report_source
from palmette.cli.parser.common import DrawingOptions, chosen_sentences, show_trees
from palmette.data.files import shown
from palmette.data.text import TextSpec
from palmette.errors import DataError, UsageError
from palmette.options.declare import option
from palmette.pipeline.commands.common import RunningOptions
from palmette.pipeline.options import INPUTS, OUTPUTS, check_components, components_from_text

if TYPE_CHECKING:
    from palmette.pipeline.pipeline import Pipeline
    from palmette.pipeline.run import Annotated, Job

logger = logging.getLogger(__name__)


class RunPipeline(DrawingOptions, RunningOptions, OutputOptions, Command):
    """Run a text through a pipeline: sentences, words, tags, lemmas and trees. Files of any size are read, worked on
    and written in parts."""

    owners = (TextSpec,)
    common = ("output", "input", "to", "components", "beam", "threads", "text", "draw", "svg", "sentences", "quiet")

    model: str = option(argument=True, path="input", help="The model file of a pipeline.")
    data: str = option(
        default="-", argument=True, path="input", help="What to read; `-` is standard input, gzip is fine."
    )
    output: str = option(
        default="-", short="o", metavar="FILE", path="output", help="Where to write; `-` is standard output."
    )
    input: str = option(default="text", choices=INPUTS, help="What is read.")
    to: str = option(default="conllu", choices=OUTPUTS, group="output", help="What is written.")
    components: tuple | None = option(
        default=None, metavar="NAME,...", parse=components_from_text, check=check_components,
        help="What runs, of tok, tag, lemma and parse (default: all that the pipeline has). Of CoNLL-U the fields of "
        "the others stay as they are.",
    )  # fmt: skip
    text: str | None = option(default=None, help="A text to run instead of a file.")
    draw: bool = option(
        default=False, group="output",
        help="Draw the trees in the terminal; the output is written too if -o names a file.",
    )  # fmt: skip

    def run(self) -> None:
        self._check()
        from palmette.pipeline.pipeline import Pipeline
        from palmette.pipeline.run import make_job, run_file

        pipeline = Pipeline.load(self.model)
        job = make_job(pipeline.model_, self.input, self.to, self.components, self.beam)
        if self.text is None:
            report_source(self.data, self.quiet, f"{'text' if self.input == 'text' else self.input} ")
        begun = time.perf_counter()
        if self.draw or self.svg is not None or self.text is not None:
            n = self._drawn(pipeline, job)
        else:
            meter = None if self.quiet else Meter("word")
            n = run_file(job, self.data, self.output, threads=self.n_threads, spec=text_spec(self), progress=meter)
        files = [file for file in (self.output, self.svg) if file is not None and file != "-"]
        if files and not self.quiet:
            report_rate(n, "word", time.perf_counter() - begun, files)

    def _check(self) -> None:
        if self.output in OUTPUTS:
            raise UsageError(f"--output names a file: write --to {self.output} for the format")
        if self.sentences is not None and not (self.draw or self.svg):
            raise UsageError("--sentences chooses what --draw and --svg show: give one of them")
        if self.text is not None and (self.data != "-" or self.input != "text"):
            raise UsageError("--text is a text to run: leave the file and --input out")

    def _drawn(self, pipeline: Pipeline, job: Job) -> int:
        """Run a whole file, or the text that is given; draw some of its trees, and write the output unless it would go
        where the trees are drawn."""
        from palmette.data.text import write_text
        from palmette.pipeline.run import annotated_parts, typed_part, written

        drawing = self.draw or self.svg is not None
        if drawing and "parse" not in job.names:
            raise UsageError("there are no trees to draw without the component parse")
        if self.text is not None:
            parts = [typed_part(job, self.text)]
        else:
            parts = list(annotated_parts(job, self.data, self.n_threads, text_spec(self)))
        if self.output != "-" or not self.draw:
            with write_text(self.output) as out:
                for data, _ in written(job, parts):
                    out.write(data)
        if drawing:
            self._show(parts)
        return sum(part.treebank.n_tokens for part in parts)

    def _show(self, parts: list[Annotated]) -> None:
        from palmette.data.formats.conllu_light import tree_of

        places = [(part, s) for part in parts for s in range(part.treebank.n_sentences)]
        if not places:
            raise DataError("there is no word in the text", file=None if self.text is not None else shown(self.data))
        drawings = []
        for number in chosen_sentences(self.sentences, len(places)):
            part, s = places[number]
            drawings.append((f"sentence {number + 1}", tree_of(part.treebank, s), None))
        show_trees(drawings, self.svg, self.draw)
