"""Kernels that Numba compiles at run time (the extra `jit`): without the compiler, with every index checked, and with a
cache folder that is cold, damaged, shared or missing. Each runs in processes of its own."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

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
    """This process's environment without what would choose a mode or a cache folder."""
    kept = {k: v for k, v in os.environ.items() if not k.startswith(("NUMBA_", "PALMETTE_", "XDG_CACHE"))}
    return {**kept, "PALMETTE_KERNELS": "jit", **changes}


def run_tests(files: list[str], **changes: str) -> str:
    """A pytest run of its own; what it printed."""
    command = [sys.executable, "-m", "pytest", "-n", "0", "-x", "-m", "", "-p", "no:cacheprovider", *files]
    ran = subprocess.run(command, cwd=TESTS, env=environment(**changes), capture_output=True, text=True)
    assert ran.returncode == 0, ran.stdout[-3000:] + ran.stderr[-1000:]
    return ran.stdout


# --- modes of the compiler ----------------------------------------------------------------------------------


def test_the_core_without_the_compiler(tmp_path: Path) -> None:
    """Plain Python on the tiny cases."""
    out = run_tests(
        ["-k", f"not {' and not '.join(SLOW)}", *CORE, *MARGINS, *STRUCTURES],
        PALMETTE_KERNELS="python",
        PALMETTE_TEST_EXAMPLES="4",
        PALMETTE_CACHE_DIR=str(tmp_path / "cache"),
    )
    assert " passed" in out
    assert not (tmp_path / "cache").exists()  # nothing was compiled


def test_the_core_with_every_index_checked(tmp_path: Path) -> None:
    """An index out of range is silent otherwise. A warm cache would hide it: this one is new, so that every kernel is
    compiled again. These files have the loops that all others are made of."""
    out = run_tests(
        ["test_viterbi.py", "test_training.py", "test_encode.py", "test_forward.py", "test_item_blocks.py"],
        NUMBA_BOUNDSCHECK="1",
        NUMBA_OPT="1",  # the checks are the same, and compile in three quarters of the time
        PALMETTE_TEST_EXAMPLES="15",
        PALMETTE_CACHE_DIR=str(tmp_path),
    )
    assert " passed" in out
    assert any(path.name.startswith("train.") for path in tmp_path.glob("*.kernel"))


# --- a small package of kernels with its own cache ----------------------------------------------------------

OTHER = """
from kernels.core.compile import part

@part
def weight(i):
    return 2 * i + 1
"""
SMALL = """
from kernels.core.compile import kernel
from kernels.core.types import I64
from kernels.other import weight

@kernel
def summed(values: I64) -> int:
    total = 0
    for i in range(values.size):
        total += weight(i) * values[i]
    return total

@kernel
def element(values: I64, i: int) -> int:
    return values[i]
"""
MAIN = """
import json, logging, os, sys, time
import numpy as np
from kernels.core.jit import cache_folder
from kernels.small import element, summed

compiled = []
logging.getLogger("kernels.core.jit").addFilter(lambda record: compiled.append(record.args[1]))
while len(sys.argv) > 2 and not os.path.exists(sys.argv[2]):
    time.sleep(0.001)
answers = {"summed": lambda: summed(np.arange(4)), "outside": lambda: element(np.arange(9)[:2], 5)}
answer = int(answers[sys.argv[1]]())
print(json.dumps({"answer": answer, "compiled": compiled, "folder": str(cache_folder())}))
"""


@pytest.fixture
def package(tmp_path: Path) -> Path:
    """A folder with `main.py` and a package of two kernels under our decorator."""
    kernels = tmp_path / "package" / "kernels"
    (kernels / "core").mkdir(parents=True)
    for path in Path(jit.__file__).parent.glob("*.py"):
        text = path.read_text(encoding="utf-8").replace("palmette.kernels", "kernels")
        (kernels / "core" / path.name).write_text(text, encoding="utf-8")
    (kernels / "__init__.py").touch()
    (kernels / "other.py").write_text(OTHER)
    (kernels / "small.py").write_text(SMALL)
    (kernels.parent / "main.py").write_text(MAIN)
    return kernels.parent


def begun(package: Path, *arguments: str, **changes: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "main.py", *arguments], cwd=package, env=environment(**changes),
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip


def told(process: subprocess.Popen[str]) -> dict[str, Any]:
    out, errors = process.communicate(timeout=120)
    assert process.returncode == 0, errors[-2000:]
    return json.loads(out)


def summed(package: Path, **changes: str) -> dict[str, Any]:
    return told(begun(package, "summed", **changes))


