"""Bad input: each gives a clear error with the right exit code, or the right answer, and nothing half-written."""

from __future__ import annotations

import json
import os
import pickle
import subprocess
from pathlib import Path

import pytest
from cli_run import COMMAND, Cli, last_cells, leftovers, rows

from palmette import Tagger
from palmette.data import model_file

TRAIN = "the DT B-NP\ndog NN I-NP\nran VBD B-VP\n\na DT B-NP\ncat NN I-NP\n. . O\n\n"
HUGE = "A\tw:3e38\tv:3e38\nB\tw:3e38\n\nB\tv:3e38\tw:3e38\n\n"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("bad")
    (made / "train.txt").write_text(TRAIN, encoding="utf-8")
    Tagger("chunk", passes=3).fit_file(made / "train.txt").save(made / "m.palm")
    (made / "folder").mkdir()
    return made


@pytest.fixture
def cli(folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Cli:
    return Cli(folder, capsys, monkeypatch)


def refused(cli: Cli, line: str, code: int, *parts: str) -> str:
    """The command fails with this code, says these things on stderr and nothing on stdout, and writes nothing."""
    before = {name: os.stat(cli.folder / name).st_mtime_ns for name in os.listdir(cli.folder)}
    ran = cli(line)
    assert ran.code == code, ran.err
    assert ran.out == ""
    for part in parts:
        assert part in ran.err
    assert {name: os.stat(cli.folder / name).st_mtime_ns for name in os.listdir(cli.folder)} == before
    return ran.err


# --- data ---------------------------------------------------------------------------------------------------

DATA = [
    ("x.txt", "", "no sentence"),
    ("x.txt", "\n \n\n", "no sentence"),
    ("x.txt", "word\n", "x.txt:1: there is no column other than the label"),
    ("x.txt", "a b c\nd e\n", "x.txt:2: 2 columns where 3 are expected"),
    ("x.txt", "a b c\n\nd \xe9t e\n".encode("latin-1"), "x.txt:3: not UTF-8: byte 0xe9 at byte 3 of the line"),
    ("x.txt", b"\xff\xfea\0 \0b\0\n\0", "this looks like UTF-16"),
    ("x.txt", b"\x1f\x8b\x08broken", "gzip"),
    ("x.conllu", "1\ta\tb\n", "x.conllu:1: 3 columns where 10 are expected"),
    ("x.jsonl", '{"tokens": ["a"]}\n', "x.jsonl"),
    ("x.jsonl", '{"tokens": ["a"], "tags": []}\n', "x.jsonl:1: 0 items under 'tags' and 1 under 'tokens'"),
    ("x.jsonl", '{"tokens": ["a"], "tags": [3]}\n', "x.jsonl:1: the label 3"),
    ("x.jsonl", "{\n", "x.jsonl:1: not a JSON object"),
    ("x.crfsuite", "A\tw=a:b\n", "w=a\\:b"),
    ("x.crfsuite", "A\tw:nan\n", "x.crfsuite:1: the value of 'w:nan' is not a number"),
    ("x.crfsuite", "A\tw:inf\n", "x.crfsuite:1: the value of 'w:inf' is not a number"),
    ("x.crfsuite", "A\tw:1e99\n", "x.crfsuite:1: the value of 'w:1e99' is too large"),
    ("x.crfsuite", HUGE, "the weights have overflowed"),
]


@pytest.mark.parametrize(("name", "text", "message"), DATA)
def test_training_data(cli: Cli, name: str, text: str | bytes, message: str) -> None:
    cli.write(name, text)
    assert name in refused(cli, f"train {name} -o new.palm -q", 1, message)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a b\nc\n", "x.txt:2: 1 column where 2 are expected"),
        (b"a DT\n\xe9 NN\n", "x.txt:2: not UTF-8"),
        ("word\n", "x.txt:1: the model reads 2 columns and the input has 1"),
    ],
)
def test_input_to_tag(cli: Cli, text: str | bytes, message: str) -> None:
    cli.write("x.txt", text)
    refused(cli, "tag m.palm x.txt -o new.txt", 1, message)


