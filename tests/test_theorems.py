"""The theorems of the latent perceptron, measured: known separators, their stretched copies, and mistakes that stay
within the bounds. All margins and lengths come from all paths, written out."""

from __future__ import annotations

import math
from dataclasses import replace
from itertools import count
from typing import NamedTuple

import numpy as np
import pytest
from chain_arrays import Case, chain_of, data_of
from naive_chain import Feature, Model, Path, Token, best_path, norm
from naive_margin import first_pass_bound, longest, plain_margin, right_and_wrong, stretched, stretched_length, widest
from strategies import every_feature

from palmette.kernels.chain.forms import make_trellis
from palmette.kernels.chain.max_recursion import margins
from palmette.structures import longest_features, mistakes_bound
from palmette.structures import norm as length_of
from palmette.training import PathLearning, shuffled

SEEDS = [1, 2, 3, 4]
COUNTS = [(2, 2), (3, 1), (1, 2), (2, 1, 2)]  # states of each label; fewer than 8 in all, so that rows have no gaps
SIZES = {0: (6, 0, 0), 1: (6, 2, 0), 2: (6, 2, 1)}


class TrainingData(NamedTuple):
    """Sentences with the labels that a known unit vector gives them, and how far it prefers these."""

    unit: Model
    sizes: tuple[int, int, int]
    sentences: list[list[Token]]
    golds: list[Path]

    @property
    def distances(self) -> list[float]:
        return [plain_margin(self.unit, s, gold) for s, gold in zip(self.sentences, self.golds, strict=True)]


def a_separator(rng: np.random.Generator, order: int, n_labels: int) -> Model:
    """An attribute prefers its own label by far; everything else says a little."""
    weights: dict[Feature, float] = {}
    for kind, features in every_feature(order, n_labels, SIZES[order]).items():
        for feature in features:
            if kind == "one":
                weights[feature] = 1.0 if feature[1] % n_labels == feature[2] else -1.0
            elif kind != "bias":
                weights[feature] = float(rng.uniform(-0.15, 0.15))
    length = norm(weights)
    return Model(order, n_labels, {feature: weight / length for feature, weight in weights.items()})


def a_sentence(rng: np.random.Generator, order: int) -> list[Token]:
    one, two, three = SIZES[order]

    def token(i: int) -> Token:
        pair = ((int(rng.integers(two)), 1.0),) if order >= 1 and i >= 1 and rng.random() < 0.5 else ()
        triple = ((int(rng.integers(three)), 1.0),) if order >= 2 and i >= 2 and rng.random() < 0.5 else ()
        return Token(((int(rng.integers(one)), 1.0),), pair, triple)

    return [token(i) for i in range(int(rng.integers(1, 4)))]


def separable(order: int, seed: int, n_labels: int = 2, n: int = 40, least: float = 0.1) -> TrainingData:
    """Sentences that a unit vector labels with a margin of at least `least`."""
    rng = np.random.default_rng([order, seed, n_labels])
    unit = a_separator(rng, order, n_labels)
    problem = TrainingData(unit, SIZES[order], [], [])
    while len(problem.sentences) < n:
        sentence = a_sentence(rng, order)
        gold = best_path(unit, sentence).path
        if plain_margin(unit, sentence, gold) >= least:
            problem.sentences.append(sentence)
            problem.golds.append(gold)
    return problem


def with_noise(problem: TrainingData, seed: int, n_wrong: int) -> TrainingData:
    """The same with a wrong label in some sentences, one token each."""
    rng = np.random.default_rng([seed, 99])
    golds = list(problem.golds)
    for s in rng.permutation(len(golds))[:n_wrong]:
        gold, i = list(golds[s]), int(rng.integers(len(golds[s])))
        gold[i] = (gold[i] + 1) % problem.unit.n_states
        golds[s] = tuple(gold)
    return problem._replace(golds=golds)


