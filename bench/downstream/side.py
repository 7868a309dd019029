"""One side of one case in a process of its own: `python -m bench.downstream.side CASE SIDE DATA [NAME ...]` runs it and
prints what it found as JSON."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterable
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np

from palmette.evaluation.scores import score

ORIGINAL, PALMETTE = "original", "palmette"
SIDES = (PALMETTE, ORIGINAL)


def run(case: str, side: str, data: Path, *names: str) -> dict[str, Any]:
    """What `measure` of the module of a case found, in a new process."""
    command = [sys.executable, "-m", "bench.downstream.side", case, side, str(data), *names]
    made = subprocess.run(command, stdout=subprocess.PIPE, text=True)
    if made.returncode:
        sys.exit(f"{' '.join(command[1:])} failed with exit code {made.returncode}")
    found: dict[str, Any] = json.loads(made.stdout.splitlines()[-1])
    return found


def missing(packages: tuple[str, ...], files: tuple[Path, ...]) -> str:
    """What of these is not there, in a line; empty if everything is."""
    lost = [name for name in packages if find_spec(name) is None]
    if lost:
        return f"skipped: no package {', '.join(lost)} (pip install 'palmette[bench]')"
    gone = [str(path) for path in files if not path.exists()]
    return f"skipped: no file {', '.join(gone)}" if gone else ""


def span_f1(gold: Iterable[Iterable[str]], guess: Iterable[Iterable[str]]) -> float:
    """F1 of chunks or entities by conlleval's rules."""
    rows, guessed = [list(one) for one in gold], [label for one in guess for label in one]
    flat = [label for one in rows for label in one]
    names = sorted({*flat, *guessed})
    number = {name: k for k, name in enumerate(names)}
    ids = [np.array([number[label] for label in labels], np.int32) for labels in (flat, guessed)]
    found = score(*ids, np.cumsum([0, *map(len, rows)]), names).f1
    assert found is not None
    return found


if __name__ == "__main__":
    case, side, data, *names = sys.argv[1:]
    print(json.dumps(import_module(f"bench.downstream.{case}").measure(side, Path(data), *names)))
