"""The most probable label sequence, with proof, against the sums over all latent paths."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
import pytest
from chain_arrays import Case, chain_of, data_of, decoded
from hypothesis import given
from hypothesis import strategies as st
from naive_chain import Model, Path, Token, path_score
from naive_forward import all_paths
from strategies import cases, few, random_model, random_sentence

from palmette.kernels.chain.exact import ExactWorkspace, decode_exact, make_exact_workspace, start_list, take_best
from palmette.kernels.chain.forms import Chain, Data
from palmette.kernels.chain.forward_backward import scored
from palmette.kernels.core.compile import kernel


class Answer(NamedTuple):
    labels: Path
    proven: bool
    probability: float


def answers(case: Case, cap: int = 10_000, restricted: bool = False) -> list[Answer]:
    data = data_of(case)
    out, proven = np.full(data.known.size, -1, np.int32), np.zeros(len(case.sentences), np.bool_)
    probability = np.full(len(case.sentences), np.nan)
    chain = chain_of(case)
    decode_exact(chain, data, make_exact_workspace(chain, data, cap), out, proven, probability, restricted)
    return [
        Answer(tuple(out[lo:hi].tolist()), bool(sure), float(p))
        for lo, hi, sure, p in zip(data.offset[:-1], data.offset[1:], proven, probability, strict=True)
    ]


def masses_of(case: Case, s: int, restricted: bool) -> dict[Path, float]:
    """How probable each label sequence of a sentence is."""
    mask = case.allowed(s) if restricted else None
    return all_paths(case.model, case.sentences[s], mask).of_labels(case.label_of)


def free_case(model: Model, label_of: tuple[int, ...], *lengths: int) -> Case:
    """Sentences without attributes, of which nothing is known."""
    everything = frozenset(label_of)
    sentences = [[Token()] * n for n in lengths]
    return Case(model, label_of, (0, 0, 0), sentences, [[everything] * n for n in lengths], [1.0] * len(lengths))


# --- against the list of all paths --------------------------------------------------------------------------


@few(4)
@given(cases(max_states=5, latent=True), st.booleans())
def test_the_best_label_sequence_of_all(case: Case, restricted: bool) -> None:
    for s, answer in enumerate(answers(case, restricted=restricted)):
        masses = masses_of(case, s, restricted)
        if not masses:
            assert answer == Answer((0,) * len(case.sentences[s]), False, 0.0)
            continue
        assert answer.proven
        assert answer.probability == pytest.approx(max(masses.values()), rel=1e-8)
        assert masses[answer.labels] == pytest.approx(answer.probability, rel=1e-8)


@few(3)
@given(cases(max_states=5, latent=True), st.booleans(), st.sampled_from([1, 2, 3, 5, 20]))
def test_with_a_cap_the_probability_is_right_and_a_proof_is_a_proof(case: Case, restricted: bool, cap: int) -> None:
    for s, answer in enumerate(answers(case, cap, restricted)):
        masses = masses_of(case, s, restricted)
        assert answer.probability == pytest.approx(masses.get(answer.labels, 0.0), rel=1e-8)
        if answer.proven:
            assert answer.probability == pytest.approx(max(masses.values()), rel=1e-8)


@few(2)
@given(cases(max_states=4, latent=True))
def test_one_path_gives_the_labels_of_the_best_path(case: Case) -> None:
    """The first path is that of Viterbi, ties included."""
    best = decoded(chain_of(case), data_of(case))
    for (score, path), answer in zip(best, answers(case, cap=1), strict=True):
        if score > -math.inf:
            assert answer.labels == tuple(case.label_of[h] for h in path)


@few(2)
@given(cases())
def test_with_one_state_a_label_the_best_path_proves_itself(case: Case) -> None:
    best = decoded(chain_of(case), data_of(case))
    for (score, path), answer in zip(best, answers(case, cap=1), strict=True):
        if score > -math.inf:
            assert (answer.labels, answer.proven) == (path, True)


@pytest.mark.parametrize("order", [1, 2])
@pytest.mark.parametrize(("n_states", "n_labels"), [(8, 4), (9, 3), (12, 2)])
def test_wider_rows(order: int, n_states: int, n_labels: int) -> None:
    rng = np.random.default_rng([order, n_states])
    sizes = (3, 1, 0)
    model = random_model(rng, order, n_states, sizes, "spread", forbid=0.2, escape=True)
    sentences = [random_sentence(rng, n, sizes) for n in (1, 2, 3, 3)]
    label_of = tuple(h // (n_states // n_labels) for h in range(n_states))
    known = [[frozenset(range(n_labels))] * len(sentence) for sentence in sentences]
    case = Case(model, label_of, sizes, sentences, known, [1.0] * 4)
    for s, answer in enumerate(answers(case)):
        masses = masses_of(case, s, False)
        assert answer.proven
        assert answer.labels == max(masses, key=masses.__getitem__)


# --- the list of paths --------------------------------------------------------------------------------------


@kernel
def list_paths(m: Chain, x: Data, workspace: ExactWorkspace, paths: np.ndarray, scores: np.ndarray) -> int:
    """The best paths of the only sentence, best first, into paths i32[cap, n] and scores f64[cap]; how many."""
    T, w, r, q = workspace
    n = scored(T, m, x, 0, w, False)
    start_list(T, m, n, w.V, r, q)
    count = 0
    while q.size[0] > 0 and count < scores.size:
        scores[count] = take_best(T, m, n, r, q, count)
        for i in range(n):
            paths[count, i] = r.path[i]
        count += 1
    return count


@pytest.mark.jit
@few(3)
@given(cases(max_states=4, max_tokens=5), st.sampled_from([1, 2, 7, 40, 2000]))
def test_paths_come_best_first_and_once(case: Case, cap: int) -> None:
    """All of them when the cap is above their number; the queue is pruned when it is below."""
    sentence = case.sentences[0]
    one = case._replace(sentences=[sentence], known=case.known[:1], weights=[1.0])
    paths, scores = np.full((cap, len(sentence)), -1, np.int32), np.full(cap, np.nan)
    chain, data = chain_of(one), data_of(one)
    count = list_paths(chain, data, make_exact_workspace(chain, data, scores.size), paths, scores)
    expected = {path: path_score(case.model, sentence, path) for path in all_paths(case.model, sentence).probability}
    found = [tuple(path) for path in paths[:count].tolist()]
    assert len(set(found)) == count == min(cap, len(expected))
    assert scores[:count].tolist() == sorted(expected.values(), reverse=True)[:count]
    assert scores[:count].tolist() == [expected[path] for path in found]


# --- by hand ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("order", [0, 1, 2])
@pytest.mark.parametrize("n", [1, 2, 5])
def test_many_small_paths_beat_the_best_one(order: int, n: int) -> None:
    """Label 0 has the best state (weight 3), label 1 two states of weight 2: 3^n against 4^n."""
    model = Model(order, 3, {("bias", 0): math.log(3), ("bias", 1): math.log(2), ("bias", 2): math.log(2)})
    case = free_case(model, (0, 1, 1), n)
    ((_, path),) = decoded(chain_of(case), data_of(case))
    assert path == (0,) * n
    (answer,) = answers(case)
    assert (answer.labels, answer.proven) == ((1,) * n, True)
    assert answer.probability == pytest.approx((4 / 7) ** n)


@pytest.mark.parametrize("order", [0, 1, 2])
def test_as_much_as_all_that_is_left_and_not_less(order: int) -> None:
    """Label 0 has one state of weight 45, label 1 eleven states of weight 5: 45 of 100 is no proof, 55 is one."""
    weights = {("bias", h): math.log(45 if h == 0 else 5) for h in range(12)}
    case = free_case(Model(order, 12, weights), (0, *(1,) * 11), 1)
    first, second = answers(case, cap=1)[0], answers(case, cap=2)[0]
    assert (first.labels, first.proven) == ((0,), False)
    assert (second.labels, second.proven) == ((1,), True)
    assert [first.probability, second.probability] == pytest.approx([0.45, 0.55])


def test_one_label_is_certain() -> None:
    case = free_case(Model(1, 3, {("pair", 0, 1): 2.0}), (0, 0, 0), 1, 30)
    for answer, n in zip(answers(case, cap=1), (1, 30), strict=True):
        assert (answer.labels, answer.proven) == ((0,) * n, True)
        assert answer.probability == pytest.approx(1.0)


@pytest.mark.parametrize("order", [0, 1, 2])
def test_where_all_is_alike_the_first_path_is_as_good_as_any(order: int) -> None:
    """3^40 label sequences are equally probable: the first one is proven at once."""
    (answer,) = answers(free_case(Model(order, 6), (0, 0, 1, 1, 2, 2), 40), cap=1)
    assert (answer.labels, answer.proven) == ((0,) * 40, True)
    assert answer.probability == pytest.approx(3.0**-40)


def test_the_cap_is_said() -> None:
    """Uneven latent states and a flat model: no proof within a few paths."""
    model = Model(1, 4, {("bias", 0): 0.5, ("bias", 2): 0.25, ("pair", 1, 3): 0.5, ("pair", 0, 2): 0.25})
    case = free_case(model, (0, 0, 1, 1), 6)
    masses = masses_of(case, 0, False)
    few_paths, all_of_them = answers(case, cap=5)[0], answers(case, cap=4**6)[0]
    assert not few_paths.proven
    assert few_paths.probability == pytest.approx(masses[few_paths.labels])
    assert all_of_them.proven
    assert all_of_them.labels == max(masses, key=masses.__getitem__)


def test_a_sure_sentence_is_proven_by_the_mass_that_is_left() -> None:
    """Twenty tokens, a million latent paths a label sequence, and one of these sequences has nearly all the mass."""
    model = Model(1, 4, {("bias", 0): 6.0, ("bias", 1): 5.5, ("pair", 0, 1): 0.5})
    (answer,) = answers(free_case(model, (0, 0, 1, 1), 20), cap=2)
    assert (answer.labels, answer.proven) == ((0,) * 20, True)
    assert answer.probability > 0.9


def test_a_thousand_tokens_within_bounded_memory() -> None:
    """Nothing can be proven here; the queue is pruned again and again, and every answer is at least as good as the
    labels of the best path."""
    rng = np.random.default_rng(5)
    sizes = (3, 0, 0)
    model = random_model(rng, 1, 6, sizes, "spread", forbid=0.2, escape=True)
    sentences = [random_sentence(rng, n, sizes) for n in (1000, 3)]
    known = [[frozenset({0, 1, 2})] * len(sentence) for sentence in sentences]
    case = Case(model, (0, 0, 1, 1, 2, 2), sizes, sentences, known, [1.0] * 2)
    one, many = answers(case, cap=1), answers(case, cap=50)
    assert not many[0].proven
    assert many[0].probability >= one[0].probability
    assert many[1].probability == pytest.approx(max(masses_of(case, 1, False).values()))


def test_forbidden_pairs_of_states_are_never_summed() -> None:
    """Label 1's second state can follow nothing: its mass is that of the other one alone."""
    forbidden = frozenset(("pair", g, 2) for g in range(3)) | {("start", 2)}
    model = Model(1, 3, {("bias", 2): 9.0, ("bias", 0): 0.5}, forbidden)
    (answer,) = answers(free_case(model, (0, 1, 1), 4))
    assert answer.labels == (0,) * 4
    assert answer.probability == pytest.approx((math.exp(0.5) / (math.exp(0.5) + 1)) ** 4)
