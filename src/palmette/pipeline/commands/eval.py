"""`palmette pipeline eval`: a pipeline against a gold treebank, by the metrics of the CoNLL 2018 shared task."""

from __future__ import annotations

from palmette.cli.command import Command, JsonOptions
from palmette.cli.common import text_spec
from palmette.cli.output import print_json
from palmette.data.text import TextSpec
from palmette.options.declare import option
from palmette.pipeline.commands.common import RunningOptions
from palmette.pipeline.options import GOLD_INPUTS


class EvalPipeline(RunningOptions, JsonOptions, Command):
    """Score a pipeline on a gold treebank, by the metrics of the CoNLL 2018 shared task: from the raw text of the
    treebank, or from its words."""

    owners = (TextSpec,)
    common = ("input", "beam", "threads", "json", "quiet")

    model: str = option(argument=True, path="input", help="The model file of a pipeline.")
    gold: str = option(argument=True, path="input", help="The gold treebank, CoNLL-U.")
    input: str = option(default="text", choices=GOLD_INPUTS, help="What the pipeline gets to read.")

    def run(self) -> None:
        from palmette.pipeline.pipeline import Pipeline
        from palmette.reports.scores import print_scores

        pipeline = Pipeline.load(self.model)
        found = pipeline.evaluate(
            self.gold, input=self.input, beam=self.beam, threads=self.n_threads, spec=text_spec(self)
        )
        if self.json:
            print_json(found.to_dict())
        else:
            print_scores(found)
