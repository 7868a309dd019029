"""Counts in messages, and the progress of a training at 80 columns."""

from __future__ import annotations

from pathlib import Path

import pytest
from cli_run import Cli, leave_demo

from palmette import Tagger
from palmette.errors import counted
from palmette.reports import TrainingDisplay
from palmette.structures import Epoch


@pytest.fixture
def cli(tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Cli:
    return Cli(tmp_path, capsys, monkeypatch)


@pytest.mark.parametrize(
    ("n", "words", "text"),
    [
        (0, ("label",), "0 labels"),
        (1, ("label",), "1 label"),
        (2, ("label",), "2 labels"),
        (1234, ("token",), "1,234 tokens"),
        (1, ("pass", "passes"), "1 pass"),
        (3, ("pass", "passes"), "3 passes"),
    ],
)
def test_counted(n: int, words: tuple[str, ...], text: str) -> None:
    assert counted(n, *words) == text


def test_one_of_everything(cli: Cli) -> None:
    cli.write("train.txt", "a N\n")
    ran = cli("train train.txt -o m.palm --passes 1 -f pos")
    assert "1 sentence, 1 token, 1 label, " in ran.err
    assert "1 pass" in ran.out or "after 1 pass " in ran.out
    shown = ran.err + ran.out + cli.fine("inspect m.palm") + cli("tag m.palm train.txt -o out.txt").err
    shown += cli.fine("features pos")
    cli.write("t.txt", "U0:%x[0,0]\n")
    shown += cli.fine("features t.txt")
    ran = cli("train train.txt -o h.palm --learner hmm")
    shown += ran.err + ran.out + cli("convert train.txt -o c.txt --to iobes").err
    for wrong in ("1 labels", "1 passes", "1 sentences", "1 tokens", "1 templates", "1 words", "1 attributes"):
        assert f" {wrong}" not in f" {shown}".replace("\n", " "), wrong


@pytest.mark.parametrize(
    "options",
    ["--learner crf --iterations 3", "--learner crf --optimiser sgd --passes 3", "--learner maxent --iterations 3"],
)
def test_likelihoods_show_their_objective(cli: Cli, options: str) -> None:
    leave_demo(cli.folder)
    ran = cli(f"train train.txt -o m.palm -f chunk --dev dev.txt {options}")
    head, *rows = [line for line in ran.err.split("\n") if line.startswith("  ")]
    assert "objective" in head
    assert "updates" not in ran.err
    log = Tagger.load("m.palm").training_log_
    assert [row.split()[1] for row in rows] == [f"{row['figures']['objective']:,.2f}" for row in log]
    assert all(len(line) <= 80 for line in (head, *rows))
    assert len({len(line) for line in (head, *rows)}) <= 2  # but for the mark of the best pass
    assert ("evaluations" in cli.fine("inspect m.palm")) == ("sgd" not in options)


def test_others_show_their_updates(cli: Cli) -> None:
    leave_demo(cli.folder)
    ran = cli("train train.txt -o m.palm -f chunk --passes 1")
    assert "updates" in ran.err
    assert "objective" not in ran.err


@pytest.mark.parametrize("objective", [0.001, 12345.678, 9.9e12, 1e300])
def test_objectives_of_any_size_stay_in_their_column(objective: float, capsys: pytest.CaptureFixture[str]) -> None:
    with TrainingDisplay(1, "f1") as display:
        display(1, 1, 1, Epoch(1, 5, 2, 0.5, 1.0, 0.25, {"objective": objective}))
    head, row = capsys.readouterr().err.rstrip("\n").split("\n")
    assert len(head) == len(row) <= 80
    assert float(row.split()[1].replace(",", "")) == pytest.approx(objective, rel=1e-5, abs=0.005)
