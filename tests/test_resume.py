"""Training that stops early, models that are saved and loaded, and training that goes on from them."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from chain_arrays import (
    attribute_corpus,
    column_corpus,
    gold_examples,
    in_order_of_occurrence,
    tokens_of,
    weights_by_name,
)
from fitting import TEMPLATES, assert_equal_weights, fit, labelled, noisy, same_bits, seen_features, twin_of
from hypothesis import given
from hypothesis import strategies as st
from naive_chain import Feature, Token, perceptron
from strategies import Task, few, tasks

from palmette.data import Corpus
from palmette.errors import UsageError
from palmette.features import parse
from palmette.structures import ChainModel, load_chain, pruned
from palmette.training import TrainResult, shuffled


def reloaded(model: ChainModel, folder: Path) -> ChainModel:
    path = str(folder / "model.palm")
    model.save(path)
    return load_chain(path)


def ready_made(seed: int = 0) -> Corpus:
    sentences, labels = noisy(seed)
    tokens = [
        [Token(((cells[0], 1.0), (cells[1], 0.5), ("always", -1.0))) for cells in sentence] for sentence in sentences
    ]
    return attribute_corpus(tokens, labels)


def dev_figures(outcome: TrainResult) -> list[float]:
    return [p.dev for p in outcome.training_log if p.dev is not None]


# --- early stopping -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_the_best_pass_on_dev_is_kept(seed: int) -> None:
    corpus, dev = column_corpus(*noisy(0)), column_corpus(*noisy(1))
    model, outcome = fit(corpus, TEMPLATES[1], dev, passes=15, seed=seed, estimator="last")
    figures = dev_figures(outcome)
    assert len(figures) == 15
    assert outcome.best_epoch == 1 + figures.index(max(figures))  # of equals the first
    assert outcome.best_epoch < 15
    short, _ = fit(corpus, TEMPLATES[1], passes=outcome.best_epoch, seed=seed, estimator="last")
    assert weights_by_name(model) == weights_by_name(short)
    gold = [label for sentence in noisy(1)[1] for label in sentence]
    right = sum(model.labels[y] == label for y, label in zip(model.tag(dev)[0], gold, strict=True))
    assert right / len(gold) == pytest.approx(max(figures))


@pytest.mark.parametrize("patience", [1, 2, 4])
def test_patience_ends_training(patience: int) -> None:
    corpus, dev = column_corpus(*noisy(0)), column_corpus(*noisy(1))
    _, outcome = fit(corpus, TEMPLATES[1], dev, passes=40, patience=patience, estimator="last")
    figures = dev_figures(outcome)
    assert len(figures) == outcome.best_epoch + patience < 40
    assert max(figures[outcome.best_epoch :]) <= figures[outcome.best_epoch - 1]
    assert outcome.ended == f"stopped: no better pass than {outcome.best_epoch} in the last {patience}"


def test_patience_without_dev_is_an_error() -> None:
    with pytest.raises(UsageError, match="development data"):
        fit(column_corpus(*noisy()), TEMPLATES[1], patience=2)


# --- saved and loaded ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("order", [0, 1, 2])
@pytest.mark.parametrize("edges", ["all", "seen"])
def test_a_loaded_model_is_the_same_model(order: int, edges: str, tmp_path: Path) -> None:
    corpus, other = column_corpus(*noisy(0)), column_corpus(*noisy(1))
    model, _ = fit(corpus, TEMPLATES[order], passes=3, edge_features=edges)
    loaded = reloaded(model, tmp_path)
    assert weights_by_name(loaded) == weights_by_name(model)
    for found, expected in zip(loaded.tag(other), model.tag(other), strict=True):
        assert np.array_equal(found, expected)


@pytest.mark.parametrize(
    ("templates", "min_count"),
    [("U0:%x[0,0]\nB\nB0:%x[0,0]\nT0:%x[0,0]", 1), ("U0:%x[0,0]\nB0:%x[0,0]\nB", 9)],
)
@pytest.mark.parametrize("edges", ["all", "seen"])
def test_a_model_without_any_attribute_of_an_order(templates: str, min_count: int, edges: str, tmp_path: Path) -> None:
    """One-token sentences have no pairs, and a high cut-off leaves nothing at all."""
    corpus = column_corpus([[["a", "x"]], [["b", "y"]]], [["N"], ["V"]])
    model, _ = fit(corpus, templates, passes=2, min_count=min_count, edge_features=edges, checkpoint=True)
    loaded = reloaded(model, tmp_path)
    longer = column_corpus([[["a", "x"], ["b", "y"], ["a", "x"]]])
    assert np.array_equal(loaded.tag(longer)[0], model.tag(longer)[0])
    more, _ = fit(column_corpus(*noisy()), templates, passes=1, edge_features=edges, resume=loaded)
    assert more.feature_indexes[2].size > 0
    assert weights_by_name(reloaded(more, tmp_path)) == weights_by_name(more)


# --- going on exactly ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("order", [0, 1, 2])
@pytest.mark.parametrize("edges", ["all", "seen"])
@pytest.mark.parametrize("estimator", ["avg", "last"])
def test_five_passes_and_five_more_are_ten(order: int, edges: str, estimator: str, tmp_path: Path) -> None:
    corpus = column_corpus(*noisy())
    options = {"edge_features": edges, "estimator": estimator, "seed": 3}
    ten, outcome = fit(corpus, TEMPLATES[order], passes=10, **options)
    five, _ = fit(corpus, TEMPLATES[order], passes=5, checkpoint=True, **options)
    more, resumed = fit(corpus, None, passes=5, resume=reloaded(five, tmp_path), **options)
    assert same_bits(more, ten)
    assert not same_bits(more, five)
    assert [p.updates for p in resumed.training_log] == [p.updates for p in outcome.training_log]
    assert [p.number for p in resumed.training_log] == list(range(1, 11))


def test_ready_made_attributes_go_on_exactly(tmp_path: Path) -> None:
    ten, _ = fit(ready_made(), None, order=2, passes=10)
    five, _ = fit(ready_made(), None, order=2, passes=5, checkpoint=True)
    more, _ = fit(ready_made(), None, passes=5, resume=reloaded(five, tmp_path))
    assert same_bits(more, ten)


@pytest.mark.parametrize("first", [3, 12])
def test_with_dev_the_best_of_both_parts_is_kept(first: int, tmp_path: Path) -> None:
    """The best pass may lie in the first part: the file has its weights beside the last ones."""
    corpus, dev = column_corpus(*noisy(0)), column_corpus(*noisy(1))
    whole, outcome = fit(corpus, TEMPLATES[1], dev, passes=15, estimator="last")
    part, _ = fit(corpus, TEMPLATES[1], dev, passes=first, estimator="last", checkpoint=True)
    loaded = reloaded(part, tmp_path)
    more, resumed = fit(corpus, None, dev, passes=15 - first, estimator="last", resume=loaded)
    assert dev_figures(resumed) == dev_figures(outcome)
    assert resumed.best_epoch == outcome.best_epoch
    assert weights_by_name(more) == weights_by_name(whole)


def test_a_best_pass_that_was_carried_over_can_be_resumed_again(tmp_path: Path) -> None:
    """Saved, loaded and trained on without a checkpoint: the rows of attributes that never moved before are
    given out only now, and must find room."""
    (sentences, labels), dev = noisy(0), column_corpus(*noisy(1))
    corpus = column_corpus(sentences, labels)
    text = TEMPLATES[1] + "\nU9:%x[-1,0]/%x[0,0]/%x[1,0]"
    one, _ = fit(corpus, text, dev, passes=12, estimator="last", checkpoint=True)
    two, outcome = fit(corpus, None, dev, passes=1, estimator="last", resume=reloaded(one, tmp_path))
    assert np.count_nonzero(one.chain.weights[0].slot == 0) > 10
    assert outcome.best_epoch < 12  # the weights come from the first part
    assert weights_by_name(two) == weights_by_name(one)
    loaded = reloaded(two, tmp_path)
    assert loaded.chain.weights[0].w.shape == one.chain.weights[0].w.shape
    wrong = column_corpus(sentences, [[{"N": "V", "V": "D", "D": "N"}[y] for y in own] for own in labels])
    three, _ = fit(wrong, None, passes=3, estimator="last", resume=loaded)
    same, _ = fit(wrong, None, passes=3, estimator="last", resume=two)
    assert three.chain.weights[0].w.shape[0] > one.chain.weights[0].w.shape[0] + 10
    assert weights_by_name(three) == weights_by_name(same)


# --- going on with other data -------------------------------------------------------------------------------


@few(2)
@given(tasks(), tasks(), st.sampled_from(["all", "seen"]), st.sampled_from(["avg", "last"]))
def test_new_data_labels_and_attributes(task: Task, other: Task, edges: str, estimator: str) -> None:
    """As if the second corpus had followed the first in one training, labels being added on the way."""
    options = {"passes": 2, "edge_features": edges, "estimator": estimator}
    corpus, more = column_corpus(task.sentences, task.labels), column_corpus(other.sentences, other.labels)
    one, first = fit(corpus, task.templates, checkpoint=True, **options)
    two, second = fit(more, None, resume=one, **options)
    templates = parse(task.templates)
    names = in_order_of_occurrence(task.labels, other.labels)
    assert two.labels == names
    seen: frozenset[Feature] = frozenset()
    trained = None
    for part, outcome, known in ((task, first, len(one.labels)), (other, second, len(names))):
        examples = gold_examples([tokens_of(templates, s) for s in part.sentences], part.labels, names)
        twin = twin_of(templates, known)
        seen |= seen_features(examples, twin.order)
        twin.seen = seen if edges == "seen" else None
        new = outcome.training_log if trained is None else outcome.training_log[len(first.training_log) :]
        orders = [shuffled(1, p.number, len(examples)) for p in new]
        trained = perceptron(twin, examples, orders, trained)
    assert trained is not None
    expected = trained.mean if estimator == "avg" else trained.last
    assert_equal_weights(weights_by_name(two), labelled(expected, names))


@pytest.mark.parametrize("edges", ["all", "seen"])
@pytest.mark.parametrize("checkpoint", [True, False])
@pytest.mark.parametrize("order", [1, 2])
def test_old_weights_stay_when_labels_pass_the_stride(order: int, checkpoint: bool, edges: str, tmp_path: Path) -> None:
    """From 3 labels to 11, a row of 16: every old weight is found again at its new place. The new data are
    already right, so nothing moves."""
    options = {"edge_features": edges, "estimator": "last"}
    old, _ = fit(column_corpus(*noisy()), TEMPLATES[order], passes=3, checkpoint=checkpoint, **options)
    sentences = [[["w0", "c0"], ["w1", "c1"]]]
    guess = [[old.labels[y] for y in old.tag(column_corpus(sentences))[0]]]
    extra = [[["new", "c7"]]] * 8, [[f"L{k}"] for k in range(8)]
    grown, _ = fit(
        column_corpus(sentences + extra[0], guess + extra[1]), None, passes=1, resume=reloaded(old, tmp_path),
        **options,
    )  # fmt: skip
    assert len(grown.labels) == 11
    before, after = weights_by_name(old), weights_by_name(grown)
    changed = {feature for feature in before if after.get(feature, 0.0) != before[feature]}
    touched = {"new", "c7", "_B-1"}
    assert len(before) > 30
    assert all(feature[0] in ("start", "end") or any(t in feature[1] for t in touched) for feature in changed)
    assert any("new" in str(feature) for feature in after)


def test_without_a_checkpoint_training_starts_from_what_came_out(tmp_path: Path) -> None:
    (sentences, labels), text = noisy(), TEMPLATES[1]
    sentences, labels = [s[:3] for s in sentences[:12]], [own[:3] for own in labels[:12]]
    corpus, templates = column_corpus(sentences, labels), parse(text)
    one, _ = fit(corpus, text, passes=2, estimator="last")
    two, outcome = fit(corpus, None, passes=2, resume=reloaded(one, tmp_path), estimator="avg")
    names = one.labels
    numbers = {name: k for k, name in enumerate(names)}
    twin = twin_of(templates, len(names))
    twin.weights = {
        tuple(numbers.get(part, part) if k else part for k, part in enumerate(feature)): weight
        for feature, weight in weights_by_name(one).items()
    }
    examples = gold_examples([tokens_of(templates, s) for s in sentences], labels, names)
    assert [p.number for p in outcome.training_log] == [1, 2, 3, 4]
    trained = perceptron(twin, examples, [shuffled(1, number, len(examples)) for number in (3, 4)])
    assert_equal_weights(weights_by_name(two), labelled(trained.mean, names))


def test_the_old_model_still_works_after_it_was_resumed() -> None:
    corpus, other = column_corpus(*noisy(0)), column_corpus(*noisy(5, labels="NVDX"))
    model, _ = fit(corpus, TEMPLATES[2], passes=2, checkpoint=True)
    before, tags = weights_by_name(model), model.tag(other)
    fit(other, None, passes=2, resume=model)
    assert weights_by_name(model) == before
    for found, expected in zip(model.tag(other), tags, strict=True):
        assert np.array_equal(found, expected)


@pytest.mark.parametrize("options", [{"min_count": 3}, {"max_attributes": 5}])
def test_a_cut_off_never_drops_what_the_old_model_has(options: dict[str, int], tmp_path: Path) -> None:
    old, _ = fit(column_corpus(*noisy(0, 6)), TEMPLATES[1], passes=2, estimator="last", checkpoint=True)
    again = reloaded(old, tmp_path)
    grown, _ = fit(column_corpus(*noisy(1, 3)), None, passes=1, resume=again, checkpoint=True, **options)
    names = [old.names[1][k] for k in range(len(old.names[1]))]
    assert [grown.names[1][k] for k in range(len(names))] == names
    assert len(grown.names[1]) == grown.feature_indexes[1].size
    assert weights_by_name(reloaded(grown, tmp_path)) == weights_by_name(grown)


@pytest.mark.parametrize(("before", "after"), [("all", "seen"), ("seen", "all")])
@pytest.mark.parametrize("checkpoint", [True, False])
def test_a_resumed_model_keeps_its_kind_of_edge_features(before: str, after: str, checkpoint: bool) -> None:
    corpus = column_corpus(*noisy())
    options = {"estimator": "last", "passes": 2}
    old, _ = fit(corpus, TEMPLATES[1], edge_features=before, checkpoint=checkpoint, **options)
    same, _ = fit(corpus, None, edge_features=before, resume=old, **options)
    other, _ = fit(corpus, None, edge_features=after, resume=old, **options)
    assert weights_by_name(other) == weights_by_name(same)


@pytest.mark.parametrize("edges", ["all", "seen"])
def test_a_pruned_model_can_be_resumed(edges: str, tmp_path: Path) -> None:
    corpus = column_corpus(*noisy())
    full, _ = fit(corpus, TEMPLATES[1], passes=2, estimator="last", edge_features=edges)
    small = reloaded(pruned(full, rows=True, names=False), tmp_path)
    assert weights_by_name(small) == weights_by_name(full)
    options = {"passes": 2, "estimator": "last", "edge_features": edges}
    from_small, _ = fit(corpus, None, resume=small, **options)
    from_full, _ = fit(corpus, None, resume=full, **options)
    assert weights_by_name(from_small) == weights_by_name(from_full)


def test_a_model_without_names_goes_on_without_names(tmp_path: Path) -> None:
    corpus = column_corpus(*noisy(0))
    full, _ = fit(corpus, TEMPLATES[1], passes=2, checkpoint=True)
    stripped = reloaded(pruned(full, rows=False, names=True), tmp_path)
    assert stripped.names == {}
    grown, _ = fit(column_corpus(*noisy(1)), None, passes=2, resume=stripped)
    named, _ = fit(column_corpus(*noisy(1)), None, passes=2, resume=full)
    assert grown.names == {}
    assert same_bits(grown, named)
