"""The sequence limit of synthetic data: the most probable label sequence against enumeration of all hidden paths."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from test_synth import models, path_probabilities, sequences

from palmette.lab import synth


def label_probabilities(model: synth.Model, symbols: list[int]) -> dict[tuple[int, ...], float]:
    """P(labels | symbols): the paths of hidden states behind a label sequence are summed."""
    found: dict[tuple[int, ...], float] = {}
    for path, probability in path_probabilities(model, symbols).items():
        labels = tuple(model.label_of[list(path)].tolist())
        found[labels] = found.get(labels, 0.0) + probability
    return {labels: p / sum(found.values()) for labels, p in found.items()}


@given(models(), st.integers(1, 5), st.integers(0, 10**6), st.sampled_from([1, 2, 256]))
def test_the_most_probable_labels(model: synth.Model, length: int, seed: int, most: int) -> None:
    """Against all label sequences; with too few prefixes for a proof none is claimed."""
    drawn = synth.sample(model, 8, (1, length), np.random.default_rng(seed))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(synth, "BEAM", 1)
        patch.setattr(synth, "MOST_PREFIXES", most)
        labels, proven = synth.most_probable_labels(model, drawn.symbols, drawn.offset)
    assert proven.all() or most < 256
    for s, (symbols, _) in enumerate(sequences(drawn)):
        expected = label_probabilities(model, symbols)
        found = tuple(labels[drawn.offset[s] : drawn.offset[s + 1]].tolist())
        if proven[s]:
            assert expected[found] == pytest.approx(max(expected.values()), rel=1e-7)
        else:
            assert found in expected


def test_few_prefixes_are_not_always_enough() -> None:
    """Nearly uniform symbols: many label sequences are nearly as probable as the best one."""
    model = synth.ring(2, 2, emission=np.array([[0.51, 0.49], [0.5, 0.5], [0.49, 0.51], [0.5, 0.5]]), p=0.3)
    drawn = synth.sample(model, 20, 9, np.random.default_rng(3))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(synth, "MOST_PREFIXES", 2)
        assert synth.sequence_limit(model, drawn).unproven > 10
    assert synth.sequence_limit(model, drawn).unproven == 0


def test_the_sequence_limit() -> None:
    model = synth.ring(p=0.8)
    drawn = synth.sample(model, 60, (1, 5), np.random.default_rng(5))
    right = []
    for symbols, states in sequences(drawn):
        every = label_probabilities(model, symbols)
        right.append(max(every, key=every.__getitem__) == tuple(model.label_of[states].tolist()))
    limit = synth.sequence_limit(model, drawn)
    assert (limit.sequences, limit.unproven) == (60, 0)
    assert limit.share == pytest.approx(np.mean(right))
    assert limit.error == pytest.approx(np.std(right) / np.sqrt(60))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(synth, "MOST_TOKENS", int(drawn.offset[20]))
        assert synth.sequence_limit(model, drawn).share == pytest.approx(np.mean(right[:20]))


@pytest.mark.parametrize(("length", "published"), [(8, 0.45), (20, 0.19)])
def test_the_sequence_limit_of_the_ring(length: int, published: float) -> None:
    """By an independent estimate of the study's ring."""
    model = synth.ring()
    limit = synth.sequence_limit(model, synth.sample(model, 3000, length, np.random.default_rng(11)))
    assert abs(limit.share - published) < 3 * limit.error
    assert limit.unproven == 0
