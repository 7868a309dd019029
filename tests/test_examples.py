"""The programs and notebooks of `examples/`, run as they stand; docs/examples.md shows what the programs print."""

from __future__ import annotations

import doctest
import importlib
import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
EXAMPLES = ROOT / "examples"
GROBID = ROOT.parent / "shared" / "data" / "downstream"
PAGE = (ROOT / "docs" / "examples.md").read_text(encoding="utf-8")
SECTION = re.compile(r"^## (\w+)\.py\n.*?```py\n(.*?)```\n.*?```text\n(.*?)```", re.DOTALL | re.MULTILINE)
PROGRAMS = {name: (code, printed) for name, code, printed in SECTION.findall(PAGE)}


def test_every_program_is_on_the_page_as_it_stands() -> None:
    assert sorted(PROGRAMS) == sorted(path.stem for path in EXAMPLES.glob("*.py"))
    for name, (code, _) in PROGRAMS.items():
        assert code == (EXAMPLES / f"{name}.py").read_text(encoding="utf-8"), name


@pytest.mark.parametrize("name", sorted(PROGRAMS))
def test_a_program_prints_what_the_page_shows(name: str, tmp_path: Path) -> None:
    arguments = []
    if name == "grobid_dates":
        arguments = [str(GROBID / f"grobid-date.{ending}") for ending in ("txt", "template")]
        if not all(Path(path).exists() for path in arguments):
            pytest.skip(f"no corpus {arguments[0]}")
    ran = subprocess.run(
        [sys.executable, str(EXAMPLES / f"{name}.py"), *arguments],
        cwd=tmp_path, capture_output=True, text=True, timeout=120,
    )  # fmt: skip
    assert ran.returncode == 0, ran.stderr
    options = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
    assert doctest.OutputChecker().check_output(PROGRAMS[name][1], ran.stdout, options), ran.stdout


def test_notebooks_have_the_cells_of_their_pages(monkeypatch: pytest.MonkeyPatch) -> None:
    """`test_docs.py` runs the pages."""
    monkeypatch.syspath_prepend(str(ROOT / "docs"))
    made = importlib.import_module("make_examples")
    assert sorted(made.NOTEBOOKS) == sorted(path.stem for path in EXAMPLES.glob("*.ipynb"))
    for name, page in made.NOTEBOOKS.items():
        cells = json.loads((EXAMPLES / f"{name}.ipynb").read_text(encoding="utf-8"))["cells"]
        kept = [{**cell, "outputs": [], "execution_count": None} if "outputs" in cell else cell for cell in cells]
        assert kept == made.cells_of(page), f"run `python docs/make_examples.py`: {page} has changed"
        assert any(cell.get("outputs") for cell in cells)
