"""The classifier on the command line, end to end, and the files that it reads."""

from __future__ import annotations

import json
import random
from pathlib import Path

import pytest
from cli_run import Cli, leave_demo, leftovers

from palmette.classification.files import read_classified, stream_classified, two_classes
from palmette.datasets import load_demo
from palmette.errors import DataError, PalmetteError


@pytest.fixture
def cli(tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Cli:
    rng = random.Random(3)
    for part in ("train", "test"):
        up = load_demo(part)[0][:100]
        down = [rng.sample(sentence, len(sentence)) for sentence in up]
        for name, sentences in (("good", up), ("bad", down)):
            rows = [f"{' '.join(w for w, _ in s)}\t{' '.join(t for _, t in s)}" for s in sentences]
            (tmp_path / f"{part}.{name}").write_text("\n".join(rows) + "\n", encoding="utf-8")
        lines = [
            f"{label}\t{row}\n"
            for label, name in (("yes", "good"), ("no", "bad"))
            for row in (tmp_path / f"{part}.{name}").read_text(encoding="utf-8").splitlines()
        ]
        (tmp_path / f"{part}.tsv").write_text("".join(lines), encoding="utf-8")
    return Cli(tmp_path, capsys, monkeypatch)


def test_from_a_file_to_figures(cli: Cli) -> None:
    ran = cli("classifier train train.tsv -o m.palm --dev test.tsv --views all --combine vote --passes 3")
    assert ran.code == 0, ran.err
    assert "100 sentences of class yes, 100 of class no" in ran.err
    assert "dev accuracy" in ran.err
    assert "negatives decoded again in the last pass: never " in ran.out
    table = cli.fine("classifier eval m.palm test.tsv")
    about = json.loads(cli.fine("classifier eval m.palm --positives test.good --negatives test.bad --json"))
    assert f"accuracy             {100 * about['accuracy']:.2f}" in table
    assert about["accuracy"] == max(row["dev"] for row in about["accuracy_by_pass"])
    assert about["positive_class"] == "yes"
    assert leftovers(cli.folder) == []


def test_tagging(cli: Cli) -> None:
    cli.fine("classifier train --positives train.good --negatives train.bad -o m.palm --passes 2 -q")
    lines = cli.fine("classifier classify m.palm test.good").splitlines()
    assert len(lines) == len(cli.read("test.good").splitlines())
    label, score, words = lines[0].split("\t")
    assert label == ("1" if float(score) >= 0 else "0")
    assert words == cli.read("test.good").split("\t")[0]
    with_tags = cli.fine("classifier classify m.palm test.good --structures").splitlines()
    assert with_tags[0] == lines[0]
    assert with_tags[1].startswith("# iob2\t")
    assert len(with_tags[1].split("\t")[1].split()) == len(words.split())
    assert f"{len(lines)} sentences in " in cli("classifier classify m.palm test.good -o tagged").err
    assert cli.read("tagged").splitlines() == lines
    about = json.loads(cli.fine("classifier classify m.palm test.good --structures --to jsonl").splitlines()[0])
    assert about["structures"]["iob2"] == with_tags[1].split("\t")[1].split()
    typed = cli.fine("classifier classify m.palm --text", "The dog barks .\tDT NN VBZ .")
    assert typed.endswith("\tThe dog barks .\n")
    cli.fine("classifier classify m.palm test.good -o out.tsv -q")
    assert cli.read("out.tsv").splitlines() == lines


def test_verbs_of_taggers_find_the_classifier(cli: Cli) -> None:
    cli.fine("classifier train train.tsv -o m.palm --passes 2 -q")
    assert cli.fine("tag m.palm test.good") == cli.fine("classifier classify m.palm test.good")
    assert cli.fine("eval m.palm test.tsv") == cli.fine("classifier eval m.palm test.tsv")
    assert cli.fine("inspect m.palm") == cli.fine("classifier inspect m.palm")
    ran = cli("explain m.palm test.good")
    assert ran.code == 2
    assert "m.palm is a classifier, and `palmette explain` does not take one" in ran.err


def test_classifiers_side_by_side(cli: Cli) -> None:
    cli.fine("classifier train train.tsv -o a.palm --latent none --passes 1 -q")
    cli.fine("classifier train train.tsv -o b.palm --passes 3 -q")
    cli.fine("classifier train train.tsv -o c.palm --learner perceptron --passes 1 -q")
    found = json.loads(cli.fine("classifier compare a.palm b.palm c.palm test.tsv --rounds 200 --json"))
    assert [system["name"] for system in found["systems"]] == ["a.palm", "b.palm", "c.palm"]
    assert [(pair["first"], pair["second"]) for pair in found["pairs"]] == [
        ("a.palm", "b.palm"), ("a.palm", "c.palm"), ("b.palm", "c.palm"),
    ]  # fmt: skip
    for system in found["systems"]:
        own = json.loads(cli.fine(f"classifier eval {system['name']} test.tsv --json"))
        assert system["accuracy"] == own["accuracy"]
        assert system["accuracy_interval"]["low"] <= own["accuracy"] <= system["accuracy_interval"]["high"]
    first = found["pairs"][0]
    gain = first["mcnemar"]["only_second"] - first["mcnemar"]["only_first"]
    assert first["accuracy"]["value"] == pytest.approx(gain / found["sentences"])
    table = cli.fine("compare a.palm b.palm test.tsv --rounds 200")
    assert "B - A" in table
    assert "McNemar" in table
    two = json.loads(
        cli.fine("classifier compare a.palm b.palm --positives test.good --negatives test.bad --rounds 50 --json")
    )
    assert [system["accuracy"] for system in two["systems"]] == [system["accuracy"] for system in found["systems"][:2]]
    cli.write("01.tsv", cli.read("train.tsv").replace("yes\t", "1\t").replace("no\t", "0\t"))
    cli.fine("classifier train 01.tsv -o d.palm --passes 1 -q")
    ran = cli("classifier compare a.palm d.palm test.tsv")
    assert (ran.code, "d.palm has the classes 0, 1, and a.palm has no, yes" in ran.err) == (2, True)
    assert cli("classifier compare a.palm test.tsv").code == 2


def test_outputs_are_compared_as_the_models_that_wrote_them(cli: Cli) -> None:
    cli.fine("classifier train train.tsv -o a.palm --types 1 --passes 2 -q")
    cli.fine("classifier train train.tsv -o b.palm --latent none --passes 1 -q")
    bare = "".join(line.partition("\t")[2] for line in Path("test.tsv").read_text().splitlines(keepends=True))
    Path("test.bare").write_text(bare)
    cli.fine("classifier classify a.palm test.bare -o a.txt --structures -q")
    cli.fine("classifier classify b.palm test.bare -o b.jsonl --to jsonl -q")
    models = json.loads(cli.fine("classifier compare a.palm b.palm test.tsv --rounds 200 --json"))
    for files in ("a.txt b.jsonl", "a.palm b.jsonl", "a.txt b.palm"):
        found = json.loads(cli.fine(f"classifier compare {files} test.tsv --rounds 200 --json"))
        assert [s["accuracy"] for s in found["systems"]] == [s["accuracy"] for s in models["systems"]]
        for key in ("mcnemar", "accuracy"):
            assert found["pairs"][0][key] == models["pairs"][0][key]
    lines = Path("a.txt").read_text().splitlines(keepends=True)
    for changed, told in (
        (lines[2:], "a.txt:1: the sentence is not "),
        (lines[:-2], "159 sentences, and 160 are labelled"),
        (["1\ta b\n", *lines], "a.txt:1: 2 fields"),
    ):
        Path("a.txt").write_text("".join(changed))
        ran = cli("classifier compare a.txt b.palm test.tsv")
        assert ran.code != 0
        assert told in ran.err


def test_looking_into_a_model(cli: Cli) -> None:
    cli.fine("classifier train train.tsv -o m.palm --bound --passes 2 --types 1 -q")
    told = cli.fine("classifier inspect m.palm --top 2")
    assert "yes (score of at least 0), no" in told
    assert "The bound holds for plain PA steps" in told
    about = json.loads(cli.fine("classifier inspect m.palm --json"))
    assert len(about["history"]) == 2
    assert set(about["top"]["iob2"]) == {"O", "B", "I"}
    assert all(row["squared_loss"] <= row["bound"] for row in about["history"])
    cli.fine("classifier train train.tsv -o s.palm --strip --passes 2 -q")
    assert json.loads(cli.fine("classifier inspect s.palm --json"))["top"] == {"iob2": {}}


def test_batch_learners_tell_their_rounds(cli: Cli) -> None:
    told = json.loads(cli.fine("classifier train train.tsv -o m.palm --learner lclr --types 1 --passes 1 --json"))
    assert told["history"][0]["new_structures"][-1] == 0
    assert "new structures by round" in cli.fine("classifier inspect m.palm")
    ran = cli("classifier train train.tsv -o m.palm --learner lclr --inner-rounds 1 --passes 1")
    assert "warning: the rounds of a pass were cut off" in ran.out


def test_parts_of_speech_and_a_chunker(cli: Cli) -> None:
    """Bare words; the tagger's name is remembered, and the start is a chunker of the same templates."""
    leave_demo(cli.folder)
    cli.fine("train train.txt -o pos.palm --features pos --columns 0 --label 1 --passes 2 -q")
    cli.fine("train train.txt --order 1 -o chunk.palm --features ngrams --passes 2 -q")
    for part in ("train", "test"):
        for name in ("good", "bad"):
            rows = [line.split("\t")[0] for line in cli.read(f"{part}.{name}").splitlines()]
            cli.write(f"{part}.{name}", "\n".join(rows) + "\n")
    files = "--positives train.good --negatives train.bad"
    cli.fine(
        f"classifier train {files} -o m.palm --with pos.palm --chunker-init chunk.palm --passes 2 --dev-share 0.1 -q"
    )
    accuracy = json.loads(cli.fine("classifier eval m.palm --positives test.good --negatives test.bad --json"))[
        "accuracy"
    ]
    assert accuracy > 0.7
    (cli.folder / "pos.palm").rename(cli.folder / "other.palm")
    ran = cli("classifier classify m.palm test.good")
    assert (ran.code, "--with pos.palm" in ran.err) == (1, True)
    assert cli.fine("classifier classify m.palm test.good --with other.palm")


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("classifier train -o m.palm", "give a file"),
        ("classifier train train.tsv --positives train.good -o m.palm", "give a file"),
        ("classifier train --positives train.good -o m.palm", "give a file"),
        ("classifier train none.tsv -o m.palm", "no such file"),
        ("classifier train train.tsv -o m.palm --views iob9", "iob9"),
        ("classifier train train.tsv -o m.palm --dev-share 2", "--dev-share: 2.0 is not"),
        ("classifier train train.tsv -o m.palm --dev-share 0.1 --dev test.tsv", "not both"),
        ("classifier train train.tsv -o m.palm --features ngrams --template t", "not both"),
        ("classifier train train.tsv -o m.palm --positive maybe", "the classes are"),
        ("classifier train train.tsv -o m.palm --patience 2", "development data"),
        (
            "classifier train --positives train.good --negatives train.bad --positive 1 -o m.palm",
            "--positives names",
        ),
        ("classifier train train.tsv -o nowhere/m.palm", "nowhere"),
        ("classifier train three.tsv -o m.palm", "3 classes"),
        ("classifier train ab.tsv -o m.palm", "Give --positive b"),
        ("classifier train train.tsv --format columns -o m.palm", "two files"),
        ("classifier train train.tsv --dev ab.tsv -o m.palm", "not one of no, yes"),
    ],
)
def test_wrong_commands(cli: Cli, line: str, message: str) -> None:
    cli.write("three.tsv", "a\tx\nb\ty\nc\tz\n")
    cli.write("ab.tsv", "a\tx y\tX X\nb\ty x\tX X\n")
    ran = cli(line)
    assert ran.code in (1, 2)
    assert message in ran.err
    assert not (cli.folder / "m.palm").exists()


