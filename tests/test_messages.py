"""Counts in messages, and the progress of a training at 80 columns."""

from __future__ import annotations

import subprocess
import sys
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
    shown += ran.err + ran.out + cli("convert train.txt -o c.txt --to-scheme iobes").err
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


# Mistakes that new users make


@pytest.fixture
def demo(cli: Cli) -> Cli:
    """The demo corpus and a model of it."""
    leave_demo(cli.folder)
    cli("train train.txt -o chunk.palm --passes 1 -q")
    return cli


@pytest.mark.parametrize(
    "line",
    [
        "train {} -o m.palm", "check {}", "eval chunk.palm {}", "tag chunk.palm {}",
        "train train.txt --dev {} -o m.palm",
        "parser train {} -o m.palm", "classifier train {} -o m.palm", "pipeline train {} -o m.palm",
        "lm train {} -o m.palm",
    ],
)  # fmt: skip
def test_a_model_given_as_data(demo: Cli, line: str) -> None:
    ran = demo(line.format("chunk.palm"))
    assert ran.code == 1
    assert "chunk.palm: is a model, not data" in ran.err
    assert "UTF-8" not in ran.err


@pytest.mark.parametrize(
    ("data", "told"),
    [
        (b"PAR1\x15\x04\x15\x00", "is a Parquet file, not text"),
        (b"PK\x03\x04\x14\x00", "is a zip file"),
        (b"lCRF\x00\x00", "is a model of CRFsuite"),
        (b"SQLite format 3\0rest", "is an SQLite database"),
    ],
)
def test_a_binary_file_as_text(demo: Cli, data: bytes, told: str) -> None:
    demo.write("data.bin", data)
    for line in ("train data.bin -o m.palm", "tag chunk.palm data.bin --format columns", "check data.bin"):
        ran = demo(line)
        assert ran.code == 1
        assert f"data.bin: {told}" in ran.err


@pytest.mark.parametrize("line", ["tag", "eval", "calibrate -o m.palm"])
def test_exchanged_arguments(demo: Cli, line: str) -> None:
    ran = demo(f"{line} test.txt chunk.palm")
    assert ran.code == 2
    assert f"the model comes first, as in `palmette {line.split()[0]} chunk.palm test.txt`" in ran.err


def test_content_that_is_hardly_columns_is_read_with_a_warning(demo: Cli) -> None:
    demo("train train.txt -o pos.palm --label 1 --columns 0 --passes 1 -q")
    demo.write("one.txt", "The train was late .\n")
    ran = demo("tag pos.palm one.txt")
    assert (ran.code, len(ran.out.split("\n"))) == (0, 2)  # one token
    assert "one.txt: the lines look like sentences" in ran.err
    assert "--format text" in ran.err
    demo.write("two.txt", "The train was late .\nIt rained all day long .\n")
    assert "the lines look like sentences; for text: --format text" in demo("tag pos.palm two.txt").err
    assert "look" not in demo("tag pos.palm two.txt --format text").err
    demo.write("head.csv", "word,tag\nThe,DT\ntrain,NN\n")
    told = demo("train head.csv -o m.palm --separator comma --passes 1").err
    assert "head.csv:1: the first line looks like a header" in told
    assert "separated by ',': --separator comma" in demo("tag pos.palm head.csv").err
    assert "look" not in demo("tag chunk.palm test.txt").err


def test_a_folder(demo: Cli) -> None:
    (demo.folder / "folder").mkdir()
    for line in ("train folder -o m.palm", "lm train folder -o m.palm", "parser train folder -o m.palm"):
        ran = demo(line)
        assert ran.code == 1
        assert "folder" in ran.err


def test_cells_with_commas_between_them(cli: Cli) -> None:
    cli.write("data.csv", "The,DT,B-NP\ndog,NN,I-NP\n\nIt,PRP,B-NP\n")
    for line in ("train data.csv -o m.palm", "check data.csv"):
        ran = cli(line)
        assert ran.code == 1
        assert "separated by ',': --separator comma" in ran.err
    assert cli("train data.csv -o m.palm --separator comma --passes 1").code == 0


def test_columns_given_to_a_language_model(demo: Cli) -> None:
    ran = demo("lm train train.txt -o lm.palm")
    assert ran.code == 1
    assert "train.txt: looks like columns: 3 on every line" in ran.err
    assert "one sentence per line" in ran.err
    demo.write("sentences.txt", "time flies\nit flies fast\n\n" * 8)
    assert demo("lm train sentences.txt -o lm.palm").code == 0


def test_development_data_with_other_labels(demo: Cli) -> None:
    other = (demo.folder / "dev.txt").read_text().replace("-NP", "-XX")
    demo.write("other.txt", other)
    n = sum(line.endswith(("B-XX", "I-XX")) for line in other.splitlines())
    share = 100 * n / sum(bool(line.strip()) for line in other.splitlines())
    ran = demo("train train.txt --dev other.txt -o m.palm --passes 1")
    assert f"{share:.0f}% of the tokens of the development data have labels that the training data lacks" in ran.err
    assert "B-XX" in ran.err
    assert "lacks" not in demo("train train.txt --dev dev.txt -o m.palm --passes 1").err
    out = demo.fine("check train.txt --against other.txt")
    assert "labels that only other data has" in out
    begins = sum(line.endswith("B-XX") for line in other.splitlines())
    assert f"B-XX: {begins:,} tokens of other.txt" in " ".join(out.split())


def test_missing_extras_are_named(tmp_path: Path) -> None:
    blocked = "import sys\nfor name in ('sklearn', 'starlette', 'uvicorn'): sys.modules[name] = None\n"
    for use, extra in (
        ("from palmette.crfsuite import metrics; metrics.flat_f1_score([['a']], [['a']])", "sklearn"),
        ("import palmette.serve.app", "serve"),
        ("import palmette.serve.run", "serve"),
    ):
        ran = subprocess.run([sys.executable, "-c", blocked + use], capture_output=True, text=True)
        assert ran.returncode == 1
        assert f"pip install 'palmette[{extra}]'" in ran.stderr.splitlines()[-1]
    ran = subprocess.run(
        [sys.executable, "-c", f"{blocked}from palmette.cli import main\nmain(['serve', 'x.palm'])"],
        capture_output=True, text=True, cwd=tmp_path,
    )  # fmt: skip
    assert ran.stderr.strip().endswith("pip install 'palmette[serve]'")
    assert "Traceback" not in ran.stderr
