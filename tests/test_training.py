"""The trainer against the averaged perceptron's definition, and what must not matter to it: the size of
slices, the storage of weights."""

from __future__ import annotations

import math

import numpy as np
import pytest
from chain_arrays import (
    Case,
    attribute_corpus,
    chain_of,
    column_corpus,
    data_of,
    features_of,
    gold_examples,
    in_order_of_occurrence,
    tokens_of,
    weights_by_name,
)
from fitting import (
    ESTIMATES,
    TEMPLATES,
    assert_counts,
    assert_equal_weights,
    fit,
    labelled,
    noisy,
    orders,
    same_bits,
    seen_features,
    twin_of,
)
from hypothesis import given
from hypothesis import strategies as st
from learners import perceptron_steps
from naive_chain import Model, Token, perceptron
from strategies import Task, cases, few, tasks

from palmette.features import parse
from palmette.structures import estimated
from palmette.training import shuffled, trainer

# --- the definition -----------------------------------------------------------------------------------------


@few(2)
@given(tasks(), st.sampled_from(["avg", "last"]), st.sampled_from(["all", "seen"]), st.integers(1, 3), st.data())
def test_weights_are_those_of_the_definition(
    task: Task, estimator: str, edges: str, passes: int, data: st.DataObject
) -> None:
    states, least = data.draw(st.sampled_from(["all", "seen"])), data.draw(st.sampled_from([1, 1, 2, 3]))
    ends, seed = data.draw(st.booleans()), data.draw(st.integers(0, 99))
    pairs = data.draw(st.sampled_from(["all", "seen"]))
    shares = [data.draw(st.sampled_from([1.0, 2.0, 0.5])) for _ in task.labels]
    corpus = column_corpus(task.sentences, task.labels)
    corpus.weight = np.array(shares, np.float32)
    model, outcome = fit(
        corpus, task.templates, estimator=estimator, passes=passes, seed=seed, ends=ends,
        edge_features=edges, state_features=states, min_feature_count=least, transition_features=pairs,
    )  # fmt: skip
    names = in_order_of_occurrence(task.labels)
    templates = parse(task.templates)
    twin = twin_of(templates, len(names))
    twin.ends = ends
    examples = gold_examples([tokens_of(templates, s) for s in task.sentences], task.labels, names, shares)
    kinds = {"one": states, "two": edges, "three": edges}
    twin.limited = tuple(kind for kind, which in kinds.items() if which == "seen" or least > 1)
    twin.limited += ("pair",) if pairs == "seen" else ()
    twin.seen = seen_features(examples, twin.order, least)
    trained = perceptron(twin, examples, orders(seed, outcome, len(examples)))
    assert model.labels == names
    assert_equal_weights(weights_by_name(model), labelled(ESTIMATES[estimator](trained), names))
    assert_counts(outcome, trained, corpus.n_tokens)


VALUED = st.tuples(st.sampled_from("pqr"), st.sampled_from([1.0, 2.0, 0.5, -1.0, 0.25]))
READY_MADE = st.lists(
    st.lists(
        st.tuples(st.lists(VALUED, max_size=3).map(lambda pairs: Token(tuple(pairs))), st.sampled_from("NVD")),
        min_size=1,
        max_size=4,
    ),
    min_size=1,
    max_size=4,
)


@few()
@given(READY_MADE, st.integers(0, 2), st.sampled_from(["avg", "last"]))
def test_ready_made_attributes_with_values(drawn: list, order: int, estimator: str) -> None:
    sentences = [[token for token, _ in sentence] for sentence in drawn]
    labels = [[label for _, label in sentence] for sentence in drawn]
    model, outcome = fit(attribute_corpus(sentences, labels), None, order=order, estimator=estimator, passes=2)
    names = in_order_of_occurrence(labels)
    examples = gold_examples(sentences, labels, names)
    trained = perceptron(Model(order, len(names)), examples, orders(1, outcome, len(examples)))
    assert_equal_weights(weights_by_name(model), labelled(ESTIMATES[estimator](trained), names))


@few(2)
@given(cases(max_tokens=3, latent=True, learning=True, lists=True), st.integers(1, 3))
def test_learning_from_what_is_known(case: Case, passes: int) -> None:
    """The kernel itself: partial labels, several states a label, forbidden transitions, any switch."""
    chain, data = chain_of(case), data_of(case)
    examples = case.examples()
    order = np.concatenate([shuffled(3, number, len(examples)) for number in range(passes)])
    clock, *counts = perceptron_steps(chain, data, order)
    trained = perceptron(case.model, examples, [order])
    assert clock == trained.vectors
    assert counts == [trained.updates, trained.wrong, trained.infeasible]
    assert_equal_weights(features_of(chain), trained.last)
    assert_equal_weights(features_of(estimated(chain, clock)), trained.mean)


@pytest.mark.parametrize("order", [0, 1, 2])
def test_gold_is_the_best_state_of_a_label(order: int) -> None:
    """States 0 and 2 are of label 0, states 1 and 3 of label 1. The guess is state 3, the better state of the
    right label is 2: these two move."""
    model = Model(order, 4, {("one", 0, 2): 1.0, ("one", 0, 3): 2.0}, ends=False)
    case = Case(model, (0, 1, 0, 1), (1, 0, 0), [[Token(((0, 1.0),))]], [[frozenset([0])]], [1.0])
    chain, data = chain_of(case), data_of(case)
    _, *counts = perceptron_steps(chain, data, np.zeros(1, np.int64))
    assert counts == [1, 1, 0]
    assert features_of(chain) == {("one", 0, 2): 2.0, ("one", 0, 3): 1.0}