# --- files ------------------------------------------------------------------------------------------------------


def read(tmp_path: Path, text: str, labelled: bool = True, name: str = "data.tsv", format: str | None = None) -> list:
    path = tmp_path / name
    path.write_text(text, encoding="utf-8")
    return [(s.label, s.tokens) for s in read_classified(path, format, labelled=labelled)]


def test_forms(tmp_path: Path) -> None:
    assert read(tmp_path, "1\ta b\n\n0\tc\r\n") == [("1", ["a", "b"]), ("0", ["c"])]
    assert read(tmp_path, "+1 a b\n-1 c\n") == [("+1", ["a", "b"]), ("-1", ["c"])]
    assert read(tmp_path, "1\ta b\tX Y\n") == [("1", [("a", "X"), ("b", "Y")])]
    assert read(tmp_path, "a b\tX Y\n", labelled=False) == [(None, [("a", "X"), ("b", "Y")])]
    columns = read(tmp_path, "a X\nb Y\n\n\nc X\n", labelled=False, format="columns")
    assert columns == [(None, [("a", "X"), ("b", "Y")]), (None, [("c", "X")])]
    objects = '{"tokens": ["a"], "pos": ["X"], "label": 1}\n{"tokens": ["b"], "pos": ["X"], "label": "no"}\n'
    assert read(tmp_path, objects, name="d.jsonl") == [("1", [("a", "X")]), ("no", [("b", "X")])]


