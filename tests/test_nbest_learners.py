"""probPerc, MIRA and PA as a user meets them: settings that do not go together, the command line from end to end, one
model for one seed, and trainings that go on exactly."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from chain_arrays import column_corpus, weights_by_name
from cli_run import Cli, last_cells, leave_demo
from fitting import TEMPLATES, fit, flat_tagger, noisy, same_bits

from palmette.datasets import load_demo
from palmette.errors import UsageError
from palmette.structures import load_chain

LEARNERS = {
    "probperc": {"nbest": 3},
    "mira": {"nbest": 3, "aggressiveness": 0.05},
    "pa": {"pa_type": "PA-II", "aggressiveness": 0.5},
}


def chosen(learner: str) -> dict:
    return {"learner": learner, **LEARNERS[learner]}


# --- settings -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("settings", "told"),
    [
        ({"nbest": 5}, "nbest: is an option of probperc and mira.*; the learner is auto"),
        ({"learner": "pa", "nbest": 5}, "the learner is pa"),
        ({"learner": "mira", "nbest": 0}, "from 1 to 1,000"),
        ({"learner": "mira", "nbest": 2.5}, "whole number"),
        ({"learner": "probperc", "nbest": 100_000}, "from 1 to 1,000"),
        ({"rate": 0.5}, "rate: is an option of probperc and crf and dplvm; the learner is auto"),
        ({"learner": "mira", "rate": 0.5}, "rate: is an option of probperc and crf and dplvm; the learner is mira"),
        ({"learner": "probperc", "rate": 0.0}, "rate: 0.0 is not a number above 0"),
        ({"learner": "probperc", "rate": -1.0}, "rate: -1.0 is not a number above 0"),
        (
            {"learner": "crf", "rate_schedule": "constant"},
            "rate_schedule: is an option of probperc; the learner is crf",
        ),
        ({"learner": "probperc", "rate_schedule": "rising"}, "choose one of falling, constant"),
        ({"probability_function": "linear"}, "is an option of probperc; the learner is auto"),
        ({"learner": "probperc", "probability_function": "cubic"}, "softmax, linear, polynomial"),
        ({"learner": "probperc", "degree": 3.0}, "applies to the probability function polynomial, not softmax"),
        ({"learner": "probperc", "probability_function": "polynomial", "degree": -1.0}, "degree: -1.0 is not a number"),
        ({"learner": "mira", "add_gold": False}, "add_gold: is an option of probperc; the learner is mira"),
        ({"when": "errors"}, "when: is an option of probperc"),
        ({"learner": "probperc", "when": "never"}, "choose one of always, errors"),
        ({"learner": "probperc", "aggressiveness": 1.0}, "is an option of mira and pa.*; the learner is probperc"),
        ({"learner": "mira", "aggressiveness": 0.0}, "aggressiveness: 0.0 is not a number"),
        ({"learner": "mira", "pa_type": "PA-II"}, "pa_type: is an option of pa; the learner is mira"),
        ({"learner": "pa", "pa_type": "PA-III"}, "choose one of PA, PA-I, PA-II"),
        ({"learner": "pa", "cost": "span"}, "cost: is an option of mira.*; the learner is pa"),
        ({"learner": "mira", "cost": "f1"}, "choose one of hamming, span"),
        ({"learner": "mira", "l2": 1.0}, "l2: is an option of crf and dplvm and maxent; the learner is mira"),
        ({"learner": "probperc", "optimiser": "sgd"}, "is an option of crf and dplvm; the learner is probperc"),
    ],
)
def test_what_does_not_go_together_is_told(settings: dict, told: str) -> None:
    with pytest.raises(UsageError, match=told):
        flat_tagger(**settings)._settings()


def test_spans_need_chunk_labels() -> None:
    with pytest.raises(UsageError, match="is no chunk label; expected O"):
        fit(column_corpus(*noisy()), TEMPLATES[1], learner="mira", cost="span")


# --- trainings ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("learner", LEARNERS)
@pytest.mark.parametrize("order", [0, 1, 2])
@pytest.mark.parametrize("latent", [1, 2])
def test_two_passes_and_two_more_are_four(learner: str, order: int, latent: int, tmp_path: Path) -> None:
    """Also with mavg; the falling rate of probPerc goes on where it was."""
    corpus = column_corpus(*noisy())
    options = {**chosen(learner), "latent": latent, "estimator": "mavg", "mavg_every": 2, "seed": 3}
    four, _ = fit(corpus, TEMPLATES[order], passes=4, **options)
    again, _ = fit(corpus, TEMPLATES[order], passes=4, **options)
    two, _ = fit(corpus, TEMPLATES[order], passes=2, checkpoint=True, **options)
    two.save(str(tmp_path / "two.palm"))
    more, _ = fit(corpus, None, passes=2, resume=load_chain(str(tmp_path / "two.palm")), **options)
    assert same_bits(four, again)
    assert same_bits(more, four)
    assert not same_bits(more, two)
    other, _ = fit(corpus, TEMPLATES[order], passes=4, **{**options, "seed": 4})
    assert not same_bits(four, other)


@pytest.mark.parametrize("learner", LEARNERS)
def test_partial_labels_latent_states_and_constraints(learner: str) -> None:
    """A third of the labels hidden, two states a label, and edges that were seen: the rest is learnt all the same."""
    X, y = (part[:150] for part in load_demo("train"))
    hidden = [[None if (i + k) % 3 == 0 else label for k, label in enumerate(own)] for i, own in enumerate(y)]
    tagger = flat_tagger("chunk", **chosen(learner), latent=2, partial=True, passes=8, edge_features="seen").fit(
        X, hidden
    )
    assert tagger.score(X, y) > 0.93
    assert tagger.model_.scheme == "IOB2"
    for labels in tagger.predict(X):
        assert not any(b.startswith("I-") and a[1:] != b[1:] for a, b in zip(["O", *labels], labels, strict=False))


def test_more_candidates_than_there_are_paths() -> None:
    X, y = [["a"], ["b", "a"]], [["N"], ["V", "N"]]
    for learner in ("probperc", "mira"):
        tagger = flat_tagger("pos", learner=learner, nbest=1000, passes=5).fit(X, y)
        assert tagger.predict(X) == y


def test_weights_of_sentences_multiply_the_step() -> None:
    """From zero, one sentence of weight w moves by w times as much."""
    sentences, labels = noisy(n_sentences=1)
    for learner in LEARNERS:
        found = []
        for weight in (1.0, 3.0):
            corpus = column_corpus(sentences, labels)
            corpus.weight = np.array([weight], np.float32)
            model, _ = fit(corpus, TEMPLATES[1], **chosen(learner), passes=1, estimator="last")
            found.append(weights_by_name(model))
        assert found[0]
        assert found[1] == pytest.approx({feature: 3 * w for feature, w in found[0].items()}, rel=1e-5)


# --- the command line ---------------------------------------------------------------------------------------

COMMANDS = {
    "--learner probperc --learner-nbest 5": "probperc",
    "--learner probperc --learner-nbest 3 --rate 0.2 --update-when errors --no-add-gold": "probperc",
    "--learner probperc --probability-function polynomial --degree 3": "probperc",
    "--learner mira --learner-nbest 5 --margin-cost span": "mira",
    "--learner mira --aggressiveness 0.01": "mira",
    "--learner mira --learner-nbest 5 --step-cap sum": "mira",
    "--learner pa --pa-type PA-II": "pa",
    "--learner pa --pa-type PA --latent 2": "pa",
}


@pytest.fixture(scope="module")
def demo(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("nbest")
    leave_demo(folder)
    return folder


@pytest.fixture
def cli(demo: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Cli:
    return Cli(demo, capsys, monkeypatch)


@pytest.mark.parametrize("options", COMMANDS)
def test_train_tag_and_eval(cli: Cli, options: str) -> None:
    learner = COMMANDS[options]
    told = json.loads(cli.fine(f"train train.txt -o one.palm --features chunk --passes 4 {options} --json -q"))
    assert told["history"][-1]["updates"] > 0
    cli.fine("tag one.palm test.txt -o tagged.txt -q")
    assert len(last_cells(cli.read("tagged.txt"))) == 80
    scores = json.loads(cli.fine("eval one.palm test.txt --json"))
    assert scores["accuracy"] > 0.93
    assert cli.fine("inspect one.palm").split()[:2] == ["learner", learner]


@pytest.mark.parametrize(
    "learner", ["probperc --learner-nbest 4", "mira --learner-nbest 4 --margin-cost span", "pa --pa-type PA-II"]
)
def test_resumed_exactly_and_the_same_bytes(cli: Cli, learner: str) -> None:
    line = f"train train.txt --features chunk --learner {learner} --seed 7 -q"
    cli.fine(f"{line} -o four.palm --passes 4")
    cli.fine(f"{line} -o again.palm --passes 4")
    cli.fine(f"{line} -o two.palm --passes 2 --checkpoint")
    cli.fine("train train.txt -o more.palm --resume two.palm --passes 2 -q")
    assert (cli.folder / "four.palm").read_bytes() == (cli.folder / "again.palm").read_bytes()
    four, more = (load_chain(str(cli.folder / name)) for name in ("four.palm", "more.palm"))
    assert same_bits(four, more)
    one, other = (json.loads(cli.fine(f"inspect {name}.palm --json"))["settings"] for name in ("four", "more"))
    assert other | {"passes": 4} == one


def test_a_wrong_combination_ends_with_a_sentence(cli: Cli) -> None:
    ran = cli("train train.txt -o no.palm --features chunk --learner pa --learner-nbest 5")
    assert ran.code == 2
    assert ran.err.startswith("palmette: --learner-nbest: is an option of probperc and mira")
    assert not (cli.folder / "no.palm").exists()
