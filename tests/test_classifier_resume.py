"""A classifier whose training goes on: exactly with a checkpoint, from the weights that came out without one."""

from __future__ import annotations

import io
import random
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from cli_run import Cli

from palmette import Classifier
from palmette.classification.inspection import inspect_classifier, print_classifier
from palmette.classification.kernels.forms import Weights
from palmette.datasets import load_demo
from palmette.errors import UsageError
from palmette.reports import OutputConsole


@pytest.fixture
def cli(tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Cli:
    return Cli(tmp_path, capsys, monkeypatch)


def examples(part: str, seed: int, n: int = 60) -> tuple[list[Any], list[str]]:
    rng = random.Random(seed)
    sentences = rng.sample(load_demo(part)[0], n)
    return sentences + [rng.sample(s, len(s)) for s in sentences], ["1"] * n + ["0"] * n


TRAIN, DEV, OTHER = examples("train", 1), examples("dev", 2), examples("test", 3)


def weights_by_name(classifier: Classifier) -> dict[str, bytes]:
    """All weights to the last bit: rows by the names of their attributes, where they are not zero."""
    model = classifier.model_
    assert model.names is not None
    found = {"end": model.weights.end.tobytes(), "pair": model.weights.pair.tobytes()}
    for a, row in enumerate(model.weights.one.slot):
        if model.weights.one.w[row].any():
            found[model.names[a]] = model.weights.one.w[row].tobytes()
    return found


def reloaded(classifier: Classifier, folder: Path) -> Classifier:
    classifier.save(folder / "m.palm")
    return Classifier.load(folder / "m.palm")


CASES: list[dict[str, Any]] = [
    {},
    {"estimator": "last", "normalise": False},
    {"estimator": "avg", "views": "iob1,o+c", "combine": "vote", "types": 1},
    {"latent": 3, "learner": "probperc"},
    {"latent": "none", "learner": "mira"},
    {"learner": "lclr", "types": 1},
    {"learner": "lclr-variant", "views": "ioe1,ioe2", "types": 1},
    {"min_count": 2, "bound": True},
]


@pytest.mark.parametrize("options", CASES)
def test_three_passes_and_three_more_are_six(options: dict[str, Any], tmp_path: Path) -> None:
    six = Classifier(passes=6, seed=5, **options).fit(*TRAIN)
    three = Classifier(passes=3, seed=5, **options).fit(*TRAIN, checkpoint=True)
    half = reloaded(three, tmp_path)
    more = Classifier(passes=3, seed=5, **options).fit(*TRAIN, resume=half.model_)
    assert weights_by_name(more) == weights_by_name(six)
    if len(six.training_log_) > 3:  # not yet without errors after three
        assert weights_by_name(three) != weights_by_name(six)
    for row, expected in zip(more.training_log_, six.training_log_, strict=True):
        assert {**row, "seconds": 0} == {**expected, "seconds": 0}
    assert more.decision_function(DEV[0]).tolist() == six.decision_function(DEV[0]).tolist()


@pytest.mark.parametrize("first", [1, 4])
def test_the_best_pass_of_both_parts_is_kept(first: int, tmp_path: Path) -> None:
    options: dict[str, Any] = {"estimator": "last", "types": 1}
    whole = Classifier(passes=7, **options).fit(*TRAIN, dev=DEV)
    part = Classifier(passes=first, **options).fit(*TRAIN, dev=DEV, checkpoint=True)
    more = Classifier(passes=7 - first, **options).fit(*TRAIN, dev=DEV, resume=reloaded(part, tmp_path).model_)
    assert [row["dev"] for row in more.training_log_] == [row["dev"] for row in whole.training_log_]
    assert more.model_.meta["best_pass"] == whole.model_.meta["best_pass"]
    assert weights_by_name(more) == weights_by_name(whole)


def test_a_model_without_a_checkpoint_gives_its_weights(tmp_path: Path) -> None:
    """A pass over nothing to correct leaves them as they are."""
    one = Classifier(passes=8, estimator="last", learner="perceptron").fit(*TRAIN)
    assert one.training_log_[-1]["updates"] == 0
    before = reloaded(one, tmp_path).model_
    two = Classifier(passes=1, estimator="last", learner="perceptron").fit(*TRAIN, resume=before)
    assert weights_by_name(two) == weights_by_name(one)
    assert len(two.training_log_) == len(one.training_log_) + 1


@pytest.mark.parametrize("checkpoint", [True, False])
def test_new_data_bring_new_attributes(checkpoint: bool, tmp_path: Path) -> None:
    one = Classifier(passes=2).fit(*TRAIN, checkpoint=checkpoint)
    before = weights_by_name(one)
    half = reloaded(one, tmp_path)
    two = Classifier(passes=2).fit(*OTHER, resume=half.model_, checkpoint=True)
    names = set(weights_by_name(two))
    assert set(before) < names
    assert any("harbour" in name or "ferry" in name for name in names) or len(names) > len(before) + 100
    assert weights_by_name(half) == before  # the old model is as it was
    three = Classifier(passes=2).fit(*TRAIN, resume=reloaded(two, tmp_path).model_)
    assert three.score(*TRAIN) > 0.9
    assert [row["number"] for row in three.training_log_] == [1, 2, 3, 4, 5, 6]


def test_a_checkpoint_is_kept_only_if_asked_for(tmp_path: Path) -> None:
    plain = reloaded(Classifier(passes=1).fit(*TRAIN), tmp_path)
    assert plain.model_.checkpoint == {}
    kept = reloaded(Classifier(passes=1, estimator="last").fit(*TRAIN, checkpoint=True), tmp_path)
    assert set(kept.model_.checkpoint) == {"clock", "inner", "slot", "weights", "end", "pair"}
    assert isinstance(kept.model_.weights, Weights)
    assert np.array_equal(kept.model_.checkpoint["end"], kept.model_.weights.end)


@pytest.mark.parametrize(
    ("options", "told"),
    [
        ({"views": "all"}, "views is"),
        ({"types": 2}, "types is"),
        ({"estimator": "last"}, "estimator is 'pass'"),
        ({"normalise": False}, "normalise is"),
        ({"learner": "mira"}, "the learner of the model, pa"),
    ],
)
def test_what_a_resumed_training_cannot_change(options: dict[str, Any], told: str) -> None:
    old = Classifier(passes=1).fit(*TRAIN)
    with pytest.raises(UsageError, match=told):
        Classifier(passes=1, **options).fit(*TRAIN, resume=old.model_)


def test_other_classes_and_learners_with_state() -> None:
    old = Classifier(passes=1).fit(*TRAIN)
    other = [{"1": "yes", "0": "no"}[c] for c in TRAIN[1]]
    with pytest.raises(UsageError, match="resume: the classes are"):
        Classifier(passes=1).fit(TRAIN[0], other, positive="yes", resume=old.model_)
    with pytest.raises(UsageError, match="arow has state per weight"):
        Classifier(passes=1, learner="arow").fit(*TRAIN, checkpoint=True)


def test_on_the_command_line(cli: Cli) -> None:
    cli.fine("demo --dataset grammaticality")
    train = "classifier train grammaticality.txt -q --seed 3 --json"
    cli.fine(f"{train} -o six.palm --types 1 --passes 4")
    cli.fine(f"{train} -o half.palm --types 1 --passes 2 --checkpoint")
    cli.fine(f"{train} -o more.palm --resume half.palm --passes 2")
    six, more = (Classifier.load(f"{name}.palm") for name in ("six", "more"))
    assert weights_by_name(more) == weights_by_name(six)
    for flag in ("--views all", "--types 2", "--estimator last", "--positive 1"):
        ran = cli(f"{train} -o more.palm --resume half.palm {flag}")
        assert ran.code == 2
        assert "--resume continues with" in ran.err


def test_passes_without_development_data_are_shown_beside_those_with() -> None:
    one = Classifier(passes=1, types=1).fit(*TRAIN, checkpoint=True)
    two = Classifier(passes=1, types=1).fit(*TRAIN, dev=DEV, resume=one.model_)
    out = io.StringIO()
    print_classifier(inspect_classifier(two, 1), OutputConsole(100, file=out))
    rows = [line.split() for line in out.getvalue().splitlines()]
    table = rows[next(k for k, row in enumerate(rows) if row[:2] == ["pass", "updates"]) :]
    assert [row[3] for row in table[1:3]] == ["-", f"{100 * two.training_log_[1]['dev']:.2f}"]
