"""Building the library: the cache of object files, the linker, processor levels, the platform of a wheel. Compiling
itself is tested by every test that runs on the library."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tomllib
from importlib.util import find_spec
from pathlib import Path

import pytest

from palmette.kernels.build import cache, library, link
from palmette.kernels.build.platform_tag import needed_glibc, platform_tag
from palmette.kernels.build.platforms import PLATFORMS, Platform
from palmette.kernels.core import native, sources
from palmette.kernels.registry import KERNELS, module_of

# --- object files -------------------------------------------------------------------------------------------


def test_an_object_is_found_again_unless_it_is_damaged(tmp_path: Path) -> None:
    cache.write(tmp_path, "decode-1", b"code")
    assert cache.read(tmp_path, "decode-1") == b"code"
    assert cache.read(tmp_path, "decode-2") is None
    (kept,) = tmp_path.iterdir()
    kept.write_bytes(b"cede")
    assert cache.read(tmp_path, "decode-1") is None


def test_a_cache_that_cannot_be_written_is_no_error(tmp_path: Path) -> None:
    cache.write(tmp_path / "gone", "decode-1", b"code")
    cache.write(None, "decode-1", b"code")
    assert cache.read(None, "decode-1") is None


@pytest.mark.skipif(not hasattr(os, "getuid"), reason="no owners here")
def test_others_cannot_slip_in_code(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Neither a folder nor a file that others can write to is used, and no mode is changed."""
    shared = tmp_path / "shared"
    shared.mkdir()
    shared.chmod(0o777)
    monkeypatch.setenv("PALMETTE_BUILD_CACHE", str(shared))
    assert cache.cache_folder() is None
    assert shared.stat().st_mode & 0o777 == 0o777
    own = tmp_path / "own"
    monkeypatch.setenv("PALMETTE_BUILD_CACHE", str(own))
    assert cache.cache_folder() == own
    assert own.stat().st_mode & 0o777 == 0o700
    cache.write(own, "decode-1", b"code")
    next(own.iterdir()).chmod(0o666)
    assert cache.read(own, "decode-1") is None
    monkeypatch.setattr(os, "getuid", lambda: own.stat().st_uid + 1)
    assert cache.cache_folder() is None


