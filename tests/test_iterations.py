"""The iterations of L-BFGS: their option, and what is said at their end."""

from __future__ import annotations

import json
import logging
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from cli_run import Cli, leave_demo
from fitting import same_bits

from palmette import Classifier, Crf, Dplvm, Latent, LinearClassifier, MaxEnt, Parser, Tagger
from palmette.datasets import load_demo, load_grammaticality, load_trees, load_vowels
from palmette.errors import UsageError
from palmette.options import OptionError
from palmette.options.learners import PATIENCE
from palmette.parsing import jackknife
from palmette.parsing.retag import trained_tagger
from palmette.training import minimise

X, Y = (part[:80] for part in load_demo("train"))
DEV = load_demo("dev")[0][:30], load_demo("dev")[1][:30]


@pytest.fixture
def cli(tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Cli:
    return Cli(tmp_path, capsys, monkeypatch)


# The option


@pytest.mark.parametrize("learner", [Crf(tolerance=0.0), MaxEnt(tolerance=0.0), Dplvm(tolerance=0.0)])
def test_so_many_iterations(learner: Any) -> None:
    states = Latent(2) if isinstance(learner, Dplvm) else "plain"
    tagger = Tagger("pos", learner=learner.replace(iterations=4), states=states).fit(X[:20], Y[:20])
    assert [row["number"] for row in tagger.training_log_] == [1, 2, 3, 4]
    assert tagger._settings().n_passes() == 4


def test_passes_and_iterations_are_not_mixed_up(cli: Cli) -> None:
    with pytest.raises(OptionError, match=r"has iterations, not passes: use learner=MaxEnt\(iterations=7\)"):
        Tagger(learner="maxent", passes=7)._settings()
    with pytest.raises(OptionError, match=r"learner=Crf\(iterations=3\)"):
        LinearClassifier(passes=3).fit(*load_vowels("train"))
    with pytest.raises(OptionError, match="iterations: applies to the optimiser lbfgs, not adagrad"):
        Crf(optimiser="adagrad", iterations=7)
    assert Tagger(learner=Crf(optimiser="sgd"), passes=7)._settings().n_passes() == 7
    leave_demo(cli.folder)
    ran = cli("train train.txt -o m.palm --learner crf --passes 7")
    assert (ran.code, "--passes: crf by lbfgs has iterations, not passes: use --iterations 7" in ran.err) == (2, True)
    assert "which has passes" in cli("train train.txt -o m.palm --learner mira --iterations 7").err


@pytest.mark.parametrize(
    ("kind", "name", "hint"),
    [
        (Tagger, "max_iterations", r"learner=Crf\(iterations=...\) \(for crf, .* other learners have passes\)"),
        (Tagger, "iterations", "an option of crf and dplvm and maxent; the learner is auto, which has passes"),
        (Parser, "max_iter", "it is passes here"),
        (Classifier, "iterations", "it is passes here"),
    ],
)
def test_words_of_other_tools(kind: type, name: str, hint: str) -> None:
    with pytest.raises((TypeError, UsageError), match=hint):
        kind(**{name: 5})


def test_flags_of_other_tools(cli: Cli) -> None:
    assert "it is --passes here" in cli("parser train x -o y --iterations 5").err
    assert "--learners crf:iterations=50" in cli("compare a b --iterations 5").err


def test_a_resumed_training_has_its_own_limit(cli: Cli) -> None:
    leave_demo(cli.folder)
    cli.fine("train dev.txt -o first.palm -f pos --learner crf --iterations 2 -q")
    cli.fine("train dev.txt -o more.palm --resume first.palm -q")
    more = Tagger.load("more.palm")
    assert more.learner == Crf(l2=1.0)
    assert len(more.training_log_) > 2
    cli.fine("train dev.txt -o few.palm --resume first.palm --iterations 1 -q")
    assert len(Tagger.load("few.palm").training_log_) == 1


# The end


def told_share(text: str) -> tuple[int, float, int]:
    """Iterations, per cent and period of what is said about an optimiser that was cut short."""
    found = re.fullmatch(
        r"stopped after (\d+) iterations? without convergence "
        r"\(the objective still fell by ([\d.]+)% in the last (?:(\d+) iterations|iteration)\)", text,
    )  # fmt: skip
    assert found is not None, text
    return int(found[1]), float(found[2]), int(found[3] or 1)


@pytest.mark.parametrize("n", [1, 2, 9, 14])
def test_what_is_said_is_what_the_objective_did(n: int) -> None:
    """Of a valley that L-BFGS follows for a while; the values are those of the function itself."""
    visited: list[float] = []

    def valley(w: np.ndarray, gradient: np.ndarray) -> float:
        x, y = float(w[0]), float(w[1])
        gradient[:] = -2.0 * (1.0 - x) - 400.0 * x * (y - x * x), 200.0 * (y - x * x)
        return (1.0 - x) ** 2 + 100.0 * (y - x * x) ** 2

    start = np.array([-1.2, 1.0], np.float32)
    visited.append(valley(start, np.zeros(2, np.float32)))
    found = minimise(valley, start, iterations=n, report=lambda done: visited.append(done.value))
    iterations, share, period = told_share(found.ended())
    assert (iterations, period) == (n, min(n, 10))
    assert share == pytest.approx(100 * (visited[-1 - period] - visited[-1]) / visited[-1 - period], rel=0.06)


def test_an_optimiser_that_was_cut_short_says_so(logged: list[str]) -> None:
    tagger = Tagger("chunk", learner=Crf(iterations=5)).fit(X, Y)
    assert tagger.outcome_.cut_short
    told_share(tagger.outcome_.ended)
    assert tagger.model_.meta["ended"] == tagger.outcome_.ended
    assert [message for message in logged if "convergence" in message] == [
        f"{tagger.outcome_.ended}: use learner=Crf(iterations=15), or a larger tolerance"
    ]


def test_no_warning_without_need(logged: list[str]) -> None:
    converged = Tagger("chunk", learner=Crf(tolerance=0.01)).fit(X, Y)
    assert converged.outcome_.ended.startswith("converged")
    early = Tagger("chunk", learner=Crf(iterations=25, tolerance=0.0)).fit(X, Y, dev=DEV)
    assert early.outcome_.best_epoch <= 15  # by development data, which is why the end does not matter
    assert "without convergence" in early.outcome_.ended
    stopped = Tagger("chunk", learner=Crf(), patience=2).fit(X, Y, dev=DEV)
    assert stopped.outcome_.ended.startswith("stopped: no better iteration")
    assert not any(tagger.outcome_.cut_short for tagger in (converged, early, stopped))
    assert not any("--iterations" in message for message in logged)


def test_development_data_ends_a_training_of_open_length() -> None:
    """A number of iterations that is given is kept to; without one L-BFGS converges or stops by development data."""
    stopped = Tagger("chunk", learner=Crf(tolerance=0.0)).fit(X, Y, dev=DEV).outcome_
    assert stopped.ended == f"stopped: no better iteration than {stopped.best_epoch} in the last {PATIENCE}"
    assert len(stopped.training_log) == stopped.best_epoch + PATIENCE
    given = Tagger("chunk", learner=Crf(tolerance=0.0, iterations=stopped.best_epoch + PATIENCE + 1))
    given = given.fit(X, Y, dev=DEV).outcome_
    assert len(given.training_log) == stopped.best_epoch + PATIENCE + 1
    assert Tagger("chunk", learner="crf").fit(X, Y).outcome_.ended.startswith("converged")


def test_restarts_warn_once(logged: list[str]) -> None:
    Tagger("chunk", learner=Dplvm(iterations=2), states=Latent(2, restarts=3)).fit(X[:20], Y[:20])
    assert sum("use learner=Dplvm(iterations=6)" in message for message in logged) == 1


def test_each_of_two_stages_says_it(logged: list[str]) -> None:
    Tagger("chunk", learner=Crf(l1=0.4, l2=0.2, l1_then_l2=True, iterations=3)).fit(X, Y)
    told = [message.partition(" ")[0] for message in logged if message.startswith(("L1:", "L2:", "stopped after 3"))]
    assert told == ["L1:", "stopped", "L2:", "stopped"]


def test_train_and_inspect_tell(cli: Cli) -> None:
    leave_demo(cli.folder)
    ran = cli("train dev.txt -o m.palm -f pos --label 1 --columns 0 --learner crf --iterations 3")
    assert "warning: stopped after 3 iterations without convergence" in ran.err
    assert [line.split()[0] for line in ran.err.split("\n") if line.startswith("  ")] == ["iteration", "1", "2", "3"]
    assert "; kept iteration 3; " in ran.out
    inspected = " ".join(cli.fine("inspect m.palm").split())
    assert "training stopped after 3 iterations without convergence" in inspected
    assert "; iteration 3 of 3 kept" in inspected
    card = cli.fine("inspect m.palm --card")
    assert "| iterations | 3 |" in card
    assert "| iteration that was kept | 3 |" in card


# Comparisons


def test_compare_marks_what_was_cut_short(cli: Cli) -> None:
    leave_demo(cli.folder)
    line = "compare --train dev.txt --gold test.txt -f chunk --seeds 1 --rounds 50 --learners"
    ran = cli(f"{line} perceptron,crf:iterations=4 --passes 2")
    rows = ran.out.split("\n")
    assert [row.split()[:2] for row in rows if row.startswith(("perceptron", "crf"))][1] == ["crf:iterations=4", "*"]
    assert not any(row.startswith("perceptron *") for row in rows)
    below = " ".join(" ".join(rows).split())
    assert "* crf:iterations=4: stopped after 4 iterations without convergence" in below
    assert "compare crf:iterations=12, or a larger tolerance" in below
    assert "--iterations" not in ran.err  # a flag that compare does not have
    found = json.loads(cli.fine(f"{line} perceptron,crf:iterations=4,crf:tolerance=0.01 --passes 2 --json"))
    online, short, long = found["learners"]
    assert (online["remark"], long["remark"]) == ("", "")
    assert [one["runs"][0]["cut_short"] for one in (online, short, long)] == [False, True, False]
    assert online["runs"][0]["ended"] == "2 passes"
    cli.fine("train dev.txt -o m.palm -f chunk --learner crf --iterations 4 -q")
    scored = json.loads(cli.fine("eval m.palm test.txt --json"))
    assert short["f1"]["mean"] == pytest.approx(scored["f1"])


def test_passes_of_a_comparison_need_a_learner_that_has_some(cli: Cli) -> None:
    leave_demo(cli.folder)
    line = "compare --train dev.txt --gold test.txt --learners crf,maxent"
    assert "--passes: no learner has any; L-BFGS has iterations" in cli(f"{line} --passes 2").err
    assert "use --iterations 2" in cli(f"{line},crf:passes=2").err


def test_jackknifed_tags_by_any_learner() -> None:
    trees = load_trees("test")
    for learner, n in ((Crf(iterations=2), 2), (Crf(optimiser="sgd"), 5), ("hmm", 1)):
        features = None if learner == "hmm" else "pos"
        tagger = trained_tagger(trees, "upos", features=features, learner=learner)
        assert len(tagger.training_log_) == n
    made = jackknife(trees, ["upos"], 2, learner=Crf(iterations=2))
    assert made.column("form").types == trees.column("form").types


# Lines in Python


def printed(capsys: pytest.CaptureFixture[str]) -> list[list[str]]:
    return [line.split() for line in capsys.readouterr().out.split("\n") if line]


def check_lines(lines: list[list[str]], estimator: Any, unit: str) -> None:
    head, *rows, end = lines
    log = estimator.model_.meta["history"]
    assert head[0] == unit
    assert [int(row[0]) for row in rows] == [row["number"] for row in log]
    assert [row[-2 if log[0]["dev"] is None else -3] for row in rows] == [
        f"{100 * row['train_accuracy']:.2f}%" for row in log
    ]
    if log[0]["dev"] is not None:
        assert head[-3:-1] == ["dev", "score"]
        assert [row[-2].rstrip("*") for row in rows] == [f"{100 * row['dev']:.2f}" for row in log]
    if "objective" in log[0]["figures"]:
        assert [float(row[1].replace(",", "")) for row in rows] == [
            pytest.approx(row["figures"]["objective"], abs=0.006) for row in log
        ]
    assert " ".join(end) == estimator.outcome_.summary()


def test_taggers_print_their_passes(capsys: pytest.CaptureFixture[str]) -> None:
    tagger = Tagger("chunk", passes=3).fit(X, Y, dev=DEV, verbose=True)
    check_lines(printed(capsys), tagger, "pass")
    silent = Tagger("chunk", passes=3).fit(X, Y, dev=DEV)
    assert not printed(capsys)
    assert same_bits(tagger.model_, silent.model_)
    assert tagger.get_params() == silent.get_params()
    crf = Tagger("chunk", learner=Crf(iterations=6)).fit(X, Y, verbose=True)
    check_lines(printed(capsys), crf, "iteration")


def test_files_and_the_callers_own_progress(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    leave_demo(tmp_path)
    seen: list[int] = []

    def own(number: int, done: int, total: int, finished: Any) -> None:
        if finished is not None:
            seen.append(number)

    tagger = Tagger("chunk", passes=2).fit_file(tmp_path / "dev.txt", verbose=True, progress=own)
    check_lines(printed(capsys), tagger, "pass")
    assert seen == [1, 2]


def test_other_estimators_print_theirs(capsys: pytest.CaptureFixture[str]) -> None:
    rows = LinearClassifier(Crf(iterations=4)).fit(*load_vowels("train"), verbose=True)
    check_lines(printed(capsys), rows.tagger_, "iteration")
    parser = Parser("basic", passes=2).fit(load_trees("test"), verbose=True)
    check_lines(printed(capsys), parser, "pass")
    sentences, classes = (part[:20] for part in load_grammaticality("test"))
    classifier = Classifier(passes=2, types=1).fit(sentences, classes, dev=(sentences, classes), verbose=True)
    check_lines(printed(capsys), classifier, "pass")


def test_the_warning_comes_through_logging(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING, logger="palmette"):
        LinearClassifier(Crf(iterations=1)).fit(*load_vowels("train"))
    (record,) = [record for record in caplog.records if "convergence" in record.getMessage()]
    assert (record.levelname, record.name.split(".")[0]) == ("WARNING", "palmette")
    told_share(record.getMessage().partition(": use")[0])
