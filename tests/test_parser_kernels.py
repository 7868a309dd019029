"""The parser's search and learning against the slow twins `naive_parse` and `naive_parse_training`."""

from __future__ import annotations

import pytest
from hypothesis import example, given, note
from hypothesis import strategies as st
from naive_parse import Risky, distinct_trees, tree_of
from naive_parse_training import Rule
from parse_cases import BEAMS, TEXTS, Bank, Taught, banks
from strategies import few

UPDATES = ("standard", "early", "max-violation", "latest", "hybrid", "laso")
PASS = 15  # sentences: 1 + 15 is a power of two, so that averages are exact

orders = st.lists(st.integers(0, 99), min_size=PASS, max_size=PASS)
sets = st.sampled_from(["tiny", "tiny", "basic", "rich"])


@few(2)
@given(banks(), orders, sets, st.sampled_from(UPDATES), st.sampled_from(BEAMS), st.sampled_from(["avg", "last"]))
def test_the_perceptron(bank: Bank, order: list[int], templates: str, update: str, beam: int, estimator: str) -> None:
    """Whole numbers: everything is equal, ties included."""
    both = Taught(bank, templates, Rule(update, beam), estimator=estimator)
    order = [s % len(bank.trees) for s in order]
    for half in (order[:7], order[7:]):
        both.learning.begin_pass(1)
        both.learns(half)
        before = both.twin.updates, both.twin.bad, both.twin.impossible
        both.twin_learns(half)
        now = both.twin.updates, both.twin.bad, both.twin.impossible
        found = both.learning.updates, both.learning.bad, both.learning.impossible
        assert found == tuple(b - a for a, b in zip(before, now, strict=True))
        model = both.twin.averaged() if estimator == "avg" else both.twin.model
        for width in {beam, 3}:
            beams = [model.search(sentence, width) for sentence in both.sentences]
            expected = [(steps[-1][0].score, tree_of(steps[-1][0].state, len(steps) // 2)) for steps in beams]
            assert both.parses(width) == expected


@few(2)
@given(
    banks(), orders, sets, st.sampled_from(["pa", "mira", "probperc"]), st.sampled_from(UPDATES[:3]),
    st.sampled_from(BEAMS), st.sampled_from([1, 2, 8]), st.sampled_from(["PA", "PA-I", "PA-II"]),
)  # fmt: skip
def test_learners_with_margins(
    bank: Bank, order: list[int], templates: str, learner: str, update: str, beam: int, candidates: int, pa_type: str
) -> None:
    """Up to the first sentence where rounding might choose between two items."""
    rule = Rule(update, beam, learner, min(candidates, beam), pa_type=pa_type, sentences=len(bank.trees))
    both = Taught(bank, templates, rule)
    done = []
    for s in order:
        try:
            both.twin_learns([s % len(bank.trees)])
        except Risky:
            break
        done.append(s % len(bank.trees))
    both.learns(done)
    note(f"{len(done)} sentences")
    assert both.learning.updates == both.twin.updates
    model, parses = both.twin.averaged(), both.parses(beam)
    for sentence, (score, tree) in zip(both.sentences, parses, strict=True):
        try:
            best = model.search(sentence, beam)[-1][0]
        except Risky:
            continue
        assert score == pytest.approx(best.score, abs=1e-4)
        assert tree == tree_of(best.state, sentence.n)
