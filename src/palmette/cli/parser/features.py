"""`palmette parser features`: print a template set of the parser, or check a file."""

from __future__ import annotations

import os

from palmette.cli.command import Command
from palmette.errors import UsageError, counted
from palmette.options.declare import option

ABOUT = {
    "basic": "words, tags, outermost children; reads no relations, so that states merge",
    "rich": "those, and distance, valency, second children, relations and sets of them, lemmas, features",
    "latent": "those, and hidden variants of the arcs to children, for parsers with --variants",
}


class ParserFeatures(Command):
    """Print a named template set of the parser, or check a template file."""

    name: str | None = option(
        default=None, argument=True,
        help="basic, rich or latent prints that set as a template file; a path checks that file; without it the sets "
        "are listed.",
    )  # fmt: skip

    def run(self) -> None:
        from palmette.structures.tree.named_templates import SETS

        if self.name is None:
            for known in SETS:
                print(f"{known:8}{ABOUT.get(known, '')}")
            print("\n`palmette parser features NAME` prints a set; docs/parsing.md explains the atoms.")
        elif self.name in SETS:
            print(SETS[self.name].strip())
        elif os.path.exists(self.name):
            from palmette.structures.tree.templates import choose_templates

            found = choose_templates(self.name)
            sizes = f"{counted(len(found.lists), 'template')}, {counted(len(found.atoms), 'atom')}"
            sizes += f", which read {' '.join(found.columns)}"
            print(f"{self.name}: {sizes}")
        else:
            raise UsageError(f"there is no set and no file {self.name!r}; sets: {', '.join(SETS)}")
