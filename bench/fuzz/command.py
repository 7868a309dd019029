"""`python -m bench fuzz`: the command line of the fuzz."""

from __future__ import annotations

import argparse
import json
import logging
import os
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from bench.fuzz.cases import ModelCases
from bench.fuzz.models import read_models, write_models
from bench.fuzz.run import GOOD, LIMITS, OUTCOMES, Counts, Fault, Limits, chunks, outcome_of, run_cases
from bench.fuzz.runtime import fuzz_runtime
from bench.fuzz.text import fuzz_text

ABOUT = """Mutate valid model files of every kind and use each one that loads; count what comes of it. Then mutate valid
input of every reader for some seconds. A fault (crash, traceback, hang, more than 1 GB) makes the exit code 1."""

SLOWLY = Limits(seconds=120.0, wall=600.0, memory=2 << 30)  # of kernels as plain Python


def main(arguments: list[str]) -> int:
    logging.disable()  # what models and readers report is not what counts here
    parser = argparse.ArgumentParser(prog="python -m bench fuzz", description=ABOUT)
    parser.add_argument("--cases", type=int, default=5000, help="model files to make (default: 5000)")
    parser.add_argument("--seed", type=int, default=0, help="a case is a function of the seed and its number")
    parser.add_argument("--first", type=int, default=0, help="number of the first case")
    parser.add_argument("--jobs", type=int, default=1, help="child processes at a time")
    parser.add_argument("--case", type=int, help="do only this case, in this process")
    parser.add_argument("--write", type=Path, metavar="FILE", help="with --case: only write the model file")
    parser.add_argument("--record", type=Path, metavar="FILE", help="keep counts here; a run that has some goes on")
    parser.add_argument("--checked", action="store_true", help="kernels as plain Python, every index checked")
    parser.add_argument("--runtime", action="store_true", help="use the models in the runtime in C alone")
    parser.add_argument("--text", type=float, default=5.0, metavar="SECONDS", help="for the readers (default: 5)")
    given = parser.parse_args(arguments)
    if given.checked:
        os.environ["PALMETTE_KERNELS"] = "python"  # of the children
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        write_models(folder)
        cases = ModelCases(read_models(folder), given.seed)
        if given.case is not None:
            return one_case(cases, given.case, folder, given.write)
        numbers = range(given.first, given.first + given.cases)
        if given.runtime:
            return 1 if fuzz_runtime(cases.models, folder, given.seed, numbers) else 0
        counts = fuzz_models(cases, numbers, given.jobs, given.record, SLOWLY if given.checked else LIMITS)
        print(table(counts))
        found = len(counts.faults)
        if given.text > 0:
            found += fuzz_text(folder, given.text, given.seed)
    return 1 if found else 0


def one_case(cases: ModelCases, number: int, folder: Path, write: Path | None) -> int:
    """Do one case here, or write its file."""
    case = cases.case(number)
    print(f"case {number} of seed {cases.seed}: {case.model.name}, {case.way}", flush=True)
    if write is not None:
        write.write_bytes(case.data())
        return 0
    cases.prepare(folder)
    outcome, what = outcome_of(cases, number)
    print(f"{what}{outcome}")
    return 0 if outcome in GOOD else 1


# --- many cases ---------------------------------------------------------------------------------------------


def fuzz_models(cases: ModelCases, numbers: range, jobs: int, record: Path | None, limits: Limits = LIMITS) -> Counts:
    """Do the cases, a thousand per child; counts are kept in `record` after each thousand."""
    counts = recorded(record, cases.seed, numbers)
    rest = numbers[counts.total :]
    begun, before = time.monotonic(), counts.total
    for more in _run_all(cases, rest, jobs, limits):
        counts.add(more)
        for fault in more.faults:
            print(f"case {fault.number}: {fault.kind}: {fault.outcome}\n{fault.what}", flush=True)
        rate = (counts.total - before) / (time.monotonic() - begun)
        print(f"{counts.total:,} of {len(numbers):,} cases, {_said(counts)}, {rate:.0f}/s", flush=True)
        if record is not None:
            keep(record, counts, cases.seed, numbers)
    return counts


def _run_all(cases: ModelCases, numbers: range, jobs: int, limits: Limits) -> Iterator[Counts]:
    """The counts of each chunk, in order."""
    with ThreadPoolExecutor(jobs) as pool:
        yield from pool.map(lambda chunk: run_cases(cases, chunk, limits), chunks(numbers))


def _said(counts: Counts) -> str:
    found = outcomes(counts)
    return ", ".join(f"{outcome} {found[outcome]:,}" for outcome in OUTCOMES if found[outcome] or outcome in GOOD)


def outcomes(counts: Counts) -> Counter[str]:
    """Outcomes of all kinds together."""
    found: Counter[str] = Counter()
    for (_, outcome), n in counts.of.items():
        found[outcome] += n
    return found


def keep(record: Path, counts: Counts, seed: int, numbers: range) -> None:
    """Write the counts, whole or not at all."""
    about = {
        "seed": seed, "first": numbers.start, "cases": counts.total, "outcomes": outcomes(counts),
        "by_kind": [[*key, n] for key, n in sorted(counts.of.items())], "faults": counts.faults,
    }  # fmt: skip
    new = record.with_name(record.name + ".new")
    new.write_text(json.dumps(about, indent=1))
    new.replace(record)


def recorded(record: Path | None, seed: int, numbers: range) -> Counts:
    """The counts of an earlier run of the same cases."""
    counts = Counts()
    if record is None or not record.exists():
        return counts
    about = json.loads(record.read_text())
    if (about["seed"], about["first"]) != (seed, numbers.start):
        sys.exit(f"{record} is of seed {about['seed']}, from case {about['first']}")
    counts.of.update({(kind, outcome): n for kind, outcome, n in about["by_kind"]})
    counts.faults = [Fault(*fault) for fault in about["faults"]]
    return counts


def table(counts: Counts) -> str:
    """Counts by kind and outcome, narrower than 80 columns."""
    total = outcomes(counts)
    rows = {
        kind: {outcome: counts.of[kind, outcome] for outcome in OUTCOMES} for kind in sorted({k for k, _ in counts.of})
    }
    first = max(map(len, [*rows, "all"]))
    width = {outcome: 1 + max(len(outcome), len(f"{total[outcome]:,}")) for outcome in OUTCOMES}
    lines = [" " * first + "".join(f"{outcome:>{width[outcome]}}" for outcome in OUTCOMES)]
    for kind, row in {**rows, "all": total}.items():
        lines.append(f"{kind:{first}}" + "".join(f"{row[outcome]:>{width[outcome]},}" for outcome in OUTCOMES))
    return "\n".join(lines)
