"""Building the library: the cache of object files, the linker, processor levels, the platform of a wheel. Compiling
itself is tested by every test that runs on the library."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from palmette.kernels.build import cache, link
from palmette.kernels.build.platform_tag import needed_glibc, platform_tag
from palmette.kernels.core import native
from palmette.kernels.core.sources import FOLDER, source_hash, sources_of
from palmette.kernels.registry import KERNELS

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
    viterbi = FOLDER / "chain" / "viterbi.py"
    assert viterbi in sources_of(FOLDER / "chain" / "train.py")
    assert viterbi not in sources_of(FOLDER / "io" / "columns.py")
    hashes = {source_hash(FOLDER / f"{module.replace('.', '/')}.py") for module in KERNELS.values()}
    assert len(hashes) == len(set(KERNELS.values()))


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
            link.find_linker(b"")


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

    assert target_of("native").cpu
    with pytest.raises(ValueError, match="no processor level 'x86-64-v9'"):
        target_of("x86-64-v9")
