"""Link object files into a shared library, with the machine's compiler driver or with Zig's."""

from __future__ import annotations

import importlib.util
import os
import shlex
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from palmette.kernels.core.native import SUFFIX

DRIVERS = ("cc", "gcc", "clang")
EXPORTS = "{ global: palmette_*; local: *; };\n"


class LinkError(RuntimeError):
    """No linker, or one that failed."""


def _flags(folder: Path) -> list[str]:
    if sys.platform == "darwin":
        return ["-dynamiclib", "-Wl,-dead_strip", "-Wl,-exported_symbol,_palmette_*"]
    if sys.platform == "win32":
        return ["-shared"]
    (folder / "exports.map").write_text(EXPORTS, encoding="ascii")
    script = f"-Wl,--version-script={folder / 'exports.map'}"
    return ["-shared", "-nostartfiles", "-Wl,--gc-sections", "-Wl,-z,defs", "-Wl,--build-id=none", "-s", script]


def _link(command: list[str], objects: list[Path], out: Path, folder: Path) -> subprocess.CompletedProcess[str]:
    libraries = [] if sys.platform == "win32" else ["-lm"]
    words = [*command, *_flags(folder), "-o", str(out), *map(str, objects), *libraries]
    return subprocess.run(words, capture_output=True, text=True, check=False)


def find_linker(trial: bytes) -> list[str]:
    """A command that links a trial object: $PALMETTE_BUILD_LINKER, `cc`, or Zig's if it is installed."""
    given = shlex.split(os.environ.get("PALMETTE_BUILD_LINKER", ""))
    commands = [given] if given else [[found] for name in DRIVERS if (found := shutil.which(name))]
    if not given and importlib.util.find_spec("ziglang") is not None:
        commands.append([sys.executable, "-m", "ziglang", "cc"])
    failures = []
    for command in commands:
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name)
            (folder / "trial.o").write_bytes(trial)
            try:
                done = _link(command, [folder / "trial.o"], folder / f"trial{SUFFIX}", folder)
            except OSError as error:
                failures.append(f"{shlex.join(command)}: {error}")
                continue
            if done.returncode == 0 and (folder / f"trial{SUFFIX}").exists():
                return command
            failures.append(f"{shlex.join(command)}: {done.stderr.strip()[-500:] or 'nothing was linked'}")
    tried = "".join(f"\n  {failure}" for failure in failures)
    raise LinkError(f"no linker for the kernels: install a C compiler (cc) or the package `ziglang`{tried}")


def link(objects: list[Path], out: Path, command: list[str], folder: Path) -> None:
    """Link the objects into `out`; `folder` is for temporary files."""
    done = _link(command, objects, out, folder)
    if done.returncode:
        raise LinkError(f"{' '.join(command)} could not link the kernels:\n{done.stderr[-2000:]}")
