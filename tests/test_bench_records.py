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
        found.append(staleness._statements(file))
    assert found[0] == found[1] != found[2]


def test_code_may_move_and_merge(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """In one file, or in two of which one is in another folder and says a constant again; but not changed."""
    one, two = "A = 1\n\n\ndef f(x):\n    return x + A\n", "def g(x):\n    return x - A\n"
    layouts: list[dict[str, str]] = [
        {"kernels/f.py": f"import b\n{one}{two}"},
        {
            "kernels/f.py": one,
            "parsing/kernels/g.py": f"from a import b\nA = 1\n{two}",
            "kernels/registry.py": "B = 2\n",
        },
        {"kernels/f.py": one, "parsing/kernels/g.py": two.replace("-", "*")},
    ]
    digests = []
    for number, layout in enumerate(layouts):
        for name, text in layout.items():
            file = tmp_path / str(number) / name
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(text)
        monkeypatch.setattr(staleness, "SOURCES", tmp_path / str(number))
        digests.append(staleness.digest.__wrapped__())
    assert digests[0] == digests[1] != digests[2]


def test_a_record_of_other_code_is_stale_until_it_is_rechecked(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(staleness, "RESULTS", tmp_path)
    monkeypatch.setattr(staleness, "RECHECKED", tmp_path / "recheck.json")
    record = {"packages": {"palmette": "0.1.0"}, "date": "2026-01-01", "code": "of another commit"}
    (tmp_path / "speed.json").write_text(json.dumps(record))
    assert staleness.stale() == {"speed": "version 0.1.0 of 2026-01-01"}
    staleness.recheck(["speed"], "seen again")
    assert staleness.stale() == {}
