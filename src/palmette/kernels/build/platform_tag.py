"""The platform of a wheel: on Linux the oldest glibc that has all symbols that the library asks for."""

from __future__ import annotations

import re
import sys
import sysconfig
from pathlib import Path

OLDEST = (2, 17)  # manylinux2014
_VERSION = re.compile(rb"GLIBC_(\d+)\.(\d+)(?:\.\d+)?\0")


def needed_glibc(library: Path) -> tuple[int, int] | None:
    """The newest version among the glibc symbols of an ELF library; None if it has none, as with musl. The names of
    versions are strings of their own in the file."""
    found = [(int(major), int(minor)) for major, minor in _VERSION.findall(library.read_bytes())]
    return max(found) if found else None


def platform_tag(libraries: list[Path]) -> str:
    """The last part of a wheel's tag."""
    here = sysconfig.get_platform().replace("-", "_").replace(".", "_")
    if sys.platform != "linux":
        return here
    needed = [version for library in libraries if (version := needed_glibc(library)) is not None]
    machine = here.removeprefix("linux_")
    if not libraries:
        raise ValueError("no library was built")
    if not needed:
        return f"musllinux_1_1_{machine}"
    major, minor = max([OLDEST, *needed])
    return f"manylinux_{major}_{minor}_{machine}"
