"""`palmette pipeline replace`: components of other models in a pipeline."""

from __future__ import annotations

from palmette.cli.command import Command, ForceOptions
from palmette.cli.common import pairs
from palmette.options.declare import option


class ReplaceComponent(ForceOptions, Command):
    """Put components of other models into a pipeline, in the place of its own or in addition: a parser, a tagger of
    UPOS, or any component of another pipeline. The other components stay as they are, trained with those that
    were there: score the new pipeline with `palmette pipeline eval`."""

    model: str = option(argument=True, path="input", help="The model file of a pipeline.")
    models: list = option(
        argument=True, repeat=True, metavar="NAME=MODEL", path="input",
        help="What is put in: parse=MODEL or upos=MODEL; or tok, tag, lemma or parse of another pipeline.",
    )  # fmt: skip
    output: str = option(short="o", metavar="FILE", path="model", help="The model file to write.")

    def run(self) -> None:
        from palmette.data import model_file
        from palmette.pipeline.exchange import replaced
        from palmette.pipeline.model import PipelineModel

        model_file.check_output(self.output)
        made = PipelineModel.load(self.model)
        for name, path in pairs(self.models, "NAME=MODEL").items():
            made = replaced(made, name, path)
        made.save(self.output)
        if not self.quiet:
            print(f"components: {', '.join(made.names)}; saved {self.output}")
