"""PA and MIRA against their definitions: inner products by dictionaries, costs by the scorer's rules, the quadratic
program by its optimality conditions and by trying all active bounds, and whole steps against slow twins."""

from __future__ import annotations

import numpy as np
import pytest
from chain_arrays import Case, chain_of, data_of, features_of
from hypothesis import given
from hypothesis import strategies as st
from learners import PathRunner
from naive_chain import Model, Token, dot
from naive_nbest import (
    MiraTwin,
    PassiveAggressiveTwin,
    Rule,
    added,
    assert_close,
    assert_learns,
    box_optimum,
    chunks,
    learner_of,
    learning_cases,
    sum_optimum,
    with_real_weights,
)
from strategies import few

from palmette import Mira, PassiveAggressive
from palmette.evaluation import ChunkTables, span_counts
from palmette.kernels.chain.candidates import Chunks, span_cost
from palmette.kernels.chain.differences import DifferenceTable, gram, make_differences
from palmette.kernels.chain.forms import Chain, Data
from palmette.kernels.core.compile import kernel
from palmette.kernels.learning.coefficients import hildreth, within_sum
from palmette.options.learners import PA_VARIANTS
from palmette.training import chunks_for

SCHEMES = {
    "IOB2": ["O", "B-X", "I-X", "B-Y", "I-Y"],
    "IOB1": ["O", "I-X", "B-X", "I-Y"],
    "IOBES": ["O", "S-X", "B-X", "I-X", "E-X", "S-Y"],
}
SHARES = st.sampled_from([0.0, 1.0, 0.5])
SEEDS = st.integers(0, 999)


# --- whole steps --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("order", [0, 1, 2])
@pytest.mark.parametrize("kind", PA_VARIANTS)
@few()
@given(data=st.data(), C=st.sampled_from([0.01, 0.1, 1.0]), tied_update=SHARES, seed=SEEDS)
def test_passive_aggressive(
    order: int, kind: str, data: st.DataObject, C: float, tied_update: float, seed: int
) -> None:
    drawn, fresh, mavg = data.draw(learning_cases(order)), data.draw(st.booleans()), data.draw(st.booleans())
    case = with_real_weights(drawn, seed, fresh)._replace(
        tied_update=tied_update if drawn.states_per_label > 1 else 0.0
    )
    chosen = PassiveAggressive(pa_type=kind, aggressiveness=0.1 if kind == "PA" else C)
    assert_learns(case, PathRunner(chosen.rule(1)), PassiveAggressiveTwin(kind, C), seed, mavg, 1e-4)


@pytest.mark.parametrize("order", [0, 1, 2])
@pytest.mark.parametrize("cost", ["hamming", "span"])
@few()
@given(data=st.data(), C=st.sampled_from([0.01, 0.1, 1.0]), tied_update=SHARES, seed=SEEDS)
def test_mira(order: int, cost: str, data: st.DataObject, C: float, tied_update: float, seed: int) -> None:
    drawn, n, mavg = data.draw(learning_cases(order)), data.draw(st.integers(1, 5)), data.draw(st.booleans())
    cap = data.draw(st.sampled_from(["each", "sum"]))
    case = with_real_weights(drawn, seed)._replace(tied_update=tied_update if drawn.states_per_label > 1 else 0.0)
    labels = ["O", "B-X", "I-X", "I-Y", "B-Y", "S-Z", "E-X", "B-Z", "I-Z"][: case.n_labels]
    chosen = Mira(nbest=n, aggressiveness=C, step_cap=cap, cost=cost)
    twin = MiraTwin(n, C, labels if cost == "span" else None, case.label_of, cap)
    assert_learns(case, PathRunner(chosen.rule(1), chunks_for(chosen, labels)), twin, seed, mavg, 1e-3)


def test_pa_takes_what_violates_most_not_what_scores_best() -> None:
    """Gold 1 1; 0 0 has two wrong tokens and scores a little less than 0 1, which has one."""
    weights = {("start", 0): 0.4, ("end", 1): 0.2}
    token = Token(((0, 1.0),))
    case = Case(Model(0, 2, weights), (0, 1), (1, 0, 0), [[token, token]], [[frozenset([1])] * 2], [1.0])
    chain = chain_of(case)
    step = PathRunner(PassiveAggressive(pa_type="PA").rule(1)).learn(
        chain, data_of(case), np.zeros(1, np.int64), 0, 1, 1.0
    )
    assert (step.updates, step.wrong) == (1, 1)  # what is told is what the model would have guessed
    # 0 0 with cost 2.4, gold 0.2: loss 2.2; the attribute counts twice, start and end once, for two labels each.
    alpha = 2.2 / (2 * (2**2 + 1 + 1))
    expected = {
        ("start", 0): 0.4 - alpha, ("start", 1): alpha, ("end", 0): -alpha, ("end", 1): 0.2 + alpha,
        ("one", 0, 0): -2 * alpha, ("one", 0, 1): 2 * alpha,
    }  # fmt: skip
    assert_close(features_of(chain), expected, 1e-6)


