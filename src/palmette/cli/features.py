"""`palmette features`: print a named template set, or check a template file."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Annotated

from cyclopts import Parameter

from palmette.cli.options import Flag

if TYPE_CHECKING:
    from palmette.features.templates import TemplateSet


def features(
    name: str | None = None,
    /,
    *,
    order: int = 1,
    columns: Annotated[int, Parameter(name="--columns")] = 2,
    atoms: Flag = False,
) -> None:
    """Print a named template set, or check a template file.

    Parameters
    ----------
    name: str
        pos, chunk, ner, char or ngrams prints that set as a template file; a file's path checks it. None: lists them.
    order: int
        Transitions to add to a named set: 0 none, 1 label pairs, 2 label triples as well.
    columns: int
        How many feature columns the data have.
    atoms: bool
        List the word atoms that macros can use, `%x[0,0,lower]`.
    """
    from palmette.features import atoms as word_atoms
    from palmette.features.lint import lint
    from palmette.features.named import NAMED_SETS, named_text
    from palmette.features.templates import read_templates

    if atoms:
        print(word_atoms.__doc__)
    elif name is None:
        for known, made in NAMED_SETS.items():
            print(f"{known:8}{made.about}")
        print("\n`palmette features NAME` prints a set, `--atoms` lists what macros can say about a word.")
    elif name not in NAMED_SETS and os.path.exists(name):
        templates = read_templates(name)
        warnings = lint(templates, columns)
        for warning in warnings:
            print(f"{name}:{warning.line}: {warning.kind}: {warning.message}")
        n = len(templates.templates)
        print(f"{name}: {templates.syntax} syntax, {n} templates, order {templates.order}, {len(warnings)} remarks")
        print(f"searches: {_searches(templates)}")
    else:
        print(named_text(name, order, columns), end="")


def _searches(templates: TemplateSet) -> str:
    """Which searches a set allows, and why not all."""
    if not templates.past:
        return "viterbi (exact), beam"
    first, back = templates.past[0], max(back for template in templates.past for back in template.past)
    return (
        f"beam (--search beam); {len(templates.past)} templates, the first on line {first.line}, read labels up to "
        f"{back} tokens before, which exact search cannot"
    )