def test_compiled_once_and_again_when_a_called_function_changes(package: Path, tmp_path: Path) -> None:
    cache = {"PALMETTE_CACHE_DIR": str(tmp_path / "cache")}
    assert summed(package, **cache) == {"answer": 34, "compiled": ["small.summed"], "folder": str(tmp_path / "cache")}
    assert summed(package, **cache)["compiled"] == []
    other = package / "kernels" / "other.py"
    other.write_text(OTHER.replace("2 * i + 1", "3 * i"))
    changed = summed(package, **cache)
    assert (changed["answer"], changed["compiled"]) == (42, ["small.summed"])
    (package / "kernels" / "apart.py").write_text("# what a kernel does not use does not make it stale")
    assert summed(package, **cache)["compiled"] == []


def test_code_with_checks_has_its_own_place_in_the_cache(package: Path, tmp_path: Path) -> None:
    """The index 5 lies outside of the slice but inside of its array: harmless, and seen only when checked."""
    cache = {"PALMETTE_CACHE_DIR": str(tmp_path / "cache")}
    assert told(begun(package, "outside", **cache))["answer"] == 5
    process = begun(package, "outside", NUMBA_BOUNDSCHECK="1", **cache)
    _, errors = process.communicate(timeout=120)
    assert process.returncode != 0
    assert "IndexError" in errors


def flipped(good: bytes) -> bytes:
    """One byte of the compiled object is another one (on Linux one that would kill the process)."""
    at = good.find(b"\x7fELF") + 18 if b"\x7fELF" in good else len(good) // 2
    return good[:at] + bytes([good[at] ^ 0xFF]) + good[at + 1 :]


