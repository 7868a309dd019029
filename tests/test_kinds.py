"""Verbs and kinds of models: each verb finds the kind of a model by its file and does something, or says why not."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from cli_run import Cli, leave_demo

from palmette import Classifier, LanguageModel, Parser, Pipeline, Tagger
from palmette.cli import GROUPS, LISTED
from palmette.data import kind_of, load_any, peek_kind
from palmette.data.kinds import KINDS, VERBS
from palmette.datasets import example_files
from palmette.lazy import loaded
from palmette.serve.kinds import CORRECTED

TRAINED = {
    "tagger": "train.txt --features chunk --learner perceptron --passes 2",
    "parser": "trees.conllu --features basic --passes 1",
    "classifier": "grammaticality.txt --passes 1",
    "pipeline": "trees.conllu --passes 1 --folds 2 --beam 1",
    "lm": "sentences.txt",
    "hmm": "train.txt",
}
DATA = {
    "tagger": "test.txt", "parser": "trees_test.conllu", "classifier": "grammaticality_test.txt",
    "pipeline": "trees_test.conllu", "lm": "sentences_test.txt", "hmm": "test.txt",
}  # fmt: skip
LINES = {
    "tag": "tag {model} {data} -o out",
    "eval": "eval {model} {data}",
    "inspect": "inspect {model}",
    "explain": "explain {model} --data {data}",
    "compare": "compare {model} copy.palm {data} --rounds 20",
    "compact": "compact {model} -o out",
    "calibrate": "calibrate {model} {data} -o out",
    "trellis": "trellis {model} --data {data}",
    "plot": "plot {model} -o out.svg",
    "pick": "pick {model} {data} -n 2 -o out",
    "page": "page {model} -o out --data {data}",
    "serve": "serve {model} --port 0",
}
TYPED = " --text 'The dog barks .'"  # where labelled data is not what the verb reads
OTHERS = {
    ("tag", "classifier"): "tag {model} -o out --text 'Dogs bark .\tNNS VBP .'",
    ("page", "classifier"): "page {model} -o out" + TYPED,
    ("page", "pipeline"): "page {model} -o out" + TYPED,
}
CELLS = [(verb, kind) for kind in KINDS for verb in VERBS[1:]]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A model of every kind."""
    from palmette.cli import main

    made = tmp_path_factory.mktemp("kinds")
    leave_demo(made)
    for corpus in ("trees", "grammaticality", "sentences"):
        for name, text in example_files(corpus).items():
            (made / name).write_text(text, encoding="utf-8")
    for name, given in TRAINED.items():
        data, *options = given.split()
        main(["train", "--task", name, str(made / data), "-o", str(made / f"{name}.palm"), *options, "-q"])
    return made


@pytest.fixture
def cli(folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Cli:
    shutil.copytree(folder, tmp_path, dirs_exist_ok=True)
    return Cli(tmp_path, capsys, monkeypatch)


@pytest.mark.parametrize(("verb", "name"), CELLS)
def test_a_verb_works_or_says_why_not(verb: str, name: str, cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    if verb == "plot":
        pytest.importorskip("matplotlib")
    if verb == "serve":
        pytest.importorskip("uvicorn")
        monkeypatch.setattr("palmette.serve.run.serve", lambda app, listener, ready: (listener.close(), ready()))
    kind, model = KINDS[name], f"{name}.palm"
    shutil.copy(model, "copy.palm")
    line = OTHERS.get((verb, name), LINES[verb])
    # The tables of a hidden Markov model are no model file: they are named by --task.
    ran = cli(line.format(model=model, data=DATA[name]) + (" --task hmm" if kind.task is None else ""))
    if verb in kind.refuses:
        assert (ran.code, ran.out) == (2, "")
        assert kind.refuses[verb] in ran.err
        assert verb not in kind.commands
        return
    assert ran.code == 0, ran.err
    assert ran.out or any(Path(file).stat().st_size for file in ("out", "out.svg") if Path(file).exists())


def test_a_row_has_what_its_verbs_need() -> None:
    for name, kind in KINDS.items():
        assert set(kind.refuses) <= set(VERBS)
        assert set(kind.spelled) <= set(kind.commands)
        every = set(VERBS) - {"plot", "page", "serve"}  # the same command for all kinds
        assert every <= set(kind.commands) | set(kind.refuses), name
        for place, about in kind.commands.values():
            assert loaded(place).run
            assert about.endswith(".")
    assert set(LINES) == set(VERBS[1:])
    assert set(GROUPS) == set(KINDS) - {"tagger"}
    assert all(verb in LISTED for verb in VERBS)


def test_a_file_tells_its_kind(folder: Path) -> None:
    made = {"tagger": Tagger, "parser": Parser, "classifier": Classifier, "pipeline": Pipeline, "lm": LanguageModel}
    for name, estimator in made.items():
        path = folder / f"{name}.palm"
        assert peek_kind(path) is KINDS[name]
        assert KINDS[name].loads is estimator
        assert kind_of(estimator.load(path)) is KINDS[name]
        if "plot" not in KINDS[name].refuses:
            assert isinstance(load_any(path, "plot"), estimator)
    assert kind_of(object()) is None


def test_columns_of_the_server_are_keyed_by_kind() -> None:
    assert set(CORRECTED) <= set(KINDS)
    for column in CORRECTED.values():
        assert all(loaded(place) for place in column)


def test_a_kind_that_is_named_is_a_spelling_of_its_group(cli: Cli) -> None:
    direct = cli.fine("parser eval parser.palm trees_test.conllu --json")
    assert cli.fine("eval parser.palm trees_test.conllu --json") == direct
    assert cli.fine("eval --task parser parser.palm trees_test.conllu --json") == direct
    assert cli.fine("eval --task=parser parser.palm trees_test.conllu --json") == direct
    assert "palmette parser train" in cli.fine("train --task parser --help")
    assert "--task tagger|parser" not in cli.fine("train --help")
    assert "palmette train --task parser|classifier" in cli.fine("train --help")
    assert "choose tagger, parser" in cli("train --task trees x").err
    assert "leave --task out" in cli("page --task parser parser.palm -o out").err
