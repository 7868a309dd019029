"""`palmette doctor`: what is installed, where compiled code is kept, what is missing."""

from __future__ import annotations

import importlib.metadata
import os
import platform
from pathlib import Path

from palmette.cli.command import Command, JsonOptions
from palmette.cli.output import print_json
from palmette.errors import counted

NEEDED = ("numpy", "msgspec", "rich")
EXTRAS = {"numba": "jit", "matplotlib": "plot", "scikit-learn": "sklearn", "python-crfsuite": "bench"}


class Doctor(JsonOptions, Command):
    """Report versions, cache folder, threads and what is missing."""

    def run(self) -> None:
        from palmette import __version__
        from palmette.data import model_file
        from palmette.kernels.core import native
        from palmette.kernels.core.compile import JIT, LIBRARY, MODE
        from palmette.kernels.registry import KERNELS

        folder = _cache_folder() if MODE == JIT else None
        kept = sorted(folder.glob("*.kernel")) if folder else []
        about = {
            "palmette": __version__,
            "python": platform.python_version(),
            "platform": platform.platform(),
            "processor": _processor(),
            "cores": os.cpu_count(),
            "packages": {name: _version(name) for name in NEEDED},
            "extras": {name: _version(name) for name in EXTRAS},
            "model_format": model_file.VERSION,
            "kernels": MODE,
            "library": native.about() and {"level": native.level(), **native.about(), "kernels": len(KERNELS)},
            "cache": str(folder) if folder else None,
            "cached_kernels": len(kept),
            "cache_bytes": sum(path.stat().st_size for path in kept),
        }
        if self.json:
            print_json(about)
            return
        print(f"palmette {__version__}, model format {model_file.VERSION}")
        cores = counted(os.cpu_count() or 1, "core")
        print(f"Python {about['python']} on {about['platform']}; {about['processor']}, {cores}")
        for name in NEEDED:
            print(f"  {name:16}{_version(name) or 'MISSING: pip install ' + name}")
        for name, extra in EXTRAS.items():
            missing = f"not installed (optional: pip install 'palmette[{extra}]')"
            print(f"  {name:16}{_version(name) or missing}")
        if MODE == LIBRARY:
            print(f"kernels: {len(KERNELS)} as machine code for {native.level()} in {native.FOLDER}")
            return
        asked = os.environ.get("PALMETTE_KERNELS")
        print(f"kernels: {f'{asked}, as PALMETTE_KERNELS asks' if asked else native.why_not()}")
        if MODE != JIT:
            print("  they run as plain Python, a thousand times slower; training needs them compiled")
        elif folder is None:
            print("  compiled code is not kept, so that each run compiles again; set PALMETTE_CACHE_DIR to a folder")
        else:
            size = sum(p.stat().st_size for p in kept) / 1e6
            print(f"  compiled: {counted(len(kept), 'file')}, {size:.1f} MB in {folder}")
            if not kept:
                print("  nothing compiled yet: `palmette warmup` does it ahead")


def _cache_folder() -> Path | None:
    from palmette.kernels.core.jit import cache_folder

    return cache_folder()


def _version(name: str) -> str | None:
    try:
        return importlib.metadata.version(name)
    except importlib.metadata.PackageNotFoundError:
        return None


def _processor() -> str:
    try:
        with open("/proc/cpuinfo", encoding="utf-8") as lines:
            found = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    except OSError:
        found = []
    return found[0] if found else platform.processor() or platform.machine()
