"""`palmette pipeline extract`: components of a pipeline in a model file of their own."""

from __future__ import annotations

import os

from palmette.cli.command import Command, ForceOptions
from palmette.errors import counted
from palmette.options.declare import option


class ExtractComponent(ForceOptions, Command):
    """Take components of a pipeline out. A parser (parse) and a tagger (upos) become model files of their own kind, for
    `palmette parser parse` and `palmette tag`; any other choice becomes a smaller pipeline."""

    model: str = option(argument=True, path="input", help="The model file of a pipeline.")
    what: str = option(
        argument=True, metavar="NAME,...",
        help="parse or upos; or some of tok, tag, lemma and parse, separated by commas.",
    )  # fmt: skip
    output: str = option(short="o", metavar="FILE", path="model", help="The model file to write.")

    def run(self) -> None:
        from palmette.data import model_file
        from palmette.pipeline.exchange import extract
        from palmette.pipeline.model import PipelineModel

        model_file.check_output(self.output)
        made = extract(PipelineModel.load(self.model), self.what, self.output)
        if not self.quiet:
            print(f"{made}; {counted(os.path.getsize(self.output), 'byte')}; saved {self.output}")
