"""CRFsuite's model files: read, they answer as python-crfsuite does; written, python-crfsuite reads them; damaged, they
are errors."""

from __future__ import annotations

import os
import struct
import tempfile
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pycrfsuite
import pytest
from cli_run import Cli
from fitting import epochs
from hypothesis import given
from hypothesis import strategies as st
from strategies import few

from palmette import Crf, Latent, Tagger
from palmette.connect.crfsuite_models import crfsuite_bytes, string_hashes
from palmette.data import FormatSpec, bytes_of, read_corpus
from palmette.errors import UsageError
from palmette.features import parse
from palmette.structures import confidence_of
from palmette.structures.chain.imported.model import ImportedModel

NAMES = st.sampled_from(["a", "b", "cc", "ü", "\U0001f600", "x:y", "0", " ", "long name of an attribute"])
NUMBERS = st.floats(-8, 8).filter(lambda x: x == 0 or abs(x) > 1e-20)  # values have the range of 32-bit floats
VALUES = st.one_of(st.booleans(), st.sampled_from(["v", "w"]), NUMBERS, st.integers(-3, 3))
TOKENS = st.one_of(st.lists(NAMES, max_size=5), st.dictionaries(NAMES, VALUES, max_size=5))
LABELS = st.sampled_from(["O", "B-X", "I-X", "Ö"])
SENTENCES = st.lists(st.tuples(TOKENS, LABELS), min_size=1, max_size=6)


def trained(data: list[list[tuple[Any, str]]], algorithm: str = "lbfgs", **params: Any) -> bytes:
    """The bytes of a model that python-crfsuite trains."""
    trainer = pycrfsuite.Trainer(algorithm, params, verbose=False)
    for sentence in data:
        trainer.append([token for token, _ in sentence], [label for _, label in sentence])
    with tempfile.TemporaryDirectory() as folder:
        trainer.train(os.path.join(folder, "model"))
        return Path(folder, "model").read_bytes()


class Theirs(pycrfsuite.Tagger):
    """python-crfsuite's tagger, which reads a model in memory where it lies and does not keep it."""

    def __init__(self, data: bytes) -> None:
        self.data = data  # must live as long as the tagger: otherwise it reads, and writes by, what comes there next
        self.open_inmemory(data)


def theirs(data: bytes) -> Any:
    return Theirs(data)


def ours(data: bytes, folder: Path) -> Tagger:
    path = folder / "model.crfsuite"
    path.write_bytes(data)
    return Tagger.load(path)


def agree(data: bytes, tagger: Tagger, sentences: list[list[Any]], tolerance: float = 1e-9) -> None:
    """Tags, scores by session and by file of sentences, marginals and probabilities are those of python-crfsuite."""
    judge, session = theirs(data), tagger.session()
    assert tagger.labels_ == judge.labels()
    expected = [judge.tag(sentence) for sentence in sentences]
    assert [session.tag(sentence) for sentence in sentences] == expected
    assert tagger.predict(sentences) == expected
    assert [lists[0].output for lists in tagger.nbest(sentences, 2)] == expected
    for sentence, table, labels in zip(sentences, tagger.predict_marginals(sentences), expected, strict=True):
        judge.set(sentence)
        for i, row in enumerate(table):
            for label, value in row.items():
                assert value == pytest.approx(judge.marginal(label, i), abs=tolerance)
        ((best, _, probability),) = tagger.nbest([sentence], 1)[0]
        assert best == labels
        assert probability == pytest.approx(judge.probability(labels), abs=tolerance)


CASES = st.lists(SENTENCES, min_size=1, max_size=5)


@few(0.5)
@given(CASES, CASES, st.sampled_from(["lbfgs", "ap", "pa", "arow", "l2sgd"]), st.booleans())
def test_the_same_answers(train: list[Any], test: list[Any], algorithm: str, possible: bool) -> None:
    more = {"max_iterations": 4} if algorithm != "arow" else {}
    if algorithm in ("lbfgs", "l2sgd"):
        more |= {"feature.possible_transitions": possible, "feature.possible_states": possible}
    data = trained(train, algorithm, **more)
    with tempfile.TemporaryDirectory() as folder:
        tagger = ours(data, Path(folder))
        sentences = [[token for token, _ in sentence] for sentence in train + test]
        agree(data, tagger, sentences)
        assert crfsuite_bytes(tagger.model_) == data  # every byte: their order of features is the only one there is
        tagger.save(Path(folder, "model.palm"))
        again = Tagger.load(Path(folder, "model.palm"))
        assert isinstance(again.model_, ImportedModel)
        agree(data, again, sentences)
        agree(crfsuite_bytes(again.model_), again, sentences)


