"""What a command imports before it answers, and what a first run on a new machine says."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

from cli_run import COMMAND

from palmette.cli import COMMANDS

HEAVY = ("numba", "llvmlite", "numpy", "scipy", "rich", "msgspec")
RUN = """
import atexit, json, sys
def tell():
    print(json.dumps([name for name, module in sys.modules.items() if module]), file=sys.stderr)
atexit.register(tell)
from palmette.cli import main
main()
"""


def loaded(folder: Path, *arguments: str) -> set[str]:
    """The modules that a command has loaded when it ends."""
    ran = subprocess.run(
        [sys.executable, "-c", RUN, *arguments], cwd=folder, capture_output=True, text=True, check=True
    )
    assert ran.stdout
    return set(json.loads(ran.stderr.splitlines()[-1]))


def test_help_imports_next_to_nothing(tmp_path: Path) -> None:
    for arguments in (["--help"], ["--version"], []):
        assert not loaded(tmp_path, *arguments) & set(HEAVY)


def test_the_help_of_a_command_does_not_wait_for_numba(tmp_path: Path) -> None:
    for name in COMMANDS:
        assert not loaded(tmp_path, *name.split(), "--help") & {"numba", "numpy", "scipy", "rich"}


def test_scoring_a_tagged_file_does_not_wait_for_numba(tmp_path: Path) -> None:
    (tmp_path / "tagged.txt").write_text("a B-X B-X\nb I-X O\n\n", encoding="utf-8")
    for style in ("table", "conlleval", "json"):
        modules = loaded(tmp_path, "eval", "--guess", "tagged.txt", "--style", style)
        assert "palmette.evaluation.scores" in modules or "palmette.evaluation.spans" in modules
        assert not modules & {"numba", "llvmlite", "scipy"}


def test_scoring_and_comparing_parsed_files_does_not_wait_for_numba(tmp_path: Path) -> None:
    text = "1\ta\t_\tX\t_\t_\t0\troot\t_\t_\n\n"
    for name in ("gold", "a", "b"):
        (tmp_path / f"{name}.conllu").write_text(text, encoding="utf-8")
    for command in (
        "parser eval gold.conllu a.conllu --draw 1 --svg x.svg",
        "parser compare a.conllu b.conllu gold.conllu",
    ):
        modules = loaded(tmp_path, *command.split())
        assert "palmette.evaluation.attachment" in modules
        assert not modules & {"numba", "llvmlite", "scipy"}


def test_printing_templates_does_not_wait_for_numba(tmp_path: Path) -> None:
    assert not loaded(tmp_path, "features", "pos") & {"numba", "llvmlite", "scipy"}


def test_a_command_leaves_scipy_alone(tmp_path: Path) -> None:
    """It is hidden from Numba, which would import it, and still there for a program that calls us."""
    (tmp_path / "x.txt").write_text("a X\n", encoding="utf-8")
    assert "scipy" not in loaded(tmp_path, "train", "x.txt", "-o", "x.palm", "--features", "pos")
    code = "from palmette.cli import main; main(['doctor']); main(['tag', 'x.palm', 'x.txt']); import scipy.sparse"
    subprocess.run([sys.executable, "-c", code], cwd=tmp_path, check=True, capture_output=True)


def test_a_cold_run_says_once_that_it_compiles(tmp_path: Path) -> None:
    """Several kernels, one message, and none when the cache has them. Ragged data ends the run before most of the
    kernels, which take long to compile."""
    (tmp_path / "x.txt").write_text("a X\nb Y\nc\n", encoding="utf-8")
    environment = os.environ | {"PALMETTE_CACHE_DIR": str(tmp_path / "cache")}
    command = [*COMMAND, "train", "x.txt", "-o", "x.palm", "--features", "pos"]
    said = []
    for _ in range(2):
        ran = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True)
        assert "x.txt:3: 1 columns where 2 are expected" in ran.stderr
        said.append(ran.stderr.count("compiling for this machine, once"))
    assert said == [1, 0]
    assert len(list((tmp_path / "cache").glob("*.kernel"))) > 1
