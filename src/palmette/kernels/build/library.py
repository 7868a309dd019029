"""Build the library: compile every kernel of the registry, link the objects, write what was built beside it.

A kernel is compiled again only if its sources, its types, the versions, the processor or the options have changed. Each
process compiles several kernels one after the other and keeps their common parts.
"""

from __future__ import annotations

import hashlib
import json
import os
import platform
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor, as_completed
from contextlib import contextmanager
from functools import cache
from importlib.metadata import version
from multiprocessing import get_context
from pathlib import Path
from typing import Any, NamedTuple

from palmette.kernels.build import cache as objects
from palmette.kernels.build.link import find_linker, link
from palmette.kernels.core.native import ABI, SUFFIX, processor_flags
from palmette.kernels.core.signature import signature_hash, signature_of
from palmette.kernels.core.sources import FOLDER, all_sources_hash, source_hash
from palmette.kernels.registry import KERNELS, find_kernel

NATIVE = "native"
# What a level has beyond the baseline, as Linux names it
LEVELS = {
    "x86-64-v3": ["abm", "avx2", "bmi1", "bmi2", "f16c", "fma", "movbe"],
    "x86-64": [],
    "generic": [],
}
PACKAGES = ("numba", "llvmlite", "numpy")


class Target(NamedTuple):
    """A processor, as LLVM names it."""

    level: str
    cpu: str
    features: str


def target_of(level: str) -> Target:
    """`native` is the machine's own processor, the others are names of LLVM."""
    import llvmlite.binding as llvm

    if level == NATIVE:
        return Target(level, llvm.get_host_cpu_name(), llvm.get_host_cpu_features().flatten())
    if level not in LEVELS or level.startswith("x86") != (platform.machine().lower() in ("x86_64", "amd64")):
        raise ValueError(
            f"there is no processor level {level!r} on {platform.machine()}: {NATIVE}, {', '.join(LEVELS)}"
        )
    return Target(level, level, "")


@contextmanager
def _compiling_for(target: Target) -> Iterator[None]:
    """Variables that processes read when they start."""
    own = {
        "PALMETTE_KERNELS": "jit",
        "NUMBA_CPU_NAME": target.cpu,
        "NUMBA_CPU_FEATURES": target.features,
        "NUMBA_DISABLE_INTEL_SVML": "1",
        "NUMBA_OPT": "3",
        "PYTHONPATH": os.pathsep.join([str(FOLDER.parents[1]), os.environ.get("PYTHONPATH", "")]),
    }
    before = dict(os.environ)
    for name in before:
        if name.startswith("NUMBA_"):
            del os.environ[name]
    os.environ.update(own)
    try:
        yield
    finally:
        os.environ.clear()
        os.environ.update(before)


@cache
def _builder_hash() -> str:
    """Of what makes objects, apart from the kernels' own sources."""
    digest = hashlib.sha256()
    for name in ("build/entry.py", "core/jit.py", "core/numba_types.py"):
        digest.update((FOLDER / name).read_bytes())
    return digest.hexdigest()


def _key(name: str, target: Target) -> str:
    """Everything that an object file depends on; no paths and no times."""
    source = FOLDER / f"{KERNELS[name].replace('.', '/')}.py"
    versions = [version(package) for package in PACKAGES]
    about = [name, source_hash(source), _builder_hash(), versions, list(target), sys.platform, platform.machine()]
    return f"{name}-{hashlib.sha256(json.dumps(about).encode()).hexdigest()[:32]}"


def _compile(name: str, target: Target) -> tuple[str, bytes, float]:
    """In a process of its own: the object file of a kernel."""
    from palmette.kernels.build.entry import compile_entry, make_no_machine_code, target_machine

    begun = time.process_time()
    make_no_machine_code()
    made = compile_entry(find_kernel(name).py_func, target_machine(target.cpu, target.features))
    return name, made, time.process_time() - begun


def _objects(target: Target, jobs: int, report: Callable[[str], None]) -> dict[str, bytes]:
    """All object files, by kernel."""
    folder = objects.cache_folder()
    found = {name: objects.read(folder, _key(name, target)) for name in KERNELS}
    made = {name: data for name, data in found.items() if data is not None}
    missing = [name for name in KERNELS if name not in made]
    if not missing:
        return made
    with _compiling_for(target), ProcessPoolExecutor(min(jobs, len(missing)), get_context("spawn")) as pool:
        waiting = [pool.submit(_compile, name, target) for name in missing]
        for number, done in enumerate(as_completed(waiting), 1):
            if done.exception() is not None:
                pool.shutdown(cancel_futures=True)
            name, data, seconds = done.result()
            made[name] = data
            objects.write(folder, _key(name, target), data)
            report(f"kernel {number} of {len(missing)}: {name}, {seconds:.1f} s, {target.level}")
    return made


def _shim(target: Target) -> bytes:
    from palmette.kernels.build.entry import target_machine
    from palmette.kernels.build.shim import shim_object

    return shim_object(target_machine(target.cpu, target.features))


def build(
    out: Path, levels: tuple[str, ...] = (NATIVE,), jobs: int = 0, editable: bool = False,
    report: Callable[[str], None] = print,
) -> list[Path]:  # fmt: skip
    """Build the library into folder `out`; its files. Levels are best first."""
    jobs = jobs or (len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1)
    targets = [target_of(level) for level in levels]
    linker = find_linker(_shim(targets[0]))
    out.mkdir(parents=True, exist_ok=True)
    libraries = {}
    for target in targets:
        made = _objects(target, jobs, report)
        with tempfile.TemporaryDirectory(dir=out) as name:
            folder = Path(name)
            paths = []
            for kernel, data in [("shim", _shim(target)), *sorted(made.items())]:
                paths.append(folder / f"{kernel}.o")
                paths[-1].write_bytes(data)
            link(paths, folder / "out", linker, folder)
            content = hashlib.sha256((folder / "out").read_bytes()).hexdigest()[:12]
            libraries[target.level] = out / f"palmette-{target.level}-{content}{SUFFIX}"
            os.replace(folder / "out", libraries[target.level])
    about = _write_about(out, libraries, editable)
    for old in out.glob(f"palmette-*{SUFFIX}"):
        if old not in libraries.values():
            old.unlink(missing_ok=True)
    return [*libraries.values(), about]


def _write_about(out: Path, libraries: dict[str, Path], editable: bool) -> Path:
    """What loading has to know. The name of a library tells its content, so that no other one is taken for it."""
    flags = {NATIVE: sorted(processor_flags()), **LEVELS}
    about: dict[str, Any] = {
        "abi": ABI,
        "machine": platform.machine(),
        "levels": {
            level: {"file": path.name, "size": path.stat().st_size, "flags": flags[level]}
            for level, path in libraries.items()
        },
        "editable": editable,
        "sources": all_sources_hash(),
        "versions": {package: version(package) for package in PACKAGES},
        "kernels": {name: signature_hash(signature_of(_plain(find_kernel(name)))) for name in KERNELS},
    }
    path = out / "library.json"
    beside = path.with_suffix(f".{os.getpid()}.tmp")
    beside.write_text(json.dumps(about, indent=1) + "\n", encoding="utf-8")
    os.replace(beside, path)
    return path


def _plain(kernel: Any) -> Callable[..., Any]:
    function: Callable[..., Any] = getattr(kernel, "py_func", None) or kernel.__wrapped__
    return function
