"""The joint searches of views, exact and by dual decomposition, against the best of all chunkings."""

from __future__ import annotations

from collections import defaultdict
from itertools import pairwise

import numpy as np
import pytest
from classify_arrays import NAMES, Case, case, every_feature, from_arrays, random_sentences, to_arrays
from hypothesis import given
from hypothesis import strategies as st
from naive_classify import Twin, dot, length, together
from strategies import few

from palmette import Classifier, load_grammaticality
from palmette.errors import UsageError
from palmette.kernels.core.team import make_team
from palmette.kernels.latent.forms import (
    DUAL,
    JOINT,
    PROVEN,
    Decoding,
    Labelled,
    Training,
    make_batch,
    make_tally,
    make_workspace,
)
from palmette.kernels.latent.train import decide, train_latent
from palmette.kernels.learning.rule import HARD, PA, Rule
from palmette.options.declare import OptionError
from palmette.structures.latent.weights import new_store, no_rival

ROUNDS = 60
Decided = tuple[np.ndarray, list[list[tuple[str, ...]]], np.ndarray]


def decided(made: Case, weights: dict, rounds: int = ROUNDS, normalise: bool = False, combine: int = DUAL) -> Decided:
    """Scores, structures of all views and certificates of all sentences."""
    n = len(made.data)
    scores, states = np.zeros(n), np.zeros((len(made.views), int(made.x.offset[-1])), np.int16)
    certified, how = np.zeros(n, np.bool_), Decoding(combine, normalise, rounds)
    workspace = make_workspace(made.tables, 4, combine)
    arrays = to_arrays(made, weights)
    decide(made.tables, arrays, made.x, np.arange(n), how, workspace, scores, states, certified)
    found = [
        [tuple(v.tags[h] for h in row) for v, row in zip(made.views, states[:, a:b].tolist(), strict=True)]
        for a, b in pairwise(made.x.offset.tolist())
    ]
    return scores, found, certified


@st.composite
def dual_cases(draw: st.DrawFn) -> tuple[Case, dict, bool]:
    """Two to five views and weights that are multiples of 1/64, so that every sum is exact."""
    names = draw(st.lists(st.sampled_from(NAMES), min_size=2, max_size=5, unique=True))
    types = draw(st.sampled_from([("",), ("X", "Y")]))
    pairs = draw(st.booleans())
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    made = case("chunks", names, types, random_sentences(rng, 3, 4 if types == ("",) else 3), pairs)
    scale = draw(st.sampled_from([0, 1, 64]))
    return made, {f: int(rng.integers(-64, 65)) * scale / 64 / 64 for f in every_feature(made.views, pairs)}, pairs


@given(dual_cases())
@few()
def test_a_certified_chunking_is_the_best_of_all(drawn: tuple[Case, dict, bool]) -> None:
    made, weights, pairs = drawn
    scores, structures, certified = decided(made, weights)
    for s, sentence in enumerate(made.data):
        ranked = together(made.views, sentence, weights, pairs)
        assert structures[s] in [own for _, own in ranked]  # all views have the same chunks
        own = next(score for score, found in ranked if found == structures[s])
        assert scores[s] == pytest.approx(own, abs=1e-5)
        if certified[s]:
            assert own == pytest.approx(ranked[0][0], abs=1e-4)
        else:
            assert own <= ranked[0][0] + 1e-5


@given(dual_cases())
@few()
def test_the_exact_search_finds_the_best_of_all(drawn: tuple[Case, dict, bool]) -> None:
    made, weights, pairs = drawn
    scores, structures, _ = decided(made, weights, combine=JOINT)
    for s, sentence in enumerate(made.data):
        ranked = together(made.views, sentence, weights, pairs)
        own = next(score for score, found in ranked if found == structures[s])
        assert own == pytest.approx(ranked[0][0], abs=1e-6)
        assert scores[s] == pytest.approx(own, abs=1e-5)


def test_roles_are_all_positions_that_chunkings_have() -> None:
    """Each chunking of up to four tokens is a sequence of roles that may follow each other, and no other one is."""
    made = case("chunks", ["iob1", "ioe1", "o+c"], ("X", "Y"), [[[0]]], True)
    product = make_workspace(made.tables, 4, JOINT).product
    allowed = np.isfinite(product.follow[:, : product.state.shape[1]])
    first, last = np.isfinite(product.border[:, : product.state.shape[1]])
    for n in range(1, 5):
        paths = last.astype(np.int64)
        for _ in range(n - 1):
            paths = allowed @ paths
        assert int(paths[first].sum()) == len(together(made.views, [[0]] * n, {}, True))


def test_most_tiny_sentences_are_certified() -> None:
    """And more rounds certify no fewer; without multipliers, in a single round, few are."""
    rng = np.random.default_rng(3)
    made = case("chunks", ["iob2", "ioe1", "o+c"], ("",), random_sentences(rng, 200, 4), True)
    weights = {f: int(rng.integers(-64, 65)) / 64 for f in every_feature(made.views, True)}
    shares = [decided(made, weights, rounds)[2].mean() for rounds in (1, 5, 60)]
    assert shares[0] < 0.5
    assert shares[0] < shares[1] <= shares[2]
    assert shares[2] > 0.7


