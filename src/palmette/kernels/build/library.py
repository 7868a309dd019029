"""Build the library: compile every kernel of the registry, link the objects, write what was built beside it.

A kernel is compiled again only if its sources, its types, the versions, the processor or the options have changed.
Numba types and lowers each kernel once, in processes that keep the parts that the kernels of a folder have in common;
other processes turn the result into an object file per processor level and system. Objects are the same bytes in every
build of the same sources.
"""

from __future__ import annotations

import ctypes
import gc
import hashlib
import json
import os
import platform as python_platform
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from contextlib import ExitStack, contextmanager
from functools import cache
from importlib.metadata import version
from multiprocessing import get_context
from pathlib import Path
from typing import Any, NamedTuple

from palmette.kernels.build import cache as objects
from palmette.kernels.build.link import find_linker, link
from palmette.kernels.build.platforms import LEVELS, NATIVE, Platform, platform_named
from palmette.kernels.core.native import ABI, library_flags
from palmette.kernels.core.sources import FOLDER, PACKAGE, all_sources_hash, source_hash
from palmette.kernels.core.types import signature_hash, signature_of
from palmette.kernels.registry import KERNELS, find_kernel, module_of

PACKAGES = ("numba", "llvmlite", "numpy")
JOBS = "PALMETTE_BUILD_JOBS"


class BuildError(RuntimeError):
    """The library cannot be built."""


class Target(NamedTuple):
    """A processor and a system, as LLVM names them."""

    level: str
    triple: str
    cpu: str
    features: str


def target_of(level: str, platform: Platform) -> Target:
    """`native` is the machine's own processor, the others are names of LLVM."""
    import llvmlite.binding as llvm

    if level == NATIVE and platform.is_x86 and not platform.zig:
        return Target(level, platform.triple, llvm.get_host_cpu_name(), llvm.get_host_cpu_features().flatten())
    if level not in LEVELS or level.startswith("x86") != platform.is_x86:
        raise ValueError(
            f"there is no processor level {level!r} on {platform.machine}: {NATIVE} (x86-64 only, for the machine that "
            f"builds), {', '.join(LEVELS)}"
        )
    return Target(level, platform.triple, level, "")


def n_jobs() -> int:
    """How many kernels are compiled at the same time: $PALMETTE_BUILD_JOBS, by default one per core."""
    given = os.environ.get(JOBS, "").strip()
    if given:
        if not given.isascii() or not given.isdigit() or int(given) < 1:
            raise BuildError(f"{JOBS} is {given!r}: it must be a whole number from 1 on")
        return int(given)
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


