"""The tagger of the drop-in beside python-crfsuite's: the same file, the same answers, the same errors."""

from __future__ import annotations

import io
import pickle
import random
from pathlib import Path
from typing import Any

import pycrfsuite
import pytest
from crfsuite_cases import random_sequences, trained

import palmette.crfsuite as ours
from palmette.errors import ModelError


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> str:
    """A model of python-crfsuite, with few weights at zero."""
    file = tmp_path_factory.mktemp("crfsuite") / "model.crfsuite"
    trained(pycrfsuite, random_sequences(1, 60, negative=True), file, c1=0.1, c2=0.01)
    return str(file)


@pytest.fixture
def both(path: str) -> tuple[Any, Any]:
    taggers = ours.Tagger(), pycrfsuite.Tagger()
    for tagger in taggers:
        tagger.open(path)
    return taggers


ODD: list[Any] = [
    ["ab", "w:a"], [("w:a", "upper")], [{"w:a", "n"}], [{b"w": b"a"}, [b"w:b"]], ({"w": "a"}, {"w": "b"}),
    [{"w": "a", "n": True, "p": {"s": ["x", "y"]}}], [["w:a", "w:a", "w:a"]], [{}, [], {"unknown": 5}], [], "ab",
    [{"w": "a", "n": 1e-3}] * 50, [["w:a"]] * 1500,
]  # fmt: skip


@pytest.mark.parametrize("sequence", [*(x for x, _ in random_sequences(9, 12, negative=True)), *ODD])
def test_tags_and_probabilities(both: tuple[Any, Any], sequence: Any) -> None:
    own, theirs = both
    tags = theirs.tag(sequence)
    assert own.tag(sequence) == own.tag() == tags
    labels, draw = theirs.labels(), random.Random(3)
    assert own.labels() == labels
    for _ in range(3):
        if len(tags) < 100:  # products of more are too small to compare
            assert own.probability(tags) == pytest.approx(theirs.probability(tags), rel=1e-6)
        for place in draw.sample(range(len(tags)), min(5, len(tags))):
            for label in labels:
                assert own.marginal(label, place) == pytest.approx(theirs.marginal(label, place), abs=1e-6)
        tags = [draw.choice(labels) for _ in tags]
    assert own.marginals().shape == (len(tags), len(labels))


def test_set_and_item_sequences(both: tuple[Any, Any]) -> None:
    items = random_sequences(10, 1)[0][0]
    own, theirs = both
    expected = theirs.tag(items)
    assert own.tag(ours.ItemSequence(items)) == own.tag(iter(items)) == expected
    own.set([["w:a"]])
    own.set(items)
    assert own.tag() == expected
    theirs.set(items)
    assert own.probability(expected) == pytest.approx(theirs.probability(expected), rel=1e-6)
    assert own.probability([tag.encode() for tag in expected]) == own.probability(tuple(expected))


def test_nothing_is_set(both: tuple[Any, Any]) -> None:
    for tagger in both:
        assert tagger.tag() == []
        assert tagger.marginal("A", 0) == 0.0
        assert tagger.probability([]) == tagger.probability(["A"]) == 0.0


def test_info(both: tuple[Any, Any]) -> None:
    own, theirs = (tagger.info() for tagger in both)
    assert vars(own) == vars(theirs)


