"""Weights that are searched as a model file has them, against the same weights in rows: the same bits."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from chain_arrays import Case, chain_of, data_of
from hypothesis import given
from strategies import cases, few

from palmette import Beam, Crf, Tagger
from palmette.data.items import corpus_from_items
from palmette.datasets import load_demo
from palmette.kernels.chain.forms import ENTRIES, ENTRIES_ALONE, WHOLE_ROWS, Chain, Data, make_trellis
from palmette.kernels.chain.forward_backward import log_partitions, make_sum_workspace
from palmette.kernels.chain.viterbi import decode
from palmette.structures import Shape, items_of
from palmette.structures.chain import stored_rows, weights
from palmette.structures.chain.explain import weight_of
from palmette.structures.chain.stored_rows import is_stored, rounded_rows, stored_chain, unpacked_chain
from palmette.structures.chain.temperature import with_temperature
from palmette.structures.chain.weights import n_weights


def _found(chain: Chain, data: Data) -> tuple[bytes, bytes, bytes]:
    """Best states, their scores, and log Z."""
    states, scores, sums = np.zeros(data.known.size, np.int32), *np.zeros((2, data.offset.size - 1))
    decode(chain, data, make_trellis(chain, data), states, scores, False)
    log_partitions(chain, data, make_sum_workspace(chain, data), sums, False)
    return states.tobytes(), scores.tobytes(), sums.tobytes()


def _shape(case: Case) -> Shape:
    return Shape(case.model.n_states // case.states_per_label, case.model.order, states_per_label=case.states_per_label)


@few()
@given(cases(latent=True))
def test_stored_rows_score_as_rows_do_to_the_last_bit(case: Case) -> None:
    chain, data, shape = chain_of(case), data_of(case), _shape(case)
    stored = stored_chain(chain, shape)
    assert any(map(is_stored, stored.stored)) == any(
        rows.slot.size > 0 and not rows.first.size for rows in chain.weights
    )
    assert _found(stored, data) == _found(chain, data)
    assert _found(with_temperature(stored, 1.7), data) == _found(with_temperature(chain, 1.7), data)
    assert _found(unpacked_chain(stored, shape), data) == _found(chain, data)


@few()
@given(cases())
def test_rounded_rows_score_as_their_numbers_in_rows_do(case: Case) -> None:
    data, shape = data_of(case)._replace(weight=np.ones(len(case.sentences), np.float32)), _shape(case)
    chain = stored_chain(chain_of(case), shape)
    one, two, three = map(rounded_rows, chain.stored)
    small = chain._replace(stored=(one, two, three))
    rows = unpacked_chain(small, shape)
    if any(active.val.size for active in data.features):  # a value and a scale are multiplied first
        assert np.frombuffer(_found(small, data)[1]) == pytest.approx(np.frombuffer(_found(rows, data)[1]), abs=1e-3)
    else:
        assert _found(small, data) == _found(rows, data)
    for attribute in range(case.sizes[0]):
        for state in range(case.model.n_states):
            assert weight_of(small, attribute, (state,)) == weight_of(rows, attribute, (state,))


X, Y = load_demo("train")
DEV_X, _ = load_demo("dev")
KINDS: dict[str, dict[str, Any]] = {
    "entries": {"learner": "perceptron"},
    "whole rows": {"learner": Crf(l2=1.0, iterations=3)},
    "order 2": {"learner": "perceptron", "order": 2},
    "beam": {"learner": "perceptron", "search": Beam(4)},
}


@pytest.mark.parametrize("kind", KINDS)
def test_a_loaded_model_is_not_unpacked_by_tagging(kind: str, tmp_path: Path) -> None:
    limit = {} if kind == "whole rows" else {"passes": 2}
    tagger = Tagger("chunk", **KINDS[kind], **limit).fit(X[:80], Y[:80])
    tagger.save(tmp_path / "m.palm")
    loaded = Tagger.load(tmp_path / "m.palm")
    model = loaded.model_
    assert model.searched.stored[0].kind == (WHOLE_ROWS if kind == "whole rows" else ENTRIES)
    assert loaded.predict_scored(DEV_X) == tagger.predict_scored(DEV_X)
    if kind != "beam":
        assert loaded.nbest(DEV_X[:5], 3) == tagger.nbest(DEV_X[:5], 3)
        assert loaded.predict_marginals(DEV_X[:5]) == tagger.predict_marginals(DEV_X[:5])
        assert str(loaded.explain(DEV_X[0])) == str(tagger.explain(DEV_X[0]))
    assert model._unpacked is None
    assert n_weights(model.searched) == n_weights(tagger.model_.chain)
    loaded.save(tmp_path / "again.palm")
    assert (tmp_path / "again.palm").read_bytes() == (tmp_path / "m.palm").read_bytes()
    rows, order = tagger.model_.chain.weights[0], _order(loaded, tagger)
    assert np.array_equal(model.chain.weights[0].w[1:], rows.w[rows.slot[order]])


def _order(loaded: Tagger, tagger: Tagger) -> np.ndarray:
    """The numbers in the trained model of the attributes of the loaded one."""
    names, own = loaded.model_.names[1], tagger.model_.names[1]
    number = {own[k]: k for k in range(len(own))}
    return np.array([number[names[k]] for k in range(len(names))])


def test_entries_of_many_labels_are_summed_as_lists_are(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    tagger = Tagger("chunk", learner="perceptron", passes=1).fit(X[:60], Y[:60])
    tagger.save(tmp_path / "m.palm")
    monkeypatch.setattr(stored_rows, "MANY_LABELS", 2)
    loaded = Tagger.load(tmp_path / "m.palm").model_
    assert loaded.searched.stored[0].kind == ENTRIES_ALONE
    data = loaded.encode(items_of(loaded, DEV_X[:20]).corpus)
    assert _found(loaded.searched, data) == _found(loaded.chain, data)


@pytest.mark.parametrize("options", [{"checkpoint": True}, {"names": False}], ids=["checkpoint", "plain"])
def test_training_that_stores_its_rows_makes_the_same_model(
    options: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    dev = load_demo("dev")
    files = []
    for limit in (weights.MANY_ROWS, 0):
        monkeypatch.setattr(weights, "MANY_ROWS", limit)
        tagger = Tagger("chunk", learner="perceptron", passes=3)
        corpora = [corpus_from_items(*part, mode="columns").corpus for part in ((X[:60], Y[:60]), dev)]
        tagger.fit_corpus(corpora[0], corpora[1], **options)
        files.append(tmp_path / f"{limit}.palm")
        tagger.save(files[-1])
        assert bool(tagger.model_.searched.stored[0].kind) == (limit == 0 and "checkpoint" not in options)
    one, two = (Tagger.load(file) for file in files)
    assert one.predict_scored(dev[0]) == two.predict_scored(dev[0])
    if "checkpoint" in options:
        assert one.partial_fit(X[60:70], Y[60:70]).predict(dev[0]) == two.partial_fit(X[60:70], Y[60:70]).predict(
            dev[0]
        )
    else:
        assert files[0].read_bytes() == files[1].read_bytes()
