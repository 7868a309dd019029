"""`python -m studies NAME [--data FOLDER] [--fresh]`: run a study, or write its page again from its record."""

from __future__ import annotations

import argparse
import ast
import importlib
import os
import shutil
import sys
import textwrap
from collections.abc import Sequence
from pathlib import Path

HERE = Path(__file__).resolve().parent
PARTS = ("__init__", "__main__", "common", "grammaticality_data", "grammaticality_page", "parsing_page")
ABOUT = (
    "Run a study: our figures beside published ones. Every figure is kept in a record, docs/studies/NAME.json, as soon "
    "as it is there; what the record has is not run again, and the page is made from it."
)
CORPORA = "docs/studies/corpora.md"


def studies() -> dict[str, str]:
    """The studies, each with the first sentence of its module."""
    found = {}
    for path in sorted(HERE.glob("*.py")):
        if path.stem not in PARTS:
            text = ast.get_docstring(ast.parse(path.read_text(encoding="utf-8"))) or ""
            found[path.stem] = " ".join(text.split()).partition(". ")[0].rstrip(".")
    return found


def _wrapped(text: str, indent: int = 0) -> str:
    width = min(100, shutil.get_terminal_size((80, 24)).columns)
    return textwrap.fill(text, width, subsequent_indent=" " * indent, break_on_hyphens=False)


def parsed(arguments: Sequence[str] | None = None) -> tuple[argparse.Namespace, list[str]]:
    known = studies()
    parser = argparse.ArgumentParser(
        prog="python -m studies", formatter_class=argparse.RawDescriptionHelpFormatter,
        description=_wrapped(ABOUT),
        epilog="studies:\n" + "\n".join(_wrapped(f"  {name:<16}{about}", 18) for name, about in known.items())
        + f"\n\nWhere the corpora come from: {CORPORA}",
    )  # fmt: skip
    parser.add_argument("name", choices=list(known), metavar="NAME", help="the study, one of those below")
    parser.add_argument("--data", metavar="FOLDER", help="folder of the corpora (default: ../shared/data)")
    parser.add_argument(
        "--fresh", action="store_true", help="run everything, into a record and a page of their own in --output"
    )
    parser.add_argument("--output", metavar="FOLDER", help="where --fresh writes (default: fresh-studies)")
    given, rest = parser.parse_known_args(arguments)
    if given.output and not given.fresh:
        parser.error("--output goes with --fresh: otherwise the record is docs/studies/NAME.json")
    return given, rest


def main(arguments: Sequence[str] | None = None) -> None:
    given, rest = parsed(arguments)
    if given.data:
        os.environ["PALMETTE_DATA"] = given.data
    if given.fresh:
        folder = Path(given.output or "fresh-studies").resolve()
        folder.mkdir(parents=True, exist_ok=True)
        if (folder / f"{given.name}.json").exists():
            print(f"going on with {folder / given.name}.json; delete it to begin again", file=sys.stderr)
        os.environ["PALMETTE_STUDIES"] = str(folder)  # studies/common.py reads it
    sys.argv = [f"studies.{given.name}", *rest]
    importlib.import_module(f"studies.{given.name}").main()


if __name__ == "__main__":
    main()