# --- inner products -----------------------------------------------------------------------------------------


@kernel
def call_gram(m: Chain, x: Data, s: int, paths: np.ndarray, table: DifferenceTable) -> np.ndarray:
    """Twice, since the table must be empty again afterwards."""
    K = paths.shape[0] - 1
    A = np.zeros((K, K))
    table = gram(m, x, s, paths, table, A)
    gram(m, x, s, paths, table, A)
    return A


@pytest.mark.jit
@pytest.mark.parametrize("order", [0, 1, 2])
@few()
@given(data=st.data(), K=st.integers(1, 6), tied_update=SHARES, seed=SEEDS)
def test_inner_products(order: int, data: st.DataObject, K: int, tied_update: float, seed: int) -> None:
    """Any paths, equal ones too; a difference adds up over the sentence before it is squared."""
    drawn = data.draw(learning_cases(order))
    case = drawn._replace(tied_update=tied_update if drawn.states_per_label > 1 else 0.0)
    s, rng = len(case.sentences) - 1, np.random.default_rng(seed)
    paths = rng.integers(0, case.model.n_states, (K + 1, len(case.sentences[s]))).astype(np.int32)
    learner = learner_of(case, Rule())
    bags = [learner.features(case.examples()[s], tuple(path.tolist())) for path in paths]
    away = [added([(1.0, bags[0]), (-1.0, bag)]) for bag in bags[1:]]
    expected = [[dot(learner.spread(one), other) for other in away] for one in away]
    found = call_gram(chain_of(case), data_of(case), s, paths, make_differences(K))
    assert found == pytest.approx(np.array(expected), abs=1e-5)


def _alike(tied_update: float) -> Case:
    """0 1 and 1 0 on two tokens alike: their difference is exactly nothing, whatever the values are."""
    token = Token(tuple((0, float(np.float32(v))) for v in (0.1, 0.7, 0.3)))
    known = [frozenset([1]), frozenset([0])]
    return Case(Model(0, 4, ends=False), (0, 0, 1, 1), (1, 0, 0), [[token, token]], [known], [1.0], 2, tied_update)


@pytest.mark.jit
@pytest.mark.parametrize("tied_update", [0.0, 0.5])
def test_paths_with_equal_features_have_no_difference(tied_update: float) -> None:
    case = _alike(tied_update)
    chain, data = chain_of(case), data_of(case)
    assert call_gram(chain, data, 0, np.array([[2, 0], [0, 2]], np.int32), make_differences(1)).tolist() == [[0.0]]


@pytest.mark.parametrize("tied_update", [0.0, 0.5])
def test_nothing_is_learnt_from_paths_with_equal_features(tied_update: float) -> None:
    case = _alike(tied_update)
    chain, data = chain_of(case), data_of(case)
    rule = PathRunner(PassiveAggressive(pa_type="PA").rule(1))
    assert rule.learn(chain, data, np.zeros(1, np.int64), 0, 1, 1.0).updates == 0
    assert features_of(chain) == {}


# --- costs --------------------------------------------------------------------------------------------------


@kernel
def call_span_cost(m: Chain, gold: np.ndarray, path: np.ndarray, tables: Chunks) -> int:
    return span_cost(m, gold.size, gold, path, tables)


