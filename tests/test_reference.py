"""The reference pages are those that the declarations make."""

from __future__ import annotations

import importlib.util
from pathlib import Path

DOCS = Path(__file__).resolve().parents[1] / "docs"


def generator():  # type: ignore[no-untyped-def]
    spec = importlib.util.spec_from_file_location("generate_reference", DOCS / "generate_reference.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_pages_are_up_to_date() -> None:
    made = generator().pages()
    folder = DOCS / "reference"
    stored = {path.relative_to(folder).as_posix(): path.read_text(encoding="utf-8") for path in folder.rglob("*.md")}
    assert sorted(made) == sorted(stored), "run `python docs/generate_reference.py`"
    assert [name for name in made if made[name] != stored[name]] == [], "run `python docs/generate_reference.py`"


def test_every_declared_option_has_help() -> None:
    from palmette.cli import COMMANDS, load_command

    for name in COMMANDS:
        for flag in load_command(name).flags():
            assert flag.option.help.strip().endswith((".", "?")), f"{name}: {flag.option.name}"