def test_ties_go_as_theirs(tmp_path: Path) -> None:
    """Equal weights: the first label, at every token."""
    data = trained([[(["a"], "X"), (["a"], "Y")], [(["a"], "Y"), (["a"], "X")]], max_iterations=50)
    sentences = [[["a"]] * n for n in range(1, 6)] + [[["unknown"]] * 3, [[]] * 2]
    agree(data, ours(data, tmp_path), sentences)


def test_an_empty_sentence_has_no_labels(tmp_path: Path) -> None:
    data = trained([[(["a"], "X")], [(["b"], "Y")]])
    tagger = ours(data, tmp_path)
    assert tagger.predict([[], [["a"]]]) == [[], theirs(data).tag([["a"]])]
    assert tagger.session().tag([]) == []
    assert theirs(data).tag([]) == []


def test_values_keep_their_sixteen_digits(tmp_path: Path) -> None:
    train = [[({"x": 0.1, "y": 1234.567}, "X")], [({"x": -0.3, "y": 99.01}, "Y")], [({"x": 7.7, "z": True}, "X")]]
    data = trained(train, max_iterations=30, c2=0.001)
    tagger = ours(data, tmp_path)
    sentences = [[{"x": 0.1 * k, "y": 1000.1 * k, "z": 1e-5}] for k in range(1, 6)]
    agree(data, tagger, sentences, 1e-12)
    path = tmp_path / "data.txt"
    path.write_text("".join(f"X\tx:{s[0]['x']!r}\ty:{s[0]['y']!r}\tz:{s[0]['z']!r}\n\n" for s in sentences))
    corpus = read_corpus(path, FormatSpec(format="attributes"))
    table = confidence_of(tagger.model_, corpus, np.zeros(len(sentences), np.int32), marginals=True).marginals
    assert table is not None
    judge = theirs(data)
    for row, sentence in zip(table, sentences, strict=True):
        judge.set(sentence)
        assert row.tolist() == pytest.approx([judge.marginal(label, 0) for label in tagger.labels_], abs=1e-12)


def test_the_way_for_odd_tokens_splits_values_too(tmp_path: Path) -> None:
    """Sets are not read by the encoder of blocks."""
    data = trained([[({"x": 0.1, "s": {"p"}}, "X")], [({"x": -0.3, "s": {"q"}}, "Y")]], c2=0.001)
    agree(data, ours(data, tmp_path), [[{"x": 12.1, "s": {"p", "q"}}, {"x": 0.7, "s": {"q"}}]], 1e-12)


def test_what_old_models_gain(tmp_path: Path) -> None:
    """Known labels, a bias, a tag scheme, n-best lists, explanations, calibration, compact weights."""
    train = [[(["b"], "B-X"), (["i"], "I-X"), (["o"], "O")], [(["o"], "O"), (["b"], "B-X"), (["q"], "O")]]
    data = trained(train * 3, c2=0.1)
    tagger = ours(data, tmp_path)
    sentence = [["o"], ["i"], ["q"]]
    assert tagger.predict([sentence], allowed=[[None, {"B-X"}, None]])[0][1] == "B-X"
    listed = tagger.nbest([sentence], 27)[0]
    judge = theirs(data)
    judge.set(sentence)
    assert len(listed) == 27
    assert [one.probability for one in listed] == pytest.approx([judge.probability(one.output) for one in listed])
    allowed = [one for one in listed if one.output[0] != "I-X" and ("O", "I-X") not in pairwise(one.output)]
    share = sum(one.probability or 0.0 for one in allowed)
    tagger.constrain("iob2")
    found = tagger.nbest([sentence], 27)[0]
    assert [one.output for one in found] == [one.output for one in allowed]
    assert [one.probability for one in found] == pytest.approx([(one.probability or 0) / share for one in allowed])
    tagger.save(tmp_path / "strict.palm")
    assert Tagger.load(tmp_path / "strict.palm").nbest([sentence], 27)[0] == found
    with pytest.raises(UsageError, match="forbidden transitions"):
        tagger.save(tmp_path / "strict.crfsuite")
    X, y = [[t for t, _ in s] for s in train], [[label for _, label in s] for s in train]
    tagger.calibrate([*X, sentence], [*y, ["O", "B-X", "I-X"]])
    assert tagger.model_.temperature != 1.0
    assert tagger.predict(X) == y
    with pytest.raises(UsageError, match="cannot be trained further"):
        tagger.partial_fit(X, y)
    tagger.compact()
    assert tagger.predict(X) == y


