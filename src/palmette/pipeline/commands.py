"""`palmette pipeline`: language pipelines, from plain text to trees."""

from __future__ import annotations

import logging
import os
import time
from typing import TYPE_CHECKING, Any

from palmette.cli.command import Command, ConfigOptions, ForceOptions, JsonOptions, OutputOptions
from palmette.cli.common import ThreadOptions, check_order, is_typed, pairs, text_spec, with_named_files
from palmette.cli.output import Meter, details_muted, print_json, report_rate, report_source
from palmette.data.files import shown
from palmette.data.text import TextSpec
from palmette.errors import DataError, UsageError, counted
from palmette.options.declare import option
from palmette.options.search import MOST_BEAM
from palmette.parsing.commands import DrawingOptions, chosen_sentences, show_trees
from palmette.pipeline.options import (
    GOLD_INPUTS,
    INPUTS,
    OUTPUTS,
    PipelineOptions,
    check_components,
    components_from_text,
)

if TYPE_CHECKING:
    from palmette.pipeline.pipeline import Pipeline
    from palmette.pipeline.run import Annotated, PipelineJob

# Options that several commands of pipelines share.


class RunningOptions(ThreadOptions):
    """Options of commands that run a pipeline."""

    beam: int | None = option(
        default=None, low=1, high=MOST_BEAM,
        help="States that the parser's search keeps (default: as in training); 1 is greedy and fastest.",
    )  # fmt: skip


# `palmette pipeline train`: from a treebank to a pipeline.


class TrainPipeline(ConfigOptions, ForceOptions, JsonOptions, Command):
    """Train a pipeline from a treebank: sentences and words of plain text, tags, features, lemmas, trees. Ctrl-C and
    an error in one component keep the components that are finished."""

    owners = (PipelineOptions, TextSpec)
    common = (
        "output", "dev", "components", "entities", "entities-dev", "lexicons", "clusters", "jackknife", "beam", "full",
        "threads", "json", "quiet",
    )  # fmt: skip

    data: str = option(
        argument=True, path="input", help="The treebank, CoNLL-U with `# text`; `-` is standard input, gzip is fine."
    )
    output: str = option(short="o", metavar="FILE", path="model", help="The model file to write.")
    dev: str | None = option(
        default=None, metavar="FILE", path="input",
        help="Development treebank: it chooses passes and how small the models are made, and is scored at the end.",
    )  # fmt: skip
    entities: list | None = option(
        default=None, repeat=True, metavar="FILE", path="input",
       help="Sentences with entities to learn from: columns of words and labels, CoNLL-U, annotators' files. A file "
        "that is given twice counts twice.",
    )  # fmt: skip
    entities_dev: str | None = option(
        default=None, metavar="FILE", path="input",
       help="Sentences with entities to score them, and to make the model small.",
    )  # fmt: skip
    skip_bad: bool = option(
        default=False, group="data",
        help="Leave out sentences that are not trees (cycles, two roots, heads out of range), and report how many.",
    )  # fmt: skip
    threads: int = option(default=2, low=1, help="Components that learn at the same time.")

    def run(self) -> None:
        from palmette.data import model_file
        from palmette.pipeline.display import PipelineDisplay
        from palmette.pipeline.pipeline import Pipeline
        from palmette.training.interrupt import stop_on_sigterm

        model_file.check_output(self.output)
        stop_on_sigterm()
        begun = time.perf_counter()
        pipeline = Pipeline(**with_named_files(self.params(PipelineOptions)))
        try:
            with details_muted(), PipelineDisplay(self.quiet or self.json) as display:
                pipeline.fit_file(
                    self.data, self.dev, entities=self.entities or (), entities_dev=self.entities_dev, 
                    skip_bad=self.skip_bad, spec=text_spec(self), threads=self.threads, progress=display,
                )  # fmt: skip
        finally:
            if hasattr(pipeline, "model_"):  # also if a component failed: those that are finished are kept
                pipeline.save(self.output)
                self._report(pipeline, time.perf_counter() - begun)
        if pipeline.outcome_.interrupted:
            from palmette.training.interrupt import exit_code

            raise SystemExit(exit_code(pipeline.outcome_.signal))

    def _report(self, pipeline: Pipeline, seconds: float) -> None:
        size = os.path.getsize(self.output) if os.path.isfile(self.output) else None
        if self.json:
            print_json(self._about(pipeline, seconds, size))
        elif not self.quiet:
            from palmette.pipeline.display import inspect_pipeline
            from palmette.reports.tables import OutputConsole, print_facts

            print_facts(inspect_pipeline(pipeline)._replace(facts={}), OutputConsole(80))
            state = "interrupted; " if pipeline.outcome_.interrupted else ""
            if pipeline.outcome_.errors:
                state += f"failed: {', '.join(pipeline.outcome_.errors)}; "
            shown = "" if size is None else f", {size / 1e6:.1f} MB"
            print(f"{state}{seconds:.1f} s in all; saved {self.output}{shown}")

    def _about(self, pipeline: Pipeline, seconds: float, size: int | None) -> dict[str, Any]:
        from palmette.pipeline.display import inspect_pipeline

        outcome = pipeline.outcome_
        ending = {
            "model": self.output, "bytes": size, "interrupted": outcome.interrupted,
            "failed": {name: str(error) for name, error in outcome.errors.items()}, "seconds": round(seconds, 3),
            "seconds_by_step": {name: round(value, 3) for name, value in outcome.seconds.items()},
        }  # fmt: skip
        return ending | inspect_pipeline(pipeline).to_dict()


