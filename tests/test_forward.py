"""Sums over all paths against lists of all paths, and against logarithms for long sentences and wild scores."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
import pytest
from chain_arrays import PAD, Case, chain_of, data_of
from hypothesis import given
from hypothesis import strategies as st
from naive_chain import Model, Token
from naive_forward import Listed, Scores, all_paths, by_logarithms
from strategies import cases, few, random_model, random_sentence

from palmette.kernels.chain.forms import Chain, Data, stride_of
from palmette.kernels.chain.forward_backward import (
    SumWorkspace,
    exp_edges,
    log_partitions,
    make_sum_workspace,
    marginals,
    pair_marginals,
    triple_marginals,
)
from palmette.kernels.chain.posteriors import decode_marginal
from palmette.kernels.core.compile import kernel
from palmette.kernels.core.vector import exp_of, log_of


@kernel
def tables_of(
    m: Chain,
    workspace: SumWorkspace,
    U: np.ndarray,
    E: np.ndarray,
    S: np.ndarray,
    P: np.ndarray,
    pairs: np.ndarray,
    triples: np.ndarray,
) -> float:
    """log Z and all marginals of one trellis; twice, since the room is used again for the next sentence."""
    n = U.shape[0]
    T, w = workspace
    T.U[:] = U
    T.E[:] = E
    T.S[:] = S
    for _ in range(2):
        exp_edges(T, m, n, w)
        log_z = marginals(T, m, n, w, P)
        if log_z > -np.inf:
            for i in range(1, n if m.order >= 1 else 0):
                pair_marginals(T, m, w, i, pairs[i])
            for i in range(2, n if m.order >= 2 else 0):
                triple_marginals(T, m, w, i, triples[i])
    return log_z


@kernel
def exp_and_log(x: np.ndarray, exps: np.ndarray, logs: np.ndarray) -> None:
    for k in range(x.size):
        exps[k] = exp_of(x[k])
        logs[k] = log_of(exps[k])


@pytest.mark.jit
def test_exp_and_log_to_the_last_digits() -> None:
    rng = np.random.default_rng(2)
    x = np.concatenate([-rng.exponential(10.0 ** rng.integers(-18, 3, 2000)), [0.0, -0.0, -5e-324, -1.0, -640.0]])
    x = x[x > -645]
    exps, logs = np.empty(x.size), np.empty(x.size)
    exp_and_log(x, exps, logs)
    assert np.allclose(exps, np.exp(x), rtol=1e-15, atol=0)
    assert np.allclose(logs, np.log(exps), rtol=1e-15, atol=0)
    assert exps[x == 0].tolist() == [1.0] * np.sum(x == 0)
    far, nothing = np.array([-np.inf, -701.0, -1e6]), np.full(3, np.nan)
    exp_and_log(far, nothing, np.empty(3))
    assert nothing.tolist() == [0.0] * 3


# --- trellises of any numbers -------------------------------------------------------------------------------


class Scored(NamedTuple):
    """The scores of one sentence as a kernel has them: float32, with rows of the stride."""

    U: np.ndarray
    E: np.ndarray
    S: np.ndarray


class Tables:
    """All marginals by the kernel, without the places after the last state, which must be 0."""

    def __init__(self, trellis: Scored, order: int, H: int) -> None:
        n, W = trellis.U.shape
        # an attribute on pairs or triples, though no token has it, gives each token edges of its own
        sizes = (0, int(len(trellis.E) > 1), int(len(trellis.S) > 1))
        everything = frozenset(range(H))
        case = Case(Model(order, H), tuple(range(H)), sizes, [[Token()] * n], [[everything] * n], [1.0])
        states, pairs, triples = np.full((n, W), np.nan), np.zeros((n, H, W)), np.zeros((n, H, H, W))
        chain = chain_of(case)
        workspace = make_sum_workspace(chain, data_of(case), both=True)
        self.log_z = tables_of(chain, workspace, *trellis, states, pairs, triples)
        assert not states[:, H:].any()
        assert not pairs[..., H:].any()
        assert not triples[..., H:].any()
        self.of_size = {1: states[:, :H], 2: pairs[..., :H], 3: triples[..., :H]}


def random_trellis(
    rng: np.random.Generator, order: int, n: int, H: int, scale: float, forbid: float, several: tuple[bool, bool]
) -> tuple[Scored, Scores]:
    """A trellis of float32 normals with a share of forbidden states and edges, and the same for the twin."""
    W = stride_of(H)

    def table(*shape: int) -> np.ndarray:
        made = np.full((*shape, W), PAD, np.float32)
        made[..., :H] = rng.normal(size=(*shape, H)) * scale
        made[..., :H][rng.random((*shape, H)) < forbid] = -np.inf
        return made

    U = table(n)
    E = table(n if several[0] and order >= 1 else 1, H if order >= 1 else 0)
    S = table(n if several[1] and order >= 2 else 1, H if order >= 2 else 0, H)
    every = [np.zeros((n, *(H,) * k)) for k in (1, 2, 3)]
    for whole, part in zip(every, (U, E, S), strict=True):
        if part.size:
            whole[:] = part[..., :H]
    return Scored(U, E, S), Scores(order, *every)


@st.composite
def trellises(draw: st.DrawFn) -> tuple[Scored, Scores]:
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    scale = draw(st.sampled_from([0.0, 1.0, 30.0, 1e4]))
    forbid = draw(st.sampled_from([0.0, 0.2, 0.6]))
    several = draw(st.tuples(st.booleans(), st.booleans()))
    order, n, H = draw(st.integers(0, 2)), draw(st.integers(1, 4)), draw(st.integers(1, 4))
    return random_trellis(rng, order, n, H, scale, forbid, several)


@pytest.mark.jit
@few(3)
@given(trellises())
def test_all_marginals_against_all_paths(drawn: tuple[Scored, Scores]) -> None:
    trellis, scores = drawn
    n, H = scores.U.shape
    ours, twin = Tables(trellis, scores.order, H), scores.all_paths()
    assert ours.log_z == pytest.approx(twin.log_z, rel=1e-12, abs=1e-10)
    if twin.log_z == -math.inf:
        assert not ours.of_size[1].any()
        return
    for size in range(1, scores.order + 2):
        for i in range(size - 1, n):
            expected = twin.of_part(i, size)
            table = ours.of_size[size][i]
            assert table.sum() == pytest.approx(1.0, abs=1e-12)
            for states in np.ndindex((H,) * size):
                assert table[states] == pytest.approx(expected.get(states, 0.0), rel=1e-7, abs=1e-12)


# n, H, scale, forbid
LONG = [(2000, 3, 1.0, 0.0), (2000, 5, 20.0, 0.3), (2000, 9, 1e4, 0.0), (2000, 6, 1e4, 0.4), (5000, 2, 1e4, 0.1)]


@pytest.mark.jit
@pytest.mark.parametrize("order", [0, 1, 2])
@pytest.mark.parametrize("several", [False, True])
@pytest.mark.parametrize(("n", "H", "scale", "forbid"), LONG)
def test_two_thousand_tokens_against_logarithms(
    order: int, several: bool, n: int, H: int, scale: float, forbid: float
) -> None:
    rng = np.random.default_rng([order, several, n, H])
    trellis, scores = random_trellis(rng, order, n, H, scale, 0.0, (several, several))
    if forbid:  # never the first state, so that a path is left
        for table in (trellis.U, scores.U):
            table[:, 1:H][np.random.default_rng(n).random((n, H - 1)) < forbid] = -np.inf
    ours, twin = Tables(trellis, order, H), by_logarithms(scores)
    assert twin.log_z > -math.inf
    assert ours.log_z == pytest.approx(twin.log_z, rel=1e-8)
    assert np.allclose(ours.of_size[1].sum(axis=1), 1.0, atol=1e-12)
    # the logarithms of the twin are large numbers, so it is the twin that is only good to about 1e-7
    assert np.allclose(ours.of_size[1], np.exp(twin.states), rtol=1e-5, atol=1e-9)


@pytest.mark.jit
@pytest.mark.parametrize("order", [1, 2])
def test_a_thousand_steps_over_the_worst_edge(order: int) -> None:
    """State 1 scores 10,000 more at each token, but it is a dead end: exp(-10,000) is 0 in float64."""
    n = 1000
    trellis, _ = random_trellis(np.random.default_rng(1), order, n, 2, 0.0, 0.0, (False, False))
    trellis.U[:, 1] = 1e4
    trellis.U[n - 1, 1] = -np.inf
    trellis.E[0] = [[-1e4, -1e4], [-np.inf, 1e4]]
    ours = Tables(trellis, order, 2)
    assert ours.log_z == -1e4 * (n - 1)
    assert (ours.of_size[1][:, 0] == 1.0).all()
    assert (ours.of_size[2][1:, 0, 0] == 1.0).all()


def test_the_two_twins_agree() -> None:
    rng = np.random.default_rng(3)
    for order in (0, 1, 2):
        for n in (1, 2, 3, 5):
            _, scores = random_trellis(rng, order, n, 3, 2.0, 0.1, (True, True))
            listed, logs = scores.all_paths(), by_logarithms(scores)
            assert logs.log_z == pytest.approx(listed.log_z, abs=1e-10)
            for i in range(n if listed.probability else 0):
                expected = listed.of_part(i, 1)
                assert np.exp(logs.states[i]) == pytest.approx([expected.get((h,), 0.0) for h in range(3)], abs=1e-10)


@pytest.mark.jit
@pytest.mark.parametrize("H", [7, 8, 9, 17, 24])
@pytest.mark.parametrize("order", [1, 2])
def test_state_counts_on_both_sides_of_the_stride(order: int, H: int) -> None:
    trellis, scores = random_trellis(np.random.default_rng(H), order, 6, H, 3.0, 0.1, (True, False))
    ours, twin = Tables(trellis, order, H), by_logarithms(scores)
    assert ours.log_z == pytest.approx(twin.log_z, rel=1e-12)
    assert np.allclose(ours.of_size[1], np.exp(twin.states), atol=1e-10)


# --- corpora ------------------------------------------------------------------------------------------------


def twins_of(case: Case, restricted: bool) -> list[Listed]:
    """All paths of each sentence."""
    masks = [case.allowed(s) if restricted else None for s in range(len(case.sentences))]
    return [all_paths(case.model, sentence, mask) for sentence, mask in zip(case.sentences, masks, strict=True)]


def log_z_of(chain: Chain, data: Data, restricted: bool) -> np.ndarray:
    log_z = np.full(data.offset.size - 1, np.nan)
    log_partitions(chain, data, make_sum_workspace(chain, data), log_z, restricted)
    return log_z


@few(2)
@given(cases(latent=True))
def test_log_z_of_a_corpus(case: Case) -> None:
    chain, data = chain_of(case), data_of(case)
    free, masked = log_z_of(chain, data, False), log_z_of(chain, data, True)
    assert free == pytest.approx([twin.log_z for twin in twins_of(case, False)], rel=1e-9, abs=1e-9)
    assert masked == pytest.approx([twin.log_z for twin in twins_of(case, True)], rel=1e-9, abs=1e-9)
    assert (masked <= free + 1e-9).all()


def decode_marginals(case: Case, out: np.ndarray, confidence: np.ndarray, log_z: np.ndarray, restricted: bool) -> None:
    chain, data = chain_of(case), data_of(case)
    decode_marginal(chain, data, make_sum_workspace(chain, data, both=True), out, confidence, log_z, restricted)


@few(3)
@given(cases(latent=True), st.booleans())
def test_the_most_probable_label_of_each_token(case: Case, restricted: bool) -> None:
    data = data_of(case)
    out, confidence = np.full(data.known.size, -1, np.int32), np.full(data.known.size, np.nan)
    log_z = np.full(len(case.sentences), np.nan)
    decode_marginals(case, out, confidence, log_z, restricted)
    for s, twin in enumerate(twins_of(case, restricted)):
        assert log_z[s] == pytest.approx(twin.log_z, rel=1e-9, abs=1e-9)
        for i in range(len(case.sentences[s])):
            masses = np.zeros(case.n_labels)
            for (h,), p in twin.of_part(i, 1).items():
                masses[case.label_of[h]] += p
            at = data.offset[s] + i
            assert confidence[at] == pytest.approx(masses.max(), abs=1e-9)
            assert out[at] == np.flatnonzero(masses >= masses.max() - 1e-10)[0]


@pytest.mark.parametrize("order", [0, 1, 2])
def test_the_label_of_most_states_wins_where_all_states_are_alike(order: int) -> None:
    """One path is no better than another, but label 1 has two of the three states."""
    sentences, everything = [[Token()] * 3, [Token()]], frozenset({0, 1})
    case = Case(Model(order, 3), (0, 1, 1), (0, 0, 0), sentences, [[everything] * 3, [everything]], [1.0] * 2)
    out, confidence, log_z = np.zeros(4, np.int32), np.zeros(4), np.zeros(2)
    decode_marginals(case, out, confidence, log_z, False)
    assert out.tolist() == [1] * 4
    assert confidence == pytest.approx([2 / 3] * 4)
    assert log_z == pytest.approx([3 * math.log(3), math.log(3)])


@pytest.mark.parametrize("order", [0, 1, 2])
def test_ties_go_to_the_smaller_label(order: int) -> None:
    """Ten labels of one state each, all alike, and what is known leaves 3, 5 and 7."""
    known = [[frozenset({3, 5, 7})] * 20]
    case = Case(Model(order, 10), tuple(range(10)), (0, 0, 0), [[Token()] * 20], known, [1.0])
    out, confidence, log_z = np.zeros(20, np.int32), np.zeros(20), np.zeros(1)
    decode_marginals(case, out, confidence, log_z, True)
    assert set(out.tolist()) == {3}
    assert confidence == pytest.approx([1 / 3] * 20)


def test_no_path_at_all() -> None:
    nothing = frozenset(("pair", g, h) for g in range(2) for h in range(2))
    known = [[frozenset({0, 1})] * n for n in (3, 1)]
    for order in (1, 2):
        model = Model(order, 2, {("bias", 1): 2.0}, nothing)
        case = Case(model, (0, 1), (0, 0, 0), [[Token()] * 3, [Token()]], known, [1.0] * 2)
        out, confidence, log_z = np.full(4, -1, np.int32), np.full(4, np.nan), np.zeros(2)
        decode_marginals(case, out, confidence, log_z, False)
        assert out.tolist() == [0, 0, 0, 1]
        assert confidence == pytest.approx([0, 0, 0, 1 / (1 + math.exp(-2))])
        assert log_z == pytest.approx([-math.inf, math.log(1 + math.exp(2))])


def test_the_sentences_of_a_corpus_do_not_disturb_each_other() -> None:
    rng = np.random.default_rng(11)
    for order in (0, 1, 2):
        sizes = (3, 2 if order else 0, 2 if order == 2 else 0)
        model = random_model(rng, order, 4, sizes, "spread")
        sentences = [random_sentence(rng, n, sizes, valued=True) for n in (4, 1, 6, 2, 1, 3)]
        known = [[frozenset({0, 1})] * len(sentence) for sentence in sentences]
        together = Case(model, (0, 0, 1, 1), sizes, sentences, known, [1.0] * 6)
        alone = [Case(model, (0, 0, 1, 1), sizes, [one], [k], [1.0]) for one, k in zip(sentences, known, strict=True)]
        separately = [log_z_of(chain_of(case), data_of(case), False)[0] for case in alone]
        assert log_z_of(chain_of(together), data_of(together), False).tolist() == separately
