"""`palmette pipeline train`: from a treebank to a pipeline."""

from __future__ import annotations

import os
import time
from typing import TYPE_CHECKING, Any

from palmette.cli.command import Command, ForceOptions, JsonOptions
from palmette.cli.common import text_spec
from palmette.cli.output import details_muted, print_json
from palmette.data.text import TextSpec
from palmette.options.declare import option
from palmette.pipeline.options import PipelineOptions

if TYPE_CHECKING:
    from palmette.pipeline.pipeline import Pipeline


class TrainPipeline(ForceOptions, JsonOptions, Command):
    """Train a pipeline from a treebank: sentences and words of plain text, tags, features, lemmas, trees. Ctrl-C and
    an error in one component keep the components that are finished."""

    owners = (PipelineOptions, TextSpec)
    common = ("output", "dev", "components", "jackknife", "beam", "full", "passes", "seed", "threads", "json", "quiet")

    data: str = option(
        argument=True, path="input", help="The treebank, CoNLL-U with `# text`; `-` is standard input, gzip is fine."
    )
    output: str = option(short="o", metavar="FILE", path="model", help="The model file to write.")
    dev: str | None = option(
        default=None, metavar="FILE", path="input",
        help="Development treebank: it chooses passes and how small the models are made, and is scored at the end.",
    )  # fmt: skip
    skip_bad: bool = option(
        default=False, group="data",
        help="Leave out sentences that are not trees (cycles, two roots, heads out of range), and report how many.",
    )  # fmt: skip
    threads: int = option(default=2, low=1, help="Components that learn at the same time.")

    def run(self) -> None:
        from palmette.data import model_file
        from palmette.pipeline.pipeline import Pipeline
        from palmette.pipeline.progress import PipelineDisplay
        from palmette.training.interrupt import stop_on_sigterm

        model_file.check_output(self.output)
        stop_on_sigterm()
        begun = time.perf_counter()
        pipeline = Pipeline(**self.params(PipelineOptions))
        try:
            with details_muted(), PipelineDisplay(self.quiet or self.json) as display:
                pipeline.fit_file(
                    self.data, self.dev, skip_bad=self.skip_bad, spec=text_spec(self), threads=self.threads,
                    progress=display,
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
            from palmette.pipeline.inspection import inspect_pipeline
            from palmette.reports.console import OutputConsole
            from palmette.reports.inspected import print_facts

            print_facts(inspect_pipeline(pipeline)._replace(facts={}), OutputConsole(80))
            state = "interrupted; " if pipeline.outcome_.interrupted else ""
            if pipeline.outcome_.errors:
                state += f"failed: {', '.join(pipeline.outcome_.errors)}; "
            shown = "" if size is None else f", {size / 1e6:.1f} MB"
            print(f"{state}{seconds:.1f} s in all; saved {self.output}{shown}")

    def _about(self, pipeline: Pipeline, seconds: float, size: int | None) -> dict[str, Any]:
        from palmette.pipeline.inspection import inspect_pipeline

        outcome = pipeline.outcome_
        ending = {
            "model": self.output, "bytes": size, "interrupted": outcome.interrupted,
            "failed": {name: str(error) for name, error in outcome.errors.items()}, "seconds": round(seconds, 3),
            "seconds_by_step": {name: round(value, 3) for name, value in outcome.seconds.items()},
        }  # fmt: skip
        return ending | inspect_pipeline(pipeline).to_dict()
