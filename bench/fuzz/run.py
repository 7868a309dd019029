"""Runs numbered cases in child processes and counts what comes of them.

A child does up to a thousand cases under a limit of memory and reports each of them. The parent waits for these
reports: a child that dies or is silent for too long loses the case that it was at, which is counted as a crash or a
hang, and the rest goes on in a new child.
"""

from __future__ import annotations

import faulthandler
import logging
import multiprocessing
import os
import resource
import signal
import tempfile
import time
import traceback
from collections import Counter
from collections.abc import Iterator
from multiprocessing.connection import Connection
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import NamedTuple, Protocol

from palmette.errors import PalmetteError

REFUSED, USED, CRASH, TRACEBACK, HANG, MEMORY = "refused", "used", "crash", "traceback", "hang", "memory"
OUTCOMES = (REFUSED, USED, CRASH, TRACEBACK, HANG, MEMORY)
GOOD = (REFUSED, USED)
CHUNK = 1000  # cases of a child
IN_MEMORY = "/dev/shm" if Path("/dev/shm").is_dir() else None  # a folder that no disk slows down
START = 120.0  # seconds that a child may take to start


class Cases(Protocol):
    """Numbered cases. They are made in the parent and sent to its children."""

    def prepare(self, work: Path) -> None:
        """Get ready in a child; `work` is a folder of its own."""
        ...

    def kind(self, number: int) -> str:
        """The kind that a case is counted under."""
        ...

    def do(self, number: int) -> str:
        """Do a case: REFUSED or USED. Any exception is a fault."""
        ...


class Limits(NamedTuple):
    """What a case may take."""

    seconds: float = 10.0  # of a processor: other programs may be in the way
    wall: float = 120.0  # seconds in all
    memory: int = 1 << 30


LIMITS = Limits()


class Fault(NamedTuple):
    """A case that went wrong."""

    number: int
    kind: str
    outcome: str
    what: str


class Counts:
    """Outcomes by kind, and the cases that went wrong."""

    def __init__(self) -> None:
        self.of: Counter[tuple[str, str]] = Counter()
        self.faults: list[Fault] = []

    def count(self, fault: Fault) -> None:
        self.of[fault.kind, fault.outcome] += 1
        if fault.outcome not in GOOD:
            self.faults.append(fault)

    def add(self, other: Counts) -> None:
        self.of += other.of
        self.faults += other.faults

    @property
    def total(self) -> int:
        return sum(self.of.values())


def chunks(numbers: range) -> Iterator[range]:
    for k in range(0, len(numbers), CHUNK):
        yield numbers[k : k + CHUNK]


def run_cases(cases: Cases, numbers: range, limits: Limits = LIMITS) -> Counts:
    """Do the cases in one child after another."""
    counts, rest = Counts(), numbers
    while len(rest):
        rest = _run_child(cases, rest, limits, counts)
    return counts


def _run_child(cases: Cases, numbers: range, limits: Limits, counts: Counts) -> range:
    """Do as many of the cases as one child gets to; what is left."""
    context = multiprocessing.get_context("spawn")
    ours, theirs = context.Pipe(duplex=False)
    with tempfile.TemporaryDirectory(dir=IN_MEMORY) as work:
        child = context.Process(target=_child, args=(theirs, cases, numbers, limits, work), daemon=True)
        child.start()
        theirs.close()
        try:
            if not (ours.poll(START) and ours.recv()):
                raise RuntimeError("a child process did not start")
            return _watched(ours, child, cases, numbers, limits, counts, Path(work))
        finally:
            child.kill()
            child.join()
            ours.close()


def _watched(
    reports: Connection, child: BaseProcess, cases: Cases, numbers: range, limits: Limits, counts: Counts, work: Path
) -> range:
    """Count what a child reports until it ends; what is left."""
    for done, number in enumerate(numbers):
        try:
            outcome, what = reports.recv() if _answers(reports, child, limits) else (HANG, _asked(child, work))
        except EOFError:
            child.join()
            outcome, what = CRASH, f"exit code {child.exitcode}\n{_written(work)}"
        counts.count(Fault(number, cases.kind(number), outcome, what))
        if outcome in (CRASH, HANG, MEMORY):
            return numbers[done + 1 :]
    return numbers[:0]


def _answers(reports: Connection, child: BaseProcess, limits: Limits) -> bool:
    """Whether a child reports its case within the limits of time."""
    if reports.poll(min(limits.seconds, limits.wall)):
        return True
    begun, worked = time.monotonic() - limits.seconds, _processor_time(child)
    while time.monotonic() - begun < limits.wall and _processor_time(child) - worked < limits.seconds:
        if reports.poll(0.5):
            return True
    return False


def _processor_time(child: BaseProcess) -> float:
    """Seconds that a process has worked; those of a process that has ended are not known, and do not matter."""
    try:
        fields = Path(f"/proc/{child.pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return 0.0
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def _asked(child: BaseProcess, work: Path) -> str:
    """Where a child hangs."""
    if child.pid is not None:
        os.kill(child.pid, signal.SIGUSR1)
        time.sleep(0.5)
    return _written(work)


def _written(work: Path) -> str:
    """What `faulthandler` wrote."""
    path = work / "faults.txt"
    return path.read_text(errors="replace")[-4000:] if path.exists() else ""


# --- in the child -------------------------------------------------------------------------------------------


def _child(reports: Connection, cases: Cases, numbers: range, limits: Limits, work: str) -> None:
    with (Path(work) / "faults.txt").open("w") as faults:
        faulthandler.enable(faults)
        faulthandler.register(signal.SIGUSR1, faults)
        logging.disable()  # what models report is not what counts here
        cases.prepare(Path(work))
        resource.setrlimit(resource.RLIMIT_DATA, (_used() + limits.memory,) * 2)
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        reports.send(True)
        for number in numbers:
            outcome, what = outcome_of(cases, number)
            reports.send((outcome, what))
            if outcome == MEMORY:
                return


def outcome_of(cases: Cases, number: int) -> tuple[str, str]:
    """What comes of a case, and the traceback if it is a fault."""
    try:
        return cases.do(number), ""
    except Exception as error:
        return MEMORY if ran_out_of_memory(error) else TRACEBACK, traceback.format_exc()


def ran_out_of_memory(error: BaseException | None) -> bool:
    """Whether this is a MemoryError, or was raised because of one."""
    while error is not None:
        if isinstance(error, MemoryError):
            return True
        error = error.__cause__ or error.__context__
    return False


def refusal(error: PalmetteError) -> None:
    """An error of ours is no fault, unless memory ran out: then it is raised again."""
    if ran_out_of_memory(error):
        raise error


def _used() -> int:
    """Bytes of data that this process has."""
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith("VmData:"):
            return int(line.split()[1]) << 10
    return 0
