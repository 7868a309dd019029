"""How good the models are on real corpora, through files as a user would; and CRFsuite as the judge of a search.

Bounds lie a little under what was measured, so that a lost feature or a wrong update shows and a seed does not. The
full figures are those of `python -m bench`.
"""

from __future__ import annotations

import json
from itertools import pairwise
from pathlib import Path

import numpy as np
import pycrfsuite
import pytest
from cli_run import TEMPLATES, Cli

from palmette import Tagger
from palmette.datasets import load_demo
from palmette.kernels.chain.forms import stride_of


@pytest.fixture
def cli(tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Cli:
    return Cli(tmp_path, capsys, monkeypatch)


def scored(cli: Cli, train: str, test: str) -> dict:
    """Train and score by commands; the figures."""
    cli.fine(f"train {train} -o m.palm -q")
    return json.loads(cli.fine(f"eval m.palm {test} --json"))


def share(source: Path, target: Path, n: int) -> Path:
    """Every n-th sentence of a column file."""
    blocks = source.read_text(encoding="utf-8").strip("\n").split("\n\n")
    target.write_text("\n\n".join(blocks[::n]) + "\n", encoding="utf-8")
    return target


def only_np(source: Path, target: Path) -> Path:
    """B-NP and I-NP as B and I, every other label as O."""
    text = source.read_text(encoding="utf-8").split("\n")
    cells = [line.split(" ") for line in text]
    np_label = {"B-NP": "B", "I-NP": "I"}
    lines = [" ".join([*c[:-1], np_label.get(c[-1], "O")]) if len(c) == 3 else "" for c in cells]
    target.write_text("\n".join(lines), encoding="utf-8")
    return target


def test_chunks_of_conll_2000(corpora: Path, cli: Cli) -> None:
    data = corpora / "conll2000"
    found = scored(cli, f"{data}/train.txt --template {TEMPLATES}/crfpp.txt --passes 5 --seed 1", f"{data}/test.txt")
    assert found["f1"] >= 0.930
    assert found["tokens"] == 47377
    cli.fine(f"tag m.palm {data}/test.txt -o tagged.txt -q")
    again = json.loads(cli.fine("eval --guess tagged.txt --json"))
    assert again["f1"] == found["f1"]


def test_noun_phrases_with_order_2(corpora: Path, cli: Cli) -> None:
    data, folder = corpora / "conll2000", cli.folder
    train = only_np(share(data / "train.txt", folder / "quarter.txt", 4), folder / "train.txt")
    test = only_np(data / "test.txt", folder / "test.txt")
    found = scored(cli, f"{train} --template {TEMPLATES}/np2.txt --passes 5 --seed 1", f"{test}")
    assert found["f1"] >= 0.919
    assert json.loads(cli.fine("inspect m.palm --json --top 1"))["order"] == 2


def test_universal_tags_of_ewt(corpora: Path, cli: Cli) -> None:
    data = corpora / "ud-ewt"
    train, test = (f"{data}/en_ewt-ud-{part}.conllu" for part in ("train", "test"))
    found = scored(cli, f"{train} --features pos --label upos --passes 3 --seed 1", test)
    assert found["accuracy"] >= 0.944
    assert found["unseen_accuracy"] >= 0.79
    assert found["tokens"] == 25094


def test_entities_of_jnlpba(corpora: Path, cli: Cli) -> None:
    train = share(corpora / "jnlpba" / "train.txt", cli.folder / "train.txt", 4)
    found = scored(cli, f"{train} --features ner --passes 5 --seed 1", f"{corpora}/jnlpba/test.txt")
    assert found["f1"] >= 0.663
    assert set(found["by_type"]) == {"DNA", "RNA", "cell_line", "cell_type", "protein"}


# --- CRFsuite's weights in our search -----------------------------------------------------------------------


def attributes(sentence: list[tuple[str, str]]) -> list[list[str]]:
    words, tags = [w.lower() for w, _ in sentence], [p for _, p in sentence]
    before = ["<s>", *tags[:-1]]
    return [[f"w={w}", f"p={p}", f"pp={b}/{p}", f"s={w[-2:]}"] for w, p, b in zip(words, tags, before, strict=True)]


def test_crfsuite_and_palmette_find_the_same_paths(tmp_path: Path) -> None:
    sentences, labels = load_demo("train")
    X, X_test = [attributes(s) for s in sentences], [attributes(s) for s in load_demo("test")[0]]
    trainer = pycrfsuite.Trainer(algorithm="l2sgd", params={"max_iterations": 8}, verbose=False)
    for x, y in zip(X, labels, strict=True):
        trainer.append(x, y)
    trainer.train(str(tmp_path / "crf"))
    judge = pycrfsuite.Tagger()
    judge.open(str(tmp_path / "crf"))
    info = judge.info()
    # partial_fit keeps attributes that never moved, and so a row for each of CRFsuite's weights
    tagger = Tagger(order=1, passes=1, ends=False, constraints="none").partial_fit(X, labels)
    transplant(tagger, info.state_features, info.transitions)
    found, scores = tagger.predict_scored(X_test)
    assert found == [judge.tag(x) for x in X_test]
    for x, y, score in zip(X_test, found, scores, strict=True):
        states = sum(info.state_features.get((a, label), 0) for token, label in zip(x, y, strict=True) for a in token)
        pairs = sum(info.transitions.get(pair, 0) for pair in pairwise(y))
        assert score == pytest.approx(states + pairs, rel=1e-4, abs=1e-3)


def transplant(tagger: Tagger, states: dict, transitions: dict) -> None:
    """Give a fitted tagger these weights: (attribute, label) and (label, label)."""
    model = tagger.model_
    number = {model.names[1][k]: k for k in range(len(model.names[1]))}
    label = {name: k for k, name in enumerate(model.labels)}
    assert {name for name, _ in states} <= number.keys()
    w = np.zeros((len(number) + 1, stride_of(len(label))), np.float32)
    for (name, y), weight in states.items():
        w[number[name] + 1, label[y]] = weight
    ends, pairs, triples = model.chain.transitions
    pair = np.zeros_like(pairs.w)
    for (a, b), weight in transitions.items():
        pair[label[a], label[b]] = weight
    slot = np.arange(1, len(number) + 1, dtype=np.int32)
    one = model.chain.weights[0]._replace(slot=slot, used=np.array([w.shape[0]]), w=w)
    transitions = (ends._replace(w=np.zeros_like(ends.w)), pairs._replace(w=pair), triples)
    model.chain = model.chain._replace(weights=(one, *model.chain.weights[1:]), transitions=transitions)