def test_the_shipped_model_of_usaddress(tmp_path: Path, corpora: Path) -> None:
    import xml.etree.ElementTree as ET

    import usaddress

    source = Path(usaddress.__file__).with_name("usaddr.crfsuite").read_bytes()
    texts = ["".join(one.itertext()) for one in ET.parse(corpora / "downstream" / "usaddress-labeled.xml").getroot()]
    sentences = [usaddress.tokens2features(usaddress.tokenize(text)) for text in texts[::10]]
    tagger = ours(source, tmp_path)
    agree(source, tagger, sentences, 1e-12)
    assert crfsuite_bytes(tagger.model_) == source
    tagger.save(tmp_path / "copy.crfsuite")
    assert (tmp_path / "copy.crfsuite").read_bytes() == source


# --- writing what we have trained ----------------------------------------------------------------------------

X = [[{"w": "the", "n": 0.5}, {"w": "cat"}], [{"w": "a"}, {"w": "dog", "n": -2.0}, {"w": "barks"}]]
Y = [["D", "N"], ["D", "N", "V"]]


@pytest.mark.parametrize("learner", [Crf(), "perceptron"])
def test_our_own_models_are_theirs(learner: Any, tmp_path: Path) -> None:
    tagger = Tagger(ends=False, **epochs(5, learner)).fit(X, Y)
    tagger.save(tmp_path / "own.crfsuite")
    data = (tmp_path / "own.crfsuite").read_bytes()
    judge = theirs(data)
    assert [judge.tag(x) for x in X] == tagger.predict(X) == Y
    about = judge.info()
    assert set(about.labels) == set(tagger.labels_)
    weights = tagger.model_.chain.transitions[1].w
    for (before, after), weight in about.transitions.items():
        own = weights[tagger.labels_.index(before), tagger.labels_.index(after)]
        assert weight == pytest.approx(float(own), abs=1e-6)  # their dump has six digits
    agree(data, Tagger.load(tmp_path / "own.crfsuite"), X)


def test_a_model_with_templates_spells_its_attributes(tmp_path: Path) -> None:
    columns = [[("the", "x"), ("cat", "y")], [("a", "x"), ("dog", "z")]]
    labels = [["D", "N"], ["D", "N"]]
    tagger = Tagger(template=parse("U0:%x[0,0]\nU1:%x[-1,1]\nB"), ends=False, passes=3).fit(columns, labels)
    judge = theirs(crfsuite_bytes(tagger.model_))
    assert judge.tag([["U0:the", "U1:_B-1"], ["U0:cat", "U1:x"]]) == ["D", "N"]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({}, "start and end weights"),
        ({"ends": False, "states": Latent(2)}, "states behind labels"),
        ({"ends": False, "learner": "maxent"}, "token by token"),
        ({"ends": False, "template": parse("U0:%x[0,0]\nB1:%x[0,0]\nB")}, "attributes? on label pairs"),
        ({"ends": False, "template": parse("U0:%x[0,0]\nB\nT")}, "order 2"),
        ({"ends": False, "forbidden": [("N", "D")]}, "forbidden transitions"),
    ],
)
def test_what_their_format_cannot_hold(options: dict[str, Any], message: str, tmp_path: Path) -> None:
    words = [[("the",), ("cat",)], [("a",), ("dog",), ("barks",)]] if "template" in options else X
    tagger = Tagger(**options | epochs(2, options.get("learner", "perceptron"))).fit(words, Y)
    with pytest.raises(UsageError, match=message):
        tagger.save(tmp_path / "x.crfsuite")
    assert not (tmp_path / "x.crfsuite").exists()


def test_a_stripped_model_has_no_names_to_write(tmp_path: Path) -> None:
    tagger = Tagger(ends=False, passes=2).fit(X, Y)
    with pytest.raises(UsageError, match="names are not stored"):
        tagger.save(tmp_path / "x.crfsuite", strip=True)


# --- hashes --------------------------------------------------------------------------------------------------


def test_hashes_are_lookup3() -> None:
    """Published values: of the empty string with its zero byte none, so those that CRFsuite files have are compared."""
    names = ["", "a", "abc", "twelve bytes", "eleven byte", "thirteen byte", "x" * 40, "ü", "\U0001f600" * 7]
    data = trained([[(names[1:], "X")], [(["a"], "Y")]], **{"feature.possible_states": True})
    found = hash_places(data)
    hashes = string_hashes(*bytes_of(names))
    for name, value in zip(names[1:], hashes[1:].tolist(), strict=True):
        assert found[name] == value