@pytest.mark.parametrize("order", [1, 2])
def test_constraints_of_the_tag_scheme_hold_in_training(order: int) -> None:
    """I follows only B or I, and opens no sentence: guesses, and so the weights, must keep to it."""
    rng = np.random.default_rng(order)
    names = ["O", "B-X", "I-X"]
    forbidden = frozenset({("pair", 0, 2), ("start", 2)})
    labels = [["O", "B-X", "I-X", "I-X"], ["B-X", "O", "B-X"], ["B-X", "B-X"], ["B-X", "I-X", "O", "O"]]
    sentences = [[[str(word)] for word in rng.choice(["a", "b"], len(own))] for own in labels]
    text = "U0:%x[0,0]\nB\nB0:%x[0,0]" + ("\nT" if order == 2 else "")
    model, outcome = fit(column_corpus(sentences, labels), text, constraints="auto", passes=3)
    templates = parse(text)
    examples = gold_examples([tokens_of(templates, s) for s in sentences], labels, names)
    twin = twin_of(templates, 3)
    free = perceptron(twin, examples, orders(1, outcome, 4))
    twin.forbidden = forbidden
    trained = perceptron(twin, examples, orders(1, outcome, 4))
    assert model.labels == names
    assert model.scheme == "IOB2"
    assert_equal_weights(weights_by_name(model), labelled(trained.mean, names))
    assert trained.mean != free.mean


# --- what must not matter, and what must --------------------------------------------------------------------


@pytest.mark.parametrize("order", [0, 1, 2])
@pytest.mark.parametrize("edges", ["all", "seen"])
def test_a_seed_gives_a_model_bit_for_bit(order: int, edges: str) -> None:
    corpus = column_corpus(*noisy())
    first, again, other = (
        fit(corpus, TEMPLATES[order], passes=4, seed=seed, edge_features=edges)[0] for seed in (5, 5, 6)
    )
    assert same_bits(first, again)
    assert not same_bits(first, other)


def test_examples_are_shuffled_anew_in_every_pass() -> None:
    first, second = shuffled(1, 1, 50), shuffled(1, 2, 50)
    assert sorted(first) == sorted(second) == list(range(50))
    assert not np.array_equal(first, second)
    assert not np.array_equal(first, np.arange(50))
    assert np.array_equal(first, shuffled(1, 1, 50))


@pytest.mark.parametrize("size", [1, 3, 17])
def test_the_size_of_a_slice_does_not_matter(size: int, monkeypatch: pytest.MonkeyPatch) -> None:
    corpus = column_corpus(*noisy())
    whole, _ = fit(corpus, TEMPLATES[2], passes=3)
    ends = []

    def after(self: object, order: np.ndarray, first: int) -> int:
        ends.append(min(order.size, first + size))
        return ends[-1]

    monkeypatch.setattr(trainer.Slices, "end", after)
    sliced, _ = fit(corpus, TEMPLATES[2], passes=3)
    assert len(ends) == 3 * math.ceil(corpus.n_sentences / size)
    assert same_bits(whole, sliced)


def test_slices_cover_a_pass_whatever_the_speed() -> None:
    rng = np.random.default_rng(0)
    cost = rng.integers(1, 900, 200)
    cut = trainer.Slices(cost)
    order = rng.permutation(200)
    first, seen = 0, []
    while first < order.size:
        last = cut.end(order, first)
        assert first < last <= order.size
        seen += order[first:last].tolist()
        cut.took(int(cost[order[first:last]].sum()), float(rng.choice([1e-9, 1e-3, 5.0])))
        first = last
    assert seen == order.tolist()


@pytest.mark.parametrize("order", [1, 2])
def test_seen_and_all_are_the_same_when_everything_was_seen(order: int) -> None:
    text = {1: "U0:%x[0,0]\nB0:%x[0,0]\nB", 2: "U0:%x[0,0]\n*0:%x[0,0]\nT0:%x[-1,0]\nT"}[order]
    n = order + 1
    sentences, labels = [], []
    for word in "ab":
        for k in range(3**n):
            sentences.append([[word]] * n)
            labels.append(["NVD"[k // 3**i % 3] for i in range(n)])
    corpus = column_corpus(sentences, labels)
    everything, outcome = fit(corpus, text, passes=3, edge_features="all")
    seen, _ = fit(corpus, text, passes=3, edge_features="seen")
    assert seen.chain.weights[1].first.size > 0
    assert everything.chain.weights[1].first.size == 0
    assert outcome.training_log[-1].updates > 0
    assert weights_by_name(seen) == weights_by_name(everything)
    assert np.array_equal(seen.tag(corpus)[0], everything.tag(corpus)[0])


def test_unseen_combinations_have_no_weight() -> None:
    corpus = column_corpus([[["a"], ["b"]], [["b"], ["a"]]], [["N", "V"], ["V", "N"]])
    seen, _ = fit(corpus, "B0:%x[0,0]\nU0:%x[1,0]", passes=3, edge_features="seen", estimator="last")
    everything, _ = fit(corpus, "B0:%x[0,0]\nU0:%x[1,0]", passes=3, estimator="last")
    pairs = {feature for feature in weights_by_name(seen) if feature[0] == "two"}
    assert pairs <= {("two", "B0:b", "N", "V"), ("two", "B0:a", "V", "N")}
    assert len({feature for feature in weights_by_name(everything) if feature[0] == "two"}) > len(pairs)
