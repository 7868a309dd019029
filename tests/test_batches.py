"""Batches: the updates of their sentences are those that one-by-one learning makes from the same weights, added up; and
any number of threads gives the same bits."""

from __future__ import annotations

import numpy as np
import pytest
from chain_arrays import Case, chain_of, column_corpus, data_of, features_of
from fitting import TEMPLATES, fit, noisy, same_bits
from hypothesis import given
from hypothesis import strategies as st
from strategies import cases, few

from bench.phases import phases
from palmette import Arow, Beam, Crf, Mira, Parser, PassiveAggressive, Perceptron, ProbPerc, Tagger
from palmette.datasets import load_demo, load_trees
from palmette.errors import UsageError
from palmette.kernels.chain.forms import Chain, Data
from palmette.options import ChainSettings, Learner, automatic_batch_size
from palmette.options.training import BATCHES
from palmette.structures import with_state
from palmette.training import DescentLearning, PathLearning, ThreadTeam, team

FIXED = {"max_tokens": 3, "learning": True, "lists": True}
LISTED = {
    "perceptron": Perceptron(), "mira": Mira(nbest=3), "pa": PassiveAggressive(), "probperc": ProbPerc(nbest=3),
}  # fmt: skip


def learnt(
    chain: Chain, data: Data, learner: Learner, team: ThreadTeam, clock: float, order: np.ndarray
) -> PathLearning:
    learning = PathLearning(chain, data, clock=clock, rule=learner.rule(data.offset.size - 1), team=team)
    learning.learn(order)
    return learning


def descended(chain: Chain, data: Data, learner: Crf, team: ThreadTeam, order: np.ndarray) -> DescentLearning:
    learning = DescentLearning(chain, data, learner=learner, team=team)
    learning.learn(order)
    return learning


def weights_and_sums(chain: Chain) -> list[np.ndarray]:
    parts = [*chain.transitions, *chain.weights]
    return [np.concatenate([part.w.ravel() for part in parts]), np.concatenate([part.a.ravel() for part in parts])]


def difference(case: Case, size: int, learner: Learner, order: np.ndarray) -> tuple[dict, dict]:
    """The weights after batches, and what one-by-one learning from the weights of their beginning adds up to."""
    data, together, expected = data_of(case), chain_of(case), dict(features_of(chain_of(case)))
    for first in range(0, order.size, size):
        batch = order[first : first + size]
        begun = dict(features_of(together))
        for j, s in enumerate(batch):
            alone = _copy(together)
            learnt(alone, data, learner, ThreadTeam(), 1.0 + first + j, np.array([s]))
            for feature, weight in features_of(alone).items():
                expected[feature] = expected.get(feature, 0.0) + weight - begun.get(feature, 0.0)
            for feature in begun.keys() - features_of(alone).keys():
                expected[feature] -= begun[feature]
        learnt(together, data, learner, ThreadTeam(2, size), 1.0 + first, batch)
    return features_of(together), expected


def _copy(chain: Chain) -> Chain:
    copied = [part._replace(**{name: getattr(part, name).copy() for name in part._fields}) for part in chain.weights]
    bare = [part._replace(**{name: getattr(part, name).copy() for name in part._fields}) for part in chain.transitions]
    return chain._replace(weights=tuple(copied), transitions=tuple(bare))


@few(2)
@given(cases(latent=True, **FIXED), st.sampled_from(sorted(LISTED)), st.integers(2, 4), st.integers(0, 9))
def test_a_batch_adds_up_the_updates_of_its_sentences(case: Case, name: str, size: int, seed: int) -> None:
    order = np.random.default_rng(seed).integers(0, len(case.sentences), 7)
    found, expected = difference(case, size, LISTED[name], order)
    for feature in found.keys() | expected.keys():
        assert found.get(feature, 0.0) == pytest.approx(expected.get(feature, 0.0), abs=2e-4), feature


@few(2)
@given(cases(latent=True, **FIXED), st.sampled_from([*sorted(LISTED), "arow"]), st.integers(2, 5), st.integers(2, 4))
def test_threads_give_the_same_bits(case: Case, name: str, size: int, threads: int) -> None:
    learner = LISTED.get(name) or Arow(nbest=2)
    case = case._replace(tied_update=0.0 if name == "arow" else case.tied_update)
    order, made = np.arange(len(case.sentences)).repeat(3), []
    for number in (1, threads):
        chain = with_state(chain_of(case)) if name == "arow" else chain_of(case)
        learning = learnt(chain, data_of(case), learner, ThreadTeam(number, size), 1.0, order)
        made.append([learning.clock, learning.infeasible, *map(bytes, weights_and_sums(learning.chain))])
    assert made[0] == made[1]