def hash_places(data: bytes) -> dict[str, int]:
    """The hash of each attribute in a file."""
    (begin,) = struct.unpack_from("<I", data, 36)
    found = {}
    for k in range(256):
        at, size = struct.unpack_from("<II", data, begin + 24 + 8 * k)
        for n in range(size):
            value, place = struct.unpack_from("<II", data, begin + at + 8 * n)
            if place:
                (length,) = struct.unpack_from("<I", data, begin + place + 4)
                name = data[begin + place + 8 : begin + place + 7 + length].decode()
                found[name] = value
    return found


def test_pruned_models_have_no_zeros(tmp_path: Path) -> None:
    """Arrays of a model file may hold weights of 0, which a `.crfsuite` file does not."""
    data = trained([[(["a", "b"], "X"), (["c"], "Y")], [(["a"], "Y"), (["d", "b"], "Z")]])
    tagger = ours(data, tmp_path)
    exact = tagger.model_.exact
    assert exact is not None
    sentences = [[["a", "b"], ["c", "d"]], [["b"]]]
    own = tagger.model_.names[1]
    zeroed = [k for k in range(len(own)) if own[k] in ("b", "d")]
    for k in zeroed:
        exact.w[exact.first[k] : exact.first[k + 1]] = 0.0
    expected = tagger.predict_marginals(sentences)
    tagger.save(tmp_path / "small.palm", prune=True)
    small = Tagger.load(tmp_path / "small.palm")
    assert small.model_.feature_indexes[1].size == len(own) - len(zeroed)
    assert small.predict_marginals(sentences) == expected
    assert sorted(small.model_.names[1][k] for k in range(2)) == ["a", "c"]


def test_a_model_without_features(tmp_path: Path) -> None:
    """Nothing was frequent enough: all labels are equally good, and the first one comes out."""
    data = trained([[(["a"], "X"), (["c"], "Y")]], **{"feature.minfreq": 100.0})
    tagger = ours(data, tmp_path)
    agree(data, tagger, [[["a"], ["q"]], [["c"]]])
    assert crfsuite_bytes(tagger.model_) == data
    tagger.compact()
    tagger.save(tmp_path / "small.palm")
    assert Tagger.load(tmp_path / "small.palm").predict([[["a"], ["q"]]]) == [["X", "X"]]


def test_the_command_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.chdir(tmp_path)
    cli = Cli(tmp_path, capsys, monkeypatch)
    train = [[(["b"], "B-X"), (["i"], "I-X"), (["o"], "O")], [(["o"], "O"), (["b"], "B-X"), (["i"], "O")]]
    cli.write("m.crfsuite", trained(train, c2=0.1))
    cli.write("d.txt", "B-X\tb\nI-X\ti\nO\to\n\nO\to\nB-X\tb\nO\ti\n")
    judge = theirs((tmp_path / "m.crfsuite").read_bytes())
    expected = [judge.tag([["b"], ["i"], ["o"]]), judge.tag([["o"], ["b"], ["i"]])]
    for command in ("tag m.crfsuite d.txt", "tag m.palm d.txt", "tag again.crfsuite d.txt"):
        if "m.palm" in command:
            cli.fine("convert m.crfsuite -o m.palm")
            cli.fine("convert m.palm -o again.crfsuite")
        assert [block.split("\n") for block in cli.fine(command).strip().split("\n\n")] == expected
    assert "accuracy" in cli.fine("eval m.crfsuite d.txt")
    assert "total" in cli.fine("explain m.crfsuite --data d.txt")
    assert "a model of CRFsuite" in cli.fine("inspect m.crfsuite")
    cli.write("dev.txt", cli.read("d.txt") + "\nO\tb\nB-X\to\n")  # with a mistake: else no temperature is best
    assert "temperature" in cli.fine("calibrate m.crfsuite dev.txt -o c.palm")
    cli.fine("convert m.crfsuite -o strict.palm --constraints auto")
    assert "3 labels (IOB2)" in cli.fine("inspect strict.palm")
    for line, message in (
        ("convert m.crfsuite -o x.txt", "ends in .palm or .crfsuite"),
        ("convert m.crfsuite", "ends in .palm or .crfsuite"),
        ("convert d.txt --format attributes --constraints iob2", "--constraints is for models"),
        ("convert strict.palm -o x.crfsuite", "forbidden transitions"),
    ):
        ran = cli(line)
        assert ran.code == 2
        assert message in ran.err


def test_a_single_weight(tmp_path: Path) -> None:
    """It lies at no multiple of eight bytes in the file."""
    data = trained([[([], "O"), (["a"], "B-X")]])
    agree(data, ours(data, tmp_path), [[["a"], []], [[]]])
