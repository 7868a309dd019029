"""The command line in tests: run it in this process or in one of its own, and the demo corpus as files to run it on."""

from __future__ import annotations

import os
import shlex
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

import pytest

from palmette.cli import main
from palmette.datasets import PARTS, demo_text

TEMPLATES = Path(__file__).resolve().parents[1] / "bench" / "templates"
COMMAND = [sys.executable, "-m", "palmette"]


class Ran(NamedTuple):
    """What a command left: its exit code and what it wrote."""

    code: int
    out: str
    err: str


class Cli:
    """Runs commands in a folder; paths in their arguments are relative to it."""

    def __init__(self, folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
        self.folder = folder
        self.capsys = capsys
        monkeypatch.chdir(folder)

    def __call__(self, line: str, *more: str) -> Ran:
        """Run a command line in this process; nothing of it may look like a crash."""
        self.capsys.readouterr()
        try:
            main([*shlex.split(line), *more])
            code = 0
        except SystemExit as end:
            code = end.code if isinstance(end.code, int) else 0
        out, err = self.capsys.readouterr()
        assert "Traceback" not in err
        return Ran(code, out, err)

    def fine(self, line: str, *more: str) -> str:
        """Run what must succeed; its standard output."""
        ran = self(line, *more)
        assert ran.code == 0, ran.err
        return ran.out

    def write(self, name: str, text: str | bytes) -> Path:
        path = self.folder / name
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
        return path

    def read(self, name: str) -> str:
        return (self.folder / name).read_text(encoding="utf-8")


def spawn(folder: Path, *arguments: str, **options: object) -> subprocess.Popen[bytes]:
    """Start a command in a process of its own, in its own group so that signals reach nobody else."""
    pipes = {"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE, **options}
    return subprocess.Popen([*COMMAND, *arguments], cwd=folder, start_new_session=True, **pipes)  # type: ignore[call-overload]


def leave_demo(folder: Path) -> None:
    """The demo corpus as train.txt, dev.txt and test.txt: word, part of speech, chunk."""
    for part in PARTS:
        (folder / f"{part}.txt").write_text(demo_text(part), encoding="utf-8")


def rows(text: str) -> list[list[list[str]]]:
    """Sentences of a column file as lists of cells."""
    blocks = [block for block in text.strip("\n").split("\n\n") if block]
    return [[line.split() for line in block.split("\n")] for block in blocks]


def last_cells(text: str) -> list[list[str]]:
    """The last cell of each token, a list a sentence."""
    return [[cells[-1] for cells in sentence] for sentence in rows(text)]


def leftovers(folder: Path) -> list[str]:
    """Temporary files that a command should have taken away."""
    return [name for name in os.listdir(folder) if name.startswith(".palmette-")]
