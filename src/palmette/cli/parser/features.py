"""`palmette features --task parse`: print a template set of the parser, or check a file."""

from __future__ import annotations

import os

from palmette.errors import UsageError

ABOUT = {
    "basic": "words, tags, outermost children; reads no relations, so that states merge",
    "rich": "those, and distance, valency, second children, relations and sets of them, lemmas, features",
}


def features_parse(name: str | None = None, /) -> None:
    """Print a named template set of the parser, or check a template file.

    Parameters
    ----------
    name: str
        basic or rich prints that set as a template file; a file's path checks it. None: lists them.
    """
    from palmette.structures.tree.named_templates import SETS

    if name is None:
        for known in SETS:
            print(f"{known:8}{ABOUT.get(known, '')}")
        print("\n`palmette features --task parse NAME` prints a set; docs/parsing.md tells what atoms there are.")
    elif name in SETS:
        print(SETS[name].strip())
    elif os.path.exists(name):
        from palmette.structures.tree.templates import choose_templates

        found = choose_templates(name)
        print(f"{name}: {len(found.lists)} templates, {len(found.atoms)} atoms, which read {' '.join(found.columns)}")
    else:
        raise UsageError(f"there is no set and no file {name!r}; sets: {', '.join(SETS)}")
