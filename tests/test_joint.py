"""The joint search of views against the best of all chunkings."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from classify_arrays import NAMES, Case, case, every_feature, random_sentences, to_arrays
from hypothesis import given
from hypothesis import strategies as st
from naive_classify import together, vote
from strategies import few

from palmette import Classifier
from palmette.classification.kernels.forms import JOINT, Decoding, make_workspace
from palmette.classification.kernels.train import decide
from palmette.data import model_file
from palmette.datasets import load_grammaticality
from palmette.errors import UsageError

Decided = tuple[np.ndarray, list[list[tuple[str, ...]]]]


def decided(made: Case, weights: dict) -> Decided:
    """Scores and structures of all views of all sentences."""
    n = len(made.data)
    scores, states = np.zeros(n), np.zeros((len(made.views), int(made.x.offset[-1])), np.int16)
    workspace = make_workspace(made.tables, 4, JOINT)
    decide(
        made.tables, to_arrays(made, weights), made.x, np.arange(n), Decoding(JOINT, False), workspace, scores, states
    )
    found = [
        [tuple(v.tags[h] for h in row) for v, row in zip(made.views, states[:, a:b].tolist(), strict=True)]
        for a, b in pairwise(made.x.offset.tolist())
    ]
    return scores, found


@st.composite
def joint_cases(draw: st.DrawFn) -> tuple[Case, dict, bool]:
    """Two to five views and weights that are multiples of 1/64, so that every sum is exact."""
    names = draw(st.lists(st.sampled_from(NAMES), min_size=2, max_size=5, unique=True))
    types = draw(st.sampled_from([("",), ("X", "Y")]))
    pairs = draw(st.booleans())
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    made = case("chunks", names, types, random_sentences(rng, 3, 4 if types == ("",) else 3), pairs)
    scale = draw(st.sampled_from([0, 1, 64]))
    return made, {f: int(rng.integers(-64, 65)) * scale / 64 / 64 for f in every_feature(made.views, pairs)}, pairs


@given(joint_cases())
@few()
def test_the_exact_search_finds_the_best_of_all(drawn: tuple[Case, dict, bool]) -> None:
    made, weights, pairs = drawn
    scores, structures = decided(made, weights)
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


def test_a_compromise_that_no_view_has_alone() -> None:
    """One view wants a chunk at the first token, the other at the second; both like two tokens a little less."""
    made = case("chunks", ["iob2", "ioe2"], ("",), [[[0], [1]]], True)
    weights = {("iob2", "one", 0, "B"): 3.0, ("iob2", "one", 1, "I"): -1.0, ("iob2", "one", 1, "B"): -9.0}
    weights |= {("ioe2", "one", 1, "E"): 3.0, ("ioe2", "one", 0, "I"): -1.0, ("ioe2", "one", 0, "E"): -9.0}
    scores, structures = decided(made, weights)
    assert structures[0] == [("B", "I"), ("I", "E")]
    assert scores[0] == 4.0


def test_training_and_use() -> None:
    X, y = load_grammaticality("train")
    X, y = X[:160], y[:160]
    classifier = Classifier(views="iob2,ioe1,o+c", combine="joint", types=2, passes=4).fit(X, y)
    assert classifier.score(X, y) > 0.8
    for tags in classifier.structures(X[:20]):
        first, *others = [vote([own]) for own in tags.values()]
        assert all(own == first for own in others)


def test_a_single_view_has_nothing_to_agree_with() -> None:
    with pytest.raises(UsageError, match="joint needs two chunk views"):
        Classifier(combine="joint").fit([["a"], ["b"]], ["1", "0"])


def test_files_with_dual_decomposition_are_searched_exactly(tmp_path: Path) -> None:
    """It was a way to combine views, for the same maximum."""
    X, y = load_grammaticality("train")
    classifier = Classifier(views="iob2,ioe1", combine="joint", types=1, passes=1).fit(X[:40], y[:40])
    classifier.save(tmp_path / "joint.palm")
    arrays, meta = model_file.load(tmp_path / "joint.palm")
    meta["settings"] |= {"combine": "dual", "dual_rounds": 50}
    model_file.save(tmp_path / "dual.palm", arrays, meta)
    found = Classifier.load(tmp_path / "dual.palm")
    assert found.combine == "joint"
    assert np.array_equal(found.decision_function(X[:40]), classifier.decision_function(X[:40]))
