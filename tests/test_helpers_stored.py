"""Models of words and a further column that store a tagger of that column: words alone are enough."""

from __future__ import annotations

import copy
import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from cli_run import Cli, leave_demo

from palmette import Tagger
from palmette.data import model_file
from palmette.datasets import load_demo
from palmette.errors import ModelError, UsageError

X, Y = load_demo("train")
WORDS = [[word for word, _ in sentence] for sentence in load_demo("dev")[0][:40]]
PASSES: dict[str, Any] = {"learner": "perceptron", "passes": 2}


@pytest.fixture(scope="module")
def tagger() -> Tagger:
    return Tagger("chunk", helper=True, **PASSES).fit(X[:120], Y[:120])


@pytest.fixture(scope="module")
def file(tagger: Tagger, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("helper") / "m.palm"
    tagger.save(path)
    return path


def test_words_get_the_column_that_the_helper_makes(tagger: Tagger, file: Path) -> None:
    (helper,) = tagger.model_.helpers
    alone = Tagger()
    alone.model_ = helper
    tagged = [list(zip(words, tags, strict=True)) for words, tags in zip(WORDS, alone.predict(WORDS), strict=True)]
    wanted = tagger.predict(tagged)
    for one in (tagger, Tagger.load(file), pickle.loads(pickle.dumps(tagger)), copy.deepcopy(tagger)):
        assert one.predict(WORDS) == wanted
        assert [one.session().tag(words) for words in WORDS[:3]] == wanted[:3]
        assert one.predict(X[:5]) == tagger.predict(X[:5])  # columns that are given are used
        assert one.nbest(WORDS[:2], 2) == tagger.nbest(tagged[:2], 2)
        assert len(one.predict_marginals(WORDS[:1])[0]) == len(WORDS[0])
        assert str(one.explain(WORDS[0])) == str(tagger.explain(tagged[0]))


def test_the_command_says_what_every_input_needs(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    leave_demo(tmp_path)
    cli = Cli(tmp_path, capsys, monkeypatch)
    plain = cli("train train.txt -o plain.palm --features chunk --passes 1")
    assert "the model reads 2 columns: every input needs them" in plain.err
    assert "--helper" in plain.err
    assert "--columns 0" in plain.err
    assert "the model reads 2 columns" in cli("tag plain.palm --text Hello").err
    made = cli("train train.txt -o full.palm --features chunk --passes 1 --dev dev.txt --helper --compact")
    assert "with its columns, and" in made.err
    assert "every input needs" not in made.err
    assert cli.fine("tag full.palm --text Hello -q").startswith("Hello")
    (tmp_path / "words.txt").write_text("Time\nflies\n\nlike\n")
    assert cli.fine("tag full.palm words.txt -q").count("\n") == 4
    assert "words alone" in cli("train train.txt -o a.palm --columns 0 --features pos --passes 1 --helper").err


def test_a_model_that_is_trained_further_keeps_its_helper(tagger: Tagger, file: Path) -> None:
    again = Tagger.load(file).partial_fit(X[120:140], Y[120:140])
    assert len(again.model_.helpers) == 1
    assert len(again.predict(WORDS[:3])) == 3


def test_what_cannot_have_helpers() -> None:
    with pytest.raises(UsageError, match="words alone"):
        Tagger("pos", helper=True, **PASSES).fit([["a", "b"]] * 3, [["X", "Y"]] * 3)
    with pytest.raises(UsageError, match="not on disk or in shards"):
        Tagger("chunk", helper=True, out_of_core=True, **PASSES).fit(X[:20], Y[:20])


def test_damaged_helpers(file: Path, tmp_path: Path) -> None:
    arrays, meta = model_file.load(file)
    nested = meta | {"helpers": [meta["helpers"][0] | {"helpers": meta["helpers"]}]}
    twice = {name.replace("1/", "2/"): array for name, array in arrays.items() if name.startswith("1/")}
    wide = {f"1/{name}": array for name, array in arrays.items() if "/" not in name}
    own = {name: value for name, value in meta.items() if name != "helpers"}
    cases: list[tuple[dict[str, Any], dict[str, Any], str]] = [
        (arrays, nested, "a helper has helpers"),
        (arrays | twice, meta | {"helpers": meta["helpers"] * 2}, "not those of its columns"),
        (arrays | wide, meta | {"helpers": [own]}, "reads other columns than it gets"),
        ({name: array for name, array in arrays.items() if name != "1/label.low"}, meta, "is missing"),
        (arrays | {"1/label.low": np.zeros(3, np.uint32)}, meta, "has shape"),
    ]
    for own_arrays, own_meta, message in cases:
        model_file.save(tmp_path / "bad.palm", own_arrays, own_meta)
        with pytest.raises(ModelError, match=message):
            Tagger.load(tmp_path / "bad.palm")