def test_dump(both: tuple[Any, Any], tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    own, theirs = both
    own.dump(tmp_path / "own")
    theirs.dump(str(tmp_path / "theirs"))
    text = (tmp_path / "theirs").read_text()
    assert (tmp_path / "own").read_text() == text
    own.dump()
    assert capsys.readouterr().out == text


def test_open_returns_what_closes(path: str) -> None:
    for module in (ours, pycrfsuite):
        tagger = module.Tagger()
        with tagger.open(path) as opened:
            assert opened is tagger
            assert tagger.labels()
        with pytest.raises(ValueError, match="not opened"):
            tagger.labels()
        data = Path(path).read_bytes()
        with tagger.open_inmemory(data):
            assert tagger.tag([["w:a"]]) == ["A"]
        tagger.close()


def test_a_closed_tagger_refuses(path: str, tmp_path: Path) -> None:
    """With the errors of python-crfsuite, which are ValueErrors, and RuntimeErrors for info and dump."""
    for module in (ours, pycrfsuite):
        tagger = module.Tagger()
        for use in (
            lambda: tagger.tag([["a"]]), lambda: tagger.tag([]), tagger.tag, tagger.labels,  # noqa: B023
            lambda: tagger.set([["a"]]), lambda: tagger.marginal("A", 0), lambda: tagger.probability(["A"]),  # noqa: B023
        ):  # fmt: skip
            with pytest.raises(ValueError, match="not opened"):
                use()
        for use in (tagger.info, lambda: tagger.dump(str(tmp_path / "nowhere"))):  # noqa: B023
            with pytest.raises(RuntimeError):
                use()
        tagger.close()


def test_what_does_not_fit_is_an_error(both: tuple[Any, Any]) -> None:
    for tagger in both:
        tagger.tag([["w:a"], ["w:b"]])
        for use in (
            lambda: tagger.probability(["A"]), lambda: tagger.marginal("A", 2), lambda: tagger.marginal("A", -1),  # noqa: B023
        ):  # fmt: skip
            with pytest.raises(ValueError, match=r"items|position"):
                use()
        for use in (lambda: tagger.marginal("no", 0), lambda: tagger.probability(["A", "no"])):  # noqa: B023
            with pytest.raises(RuntimeError, match="no"):
                use()


@pytest.mark.parametrize(
    "items", [[{"a": None}], [5], [{"w": "a"}, {"a": object()}], [{"n": float("nan")}]],
    ids=["None", "a number", "an object", "NaN"],
)  # fmt: skip
def test_a_wrong_item_is_an_error_with_its_place(both: tuple[Any, Any], items: list[Any]) -> None:
    own, _ = both
    for use in (lambda: own.tag(items), lambda: (own.set(items), own.marginal("A", 0))):
        with pytest.raises((TypeError, ValueError), match=r"item \d: |32 bits"):
            use()
    assert own.tag([["w:a"]]) == ["A"]


def test_files_that_are_no_models(tmp_path: Path, path: str) -> None:
    tagger = ours.Tagger()
    for module in (ours, pycrfsuite):
        with pytest.raises(FileNotFoundError):
            module.Tagger().open(str(tmp_path / "none"))
        with pytest.raises(IsADirectoryError):
            module.Tagger().open(str(tmp_path))
        with pytest.raises(TypeError):
            module.Tagger().open_inmemory("text")
        with pytest.raises(ValueError, match=r"model"):
            module.Tagger().open_inmemory(b"text")
        (tmp_path / "text").write_text("text")
        with pytest.raises(ValueError, match=r"text"):
            module.Tagger().open(str(tmp_path / "text"))
    data = Path(path).read_bytes()
    for size in (4, 40, 48, 100, len(data) - 4):
        with pytest.raises(ModelError):
            tagger.open_inmemory(data[:size])
    with pytest.raises(ValueError, match="not opened"):
        tagger.tag([["a"]])


def test_a_tagger_opens_another_model(both: tuple[Any, Any], tmp_path: Path) -> None:
    own, _ = both
    own.tag([["w:a"]])
    own.marginal("A", 0)
    trained(ours, [([["x"], ["y"]], ["X", "Y"])], tmp_path / "other")
    own.open(tmp_path / "other")
    assert own.labels() == ["X", "Y"]
    assert own.marginals().shape == (0, 2)
    assert own.tag([["y"]]) == ["Y"]
    assert own.marginal("Y", 0) > 0.5


def test_a_tagger_can_be_pickled(both: tuple[Any, Any]) -> None:
    own, theirs = both
    items = random_sequences(10, 1)[0][0]
    own.tag(items)
    file = io.BytesIO(pickle.dumps(own))
    assert pickle.load(file).tag(items) == theirs.tag(items)