# `palmette pipeline run`: from plain text, or words, to tags, lemmas and trees.

logger = logging.getLogger(__name__)


class RunPipeline(DrawingOptions, RunningOptions, OutputOptions, Command):
    """Run a text through a pipeline: sentences, words, tags, lemmas and trees. Files of any size are read, worked on
    and written in parts."""

    owners = (TextSpec,)
    common = (
        "output",
        "format",
        "to",
        "components",
        "beam",
        "threads",
        "text",
        "draw",
        "picture",
        "sentences",
        "quiet",
    )

    model: str = option(argument=True, path="input", help="The model file of a pipeline.")
    data: str = option(
        default="-", argument=True, path="input",
        help="What to read; `-` is standard input, gzip is fine. An argument that is not a file and has a blank is a "
        "text to run.",
    )  # fmt: skip
    output: str = option(
        default="-", short="o", metavar="FILE", path="output", help="Where to write; `-` is standard output."
    )
    input: str = option(default="text", flag="format", choices=INPUTS, help="What is read.")
    to: str = option(default="conllu", choices=OUTPUTS, group="output", help="What is written.")
    components: tuple | None = option(
        default=None, metavar="NAME,...", parse=components_from_text, check=check_components,
        help="What runs, of tok, tag, lemma, parse and entities (default: all that the pipeline has). Of CoNLL-U the "
        "fields of the others stay as they are.",
    )  # fmt: skip
    text: str | None = option(default=None, help="A text to run instead of a file.")
    draw: bool = option(
        default=False, group="output",
        help="Draw the trees in the terminal; the output is written too if -o names a file.",
    )  # fmt: skip

    def run(self) -> None:
        if self.text is None and is_typed(self.data):
            self.text, self.data = self.data, "-"
        self._check()
        from palmette.pipeline.pipeline import Pipeline
        from palmette.pipeline.run import make_job, run_file

        check_order(self)
        pipeline = Pipeline.load(self.model)
        job = make_job(pipeline.model_, self.input, self.to, self.components, self.beam)
        if self.text is None:
            report_source(self.data, self.quiet, f"{'text' if self.input == 'text' else self.input} ")
        begun = time.perf_counter()
        if self.draw or self.picture is not None or self.text is not None:
            n = self._drawn(job)
        else:
            meter = None if self.quiet else Meter("word")
            n = run_file(job, self.data, self.output, threads=self.n_threads, spec=text_spec(self), progress=meter)
        files = [file for file in (self.output, self.picture) if file is not None and file != "-"]
        if files and not self.quiet:
            report_rate(n, "word", time.perf_counter() - begun, files)

    def _check(self) -> None:
        if self.output in OUTPUTS:
            raise UsageError(f"--output names a file: write --to {self.output} for the format")
        if self.sentences is not None and not (self.draw or self.picture):
            raise UsageError("--sentences chooses what --draw and --picture show: give one of them")
        if self.text is not None and (self.data != "-" or self.input != "text"):
            raise UsageError("--text is a text to run: leave the file and --format out")

    def _drawn(self, job: PipelineJob) -> int:
        """Run a whole file, or the text that is given; draw some of its trees, and write the output unless it would go
        where the trees are drawn."""
        from palmette.data.text import write_text
        from palmette.pipeline.run import annotated_parts, typed_part, written

        drawing = self.draw or self.picture is not None
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
            drawings.append((_title(part, s, number), tree_of(part.treebank, s), None))
        show_trees(drawings, self.picture, self.draw)


