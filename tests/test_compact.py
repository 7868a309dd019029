"""Compact models: packed weights against a search of all paths, and everything that a model can do."""

from __future__ import annotations

import itertools
import json
import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from cli_run import Cli, leave_demo
from fitting import epochs
from hypothesis import given, settings
from hypothesis import strategies as st

from palmette import Beam, Crf, Latent, Tagger
from palmette.data import model_file
from palmette.datasets import load_demo
from palmette.errors import ModelError, UsageError
from palmette.kernels.chain.forms import WHOLE_ROWS, Active, Data, make_trellis, no_active, not_stored
from palmette.kernels.chain.viterbi import decode
from palmette.structures import Shape, everything_allowed, items_of, new_chain, unseen
from palmette.structures.chain.stored_rows import is_small, rounded_rows, store_rows, unpacked, whole_rows

X, Y = load_demo("train")
DEV_X, DEV_Y = load_demo("dev")


def _data(attributes: list[list[int]], values: list[float] | None, n_labels: int) -> Data:
    n = len(attributes)
    ptr = np.cumsum([0, *map(len, attributes)])
    att = np.array([a for token in attributes for a in token], np.int32)
    val = np.zeros(0, np.float32) if values is None else np.resize(np.array(values, np.float32), att.size)
    allow = np.concatenate((np.eye(n_labels, dtype=np.bool_), np.ones((1, n_labels), np.bool_)))
    known = np.full(n, n_labels, np.int32)
    weight, none = np.ones(1, np.float32), no_active()
    return Data(np.array([0, n]), known, allow, weight, (Active(ptr, att, val), none, none))


@settings(deadline=None, max_examples=60)
@given(
    st.integers(1, 4), st.integers(0, 2), st.lists(st.lists(st.integers(0, 5), max_size=6), min_size=1, max_size=4),
    st.sampled_from([None, [2.0], [0.5, -1.0]]), st.integers(0, 2**32 - 1),
)  # fmt: skip
def test_packed_weights_against_all_paths(
    H: int, order: int, attributes: list[list[int]], values: list[float] | None, seed: int
) -> None:
    rng = np.random.default_rng(seed)
    chain = new_chain(Shape(H, order, triples=order == 2), {}, everything_allowed(H), {})
    for table in chain.transitions:
        table.w[:, :H] = rng.integers(-9, 10, (table.w.shape[0], H))
    number = rng.integers(-127, 128, (6, H)).astype(np.int8)
    scale = (rng.integers(1, 9, 6) / 8).astype(np.float32)
    data = _data(attributes, values, H)
    out, score = np.zeros(len(attributes), np.int32), np.zeros(1)
    small = not_stored()._replace(kind=WHOLE_ROWS, cells=H, number=number.reshape(-1), scale=scale)
    chain = chain._replace(stored=(small, *chain.stored[1:]))
    decode(chain, data, make_trellis(chain, data), out, score, False)

    ends, pairs, triples = (table.w for table in chain.transitions)
    val = data.features[0].val

    def total(path: tuple[int, ...]) -> float:
        found = float(ends[0, path[0]] + ends[1, path[-1]])
        k = 0
        for i, token in enumerate(attributes):
            for a in token:
                found += (float(val[k]) if val.size else 1.0) * float(scale[a]) * int(number[a, path[i]])
                k += 1
            found += float(pairs[path[i - 1], path[i]]) if i >= 1 and order >= 1 else 0.0
            found += float(triples[path[i - 2] * H + path[i - 1], path[i]]) if i >= 2 and order >= 2 else 0.0
        return found

    best = max(total(path) for path in itertools.product(range(H), repeat=len(attributes)))
    assert score[0] == pytest.approx(best, abs=1e-3)
    assert total(tuple(out.tolist())) == pytest.approx(best, abs=1e-3)