def test_a_damaged_entry_is_compiled_again_and_mended(package: Path, tmp_path: Path) -> None:
    cache = {"PALMETTE_CACHE_DIR": str(tmp_path / "cache")}
    summed(package, **cache)
    (entry,) = (tmp_path / "cache").iterdir()
    good = entry.read_bytes()
    for damaged in (b"", good[: len(good) // 2], flipped(good)):
        entry.write_bytes(damaged)
        again = summed(package, **cache)
        assert (again["answer"], again["compiled"]) == (34, ["small.summed"])
        assert entry.read_bytes() != damaged
    assert summed(package, **cache)["compiled"] == []


def test_a_folder_that_cannot_be_written_gives_way_to_the_next(package: Path, tmp_path: Path) -> None:
    in_the_way = tmp_path / "file"
    in_the_way.touch()
    home = tmp_path / "home"
    places = {"PALMETTE_CACHE_DIR": str(in_the_way / "cache"), "XDG_CACHE_HOME": str(home)}
    assert summed(package, **places)["folder"] == str(home / "palmette")
    assert len(list((home / "palmette").glob("*.kernel"))) == 1


def test_with_no_folder_at_all_every_run_compiles(package: Path, tmp_path: Path) -> None:
    in_the_way = tmp_path / "file"
    in_the_way.touch()
    temporary = tmp_path / "tmp"
    temporary.mkdir()
    user = os.getuid() if hasattr(os, "getuid") else os.environ.get("USERNAME", "user")
    (temporary / f"palmette-{user}").touch()
    nowhere = {"XDG_CACHE_HOME": str(in_the_way), "LOCALAPPDATA": str(in_the_way), "TMPDIR": str(temporary)}
    found = summed(package, TEMP=str(temporary), TMP=str(temporary), **nowhere)
    assert (found["answer"], found["folder"]) == (34, "None")


def test_cold_processes_at_once_share_one_folder(package: Path, tmp_path: Path) -> None:
    """They start on a signal and find nothing; one compiles and the others wait for it. One whole entry is left."""
    go, cache = tmp_path / "go", tmp_path / "cache"
    processes = [begun(package, "summed", str(go), PALMETTE_CACHE_DIR=str(cache)) for _ in range(3)]
    go.touch()
    found = [told(process) for process in processes]
    assert [one["answer"] for one in found] == [34, 34, 34]
    if sys.platform != "win32":
        assert [name for one in found for name in one["compiled"]] == ["small.summed"]
    assert [path.suffix for path in cache.iterdir()] == [".kernel"]
    assert summed(package, PALMETTE_CACHE_DIR=str(cache))["compiled"] == []


@pytest.mark.skipif(sys.platform == "win32", reason="no such locks there")
def test_nobody_waits_for_ever(package: Path, tmp_path: Path) -> None:
    """A process that holds a lock and makes nothing is left alone after a while."""
    import fcntl

    source = package / "kernels" / "core" / "jit.py"
    source.write_text(source.read_text().replace("LONGEST_WAIT = 300.0", "LONGEST_WAIT = 0.3"))
    cache = tmp_path / "cache"
    summed(package, PALMETTE_CACHE_DIR=str(cache))
    (entry,) = cache.iterdir()
    entry.unlink()
    with entry.with_suffix(".lock").open("wb") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        assert summed(package, PALMETTE_CACHE_DIR=str(cache))["compiled"] == ["small.summed"]
    assert entry.exists()


posix = pytest.mark.skipif(not hasattr(os, "getuid"), reason="no owners here")


@posix
def test_a_folder_of_somebody_else_is_not_used(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert jit.why_unusable(tmp_path) is None
    monkeypatch.setattr(os, "getuid", lambda: tmp_path.stat().st_uid + 1)
    assert "another user" in str(jit.why_unusable(tmp_path))


@posix
@pytest.mark.parametrize("mode", [0o777, 0o770, 0o720, 0o702])
def test_a_folder_that_others_can_write_to_is_not_used(package: Path, tmp_path: Path, mode: int) -> None:
    open_to_all = tmp_path / "open"
    open_to_all.mkdir()
    open_to_all.chmod(mode)
    found = summed(package, PALMETTE_CACHE_DIR=str(open_to_all), XDG_CACHE_HOME=str(tmp_path / "home"))
    assert found["folder"] == str(tmp_path / "home" / "palmette")
    assert list(open_to_all.iterdir()) == []


@posix
def test_an_entry_that_others_can_write_to_is_compiled_again(package: Path, tmp_path: Path) -> None:
    cache = {"PALMETTE_CACHE_DIR": str(tmp_path / "cache")}
    summed(package, **cache)
    (entry,) = (tmp_path / "cache").glob("*.kernel")
    assert entry.stat().st_mode & 0o777 == 0o600
    entry.chmod(0o620)
    assert summed(package, **cache)["compiled"] == ["small.summed"]
    assert entry.stat().st_mode & 0o777 == 0o600
    assert summed(package, **cache)["compiled"] == []


def test_the_current_folder_never_holds_code(package: Path, tmp_path: Path) -> None:
    """Without a home, `~` is a folder here; a temporary folder may be here too."""
    home = {"HOME": "~", "XDG_CACHE_HOME": "", "TMPDIR": ".", "TEMP": ".", "TMP": "."}
    before = sorted(package.iterdir())
    for places in (home, home | {"XDG_CACHE_HOME": "cache", "PALMETTE_CACHE_DIR": "here"}):
        assert summed(package, **places)["folder"] == "None"
    assert [path for path in sorted(package.iterdir()) if path.name != "__pycache__"] == before


def test_the_folder_that_the_user_names_comes_first(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """The variable of other tools is not followed."""
    monkeypatch.setenv("PALMETTE_CACHE_DIR", str(tmp_path / "ours"))
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path / "numba"))
    choices = jit.cache_folder_choices()
    assert choices[0] == tmp_path / "ours"
    assert tmp_path / "numba" not in choices


# --- commands -----------------------------------------------------------------------------------------------


def test_a_cold_run_counts_what_it_compiles(tmp_path: Path) -> None:
    """And is silent when the cache has it. Ragged data ends the run before most of the kernels, which take long to
    compile."""
    (tmp_path / "x.txt").write_text("a X\nb Y\nc\n", encoding="utf-8")
    command = [sys.executable, "-m", "palmette", "train", "x.txt", "-o", "x.palm", "--features", "pos"]
    reports = []
    for _ in range(2):
        env = environment(PALMETTE_CACHE_DIR=str(tmp_path / "cache"))
        ran = subprocess.run(command, cwd=tmp_path, env=env, capture_output=True, text=True)
        assert "x.txt:3: 1 column where 2 are expected" in ran.stderr
        reports.append([line for line in ran.stderr.splitlines() if "compiling kernel" in line])
    assert "compiling kernel 1: " in reports[0][0]
    assert "compiling kernel 2: " in reports[0][1]
    assert reports[1] == []


def test_what_was_compiled_is_thrown_away(tmp_path: Path) -> None:
    """And nothing else in the folder."""
    for name in ("train.train-0.kernel", "old.gone-1.kernel", "mine.txt"):
        (tmp_path / name).write_bytes(b"12345")
    assert jit.throw_away(tmp_path) == (2, 10)
    assert [path.name for path in tmp_path.iterdir()] == ["mine.txt"]
