"""`python -m studies NAME [--data FOLDER] [--fresh [--quick]]`: run a study, or make its page from its record.

`python -m studies TABLE [--row NAME --seed N --data FOLDER]`: list a published table, or run one of its rows."""

from __future__ import annotations

import argparse
import ast
import os
import shutil
import sys
import textwrap
from collections.abc import Sequence
from pathlib import Path

from studies.tables import TABLES, listing, rows_of, start

HERE = Path(__file__).resolve().parent
ABOUT = (
    "Our figures beside published ones. Without --fresh or --missing nothing is run: the page is made again from the "
    "record, docs/studies/NAME.json, which has one entry per run. --fresh runs the study on your copy of the data, and "
    "--fresh --quick as many of its cells as take a few minutes, each beside the figure of the record."
)
QUICK = 120  # seconds of training by the times of the record
CORPORA = "docs/studies/corpora.md"


def studies() -> dict[str, str]:
    """The studies, each with the first sentence of its module."""
    found = {}
    for path in sorted(HERE.glob("*.py")):
        module = ast.parse(path.read_text(encoding="utf-8"))
        named = {node.name for node in module.body if isinstance(node, ast.FunctionDef)}
        if "main" in named and not path.stem.startswith("__"):
            text = ast.get_docstring(module) or ""
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
        + "\n\npublished tables:\n"
        + "\n".join(_wrapped(f"  {name:<16}{about}", 18) for name, (_, about) in TABLES.items())
        + f"\n\nWhere the corpora come from: {CORPORA}",
    )  # fmt: skip
    parser.add_argument(
        "name", choices=[*known, *TABLES], metavar="NAME", help="a study or a published table, one of those below"
    )
    parser.add_argument("--row", metavar="NAME", help="with a table: run this row; without it the rows are listed")
    parser.add_argument("--seed", type=int, help="with --row: this seed alone (default: all of the study)")
    parser.add_argument("--data", metavar="FOLDER", help="folder of the corpora (default: ../shared/data)")
    parser.add_argument(
        "--fresh",
        action="store_true",
        help="run everything, into a record and a page of their own in --output; a run "
        "that was stopped goes on where it was",
    )
    parser.add_argument(
        "--quick", nargs="?", type=float, const=QUICK, metavar="SECONDS",
        help=f"with --fresh: only so many seconds of training, by the times of the record (default: {QUICK})",
    )  # fmt: skip
    parser.add_argument("--missing", action="store_true", help="run what the record lacks, and keep it there")
    parser.add_argument("--output", metavar="FOLDER", help="where --fresh writes (default: fresh-studies)")
    given, rest = parser.parse_known_args(arguments)
    if given.row is not None and given.name not in TABLES:
        parser.error(f"--row goes with a published table: {', '.join(TABLES)}")
    if given.seed is not None and given.row is None:
        parser.error("--seed goes with --row")
    if given.row is not None and given.row not in rows_of(given.name):
        parser.error(f"{given.name} has no row {given.row!r}; its rows are: {'; '.join(rows_of(given.name))}")
    if given.output and not (given.fresh or given.row):
        parser.error("--output goes with --fresh and --row: otherwise the record is docs/studies/NAME.json")
    if given.quick is not None and not given.fresh:
        parser.error("--quick goes with --fresh: otherwise nothing is run")
    return given, rest


def main(arguments: Sequence[str] | None = None) -> None:
    given, rest = parsed(arguments)
    if given.data:
        os.environ["PALMETTE_DATA"] = given.data
    if given.name in TABLES and given.row is None:
        print(listing(given.name))
        return
    if given.row is not None:
        given.name, given.fresh = start(given.name, given.row, given.seed), True
    else:
        run = "full" if given.fresh or given.missing else "page"
        os.environ["PALMETTE_STUDIES_RUN"] = run if given.quick is None else str(given.quick)
    if given.fresh:
        folder = Path(given.output or "fresh-studies").resolve()
        folder.mkdir(parents=True, exist_ok=True)
        if given.quick is None and (folder / f"{given.name}.json").exists():
            print(f"going on with {folder / given.name}.json; delete it to begin again", file=sys.stderr)
        os.environ["PALMETTE_STUDIES"] = str(folder)  # studies/common.py reads both
    sys.argv = [f"studies.{given.name}", *rest]
    # In a process of its own: studies/common.py has read the environment for the list of tables
    os.execv(sys.executable, [sys.executable, "-m", f"studies.{given.name}", *rest])


if __name__ == "__main__":
    main()
