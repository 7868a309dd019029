"""What a command imports before it answers, and what a first run on a new machine says."""

from __future__ import annotations

import json
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

import palmette
from palmette.cli import COMMANDS
from palmette.kernels.core import native
from palmette.kernels.core.compile import LIBRARY, MODE

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
        assert not modules & {"numba", "llvmlite", "scipy", "numpy.ma"}


def test_scoring_and_comparing_parsed_files_does_not_wait_for_numba(tmp_path: Path) -> None:
    text = "1\ta\t_\tX\t_\t_\t0\troot\t_\t_\n\n"
    for name in ("gold", "a", "b"):
        (tmp_path / f"{name}.conllu").write_text(text, encoding="utf-8")
    for command in (
        "parser eval gold.conllu a.conllu --draw 1 --picture x.svg",
        "parser compare a.conllu b.conllu gold.conllu",
    ):
        modules = loaded(tmp_path, *command.split())
        assert "palmette.evaluation.attachment" in modules
        assert not modules & {"numba", "llvmlite", "scipy"}


def test_printing_templates_does_not_wait_for_numba(tmp_path: Path) -> None:
    assert not loaded(tmp_path, "features", "pos") & {"numba", "llvmlite", "scipy"}


def test_no_command_needs_numba(tmp_path: Path) -> None:
    """Training, tagging and listing run on machine code that came with the package."""
    (tmp_path / "x.txt").write_text("a X\n", encoding="utf-8")
    assert not loaded(tmp_path, "train", "x.txt", "-o", "x.palm", "--features", "pos") & {"numba", "llvmlite", "scipy"}
    assert not loaded(tmp_path, "tag", "x.palm", "x.txt") & {"numba", "llvmlite"}


# What tagging a file by exact search must not wait for
NOT_FOR_TAGGING = (
    "concurrent.futures", "difflib", "pathlib", "rich", "scipy", "tempfile", "unicodedata",
    "palmette.classification", "palmette.connect", "palmette.crfsuite", "palmette.lab", "palmette.parsing",
    "palmette.pipeline", "palmette.serve", "palmette.tuning",
    "palmette.cli.help", "palmette.data.items", "palmette.data.subset", "palmette.data.formats.nbest",
    "palmette.data.formats.raw", "palmette.datasets", "palmette.evaluation", "palmette.features.named",
    "palmette.features.wordforms", "palmette.kernels.chain.beam", "palmette.kernels.chain.exact",
    "palmette.kernels.chain.forward_backward", "palmette.kernels.chain.label_context",
    "palmette.kernels.chain.nbest", "palmette.kernels.chain.posteriors", "palmette.kernels.core.jit",
    "palmette.kernels.core.sources", "palmette.reports", "palmette.structures.chain.beam",
    "palmette.structures.chain.calibrate", "palmette.structures.chain.label_context",
    "palmette.structures.chain.nbest", "palmette.structures.chain.posteriors", "palmette.structures.chain.compact",
    "palmette.training",
)  # fmt: skip


@pytest.mark.skipif(MODE != LIBRARY, reason="Numba imports much by itself")
def test_tagging_imports_what_tagging_needs(tmp_path: Path) -> None:
    (tmp_path / "x.txt").write_text("a X\n", encoding="utf-8")
    (tmp_path / "template").write_text("U:%x[0,0]\nB\n", encoding="utf-8")
    loaded(tmp_path, "train", "x.txt", "-o", "x.palm", "--template", "template")
    modules = loaded(tmp_path, "tag", "x.palm", "x.txt")
    checked = {"palmette.kernels.core.sources", "pathlib"} if native.about().get("editable") else set()
    assert sorted(modules & (set(NOT_FOR_TAGGING) - checked)) == []


def test_help_does_without_inspect(tmp_path: Path) -> None:
    assert not loaded(tmp_path, "--help") & {"inspect", "dataclasses"}


DOORS = """
import json, sys
from importlib import import_module
doors = [import_module(f"palmette.{folder}") for folder in sys.argv[1:]]
loaded = sorted(name for name in sys.modules if name.startswith("palmette."))
named = sum(getattr(door, name) is not None for door in doors for name in dir(door))
print(json.dumps([loaded, named]))
"""


def test_the_door_of_a_folder_has_what_it_lists_and_loads_it_late() -> None:
    sources = Path(palmette.__file__).parent
    folders = sorted(path.parent.name for path in sources.glob("*/__init__.py") if "= door(" in path.read_text("utf-8"))
    assert {"data", "features", "options", "training"} <= set(folders)
    if find_spec("starlette") is None:  # which the extra `serve` installs
        folders.remove("serve")
    ran = subprocess.run([sys.executable, "-c", DOORS, *folders], capture_output=True, text=True, check=True)
    loaded, named = json.loads(ran.stdout)
    assert loaded == sorted(["palmette.lazy", *(f"palmette.{folder}" for folder in folders)])
    assert named > 5 * len(folders)
