"""Compile the runtime in C, with the command that links the kernels: a shared library for a system, or WebAssembly.

`palmette.wasm` is part of the sources, so that `palmette export` needs no compiler; `python -m palmette.runtime.build`
makes it again, with the package `ziglang`. Its record beside it has the hash of the sources that it was made from.
"""

from __future__ import annotations

import hashlib
import json
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).parent
PARTS = ("json.c", "words.c", "templates.c", "model.c", "tag.c")
HEADERS = ("palmette.h", "inside.h")
FLAGS = ("-std=c11", "-O2", "-ffp-contract=off", "-fvisibility=hidden", "-Wall", "-Wextra")
WASM, RECORD = HERE / "palmette.wasm", HERE / "palmette.wasm.json"
# What JavaScript calls besides the functions of palmette.h
EXPORTS = ("malloc", "free")


class RuntimeBuildError(RuntimeError):
    """The runtime cannot be compiled."""


def sources_hash() -> str:
    """Of everything that decides what the runtime does but the version of Unicode."""
    digest = hashlib.sha256()
    for name in (*HEADERS, *PARTS, "tables.py"):
        digest.update((HERE / name).read_bytes())
    return digest.hexdigest()[:16]


def compiled(command: list[str], out: Path, flags: tuple[str, ...], more: tuple[Path, ...] = ()) -> None:
    """Compile all parts and further files into one; paths are relative, so that they leave no trace in it."""
    from palmette.runtime.tables import tables

    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for part in (*(HERE / name for name in (*HEADERS, *PARTS)), *more):
            (folder / part.name).write_bytes(part.read_bytes())
        made = f'#define SOURCES "{sources_hash()}"\n{tables()}'
        (folder / "tables.h").write_text(made, encoding="utf-8", newline="\n")
        words = [*command, *FLAGS, *flags, "-o", out.name, *PARTS, *(part.name for part in more)]
        done = subprocess.run(words, cwd=folder, capture_output=True, text=True, check=False)
        if done.returncode or not (folder / out.name).exists():
            raise RuntimeBuildError(f"{' '.join(command)} could not compile the runtime:\n{done.stderr[-2000:]}")
        shutil.copy(folder / out.name, out)


def library_name(triple: str) -> str:
    """The name of the shared library on a system, as LLVM names it."""
    return "palmette.dll" if "windows" in triple else f"libpalmette.{'dylib' if 'apple' in triple else 'so'}"


def build_library(folder: Path, command: list[str], triple: str) -> Path:
    """Compile the shared library for a system."""
    if "apple" in triple:
        flags: tuple[str, ...] = ("-dynamiclib", "-Wl,-install_name,@rpath/libpalmette.dylib")
    elif "windows" in triple:
        flags = ("-shared", "-s")
    else:
        flags = ("-shared", "-fPIC", "-Wl,-z,defs", "-Wl,--build-id=none", "-s")
    out = folder / library_name(triple)
    compiled(command, out, flags)
    return out


def build_wasm(out: Path) -> None:
    """Compile for WebAssembly, with a stack of 256 kB and memory that grows."""
    import re

    header = (HERE / "palmette.h").read_text(encoding="utf-8")
    functions = sorted(set(re.findall(r"\b(palmette_\w+)\(", header)) - {"palmette_open"})
    exports = tuple(f"-Wl,--export={name}" for name in (*EXPORTS, *functions))
    flags = ("-mexec-model=reactor", "-s", "-Wl,--gc-sections", "-Wl,-z,stack-size=262144", "-Wl,--no-entry", *exports)
    compiled([sys.executable, "-m", "ziglang", "cc", "-target", "wasm32-wasi"], out, flags)


def main() -> None:
    import unicodedata
    from importlib.metadata import version

    build_wasm(WASM)
    about = {
        "sources": sources_hash(), "sha256": hashlib.sha256(WASM.read_bytes()).hexdigest(),
        "unicode": unicodedata.unidata_version, "ziglang": version("ziglang"),
    }  # fmt: skip
    RECORD.write_text(json.dumps(about, indent=1) + "\n", encoding="utf-8", newline="\n")
    print(f"{WASM.name}: {WASM.stat().st_size} bytes, sha256 {about['sha256']}")


if __name__ == "__main__":
    main()