@contextmanager
def _compiling() -> Iterator[None]:
    """Variables that processes read when they start. Numba lowers for the baseline, since the processor is chosen when
    the object is made; a fixed hash seed keeps the order of its sets, and with it the code."""
    own = {
        "PALMETTE_KERNELS": "jit",
        "NUMBA_CPU_NAME": "generic",
        "NUMBA_CPU_FEATURES": "",
        "NUMBA_DISABLE_INTEL_SVML": "1",
        "NUMBA_OPT": "3",
        "PYTHONHASHSEED": "0",
        "PYTHONPATH": os.pathsep.join([str(PACKAGE.parent), os.environ.get("PYTHONPATH", "")]),
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
    for name in ("build/entry.py", "core/jit.py"):
        digest.update((FOLDER / name).read_bytes())
    return digest.hexdigest()


def _key(name: str, target: Target | None = None) -> str:
    """Everything that an object file depends on, or without a target the bitcode; no paths and no times."""
    source = PACKAGE / f"{module_of(name).replace('.', '/')}.py"
    versions = [version(package) for package in PACKAGES]
    here = sys.platform, python_platform.machine()
    about = [name, source_hash(source), _builder_hash(), versions, list(target or ()), *here]
    return f"{name}-{hashlib.sha256(json.dumps(about).encode()).hexdigest()[:32]}"


def _lower(name: str) -> tuple[bytes, float]:
    """In a process of its own: a kernel as LLVM bitcode, and CPU seconds."""
    from palmette.kernels.build.entry import lower_entry, prepare_compiler

    begun, folder = time.process_time(), objects.cache_folder()
    bitcode = objects.read(folder, _key(name))  # of a build for another processor
    if bitcode is None:
        prepare_compiler()
        gc.set_threshold(300_000, 20, 100)  # what lowering keeps is large: by default a third of the time is looking
        bitcode = lower_entry(find_kernel(name).py_func)
        objects.write(folder, _key(name), bitcode)
    return bitcode, time.process_time() - begun


def _emit(bitcode: bytes, target: Target) -> tuple[bytes, float]:
    """In a process of its own: the object file for one processor, and CPU seconds."""
    from palmette.kernels.build.entry import emit_entry, target_machine

    begun = time.process_time()
    return emit_entry(bitcode, target_machine(*target[1:])), time.process_time() - begun


Objects = dict[tuple[str, Target], bytes]


def _next(waiting: list[str], taken: dict[int, set[str]], process: int) -> str:
    """The next kernel for one of the processes that lower. Kernels of a folder share parts, which a process types once:
    it stays in its folders, and then takes one that is nobody's."""
    theirs = set().union(*(folders for number, folders in taken.items() if number != process))

    def cost(name: str) -> int:
        return 0 if _folder(name) in taken[process] else 1 if _folder(name) not in theirs else 2

    name = min(waiting, key=cost)  # the first of them, which takes longest
    waiting.remove(name)
    taken[process].add(_folder(name))
    return name


def _folder(name: str) -> str:
    return KERNELS[name].rpartition(".")[0]


def _compile(missing: dict[str, list[Target]], jobs: int) -> Iterator[tuple[str, Target, bytes, float]]:
    """Object files of kernels for processors, as they are made. As many processes lower as emit: together they keep the
    cores busy to the end."""
    with _compiling(), ExitStack() as stack:

        def pool(size: int) -> ProcessPoolExecutor:
            return stack.enter_context(ProcessPoolExecutor(size, get_context("spawn")))

        waiting = list(missing)
        jobs = min(jobs, len(waiting))
        lowering = [pool(1) for _ in range(jobs)]
        emitting = pool(jobs) if jobs > 1 else lowering[0]
        taken: dict[int, set[str]] = {process: set() for process in range(jobs)}
        lowered: dict[Future[Any], tuple[str, int]] = {}
        emitted: dict[Future[Any], tuple[str, Target, float]] = {}

        def lower(process: int) -> None:
            if waiting:
                name = _next(waiting, taken, process)
                lowered[lowering[process].submit(_lower, name)] = name, process

        try:
            for process in range(jobs):
                lower(process)
            while lowered or emitted:
                for done in wait([*lowered, *emitted], return_when=FIRST_COMPLETED).done:
                    made, seconds = done.result()
                    if done in lowered:
                        name, process = lowered.pop(done)
                        lower(process)
                        share = seconds / len(missing[name])
                        for target in missing[name]:
                            emitted[emitting.submit(_emit, made, target)] = name, target, share
                    else:
                        name, target, share = emitted.pop(done)
                        yield name, target, made, seconds + share
        finally:
            for each in (*lowering, emitting):
                each.shutdown(wait=False, cancel_futures=True)


def objects_of(targets: list[Target], report: Callable[[str], None]) -> Objects:
    """All object files, by kernel and processor."""
    folder = objects.cache_folder()
    made: Objects = {}
    missing: dict[str, list[Target]] = {}
    for name in KERNELS:
        for target in targets:
            data = objects.read(folder, _key(name, target))
            if data is None:
                missing.setdefault(name, []).append(target)
            else:
                made[name, target] = data
    jobs, total, number = n_jobs(), sum(map(len, missing.values())), 0
    try:
        for name, target, data, seconds in _compile(missing, jobs) if missing else ():
            made[name, target] = data
            objects.write(folder, _key(name, target), data)
            number += 1
            report(f"object {number} of {total}: {name}, {seconds:.1f} s, {target.level}")
    except BrokenProcessPool:
        kept = f"The {number} of {total} objects that are finished are kept" if folder else "Nothing is kept"
        raise BuildError(
            f"a process that compiles kernels was killed, as the system does if memory runs out. {kept}. Limit the "
            f"processes with a smaller {JOBS} (now {jobs}) and build again"
        ) from None
    return made


def build(
    out: Path,
    levels: tuple[str, ...],
    editable: bool = False,
    report: Callable[[str], None] = print,
    platform: Platform | None = None,
) -> list[Path]:
    """Build the library into folder `out`, for this machine or another one; its files. Levels are best first."""
    from palmette.kernels.build.shim import shim_object

    platform = platform or platform_named("")
    targets = [target_of(level, platform) for level in levels]
    shim = shim_object(platform.triple)
    linker = find_linker(shim, platform)
    out.mkdir(parents=True, exist_ok=True)
    made = objects_of(targets, report)
    libraries = {}
    for target in targets:
        with tempfile.TemporaryDirectory(dir=out) as name:
            folder = Path(name)
            paths = []
            for kernel, data in [("shim", shim), *((name, made[name, target]) for name in sorted(KERNELS))]:
                paths.append(folder / f"{kernel}.o")
                paths[-1].write_bytes(data)
            linked = folder / f"palmette{platform.suffix}"  # some linkers write the name into the file
            link(paths, linked, linker, platform)
            content = hashlib.sha256(linked.read_bytes()).hexdigest()[:12]
            libraries[target.level] = out / f"palmette-{target.level}-{content}{platform.suffix}"
            os.replace(linked, libraries[target.level])
    about = _write_about(out, libraries, editable, platform.machine)
    for old in out.glob(f"palmette-*{platform.suffix}"):
        if old not in libraries.values():
            old.unlink(missing_ok=True)
    return [*libraries.values(), about]


def _write_about(out: Path, libraries: dict[str, Path], editable: bool, machine: str) -> Path:
    """What loading has to know. The name of a library tells its content, so that no other one is taken for it."""

    def flags(level: str, path: Path) -> list[str]:
        return sorted(library_flags(ctypes.CDLL(str(path)))) if level == NATIVE else LEVELS[level]

    about: dict[str, Any] = {
        "abi": ABI,
        "machine": machine,
        "levels": {
            level: {"file": path.name, "size": path.stat().st_size, "flags": flags(level, path)}
            for level, path in libraries.items()
        },
        "editable": editable,
        "sources": all_sources_hash(),
        "versions": {package: version(package) for package in PACKAGES},
        "kernels": {name: signature_hash(signature_of(_plain(find_kernel(name)))) for name in KERNELS},
    }
    path = out / "library.json"
    beside = path.with_suffix(f".{os.getpid()}.tmp")
    beside.write_text(json.dumps(about, indent=1) + "\n", encoding="utf-8", newline="\n")
    os.replace(beside, path)
    return path


def _plain(kernel: Any) -> Callable[..., Any]:
    function: Callable[..., Any] = getattr(kernel, "py_func", None) or kernel.__wrapped__
    return function
