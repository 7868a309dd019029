"""`palmette export`: a tagger for programs in JavaScript."""

from __future__ import annotations

from palmette.cli.command import Command, OutputOptions
from palmette.options.declare import option


class Export(OutputOptions, Command):
    """Write a tagger as a package for JavaScript: the model, the runtime as WebAssembly, a typed module and an example
    page. It runs in Node and in browsers, without a server. Taggers with exact search on words, columns or attributes
    can be exported; others are refused with the reason."""

    examples = ("export chunk.palm -o chunk-js",)
    common = ("output", "quiet")

    model: str = option(argument=True, path="input", help="The model file. `palmette compact` makes it small.")
    output: str = option(short="o", metavar="FOLDER", help="The folder to write, which must be new or empty.")

    def run(self) -> None:
        from palmette.runtime.export import MODEL, export_model

        sizes = export_model(self.model, self.output)
        model = sizes.pop(MODEL)
        if not self.quiet:
            beside = round(sum(sizes.values()) / 1000)
            print(f"wrote {self.output}: a model of {model / 1e6:.1f} MB, and {beside} kB beside it")
            print(f"  to try it: python -m http.server -d {self.output}")
