"""Confidences on the command line: in files of all formats, in blocks, and the verbs calibrate and eval."""

from __future__ import annotations

import itertools
import json
from functools import partial
from pathlib import Path

import numpy as np
import pytest
from cli_run import Cli, leave_demo, rows

from palmette import Tagger
from palmette.data import Confidence, ConfidenceOutput, stream_corpus
from palmette.data.formats.labelling import SpanPosteriors, confidence_cells
from palmette.datasets import load_demo
from palmette.structures.chain import files as tagging


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The demo corpus with a perceptron (chunk.palm), the same calibrated (sure.palm) and a tagger of words."""
    made = tmp_path_factory.mktemp("demo")
    leave_demo(made)
    X, _ = load_demo("train")
    tagger = Tagger("chunk", passes=3, dev_share=0).fit_file(made / "train.txt")
    tagger.save(made / "chunk.palm")
    tagger.calibrate(*load_demo("dev"))
    tagger.save(made / "sure.palm")
    words = Tagger("pos", passes=3).fit([[w for w, _ in s] for s in X], [[p for _, p in s] for s in X])
    words.calibrate(*(lambda d: ([[w for w, _ in s] for s in d], [[p for _, p in s] for s in d]))(load_demo("dev")[0]))
    words.save(made / "pos.palm")
    return made


@pytest.fixture
def cli(folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Cli:
    return Cli(folder, capsys, monkeypatch)


def test_columns_and_json_say_the_same(cli: Cli) -> None:
    objects = [json.loads(line) for line in cli.fine("tag sure.palm test.txt --confidence --to jsonl -q").splitlines()]
    text = cli.fine("tag sure.palm test.txt --confidence --scores -q")
    blocks = [block.split("\n") for block in text.strip("\n").split("\n\n")]
    assert len(blocks) == len(objects)
    for block, one in zip(blocks, objects, strict=True):
        assert block[0].startswith("# score ")
        assert block[1] == f"# confidence {one['confidence']:.6g}"
        parts = [line.split() for line in block[2:]]
        assert [part[3] for part in parts] == one["tags"]
        assert [float(part[4]) for part in parts] == one["token_confidence"]
        of_span = {k: row["confidence"] for row in one["span_confidence"] for k in range(row["start"], row["end"])}
        assert [part[5] for part in parts] == [f"{of_span[k]:.6f}" if k in of_span else "-" for k in range(len(parts))]


def test_marginals_in_columns_and_json(cli: Cli) -> None:
    objects = [json.loads(line) for line in cli.fine("tag sure.palm test.txt --marginals --to jsonl -q").splitlines()]
    tokens = list(itertools.chain.from_iterable(rows(cli.fine("tag sure.palm test.txt --marginals -q"))))
    tables = [table for one in objects for table in one["marginals"]]
    assert "confidence" not in objects[0]
    for line, table in zip(tokens, tables, strict=True):
        assert line[4:] == [f"{label}/{share:.6f}" for label, share in table.items()]
        assert sum(table.values()) == pytest.approx(1.0, abs=1e-4)


@pytest.mark.parametrize("model", ["sure.palm", "pos.palm"])
@pytest.mark.parametrize(
    "options", [{"confidence": True}, {"marginals": True}, {"confidence": True, "marginals": True}]
)
@pytest.mark.parametrize("output", ["columns", "jsonl"])
def test_blocks_and_threads_make_no_difference(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, model: str, options: dict, output: str
) -> None:
    tagger = Tagger.load(folder / model)
    tagger.tag_file(folder / "test.txt", tmp_path / "whole", output=output, scores=True, **options)
    monkeypatch.setattr(tagging, "stream_corpus", partial(stream_corpus, block=300))
    tagger.tag_file(folder / "test.txt", tmp_path / "parts", output=output, scores=True, threads=2, **options)
    assert (tmp_path / "parts").read_bytes() == (tmp_path / "whole").read_bytes() != b""


def test_document_marks_separators_and_empty_sentences(cli: Cli) -> None:
    cli.write("marks.txt", "-DOCSTART- X\n\nThe DT\ndog NN\n\n")
    lines = cli.fine("tag sure.palm marks.txt --confidence -q").splitlines()
    assert lines[0] == "-DOCSTART- X O - -"
    assert len({len(line.split(" ")) for line in lines if line and line[0] != "#"}) == 1
    cli.write("comma.csv", "The,DT\n\n")
    assert cli.fine("tag sure.palm comma.csv --separator comma --confidence -q").splitlines()[1].count(",") == 4
    cli.write("some.jsonl", '{"tokens":[]}\n{"tokens":["The"],"id":7}\n')
    one, other = map(json.loads, cli.fine("tag pos.palm some.jsonl --confidence --marginals -q").splitlines())
    empty = {"tokens": [], "tags": [], "confidence": 1.0, "token_confidence": [], "marginals": []}
    assert one == empty | {"calibrated": True}  # its learner is a crf
    assert other["id"] == 7
    assert other["confidence"] == other["token_confidence"][0] == other["marginals"][0][other["tags"][0]]


def test_conllu_has_room_in_its_last_field(cli: Cli) -> None:
    word = "\t_\tX\t_\t_\t0\troot\t_\t"
    cli.write("c.conllu", f"# text = The dog\n1\tThe{word}_\n2\tdog{word}SpaceAfter=No\n\n")
    lines = cli.fine("tag pos.palm c.conllu --format conllu --confidence -q").splitlines()
    assert lines[0] == "# text = The dog"
    assert lines[1].startswith("# confidence = 0.")
    first, second = (line.split("\t") for line in lines[2:4])
    assert first[9].startswith("Confidence=0.")
    assert second[9].startswith("SpaceAfter=No|Confidence=0.")
    assert len(first) == 10
    ran = cli("tag pos.palm c.conllu --format conllu --marginals -q")
    assert ran.code == 2
    assert "write jsonl or columns (--to)" in ran.err


def test_what_is_known_is_certain(cli: Cli) -> None:
    cli.write("known.txt", "The DT ?\ndog NN I-NP\nbarks VBZ B-VP|B-NP\n\n")
    told = cli.fine("tag sure.palm known.txt --known 2 --columns 0,1 --confidence --marginals --to jsonl -q")
    one = json.loads(told)
    assert one["marginals"][1] == {label: float(label == "I-NP") for label in one["marginals"][1]}
    assert one["token_confidence"][1] == 1.0
    assert sum(one["marginals"][2][label] for label in ("B-VP", "B-NP")) == pytest.approx(1.0)


def test_the_warning_comes_once_and_tells_what_to_do(cli: Cli) -> None:
    ran = cli("tag chunk.palm test.txt --confidence")
    assert ran.err.count("not calibrated") == 1
    assert "palmette calibrate chunk.palm DEV" in ran.err
    assert "probab" not in ran.out
    assert "calibrated" not in cli("tag chunk.palm test.txt --confidence -q").err
    for model, start in (("chunk", "# confidence (not calibrated)\n"), ("sure", "")):
        for data in ("test.txt", "--with pos=pos.palm --text Time"):
            text = cli.fine(f"tag {model}.palm {data} --marginals -q")
            assert text.startswith(start)
            assert text.startswith("#") == bool(start)
    assert "calibrated" not in cli("tag sure.palm test.txt --marginals").err
    assert "another bias" in cli("tag sure.palm test.txt --marginals --bias O=1").err
    assert "calibrated" not in cli("tag chunk.palm test.txt").err


def test_posterior_is_a_way_to_decode(cli: Cli) -> None:
    assert cli.fine("tag sure.palm test.txt --posterior -q") == cli.fine("tag sure.palm test.txt --decode marginal -q")
    assert cli("tag sure.palm test.txt --posterior --decode exact").code == 2
    assert cli("tag sure.palm test.txt --confidence --show-states -q").code == 2
    typed = cli.fine("tag pos.palm --text", "The dog barks .", "--confidence").splitlines()
    assert typed[0].startswith("# confidence 0.")
    assert [len(line.split()) for line in typed] == [3] * 5


# --- calibrate and eval -------------------------------------------------------------------------------------


def test_calibrate_on_the_command_line(cli: Cli) -> None:
    ran = cli("calibrate chunk.palm dev.txt -o made.palm")
    assert ran.code == 0
    assert "temperature" in ran.out
    assert "its confidences are probabilities now" in ran.err
    assert cli.fine("tag made.palm test.txt --confidence -q") == cli.fine("tag sure.palm test.txt --confidence -q")
    found = json.loads(cli.fine("calibrate chunk.palm dev.txt -o made.palm --json -q"))
    assert found["after"]["nll"] < found["before"]["nll"]
    assert {"ece_tokens", "ece_spans", "ece_sentences"} < set(found["after"])
    about = json.loads(cli.fine("inspect made.palm --json"))
    assert about["calibration"] == found
    assert about["confidence_is"] == "probability"
    assert json.loads(cli.fine("inspect chunk.palm --json"))["confidence_is"] == "confidence (not calibrated)"
    assert "fitted on dev.txt" in cli.fine("inspect made.palm --top 1")


def test_partly_known_labels(cli: Cli) -> None:
    sentences = rows(cli.read("dev.txt"))
    some = [[[*cells[:2], "?" if i == 1 else cells[2]] for i, cells in enumerate(sentence)] for sentence in sentences]
    text = "\n\n".join("\n".join(" ".join(cells) for cells in sentence) for sentence in some)
    cli.write("some.txt", text + "\n")
    ran = cli("calibrate chunk.palm some.txt -o x.palm")
    assert (ran.code, "--partial" in ran.err) == (1, True)
    found = json.loads(cli.fine("calibrate chunk.palm some.txt -o some.palm --partial --json -q"))
    whole = json.loads(cli.fine("calibrate chunk.palm dev.txt -o some.palm --json -q"))
    assert found["sentences"] == whole["sentences"]
    assert found["before"]["nll"] < whole["before"]["nll"]
    known = json.loads(cli.fine("eval sure.palm some.txt --partial --calibration --json"))["calibration"]["tokens"]
    assert known["count"] == sum(len(sentence) - (len(sentence) > 1) for sentence in some)


def test_the_reliability_table_of_eval(cli: Cli) -> None:
    told = json.loads(cli.fine("eval sure.palm test.txt --calibration --json"))
    found = told["calibration"]
    assert found["called"] == "probability"
    assert found["tokens"]["accuracy"] == pytest.approx(told["accuracy"])
    assert found["spans"]["accuracy"] == pytest.approx(told["precision"])
    assert found["sentences"]["accuracy"] == pytest.approx(told["sentence_accuracy"])
    objects = [json.loads(line) for line in cli.fine("tag sure.palm test.txt --confidence --to jsonl -q").splitlines()]
    mean = np.mean([share for one in objects for share in one["token_confidence"]])
    assert found["tokens"]["confidence"] == pytest.approx(mean, abs=1e-5)
    table = cli.fine("eval sure.palm test.txt --calibration")
    assert "reliability of the probability, at temperature" in table
    assert f"{100 * found['spans']['ece']:.2f}" in table
    assert "reliability of the confidence (not calibrated)" in cli.fine("eval chunk.palm test.txt --calibration")
    assert "calibration" not in json.loads(cli.fine("eval sure.palm test.txt --json"))


def test_a_picture_of_it(cli: Cli) -> None:
    cli.fine("eval sure.palm test.txt --calibration --picture made.png")
    assert (cli.folder / "made.png").read_bytes().startswith(b"\x89PNG")


@pytest.mark.parametrize(
    ("line", "code", "said"),
    [
        ("eval sure.palm test.txt --picture x.png", 2, "give both"),
        ("eval sure.palm test.txt --calibration --style conlleval", 2, "needs a model"),
        ("eval --guess test.txt --calibration", 2, "needs a model"),
        ("calibrate chunk.palm dev.txt", 2, "output"),
        ("calibrate chunk.palm nothing.txt -o x.palm", 1, "nothing.txt"),
        ("calibrate pos.palm test.txt -o x.palm --label 2 --columns 0", 1, "labels that the model could give"),
        ("calibrate nothing.palm dev.txt -o x.palm", 1, "nothing.palm"),
    ],
)
def test_wrong_usage_is_told(cli: Cli, line: str, code: int, said: str) -> None:
    ran = cli(line)
    assert (ran.code, said in ran.err) == (code, True), ran.err
    assert not (cli.folder / "x.palm").exists()


def test_cells_of_a_span_at_the_end_of_a_sentence() -> None:
    of_spans = SpanPosteriors(*(np.array([k]) for k in (1, 1, 2)), ["X"], np.array([0.5]))
    found = Confidence(np.full(4, 0.25), np.ones(2), of_spans, None)
    made = confidence_cells(np.array([0, 2, 4]), found, ["O"], ConfidenceOutput(confidence=True))
    assert made == [["0.250000", end] for end in ("-", "-", "-", "0.500000")]