def case_of(problem: TrainingData, weights: dict[Feature, float], counts: tuple[int, ...]) -> Case:
    """The problem for the kernels, each label with its own number of states."""
    states_per_label, n_labels = max(counts), len(counts)
    H = states_per_label * n_labels
    gone = [h for h in range(H) if h % states_per_label >= counts[h // states_per_label]]
    ban: set[Feature] = {("start", h) for h in gone} | {("end", h) for h in gone}
    ban |= {("pair", *((g, h) if way else (h, g))) for g in range(H) for h in gone for way in (0, 1)}
    # Forbidden pairs need an order of 1; without transition weights it is an order 0 model all the same.
    order = max(problem.unit.order, 1 if gone else 0)
    model = Model(order, H, weights, frozenset(ban), transitions=problem.unit.order >= 1)
    known = [[frozenset([y]) for y in gold] for gold in problem.golds]
    label_of = tuple(h // states_per_label for h in range(H))
    return Case(model, label_of, problem.sizes, problem.sentences, known, [1.0] * len(known), states_per_label)


def plain(problem: TrainingData, weights: dict[Feature, float]) -> Case:
    return case_of(problem, weights, (1,) * problem.unit.n_states)


def measured_distances(case: Case) -> np.ndarray:
    """What the kernel finds: the worst right path minus the best wrong one, over the length of the weights."""
    chain, n = chain_of(case), len(case.sentences)
    right, worst, wrong = np.zeros(n), np.zeros(n), np.zeros(n)
    margins(chain, data_of(case), make_trellis(chain, data_of(case)), right, worst, wrong)
    assert (worst <= right).all()
    return (worst - wrong) / length_of(chain)


def mistakes(case: Case, seed: int, most_passes: int | None = None) -> list[int]:
    """Updates of each pass of a perceptron that starts at zero, until none is left or so many passes are done."""
    blank = case._replace(model=replace(case.model, weights={}))
    learning = PathLearning(chain_of(blank), data_of(blank))
    n = len(case.sentences)
    made = []
    for number in count(1):
        learning.begin_epoch(number)
        made.append(learning.learn(shuffled(seed, number, n)).updates)
        if made[-1] == 0 or len(made) == (most_passes or 10_000):
            return made
    raise AssertionError


# --- separable data -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("order", [0, 1, 2])
@pytest.mark.parametrize("n_labels", [2, 3])
def test_mistakes_of_the_plain_perceptron(order: int, seed: int, n_labels: int) -> None:
    """At most R^2 / d^2, which is at most 2 M^2 / d^2."""
    problem = separable(order, seed, n_labels)
    d = min(problem.distances)
    R, M = widest(problem.unit, problem.sentences, problem.golds), longest(problem.unit, problem.sentences)
    made = mistakes(plain(problem, {}), seed)
    assert made[-1] == 0
    assert 0 < sum(made) <= R * R / (d * d)
    assert math.sqrt(2) * M + 1e-9 >= R
    case = plain(problem, problem.unit.weights)
    found = measured_distances(case)
    assert found == pytest.approx(np.array(problem.distances), abs=1e-5)
    assert longest_features(chain_of(case), data_of(case)) == pytest.approx(M)
    bound, about = mistakes_bound(found, M)
    assert bound == pytest.approx(2 * M * M / (d * d), rel=1e-3)
    assert about == "all passes"


@pytest.mark.parametrize("counts", COUNTS)
@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("order", [0, 1, 2])
def test_the_stretched_separator_separates_latently(order: int, seed: int, counts: tuple[int, ...]) -> None:
    problem = separable(order, seed, len(counts))
    d, T = min(problem.distances), stretched_length(problem.unit.weights, counts)
    case = case_of(problem, stretched(problem.unit.weights, counts, max(counts)), counts)
    found = measured_distances(case)
    assert length_of(chain_of(case)) == pytest.approx(T, rel=1e-5)
    assert T > 1.05  # another length than that of a unit vector
    assert found.min() >= d / T - 1e-6
    assert found == pytest.approx(np.array(problem.distances) / T, abs=1e-5)


@pytest.mark.parametrize("counts", COUNTS)
@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("order", [0, 1, 2])
def test_mistakes_of_the_latent_perceptron(order: int, seed: int, counts: tuple[int, ...]) -> None:
    """From zero, at most 2 T^2 M^2 / d^2 of them; then it separates."""
    problem = separable(order, seed, len(counts))
    d, T = min(problem.distances), stretched_length(problem.unit.weights, counts)
    M = longest(problem.unit, problem.sentences)
    bound = 2 * T * T * M * M / (d * d)
    made = mistakes(case_of(problem, {}, counts), seed)
    assert made[-1] == 0
    assert 0 < sum(made) <= bound
    assert bound < 100 * sum(made)  # near enough that a wrong update rule would show


@pytest.mark.parametrize("tied_update", [0.0, 1.0])
@pytest.mark.parametrize("counts", COUNTS)
@pytest.mark.parametrize("order", [0, 1, 2])
def test_the_bound_by_a_separator_whose_states_differ(order: int, counts: tuple[int, ...], tied_update: float) -> None:
    """The states of a label have other weights, so that its paths have other scores: the worst of them counts."""
    separated = 0
    for seed in SEEDS:
        problem = separable(order, seed, len(counts))
        rng = np.random.default_rng([seed, 7])
        weights = stretched(problem.unit.weights, counts, max(counts))
        weights = {f: w + float(rng.uniform(-0.02, 0.02)) for f, w in weights.items()}
        case = case_of(problem, weights, counts)._replace(tied_update=tied_update)
        found = measured_distances(case)
        twin = [right_and_wrong(case.model, s, case.allowed(k)) for k, s in enumerate(case.sentences)]
        assert found == pytest.approx(np.array([(low - x) / norm(weights) for _, low, x in twin]), abs=1e-5)
        M = longest(problem.unit, problem.sentences)
        bound, about = mistakes_bound(found, M * math.sqrt(1 + tied_update))
        if found.min() > 0:
            separated += 1
            assert about == "all passes"
            assert bound is not None
            assert 0 < sum(mistakes(case, seed)) <= bound
        else:
            assert about == "the first pass"
    assert separated >= 2


def ring(n: int) -> Case:
    """Four sequences of labels 0 0 1 1 0 0 1 1 .., which begin at one of four places: the first token tells it. Four
    states that follow each other in a ring separate them by their best paths."""
    label_of = (0, 0, 1, 1)
    weights: dict[Feature, float] = {("one", p, p): 1.0 for p in range(4)}
    weights |= {("pair", p, (p + 1) % 4): 1.0 for p in range(4)}
    sentences = [[Token(((p if i == 0 else 4, 1.0),)) for i in range(n)] for p in range(4)]
    known = [[frozenset([label_of[(p + i) % 4]]) for i in range(n)] for p in range(4)]
    return Case(Model(1, 4, weights), label_of, (5, 0, 0), sentences, known, [1.0] * 4, 2)


def test_the_best_paths_bound_nothing() -> None:
    """All four are separated by their best paths, and a perceptron makes more mistakes than a bound from that."""
    case = ring(4)
    twin = [right_and_wrong(case.model, s, case.allowed(k)) for k, s in enumerate(case.sentences)]
    length, M = norm(case.model.weights), longest(case.model, case.sentences)
    relaxed = np.array([(best - wrong) / length for best, _, wrong in twin])
    assert relaxed.min() > 0
    assert sum(mistakes(case, 1, 400)) > 2 * M * M / relaxed.min() ** 2
    strict = measured_distances(case)
    assert strict.max() < 0
    assert mistakes_bound(strict, M)[1] == "the first pass"


# --- inseparable data ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("order", [0, 1, 2])
def test_mistakes_of_the_first_pass_on_inseparable_data(order: int, seed: int) -> None:
    problem = with_noise(separable(order, seed, n=600), seed, 8)
    distances, M = problem.distances, longest(problem.unit, problem.sentences)
    assert min(distances) < 0
    bound = first_pass_bound(distances, M)
    (made,) = mistakes(plain(problem, {}), seed, 1)
    assert 0 < made <= bound < 600  # of 600 sentences, so that it says something
    told, about = mistakes_bound(np.array(distances), M)
    assert told is not None
    assert bound * (1 - 1e-3) <= told <= bound * 1.02
    assert about == "the first pass"


@pytest.mark.parametrize("counts", [(2, 2), (3, 1)])
@pytest.mark.parametrize("order", [1, 2])
def test_the_same_for_latent_states(order: int, counts: tuple[int, ...]) -> None:
    """The stretched vector is the one that the bound is about."""
    for seed in SEEDS:
        problem = with_noise(separable(order, seed, n=600), seed, 4)
        case = case_of(problem, stretched(problem.unit.weights, counts, max(counts)), counts)
        found, M = measured_distances(case), longest(problem.unit, problem.sentences)
        told, _ = mistakes_bound(found, M)
        (made,) = mistakes(case, seed, 1)
        assert told is not None
        assert 0 < made <= told < 600


@pytest.mark.parametrize("seed", range(8))
def test_the_bound_of_any_margins(seed: int) -> None:
    rng = np.random.default_rng(seed)
    scale = 10.0 ** rng.integers(-3, 3)
    distances, M = rng.normal(0.2, 0.5, 50) * scale, float(rng.uniform(1, 30)) * scale
    assert distances.min() < 0
    told, _ = mistakes_bound(distances, M)
    slow = first_pass_bound(distances.tolist(), M)
    assert told is not None
    assert slow * (1 - 1e-2) <= told <= slow * 1.02


@pytest.mark.parametrize("scale", [1.0, 1e-4, 0.0])
def test_a_bound_is_hardly_above_the_number_of_sentences(scale: float) -> None:
    """Whatever the margins: for a large d what every sentence lacks is nearly d."""
    distances = np.array([0.3, -0.2, 0.1, -0.4, 0.2]) * scale
    told, _ = mistakes_bound(distances, 2.0)
    assert told is not None
    assert told <= 5 * 1.02


def test_bounds_that_cannot_be_told() -> None:
    assert mistakes_bound(np.array([0.5, -np.inf]), 2.0)[0] is None
    assert mistakes_bound(np.array([np.inf, np.inf]), 2.0)[0] in (None, 0.0)
    told, about = mistakes_bound(np.array([0.5, np.inf]), 2.0)
    assert told == pytest.approx(2 * 4 / 0.25)
    assert about == "all passes"
