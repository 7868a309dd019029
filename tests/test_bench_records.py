"""A record of a benchmark is of the code that it measures, or says why it is kept."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from bench import staleness


def test_no_record_is_older_than_its_code() -> None:
    old = staleness.stale()
    assert not old, f"run these benchmarks again, or `python -m bench recheck NAME --why ...`: {old}"


def test_code_counts_and_prose_does_not(tmp_path: Path) -> None:
    file = tmp_path / "x.py"
    found = []
    for text in (
        '"""Doc."""\nimport a\ndef f(x):\n    """Doc."""\n    return x + 1\n',
        '"""Other."""\nimport b\ndef f(x):  # a comment\n    """More."""\n    return x + 1\n',
        "def f(x):\n    return x + 2\n",
    ):
        file.write_text(text)
        found.append(staleness._body(file))
    assert found[0] == found[1] != found[2]


def test_a_record_of_other_code_is_stale_until_it_is_rechecked(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(staleness, "RESULTS", tmp_path)
    monkeypatch.setattr(staleness, "RECHECKED", tmp_path / "recheck.json")
    record = {"packages": {"palmette": "0.1.0"}, "date": "2026-01-01", "code": "of another commit"}
    (tmp_path / "speed.json").write_text(json.dumps(record))
    assert staleness.stale() == {"speed": "version 0.1.0 of 2026-01-01"}
    staleness.recheck(["speed"], "seen again")
    assert staleness.stale() == {}
