"""`palmette doctor`: what is installed, how kernels run, what is missing."""

from __future__ import annotations

import importlib.metadata
import os
import platform

from palmette.cli.command import Command, JsonOptions
from palmette.cli.output import print_json
from palmette.errors import counted

NEEDED = ("numpy", "msgspec", "rich")
EXTRAS = {"numba": "jit", "matplotlib": "plot", "scikit-learn": "sklearn", "python-crfsuite": "bench"}


class Doctor(JsonOptions, Command):
    """Report versions, how kernels run and what is missing."""

    def run(self) -> None:
        from palmette import __version__
        from palmette.data import model_file
        from palmette.kernels.core import native
        from palmette.kernels.core.compile import JIT, LIBRARY, MODE
        from palmette.kernels.registry import KERNELS

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
        if MODE == JIT:
            print("  each is compiled at its first call in every process, which takes 1 to 25 seconds")
        else:
            print("  they run as plain Python, a thousand times slower; training needs them compiled")


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