def test_nothing_to_tag_is_tagged_and_nothing_to_score_is_an_error(cli: Cli) -> None:
    for text in ("", "\n\n"):
        cli.write("x.txt", text)
        assert cli.fine("tag m.palm x.txt") == text
        refused(cli, "eval m.palm x.txt", 1, "x.txt: no labelled sentence to score")
        refused(cli, "eval --guess x.txt", 1, "x.txt: no sentence to score")


def test_one_token_and_one_label(cli: Cli) -> None:
    for text, order in (("a X", 1), ("a X\n", 2), ("a O\nb O\n\nc O\n", 2), ("a O\nb O\n", 0)):
        cli.write("x.txt", text)
        cli.fine(f"train x.txt -o one.palm -q --features pos --order {order}")
        assert all(cells[-1] == cells[-2] for s in rows(cli.fine("tag one.palm x.txt")) for cells in s)
        assert json.loads(cli.fine("eval one.palm x.txt --json"))["accuracy"] == 1


def test_labels_that_training_never_saw(cli: Cli) -> None:
    cli.write("new.txt", "the DT Q\ndog NN R\n")
    scores = json.loads(cli.fine("eval m.palm new.txt --json"))
    assert (scores["tokens"], scores["accuracy"]) == (2, 0)
    cli.write("dev.txt", "the DT B-NP\ndog NN I-NEW\n")
    ran = cli("train train.txt -o dev.palm --features chunk --dev dev.txt --passes 2")
    assert ran.code == 0
    assert "50% of the tokens of the development data have labels that the training data lacks" in ran.err
    assert "count as errors: I-NEW" in ran.err
    assert max(row["dev"] for row in json.loads(cli.fine("inspect dev.palm --json"))["history"]) < 1


def test_a_sentence_of_100_000_tokens(cli: Cli) -> None:
    labels = ["B-NP", "I-NP", "B-VP", "O"]
    lines = [f"w{i % 97} P{i % 4} {labels[i % 4]}\n" for i in range(100_000)]
    cli.write("long.txt", "".join(lines))
    for options in ("--order 1 --learner mira", "--order 2 --learner perceptron"):
        cli.fine(f"train long.txt -o long.palm -q --features chunk --passes 3 {options}")
        assert last_cells(cli.fine("tag long.palm long.txt -q"))[0] == [labels[i % 4] for i in range(100_000)]


def test_a_table_that_cannot_fit_is_an_error(cli: Cli) -> None:
    cli.write("star.txt", "*0:%x[0,0]\nB\nT\n")
    cli.write("long.txt", "".join(f"w L{i % 120}\n" for i in range(2000)))
    message = "sentence 1 has 2,000 tokens: its order 2 table with 120 labels would take 13 GB"
    refused(cli, "train long.txt -o long2.palm --template star.txt -q", 1, message)


def test_a_word_of_a_megabyte(cli: Cli) -> None:
    cli.write("big.txt", f"a DT O\n{'x' * 1_000_000} NN B-X\n\n{'é' * 500_000} NN B-Y\n")
    cli.fine("train big.txt -o big.palm -q --features ner --passes 5")
    assert last_cells(cli.fine("tag big.palm big.txt")) == [["O", "B-X"], ["B-Y"]]
    cli.fine("inspect big.palm --top 2")
    cli.fine("eval big.palm big.txt")


def test_values_that_are_too_large_for_a_model(cli: Cli) -> None:
    cli.write("fair.crfsuite", "A\tw:1\nB\tv:1\n\nB\tv:1\nA\tw:1\n\n")
    cli.write("huge.crfsuite", "A\tw:3e38\nA\tw:3e38\n\n")
    cli.fine("train fair.crfsuite -o fair.palm --learner perceptron -q")
    refused(cli, "tag fair.palm huge.crfsuite -o huge.txt", 1, "huge.crfsuite:1: sentence 1: its score overflows")