@given(st.integers(1, 20), st.integers(0, 2**32 - 1))
def test_rounding_to_8_bits_is_off_by_half_a_step(width: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    chain = new_chain(Shape(width, 1), {1: 7}, everything_allowed(width), {})
    rows = chain.weights[0]
    rows.slot[:] = np.arange(1, 8)
    rows.w[1:8, :width] = rng.normal(size=(7, width)) * 10.0 ** rng.integers(-6, 6, (7, 1))
    shape = Shape(width, 1)
    small = rounded_rows(store_rows(rows, shape, 1))
    again = unpacked(small, shape, 1).w[1:]
    step = np.abs(rows.w[1:8]).max(axis=1, keepdims=True) / 127
    assert is_small(small)
    assert (np.abs(again - rows.w[1:8]) <= 0.501 * step).all()
    assert np.array_equal(whole_rows(small, slice(0, 7)) * small.scale[:, None], again[:, :width])


def _tagger(**options: Any) -> Tagger:
    features, limit = options.pop("features", "chunk"), epochs(3, options.get("learner", "perceptron"))
    return Tagger(features, **options | limit).fit(X, Y)


def test_a_compact_tagger_is_saved_loaded_and_used(tmp_path: Path) -> None:
    tagger = _tagger()
    tagger.save(tmp_path / "full.palm")
    before = tagger.score(DEV_X, DEV_Y)
    report = tagger.compact(DEV_X, DEV_Y)
    assert report.loss is not None
    assert report.loss <= 0.05 + 1e-9
    assert report.attributes[1] <= report.attributes[0]
    tagger.save(tmp_path / "small.palm")
    assert (tmp_path / "small.palm").stat().st_size < 0.75 * (tmp_path / "full.palm").stat().st_size
    again, copy = Tagger.load(tmp_path / "small.palm"), pickle.loads(pickle.dumps(tagger))
    wanted = tagger.predict(DEV_X)
    for one in (again, copy):
        assert one.model_.compact
        assert one.predict(DEV_X) == wanted
        session = one.session()
        assert [session.tag(tokens) for tokens in DEV_X] == wanted
    assert again.score(DEV_X, DEV_Y) > before - 0.02
    assert [best[0][0] for best in again.nbest(DEV_X[:20], 2)] == wanted[:20]
    assert len(again.predict_marginals(DEV_X[:1])[0]) == len(DEV_X[0])
    assert again.model_._unpacked is None
    new = [
        unseen(one.model_, items_of(one.model_, DEV_X).corpus).tolist()
        for one in (again, Tagger.load(tmp_path / "full.palm"))
    ]
    assert new[0] == new[1]
    again.calibrate(DEV_X, DEV_Y)
    assert again.model_.compact
    again.save(tmp_path / "calibrated.palm")
    assert Tagger.load(tmp_path / "calibrated.palm").calibrated_
    names = {again.model_.names[1][k] for k in range(len(again.model_.names[1]))}
    full = Tagger.load(tmp_path / "full.palm").model_.names[1]
    assert names <= {full[k] for k in range(len(full))}


@pytest.mark.parametrize(
    "options",
    [{"order": 0}, {"order": 2}, {"states": Latent(2)}, {"search": Beam(4)}, {"learner": Crf(l2=1.0)}],
    ids=["order 0", "order 2", "latent", "beam", "crf"],
)
def test_every_kind_of_chain(options: dict[str, Any], tmp_path: Path) -> None:
    tagger = _tagger(**options)
    full = tagger.predict(DEV_X)
    tagger.compact(DEV_X, DEV_Y, most_loss=2)
    tagger.save(tmp_path / "m.palm")
    again = Tagger.load(tmp_path / "m.palm").predict(DEV_X)
    assert again == tagger.predict(DEV_X)
    tokens = [(a, b) for one, two in zip(full, again, strict=True) for a, b in zip(one, two, strict=True)]
    assert np.mean([a == b for a, b in tokens]) > 0.95


def test_what_a_compact_model_cannot_do(tmp_path: Path) -> None:
    tagger = _tagger()
    tagger.compact()
    with pytest.raises(UsageError, match="compact model"):
        tagger.partial_fit(X, Y)
    with pytest.raises(UsageError, match="give both X and y"):
        tagger.compact(X)
    with pytest.raises(UsageError, match="most_loss"):
        tagger.compact(X, Y, most_loss=-1)
    hmm = Tagger(learner="hmm", smoothing=0.0).fit([[w for w, _ in s] for s in X], Y)
    with pytest.raises(UsageError, match="minus infinity"):
        hmm.compact()


def test_without_development_data_no_attribute_is_dropped() -> None:
    tagger = _tagger()
    report = tagger.compact()
    assert (report.before, report.after, report.loss, report.dropped) == (None, None, None, 0.0)
    assert report.weights[0] == report.weights[1]


def test_names_that_do_not_fit_their_attributes(tmp_path: Path) -> None:
    tagger = _tagger()
    tagger.compact()
    tagger.save(tmp_path / "m.palm")
    arrays, meta = model_file.load(tmp_path / "m.palm")
    names = arrays["label.packed_names"]
    for bad in (names[:-50], np.concatenate((names[:8], names[9:])), np.zeros(3, np.uint8), names[::-1].copy()):
        model_file.save(tmp_path / "bad.palm", arrays | {"label.packed_names": bad}, meta)
        model = Tagger.load(tmp_path / "bad.palm").model_  # names are unpacked when they are asked for
        with pytest.raises(ModelError, match="its names"):
            model.names[1][0]


def test_the_command(tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    leave_demo(tmp_path)
    cli = Cli(tmp_path, capsys, monkeypatch)
    cli.fine("train train.txt -o full.palm --features chunk --passes 3 -q")
    ran = cli("compact full.palm -o small.palm --dev dev.txt --most-loss 1")
    assert "weights of 8 bits" in ran.err
    assert "points)" in ran.err
    found = json.loads(cli.fine("compact full.palm -o plain.palm --json"))
    assert found["loss"] is None
    assert found["bytes"][1] < found["bytes"][0]
    assert cli.fine("tag small.palm test.txt -q").count("\n") == cli.fine("tag full.palm test.txt -q").count("\n")
    assert "weights" in cli.fine("inspect small.palm")
    assert "no development data" in cli("compact small.palm -o again.palm").err
    cli.fine("train train.txt -o c.palm --features chunk --passes 3 --dev dev.txt --compact -q")
    assert Tagger.load(tmp_path / "c.palm").model_.compact
    assert "choose one of them" in cli("train train.txt -o d.palm --compact --checkpoint").err
    assert "full model" in cli("train train.txt -o d.palm --resume small.palm").err