def test_views_that_agree_need_one_round() -> None:
    made = case("chunks", ["iob2", "ioe2"], ("",), [[[0], [1], [2]]], True)
    weights = {("iob2", "one", 0, "B"): 2.0, ("iob2", "one", 1, "I"): 1.0}
    weights |= {("ioe2", "one", 0, "I"): 1.0, ("ioe2", "one", 1, "E"): 2.0}
    scores, structures, certified = decided(made, weights, 1)
    assert structures[0] == [("B", "I", "O"), ("I", "E", "O")]
    assert certified[0]
    assert scores[0] == 6.0


def test_a_compromise_that_no_view_has_alone() -> None:
    """One view wants a chunk at the first token, the other at the second; both like two tokens a little less."""
    made = case("chunks", ["iob2", "ioe2"], ("",), [[[0], [1]]], True)
    weights = {("iob2", "one", 0, "B"): 3.0, ("iob2", "one", 1, "I"): -1.0, ("iob2", "one", 1, "B"): -9.0}
    weights |= {("ioe2", "one", 1, "E"): 3.0, ("ioe2", "one", 0, "I"): -1.0, ("ioe2", "one", 0, "E"): -9.0}
    scores, structures, certified = decided(made, weights)
    assert structures[0] == [("B", "I"), ("I", "E")]
    assert certified[0]
    assert scores[0] == 4.0


def test_a_step_along_the_joint_structure() -> None:
    """PA on the features of the best joint structure, where it is certified and unique."""
    compared = 0
    for seed in range(20):
        rng = np.random.default_rng(seed)
        made = case("chunks", ["iob2", "ioe1", "o+c"], ("",), random_sentences(rng, 1, 3), True)
        start = {f: int(rng.integers(-64, 65)) / 64 for f in every_feature(made.views, True)}
        ranked = together(made.views, made.data[0], start, True)
        scores, structures, certified = decided(made, start, normalise=True)
        if not certified[0] or (len(ranked) > 1 and ranked[0][0] - ranked[1][0] < 1e-3):
            continue
        twin = Twin(made.views, "dual", True, weights=defaultdict(float, start))
        bag = twin.bag(made.data[0], ranked[0][1])
        assert structures[0] == ranked[0][1]
        assert scores[0] == pytest.approx(dot(start, bag) / length(bag), abs=1e-5)
        twin.learn_from(bag, 1)
        arrays = to_arrays(made, start)
        how = Training(Decoding(DUAL, True, ROUNDS), Rule(PA, variant=HARD), 1)
        tally = make_tally(made.tables, how, np.ones(2), no_rival(arrays), make_batch(made.tables, 1, 20), 60)
        data, workspace = Labelled(made.x, np.array([1], np.int8)), make_workspace(made.tables, 4, DUAL)
        train_latent(made.tables, arrays, data, new_store(0), np.arange(1), how, workspace, tally, make_team(1)[0])
        assert tally.counts[PROVEN] == 1
        for feature, value in from_arrays(made, arrays).items():
            assert value == pytest.approx(twin.weights[feature], abs=1e-4)
        compared += 1
    assert compared > 8


# --- as a way to combine views ------------------------------------------------------------------------------


@pytest.mark.parametrize("learner", ["pa", "lclr-variant"])
def test_training_and_use(learner: str) -> None:
    X, y = load_grammaticality("train")
    X, y = X[:160], y[:160]
    classifier = Classifier(
        views="iob2,ioe1,o+c", combine="dual", dual_rounds=10, types=1, passes=4, learner=learner
    ).fit(X, y)
    assert classifier.score(X, y) > 0.8
    shares = [row["figures"]["certified"] for row in classifier.training_log_]
    assert all(0 < share <= 1 for share in shares)
    certified = classifier.certified(X)
    assert certified.shape == (160,)
    assert 0 < certified.mean() < 1
    assert classifier.evaluate(X, y).certified == certified.mean()
    plain = Classifier(types=1, passes=1).fit(X, y)
    assert plain.certified(X).all()
    assert plain.evaluate(X, y).certified is None
    assert plain.training_log_[0]["figures"] == {}


def test_the_exact_joint_structure_in_training_and_use() -> None:
    X, y = load_grammaticality("train")
    X, y = X[:160], y[:160]
    exact, dual = (
        Classifier(views="iob2,ioe1,o+c", combine=combine, dual_rounds=300, types=2, passes=1).fit(X, y)
        for combine in ("joint", "dual")
    )
    assert exact.certified(X).all()
    chunks = {str(own) for own in exact.structures(X[:1])}
    assert len(chunks) == 1
    # With the same weights, certified structures score what exact ones do, and the others at most that.
    model = dual.model_
    found = dual.decision_function(X), dual.certified(X)
    tags = dual.structures(X)
    model.settings = model.settings.replace(combine="joint")
    best, exact_tags = dual.decision_function(X), dual.structures(X)
    same = [a == b for a, b in zip(tags, exact_tags, strict=True)]
    assert found[1].any()
    assert found[0][same] == pytest.approx(best[same], abs=1e-5)
    assert np.mean(np.array(same)[found[1]]) > 0.9


def test_a_single_view_has_nothing_to_agree_with() -> None:
    with pytest.raises(UsageError, match="dual needs two chunk views"):
        Classifier(combine="dual").fit([["a"], ["b"]], ["1", "0"])
    with pytest.raises(OptionError, match="dual_rounds"):
        Classifier(dual_rounds=0)._settings()
