"""The release tool: what it says about its files, and libraries of other systems."""

from __future__ import annotations

import hashlib
import io
import os
import re
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT))

from release.__main__ import describe  # noqa: E402


def test_checksums_and_contents_are_those_of_the_files(tmp_path: Path) -> None:
    wheel, source = tmp_path / "a-1-py3-none-any.whl", tmp_path / "a-1.tar.gz"
    with zipfile.ZipFile(wheel, "w") as made:
        made.writestr("a/b.so", b"12345")
        made.writestr("a/a.py", b"")
    with tarfile.open(source, "w:gz") as packed:
        about = tarfile.TarInfo("a-1/setup")
        about.size = 3
        packed.addfile(about, io.BytesIO(b"123"))
    describe([wheel, source], tmp_path)
    sums = dict(line.split("  ")[::-1] for line in (tmp_path / "SHA256SUMS").read_text().splitlines())
    assert {wheel.name, source.name, "CONTENTS.txt", "NOTES.md"} < set(sums)
    assert set(sums) == {file.name for file in tmp_path.iterdir()} - {"SHA256SUMS"}
    assert sums == {name: hashlib.sha256((tmp_path / name).read_bytes()).hexdigest() for name in sums}
    lines = [line.split() for line in (tmp_path / "CONTENTS.txt").read_text().splitlines()]
    assert lines == [
        [wheel.name, str(wheel.stat().st_size)], ["0", "a/a.py"], ["5", "a/b.so"],
        [source.name, str(source.stat().st_size)], ["3", "a-1/setup"],
    ]  # fmt: skip


def test_unknown_platforms_are_refused(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "release", "--only", "amiga", "-o", str(tmp_path / "out")]
    ran = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert ran.returncode == 2
    assert "unknown platform amiga: there are linux-x86_64, " in ran.stderr
    assert not (tmp_path / "out").exists()


FEW = """
import sys
from pathlib import Path
from palmette.kernels.build import library
from palmette.kernels.build.platforms import platform_named

if __name__ == "__main__":
    library.KERNELS = {name: library.KERNELS[name] for name in sys.argv[3:]}
    platform = platform_named(sys.argv[2])
    library.build(Path(sys.argv[1]), platform.default_levels(), report=lambda line: None, platform=platform)
"""

HEADS = {  # first bytes of a file, and where it names its processor: ELF's e_machine, Mach-O's cputype, PE's Machine
    "linux-aarch64": (b"\x7fELF\x02\x01", b"\xb7\x00"),
    "macos-arm64": (b"\xcf\xfa\xed\xfe\x0c\x00\x00\x01", b""),
    "windows-x86_64": (b"MZ", b"PE\x00\x00\x64\x86"),
}


@pytest.mark.jit
@pytest.mark.parametrize("name", HEADS)
def test_libraries_of_other_systems(name: str, tmp_path: Path) -> None:
    """They have the format and the processor that their system knows, and need nothing but its C library."""
    pytest.importorskip("ziglang")
    out, variables = tmp_path / "out", {"PALMETTE_BUILD_JOBS": "1", "PALMETTE_BUILD_CACHE": str(tmp_path / "objects")}
    (tmp_path / "few.py").write_text(FEW, encoding="utf-8")
    command = [sys.executable, str(tmp_path / "few.py"), str(out), name, "mixed_all", "lift_arcs"]
    path = os.pathsep.join([str(ROOT / "src"), os.environ.get("PYTHONPATH", "")])
    own = os.environ | variables | {"PYTHONPATH": path, "PALMETTE_KERNELS": "python"}
    ran = subprocess.run(command, capture_output=True, text=True, env=own, timeout=300)
    assert ran.returncode == 0, ran.stderr
    for file in out.glob("palmette-*"):
        data = file.read_bytes()
        head, processor = HEADS[name]
        assert data.startswith(head)
        assert processor in data[:512]
        for symbol in (b"palmette_mixed_all", b"palmette_lift_arcs", b"palmette_release"):
            assert symbol in data
    if name == "windows-x86_64":
        data = b"".join(file.read_bytes() for file in out.glob("*.dll"))
        loaded = {found.lower() for found in re.findall(rb"[\w-]+\.dll", data)}
        system = (b"kernel32.dll", b"ntdll.dll", b"msvcrt.dll")
        assert all(found in system or found.startswith((b"api-ms-win-", b"palmette")) for found in loaded), loaded
