"""Clocks, whole processes with their peak memory, and the record that a benchmark leaves."""

from __future__ import annotations

import json
import os
import platform
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Any

from bench.staleness import digest

HERE = Path(__file__).resolve().parent
RESULTS = HERE / "results"
TEMPLATES = HERE / "templates"


def data_folder(given: str | None = None) -> Path:
    """Where the corpora are: --data, $PALMETTE_DATA, or ../shared/data beside the project."""
    folder = Path(given or os.environ.get("PALMETTE_DATA") or HERE.parent.parent / "shared" / "data")
    if not folder.is_dir():
        sys.exit(f"no corpora in {folder}: give --data FOLDER (with conll2000/, jnlpba/, ud-ewt/)")
    return folder


def seconds(work: Callable[[], Any]) -> float:
    begun = time.perf_counter()
    work()
    return time.perf_counter() - begun


def alternating(sides: dict[str, Callable[[], Any]], times: int = 5) -> dict[str, list[float]]:
    """Run the sides in turn, so that whatever the machine does meets both."""
    found: dict[str, list[float]] = {name: [] for name in sides}
    for turn in range(times):
        for name, work in sides.items():
            found[name].append(seconds(work))
            print(f"  {name:<18} run {turn + 1}: {found[name][-1]:.3f} s", file=sys.stderr, flush=True)
    return found


def process(command: Sequence[str], keep_bytecode: bool = True) -> tuple[float, float, float]:
    """Seconds by the clock, seconds of CPU and peak memory (MB) of a whole process.

    The peak is the high-water mark that Linux keeps for the process, read while it runs: what `wait4` reports counts
    the memory of whoever started it too."""
    # Python keeps its compiled sources, unless it is told not to, as in some containers.
    usual = {n: value for n, value in os.environ.items() if n != "PYTHONDONTWRITEBYTECODE" or not keep_bytecode}
    before, begun = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    with tempfile.TemporaryFile() as complaints:
        child = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=complaints, env=usual)
        peak = 0.0
        while child.poll() is None:
            peak = max(peak, _high_water(child.pid))
            time.sleep(min(max(0.002, (time.perf_counter() - begun) / 1000), 1.0))
        took = time.perf_counter() - begun
        if child.returncode:
            complaints.seek(0)
            sys.exit(f"{' '.join(command)} failed: {complaints.read().decode()}")
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return took, cpu, peak


def _high_water(pid: int) -> float:
    try:
        lines = Path(f"/proc/{pid}/status").read_text(encoding="ascii", errors="replace").splitlines()
    except OSError:  # it has just ended, or this is not Linux
        return 0.0
    return next((int(line.split()[1]) / 1024 for line in lines if line.startswith("VmHWM")), 0.0)


def processes(
    sides: dict[str, Sequence[str]], times: int = 5, keep_bytecode: bool = True
) -> dict[str, dict[str, list[float]]]:
    """Whole processes in turn."""
    found: dict[str, dict[str, list[float]]] = {name: {"seconds": [], "cpu": [], "megabytes": []} for name in sides}
    for turn in range(times):
        for name, command in sides.items():
            took, cpu, peak = process(command, keep_bytecode)
            found[name]["seconds"].append(took)
            found[name]["cpu"].append(cpu)
            found[name]["megabytes"].append(peak)
            print(f"  {name:<18} run {turn + 1}: {took:.3f} s, {peak:.0f} MB", file=sys.stderr, flush=True)
    return found


def median(values: Sequence[float]) -> float:
    return statistics.median(values)


def keep(name: str, result: dict[str, Any], command: str | None = None) -> None:
    """Leave the figures with the command, versions and machine that made them."""
    RESULTS.mkdir(exist_ok=True)
    about = {
        "command": command or "python -m bench " + " ".join(_without_folder(sys.argv[1:])),
        "date": time.strftime("%Y-%m-%d"),
        "code": digest(),
        "python": platform.python_version(),
        "packages": {p: version(p) for p in ("palmette", "numpy", "python-crfsuite")},
        "machine": f"{platform.machine()}, {os.cpu_count()} cores",
        "result": result,
    }
    (RESULTS / f"{name}.json").write_text(json.dumps(about, indent=2) + "\n", encoding="utf-8")


def _without_folder(words: list[str]) -> list[str]:
    """The command without --data FOLDER, which is different on every machine."""
    where = words.index("--data") if "--data" in words else len(words)
    return words[:where] + words[where + 2 :]


def load(name: str) -> dict[str, Any] | None:
    path = RESULTS / f"{name}.json"
    return json.loads(path.read_text(encoding="utf-8")) if path.exists() else None
