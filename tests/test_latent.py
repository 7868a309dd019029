"""Latent training against its definition, and what must hold of every latent model: states that a label lacks never
come out, what never moved is zero, a seed gives the same bytes, and a checkpoint goes on exactly."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from chain_arrays import column_corpus, in_order_of_occurrence
from cli_run import Cli, last_cells, leave_demo
from fitting import TEMPLATES, fit, flat_tagger, noisy, same_bits
from hypothesis import assume, given
from hypothesis import strategies as st
from naive_latent import (
    States,
    Tie,
    assert_learnt,
    latent_perceptron,
    latent_twin,
    pass_orders,
    random_start,
    seen_states,
    start_on_grid,
    state_examples,
    state_weights,
)
from strategies import Task, few, tasks

from palmette import Crf, Dplvm, Latent, Tagger
from palmette.errors import UsageError
from palmette.features import parse
from palmette.options.chain import parse_latent
from palmette.structures import ChainModel, load_chain
from palmette.training.chain import start as starting

SIZE = 0.05  # of the random start


@pytest.fixture
def cli(tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Cli:
    return Cli(tmp_path, capsys, monkeypatch)


# --- the definition -----------------------------------------------------------------------------------------


def gaps(labels: list[list[str]], names: list[str]) -> list[tuple[str, str]]:
    """Label pairs, starts and ends that the data does not have."""
    marked = [["<s>", *own, "</s>"] for own in labels]
    there = {pair for own in marked for pair in pairwise(own)}
    every = [(a, b) for a in ["<s>", *names] for b in [*names, "</s>"] if (a, b) != ("<s>", "</s>")]
    return [pair for pair in every if pair not in there]


@few(2)
@given(tasks(max_tokens=3), st.sampled_from(["avg", "last"]), st.sampled_from(["all", "seen"]), st.data())
def test_weights_are_those_of_the_definition(task: Task, estimator: str, edges: str, data: st.DataObject) -> None:
    names = in_order_of_occurrence(task.labels)
    counts = [data.draw(st.integers(1, 3 if len(names) < 3 else 2)) for _ in names]
    assume(max(counts) > 1)
    seed, passes, ends = data.draw(st.integers(0, 99)), data.draw(st.integers(1, 3)), data.draw(st.booleans())
    missing = gaps(task.labels, names)
    forbidden = data.draw(st.lists(st.sampled_from(missing), unique=True, max_size=3)) if missing else []
    rounded, tied_update = data.draw(st.booleans()), data.draw(st.sampled_from([0.0, 1.0, 0.5]))
    states = States(names, counts)
    with pytest.MonkeyPatch.context() as patch:
        if rounded:
            patch.setattr(starting, "start_randomly", start_on_grid)
        model, outcome = fit(
            column_corpus(task.sentences, task.labels), task.templates, latent=dict(zip(names, counts, strict=True)),
            estimator=estimator, passes=passes, seed=seed, edge_features=edges, ends=ends, forbidden=forbidden,
            init_size=SIZE, tied_update=tied_update,
        )  # fmt: skip
    twin, shape = latent_twin(task.templates, states, forbidden, ends)
    twin.weights = random_start(shape, twin.order, SIZE, seed, rounded)
    wanted = [[{label} for label in own] for own in task.labels]
    examples = state_examples(parse(task.templates), task.sentences, wanted, states)
    twin.seen = seen_states(examples, twin.order, states) if edges == "seen" else None
    orders = pass_orders(seed, len(outcome.training_log), len(examples))
    try:
        learnt = latent_perceptron(twin, examples, orders, exact=rounded, tied_update=tied_update, states=states)
    except Tie:
        assume(False)
    assert model.shape == shape
    assert_learnt(state_weights(model), learnt, estimator, exact=rounded)
    assert [p.updates for p in outcome.training_log] == learnt.updates
    assert [p.wrong for p in outcome.training_log] == learnt.wrong
    tagged, _ = model.tag(column_corpus(task.sentences), states=True)
    assert not set(tagged.tolist()) & set(states.missing)
    lost = [feature for feature in state_weights(model) if set(_states_in(feature)) & set(states.missing)]
    assert lost == []


def _states_in(feature: tuple) -> tuple[int, ...]:
    return feature[2:] if feature[0] in ("one", "two", "three") else feature[1:]


@pytest.mark.parametrize("latent", [1, {"N": 1}, {"N": 1, "V": 1, "D": 1}])
@pytest.mark.parametrize("order", [0, 1, 2])
@pytest.mark.parametrize("edges", ["all", "seen"])
def test_one_state_a_label_is_the_plain_model(order: int, edges: str, latent: int | dict[str, int]) -> None:
    corpus = column_corpus(*noisy())
    plain, history = fit(corpus, TEMPLATES[order], passes=3, edge_features=edges)
    model, outcome = fit(corpus, TEMPLATES[order], passes=3, edge_features=edges, latent=latent, init_size=0.7)
    assert same_bits(model, plain)
    assert model.shape == plain.shape
    assert [p.wrong for p in outcome.training_log] == [p.wrong for p in history.training_log]
    assert history.training_log[0].wrong > 0


# --- states that a label has ---------------------------------------------------------------------------------


def uneven(order: int, **options) -> ChainModel:
    """N has two states, V one, D three: of nine places three are empty."""
    return fit(column_corpus(*noisy()), TEMPLATES[order], latent={"N": 2, "D": 3}, **{"passes": 4, **options})[0]


@pytest.mark.parametrize("order", [0, 1, 2])
@pytest.mark.parametrize("edges", ["all", "seen"])
def test_states_that_a_label_lacks_never_come_out(order: int, edges: str) -> None:
    model = uneven(order, edge_features=edges, init_size=0.5)
    counts = [{"N": 2, "D": 3}.get(label, 1) for label in model.labels]
    states = States(model.labels, counts)
    assert len(states.missing) == 3
    found, _ = model.tag(column_corpus(*noisy(7)), states=True)
    used = set(found.tolist())
    assert not used & set(states.missing)
    assert len(used) > 3  # and more than one of a label do come out
    weights = state_weights(model)
    assert [feature for feature in weights if set(_states_in(feature)) & set(states.missing)] == []
    second = states.of("D")[1]
    assert [feature for feature in weights if second in _states_in(feature)]


@pytest.mark.parametrize("order", [0, 1, 2])
def test_forbidden_label_pairs_hold_for_all_their_states(order: int) -> None:
    sentences, drawn = noisy()
    labels: list[list[str]] = []
    for own in drawn:
        labels.append([])
        for y in own:
            labels[-1].append("V" if y == "N" and labels[-1][-1:] == ["N"] else y)
    corpus, nouns = column_corpus(sentences, labels), column_corpus([[["w0", "c0"]] * 6])
    options = {"latent": 2, "passes": 3}
    bound, _ = fit(corpus, TEMPLATES[order], forbidden=[("N", "N")], **options)
    tagged, free = (
        [m.labels[y] for y in m.tag(nouns)[0]] for m in (bound, fit(corpus, TEMPLATES[order], **options)[0])
    )
    assert "N" in tagged
    assert ("N", "N") not in set(pairwise(tagged))
    # Where transitions weigh nothing, only the constraint can part them.
    assert order > 0 or ("N", "N") in set(pairwise(free))


# --- what never moved ----------------------------------------------------------------------------------------


def trained_once(first: str, **options) -> ChainModel:
    """Two labels with two states each, three words, an example of two tokens."""
    corpus = column_corpus([[["a"], ["b"]]], [[first, "V"]])
    return fit(corpus, "U0:%x[0,0]\nB", latent=2, passes=1, tied_update=0.0, **options)[0]


@pytest.mark.parametrize("estimator", ["avg", "last"])
def test_what_never_moved_is_zero(estimator: str) -> None:
    """A start large enough to be seen; one update moves at most two starts, two ends and two pairs."""
    models = [trained_once("N", init_size=0.5, estimator=estimator, seed=seed) for seed in range(12)]
    moved = [model for model in models if model.meta["history"][0]["updates"]]
    bare = [[f for f in state_weights(model) if f[0] in ("start", "end", "pair")] for model in moved]
    assert 0 < len(moved) < len(models)
    assert all(0 < len(own) <= 6 for own in bare)
    untouched, _ = fit(column_corpus([[["a"]]], [["N"]]), "U0:%x[0,0]\nB", latent=3, passes=2, init_size=0.5)
    assert untouched.meta["history"][0]["updates"] == 0
    assert state_weights(untouched) == {}


def test_what_went_up_and_down_in_one_update_is_zero() -> None:
    """Gold and guess end in the same state: that end has not moved."""
    seeds = range(40)
    models = [trained_once("N", estimator="last", seed=seed) for seed in seeds]
    small = [w for model in models for f, w in state_weights(model).items() if abs(w) < 0.5]
    assert small == []


@pytest.mark.parametrize(("checkpoint", "seed"), [(False, 1), (False, 2), (True, 1), (True, 2)])
def test_what_never_moved_is_zero_after_more_training(checkpoint: bool, seed: int, tmp_path: Path) -> None:
    """Also where the training that goes on has another seed than the one that began."""
    corpus = column_corpus(*noisy(0, 6))
    options = {"init_size": 0.25, "estimator": "last", "tied_update": 0.0}
    first, _ = fit(corpus, TEMPLATES[2], latent=3, passes=1, checkpoint=checkpoint, **options)
    more, _ = fit(corpus, None, passes=1, latent=3, resume=reloaded(first, tmp_path), seed=seed, **options)
    triples = [feature for feature in state_weights(more) if feature[0] == "triple"]
    assert 0 < len(triples) < 9**3 / 3


def test_what_never_moved_is_zero_after_labels_were_added(tmp_path: Path) -> None:
    """Trained, gone on with a new label, gone on again."""
    options = {"latent": 2, "passes": 1, "init_size": 0.25, "estimator": "last", "checkpoint": True, "tied_update": 0.0}
    first, _ = fit(column_corpus(*noisy(0, 6)), TEMPLATES[2], **options)
    more = column_corpus(*noisy(3, 3, labels="NVDX"))
    second, _ = fit(more, None, resume=reloaded(first, tmp_path), **options)
    third, _ = fit(more, None, resume=reloaded(second, tmp_path), **options)
    sizes = [sum(f[0] == "triple" for f in state_weights(model)) for model in (second, third)]
    assert 0 < sizes[0] < 8**3 / 3
    assert 0 < sizes[1] < 8**3 / 3


# --- files ---------------------------------------------------------------------------------------------------


def reloaded(model: ChainModel, folder: Path) -> ChainModel:
    path = str(folder / "model.palm")
    model.save(path)
    return load_chain(path)


@pytest.mark.parametrize("latent", [2, {"N": 2, "D": 3}])
@pytest.mark.parametrize("order", [0, 1, 2])
@pytest.mark.parametrize("edges", ["all", "seen"])
def test_a_seed_gives_the_same_file(order: int, edges: str, latent: int | dict[str, int], tmp_path: Path) -> None:
    corpus, files = column_corpus(*noisy()), []
    for name, seed in (("one", 5), ("again", 5), ("other", 6)):
        model, _ = fit(corpus, TEMPLATES[order], passes=3, seed=seed, edge_features=edges, latent=latent)
        model.save(str(tmp_path / name))
        files.append((tmp_path / name).read_bytes())
    assert files[0] == files[1]
    assert files[0] != files[2]


def test_the_size_of_the_start_matters() -> None:
    small, large = (uneven(1, init_size=size) for size in (0.01, 1.0))
    assert not same_bits(small, large)


@pytest.mark.parametrize("order", [0, 1, 2])
@pytest.mark.parametrize("edges", ["all", "seen"])
def test_a_loaded_model_tags_the_same(order: int, edges: str, tmp_path: Path) -> None:
    model = uneven(order, edge_features=edges)
    loaded = reloaded(model, tmp_path)
    other = column_corpus(*noisy(1))
    assert loaded.shape == model.shape
    assert state_weights(loaded) == state_weights(model)
    for states in (True, False):
        for found, expected in zip(loaded.tag(other, states=states), model.tag(other, states=states), strict=True):
            assert np.array_equal(found, expected)


@pytest.mark.parametrize("latent", [2, {"N": 2, "D": 3}])
@pytest.mark.parametrize("order", [0, 1, 2])
@pytest.mark.parametrize("edges", ["all", "seen"])
@pytest.mark.parametrize("estimator", ["avg", "last"])
def test_two_passes_and_three_more_are_five(
    order: int, edges: str, estimator: str, latent: int | dict[str, int], tmp_path: Path
) -> None:
    corpus = column_corpus(*noisy())
    options = {"edge_features": edges, "estimator": estimator, "seed": 3, "latent": latent}
    five, outcome = fit(corpus, TEMPLATES[order], passes=5, **options)
    two, _ = fit(corpus, TEMPLATES[order], passes=2, checkpoint=True, **options)
    more, resumed = fit(corpus, None, passes=3, resume=reloaded(two, tmp_path), **options)
    assert same_bits(more, five)
    assert not same_bits(more, two)
    assert [p.wrong for p in resumed.training_log] == [p.wrong for p in outcome.training_log]
    assert outcome.training_log[-1].updates > 0


def test_a_label_that_comes_later_gets_states_of_its_own(tmp_path: Path) -> None:
    """As if its states had been there from the start: the weights of the old labels keep their places."""
    old, _ = fit(column_corpus(*noisy()), TEMPLATES[1], latent=2, passes=3, checkpoint=True, estimator="last")
    more, _ = fit(
        column_corpus(*noisy(3, labels="NVDX")), None, passes=3, latent=2, resume=reloaded(old, tmp_path),
        estimator="last",
    )  # fmt: skip
    assert more.labels == [*old.labels, "X"]
    assert more.shape.n_states == 8
    found = more.tag(column_corpus(*noisy(4, labels="NVDX")), states=True)[0]
    assert set(found.tolist()) & {6, 7}
    kept = [f for f, w in state_weights(old).items() if state_weights(more).get(f) == w]
    assert len(kept) > 5


# --- for people ----------------------------------------------------------------------------------------------


def test_states_in_tagged_output_project_to_the_labels(cli: Cli) -> None:
    leave_demo(cli.folder)
    cli.fine("train train.txt -o m.palm -f chunk --latent B-NP=3,I-NP=2 --passes 2 --seed 1 -q")
    cli.fine("tag m.palm test.txt -o labels.txt -q")
    cli.fine("tag m.palm test.txt -o states.txt -q --show-states")
    labels, states = (last_cells(cli.read(name)) for name in ("labels.txt", "states.txt"))
    assert [[state.rpartition("#")[0] for state in own] for own in states] == labels
    found = {state for own in states for state in own}
    most = {"B-NP": 3, "I-NP": 2}
    assert all(1 <= int(number) <= most.get(label, 1) for label, _, number in (s.rpartition("#") for s in found))
    assert len({s for s in found if s.startswith("B-NP#")}) > 1


def test_latent_in_python() -> None:
    sentences, labels = noisy()
    X = [[tuple(cells) for cells in sentence] for sentence in sentences]
    states = Latent({"D": 3, "N": 2})
    assert Latent(parse_latent("N=2,D=3")) == states
    made = Tagger(template=parse(TEMPLATES[1]), states=states, passes=3, constraints="none").fit(X, labels)
    assert same_bits(made.model_, uneven(1, passes=3))
    assert not same_bits(made.model_, Tagger(template=parse(TEMPLATES[1]), passes=3).fit(X, labels).model_)


@pytest.mark.parametrize(
    ("latent", "message"),
    [
        (0, "0 is not a number of states from 1 to 64"),
        ({"N": 0}, "0 is not"),
        (65, "65 is not"),
        ("2", "'2' is not a dictionary or a whole number"),
        ({"Q": 2}, "no label 'Q'"),
    ],
)
def test_bad_numbers_of_states(latent: object, message: str) -> None:
    with pytest.raises(UsageError, match=message):
        flat_tagger(latent=latent).fit([["a", "b"]], [["N", "V"]])


def test_allowed_labels_bind_all_their_states() -> None:
    sentences, labels = noisy()
    X = [[tuple(cells) for cells in sentence] for sentence in sentences]
    tagger = Tagger(states=Latent({"N": 2, "D": 3}), template=parse(TEMPLATES[2]), passes=2).fit(X, labels)
    rng = np.random.default_rng(0)
    choices = [None, "N", "V", {"N", "D"}, {"V", "D"}]
    allowed = [[choices[k] for k in rng.integers(0, 5, len(x))] for x in X]
    found, scores = tagger.predict_scored(X, allowed=allowed)
    free, best = tagger.predict_scored(X)
    fits = [
        all(want is None or y in ({want} if isinstance(want, str) else want) for y, want in zip(ys, wants, strict=True))
        for ys, wants in zip(found, allowed, strict=True)
    ]
    assert all(fits)
    assert found != free
    assert all(a <= b + 1e-4 for a, b in zip(scores, best, strict=True))


# --- two kinds of "her" ---------------------------------------------------------------------------------------------


def test_states_tell_a_possessive_from_a_pronoun() -> None:
    """The last word does not see the verb: only the state of "her" can tell what follows. Right for most seeds."""
    possessive = ["They are her flowers", "They were her books", "These are her letters", "These were her photos"]
    pronoun = ["He gave her flowers", "She gave her books", "He sent her letters", "She showed her photos"]
    X = [line.split() for line in possessive + pronoun]
    y = [["B", "O", "B", "I"]] * len(possessive) + [["B", "O", "B", "B"]] * len(pronoun)
    held_out = [line.split() for line in ("They are her photos", "She sent her photos")]
    templates = parse("U0:%x[0,0]\nU1:%x[-1,0]\nB")
    plain = Tagger(template=templates, learner=Crf(l2=0.01)).fit(X, y)
    assert plain.predict(X) != y
    right = 0
    for seed in range(1, 11):
        tagger = Tagger(template=templates, learner=Dplvm(l2=0.01), states=Latent(2), seed=seed).fit(X, y)
        right += tagger.predict(held_out) == [y[0], y[-1]]
    assert right >= 7