@pytest.mark.parametrize(
    ("text", "name", "message"),
    [
        ("", "d.tsv", "no sentence"),
        ("1\ta b\tX\n", "d.tsv", "1: 1 parts of speech for 2 words"),
        ("1\ta\tX\n0\tb\n", "d.tsv", "2: no parts of speech"),
        ("1\ta\n0\tb\tX\n", "d.tsv", "2: parts of speech, and the sentences before it have none"),
        ("1\ta\tX\ty\n", "d.tsv", "1: 4 fields"),
        ("\ta\n", "d.tsv", "1: the class is empty"),
        ("1\t \n", "d.tsv", "1: a class without words"),
        ("word\n", "d.tsv", "1: 1 field"),
        ("{}\n", "d.jsonl", "1: cannot be read"),
        ('{"tokens": ["a"]}\n', "d.jsonl", "1: the object has no label"),
        ('{"tokens": ["a"], "pos": [], "label": 0}\n', "d.jsonl", "1: 0 parts of speech for 1 token"),
    ],
)
def test_wrong_files(tmp_path: Path, text: str, name: str, message: str) -> None:
    with pytest.raises(DataError, match=message):
        read(tmp_path, text, name=name)


@pytest.mark.parametrize("block", [1, 20, 1 << 20])
@pytest.mark.parametrize(
    ("name", "one", "bad", "line"),
    [
        ("a.txt", "a dog\tDT NN\n\n", "a dog\n", 81),
        ("a.jsonl", '{"tokens": ["a", "dog"]}\n', "{}\n", 41),
        ("a.columns", "a\nb\n\n", "a\nb c\n", 122),
    ],
)
def test_blocks_make_no_difference(tmp_path: Path, name: str, one: str, bad: str, line: int, block: int) -> None:
    """Neither for what is read nor for the line that an error names."""
    path, format = tmp_path / name, "columns" if name == "a.columns" else None
    path.write_text(40 * one, encoding="utf-8")
    blocks = list(stream_classified(path, format, labelled=False, block=block))
    assert [s for found in blocks for s in found] == read_classified(path, format, labelled=False)
    assert (len(blocks) > 1) == (block < 100)
    path.write_text(40 * one + bad, encoding="utf-8")
    with pytest.raises(DataError) as caught:
        list(stream_classified(path, format, labelled=False, block=block))
    assert caught.value.line == line


def test_uneven_columns_and_strange_formats(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="2: 1 column, and 2 before it"):
        read(tmp_path, "a X\nb\n", labelled=False, format="columns")
    with pytest.raises(PalmetteError, match="there is no 'xml'"):
        read(tmp_path, "a", format="xml")


@pytest.mark.parametrize(
    ("labels", "positive", "expected"),
    [
        ({"0", "1"}, None, ("0", "1")), ({"-1", "+1"}, None, ("-1", "+1")), ({"1", "-1"}, None, ("-1", "1")),
        ({"Yes", "No"}, None, ("No", "Yes")), ({"a", "b"}, "a", ("b", "a")), ({"0", "1"}, "0", ("1", "0")),
    ],
)  # fmt: skip
def test_which_class_is_positive(labels: set[str], positive: str | None, expected: tuple[str, str]) -> None:
    assert two_classes(labels, positive, "file") == expected
