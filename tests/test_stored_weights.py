"""Rows of weights in a file: what is stored comes back, in the smaller of two forms."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from palmette import Tagger
from palmette.data import array_specs
from palmette.datasets import load_demo
from palmette.errors import ModelError
from palmette.structures.chain import serialise
from palmette.structures.chain.stored_rows import file_arrays, read_rows, unpacked, whole_rows
from palmette.structures.chain.weights import Shape
from palmette.structures.stored import CHUNK, check_growth, form_of, pack_rows, row_specs


def _stored(w: np.ndarray, scale: np.ndarray | None = None) -> dict[str, np.ndarray]:
    return pack_rows("label", lambda rows: w[rows], w.shape[0], scale)


def _checked(arrays: dict[str, np.ndarray], A: int, cells: int) -> None:
    form = form_of(arrays, "label")
    assert form is not None
    array_specs.unpack(arrays, row_specs("label", form), {"label.A": A, "label.cells": cells}, "test")


@settings(deadline=None)
@given(
    st.integers(0, 40), st.integers(1, 300), st.sampled_from([0.0, 0.02, 0.3, 1.0]), st.sampled_from(["f4", "i1"]),
    st.integers(0, 2**32 - 1),
)  # fmt: skip
def test_rows_come_back(A: int, cells: int, density: float, kind: str, seed: int) -> None:
    rng = np.random.default_rng(seed)
    w = np.where(rng.random((A, cells)) < density, rng.integers(-127, 128, (A, cells)), 0).astype(kind)
    scale = None if kind == "f4" else rng.random(A).astype(np.float32)
    arrays = _stored(w, scale)
    _checked(arrays, A, cells)
    form = form_of(arrays, "label")
    assert form is not None
    assert form.scaled == (kind == "i1")
    rows = read_rows(arrays, "label", form, Shape(cells, 0), 1)
    assert np.array_equal(whole_rows(rows, slice(0, A)), w)
    again = file_arrays(rows, "label")
    assert again.keys() == arrays.keys() - ({"label.scale"} if not A else set())
    assert all(np.array_equal(again[name], arrays[name]) for name in again)
    entries = int(np.count_nonzero(w))
    state = 1 if cells < 256 else 2
    count = 1 if np.count_nonzero(w, axis=1).max(initial=0) < 256 else 2
    smallest = min(w.nbytes, A * count + entries * (state + w.itemsize))
    assert sum(array.nbytes for name, array in arrays.items() if name != "label.scale") == smallest


def test_rows_of_several_chunks_and_of_label_pairs() -> None:
    w = np.zeros((CHUNK + 5, 9), np.float32)
    w[0, 3], w[CHUNK - 1, 8], w[CHUNK, 0], w[CHUNK + 4, 8] = 1, 2, 3, 4
    arrays = _stored(w)
    form = form_of(arrays, "label")
    assert form is not None
    assert form.sparse
    found = unpacked(read_rows(arrays, "label", form, Shape(3, 1), 2), Shape(3, 1), 2)
    assert np.array_equal(found.w[1:].reshape(-1, 3, 3).reshape(w.shape), w)


def test_a_small_file_cannot_ask_for_all_memory() -> None:
    arrays = _stored(np.eye(4, dtype=np.float32))
    check_growth(arrays, "label", 1 << 20, "test")
    with pytest.raises(ModelError, match=r"would take 10\.0 GB"):
        check_growth(arrays, "label", 10 << 30, "test")


@pytest.mark.parametrize("compact", [False, True])
def test_sparse_label_pairs_stay_sparse(tmp_path: Path, compact: bool) -> None:
    labels, words = [f"L{k}" for k in range(100)], [f"w{k}" for k in range(2500)]
    X = [[words[(7 * s + k) % len(words)] for k in range(50)] for s in range(60)] + [words]
    y = [[labels[int(word[1:]) % 100] for word in sentence] for sentence in X]
    template = tmp_path / "template"
    template.write_text("U0:%x[0,0]\nB0:%x[0,0]\n")
    tagger = Tagger(template=str(template), learner="perceptron", passes=1).fit(X, y)
    if compact:
        tagger.compact()
    tagger.save(tmp_path / "m.palm")
    loaded = Tagger.load(tmp_path / "m.palm")
    pairs = loaded.model_.chain.weights[1]
    assert pairs.slot.size > 2000
    assert pairs.w.nbytes + pairs.combo.nbytes + pairs.first.nbytes < 4 * os.path.getsize(tmp_path / "m.palm")
    assert loaded.predict(X) == tagger.predict(X)
    loaded.save(tmp_path / "again.palm")
    assert Tagger.load(tmp_path / "again.palm").predict(X[:5]) == tagger.predict(X[:5])


@pytest.mark.parametrize("compact", [False, True])
def test_entries_of_label_pairs_and_triples_weigh_as_rows_do(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, compact: bool
) -> None:
    X, y = (part[:60] for part in load_demo("train"))
    template = tmp_path / "template"
    template.write_text("U0:%x[0,0]\nB0:%x[0,0]\nT0:%x[0,1]\n")
    tagger = Tagger(template=str(template), learner="perceptron", passes=2).fit(X, y)
    if compact:
        tagger.compact()
    tagger.save(tmp_path / "m.palm")
    dense = Tagger.load(tmp_path / "m.palm")
    monkeypatch.setattr(serialise, "EMPTY", -(1 << 40))
    sparse = Tagger.load(tmp_path / "m.palm")
    for rows, entries in zip(dense.model_.chain.weights[1:], sparse.model_.chain.weights[1:], strict=True):
        assert rows.w.shape[1] > entries.w.shape[1] == 1
    assert sparse.predict(X) == dense.predict(X)
    assert sparse.predict_marginals(X[:9]) == dense.predict_marginals(X[:9])
