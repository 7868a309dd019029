"""Every name on the page that leads from the papers to the code exists: a renamed function, option or test is noticed.

Functions, classes and tests are found by name wherever they stand, so that a file may move.
"""

from __future__ import annotations

import ast
import importlib
import re
import shlex
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from palmette.cli import COMMANDS, load_command
from palmette.options.presets import PRESETS

ROOT = Path(__file__).resolve().parents[1]
PAGE = (ROOT / "docs" / "papers.md").read_text(encoding="utf-8")
PLACEHOLDERS = {"DATA", "MODEL", "TEMPLATES", "FOLDER", "NAME", "pytest -k NAME", "--row NAME --seed 1 --data FOLDER"}
PROSE = re.sub(r"```.*?```", "", PAGE, flags=re.DOTALL)  # examples are run by test_docs.py
NAMES = sorted(set(re.findall(r"`([^`]+)`", PROSE.replace("\\|", "|"))) - PLACEHOLDERS)


@pytest.fixture
def tables(monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.syspath_prepend(str(ROOT))
    return importlib.import_module("studies.tables")


@cache
def defined() -> set[str]:
    """The names of all functions and classes of the sources, the tests and the studies."""
    found: set[str] = set()
    for folder in ("src/palmette", "tests", "studies"):
        for path in (ROOT / folder).rglob("*.py"):
            for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
                if isinstance(node, ast.FunctionDef | ast.ClassDef):
                    found.add(node.name)
    return found


@cache
def flags() -> dict[str, list[Any]]:
    """All flags of all commands, with the options that they set."""
    found: dict[str, list[Any]] = {}
    for name in COMMANDS:
        command = load_command(name)
        for flag in command.flags():
            found.setdefault(f"--{flag.option.flag_name}", []).append(flag.option)
        for owner in command.owners:
            for option in owner.__options__.values():
                found.setdefault(f"--{option.flag_name}", []).append(option)
    return found


def takes(option: Any, value: str) -> bool:
    """Whether an option has this value."""
    if option.variants is not None:
        return value in option.variants
    try:
        option.checked(option.from_text(value))
    except ValueError:
        return False
    return True


def is_command(name: str) -> bool:
    """Whether a command line can be parsed."""
    words = shlex.split(name)[1:]
    size = 2 if " ".join(words[:2]) in COMMANDS else 1
    command = load_command(" ".join(words[:size])).parsed(words[size:])
    return command is not None


def is_study(name: str, tables: Any) -> bool:
    """Whether `python -m studies TABLE --row ROW` has such a table and row."""
    words = shlex.split(name)[3:]
    row = words[words.index("--row") + 1] if "--row" in words else None
    return words[0] in tables.TABLES and (row is None or row in tables.rows_of(words[0]))


@pytest.mark.parametrize("name", NAMES)
def test_every_name_exists(name: str, tables: Any) -> None:
    if name.startswith("palmette "):
        assert is_command(name)
    elif name.startswith("python -m studies "):
        assert is_study(name, tables)
    elif name.startswith("pytest -k "):
        assert any(name.split()[2] in own for own in defined() if own.startswith("test_"))
    elif name.startswith("--"):
        flag, _, value = name.partition(" ")
        assert flag in flags()
        assert not value or any(takes(option, value) for option in flags()[flag])
    elif name.endswith(".txt"):
        assert any((ROOT / folder / name).is_file() for folder in ("bench/templates", "studies/templates"))
    else:
        assert name in defined() or name in tables.TABLES or any(name in presets for presets in PRESETS.values())


def test_every_preset_and_table_is_on_the_page(tables: Any) -> None:
    assert {name for presets in PRESETS.values() for name in presets} <= set(NAMES)
    assert set(tables.TABLES) <= set(NAMES)


def test_every_row_says_where_it_is_and_how_to_see_it() -> None:
    rows = [line for line in PAGE.splitlines() if line.startswith("| ") and line.count(" | ") == 3]
    bodies = [row for row in rows if not row.startswith("| in the ")]
    assert len(bodies) > 70
    for row in bodies:
        *_, checked, see = row.replace("\\|", "").strip("| ").split(" | ")
        assert checked.strip(), row
        assert see.strip().startswith("`"), row