@few(2)
@given(cases(latent=True, **FIXED).filter(lambda case: not case.growing), st.booleans(), st.integers(2, 5))
def test_descent_on_threads_gives_the_same_bits(case: Case, adaptive: bool, size: int) -> None:
    order, made = np.arange(len(case.sentences)).repeat(2), []
    for number in (1, 3):
        chain = with_state(chain_of(case)) if adaptive else chain_of(case)
        learner = Crf(optimiser="adagrad" if adaptive else "sgd", l2=0.3)
        learning = descended(chain, data_of(case), learner, ThreadTeam(number, size), order)
        made.append([learning.objective, *map(bytes, weights_and_sums(learning.chain))])
    assert made[0] == made[1]


@few(1)
@given(cases(max_tokens=3, learning=True).filter(lambda case: not case.growing), st.integers(2, 4))
def test_a_batch_descends_along_the_gradients_of_its_beginning(case: Case, size: int) -> None:
    """Plain steps without a penalty: they add up."""
    data, order = data_of(case), np.arange(len(case.sentences))[:size]
    learner, begun = Crf(optimiser="sgd", l2=0.0), dict(features_of(chain_of(case)))
    together = descended(chain_of(case), data, learner, ThreadTeam(2, size), order).chain
    expected = dict(begun)
    for s in order:
        alone = features_of(descended(chain_of(case), data, learner, ThreadTeam(), np.array([s])).chain)
        for feature in alone.keys() | begun.keys():
            change = alone.get(feature, 0.0) - begun.get(feature, 0.0)
            expected[feature] = expected.get(feature, 0.0) + change
    found = features_of(together)
    for feature in found.keys() | expected.keys():
        assert found.get(feature, 0.0) == pytest.approx(expected.get(feature, 0.0), abs=1e-4), feature


@few(1)
@given(cases(max_tokens=3, learning=True).filter(lambda case: not case.growing), st.integers(1, 4), st.integers(1, 2))
def test_adagrad_does_not_need_accumulators(case: Case, size: int, threads: int) -> None:
    """Rows that are given out at once and have no accumulators end with the same weights."""
    data, order, made = data_of(case), np.arange(len(case.sentences)).repeat(2), []
    for alone in (False, True):
        learner = Crf(optimiser="adagrad", l2=0.3)
        learning = DescentLearning(with_state(chain_of(case)), data, learner=learner, team=ThreadTeam(threads, size))
        if alone:
            learning.be_alone()
        learning.learn(order)
        made.append(weights_by_attribute(learning.chain))
    assert made[0] == made[1]


def weights_by_attribute(chain: Chain) -> list[bytes]:
    rows = [(r.w if r.first.size else r.w[r.slot]).tobytes() for r in chain.weights]
    return [*rows, *(t.w.tobytes() for t in chain.transitions)]


def test_the_time_of_phases_is_noted() -> None:
    X, y = (part[:60] for part in load_demo("train"))
    found = phases(
        lambda threads, batch: [Tagger("chunk", batch_size=batch, passes=1).fit(X, y, threads=threads) and 1.0], 2, 4
    )
    assert not found or (0 < found["find"] < found["all"] == 1.0 and found["apply"] + found["in order"] > 0)


WAYS = {
    "perceptron": {"learner": "perceptron"},
    "mira": {"learner": "mira"},
    "arow": {"learner": "arow"},
    "latent": {"learner": "perceptron", "states": "latent"},
    "crf": {"learner": Crf(optimiser="adagrad")},
    "beam": {"learner": "perceptron", "search": Beam(4)},
    "beam mira": {"learner": Mira(nbest=3), "search": Beam(4)},
    "seen": {"learner": "mira", "state_features": "seen"},
}


@pytest.mark.parametrize("way", WAYS)
def test_whole_trainings_on_threads_give_the_same_bits(way: str) -> None:
    X, y = (part[:120] for part in load_demo("train"))
    options = {"batch_size": 8, "passes": 3, **WAYS[way]}
    one, two = (Tagger("chunk", **options).fit(X, y, threads=threads).model_ for threads in (1, 3))
    assert same_bits(one, two)
    plain = Tagger("chunk", **options | {"batch_size": 1}).fit(X, y).model_
    default = Tagger("chunk", **options | {"batch_size": None}).fit(X, y).model_
    assert same_bits(plain, default)
    assert not same_bits(plain, one)


