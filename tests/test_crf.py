"""CRF and latent CRF: python-crfsuite as the judge of objective and tags, optimality, threads, settings."""

from __future__ import annotations

import os
import signal
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from chain_arrays import column_corpus, weights_by_name
from fitting import flat_tagger
from objectives import evaluated

from palmette import Crf, Latent, Tagger
from palmette.data import Corpus, column_of_types
from palmette.datasets import load_demo
from palmette.errors import DataError, UsageError
from palmette.features import parse
from palmette.lab import synth
from palmette.training import ChainObjective

TEXT = "U0:%x[-1,0]\nU1:%x[0,0]\nU2:%x[0,1]\nU3:%x[-1,1]/%x[0,1]\nB\n"
PLAIN: dict[str, Any] = {"template": parse(TEXT), "learner": "crf", "constraints": "none", "ends": False}


def demo(part: str, n: int | None = None) -> tuple[list, list]:
    X, y = load_demo(part)
    return X[:n], y[:n]


def attributes(sentence: list[tuple[str, str]]) -> list[list[str]]:
    """What the templates make, by hand."""
    words, tags = [("_B-1", "_B-1"), *sentence], sentence
    return [
        [f"U0:{words[i][0]}", f"U1:{tags[i][0]}", f"U2:{tags[i][1]}", f"U3:{words[i][1]}/{tags[i][1]}"]
        for i in range(len(tags))
    ]


@pytest.fixture(scope="module")
def fitted() -> Tagger:
    return flat_tagger(**PLAIN, l2=0.7, iterations=400, tolerance=1e-9).fit(*demo("train", 120))


def objective_at_the_end(tagger: Tagger) -> float:
    return float(tagger.training_log_[-1]["figures"]["objective"])


@pytest.mark.parametrize("states", ["all", "seen"])
def test_objective_tags_and_probabilities_are_those_of_crfsuite(states: str, fitted: Tagger, tmp_path: Path) -> None:
    import pycrfsuite

    if states == "seen":
        fitted = flat_tagger(**PLAIN, l2=0.7, iterations=400, tolerance=1e-9, state_features="seen").fit(
            *demo("train", 120)
        )
    trainer = pycrfsuite.Trainer(algorithm="lbfgs", verbose=False)
    for x, y in zip(*demo("train", 120), strict=True):
        trainer.append(attributes(x), y)
    everything = {"feature.possible_states": states == "all", "feature.possible_transitions": True}
    trainer.set_params({"c1": 0.0, "c2": 0.7, "epsilon": 1e-7, "delta": 1e-10, "max_iterations": 1000, **everything})
    trainer.train(str(tmp_path / "rival"))
    loss = trainer.logparser.last_iteration["loss"]
    assert objective_at_the_end(fitted) == pytest.approx(loss, rel=1e-5)
    rival = pycrfsuite.Tagger()
    rival.open(str(tmp_path / "rival"))
    X, _ = demo("test")
    assert fitted.predict(X) == [rival.tag(attributes(x)) for x in X]
    for x, tables, one in zip(X, fitted.predict_marginals(X), fitted.predict_confidence(X), strict=True):
        rival.set(attributes(x))
        assert one["confidence"] == pytest.approx(rival.probability(one["tags"]), rel=1e-3)
        for i, table in enumerate(tables):
            assert table == pytest.approx({label: rival.marginal(label, i) for label in table}, abs=2e-4)


def test_the_optimum_does_not_depend_on_threads() -> None:
    X, y = demo("train", 40)
    corpus = column_corpus([[list(token) for token in x] for x in X], y)
    models = [flat_tagger(**PLAIN, iterations=12).fit_corpus(corpus, None, threads=n).model_ for n in (1, 3)]
    assert np.array_equal(models[0].chain.weights[0].w, models[1].chain.weights[0].w)
    assert np.array_equal(models[0].chain.transitions[1].w, models[1].chain.transitions[1].w)


@pytest.mark.parametrize("l1", [0.0, 0.4])
def test_ctrl_c_leaves_the_weights_of_the_last_iteration(l1: float) -> None:
    X, y = demo("train", 40)
    corpus = column_corpus([[list(token) for token in x] for x in X], y)

    def press(number: int, done: int, total: int, finished: Any) -> None:
        if finished is not None and number == 3:
            os.kill(os.getpid(), signal.SIGINT)

    broken = flat_tagger(**PLAIN, l1=l1, iterations=50).fit_corpus(corpus, None, progress=press)
    whole = flat_tagger(**PLAIN, l1=l1, iterations=3).fit_corpus(corpus, None)
    assert (broken.outcome_.interrupted, len(broken.training_log_)) == (True, 3)
    assert weights_by_name(broken.model_) == weights_by_name(whole.model_)
    assert broken.predict(X) == whole.predict(X)


