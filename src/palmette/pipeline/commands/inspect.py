"""`palmette pipeline inspect`: what a pipeline holds."""

from __future__ import annotations

from palmette.cli.command import Command, JsonOptions
from palmette.cli.output import print_json
from palmette.options.declare import option


class InspectPipeline(JsonOptions, Command):
    """Show a pipeline: components, sizes, scores on development data, settings. To look into a component, take it out
    with `palmette pipeline extract` and inspect that file."""

    model: str = option(argument=True, path="input", help="The model file of a pipeline.")

    def run(self) -> None:
        from palmette.pipeline.inspection import inspect_pipeline
        from palmette.pipeline.pipeline import Pipeline

        found = inspect_pipeline(Pipeline.load(self.model))
        if self.json:
            print_json(found.to_dict())
        else:
            from palmette.reports.console import OutputConsole
            from palmette.reports.inspected import print_facts

            print_facts(found, OutputConsole(80))