# --- templates, lexicons, lists -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("U0:%x[0,0]\nU1:%x[0,2]\nB\n", "t.txt:2: column 2 does not exist"),
        ("", "t.txt: no template found"),
        ("Q0:%x[0,0]\n", "t.txt:1: unknown kind of template 'Q'"),
        (" U0:%x[0,0]\n", "t.txt:1: "),
        ("U0:%x[0,0\n", "t.txt:1: not a macro"),
        ("U0:%x[0,0,nothing]\n", "t.txt:1: unknown atom `nothing`"),
        ("U0:%x[0,0,lexicon:town]\n", "lexicon `town`"),
        (b"U0:\xff%x[0,0]\n", "t.txt:1: not UTF-8"),
    ],
)
def test_templates(cli: Cli, text: str | bytes, message: str) -> None:
    cli.write("t.txt", text)
    refused(cli, "train train.txt -o new.palm -q --template t.txt", 1, message)


@pytest.mark.parametrize(
    ("options", "text", "code", "message"),
    [
        ("--lexicons town=x.txt", "a\tb\tc\n", 1, "x.txt:1: 3 fields"),
        ("--lexicons town=x.txt", "", 1, "x.txt: no phrase found"),
        ("--clusters c=x.txt", "one\n", 1, "x.txt:1: 1 field"),
        ("--lexicons town", "", 2, "--lexicons: 'town': write NAME=FILE"),
        ("--lexicons town=x.txt --lexicons town=x.txt", "Rome\n", 2, "town is given twice"),
        ("--forbidden x.txt", "O\n", 1, "x.txt:1: 1 label"),
        ("--forbidden x.txt", "O Q\n", 2, "no label 'Q' in the training data"),
        ("--forbidden x.txt", "<s> </s>\n", 2, "one of the two must be a label"),
        ("--forbidden x.txt", "</s> O\n", 2, "no label '</s>'"),
        ("--forbidden x.txt", "B-NP I-NP\n", 1, "train.txt:2: the label 'I-NP' after 'B-NP' is forbidden"),
        ("--forbidden x.txt", b"\xff\n", 1, "x.txt:1: not UTF-8"),
        ("--forbidden none.txt", "", 1, "none.txt: cannot read: no such file"),
        ("--dev x.txt", "", 1, "x.txt: the development data has no sentences"),
        ("--dev x.txt", "a O\n", 1, "x.txt:1: the model reads 2 columns and the input has 1"),
        ("--resume m.palm", "", 2, "--features: --resume continues with the features and states of the model"),
    ],
)
def test_what_goes_with_the_data(cli: Cli, options: str, text: str | bytes, code: int, message: str) -> None:
    cli.write("x.txt", text)
    refused(cli, f"train train.txt -o new.palm -q --features chunk {options}", code, message)


# --- models -------------------------------------------------------------------------------------------------


