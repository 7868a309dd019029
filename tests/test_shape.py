"""`python -m bench shape`: the bars and what a grown one does."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from bench import shape


@pytest.fixture
def bars(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    monkeypatch.setattr(shape, "RECORD", tmp_path / "shape.json")
    monkeypatch.setattr(shape, "measured", lambda: {"src: files": 5, "src: lines": 100})
    return tmp_path / "shape.json"


@pytest.mark.parametrize(("files", "code"), [(4, 1), (5, 0), (6, 0)])
def test_a_bar_above_its_record_fails(bars: Path, files: int, code: int, capsys: pytest.CaptureFixture[str]) -> None:
    bars.write_text(json.dumps({"src: files": files, "src: lines": 100}))
    assert shape.main(["--check"]) == code
    assert ("grown beyond the record: src: files" in capsys.readouterr().err) == bool(code)


def test_record_is_what_was_counted(bars: Path) -> None:
    assert shape.main(["--record"]) == 0
    assert json.loads(bars.read_text()) == {"src: files": 5, "src: lines": 100}


def test_counts_by_the_definition(tmp_path: Path) -> None:
    source = tmp_path / "test_x.py"
    source.write_text(
        "from palmette import Tagger\nfrom palmette.data.corpus import Corpus, other\nfrom palmette.data import x\n"
    )
    assert shape._private_imports(source) == 2
