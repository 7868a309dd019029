"""`palmette parser features`: print a template set of the parser, or the one that fits a treebank; or check a file."""

from __future__ import annotations

import os

from palmette.cli.command import Command
from palmette.errors import UsageError, counted
from palmette.options.declare import option

ABOUT = {
    "auto": "the default: rich, with the tags and categories that tell most in a treebank",
    "basic": "words, tags, outermost children; reads no relations, so that states merge",
    "rich": "those, and distance, valency, second children, relations and sets of them, lemmas, features",
    "latent": "those, and hidden variants of the arcs to children, for parsers with --variants",
}


class ParserFeatures(Command):
    """Print a named template set of the parser, or check a template file."""

    name: str | None = option(
        default=None, argument=True, path="input",
        help="basic, rich or latent prints that set as a template file, auto the one that fits --data; a path checks "
        "that file; without it the sets are listed.",
    )  # fmt: skip
    data: str | None = option(
        default=None, metavar="FILE", path="input", help="The treebank that the templates of auto fit."
    )
    dev: str | None = option(
        default=None,
        metavar="FILE",
        path="input",
        help="Its development data: an XPOS with tags of another set is not read.",
    )

    def run(self) -> None:
        from palmette.parsing.templates import SETS

        if self.name == "auto":
            print(self._fitted(), end="")
        elif self.data is not None or self.dev is not None:
            raise UsageError("--data and --dev are for the set auto: palmette parser features auto --data FILE")
        elif self.name is None:
            for known, about in ABOUT.items():
                print(f"{known:8}{about}")
            print("\n`palmette parser features NAME` prints a set; docs/parsing.md explains the atoms.")
        elif self.name in SETS:
            print(SETS[self.name].strip())
        elif os.path.exists(self.name):
            from palmette.parsing.templates import choose_templates

            found = choose_templates(self.name)
            sizes = f"{counted(len(found.lists), 'template')}, {counted(len(found.atoms), 'atom')}"
            sizes += f", which read {' '.join(found.columns)}"
            print(f"{self.name}: {sizes}")
        else:
            raise UsageError(f"there is no set and no file {self.name!r}; sets: {', '.join(SETS)}")

    def _fitted(self) -> str:
        """The templates of auto, with a comment that says what was chosen."""
        if self.data is None:
            raise UsageError("auto: templates that fit a treebank need one: palmette parser features auto --data FILE")
        from palmette.data.formats.conllu import read_treebank
        from palmette.parsing.fitted_templates import fitted_templates
        from palmette.parsing.training import check_trained_on

        treebank = read_treebank(self.data)
        check_trained_on(treebank)
        return fitted_templates(treebank, None if self.dev is None else read_treebank(self.dev)).text
