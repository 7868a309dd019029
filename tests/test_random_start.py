"""All parameters of a latent model drawn at random: the numbers by their definition, training from them against the
slow twin, what never moved, and trainings that go on."""

from __future__ import annotations

import itertools
from pathlib import Path

import numpy as np
import pytest
from chain_arrays import column_corpus, in_order_of_occurrence
from cli_run import Cli, leave_demo
from fitting import TEMPLATES, fit, noisy, same_bits
from hypothesis import assume, given
from hypothesis import strategies as st
from naive_chain import Feature
from naive_latent import (
    States,
    Tie,
    assert_learnt,
    latent_perceptron,
    latent_twin,
    pass_orders,
    random_start,
    seen_states,
    state_examples,
    state_weights,
)
from strategies import Task, few, tasks

from palmette.errors import PalmetteError
from palmette.features import keys_of, parse
from palmette.options import ChainOptions, ChainSettings, assemble
from palmette.structures import ChainModel, load_chain
from palmette.training import TrainRequest, prepared
from palmette.training.chain.start import starting_weights

SIZE = 0.05
WORD = (1 << 64) - 1
KINDS = {1: "one", 2: "two", 3: "three"}


@pytest.fixture
def cli(tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Cli:
    return Cli(tmp_path, capsys, monkeypatch)


# --- the numbers, in plain integers --------------------------------------------------------------------------


def splitmix(x: int) -> int:
    """The function of Steele, Lea and Flood (2014), as it is printed."""
    x = (x + 0x9E3779B97F4A7C15) & WORD
    x = ((x ^ (x >> 30)) * 0xBF58476D1CE4E5B9) & WORD
    x = ((x ^ (x >> 27)) * 0x94D049BB133111EB) & WORD
    return x ^ (x >> 31)


def drawn(seed: int, key: int, states: tuple[int, ...]) -> float:
    """The start of one weight: seed and arity, the attribute's key, the states one after the other."""
    code = 0
    for h in states:
        code = code * 2**21 + h + 1
    mixed = splitmix((splitmix(key ^ splitmix(4 * seed + len(states))) + code) & WORD)
    return float(np.float32(SIZE * (2 * (mixed >> 40) / 2**24 - 1)))


def feature_start(model: ChainModel, seed: int) -> dict[Feature, float]:
    """The start of all weights of attributes of a model that has kept all of them (with a checkpoint)."""
    H = model.shape.n_states
    found: dict[Feature, float] = {}
    for arity, index in model.feature_indexes.items():
        for a, key in enumerate(keys_of(index).tolist()):
            for states in itertools.product(range(H), repeat=arity):
                found[(KINDS[arity], model.names[arity][a], *states)] = drawn(seed, key, states)
    return found


def test_numbers_are_spread_evenly() -> None:
    values = np.array([drawn(1, splitmix(key), (h,)) for key in range(2000) for h in range(4)]) / SIZE
    assert abs(values.mean()) < 4 / np.sqrt(3 * values.size)
    assert np.histogram(values, 8, (-1, 1))[0] == pytest.approx(np.full(8, values.size / 8), rel=0.15)
    assert abs(np.corrcoef(values.reshape(-1, 4).T)[0, 1]) < 0.1


# --- training ------------------------------------------------------------------------------------------------


@few(2)
@given(
    tasks(max_tokens=3), st.sampled_from(["avg", "last", "mavg"]), st.sampled_from(["all", "seen"]),
    st.sampled_from([0.0, 1.0]), st.data(),
)  # fmt: skip
def test_weights_are_those_of_the_definition(
    task: Task, estimator: str, edges: str, tied_update: float, data: st.DataObject
) -> None:
    names = in_order_of_occurrence(task.labels)
    counts = [data.draw(st.integers(1, 3 if len(names) < 3 else 2)) for _ in names]
    assume(max(counts) > 1)
    seed, states, every = data.draw(st.integers(0, 99)), States(names, counts), 2 if estimator == "mavg" else None
    more = {} if every is None else {"mavg_every": every}
    model, outcome = fit(
        column_corpus(task.sentences, task.labels), task.templates, latent=dict(zip(names, counts, strict=True)),
        estimator=estimator, passes=3, seed=seed, edge_features=edges, init_size=SIZE, init="all",
        tied_update=tied_update, checkpoint=True, **more,
    )  # fmt: skip
    twin, shape = latent_twin(task.templates, states)
    wanted = [[{label} for label in own] for own in task.labels]
    examples = state_examples(parse(task.templates), task.sentences, wanted, states)
    twin.seen = seen_states(examples, twin.order, states) if edges == "seen" else None
    own = {f: w for f, w in feature_start(model, seed).items() if twin.is_feature(f)}
    twin.weights = random_start(shape, twin.order, SIZE, seed, rounded=False) | own
    orders = pass_orders(seed, len(outcome.training_log), len(examples))
    try:
        learnt = latent_perceptron(twin, examples, orders, every, exact=False, tied_update=tied_update, states=states)
    except Tie:
        assume(False)
    assert_learnt(state_weights(model), learnt, "last" if estimator == "last" else "avg", exact=False)
    assert [p.updates for p in outcome.training_log] == learnt.updates
    assert [p.wrong for p in outcome.training_log] == learnt.wrong


def trained(sentences: list, labels: list, order: int = 1, **options) -> ChainModel:
    options = {"latent": 2, "init": "all", "init_size": SIZE, "passes": 3, **options}
    return fit(column_corpus(sentences, labels), TEMPLATES[order], **options)[0]


def reloaded(model: ChainModel, folder: Path) -> ChainModel:
    model.save(str(folder / "model.palm"))
    return load_chain(str(folder / "model.palm"))


@pytest.mark.parametrize("order", [0, 1, 2])
@pytest.mark.parametrize("edges", ["all", "seen"])
def test_a_start_of_all_weights_is_another_one(order: int, edges: str) -> None:
    bare, whole, again = (
        trained(*noisy(), order, edge_features=edges, init=init, init_size=0.5) for init in ("bare", "all", "all")
    )
    assert same_bits(whole, again)
    assert not same_bits(bare, whole)


@pytest.mark.parametrize("edges", ["all", "seen"])
@pytest.mark.parametrize("estimator", ["avg", "last"])
def test_attributes_that_never_move_stay_out(edges: str, estimator: str) -> None:
    """One update at most: only the attributes of that sentence can be in the model."""
    sentences = [[["a"], ["b"]], [["c"], ["d"]]]
    labels = [["N", "V"], ["N", "V"]]
    sizes = []
    for seed in range(12):
        model, outcome = fit(
            column_corpus(sentences, labels), "U0:%x[0,0]\nB", latent=2, init="all", init_size=0.5, passes=1,
            estimator=estimator, seed=seed, edge_features=edges, tied_update=0.0,
        )  # fmt: skip
        names = {f[1] for f in state_weights(model) if f[0] == "one"}
        assert model.feature_indexes[1].size == len(names)
        assert len(names) <= 2 * outcome.training_log[0].updates
        sizes.append(len(names))
    assert min(sizes) < 4


@pytest.mark.parametrize("edges", ["all", "seen"])
def test_the_order_of_attributes_does_not_matter(edges: str) -> None:
    """The last sentence first: attributes have other numbers and the same weights."""
    found = []
    for step in (1, -1):
        sentences, labels = (part[::step] for part in noisy(0, 12))
        labels = [["N", "V", "D"], *labels, ["N", "V", "D"]]  # labels have the same numbers in both
        sentences = [[["w0", "c0"]] * 3, *sentences, [["w1", "c1"]] * 3]
        settings = ChainSettings(
            **assemble(ChainOptions, {"latent": 2, "init": "all", "edge_features": edges, "constraints": "none"})
        )
        problem = prepared(column_corpus(sentences, labels), TrainRequest(parse(TEMPLATES[1]), settings))
        chain, _, _ = starting_weights(problem)
        keys, rows = keys_of(problem.collected.feature_indexes[1]).tolist(), chain.weights[0]
        found.append({key: rows.w[rows.slot[a]].tolist() for a, key in enumerate(keys)})
    assert list(found[0]) != list(found[1])
    assert found[0] == found[1]


# --- going on ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("order", [0, 1, 2])
@pytest.mark.parametrize("edges", ["all", "seen"])
@pytest.mark.parametrize("estimator", ["avg", "last"])
def test_two_passes_and_three_more_are_five(order: int, edges: str, estimator: str, tmp_path: Path) -> None:
    options = {"edge_features": edges, "estimator": estimator, "seed": 3, "latent": {"N": 2, "D": 3}}
    whole = trained(*noisy(), order, passes=5, **options)
    half = reloaded(trained(*noisy(), order, passes=2, checkpoint=True, **options), tmp_path)
    more, _ = fit(column_corpus(*noisy()), None, resume=half, passes=3, init="all", init_size=SIZE, **options)
    assert state_weights(more) == state_weights(whole)


@pytest.mark.parametrize("edges", ["all", "seen"])
def test_another_seed_does_not_forget_what_never_moved(edges: str, tmp_path: Path) -> None:
    """The start of a model is that of its first training."""
    first = reloaded(trained(*noisy(0, 6), 2, passes=1, checkpoint=True, edge_features=edges, seed=1), tmp_path)
    options = {"latent": 2, "init": "all", "init_size": 0.5, "edge_features": edges}
    more, _ = fit(column_corpus(*noisy(0, 6)), None, resume=first, passes=1, seed=2, estimator="last", **options)
    small = [f for f, w in state_weights(more).items() if f[0] in KINDS.values() and abs(w) <= SIZE]
    start = feature_start(first, 1)
    there = [f for f in small if abs(state_weights(more)[f] - start[f]) < 1e-9]  # some have come back
    assert len(there) < len(start) / 50


@pytest.mark.parametrize("checkpoint", [True, False])
@pytest.mark.parametrize("edges", ["all", "seen"])
def test_new_attributes_and_labels_start_at_random(edges: str, checkpoint: bool, tmp_path: Path) -> None:
    """Their weights are drawn, and those of the old ones stay: with nothing to learn the model is what it was."""
    options = {"latent": 2, "init": "all", "init_size": SIZE, "edge_features": edges, "estimator": "last", "seed": 1}
    first = reloaded(trained(*noisy(0, 12), 1, passes=2, checkpoint=checkpoint, **options), tmp_path)
    sentences, labels = noisy(3, 4, labels="NVDX")
    longer = [[*s, ["new", "c9"]] for s in sentences], [[*y, "X"] for y in labels]
    more, _ = fit(column_corpus(*longer), None, resume=first, passes=2, checkpoint=True, **options)
    start, raw = feature_start(more, 1), more.checkpoint["1.w"]
    slot, names, H = more.checkpoint["1.slot"], more.names[1], more.shape.n_states
    drawn_rows = [a for a in range(len(names)) if (more.checkpoint["1.a"][slot[a]] == 0).all()]
    assert (slot > 0).all()
    for a in drawn_rows:
        expected = [start[("one", names[a], h)] for h in range(H)]
        own = raw[slot[a], :H]
        is_start = np.abs(own - expected) < 1e-7
        assert is_start[first.shape.n_states :].all()  # the new label
        assert is_start.all() or a < first.feature_indexes[1].size


# --- options -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"latent": 2, "init": "some"}, "choose one of bare, all"),
        ({"latent": 1, "init": "all"}, "needs a label with several states"),
        ({"latent": 2, "init": "all", "split_after": 2}, "starts from a plain model"),
        ({"latent": 2, "init": "all", "learner": "dplvm", "state_features": "seen"}, "needs state_features all"),
    ],
)
def test_what_does_not_fit(options: dict, message: str) -> None:
    with pytest.raises((PalmetteError, ValueError), match=message):
        fit(column_corpus(*noisy()), TEMPLATES[1], **options)


@pytest.mark.parametrize("more", [{"passes": None, "iterations": 2}, {"passes": 2, "optimiser": "sgd"}])
def test_latent_crfs_start_there_too(more: dict) -> None:
    one, other = (trained(*noisy(), 1, learner="dplvm", init=init, init_size=0.5, **more) for init in ("bare", "all"))
    assert not same_bits(one, other)


def test_on_the_command_line(cli: Cli) -> None:
    leave_demo(cli.folder)
    cli.fine(
        "train train.txt -o m.palm -f chunk --latent 2 --latent-init all --latent-init-size 0.1 --passes 2 "
        "--checkpoint -q"
    )
    cli.fine("train train.txt -o more.palm --resume m.palm --passes 1 -q")
    assert "accuracy" in cli.fine("eval more.palm test.txt")