@pytest.mark.jit
@few(2)
@given(st.sampled_from(sorted(SCHEMES)), st.integers(1, 8), st.integers(1, 3), st.integers(0, 2**32))
def test_the_span_cost_is_that_of_the_scorer(scheme: str, n: int, states_per_label: int, seed: int) -> None:
    """Chunks that only one of two label sequences has: guessed + gold - 2 * correct of the metric, and a plain twin."""
    labels = SCHEMES[scheme]
    rng = np.random.default_rng(seed)
    gold, path = rng.integers(0, len(labels) * states_per_label, (2, n)).astype(np.int32)
    path = np.where(rng.random(n) < 0.5, gold, path).astype(np.int32)  # often the same
    label_of = tuple(h // states_per_label for h in range(len(labels) * states_per_label))
    case = Case(Model(0, len(label_of)), label_of, (0, 0, 0), [[Token()]], [[frozenset([0])]], [1.0], states_per_label)
    tables = chunks_for(Mira(cost="span"), labels)
    found = call_span_cost(chain_of(case), gold, path, tables)
    names = [[labels[h // states_per_label] for h in one] for one in (gold, path)]
    assert found == len(chunks(names[0]) ^ chunks(names[1]))
    counts = span_counts(gold // states_per_label, path // states_per_label, np.array([0, n]), ChunkTables.of(labels))
    assert found == counts.gold.sum() + counts.guessed.sum() - 2 * counts.correct.sum()


# --- the quadratic program ----------------------------------------------------------------------------------


@kernel
def call_hildreth(A: np.ndarray, b: np.ndarray, C: float) -> np.ndarray:
    alpha = np.full(b.size, 7.0)  # what was there before does not matter
    hildreth(A, b, b.size, C, alpha)
    return alpha


def programs() -> st.SearchStrategy[tuple[np.ndarray, np.ndarray, float]]:
    """A = D D' of K differences in as many or fewer dimensions, some of them alike or zero, as real ones are. Where
    they contradict each other the alphas creep up to C: a large C would need more rounds than there are."""

    def made(K: int, dimensions: int, C: float, seed: int) -> tuple[np.ndarray, np.ndarray, float]:
        rng = np.random.default_rng(seed)
        D = rng.integers(-2, 3, (K, dimensions)).astype(float) if seed % 2 else rng.normal(size=(K, dimensions))
        if seed % 3 == 0:
            D[-1] = D[0]
        return D @ D.T, rng.uniform(-1, 4, K), C

    sizes = st.integers(1, 5)
    return st.builds(made, sizes, sizes, st.sampled_from([0.05, 0.3, 1.0]), st.integers(0, 2**32))


@pytest.mark.jit
@few(2)
@given(programs())
def test_hildreth_finds_the_optimum(program: tuple[np.ndarray, np.ndarray, float]) -> None:
    A, b, C = program
    alpha = call_hildreth(A, b, C)
    slope = b - A @ alpha
    own = np.diag(A) > 0  # a difference of nothing stays where it is: its step would change nothing
    assert np.all((alpha >= 0) & (alpha <= C))
    assert np.all(alpha[~own] == 0)
    close = 1e-3 * (1 + np.abs(b).max())  # it stops after 1,000 rounds, near the optimum where A is nearly singular
    assert np.all(slope[own & (alpha == 0)] <= close)
    assert np.all(slope[own & (alpha == C)] >= -close)
    assert np.all(np.abs(slope[own & (alpha > 0) & (alpha < C)]) <= close)
    best = box_optimum(A[np.ix_(own, own)], b[own], C)

    def value(a: np.ndarray) -> float:
        return float(b[own] @ a - a @ A[np.ix_(own, own)] @ a / 2)

    assert value(alpha[own]) == pytest.approx(value(best), abs=1e-6)


@pytest.mark.jit
@pytest.mark.parametrize("seed", range(5))
def test_hildreth_agrees_with_projected_gradient(seed: int) -> None:
    """Another road to the same value, for more candidates than all active bounds can be tried of."""
    rng = np.random.default_rng(seed)
    D, C = rng.normal(size=(12, 8)), 1.0
    A, b = D @ D.T, rng.uniform(-1, 4, 12)
    a = np.zeros(12)
    rate = 1 / np.linalg.eigvalsh(A)[-1]
    for _ in range(20_000):
        a = np.clip(a + rate * (b - A @ a), 0.0, C)
    found = call_hildreth(A, b, C)
    assert 0 < np.sum((found > 0) & (found < C)) < 12  # some inside, some at a bound
    assert b @ found - found @ A @ found / 2 == pytest.approx(b @ a - a @ A @ a / 2, rel=1e-6)


@kernel
def call_within_sum(A: np.ndarray, b: np.ndarray, C: float) -> np.ndarray:
    alpha, slope = np.zeros(b.size), np.zeros(b.size)
    within_sum(A, b, b.size, C, alpha, slope)
    return alpha


@pytest.mark.jit
@few(2)
@given(programs())
def test_a_capped_sum_finds_the_optimum(program: tuple[np.ndarray, np.ndarray, float]) -> None:
    """By the conditions of Karush, Kuhn and Tucker, and by all choices of what is zero."""
    A, b, C = program
    alpha = call_within_sum(A, b, C)
    own = np.diag(A) > 0
    assert np.all(alpha >= 0)
    assert alpha.sum() <= C + 1e-9
    assert np.all(alpha[~own] == 0)
    slope, held = b - A @ alpha, own & (alpha > 0)
    multiplier = max(0.0, float(slope[own].max(initial=0.0)))  # the price of one more unit of the sum
    assert multiplier < 1e-8 or alpha.sum() == pytest.approx(C)
    assert np.all(np.abs(slope[held] - multiplier) < 1e-8)
    best = sum_optimum(A[np.ix_(own, own)], b[own], C)

    def value(a: np.ndarray) -> float:
        return float(b[own] @ a - a @ A[np.ix_(own, own)] @ a / 2)

    assert value(alpha[own]) == pytest.approx(value(best), abs=1e-8)


def test_caps_differ_if_several_candidates_are_violated() -> None:
    """One token, three labels, all scores 0, C = 0.1: both wrong labels want 1/3, each is given 0.1, or both 0.05."""
    case = Case(Model(0, 3, ends=False), (0, 1, 2), (1, 0, 0), [[Token(((0, 1.0),))]], [[frozenset([0])]], [1.0])
    for cap, step in (("each", 0.1), ("sum", 0.05)):
        chain = chain_of(case)
        rule = PathRunner(Mira(nbest=3, aggressiveness=0.1, step_cap=cap).rule(1))
        rule.learn(chain, data_of(case), np.zeros(1, np.int64), 0, 1, 1.0)
        assert_close(features_of(chain), {("one", 0, 0): 2 * step, ("one", 0, 1): -step, ("one", 0, 2): -step}, 1e-7)
