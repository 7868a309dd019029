"""Write docs/examples.md from the programs of examples/, and notebooks with outputs from pages of the documentation:
`python docs/make_examples.py`."""

from __future__ import annotations

import ast
import contextlib
import doctest
import io
import json
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
EXAMPLES = ROOT / "examples"
GROBID = ROOT.parent / "shared" / "data" / "downstream"
ORDER = (
    "five_lines", "split_sentences", "addresses", "dates", "chunking", "small_treebank", "active_learning", "serving",
    "browser", "grobid_dates",
)  # fmt: skip
HEAD = """# Examples

Small programs from five lines to fifty, each with its output. They are in the folder `examples` of the sources, next to
notebooks of four pages of this documentation. None of them needs data of your own, except the last.

"""
NOTEBOOKS = {
    "lesson": "lesson.md",
    "entities": "entities.md",
    "migration": "sklearn_crfsuite.md",
    "pipeline": "pipeline.md",
}


def page() -> str:
    """The page of programs; those that are not in ORDER come last."""
    programs = sorted(EXAMPLES.glob("*.py"), key=lambda path: ORDER.index(path.stem) if path.stem in ORDER else 99)
    parts = []
    for path in programs:
        code = path.read_text(encoding="utf-8")
        about = " ".join((ast.get_docstring(ast.parse(code)) or "").split("\n\n")[0].split())
        parts.append(f"## {path.name}\n\n{about}\n\n```py\n{code}```\n\n```text\n{printed(path)}```\n")
    return HEAD + "\n".join(parts)


def printed(path: Path) -> str:
    """What a program prints, in an empty folder."""
    given = [str(GROBID / f"grobid-date.{ending}") for ending in ("txt", "template")]
    arguments = given if path.stem == "grobid_dates" else []
    with tempfile.TemporaryDirectory() as folder:
        ran = subprocess.run(
            [sys.executable, str(path), *arguments], cwd=folder, stdout=subprocess.PIPE, text=True, check=True
        )
    return ran.stdout


def cells_of(page: str) -> list[dict[str, Any]]:
    """The cells of a notebook: text, programs without their prompts, and commands as `!palmette ...`."""
    text = (ROOT / "docs" / page).read_text(encoding="utf-8")
    text = re.sub(r"<!-- .*? -->\n?", "", text)
    cells = []
    for kind, body in re.findall(r" *```(python|console)\n(.*?)```\n|$", text, re.DOTALL):
        before, _, text = text.partition(f"```{kind}\n{body}```\n") if kind else (text, "", "")
        if before.strip():
            linked = re.sub(r"\]\((?!http)([^)#]+)", r"](../docs/\1", before.strip())
            cells.append({"cell_type": "markdown", "metadata": {}, "source": linked.splitlines(keepends=True)})
        for source in _sources(kind, body):
            cells.append({"cell_type": "code", "metadata": {}, "execution_count": None, "outputs": [],
                          "source": source.rstrip().splitlines(keepends=True)})  # fmt: skip
    return cells


def _sources(kind: str, block: str) -> Iterator[str]:
    """The cells of a block: all its commands, or the statements up to each that prints something."""
    if kind == "console":
        yield "".join(f"!{line[2:]}\n" for line in block.splitlines() if line.startswith("$ "))
        return
    statements = ""
    for example in doctest.DocTestParser().get_examples(block):
        statements += example.source
        if example.want:
            yield statements
            statements = ""
    if statements:
        yield statements


def run(cells: list[dict[str, Any]], folder: Path) -> None:
    """Run the cells in one namespace and keep their outputs: text, and for the last expression its HTML."""
    from palmette.datasets import PARTS, demo_text

    names: dict[str, Any] = {"__name__": "__main__"}
    with contextlib.chdir(folder):
        for part in PARTS:
            Path(f"{part}.txt").write_text(demo_text(part), encoding="utf-8")
        for count, cell in enumerate((cell for cell in cells if cell["cell_type"] == "code"), start=1):
            cell["execution_count"] = count
            source = "".join(cell["source"])
            cell["outputs"] = _commands(source) if source.startswith("!") else _outputs(source, names, count)


def _commands(source: str) -> list[dict[str, Any]]:
    made = []
    for line in source.splitlines():
        ran = subprocess.run(line[1:], shell=True, stdout=subprocess.PIPE, text=True, check=True)
        if ran.stdout:
            made.append({"output_type": "stream", "name": "stdout", "text": ran.stdout.splitlines(keepends=True)})
    return made


def _outputs(source: str, names: dict[str, Any], count: int) -> list[dict[str, Any]]:
    tree = ast.parse(source)
    last = ast.Expression(tree.body.pop().value) if isinstance(tree.body[-1], ast.Expr) else None  # type: ignore[attr-defined]
    stream = io.StringIO()
    with contextlib.redirect_stdout(stream):
        exec(compile(tree, "cell", "exec"), names)
        value = eval(compile(last, "cell", "eval"), names) if last is not None else None
    made: list[dict[str, Any]] = []
    if stream.getvalue():
        made.append({"output_type": "stream", "name": "stdout", "text": stream.getvalue().splitlines(keepends=True)})
    if value is not None:
        data = {"text/plain": repr(value).splitlines(keepends=True)}
        shown = value._repr_html_() if hasattr(value, "_repr_html_") else None
        if shown:
            data["text/html"] = shown.splitlines(keepends=True)
        made.append({"output_type": "execute_result", "execution_count": count, "metadata": {}, "data": data})
    return made


def main() -> None:
    os.environ["COLUMNS"] = "100"
    (ROOT / "docs" / "examples.md").write_text(page(), encoding="utf-8")
    about = {"kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"}}
    for name, source in NOTEBOOKS.items():
        cells = cells_of(source)
        with tempfile.TemporaryDirectory() as folder:
            run(cells, Path(folder))
        notebook = {"cells": cells, "metadata": about, "nbformat": 4, "nbformat_minor": 4}
        text = json.dumps(notebook, indent=1, ensure_ascii=False)
        (EXAMPLES / f"{name}.ipynb").write_text(text + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
