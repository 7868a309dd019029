"""Presets are the settings of their sources. What is expected stands here with the words of the source."""

from __future__ import annotations

from pathlib import Path

import pytest
from cli_run import Cli, leave_demo

from palmette import HMM, Beam, Classifier, Crf, Dplvm, Latent, Lclr, Parser, ProbPerc, Tagger
from palmette.errors import UsageError
from palmette.options.presets import PRESETS, parameters

ESTIMATORS = {"Tagger": Tagger, "Parser": Parser, "Classifier": Classifier}
EVERY = [(kind, name) for kind, presets in PRESETS.items() for name in presets]


@pytest.mark.parametrize(("kind", "name"), EVERY)
def test_every_preset_can_be_trained_and_names_its_places(kind: str, name: str) -> None:
    preset = PRESETS[kind][name]
    assert preset.source
    assert all(place for _, place in preset.settings.values())
    ESTIMATORS[kind].preset(name)._settings()  # checked values that go together


@pytest.mark.parametrize(("kind", "name"), EVERY)
def test_the_flags_are_the_settings(kind: str, name: str) -> None:
    """What is printed for the command line gives the same parameters."""
    from palmette.cli import load_command

    command = {"Tagger": "train", "Parser": "parser train", "Classifier": "classifier train"}[kind]
    preset, made = PRESETS[kind][name], load_command(command)
    owner = made.owners[0]
    parsed = made.parsed(["data", "-o", "model", *preset.flags(owner).split()])
    mine = ESTIMATORS[kind](**parsed.params(owner)).get_params(deep=True)
    assert mine == ESTIMATORS[kind](**parameters(owner, preset)).get_params(deep=True)


def test_the_latent_perceptron() -> None:
    """Figure 1 starts at random with a small norm, takes "each sentence in turn" and adds the difference of two paths;
    section 3.1 restarts from the average; section 5.2 has "5 latent variables for each label"."""
    made = Tagger.preset("sun2009")
    assert made.states == Latent(5, tied_update=0.0, init="all")
    assert (made.learner, made.estimator, made.batch_size) == ("perceptron", "mavg", 1)
    assert (made.constraints, made.ends) == ("none", False)
    settings = made._settings()
    assert settings.estimators_to_try(has_dev=True) == [("mavg", 2), ("mavg", 4), ("mavg", 8)]  # k from 2 to 8 on dev


def test_its_rivals() -> None:
    """Section 5: a Gaussian prior of variance 1 is w²/2; tables 2 and 4: at most 300 iterations of L-BFGS."""
    assert Tagger.preset("sun2009-crf").learner == Crf(l2=0.5, iterations=300)
    assert Tagger.preset("sun2009-dplvm").learner == Dplvm(l2=0.5, iterations=300)
    assert Tagger.preset("sun2009-dplvm-sgd").learner == Dplvm(l2=0.5, optimiser="sgd")


def test_the_probabilistic_perceptron() -> None:
    """Algorithm 1 adds gold to the list and always updates; probabilities are log-linear; the rate falls by
    1 / (1 + t / |S|); averaged weights come out."""
    made = Tagger.preset("sun-probperc")
    assert made.learner == ProbPerc(
        add_gold=True, when="always", probability_function="softmax", rate_schedule="falling"
    )
    assert (made.estimator, made.batch_size, made.constraints) == ("avg", 1, "none")
    rule = made._settings().chosen_learner.rule(1000)
    assert rule.rate / (1 + rule.decay * 2000) == pytest.approx(rule.rate / 3)  # t = 2 |S|


def test_collins_and_huang() -> None:
    """The averaged perceptron with exact search, and with a beam whose update is cut at a violation."""
    plain = Tagger.preset("collins2002")
    assert (plain.learner, plain.search, plain.estimator, plain.batch_size) == ("perceptron", "viterbi", "avg", 1)
    for update in ("standard", "early", "max-violation"):
        assert Tagger.preset(f"huang2012-{update}").search == Beam(2, update=update, recombine=True)
        parser = Parser.preset(f"huang2012-{update}")
        assert (parser.search, parser.merge, parser.estimator) == (Beam(8, update=update), True, "avg")


def test_clifton() -> None:
    """Algorithm 1 takes the whole step of PA and returns the last weights, here after 40 passes; the tags are the 23 of
    CoNLL-2000; five representations are combined in three ways."""
    one = Classifier.preset("clifton2013")._settings()
    assert one.chosen_learner.values() == {"pa_type": "PA", "aggressiveness": 1.0}
    assert (one.views, one.passes, one.estimator, one.normalise) == (("iob2",), 40, "last", False)
    assert 2 * len(one.chunk_types) + 1 == 23
    for combine in ("add", "vote", "cotrain"):
        five = Classifier.preset(f"clifton2013-{combine}")._settings()
        assert (five.combine, five.views) == (combine, ("iob1", "iob2", "ioe1", "ioe2", "o+c"))
    assert Classifier.preset("clifton2013-lclr").learner == Lclr(pa_type="PA")


def test_changes_have_the_names_of_flags() -> None:
    made = Tagger.preset("sun2009", latent=2, mavg_every=2, features="chunk")
    assert made.states == Latent(2, tied_update=0.0, init="all")
    assert (made.mavg_every, made.features) == (2, "chunk")
    assert Tagger.preset("sun-probperc", nbest=10).learner == ProbPerc(nbest=10, rate_schedule="falling")
    with pytest.raises(UsageError, match="no such option"):
        Tagger.preset("sun2009", states_per_label=2)


def test_a_name_that_does_not_exist() -> None:
    with pytest.raises(UsageError, match="no preset 'sun2010' of Tagger; choose one of sun2009, "):
        Tagger.preset("sun2010")
    with pytest.raises(UsageError, match="HMM has no presets; Tagger, Parser, Classifier have some"):
        HMM.preset("sun2009")


@pytest.fixture
def cli(tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Cli:
    leave_demo(tmp_path)
    return Cli(tmp_path, capsys, monkeypatch)


def test_the_command_trains_the_same_model(cli: Cli) -> None:
    further = "--latent 2 --features chunk --passes 2 --mavg-every 2"
    ran = cli(f"train train.txt -o a.palm --as sun2009 {further}")
    assert ran.code == 0
    assert "as sun2009 (Sun et al. 2009): --learner perceptron --latent 5" in ran.err
    assert "not as published: The size of the random start" in ran.err
    cli.fine(
        "train train.txt -o b.palm --learner perceptron --latent-init all --tied-update 0 --estimator mavg "
        f"--batch-size 1 --constraints none --no-ends -q {further}"
    )
    assert (cli.folder / "a.palm").read_bytes() == (cli.folder / "b.palm").read_bytes()
    assert "--as: --resume continues" in cli("train train.txt -o c.palm --as sun2009 --resume a.palm").err
