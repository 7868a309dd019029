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
import json, sys
from palmette.cli import main
for line in sys.argv[1:]:
    sys.argv = ["palmette", *line.split()]
    print("ran", line, flush=True)
    try:
        main()
    except SystemExit as end:
        assert not end.code, line
print(json.dumps([name for name, module in sys.modules.items() if module]), file=sys.stderr)
"""


def loaded(folder: Path, *lines: str) -> set[str]:
    """The modules that are loaded after commands, which run one after the other in one process."""
    ran = subprocess.run([sys.executable, "-c", RUN, *lines], cwd=folder, capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stderr
    assert all(f"ran {line}\n" in ran.stdout for line in lines)
    return set(json.loads(ran.stderr.splitlines()[-1]))


def test_help_imports_next_to_nothing(tmp_path: Path) -> None:
    assert not loaded(tmp_path, "--help", "--version", "") & {*HEAVY, "inspect", "dataclasses"}


def test_the_help_of_a_command_does_not_wait_for_numba(tmp_path: Path) -> None:
    lines = [f"{name} --help" for name in COMMANDS]
    assert not loaded(tmp_path, *lines) & {"numba", "numpy", "scipy", "rich"}


def test_scoring_a_tagged_file_does_not_wait_for_numba(tmp_path: Path) -> None:
    (tmp_path / "tagged.txt").write_text("a B-X B-X\nb I-X O\n\n", encoding="utf-8")
    modules = loaded(
        tmp_path, *(f"eval --guess tagged.txt --style {style}" for style in ("table", "conlleval", "json"))
    )
    assert "palmette.evaluation.scores" in modules or "palmette.evaluation.spans" in modules
    assert not modules & {"numba", "llvmlite", "scipy", "numpy.ma"}


def test_scoring_and_comparing_parsed_files_does_not_wait_for_numba(tmp_path: Path) -> None:
    text = "1\ta\t_\tX\t_\t_\t0\troot\t_\t_\n\n"
    for name in ("gold", "a", "b"):
        (tmp_path / f"{name}.conllu").write_text(text, encoding="utf-8")
    scoring = "parser eval gold.conllu a.conllu --draw 1 --picture x.svg"
    modules = loaded(tmp_path, scoring, "parser compare a.conllu b.conllu gold.conllu")
    assert "palmette.evaluation.attachment" in modules
    assert not modules & {"numba", "llvmlite", "scipy"}


def test_printing_templates_does_not_wait_for_numba(tmp_path: Path) -> None:
    assert not loaded(tmp_path, "features pos") & {"numba", "llvmlite", "scipy"}


def test_no_command_needs_numba(tmp_path: Path) -> None:
    """Training, tagging and listing run on machine code that came with the package."""
    (tmp_path / "x.txt").write_text("a X\n", encoding="utf-8")
    modules = loaded(tmp_path, "train x.txt -o x.palm --features pos", "tag x.palm x.txt")
    assert not modules & {"numba", "llvmlite", "scipy"}


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
    loaded(tmp_path, "train x.txt -o x.palm --template template")
    modules = loaded(tmp_path, "tag x.palm x.txt")
    checked = {"palmette.kernels.core.sources", "pathlib"} if native.about().get("editable") else set()
    assert sorted(modules & (set(NOT_FOR_TAGGING) - checked)) == []


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
