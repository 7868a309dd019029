"""Build hook: the kernels and the runtime in C as machine code, in wheels and editable installs, never in source
distributions.

PALMETTE_BUILD_LEVELS   processor levels, best first (default: x86-64-v3,x86-64 in wheels, native in editable installs)
PALMETTE_BUILD_JOBS     how many kernels are compiled at the same time (default: one per core)
PALMETTE_BUILD_CACHE    folder of object files of earlier builds (default: in the user's cache)
PALMETTE_BUILD_PLATFORM  another platform than this machine, from kernels/build/platforms.py, such as linux-aarch64
PALMETTE_BUILD_LINKER   command that links, such as "python -m ziglang cc -target x86_64-linux-gnu.2.17"
PALMETTE_BUILD=skip     no library: kernels are compiled at run time, with the extra `jit`
PALMETTE_BUILD_MODELS=skip   no ready models in the wheel
"""

from __future__ import annotations

import os
import shutil
import sys
import tempfile
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

ZIG = "ziglang>=0.13,<0.18"  # links where there is no C compiler
INSIDE = "palmette/kernels/_library"
MODELS = "palmette/models"


class KernelHook(BuildHookInterface[Any]):
    """Compile and link the kernels, and tag the wheel for the platform: any Python 3, since nothing in the library
    touches Python."""

    _temporary: Path | None = None

    def dependencies(self) -> list[str]:
        has_driver = any(shutil.which(name) for name in ("cc", "gcc", "clang"))
        builds = self.target_name == "wheel" and os.environ.get("PALMETTE_BUILD") != "skip"
        needs_zig = not has_driver or os.environ.get("PALMETTE_BUILD_PLATFORM")
        return [ZIG] if builds and needs_zig and not os.environ.get("PALMETTE_BUILD_LINKER") else []

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        if self.target_name != "wheel":
            return
        source = Path(self.root) / "src"
        editable = version == "editable"
        if not editable and os.environ.get("PALMETTE_BUILD_MODELS") != "skip":
            files = [
                path for path in sorted((source / MODELS).glob("*/*")) if path.parent.joinpath("card.json").exists()
            ]
            build_data["force_include"] |= {str(path): path.relative_to(source).as_posix() for path in files}
        if os.environ.get("PALMETTE_BUILD") == "skip":
            return
        out = source / INSIDE if editable else Path(tempfile.mkdtemp(prefix="palmette-kernels-"))
        os.environ["PALMETTE_KERNELS"] = "python"  # the hook itself runs none of them
        sys.path.insert(0, str(source))  # processes that compile get it too
        try:
            from palmette.kernels.build.library import build
            from palmette.kernels.build.link import find_linker
            from palmette.kernels.build.platform_tag import platform_tag
            from palmette.kernels.build.platforms import platform_named
            from palmette.kernels.build.shim import shim_object
            from palmette.runtime.build import build_library

            platform = platform_named(os.environ.get("PALMETTE_BUILD_PLATFORM", ""))
            names = [name.strip() for name in os.environ.get("PALMETTE_BUILD_LEVELS", "").split(",")]
            levels = tuple(name for name in names if name) or platform.default_levels(editable)
            files = build(out, levels, editable=editable, report=self.app.display_info, platform=platform)
            compiler = find_linker(shim_object(platform.triple), platform)
            files.append(build_library(out, compiler, platform.triple))
        finally:
            sys.path.remove(str(source))
        build_data["pure_python"] = False
        tag = platform.tag or platform_tag([file for file in files if file.suffix != ".json"])
        build_data["tag"] = f"py3-none-{tag}"
        if not editable:
            self._temporary = out
            build_data["force_include"] |= {str(file): f"{INSIDE}/{file.name}" for file in files}

    def finalize(self, version: str, build_data: dict[str, Any], artifact_path: str) -> None:
        if self._temporary is not None:
            shutil.rmtree(self._temporary, ignore_errors=True)
