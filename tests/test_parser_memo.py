"""Scores by rows and by what a search remembers: the same as those of the lists that they come from."""

from __future__ import annotations

from unittest import mock

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from naive_parse import tree_of
from naive_parse_training import Rule
from parse_cases import BEAMS, Bank, Taught, banks
from strategies import few

from palmette.kernels.core.compile import kernel
from palmette.kernels.core.types import F32
from palmette.kernels.core.vector import ROW_STEP, add_row
from palmette.parsing import model
from palmette.parsing.kernels import forms
from palmette.parsing.kernels.weights import lists_of, spread_lists

orders = st.lists(st.integers(0, 99), min_size=15, max_size=15)


class Sizes:
    """Other sizes of memos and lists than those of every day."""

    def __init__(self, least: int, places: int) -> None:
        self.least, self.places = least, places

    def __enter__(self) -> None:
        long = lambda width: self.least  # noqa: E731
        self.patches = [
            mock.patch.multiple(forms, MEMO_PLACES=(self.places, self.places), long_list=long),
            mock.patch.object(model, "long_list", long),
        ]
        for patch in self.patches:
            patch.start()

    def __exit__(self, *error: object) -> None:
        for patch in self.patches:
            patch.stop()


sizes = st.builds(Sizes, st.sampled_from([1, 2, 3, 8]), st.sampled_from([2, 64, 1 << 14]))


@few()
@given(banks(), orders, st.sampled_from(["tiny", "basic", "rich"]), st.sampled_from(BEAMS), sizes)
def test_any_size_of_memo_and_row(bank: Bank, order: list[int], templates: str, beam: int, small: Sizes) -> None:
    """Whole numbers for weights: scores and trees are those of the twin, ties included."""
    both = Taught(bank, templates, Rule("early", beam), estimator="last")
    chosen = [s % len(bank.trees) for s in order]
    both.learns(chosen)
    both.twin_learns(chosen)
    tops = [both.twin.model.search(sentence, beam)[-1][0] for sentence in both.sentences]
    with small:
        found = both.parses(beam)
        merged = both.parses(beam, merge=True)
    assert found == [(top.score, tree_of(top.state, s.n)) for top, s in zip(tops, both.sentences, strict=True)]
    assert merged == both.parses(beam, merge=True)


@few(0.5)
@given(banks(), orders, sizes)
def test_weights_that_are_not_whole_numbers(bank: Bank, order: list[int], small: Sizes) -> None:
    """Rounding too is that of the lists: rows add 0 where a list has nothing."""
    both = Taught(bank, "basic", Rule("max-violation", 4, "mira", candidates=3), estimator="avg")
    both.learns([s % len(bank.trees) for s in order])
    with small:
        found = both.parses(4)
    assert found == both.parses(4)


@few()
@given(st.lists(st.lists(st.integers(0, 20), max_size=21, unique=True), max_size=20), st.integers(1, 22))
def test_rows_of_long_lists(lists: list[list[int]], least: int) -> None:
    entry = np.zeros(2 * max(1, sum(len(own) for own in lists)), np.int32)
    table, start = np.zeros(128, np.uint64), 0
    for k, own in enumerate(lists):
        for action in own:
            entry[2 * start] = action
            entry.view(np.float32)[2 * start + 1] = 10 * k + action
            start += 1
        table[2 * k], table[2 * k + 1] = k + 1, (start - len(own)) | (len(own) << 40)
    rows, long = spread_lists(table, entry, 32, least)
    starts, lengths = lists_of(table)
    kept = {int(a) + 1: own for a, n, own in zip(starts, lengths, lists, strict=False) if n >= least}
    assert rows.size == 32 * len(kept)
    places = {int(key): int(row) for key, row in long.reshape(-1, 2) if key}
    assert places.keys() == kept.keys()
    assert (long[::2] == 0).any()  # a search ends
    for at, own in kept.items():
        expected = np.zeros(32, np.float32)
        expected[own] = [10 * lists.index(own) + action for action in own] if lists.count(own) == 1 else 0
        row = rows[32 * places[at] : 32 * places[at] + 32]
        assert set(np.flatnonzero(row)) <= set(own)
        if lists.count(own) == 1:
            assert row.tolist() == expected.tolist()


@kernel
def _added(out: F32, rows: F32, begin: int) -> None:
    add_row(out, rows, begin)


@pytest.mark.jit
@pytest.mark.parametrize("width", [0, ROW_STEP, 2 * ROW_STEP, 8 * ROW_STEP])
def test_a_row_is_added(width: int) -> None:
    rng = np.random.default_rng(width)
    rows, out = rng.normal(size=3 * width + 5).astype(np.float32), rng.normal(size=width).astype(np.float32)
    expected = out + rows[5 : 5 + width]
    _added(out, rows, 5)
    assert out.tobytes() == expected.tobytes()
