"""The examples of README and docs, run as they stand: Python as doctests, console blocks command by command."""

from __future__ import annotations

import doctest
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from warm_cli import warm_cli

from palmette.cli import main

ROOT = Path(__file__).resolve().parents[1]
OPTIONS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
HEAVY = {"docs/spacy.md": pytest.mark.heavy("spacy")}


def blocks(page: str, kind: str) -> list[str]:
    text = (ROOT / page).read_text(encoding="utf-8")
    return re.findall(rf"```{kind}\n(.*?)```", text, re.DOTALL)


def pages(kind: str) -> list[str]:
    """The pages that have blocks of a kind."""
    found = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
    names = [page.relative_to(ROOT).as_posix() for page in found]
    return [name for name in names if blocks(name, kind)]


def commands(block: str) -> list[tuple[str, str]]:
    """(command, expected output) pairs of a console block."""
    found: list[tuple[str, str]] = []
    for line in block.splitlines():
        if line.startswith("$ "):
            found.append((line[2:], ""))
        else:
            found[-1] = (found[-1][0], found[-1][1] + line + "\n")
    return found


def steps(page: str) -> list[tuple[str, str | None]]:
    """The commands of a page in its order, with what they print. Those that stand in tables, beside the commands of
    other tools, run too, with the files that the console blocks make."""
    text = (ROOT / page).read_text(encoding="utf-8")
    in_tables = r"|^\|.*\| `(palmette .*?)` \|$" if page == "docs/moving.md" else "|($^)"
    made: list[tuple[str, str | None]] = []
    for block, row in re.findall(rf"(?s:```console\n(.*?)```){in_tables}", text, re.MULTILINE):
        made += [(row, None)] if row else commands(block)
    return made


class Shell:
    """Runs commands in folders. Most pages begin with the same one, which runs once."""

    def __init__(self, environment: dict[str, str], begun: Path) -> None:
        path = (
            f"{environment['PATH']}{os.pathsep}{Path(sys.executable).parent}"  # the environment need not be activated
        )
        self.environment = environment | {"COLUMNS": "100", "TERM": "dumb", "PATH": path}
        self.begun = begun
        self.first: dict[str, tuple[Path, str]] = {}  # commands in an empty folder: what they leave and print

    def run(self, command: str, folder: Path) -> str:
        made = subprocess.run(
            command, shell=True, cwd=folder, capture_output=True, text=True, env=self.environment, timeout=300
        )
        assert made.returncode == 0, f"{command}\n{made.stderr}"
        return made.stdout

    def begin(self, command: str, folder: Path) -> str:
        if command not in self.first:
            left = self.begun / str(len(self.first))
            left.mkdir()
            self.first[command] = left, self.run(command, left)
        left, printed = self.first[command]
        shutil.copytree(left, folder, dirs_exist_ok=True)
        return printed


@pytest.fixture(scope="module")
def shell(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Shell]:
    with warm_cli(tmp_path_factory.mktemp("warm")) as environment:
        yield Shell(environment, tmp_path_factory.mktemp("begun"))


@pytest.mark.parametrize("page", pages("console"))
def test_console_blocks(page: str, shell: Shell, tmp_path: Path) -> None:
    check = doctest.OutputChecker()
    for k, (command, expected) in enumerate(steps(page)):
        found = (shell.run if k else shell.begin)(command, tmp_path)
        assert expected is None or check.check_output(expected, found, OPTIONS), (
            f"$ {command}\nexpected\n{expected}\nfound\n{found}"
        )


def test_all_commands_beside_those_of_other_tools_run() -> None:
    rows = re.findall(r"^\|.*`palmette .*$", (ROOT / "docs/moving.md").read_text(encoding="utf-8"), re.MULTILINE)
    ran = [command for command, expected in steps("docs/moving.md") if expected is None]
    assert [row for row in rows if not any(f"| `{command}` |" in row for command in ran)] == [
        row
        for row in rows
        if "model.crf.tagger" in row  # a file that NLTK makes
    ]


def test_no_page_installs_from_an_index_that_does_not_have_the_package() -> None:
    found = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").rglob("*.md"))]
    wrong = [page.name for page in found if re.search(r"pip install[^\n`&]* '?palmette(?!-)", page.read_text("utf-8"))]
    assert not wrong, f"{wrong}: write `pip install .`, with extras '.[extra]'"


def test_installing_from_source_shows_progress() -> None:
    for page in ("README.md", "docs/install.md", "docs/index.md", "CONTRIBUTING.md"):
        assert "pip install -v " in (ROOT / page).read_text(encoding="utf-8"), page


@pytest.mark.parametrize("page", [pytest.param(page, marks=HEAVY.get(page, ())) for page in pages("python")])
def test_python_blocks(page: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from palmette.datasets import PARTS, demo_text

    if page == "docs/spacy.md":
        import palmette.connect.spacy  # noqa: F401  (registers the components where palmette is not installed)
    for part in PARTS:
        (tmp_path / f"{part}.txt").write_text(demo_text(part), encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    source = "".join(blocks(page, "python"))
    assert ">>>" in source  # an example without a prompt would not run
    parsed = doctest.DocTestParser().get_doctest(source, {}, page, page, 0)
    runner = doctest.DocTestRunner(optionflags=OPTIONS)
    report: list[str] = []
    runner.run(parsed, out=report.append)
    assert runner.failures == 0, "".join(report)


@pytest.mark.parametrize(
    "page", sorted(p.relative_to(ROOT).as_posix() for p in [*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md")])
)
def test_links_lead_somewhere(page: str) -> None:
    text = (ROOT / page).read_text(encoding="utf-8")
    for target in re.findall(r"\]\(([^)#:]+)\)", text):
        assert (ROOT / page).parent.joinpath(target).exists(), target


@pytest.mark.parametrize("row", ["`-i N`", "`-m N`"])
def test_limits_of_iterations_of_other_tools_are_those_of_the_learner_crf(
    row: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("data.txt").write_text("a\tA\n\nb\tB\n", encoding="utf-8")
    text = (Path(__file__).resolve().parents[1] / "docs" / "moving.md").read_text(encoding="utf-8")
    line = next(line for line in text.splitlines() if line.startswith(f"| {row} | `--") and " N`" in line[8:])
    flag = line.split("`")[3].split()[0]
    main(["train", "data.txt", "-o", "m.palm", "-q", "--learner", "crf", flag, "1"])
