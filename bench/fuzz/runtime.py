"""Changed model files in the runtime in C, compiled with the sanitizers of addresses and undefined behaviour."""

from __future__ import annotations

import subprocess
from collections import Counter
from pathlib import Path

from bench.fuzz.cases import make_case
from bench.fuzz.models import Model
from palmette.runtime.build import compiled

SANITIZED = ("-g", "-O1", "-fsanitize=address,undefined", "-fno-sanitize-recover=undefined")
PROGRAM = Path(__file__).with_name("runtime.c")
REFUSED = 1  # the exit code of a model that is refused


def build_checked(folder: Path) -> Path:
    """The program that opens a model and uses it on some sentences."""
    out = folder / "checked"
    compiled(["gcc"], out, SANITIZED, (PROGRAM,))
    return out


def run_checked(program: Path, folder: Path, model: bytes) -> int:
    """The exit code for a model file: 0, REFUSED, or another one, which is a fault."""
    path = folder / "changed.palm"
    path.write_bytes(model)
    return subprocess.run([program, path], capture_output=True, timeout=60, check=False).returncode


def fuzz_runtime(models: list[Model], folder: Path, seed: int, numbers: range) -> int:
    """Print what came of the cases; the number of faults."""
    program, counts = build_checked(folder), Counter[str]()
    chains = [model for model in models if model.task == "chain"]
    for number in numbers:
        case = make_case(chains, seed, number)
        code = run_checked(program, folder, case.data())
        counts["used" if code == 0 else "refused" if code == REFUSED else "faults"] += 1
        if code not in (0, REFUSED):
            print(f"runtime, case {number}: {case.model.name}, {case.way}: exit code {code}")
    print("the runtime in C:", ", ".join(f"{n} {what}" for what, n in sorted(counts.items())))
    return counts["faults"]
