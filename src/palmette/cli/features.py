"""`palmette features`: print a named template set, or check a template file."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from palmette.cli.command import Command
from palmette.errors import counted
from palmette.options.declare import option

if TYPE_CHECKING:
    from palmette.features.templates import TemplateSet


class Features(Command):
    """Print a named template set, or check a template file. Without a name: list the sets."""

    name: str | None = option(
        default=None, argument=True, path="input",
        help="pos, chunk, ner, char or ngrams prints that set as a template file; the path of a file checks it.",
    )  # fmt: skip
    order: int = option(
        default=1, low=0, high=2,
        help="Transitions to add to a named set: 0 none, 1 label pairs, 2 label triples as well.",
    )  # fmt: skip
    columns: int = option(default=2, low=1, help="Number of feature columns of the data.")
    atoms: bool = option(default=False, help="List the word atoms that macros can use, as in `%x[0,0,lower]`.")

    def run(self) -> None:
        from palmette.features import atoms as word_atoms
        from palmette.features.named import NAMED_SETS, named_text

        if self.atoms:
            print(word_atoms.__doc__)
        elif self.name is None:
            for known, made in NAMED_SETS.items():
                print(f"{known:8}{made.about}")
            print("\n`palmette features NAME` prints a set, `--atoms` lists the word atoms of macros.")
        elif self.name not in NAMED_SETS and os.path.exists(self.name):
            _check_file(self.name, self.columns)
        else:
            print(named_text(self.name, self.order, self.columns), end="")


def _check_file(path: str, columns: int) -> None:
    from palmette.features.lint import lint
    from palmette.features.templates import read_templates

    templates = read_templates(path)
    warnings = lint(templates, columns)
    for warning in warnings:
        print(f"{path}:{warning.line}: {warning.kind}: {warning.message}")
    n = len(templates.templates)
    remarks = counted(len(warnings), "remark")
    print(f"{path}: {templates.syntax} syntax, {counted(n, 'template')}, order {templates.order}, {remarks}")
    print(f"searches: {_searches(templates)}")


def _searches(templates: TemplateSet) -> str:
    """The searches that a set allows, and the reason if not all."""
    reading = templates.label_contexts
    if not reading:
        return "viterbi (exact), beam"
    back = max(back for template in reading for back in template.earlier_labels)
    first = f"the first on line {reading[0].line}, read" if len(reading) > 1 else f"on line {reading[0].line}, reads"
    return (
        f"beam (--search beam); {counted(len(reading), 'template')}, {first} labels up to "
        f"{counted(back, 'token')} before, which exact search cannot"
    )
