"""Thousands of labels: lists of weights instead of rows, and a search that skips pairs of states. Both must give what
rows and the full search give, on small cases too, where the limits from which they are used are lowered."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from chain_arrays import Case, chain_of, column_corpus, features_of, weights_by_name
from fitting import fit, flat_tagger
from hypothesis import given
from many_labels import supertags
from naive_chain import Feature
from strategies import cases, few

from palmette import Tagger
from palmette.datasets import load_demo
from palmette.structures import ChainModel, as_lists, fixed, growing, is_list, items_of
from palmette.structures.chain import lists, serialise, stored_rows
from palmette.structures.chain.lists import as_rows, entries, from_entries, without_zeros
from palmette.training.chain import start

TEMPLATES = "U0:%x[0,0]\nU1:%x[-1,0]\nU2:%x[0,1]\nB"


@pytest.fixture
def few_are_many(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two labels count as many, and lists have room for one combination more."""
    for module in (start, serialise, stored_rows):
        monkeypatch.setattr(module, "MANY_LABELS", 2)
    monkeypatch.setattr(start, "MOST_ROWS", 0)
    monkeypatch.setattr(lists, "SPARE", 1)


# --- lists of weights ---------------------------------------------------------------------------------------


@few(2)
@given(cases(latent=True, learning=True, lists=True))
def test_forms_of_weights_change_into_each_other(case: Case) -> None:
    chain = chain_of(case)
    H, block = chain.label_of.size, case.states_per_label
    own = features_of(chain)
    rows = as_rows(chain.weights[0], H)
    back = as_lists(rows, H, block)
    for one in (rows, back, growing(back, 5), fixed(growing(back, 5)), without_zeros(fixed(growing(back)))[0]):
        if one.slot.size == chain.weights[0].slot.size:
            assert features_of(chain._replace(weights=(one, *chain.weights[1:]))) == own
    if back.slot.size:
        order = np.arange(back.slot.size)
        stored = from_entries(block, *entries(back, order))
        assert features_of(chain._replace(weights=(stored, *chain.weights[1:]))) == own


def by_state(model: ChainModel) -> dict[Feature, float]:
    """The weights of a model, with attributes by their strings."""
    names = [[texts[k] for k in range(len(texts))] for order in (1, 2, 3) for texts in [model.names.get(order, ())]]
    return features_of(model.chain, names)


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"estimator": "last"},
        {"estimator": "mavg", "mavg_every": 2},
        {"latent": 2},
        {"latent": 2, "split_after": 1},
        {"search": "beam", "beam": 4},
        {"search": "beam", "beam": 4, "update": "laso"},
    ],
)
def test_lists_train_the_model_of_rows(few_are_many: None, monkeypatch: pytest.MonkeyPatch, options: dict) -> None:
    """Steps are whole numbers, so that the order of sums does not matter: the weights are equal, not only close."""
    X, y = supertags(12, 40)
    listed, _ = fit(column_corpus(X, y), TEMPLATES, passes=4, **options)
    monkeypatch.undo()
    rows, _ = fit(column_corpus(X, y), TEMPLATES, passes=4, **options)
    assert is_list(listed.chain.weights[0])
    assert not is_list(rows.chain.weights[0])
    assert by_state(listed) == by_state(rows)


@pytest.mark.parametrize("learner", ["mira", "pa", "probperc", "arow"])
@pytest.mark.parametrize("beam", [0, 4])
def test_lists_for_other_learners(few_are_many: None, monkeypatch: pytest.MonkeyPatch, learner: str, beam: int) -> None:
    X, y = supertags(12, 40)
    options = {"learner": learner, "passes": 2, **({"search": "beam", "beam": beam} if beam else {})}
    listed, _ = fit(column_corpus(X, y), TEMPLATES, **options)
    monkeypatch.undo()
    rows, _ = fit(column_corpus(X, y), TEMPLATES, **options)
    expected, own = weights_by_name(rows), weights_by_name(listed)
    assert own.keys() == expected.keys()
    assert own == pytest.approx(expected, abs=1e-4)


