"""The smallest cell of each study run again: what the documents show is what comes out."""

from __future__ import annotations

import importlib
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

ROOT = Path(__file__).resolve().parents[1]
DOCS = ROOT / "docs" / "studies"
ON_CORPORA = [
    "np_latent", "bio_latent", "collins", "likelihood", "probperc", "inexact", "grammaticality", "parsing",
    "latent_beam", "latent_gain", "chunk_views",
]  # fmt: skip
TIMES = ("seconds", "pass_seconds", "to_best", "megabytes", "cpu")  # differ from run to run


def cell_of(name: str, what: dict[str, Any]) -> dict[str, Any]:
    cells = json.loads((DOCS / f"{name}.json").read_text(encoding="utf-8"))["cells"]
    found = [cell for cell in cells if what.items() <= cell.items()]
    assert len(found) == 1
    return found[0]


def study(name: str, monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.syspath_prepend(str(ROOT))
    return importlib.import_module(f"studies.{name}")


def check(name: str, what: dict[str, Any], now: dict[str, Any]) -> None:
    then = cell_of(name, what)
    compared = {key for key in now if key not in TIMES}
    assert compared
    for key in compared:
        expected = then[key][: len(now[key])] if isinstance(now[key], list) else then[key]  # the first passes
        assert now[key] == pytest.approx(expected, abs=0.02), key


def test_synthetic(monkeypatch: pytest.MonkeyPatch) -> None:
    check("synthetic", *study("synthetic", monkeypatch).smallest())


@pytest.mark.parametrize("name", ON_CORPORA)
def test_on_corpora(name: str, corpora: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    check(name, *study(name, monkeypatch).smallest(corpora))


@pytest.mark.parametrize("name", ["synthetic", *ON_CORPORA])
def test_pages_are_made_from_the_records(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing on a page but what its record gives."""
    module = study(name, monkeypatch)
    made = module.page(module.Record(name, module.SEEDS))
    assert made.strip() in (DOCS / f"{name}.md").read_text(encoding="utf-8")


def test_the_help_lists_every_study(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    module = study("__main__", monkeypatch)
    with pytest.raises(SystemExit) as ended:
        module.main(["--help"])
    assert ended.value.code == 0
    text = capsys.readouterr().out
    assert all(f"\n  {name} " in text for name in ["synthetic", *ON_CORPORA])
    assert module.CORPORA in text
    assert (ROOT / module.CORPORA).is_file()


def test_a_fresh_study_has_a_record_of_its_own(tmp_path: Path) -> None:
    """In a process of its own: the folder is read when the study is imported."""
    program = (
        "from studies.common import DOCS, Record; r = Record('synthetic', (1,)); assert not r.cells; "
        "r.cell({'a': 1}, lambda: {'b': 2}); r.cell({'a': 1}, dict); print(DOCS); print(r.told())"
    )
    environment = os.environ | {"PALMETTE_STUDIES": str(tmp_path)}
    made = subprocess.run(
        [sys.executable, "-c", program], cwd=ROOT, env=environment, capture_output=True, text=True, check=True
    )
    assert made.stdout.startswith(f"{tmp_path}\n1 of 2 figures were run now, 1 are from the record")
    assert (tmp_path / "synthetic.json").is_file()


def test_nothing_is_run_unless_asked_for(tmp_path: Path) -> None:
    """The command says that the page is made from the record, and needs no data for it."""
    environment = os.environ | {"PALMETTE_STUDIES": str(tmp_path), "PALMETTE_DATA": str(tmp_path)}
    shutil.copy(DOCS / "latent_beam.json", tmp_path)
    made = subprocess.run(
        [sys.executable, "-m", "studies", "latent_beam"], cwd=ROOT, env=environment, capture_output=True, text=True,
        check=True,
    )  # fmt: skip
    assert "nothing was run. --fresh runs the study on your data" in made.stderr
    assert (tmp_path / "latent_beam.md").read_text(encoding="utf-8") == made.stdout[:-1]


def test_a_quick_run_compares_what_it_has_time_for(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Cells that the shipped record has times for, until the seconds are used up; the others are not run."""
    common = study("common", monkeypatch)
    monkeypatch.setenv("PALMETTE_STUDIES_RUN", "5")
    monkeypatch.setattr(common, "SHIPPED", tmp_path)
    cells = [{"a": 1, "f1": 50.0, "cpu": 3.0}, {"a": 2, "f1": 60.0, "cpu": 3.0}, {"a": 3, "f1": 70.0, "cpu": 1.0}]
    (tmp_path / "some.json").write_text(json.dumps({"date": "2026-01-01", "cells": cells}), encoding="utf-8")
    record = common.Record("some", (1,), tmp_path / "fresh")
    for number in (1, 2, 3, 4):
        record.cell({"a": number}, lambda: {"f1": 51.0, "cpu": 1.0})
    assert [what for what, _, _ in record.again] == [{"a": 1}, {"a": 3}]
    assert "| a 1 | f1 | 50.00 | 51.00 | +1.00 |" in common.quick_page(record)
    assert not (tmp_path / "fresh").exists()


def test_wrong_wishes_are_named(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    module = study("__main__", monkeypatch)
    for wishes, told in (
        (["--quick"], "--quick goes with --fresh"),
        (["--output", "x"], "--output goes with --fresh and --row"),
    ):
        with pytest.raises(SystemExit):
            module.parsed(["synthetic", *wishes])
        assert told in capsys.readouterr().err


def test_rows_are_compared_seed_by_seed(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Tokens that one side alone has right are counted over all seeds; a row beside itself does not differ."""
    paired = study("paired", monkeypatch)
    paths = {}
    for side, right in (("latent", [[1, 1, 1, 0], [1, 1, 0, 0]]), ("plain", [[1, 0, 0, 1], [1, 0, 0, 0]])):
        for seed, own in enumerate(right):
            paths[side, seed] = tmp_path / f"{side}-{seed}.npz"
            tally = np.array([float(sum(own[:2])), float(sum(own[2:]))])
            np.savez_compressed(paths[side, seed], right=np.array(own, bool), top=tally, bottom=np.array([2.0, 2.0]))
    found = paired.compared((paths["latent", seed], paths["plain", seed]) for seed in (0, 1))
    assert (found["only_latent"], found["only_plain"]) == (3, 1)
    assert found["mcnemar"] == pytest.approx([1.0, 1.0])  # two against one, one against none
    assert 0 < found["randomisation"] <= 1
    same = paired.compared((paths["plain", seed], paths["plain", seed]) for seed in (0, 1))
    assert (same["only_latent"], same["only_plain"], same["randomisation"]) == (0, 0, 1.0)


# --- published tables row by row ----------------------------------------------------------------------------


def test_every_row_of_a_table_is_of_a_study_and_has_a_time_if_it_was_run(monkeypatch: pytest.MonkeyPatch) -> None:
    tables = study("tables", monkeypatch)
    for table in tables.TABLES:
        rows = tables.rows_of(table)
        assert rows
        for name, row in rows.items():
            assert (ROOT / "studies" / f"{row.study}.py").is_file()
            assert row.cells() or table == "MV.table2", f"{table}: {name}"
    assert "| latent, mavg | 94.37 | 93.64 ± 0.05 | 2 min |" in tables.listing("LP.table4")


def test_a_row_runs_its_own_cell_and_shows_it_beside_the_record(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "studies", "LP.figure3", "--row", "perceptron", "--seed", "1", "--output"]
    made = subprocess.run([*command, tmp_path], cwd=ROOT, capture_output=True, text=True, check=True)
    first, *rest = made.stdout.splitlines()
    assert first == "LP.figure3, perceptron, seed 1: about 1 s, by the record of docs/studies/synthetic.json"
    assert rest[0].startswith("published: 57.3; record: 53.03")
    rows = [line for line in rest if line.startswith("| method")]
    assert len(rows) == 1
    assert rows[0].endswith("| +0.00 |")


def test_a_quick_run_that_is_stopped_prints_the_headlines_that_it_has(tmp_path: Path) -> None:
    """The cells of published tables come first, whatever the order of the study."""
    command = [sys.executable, "-m", "studies", "synthetic", "--fresh", "--quick", "500", "--output", tmp_path]
    running = subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert running.stderr is not None
    line = running.stderr.readline()  # of the first cell
    assert line.startswith("{'method': 'perceptron', 'p': 0.9,")
    assert running.stderr.readline()  # the first one is kept by now
    running.terminate()
    told, errors = running.communicate(timeout=60)
    assert running.returncode == 130
    assert "| method perceptron, p 0.9, seed 1, length 20, states None | accuracy |" in told
    assert "run again; stopped" in errors


def test_rows_that_do_not_exist_are_named(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    module = study("__main__", monkeypatch)
    for wishes, told in (
        (["LP.table4", "--row", "latent"], "LP.table4 has no row 'latent'; its rows are: latent, mavg; "),
        (["synthetic", "--row", "CRF"], "--row goes with a published table: LP.figure3, "),
        (["LP.table4", "--seed", "1"], "--seed goes with --row"),
    ):
        with pytest.raises(SystemExit):
            module.parsed(wishes)
        assert told in capsys.readouterr().err
