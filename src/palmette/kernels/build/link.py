"""Link object files into a shared library, with the machine's compiler driver or, for any system, with Zig's.

Only kernels and what native.py asks for have names outside: all else is internal or hidden in the objects.
"""

from __future__ import annotations

import importlib.util
import os
import shlex
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from palmette.kernels.build.platforms import Platform

DRIVERS = ("cc", "gcc", "clang")


class LinkError(RuntimeError):
    """No linker, or one that failed."""


def _flags(triple: str) -> list[str]:
    if "apple" in triple:
        return ["-dynamiclib", "-Wl,-dead_strip", "-Wl,-install_name,@rpath/palmette.dylib"]
    if "windows" in triple:
        return ["-shared", "-s"]
    return ["-shared", "-nostartfiles", "-Wl,--gc-sections", "-Wl,-z,defs", "-Wl,--build-id=none", "-s", "-lm"]


def _link(command: list[str], objects: list[Path], out: Path, triple: str) -> subprocess.CompletedProcess[str]:
    words = [*command, "-o", str(out), *map(str, objects), *_flags(triple)]
    return subprocess.run(words, capture_output=True, text=True, check=False)


def find_linker(trial: bytes, platform: Platform) -> list[str]:
    """A command that links a trial object: $PALMETTE_BUILD_LINKER, `cc`, or Zig's if it is installed or the platform is
    another than this machine."""
    given = shlex.split(os.environ.get("PALMETTE_BUILD_LINKER", ""))
    commands = [given] if given else []
    if not given and not platform.zig:
        commands = [[found] for name in DRIVERS if (found := shutil.which(name))]
    if not given and importlib.util.find_spec("ziglang") is not None:
        commands.append([sys.executable, "-m", "ziglang", "cc", *(["-target", platform.zig] if platform.zig else [])])
    failures = []
    for command in commands:
        with tempfile.TemporaryDirectory() as name:
            object_file, out = Path(name) / "trial.o", Path(name) / f"trial{platform.suffix}"
            object_file.write_bytes(trial)
            try:
                done = _link(command, [object_file], out, platform.triple)
            except OSError as error:
                failures.append(f"{shlex.join(command)}: {error}")
                continue
            if done.returncode == 0 and out.exists():
                return command
            failures.append(f"{shlex.join(command)}: {done.stderr.strip()[-500:] or 'nothing was linked'}")
    tried = "".join(f"\n  {failure}" for failure in failures)
    wanted = "the package `ziglang`" if platform.zig else "a C compiler (cc) or the package `ziglang`"
    raise LinkError(f"no linker for the kernels: install {wanted}{tried}")


def link(objects: list[Path], out: Path, command: list[str], platform: Platform) -> None:
    """Link the objects into `out`."""
    done = _link(command, objects, out, platform.triple)
    if done.returncode:
        raise LinkError(f"{' '.join(command)} could not link the kernels:\n{done.stderr[-2000:]}")