def _title(part: Annotated, s: int, number: int) -> str:
    """What stands above the drawing of a sentence: its number and its entities."""
    from palmette.pipeline.output import entity_spans

    bank = part.treebank
    lo, hi = int(bank.offset[s]), int(bank.offset[s + 1])
    forms = bank.forms.cells()[lo:hi] if bank.entities is not None else []
    found = [f"{span.type} {' '.join(forms[span.start : span.end])}" for span in entity_spans(bank, lo, hi)]
    return f"sentence {number + 1}" + (f"   {', '.join(found)}" if found else "")


# `palmette pipeline eval`: a pipeline against a gold treebank, by the metrics of the CoNLL 2018 shared task.


class EvalPipeline(RunningOptions, JsonOptions, Command):
    """Score a pipeline on a gold treebank, by the metrics of the CoNLL 2018 shared task: from the raw text of the
    treebank, or from its words."""

    owners = (TextSpec,)
    common = ("format", "beam", "threads", "json", "quiet")

    model: str = option(argument=True, path="input", help="The model file of a pipeline.")
    gold: str = option(argument=True, path="input", help="The gold treebank, CoNLL-U.")
    input: str = option(default="text", flag="format", choices=GOLD_INPUTS, help="What the pipeline gets to read.")

    def run(self) -> None:
        from palmette.pipeline.pipeline import Pipeline
        from palmette.reports.tables import print_scores

        pipeline = Pipeline.load(self.model)
        found = pipeline.evaluate(
            self.gold, input=self.input, beam=self.beam, threads=self.n_threads, spec=text_spec(self)
        )
        if self.json:
            print_json(found.to_dict())
        else:
            print_scores(found)


# `palmette pipeline inspect`: what a pipeline holds.


class InspectPipeline(JsonOptions, Command):
    """Show a pipeline: components, sizes, scores on development data, settings. To look into a component, take it out
    with `palmette pipeline extract` and inspect that file."""

    model: str = option(argument=True, path="input", help="The model file of a pipeline.")

    def run(self) -> None:
        from palmette.pipeline.display import inspect_pipeline
        from palmette.pipeline.pipeline import Pipeline

        found = inspect_pipeline(Pipeline.load(self.model))
        if self.json:
            print_json(found.to_dict())
        else:
            from palmette.reports.tables import OutputConsole, print_facts

            print_facts(found, OutputConsole(80))


# `palmette pipeline extract`: components of a pipeline in a model file of their own.


class ExtractComponent(ForceOptions, Command):
    """Take components of a pipeline out. A parser (parse) and a tagger (upos) become ordinary model files, for
    `palmette parser parse` and `palmette tag`; any other choice becomes a smaller pipeline."""

    model: str = option(argument=True, path="input", help="The model file of a pipeline.")
    what: str = option(
        argument=True, metavar="NAME,...",
        help="parse or upos; or some of tok, tag, lemma, parse and entities, separated by commas.",
    )  # fmt: skip
    output: str = option(short="o", metavar="FILE", path="model", help="The model file to write.")

    def run(self) -> None:
        from palmette.data import model_file
        from palmette.pipeline.model import PipelineModel, extract

        model_file.check_output(self.output)
        made = extract(PipelineModel.load(self.model), self.what, self.output)
        if not self.quiet:
            print(f"{made}; {counted(os.path.getsize(self.output), 'byte')}; saved {self.output}")


# `palmette pipeline replace`: components of other models in a pipeline.


class ReplaceComponent(ForceOptions, Command):
    """Put components of other models into a pipeline, in the place of its own or in addition: a parser, a tagger of
    UPOS, or any component of another pipeline. The other components stay as they are, trained with those that
    were there: score the new pipeline with `palmette pipeline eval`."""

    model: str = option(argument=True, path="input", help="The model file of a pipeline.")
    models: list = option(
        argument=True, repeat=True, metavar="NAME=MODEL", path="input",
        help="What is put in: parse=MODEL or upos=MODEL; or any component of another pipeline.",
    )  # fmt: skip
    output: str = option(short="o", metavar="FILE", path="model", help="The model file to write.")

    def run(self) -> None:
        from palmette.data import model_file
        from palmette.pipeline.model import PipelineModel, replaced

        model_file.check_output(self.output)
        made = PipelineModel.load(self.model)
        for name, path in pairs(self.models, "NAME=MODEL").items():
            made = replaced(made, name, path)
        made.save(self.output)
        if not self.quiet:
            print(f"components: {', '.join(made.names)}; saved {self.output}")
