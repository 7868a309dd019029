"""Pictures of models: what they show is what the records say."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from palmette import Classifier, Crf, Parser, Tagger
from palmette.cli import main
from palmette.cli.inside import PICTURES as FLAGS
from palmette.datasets import load_demo, load_trees
from palmette.errors import PalmetteError, UsageError
from palmette.reports import plot
from palmette.reports.plots import MOST_STATES, PICTURES, learning_curve, strongest_weights, transition_map

PNG = b"\x89PNG"


@pytest.fixture(scope="module")
def tagger() -> Tagger:
    X, y = load_demo("train")
    return Tagger("chunk", passes=3).fit(X[:60], y[:60], dev=(X[60:80], y[60:80]))


def test_the_curve_has_the_numbers_of_the_log(tagger: Tagger) -> None:
    (axis,) = plot(tagger).axes
    train, dev = (line.get_ydata() for line in axis.lines[:2])
    log = tagger.training_log_
    assert np.allclose(train, [100 * row["train_accuracy"] for row in log])
    assert np.allclose(dev, [100 * row["dev"] for row in log])


def test_an_objective_has_a_panel() -> None:
    X, y = load_demo("train")
    crf = Tagger("chunk", learner=Crf(iterations=4)).fit(X[:20], y[:20])
    _, below = plot(crf).axes
    assert np.allclose(below.lines[0].get_ydata(), [row["figures"]["objective"] for row in crf.training_log_])


def test_the_map_shows_weights_and_greys_forbidden_transitions(tagger: Tagger) -> None:
    axis = plot(tagger, "transitions").axes[0]
    shown = axis.images[0].get_array()
    H = len(tagger.labels_)
    assert shown.shape == (H, H)
    allowed = tagger.model_.allowed.pair
    assert np.array_equal(np.ma.getmaskarray(shown), ~allowed)
    assert np.allclose(shown[allowed], tagger.model_.chain.transitions[1].w[:H, :H][allowed])
    assert [text.get_text() for text in axis.get_xticklabels()] == tagger.labels_


def test_a_map_of_many_states_keeps_those_that_move_most() -> None:
    names = [str(k) for k in range(MOST_STATES + 5)]
    table = [[0.0] * len(names) for _ in names]
    table[2][3] = 5.0
    axis = transition_map(names, table).axes[0]
    shown = [text.get_text() for text in axis.get_xticklabels()]
    assert len(shown) == MOST_STATES
    assert {"2", "3"} <= set(shown)


def test_bars_are_the_strongest_weights_in_words(tagger: Tagger) -> None:
    figure = plot(tagger, "weights", labels=["B-NP"], top=5)
    (axis,) = figure.axes
    assert len(axis.patches) == 5
    assert any("[" in text.get_text() and "=" in text.get_text() for text in axis.get_yticklabels())
    assert axis.get_title(loc="left") == "B-NP"


def test_parsers_and_classifiers_have_curves() -> None:
    parser = Parser(passes=2).fit(load_trees("train"))
    assert len(plot(parser).axes[0].lines[0].get_ydata()) == 2
    with pytest.raises(UsageError, match="picture of taggers"):
        plot(parser, "transitions")
    classifier = Classifier(passes=2).fit([["good"], ["bad"]] * 3, [1, 0] * 3)
    assert len(plot(classifier).axes) == 1


def test_commands_write_pictures(tagger: Tagger, tmp_path: Path) -> None:
    tagger.save(tmp_path / "m.palm")
    for what in FLAGS:
        main(["plot", str(tmp_path / "m.palm"), "-o", str(tmp_path / f"{what}.png"), "--chart", what])
        assert (tmp_path / f"{what}.png").read_bytes().startswith(PNG)
    main(["demo", "-o", str(tmp_path), "-q", "--text", "a"])
    main(["train", str(tmp_path / "train.txt"), "-o", str(tmp_path / "t.palm"), "--passes", "2", "-q",
          "--picture", str(tmp_path / "t.svg")])  # fmt: skip
    assert b"<svg" in (tmp_path / "t.svg").read_bytes()[:600]


def test_flags_and_python_have_the_same_pictures() -> None:
    assert tuple(PICTURES) == FLAGS


def test_errors(tagger: Tagger, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(UsageError, match="choose one of curve"):
        plot(tagger, "curves")
    with pytest.raises(PalmetteError, match="not trained"):
        plot(Tagger())
    with pytest.raises(UsageError, match="no training log"):
        learning_curve([])
    with pytest.raises(UsageError, match="no weights"):
        strongest_weights({"A": []})
    tagger.save(tmp_path / "m.palm")
    with pytest.raises(SystemExit):
        main(["plot", str(tmp_path / "m.palm"), "-o", str(tmp_path / "m.gif")])
    assert "ends in .png, .svg, .pdf" in capsys.readouterr().err