def tampered(good: bytes) -> dict[str, tuple[bytes, str]]:
    return {
        "truncated": (good[: len(good) // 2], "truncated model file"),
        "cut to seven bytes": (good[:7], "truncated"),
        "empty": (b"", "the file is empty"),
        "a flipped bit": (good[:-9] + bytes([good[-9] ^ 1]) + good[-8:], "checksum"),
        "more behind it": (good + b"!", "1 bytes follow"),
        "of a newer version": (good.replace(b'"version":"2"', b'"version":"3"'), "made by a newer palmette"),
        "random": (bytes(range(7, 256)) * 99, "not a palmette model"),
        "a pickle": (pickle.dumps(list(range(99))), "pickle"),
        "text": (b"the DT B-NP\n", "not a palmette model"),
    }


@pytest.mark.parametrize("kind", list(tampered(b"x" * 100)))
def test_model_files(cli: Cli, kind: str) -> None:
    data, message = tampered((cli.folder / "m.palm").read_bytes())[kind]
    assert data != (cli.folder / "m.palm").read_bytes()
    cli.write("bad.palm", data)
    for line in (
        "tag bad.palm train.txt -o new.txt",
        "eval bad.palm train.txt",
        "inspect bad.palm",
        "train train.txt -o new.palm --resume bad.palm",
    ):
        refused(cli, line, 1, "bad.palm: ", message)


def test_models_that_are_not_there(cli: Cli) -> None:
    for name in ("none.palm", "folder", os.devnull):
        assert name in refused(cli, f"tag {name} train.txt -o new.txt", 1)


@pytest.mark.parametrize(
    ("name", "change"),
    [
        ("label.slot", lambda a: a * 0 + 10_000),
        ("label.slot", lambda a: a * 0 + 1),
        ("label.numbers", lambda a: a * 0 + 10_000),
        ("label.weights", lambda a: a[:, :-1]),
        ("allowed.pair", lambda a: a[:-1]),
        ("checkpoint.1.slot", lambda a: a * 0 + 10_000),
        ("checkpoint.1.slot", lambda a: a * 0),
        ("checkpoint.clock", lambda a: a * 0),
        ("vocabulary", lambda a: a.astype("<i4")),
    ],
)
def test_a_hostile_model_with_a_right_checksum(cli: Cli, name: str, change) -> None:  # type: ignore[no-untyped-def]
    """Numbers that would send compiled code out of its arrays, at once or in more training."""
    sentences = [[("a", "DT"), ("dog", "NN")], [("x", "Y")]]
    Tagger("chunk", passes=2).partial_fit(sentences, [["B-NP", "I-NP"], ["O"]]).save("own.palm")
    arrays, meta = model_file.load("own.palm")
    changed = {key: change(array.copy()) if key == name else array for key, array in arrays.items()}
    assert name in arrays
    model_file.save("hostile.palm", changed, meta)
    refused(cli, "tag hostile.palm train.txt -o new.txt", 1, "hostile.palm: damaged model")


# --- output -------------------------------------------------------------------------------------------------


def test_places_that_cannot_be_written(cli: Cli) -> None:
    for line in ("train train.txt -q --features chunk -o {}", "tag m.palm train.txt -q -o {}"):
        refused(cli, line.format("folder"), 1, "folder: cannot write: is a folder, not a file")
        refused(cli, line.format("none/x"), 1, "none/x: cannot write: no folder")
        refused(cli, line.format("train.txt/x"), 1, "train.txt/x: cannot write")
    refused(cli, "train train.txt -o x.palm.gz -q", 1, "cannot be compressed")


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="needs /dev/full")
def test_a_full_disk(cli: Cli) -> None:
    for line in ("train train.txt -q --features chunk -o /dev/full", "tag m.palm train.txt -q -o /dev/full"):
        refused(cli, line, 1, "/dev/full: cannot write: the disk is full")
    with open("/dev/full", "wb") as full:
        for arguments in (["tag", "m.palm", "train.txt", "-q"], ["inspect", "m.palm"], ["features", "pos"], ["--help"]):
            ran = subprocess.run([*COMMAND, *arguments], cwd=cli.folder, stdout=full, stderr=subprocess.PIPE)
            assert ran.returncode == 1
            assert ran.stderr.startswith(b"palmette: ")
            assert b"cannot write" in ran.stderr
            assert b"Traceback" not in ran.stderr
            assert b"Exception ignored" not in ran.stderr


def test_an_error_in_the_middle_leaves_the_old_file(cli: Cli) -> None:
    cli.write("late.txt", TRAIN.replace("B-NP", "x").replace("I-NP", "x") * 100 + "only one\n")
    cli.write("out.txt", "precious\n")
    refused(cli, "tag m.palm late.txt -o out.txt", 1, "late.txt:801: 2 columns where 3 are expected")
    assert cli.read("out.txt") == "precious\n"
    assert leftovers(cli.folder) == []


# --- usage --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("frobnicate", "there is no command `palmette frobnicate`"),
        ("train", "DATA"),
        ("train train.txt", "--output"),
        ("tag m.palm train.txt more.txt", "too many arguments: more.txt"),
        ("train train.txt -o n.palm --wrong", "--wrong"),
        ("tag m.palm --wrong", "--wrong"),
        ("tag m.palm train.txt -o --scores", "--scores"),
        ("train train.txt -o n.palm --passes many", "--passes"),
        ("train train.txt -o n.palm --passes 0", "passes: 0"),
        ("train train.txt -o n.palm --seed -1", "seed: -1"),
        ("train train.txt -o n.palm --learner magic", "perceptron"),
        ("train train.txt -o n.palm --estimator magic", "avg, last"),
        ("train train.txt -o n.palm --metric magic --dev-share 0.5", "auto, f1, accuracy"),
        ("train train.txt -o n.palm --edge-features magic", "all, seen"),
        ("train train.txt -o n.palm --constraints magic", "IOB2"),
        ("train train.txt -o n.palm --format magic", "columns, conllu, attributes"),
        ("train train.txt -o n.palm --separator magic", "tab, space"),
        ("train train.txt -o n.palm --features magic", "pos, chunk, ner, char"),
        ("train train.txt -o n.palm --order 3", "a whole number from 0 to 2"),
        ("train train.txt -o n.palm --features pos --template t.txt", "not both"),
        ("train train.txt -o n.palm --dev train.txt --dev-share 0.5", "not both"),
        ("train train.txt -o n.palm --dev-share 2", "a number from 0 to 1"),
        ("train train.txt -o n.palm --dev-share 0.01", "leaves one side empty"),
        ("train train.txt -o n.palm --patience 2", "need development data"),
        ("train train.txt -o n.palm --tune-bias", "need development data"),
        ("train train.txt -o n.palm --prune --checkpoint", "choose one"),
        ("train train.txt -o n.palm --label 1 --columns 0 --metric f1 --dev-share 0.5", "scores spans"),
        ("train train.txt -o n.palm --label word", "column 'word'"),
        ("tag m.palm train.txt --threads 0", "--threads: 0"),
        ("tag m.palm train.txt --bias O", "LABEL=NUMBER"),
        ("tag m.palm train.txt --bias O=nan", "bias: nan"),
        ("tag m.palm train.txt --bias O=inf", "bias: inf"),
        ("tag m.palm train.txt --bias Q=1", "no label 'Q'"),
        ("tag m.palm train.txt --to xml", "columns, jsonl"),
        ("tag m.palm train.txt --with pos", "NAME=FILE"),
        ("tag m.palm train.txt --with pos=m.palm", "leave --with pos=pos.palm out"),
        ("tag m.palm train.txt --text hello", "leave the file"),
        ("tag m.palm train.txt --penn-quotes", "raw text"),
        ("eval", "give a model"),
        ("eval m.palm", "give a model"),
        ("eval m.palm train.txt --guess train.txt", "not both"),
        ("eval --guess train.txt --label 1", "leave the options of a model out"),
        ("eval m.palm train.txt --style magic", "table, conlleval, seqeval, json"),
        ("eval --guess train.txt --style conlleval", "scores spans"),
        ("inspect m.palm --show-label Q", "no label 'Q'"),
        ("features magic", "pos, chunk, ner, char"),
        ("features chunk --columns 1", "column 1"),
    ],
)  # fmt: skip
def test_wrong_usage(cli: Cli, line: str, message: str) -> None:
    error = refused(cli, line, 2, message)
    assert error.startswith(("palmette: ", "no features were chosen"))