@pytest.mark.parametrize("states", ["all", "seen"])
def test_training_goes_on_from_a_model(states: str) -> None:
    """The value falls on, and reaches the optimum of a training in one go."""
    X, y = demo("train", 40)
    corpus = column_corpus([[list(token) for token in x] for x in X], y)
    settings: dict[str, Any] = {**PLAIN, "l2": 0.5, "tolerance": 1e-9, "state_features": states}
    half = flat_tagger(**settings, iterations=8).fit_corpus(corpus, None)
    rest = flat_tagger(**settings, iterations=300).fit_corpus(corpus, None, resume=half.model_)
    whole = flat_tagger(**settings, iterations=300).fit_corpus(corpus, None)
    values = [row["figures"]["objective"] for row in rest.training_log_]
    assert values[0] < objective_at_the_end(half)
    assert values[-1] == pytest.approx(objective_at_the_end(whole), rel=1e-6)


@pytest.mark.parametrize("l1", [0.3, 0.4, 0.5])
def test_l1_leaves_few_weights_and_the_conditions_hold(l1: float) -> None:
    """At the optimum the gradient of the likelihood is -l1 * sign(w), and at most l1 where w = 0: both to 1e-3."""
    tagger = flat_tagger(**PLAIN, l1=l1, iterations=3000, tolerance=1e-13).fit(*demo("train", 60))
    dense = flat_tagger(**PLAIN, iterations=100).fit(*demo("train", 60))
    chain = tagger.model_.chain
    few, many = (np.count_nonzero(t.model_.chain.weights[0].w) for t in (tagger, dense))
    assert 0 < few < many / 5
    X, y = demo("train", 60)
    corpus = column_corpus([[list(token) for token in x] for x in X], y)
    data = tagger.model_.encode(corpus)
    numbers = {label: k for k, label in enumerate(tagger.labels_)}
    data = data._replace(known=np.array([numbers[label] for own in y for label in own], np.int32))
    objective = ChainObjective(chain, data, 0.0)
    start = objective.start()
    gradient = evaluated(objective, start)[1]
    moved = start != 0
    assert np.abs(gradient[moved] + l1 * np.sign(start[moved])).max() < 1e-3
    assert np.abs(gradient[~moved]).max() < l1 + 1e-3


def test_l1_then_l2_keeps_what_l1_chose(logged: list[str]) -> None:
    X, y = demo("train", 60)
    one = flat_tagger(**PLAIN, l1=0.4, iterations=100).fit(X, y)
    two = flat_tagger(**PLAIN, l1=0.4, l2=0.2, l1_then_l2=True, iterations=100).fit(X, y)
    assert 0 < np.count_nonzero(two.model_.chain.weights[0].w) <= np.count_nonzero(one.model_.chain.weights[0].w)
    assert [message[:3] for message in logged if " nonzero weights" in message] == ["L1:", "L2:"]
    free = flat_tagger(**PLAIN, l2=0.2, iterations=100).fit(X, y)
    values = [t.training_log_[-1]["figures"]["objective"] for t in (free, two)]
    assert values[0] < values[1]  # fewer weights, a higher value


def test_a_stage_tells_the_figures_of_the_pass_that_is_kept(logged: list[str]) -> None:
    dev = demo("test", 30)
    flat_tagger(**PLAIN, l1=0.4, l2=0.2, l1_then_l2=True, iterations=15).fit(*demo("train", 60), dev=dev)
    alone = flat_tagger(**PLAIN, l1=0.4, iterations=15).fit(*demo("train", 60), dev=dev)
    kept = next(row for row in alone.training_log_ if row["number"] == alone.outcome_.best_epoch)
    told = next(message for message in logged if message.startswith("L1:"))
    assert told.endswith(f"{100 * kept['train_accuracy']:.2f}% training accuracy, dev {100 * kept['dev']:.2f}")


def test_a_penalty_that_leaves_nothing_is_told(logged: list[str]) -> None:
    for more in ({}, {"l1_then_l2": True, "l2": 1.0}):
        logged.clear()
        flat_tagger(**PLAIN, l1=1e6, iterations=5, **more).fit(*demo("train", 20))
        assert any("all weights are zero: l1 1e+06" in message for message in logged)


