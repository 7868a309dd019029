"""Kernels that Numba compiles at run time (the extra `jit`), without the compiler and with every index checked, in
processes of their own."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

jit = pytest.importorskip("palmette.kernels.core.jit", exc_type=ImportError)

pytestmark = pytest.mark.jit
TESTS = Path(__file__).parent
CORE = ["test_viterbi.py", "test_training.py", "test_encode.py", "test_kbest.py", "test_projective.py"]
MARGINS = ["test_nbest.py", "test_probperc.py", "test_margin_learners.py"]
STRUCTURES = ["test_classify_kernels.py", "test_beam.py", "test_beam_learners.py", "test_parser_kernels.py"]
# Without the compiler
SLOW = [
    "below_the_bound", "thousand", "longer_sentences", "rounded", "whole_trainings", "demo_corpus", "of_a_treebank",
]  # fmt: skip


def environment(**changes: str) -> dict[str, str]:
    """This process's environment without what would choose a mode."""
    kept = {k: v for k, v in os.environ.items() if not k.startswith(("NUMBA_", "PALMETTE_"))}
    return {**kept, "PALMETTE_KERNELS": "jit", **changes}


def run_tests(files: list[str], **changes: str) -> str:
    """A pytest run of its own; what it printed."""
    command = [sys.executable, "-m", "pytest", "-n", "0", "-x", "-m", "", "-p", "no:cacheprovider", *files]
    ran = subprocess.run(command, cwd=TESTS, env=environment(**changes), capture_output=True, text=True)
    assert ran.returncode == 0, ran.stdout[-3000:] + ran.stderr[-1000:]
    return ran.stdout


# --- modes of the compiler ----------------------------------------------------------------------------------


def test_the_core_without_the_compiler() -> None:
    """Plain Python on the tiny cases."""
    out = run_tests(
        ["-k", f"not {' and not '.join(SLOW)}", *CORE, *MARGINS, *STRUCTURES],
        PALMETTE_KERNELS="python",
        PALMETTE_TEST_EXAMPLES="4",
    )
    assert " passed" in out


def test_the_core_with_every_index_checked() -> None:
    """An index out of range is silent otherwise. These files have the loops that all others are made of."""
    out = run_tests(
        ["test_viterbi.py", "test_training.py", "test_encode.py", "test_forward.py", "test_item_blocks.py"],
        NUMBA_BOUNDSCHECK="1",
        NUMBA_OPT="1",  # the checks are the same, and compile in three quarters of the time
        PALMETTE_TEST_EXAMPLES="15",
    )
    assert " passed" in out


SMALL = """
import sys
from kernels.core.compile import kernel
from kernels.core.types import I64
import numpy as np

@kernel
def element(values: I64, i: int) -> int:
    return values[i]

print(int(element(np.arange(9)[:2], 5)))
"""


def test_an_index_out_of_range_is_seen_when_checked(tmp_path: Path) -> None:
    """The index 5 lies outside of the slice but inside of its array: harmless otherwise. The kernel is in a package of
    its own under our decorator."""
    core = tmp_path / "kernels" / "core"
    core.mkdir(parents=True)
    for path in Path(jit.__file__).parent.glob("*.py"):
        (core / path.name).write_text(path.read_text(encoding="utf-8").replace("palmette.kernels", "kernels"))
    (tmp_path / "kernels" / "__init__.py").touch()
    (tmp_path / "kernels" / "small.py").write_text(SMALL)
    command = [sys.executable, "-m", "kernels.small"]
    plain, checked = (
        subprocess.run(command, cwd=tmp_path, env=environment(**changes), capture_output=True, text=True)
        for changes in ({}, {"NUMBA_BOUNDSCHECK": "1"})
    )
    assert (plain.returncode, plain.stdout) == (0, "5\n"), plain.stderr[-2000:]
    assert checked.returncode != 0
    assert "IndexError" in checked.stderr


# --- commands -----------------------------------------------------------------------------------------------


def test_a_run_counts_what_it_compiles(tmp_path: Path) -> None:
    """Ragged data ends the run before most of the kernels, which take long to compile."""
    (tmp_path / "x.txt").write_text("a X\nb Y\nc\n", encoding="utf-8")
    command = [sys.executable, "-m", "palmette", "train", "x.txt", "-o", "x.palm", "--features", "pos"]
    ran = subprocess.run(command, cwd=tmp_path, env=environment(), capture_output=True, text=True)
    assert "x.txt:3: 1 column where 2 are expected" in ran.stderr
    reports = [line for line in ran.stderr.splitlines() if "compiling kernel" in line]
    assert "compiling kernel 1: " in reports[0]
    assert "compiling kernel 2: " in reports[1]