def test_a_team_on_busy_cores_works_alone_for_a_while(monkeypatch: pytest.MonkeyPatch) -> None:
    """Which changes nothing but the time."""
    X, y = (part[:120] for part in load_demo("train"))
    options = {"batch_size": 4, "passes": 8, "learner": "perceptron"}
    expected = Tagger("chunk", **options).fit(X, y, threads=1).model_
    used: list[int] = []
    guarded = team._guarded
    monkeypatch.setattr(team, "_guarded", lambda member, call: used.append(member.size) or guarded(member, call))
    monkeypatch.setattr(team, "LEAST", 0.0)
    monkeypatch.setattr(team, "ALONE", 2)
    monkeypatch.setattr(team.time, "process_time", lambda: 0.0)  # as if no core were there
    found = Tagger("chunk", **options).fit(X, y, threads=2).model_
    assert same_bits(found, expected)
    assert {1, 2} == set(used)


def test_how_long_a_team_works_alone() -> None:
    threads = ThreadTeam(2, 4)
    for expected in (8, 16, 32):
        threads._look(0.1, 0.1)  # half of two cores
        assert threads._alone == expected
    for _ in range(9):
        threads._look(0.1, 0.1)
    assert threads._alone == 256
    threads._alone = 0
    threads._look(0.1, 0.19)
    assert threads._alone == 0
    threads._look(0.001, 0.0)  # too short to tell
    assert threads._alone == 0
    threads._look(0.1, 0.1)
    assert threads._alone == 8


def test_a_training_on_threads_goes_on_exactly() -> None:
    corpus, options = column_corpus(*noisy(n_sentences=30)), {"learner": "mira", "batch_size": 4}
    four, _ = fit(corpus, TEMPLATES[1], passes=4, **options)
    two, _ = fit(corpus, TEMPLATES[1], passes=2, checkpoint=True, **options)
    more, _ = fit(corpus, None, passes=2, resume=two, **options)
    assert same_bits(four, more)


@pytest.mark.parametrize("update", ["laso", "max-violation", "early"])
def test_parsers_on_threads_give_the_same_bits(update: str) -> None:
    made = [
        Parser(search=Beam(4, update=update), passes=3, batch_size=5).fit(load_trees("train"), threads=threads).model_
        for threads in (1, 3)
    ]
    assert all(np.array_equal(a, b) for a, b in zip(made[0].weights[:2], made[1].weights[:2], strict=True))
    assert made[0].meta["history"][-1]["updates"] == made[1].meta["history"][-1]["updates"]


def test_the_rule_for_the_size_of_batches() -> None:
    assert automatic_batch_size(BATCHES[-1][0] - 1) is None
    assert automatic_batch_size(BATCHES[-1][0]) == BATCHES[-1][1]
    assert automatic_batch_size(10**9) == BATCHES[0][1]
    assert automatic_batch_size(10**9, 4) == 4
    assert automatic_batch_size(10, 4) is None
    assert ChainSettings(learner="perceptron").with_batch_size_for(10**9).batch_size == BATCHES[0][1]


@pytest.mark.parametrize(
    ("options", "told"),
    [
        ({"learner": "crf", "batch_size": 8}, "looks at all sentences in every step"),
        ({"learner": "crf", "shards": 2, "mixing": "updates"}, "sums over all shards in every step"),
        ({"learner": "perceptron", "search": Beam(4, update="laso"), "batch_size": 8}, "one by one"),
        ({"learner": "arow", "search": Beam(4), "batch_size": 8}, "one by one with arow"),
        ({"learner": "hmm", "batch_size": 8}, "no effect with the learner hmm"),
        ({"batch_size": 0}, "batch_size: 0"),
    ],
)
def test_learners_that_have_no_batches_say_so(options: dict, told: str) -> None:
    with pytest.raises(UsageError, match=told):
        Tagger(**options)._settings()


def test_an_error_of_one_thread_ends_all() -> None:
    def work(number: int) -> None:
        raise MemoryError(f"thread {number}")

    with pytest.raises(MemoryError, match="thread"):
        ThreadTeam(2, 2).run(work, lambda team: (team.number,))


def test_threads_without_work_are_reported(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level("INFO", logger="palmette"):
        ThreadTeam(5, 2)
    assert "3 threads will find no work: a batch has 2 sentences" in caplog.text