def test_steps_that_are_too_large_are_named() -> None:
    with pytest.raises(DataError, match="overflowed") as caught:
        Tagger(learner=Crf(optimiser="adagrad", rate=1e6), features="chunk", passes=2).fit(*demo("train", 200))
    assert "choose a smaller rate" in str(caught.value)


def test_a_latent_crf_finds_the_ring() -> None:
    """On synthetic sequences: a CRF knows labels alone, a latent one comes close to the true model."""
    model = synth.ring(p=0.9)
    corpora = []
    for stream in (0, 1):
        found = synth.sample(model, 600, 20, synth.stream_of(1, stream))
        columns = [column_of_types(found.symbols.astype("int32"), model.names.symbols)]
        labels = column_of_types(model.label_of[found.states].astype("int32"), model.names.labels)
        corpora.append((Corpus(found.offset, columns, labels), found))
    settings: dict[str, Any] = {"template": parse("U0:%x[0,0]\nB\n"), "l2": 0.05}
    crf = flat_tagger(**settings, learner="crf", iterations=100).fit_corpus(corpora[0][0], None)
    latent = flat_tagger(**settings, learner="dplvm", latent=2, init_size=0.1, iterations=200).fit_corpus(
        corpora[0][0], None
    )
    test, drawn = corpora[1]
    limit = synth.bayes_accuracy(model, drawn.symbols, drawn.states, drawn.offset)
    plain = crf.evaluate(test).accuracy
    assert 0.60 < plain < 0.66
    assert latent.evaluate(test).accuracy > limit - 0.03
    decoded = latent.model_.decode(test, "marginal").labels
    gold = np.array([latent.labels_.index(label) for label in test.labels.cells()])
    assert np.mean(decoded == gold) > limit - 0.015


def test_the_best_of_several_starts_is_kept(logged: list[str]) -> None:
    """On dev where there is some, else by the objective; it is the model of that seed alone."""
    X, y = demo("train", 50)
    make: dict[str, Any] = {"features": "chunk", "learner": "dplvm", "latent": 2, "iterations": 8, "init_size": 1.0}
    alone = [flat_tagger(**make, seed=seed).fit(X, y) for seed in (1, 2, 3)]
    best = min(alone, key=objective_at_the_end)
    found = flat_tagger(**make, restarts=3).fit(X, y)
    assert len([message for message in logged if message.startswith("start ")]) == 3
    assert np.array_equal(found.model_.chain.weights[0].w, best.model_.chain.weights[0].w)
    with_dev = [flat_tagger(**make, seed=seed).fit(X, y, dev=demo("test", 30)) for seed in (1, 2, 3)]
    best = max(with_dev, key=lambda tagger: max(row["dev"] for row in tagger.training_log_))
    found = flat_tagger(**make, restarts=3).fit(X, y, dev=demo("test", 30))
    assert np.array_equal(found.model_.chain.weights[0].w, best.model_.chain.weights[0].w)
    with pytest.raises(UsageError, match="restarts: needs a label with several states"):
        Tagger(states=Latent(1, restarts=2))._settings()
    with pytest.raises(UsageError, match="development data"):
        Tagger(states=Latent(2, restarts=2), passes=1).fit(X, y)


def test_partial_labels_and_order_2() -> None:
    X, y = demo("train", 80)
    hidden = [[label if (s + i) % 3 else None for i, label in enumerate(own)] for s, own in enumerate(y)]
    text = TEXT + "*4:%x[0,1]\nT\n"
    tagger = Tagger(learner=Crf(l2=0.5, iterations=30), template=parse(text)).fit(X, hidden)
    assert tagger.score(*demo("test")) > 0.85
    values = [row["figures"]["objective"] for row in tagger.training_log_]
    assert all(b <= a for a, b in pairwise(values))


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        (
            {"learner": "perceptron", "l2": 1.0},
            "l2: is an option of crf and dplvm and maxent; the learner is perceptron",
        ),
        ({"learner": "crf", "latent": 2}, "dplvm"),
        ({"learner": "dplvm"}, "dplvm needs hidden states"),
        ({"learner": "crf", "estimator": "avg"}, "crf by lbfgs has one result"),
        ({"learner": "crf", "l1": -1.0}, "-1.0 is not a number of at least 0"),
    ],
)
def test_settings_that_do_not_go_together(settings: dict[str, Any], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        flat_tagger("chunk", **settings).fit(*demo("train", 3))


def test_more_weights_than_memory_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("palmette.training.chain.train.physical_memory", lambda: 1 << 20)
    with pytest.raises(UsageError, match=r"learner=Crf\(optimiser='adagrad'\)"):
        Tagger("chunk", learner="crf").fit(*demo("train", 50))
