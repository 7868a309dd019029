"""Make the files of a release: a wheel per platform, the source distribution, SHA256SUMS, CONTENTS.txt, the notes from
the changelog (NOTES.md) and the list of parts (palmette-VERSION.cdx.json).

Kernels are lowered once; LLVM makes objects for every platform and Zig links them, so that any Linux on x86-64 will do.
Needs the build requirements of pyproject.toml, hatchling and ziglang: `pip install -c build-constraints.txt hatchling
numba numpy ziglang`. With these versions, the same sources give the same bytes.
"""

from __future__ import annotations

import argparse
import hashlib
import os
import shutil
import subprocess
import sys
import tarfile
import tempfile
import zipfile
from pathlib import Path

from release.notes import notes, version_of
from release.parts import bill

ROOT = Path(__file__).parents[1]
EPOCH = "1580601600"  # the time of every file in archives: 2 February 2020


def make(out: Path, names: list[str], sdist: bool) -> list[Path]:
    """Build into an empty folder; the files."""
    os.environ["PALMETTE_KERNELS"] = "python"  # this process runs none of them
    sys.path.insert(0, str(ROOT / "src"))
    from palmette.kernels.build.library import objects_of, target_of
    from palmette.kernels.build.platforms import platform_named

    platforms = [platform_named(name) for name in names]
    objects_of([target_of(level, platform) for platform in platforms for level in platform.default_levels()], print)
    for name in names:
        _hatch(out, "wheel", PALMETTE_BUILD_PLATFORM=name, PALMETTE_BUILD_LINKER="")
    if sdist:
        _hatch(out, "sdist")
    return sorted(out.iterdir())


def _hatch(out: Path, target: str, **variables: str) -> None:
    command = [sys.executable, "-m", "hatchling", "build", "--target", target, "--directory", str(out)]
    subprocess.run(command, cwd=ROOT, env=os.environ | {"SOURCE_DATE_EPOCH": EPOCH} | variables, check=True)


def contents(file: Path) -> list[tuple[str, int]]:
    """Names and sizes of what is in an archive."""
    if file.suffix == ".whl":
        with zipfile.ZipFile(file) as wheel:
            return sorted((about.filename, about.file_size) for about in wheel.infolist())
    with tarfile.open(file) as source:
        return sorted((about.name, about.size) for about in source.getmembers() if about.isfile())


def describe(files: list[Path], out: Path) -> None:
    """Write the notes, the list of parts, the contents, and the checksums of all that in the form of sha256sum."""
    version = version_of(ROOT)
    lines = []
    for file in files:
        lines.append(f"{file.name}  {file.stat().st_size}\n")
        lines += [f"    {size:>9}  {name}\n" for name, size in contents(file)]
    texts = {
        "CONTENTS.txt": "".join(lines),
        "NOTES.md": notes((ROOT / "CHANGELOG.md").read_text(encoding="utf-8"), version),
        f"palmette-{version}.cdx.json": bill(ROOT, files),
    }
    for name, text in texts.items():
        (out / name).write_text(text, encoding="utf-8", newline="\n")
    named = [*files, *(out / name for name in texts)]
    sums = [f"{hashlib.sha256(file.read_bytes()).hexdigest()}  {file.name}\n" for file in named]
    (out / "SHA256SUMS").write_text("".join(sums), encoding="utf-8", newline="\n")


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m release", description="Make the files of a release.")
    parser.add_argument("-o", "--out", type=Path, default=Path("dist"), help="folder for the files; default: dist")
    parser.add_argument("--only", nargs="+", metavar="PLATFORM", help="wheels of these platforms alone")
    wanted = parser.parse_args()
    sys.path.insert(0, str(ROOT / "src"))
    from palmette.kernels.build.platforms import PLATFORMS

    unknown = sorted(set(wanted.only or ()) - set(PLATFORMS))
    if unknown:
        parser.error(f"unknown platform {', '.join(unknown)}: there are {', '.join(PLATFORMS)}")
    wanted.out.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=wanted.out) as folder:  # what is in `out` is whole
        made = make(Path(folder).resolve(), wanted.only or list(PLATFORMS), sdist=not wanted.only)
        files = [Path(shutil.move(file, wanted.out / file.name)) for file in made]
    describe(files, wanted.out)
    for file in files:
        print(f"{file.stat().st_size / 1e6:6.1f} MB  {file.name}")


if __name__ == "__main__":
    main()