def test_a_listed_model_is_saved_loaded_explained_compacted_and_trained_further(
    few_are_many: None, tmp_path: Path
) -> None:
    X, y = load_demo("train")
    tagger = flat_tagger("chunk", passes=2, constraints="none").fit(X[:60], y[:60])
    tagger.save(tmp_path / "m.palm")
    again = Tagger.load(tmp_path / "m.palm")
    assert is_list(tagger.model_.chain.weights[0])
    assert is_list(again.model_.chain.weights[0])
    assert weights_by_name(again.model_) == weights_by_name(tagger.model_)
    assert again.predict(X[60:90]) == tagger.predict(X[60:90])
    assert tagger.session().tag(X[60]) == tagger.predict(X[60:61])[0]
    further = flat_tagger("chunk", passes=2, constraints="none")
    corpus = items_of(tagger.model_, X[:60], y[:60]).corpus
    further.fit_corpus(corpus, None, resume=again.model_)
    assert further.score(X[:60], y[:60]) >= tagger.score(X[:60], y[:60])


@pytest.mark.parametrize("options", [{}, {"state_features": "seen"}, {"min_feature_count": 2}])
def test_a_checkpoint_of_lists_goes_on_exactly(few_are_many: None, options: dict) -> None:
    X, y = supertags(12, 40)
    whole, _ = fit(column_corpus(X, y), TEMPLATES, passes=4, **options)
    half, _ = fit(column_corpus(X, y), TEMPLATES, passes=2, checkpoint=True, **options)
    rest, _ = fit(column_corpus(X, y), TEMPLATES, passes=2, resume=half, **options)
    assert weights_by_name(rest) == weights_by_name(whole)


@pytest.mark.parametrize("most_rows", [0, start.MOST_ROWS])
def test_memory_follows_the_labels_that_attributes_meet(most_rows: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """600 labels, of which an attribute meets a few: rows, which training may use, have a number for each."""
    monkeypatch.setattr(start, "MOST_ROWS", most_rows)
    X, y = supertags(600, 300)
    model, _ = fit(column_corpus(X, y), TEMPLATES, passes=2)
    one = model.chain.weights[0]
    assert len(model.labels) >= lists.MANY_LABELS
    assert is_list(one)
    assert one.w.size < one.slot.size * 30


# --- which features exist -----------------------------------------------------------------------------------


@pytest.mark.parametrize("learner", ["perceptron", "mira", "pa", "probperc", "arow", "crf"])
@pytest.mark.parametrize("least", [1, 3])
@pytest.mark.parametrize("latent", [1, 2])
def test_only_features_that_occur_have_weights(learner: str, least: int, latent: int) -> None:
    X, y = supertags(6, 40)
    options: dict[str, Any] = {"learner": learner, "passes": 2, **({"latent": latent} if latent > 1 else {})}
    if learner == "crf":
        options |= {"optimiser": "adagrad", "learner": "dplvm" if latent > 1 else "crf"}
    if learner == "arow" and latent > 1:
        options["tied_update"] = 0.0
    model, _ = fit(column_corpus(X, y), TEMPLATES, state_features="seen", min_feature_count=least, **options)
    met: dict[tuple[str, str], int] = {}
    for sentence, labels in zip(X, y, strict=True):
        for i, label in enumerate(labels):
            before = sentence[i - 1][0] if i else "_B-1"
            for name in (f"U0:{sentence[i][0]}", f"U1:{before}", f"U2:{sentence[i][1]}"):
                met[name, label] = met.get((name, label), 0) + 1
    own = {(f[1], model.labels[f[2] // latent]) for f in by_state(model) if f[0] == "one"}
    exist = {key for key, times in met.items() if times >= least}
    assert own <= exist
    assert len(own) > len(exist) / 3


def test_a_cut_off_on_features_also_applies_to_lbfgs_and_edges() -> None:
    X, y = supertags(6, 40)
    text = TEMPLATES + "\nB1:%x[0,1]"
    one, _ = fit(column_corpus(X, y), text, learner="crf", iterations=3, min_feature_count=1)
    three, _ = fit(column_corpus(X, y), text, learner="crf", iterations=3, min_feature_count=3)
    times: dict[tuple[str, ...], int] = {}
    for sentence, labels in zip(X, y, strict=True):
        for i in range(1, len(labels)):
            key = (f"B1:{sentence[i][1]}", labels[i - 1], labels[i])
            times[key] = times.get(key, 0) + 1
    own = {f[1:] for f in weights_by_name(three) if f[0] == "two"}
    assert own == {key for key, n in times.items() if n >= 3}
    assert len(weights_by_name(three)) < len(weights_by_name(one)) / 2
