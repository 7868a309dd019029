"""The systems and kinds of processors that libraries are made for: this machine, or one of a table."""

from __future__ import annotations

import platform
from typing import NamedTuple

NATIVE = "native"
# What a level has beyond the baseline of its kind of processor, as Linux names it
LEVELS = {
    "x86-64-v3": ["abm", "avx2", "bmi1", "bmi2", "f16c", "fma", "movbe"],
    "x86-64": [],
    "generic": [],
}


class Platform(NamedTuple):
    """A system on a kind of processor."""

    triple: str  # as LLVM names it
    machine: str  # as Python's `platform.machine()` does there
    tag: str  # of its wheels; empty if the library decides
    zig: str = ""  # the target of Zig's linker; empty if the machine's own one links

    @property
    def is_x86(self) -> bool:
        return self.triple.startswith("x86_64")

    @property
    def suffix(self) -> str:
        """Of shared libraries."""
        return ".dll" if "windows" in self.triple else ".dylib" if "apple" in self.triple else ".so"

    def default_levels(self, editable: bool = False) -> tuple[str, ...]:
        """An editable install is for this machine only. A wheel is for every processor that its tag names."""
        if not self.is_x86:
            return ("generic",)
        return (NATIVE,) if editable else ("x86-64-v3", "x86-64")


# manylinux2014 and Alpine's musl of 2019 are the oldest of their kind that have wheels of NumPy
PLATFORMS = {
    "linux-x86_64": Platform(
        "x86_64-unknown-linux-gnu", "x86_64", "manylinux2014_x86_64.manylinux_2_17_x86_64", "x86_64-linux-gnu.2.17"
    ),
    "linux-aarch64": Platform(
        "aarch64-unknown-linux-gnu", "aarch64", "manylinux2014_aarch64.manylinux_2_17_aarch64", "aarch64-linux-gnu.2.17"
    ),
    "musl-x86_64": Platform("x86_64-unknown-linux-musl", "x86_64", "musllinux_1_1_x86_64", "x86_64-linux-musl"),
    "musl-aarch64": Platform("aarch64-unknown-linux-musl", "aarch64", "musllinux_1_1_aarch64", "aarch64-linux-musl"),
    "macos-arm64": Platform("arm64-apple-macosx11.0.0", "arm64", "macosx_11_0_arm64", "aarch64-macos.11.0"),
    "macos-x86_64": Platform("x86_64-apple-macosx11.0.0", "x86_64", "macosx_11_0_x86_64", "x86_64-macos.11.0"),
    "windows-x86_64": Platform("x86_64-w64-windows-gnu", "AMD64", "win_amd64", "x86_64-windows-gnu"),
}


def platform_named(name: str) -> Platform:
    """A row of the table; this machine if the name is empty."""
    import llvmlite.binding as llvm

    if not name:
        return Platform(llvm.get_process_triple(), platform.machine(), "")
    if name not in PLATFORMS:
        raise ValueError(f"there is no platform {name!r} to build for: {', '.join(PLATFORMS)}")
    return PLATFORMS[name]