def test_without_a_home_nothing_is_kept(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for name in ("PALMETTE_BUILD_CACHE", "XDG_CACHE_HOME", "HOME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.chdir(tmp_path)
    assert cache.cache_folder() is None
    assert not list(tmp_path.iterdir())


def test_a_kernel_is_made_of_what_it_imports() -> None:
    viterbi = sources.FOLDER / "chain" / "viterbi.py"
    assert viterbi in sources.sources_of(sources.FOLDER / "chain" / "train_paths.py")
    assert viterbi not in sources.sources_of(sources.FOLDER / "io" / "columns.py")
    files = {sources.PACKAGE / f"{module_of(name).replace('.', '/')}.py" for name in KERNELS}
    assert len({sources.source_hash(file) for file in files}) == len(files)


def test_a_kernel_of_a_room_is_made_of_that_room_and_of_the_core() -> None:
    train = sources.PACKAGE / "parsing" / "kernels" / "train.py"
    assert {train, train.with_name("search.py"), sources.FOLDER / "learning" / "rule.py"} < sources.sources_of(train)
    assert sources.sources_of(train) < set(sources.kernel_files())


# --- linking ------------------------------------------------------------------------------------------------


def test_no_linker_is_reported_with_what_was_tried(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    failing = tmp_path / "failing"
    failing.write_text("#!/bin/sh\necho this linker is out of order >&2\nexit 1\n", encoding="ascii")
    failing.chmod(0o700)
    for command, message in (
        (failing, "out of order"),
        (tmp_path / "gone", "No such file"),
        ("true", "nothing was linked"),
    ):
        monkeypatch.setenv("PALMETTE_BUILD_LINKER", str(command))
        with pytest.raises(link.LinkError, match=message):
            link.find_linker(b"", Platform("x86_64-unknown-linux-gnu", "x86_64", ""))


# --- wheels -------------------------------------------------------------------------------------------------


def test_the_platform_follows_the_symbols(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.platform", "linux")
    monkeypatch.setattr("sysconfig.get_platform", lambda: "linux-x86_64")
    library = tmp_path / "a.so"
    for text, tag in (
        (b"\0GLIBC_2.2.5\0GLIBC_2.29\0", "manylinux_2_29_x86_64"),
        (b"\0GLIBC_2.2.5\0", "manylinux_2_17_x86_64"),
        (b"\0libc.musl\0", "musllinux_1_1_x86_64"),
    ):
        library.write_bytes(text)
        assert platform_tag([library]) == tag
    with pytest.raises(ValueError, match="no library"):
        platform_tag([])


@pytest.mark.skipif(native.about() == {}, reason="there is no library")
def test_the_library_runs_on_older_systems() -> None:
    for file in native.about()["levels"].values():
        assert (needed_glibc(Path(native.FOLDER) / file["file"]) or (2, 0)) <= (2, 34)


@pytest.mark.jit
def test_levels_that_nobody_can_check_are_refused() -> None:
    from palmette.kernels.build.library import target_of
    from palmette.kernels.build.platforms import platform_named

    here = platform_named("")
    assert target_of(here.default_levels(editable=True)[0], here).cpu
    for level, name in (
        ("x86-64-v9", ""),
        ("native", "linux-x86_64"),
        ("x86-64", "linux-aarch64"),
        ("native", "linux-aarch64"),
    ):
        with pytest.raises(ValueError, match=f"no processor level '{level}'"):
            target_of(level, platform_named(name))
    with pytest.raises(ValueError, match="no platform 'amiga' to build for: linux-x86_64, "):
        platform_named("amiga")


def test_a_wheel_is_for_all_processors_and_an_editable_install_for_this_one() -> None:
    for name, platform in PLATFORMS.items():
        levels = ("x86-64-v3", "x86-64") if name.endswith("x86_64") else ("generic",)
        assert platform.default_levels() == levels
        assert platform.default_levels(editable=True) == (("native",) if name.endswith("x86_64") else ("generic",))


def test_processes_that_lower_stay_in_their_folders(monkeypatch: pytest.MonkeyPatch) -> None:
    """The longest first; a folder of nobody before one of another process."""
    monkeypatch.setattr(library, "KERNELS", {"a": "x.1", "b": "x.2", "c": "y.1", "d": "x.3", "e": "z.1"})
    waiting, taken = list("abcde"), {0: set(), 1: set()}
    assert [library._next(waiting, taken, process) for process in (0, 1, 0, 1, 1)] == ["a", "c", "b", "e", "d"]
    assert waiting == []


def test_releases_are_built_with_versions_in_the_range() -> None:
    from packaging.requirements import Requirement
    from packaging.version import Version

    root = Path(__file__).parents[1]
    ranges = [
        Requirement(text) for text in tomllib.loads((root / "pyproject.toml").read_text())["build-system"]["requires"]
    ]
    pins = dict(re.findall(r"^(\w+)==(\S+)$", (root / "build-constraints.txt").read_text(), re.MULTILINE))
    for required in ranges:
        assert Version(pins[required.name]) in required.specifier, required.name
        assert len(required.specifier) > 0
    assert "0.62.0" in next(r for r in ranges if r.name == "numba").specifier


# --- processes ----------------------------------------------------------------------------------------------


def test_the_number_of_processes_is_a_variable(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("PALMETTE_BUILD_JOBS", raising=False)
    assert library.n_jobs() >= 1
    monkeypatch.setenv("PALMETTE_BUILD_JOBS", "3")
    assert library.n_jobs() == 3
    for wrong in ("0", "-1", "two", "1.5"):
        monkeypatch.setenv("PALMETTE_BUILD_JOBS", wrong)
        with pytest.raises(library.BuildError, match=f"PALMETTE_BUILD_JOBS is '{wrong}'"):
            library.n_jobs()


def die(name: str) -> tuple[bytes, float]:
    """In place of a process that the system kills."""
    os.kill(os.getpid(), 9)
    return b"", 0.0


@pytest.mark.skipif(sys.platform == "win32", reason="no signals here")
@pytest.mark.parametrize("jobs", ["1", "2"])
def test_a_killed_process_is_reported_with_what_to_do(
    jobs: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("PALMETTE_BUILD_CACHE", str(tmp_path))
    monkeypatch.setenv("PALMETTE_BUILD_JOBS", jobs)
    monkeypatch.setattr(library, "_lower", die)
    monkeypatch.setattr(library, "version", lambda package: "0")  # Numba may be missing
    with pytest.raises(library.BuildError, match=rf"was killed.*memory.*PALMETTE_BUILD_JOBS \(now {jobs}"):
        library.objects_of([library.Target("x86-64", "x86_64-unknown-linux-gnu", "x86-64", "")], print)


# --- the same bytes -----------------------------------------------------------------------------------------

FEW = """
import sys
from palmette.kernels.build import library

if __name__ == "__main__":
    names = sys.argv[1:]
    library.KERNELS = {name: library.KERNELS[name] for name in names}
    here = library.platform_named("")
    targets = [library.target_of(level, here) for level in here.default_levels()]
    made = library.objects_of(targets, lambda line: None)
    for (name, target), data in sorted(made.items()):
        print(name, target.level, library.hashlib.sha256(data).hexdigest())
"""


def few_objects(folder: Path, seed: str, jobs: str, *names: str) -> str:
    """Hashes of the objects of a few kernels, made from a copy of the sources in a fresh process, with a Numba that is
    in that folder too."""
    package, files = sources.PACKAGE, sources.kernel_files()
    around = [kernels.with_name("__init__.py") for kernels in package.glob("*/kernels")]
    for file in (*files, *around, *(package / name for name in ("__init__.py", "errors.py", "lazy.py"))):
        copy = folder / file.relative_to(package.parent)
        copy.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(file, copy)
    (folder / "few.py").write_text(FEW, encoding="utf-8")
    (folder / "numba").symlink_to(Path(find_spec("numba").submodule_search_locations[0]), target_is_directory=True)
    own = {
        "PYTHONHASHSEED": seed, "PALMETTE_BUILD_JOBS": jobs, "PALMETTE_BUILD_CACHE": str(folder / "objects"),
        "PYTHONPATH": str(folder), "PALMETTE_KERNELS": "python",
    }  # fmt: skip
    command = [sys.executable, str(folder / "few.py"), *names]
    ran = subprocess.run(command, capture_output=True, text=True, env=os.environ | own, timeout=900)
    assert ran.returncode == 0, ran.stderr
    return ran.stdout


@pytest.mark.jit
def test_builds_of_the_same_sources_are_the_same_bytes(tmp_path: Path) -> None:
    """In another folder, with another hash seed, in another order and with another number of processes. The first two
    kernels call functions of Numba's that can raise, for which it would store where they are defined."""
    names = ["decode_nbest_double", "posteriors_double", "split_lines", "score_words"]
    one = few_objects(tmp_path / "one", "1", "1", *names)
    two = few_objects(tmp_path / "elsewhere" / "two", "77", "2", *reversed(names))
    assert len(one.splitlines()) in (4, 8)  # two levels on x86-64
    assert one == two
