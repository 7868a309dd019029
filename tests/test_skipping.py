"""Search that skips pairs of states against the full search: the same paths and scores, to the bit."""

from __future__ import annotations

import numpy as np
import pytest
from chain_arrays import Case, chain_of, column_corpus, data_of, features_of
from hypothesis import given
from hypothesis import strategies as st
from naive_chain import Model, Token
from strategies import cases, few

from palmette.kernels.chain import forms
from palmette.kernels.chain.batches import make_batch, new_counts
from palmette.kernels.chain.candidates import no_chunks
from palmette.kernels.chain.forms import Chain, Data, make_skips, make_trellis
from palmette.kernels.chain.train_paths import make_path_workspace, train_paths
from palmette.kernels.chain.viterbi import decode
from palmette.kernels.core.team import make_team
from palmette.kernels.learning.rule import PERCEPTRON, Rule
from palmette.structures import Shape, everything_allowed, new_chain


def found(chain: Chain, data: Data, skipping: bool, restricted: bool) -> tuple[bytes, bytes]:
    """The paths and the scores, to the bit."""
    trellis = make_trellis(chain, data)
    assert trellis.E.shape[0] == 1
    trellis = trellis._replace(skips=make_skips(chain.forbid) if skipping else forms.no_skips())
    states, scores = np.zeros(data.known.size, np.int32), np.zeros(data.offset.size - 1)
    decode(chain, data, trellis, states, scores, restricted)
    return states.tobytes(), scores.tobytes()


SHARED = cases(latent=True, of_order=1, max_states=6).filter(lambda case: case.sizes[1] == 0)


@few(3)
@given(SHARED, st.booleans())
def test_skipping_finds_what_the_full_search_finds(case: Case, restricted: bool) -> None:
    chain, data = chain_of(case), data_of(case)
    full = found(chain, data, skipping=False, restricted=restricted)
    assert found(chain, data, skipping=True, restricted=restricted) == full


def random_chain(rng: np.random.Generator, H: int, ties: bool, forbid: np.ndarray) -> tuple[Chain, Data]:
    """Sparse transitions, 30 attributes with a few weights each, sentences of up to 70 tokens."""
    sentences = [[[f"w{k}", "-"] for k in rng.integers(0, 30, n)] for n in (1, 2, 9, 70)]
    labels = [[f"L{k}" for k in rng.integers(0, H, len(s))] for s in sentences]
    labels[3] = [f"L{k % H}" for k in range(70)] if H < 70 else labels[3]
    corpus = column_corpus(sentences, labels)
    chain = new_chain(Shape(H, 1), {1: 30}, everything_allowed(H), {})
    values = np.array([-1.0, 0.0, 1.0]) if ties else rng.normal(size=999)
    chain.weights[0].slot[:] = np.arange(1, 31)
    chain.weights[0].used[0] = 31
    for table, share in ((chain.weights[0].w[1:], 0.2), (chain.transitions[1].w, 0.1)):
        there = rng.random(table[:, :H].shape) < share
        table[:, :H][there] = rng.choice(values, int(there.sum()))
    chain = chain._replace(forbid=np.where(forbid, np.float32(-np.inf), np.float32(0)))
    ids = corpus.columns[0].ids
    one = forms.Active(np.arange(ids.size + 1, dtype=np.int64), ids.astype(np.int32), np.zeros(0, np.float32))
    allow = np.vstack([np.eye(H, dtype=np.bool_), np.ones((1, H), np.bool_), rng.random((3, H)) < 0.1])
    known = rng.choice([H, H + 1, H + 2, H + 3], ids.size).astype(np.int32)
    none = forms.no_active()
    return chain, Data(corpus.offset, known, allow, np.ones(4, np.float32), (one, none, none))


@pytest.mark.parametrize("ties", [True, False])
@pytest.mark.parametrize("forbidden", ["nothing", "inside", "most", "rows"])
@pytest.mark.parametrize("restricted", [True, False])
@pytest.mark.parametrize("H", [37, 200])
def test_skipping_with_many_states(H: int, restricted: bool, forbidden: str, ties: bool) -> None:
    rng = np.random.default_rng([H, restricted, ties])
    W = forms.stride_of(H)
    forbid = np.zeros((H, W), np.bool_)
    if forbidden == "inside":  # the second half of the states may only follow itself and its twin of the first half
        forbid[:, H // 2 : H] = True
        for h in range(H // 2, H):
            forbid[[h, h - H // 2], h] = False
    elif forbidden == "most":
        forbid[:, :H] = rng.random((H, H)) < 0.9
    elif forbidden == "rows":  # nothing may follow some states, and some may follow nothing
        forbid[: H // 3, :H] = True
        forbid[:, H // 3 : H // 2] = True
    chain, data = random_chain(rng, H, ties, forbid)
    assert found(chain, data, skipping=True, restricted=restricted) == found(chain, data, False, restricted)


@few(2)
@given(SHARED.filter(lambda case: case.model.transitions), st.booleans())
def test_edges_follow_the_updates(case: Case, tied: bool) -> None:
    """A training that fills only the edges that have changed ends with the weights of one that fills all."""
    case = case._replace(tied_update=0.5 if tied and case.states_per_label > 1 else 0.0)
    order = np.arange(len(case.sentences)).repeat(3)
    made, rule = [], Rule(PERCEPTRON)
    for skipping in (False, True):
        chain, data = chain_of(case), data_of(case)
        workspace = make_path_workspace(chain, data, rule)
        skips = make_skips(chain.forbid) if skipping else forms.no_skips()
        workspace = workspace._replace(trellis=workspace.trellis._replace(skips=skips))
        counts = new_counts(1.0)
        team = make_team(1)[0]
        train_paths(chain, data, workspace, make_batch(1, data), order, team, counts, rule, no_chunks())
        made.append((counts.tolist(), features_of(chain)))
    assert made[0] == made[1]


def test_the_full_search_is_left_from_many_states_on() -> None:
    """Only where all tokens share their edges."""
    case = Case(Model(1, 3), (0, 1, 2), (1, 1, 0), [[Token(), Token()]], [[frozenset(range(3))] * 2], [1.0])
    few_states, data = chain_of(case), data_of(case)
    shared = data._replace(features=(data.features[0], forms.no_active(), forms.no_active()))
    many = new_chain(Shape(forms.MANY_STATES, 1), {1: 1}, everything_allowed(forms.MANY_STATES), {})
    assert make_trellis(many, shared).skips.top.size == forms.MANY_STATES
    assert make_trellis(many, data).skips.top.size == 0
    assert make_trellis(few_states, shared).skips.top.size == 0
