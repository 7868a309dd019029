"""Training data that looks wrong is reported before training, with the option that mends it; other data is not."""

from __future__ import annotations

from pathlib import Path

import pytest
from cli_run import Cli, leave_demo

from palmette import HMM, Classifier, LinearClassifier, Parser, Tagger
from palmette.data import FormatSpec, read_corpus, read_treebank
from palmette.data.sources import SENTENCES
from palmette.datasets import demo_text, load_demo
from palmette.training.chain.settle import choose_templates
from palmette.training.checks import warn_of_strange_corpus, warn_of_strange_trees

TEXT = ["the", "dog", "barks", "at", "the", "old", "man", "who", "reads", "a", "long", "book"]


@pytest.fixture
def cli(tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Cli:
    return Cli(tmp_path, capsys, monkeypatch)


def file_of(rows: list[str], sentences: int) -> str:
    return ("\n".join(rows) + "\n\n") * sentences


COUNTING = [f"{i}\t{word}\t{'N' if i % 2 else 'V'}" for i, word in enumerate(TEXT, 1)]
WRONG = {
    "one label": (file_of([f"{word} O" for word in TEXT], 5), "all 60 labels are 'O'", "--label"),
    "nothing": (file_of([f"{word} _" for word in TEXT], 5), "60 of 60 labels are `_`", "--label"),
    "nearly nothing": (file_of([f"{w} _" for w in TEXT], 20) + "a B\n", "240 of 241 labels are `_`", "--label"),
    "all different": ("".join(f"w L{i}\n\n" for i in range(60)), "60 different labels for 60 tokens", "--label"),
    "numbers": (file_of(COUNTING, 3), "the first column counts", "--format conllu"),
    "numbers that go on": (
        "".join(f"{i} {TEXT[i % 12]} {'N' if i % 2 else 'V'}\n" + "\n" * (i % 7 == 0) for i in range(50)),
        "the first column counts", "--columns",
    ),
    "no blank line": ("the D\ndog N\n" * 500, "all 1,000 tokens are one sentence", "blank line"),
}  # fmt: skip


@pytest.mark.parametrize("case", list(WRONG))
def test_strange_files_are_reported_before_training(cli: Cli, case: str) -> None:
    text, what, cure = WRONG[case]
    cli.write("train.txt", text)
    ran = cli("train train.txt -o m.palm --passes 1")
    assert ran.code == 0
    (line,) = [line for line in ran.err.split("\n") if what in line]
    assert cure in line
    assert ran.err.index(what) < ran.err.index("updates")


def test_partial_labels_may_be_nearly_nothing(cli: Cli) -> None:
    cli.write("train.txt", file_of([f"{word} _" for word in TEXT], 20) + "a B\nb O\n")
    assert "`_`" not in cli("train train.txt -o m.palm --passes 1 --partial").err


def test_words_as_labels_are_reported(cli: Cli) -> None:
    """The column of words as the label column."""
    leave_demo(cli.folder)
    assert "different labels for" in cli("train train.txt -o m.palm --label 0 --passes 1 --order 0").err
    assert "different labels" not in cli("train train.txt -o m.palm --label 1 --passes 1 --order 0").err


def test_a_column_that_no_template_reads_may_count(cli: Cli) -> None:
    cli.write("train.txt", file_of(COUNTING, 3))
    cli.write("t.txt", "U0:%x[0,1]\nB\n")
    assert "counts" not in cli("train train.txt -o m.palm --passes 1 -t t.txt").err
    assert "counts" not in cli("train train.txt -o m.palm --passes 1 --columns 1").err


def test_python_data_are_reported_without_flags(logged: list[str]) -> None:
    Tagger("pos", passes=1).fit([["a", "b"]], [["N", "N"]])
    Tagger("pos", passes=1).fit([[str(i) for i in range(1, 12)]], [["N", "V"] * 5 + ["N"]])
    LinearClassifier("perceptron", passes=1).fit([[1.0], [2.0]], ["x", "x"])
    expected = ["all 2 labels are 'N'", "the first column counts the tokens", "all 2 labels are 'x'"]
    found = [message for message in logged if message.startswith(("all", "the first"))]
    assert [message.startswith(start) for message, start in zip(found, expected, strict=True)] == [True] * 3
    assert not any("--label" in message or "--format" in message for message in found)


def test_further_training_is_not_reported(logged: list[str]) -> None:
    tagger = Tagger("pos", passes=1).partial_fit([["a", "b"]], [["N", "V"]])
    tagger.partial_fit([["a"]], [["N"]])
    assert not any(message.startswith("all ") for message in logged)


def test_a_relation_that_all_words_have_is_reported(logged: list[str]) -> None:
    Parser(passes=1).fit([["a", "b"]], [[(0, "_"), (1, "_")]])
    assert any("2 of 2 relations are `_`" in message for message in logged)


def test_labels_that_are_equal_in_nfc_are_reported(logged: list[str]) -> None:
    one, two = "caf\u00e9", "cafe\u0301"
    Tagger("pos", passes=1, partial=True).fit([["a", "b", "c"]], [[one, two, "_"]])
    Parser(passes=1).fit([["a", "b", "c"]], [[(0, "root"), (1, one), (1, two)]])
    found = [message for message in logged if "equal in Unicode's NFC" in message]
    assert [message.split(" look")[0] for message in found] == ["2 different labels", "2 different relations"]
    logged.clear()
    Tagger("pos", passes=1).fit([["a", "b"]], [[one, "cafe"]])
    assert not any("NFC" in message for message in logged)


@pytest.mark.parametrize("scale", ["memory", "disk", "shards", "hmm", "rows", "classes"])
def test_labels_that_are_equal_in_nfc_are_reported_at_every_scale(
    scale: str, logged: list[str], tmp_path: Path
) -> None:
    """Also if the second one comes in a later block, or in another file."""
    one, two = "caf\u00e9", "cafe\u0301"
    X, y = [["a", "b"]] * SENTENCES + [["b"]], [[one, "O"]] * SENTENCES + [[two]]
    files = [tmp_path / "one.txt", tmp_path / "two.txt"]
    for path, label in zip(files, (one, two), strict=True):
        path.write_text(f"a {label}\nb O\n\n", encoding="utf-8")
    {
        "memory": lambda: Tagger("pos", passes=1).fit(X, y),
        "disk": lambda: Tagger("pos", passes=1, out_of_core=True).fit(X, y),
        "shards": lambda: Tagger("pos", passes=1, shards=2).fit_files(files),
        "hmm": lambda: HMM().fit(X, y),
        "rows": lambda: LinearClassifier().fit([{"a": 1.0}, {"b": 1.0}], [one, two]),
        "classes": lambda: Classifier(passes=1).fit([["a"], ["b"]], [one, two], positive=one),
    }[scale]()
    assert sum("equal in Unicode's NFC" in message for message in logged) == 1


def test_a_stray_label_is_reported(logged: list[str]) -> None:
    """A zero in place of an O."""
    X, y = load_demo("train")
    y = [list(own) for own in y]
    s = next(s for s, own in enumerate(y) if "O" in own)
    i = y[s].index("O")
    y[s][i] = "0"
    assert Tagger("chunk", passes=1).fit(X, y).model_.scheme is None
    assert any(f"'0', so that no scheme is taken (sentence {s + 1}, token {i + 1})" in m for m in logged)


def strange(path: Path, spec: FormatSpec, logged: list[str]) -> list[str]:
    corpus = read_corpus(path, spec)
    warn_of_strange_corpus(corpus, choose_templates("pos", None, None, corpus, Tagger()._resources(1)))
    return list(logged)


@pytest.mark.parametrize("part", ["train", "dev", "test"])
@pytest.mark.parametrize("label", ["1", "2"])
def test_the_demo_corpus_is_not_strange(part: str, label: str, tmp_path: Path, logged: list[str]) -> None:
    path = tmp_path / "demo.txt"
    path.write_text(demo_text(part), encoding="utf-8")
    assert strange(path, FormatSpec(label=label, columns=("0",)), logged) == []


@pytest.mark.parametrize(
    ("file", "labels"),
    [
        ("conll2000/test.txt", ["1", "2"]),
        ("jnlpba/dev.txt", [None]),
        ("ud-ewt/en_ewt-ud-dev.conllu", ["upos", "xpos", "feats", "deprel"]),
        ("ud-ewt/en_ewt-ud-train.conllu", ["upos"]),
        ("ud-tr/tr_imst-ud-test.conllu", ["upos", "xpos", "feats"]),
        ("ud-vi/vi_vtb-ud-test.conllu", ["upos", "xpos"]),
    ],
)
def test_corpora_are_not_strange(file: str, labels: list[str | None], corpora: Path, logged: list[str]) -> None:
    for label in labels:
        columns = None if label is None else ("form",) if "conllu" in file else ("0",)
        assert strange(corpora / file, FormatSpec(label=label, columns=columns), logged) == [], label


@pytest.mark.parametrize("label", ["form", "lemma", "deps"])
def test_fields_that_are_no_labels_are_strange(label: str, corpora: Path, logged: list[str]) -> None:
    path = corpora / "ud-ewt" / "en_ewt-ud-dev.conllu"
    (warning,) = strange(path, FormatSpec(label=label, columns=("upos",)), logged)
    assert "different labels for 25,1" in warning


def test_a_treebank_is_not_strange(corpora: Path, logged: list[str]) -> None:
    warn_of_strange_trees(read_treebank(corpora / "ud-ewt" / "en_ewt-ud-dev.conllu"))
    assert logged == []


def test_a_treebank_without_heads_is_an_error(cli: Cli) -> None:
    row = "\t".join(["{}", "word", "_", "NOUN", "_", "_", "_", "_", "_", "_"])
    cli.write("t.conllu", "\n".join(row.format(i) for i in (1, 2, 3)) + "\n\n")
    ran = cli("parser train t.conllu -o p.palm")
    assert ran.code == 1
    assert "t.conllu" in ran.err
    assert not (cli.folder / "p.palm").exists()
