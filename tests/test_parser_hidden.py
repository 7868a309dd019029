"""Parsers with hidden variants of arcs, against a twin that finds gold's variants from the definition, and against all
derivations of gold there are."""

from __future__ import annotations

import itertools
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, note
from hypothesis import strategies as st
from naive_parse import Path as Actions
from naive_parse import Risky, Sentence, tree_of, without_variants
from naive_parse_training import Rule
from parse_cases import BEAMS, Bank, Taught, banks
from strategies import few

from palmette import Beam, Parser
from palmette.datasets import load_trees
from palmette.errors import UsageError
from palmette.parsing import TreeSettings, compile_templates, inspect_parser, make_grammar

orders = st.lists(st.integers(0, 99), min_size=9, max_size=9)
sets = st.sampled_from(["hidden", "hidden", "tiny"])  # the last one does not read variants
few_variants = st.sampled_from([2, 3])
UPDATES = ("standard", "max-violation")


def taught(bank: Bank, templates: str, rule: Rule, **options: Any) -> Taught:
    return Taught(bank, templates, rule, init_size=0.0, **options)


def numbers(both: Taught) -> list[float]:
    found = both.learning.snapshot().entry.view(np.float32)[1::2]
    return sorted(found[np.abs(found) > 1e-5].tolist())


# --- the twin -----------------------------------------------------------------------------------------------------


@few()
@given(
    banks(longest=5, relations=2), orders, sets, st.sampled_from([*UPDATES, "latest"]), st.sampled_from(BEAMS),
    few_variants,
)  # fmt: skip
def test_the_perceptron(bank: Bank, order: list[int], templates: str, update: str, beam: int, k: int) -> None:
    """Whole numbers: updates, weights and parses are equal, ties included."""
    both = taught(bank, templates, Rule(update, beam, variants=k), estimator="last")
    chosen = [s % len(bank.trees) for s in order]
    both.learns(chosen)
    both.twin_learns(chosen)
    assert (both.updates, both.bad, both.infeasible) == (both.twin.updates, both.twin.bad, 0)
    expected = sorted(w for row in both.twin.weights.values() for w in row.values() if w)
    assert numbers(both) == expected
    for sentence, (score, tree) in zip(both.sentences, both.parses(beam), strict=True):
        best = both.twin.model.search(sentence, beam)[-1][0]
        assert (score, tree) == (best.score, tree_of(best.state, sentence.n))


rules = st.builds(
    Rule,
    learner=st.sampled_from(["pa", "mira", "probperc", "arow"]),
    update=st.sampled_from(UPDATES),
    beam=st.sampled_from(BEAMS),
    candidates=st.sampled_from([1, 2, 8]),
    aggressiveness=st.sampled_from([1 / 64, 0.25]),
    variants=few_variants,
)


@few()
@given(banks(longest=4, relations=2, varied=True), orders, sets, rules)
def test_learners_with_candidates(bank: Bank, order: list[int], templates: str, rule: Rule) -> None:
    """Candidates that make gold's arcs are gold, and costs count arcs, not variants."""
    spread = rule.aggressiveness if rule.learner == "arow" else 0.0
    rule = replace(rule, candidates=min(rule.candidates, rule.beam), sentences=len(bank.trees), spread=spread)
    both, done = taught(bank, templates, rule, estimator="last"), []
    for s in (k % len(bank.trees) for k in order):
        try:
            both.twin_learns([s])
        except Risky:
            break
        done.append(s)
    both.learns(done)
    note(f"{len(done)} sentences")
    assert both.updates == both.twin.updates
    expected = sorted(w for row in both.twin.weights.values() for w in row.values() if abs(w) > 1e-5)
    assert numbers(both) == pytest.approx(expected, rel=1e-3, abs=1e-5)


def all_variants(arcs: Actions, k: int) -> list[Actions]:
    """Every derivation of the same arcs."""
    return list(itertools.product(*[[0] if a == 0 else range(1 + (a - 1) * k, 1 + a * k) for a in arcs]))


@few()
@given(banks(longest=4, relations=2), orders, few_variants)
def test_forced_decoding_with_a_wide_beam_is_exact(bank: Bank, order: list[int], k: int) -> None:
    both = taught(bank, "hidden", Rule("standard", 64, variants=k), estimator="last")
    for s in (number % len(bank.trees) for number in order):
        sentence, model = both.sentences[s], both.twin.model
        before = {f: dict(row) for f, row in both.twin.weights.items()}
        both.learns([s])
        gold = tuple(both.learning.workspaces[0].b.gold_action[: 2 * sentence.n - 1].tolist())
        old = model._replace(weights=before)
        own = {path: score_of(old, sentence, path) for path in all_variants(without_variants(gold, k), k)}
        assert own[gold] == max(own.values())
        both.twin_learns([s])


def score_of(model: Any, sentence: Sentence, path: Actions) -> float:
    return model.scored(sentence, path)[-1].score


# --- the random start ---------------------------------------------------------------------------------------------


def test_weights_of_variants_start_at_random() -> None:
    """Within the size, by seed; without weights a parse scores at most as many of them as it has arcs."""
    scores = {}
    tree = [(2, "a"), (0, "root"), (2, "b"), (3, "a"), (2, "a"), (5, "b")]
    bank = Bank([[{"form": f"w{k}"} for k in range(6)]], [tree])
    for seed, size in ((1, 0.01), (1, 0.02), (2, 0.01), (1, 0.0)):
        both = Taught(bank, "hidden", Rule("standard", 4, variants=2), seed=seed, init_size=size)
        scores[seed, size] = both.parses(4)[0][0]
    assert 0 < scores[1, 0.01] <= 5 * 0.01
    assert scores[1, 0.02] == pytest.approx(2 * scores[1, 0.01], rel=1e-5)
    assert scores[1, 0.01] != scores[2, 0.01]
    assert scores[1, 0.0] == 0.0


def test_variants_of_an_arc_follow_each_other() -> None:
    templates = compile_templates("s0.w\n", "one")
    settings = TreeSettings(variants=2, search=Beam(2, update="standard"))
    grammar = make_grammar(templates, [(0, ""), (1, "a"), (2, "b")], ["a", "b", "root"], settings)
    assert (grammar.variants, grammar.start_size) == (2, 0.01)
    assert grammar.move.tolist() == [0, 1, 1, 2, 2]
    assert grammar.relation.tolist() == [0, 0, 0, 1, 1]
    assert grammar.action[1, 0] == 1
    assert grammar.action[2, 1] == 3


# --- the parser ---------------------------------------------------------------------------------------------------


def hidden(**options: Any) -> Parser:
    return Parser("latent", **{"variants": 2, "passes": 3, "search": Beam(4), "seed": 3, **options})


def test_training_uses_all_variants(tmp_path: Path) -> None:
    data = load_trees("train")
    parser = hidden(passes=6).fit(data)
    entry = parser.model_.weights.entry[::2]
    used = np.bincount((entry[entry > 0] - 1) % 2, minlength=2)
    assert used.min() > 0.2 * used.sum()
    assert parser.evaluate(data).las > 0.9
    assert all(row["figures"]["bad"] < 0.1 for row in parser.training_log_)
    parser.save(tmp_path / "m.palm")
    again = Parser.load(tmp_path / "m.palm")
    assert again.predict(data) == parser.predict(data)
    assert [t[0].output for t in again.nbest(data, 2)] == parser.predict(data)
    assert len({tuple(one.output) for one in again.nbest(data, 3)[0]}) == len(again.nbest(data, 3)[0])
    again.compact()
    again.save(tmp_path / "small.palm")
    small = Parser.load(tmp_path / "small.palm")
    assert small.predict(data) == again.predict(data)
    assert inspect_parser(small).about["settings"]["variants"] == 2


def test_it_is_resumed_exactly() -> None:
    data = load_trees("train")
    four, two = hidden(passes=4).fit(data), hidden(passes=2).fit(data, checkpoint=True)
    more = hidden(passes=2).fit(data, resume=two.model_)
    assert np.array_equal(more.model_.weights.entry, four.model_.weights.entry)
    assert np.array_equal(more.model_.weights.table, four.model_.weights.table)
    for options in ({"variants": 3}, {"seed": 4}, {"init_size": 0.5}):
        with pytest.raises(UsageError, match="continues with that of the model"):
            hidden(**options).fit(data, resume=two.model_)


def test_what_does_not_go_together() -> None:
    data = load_trees("test")
    for options, said in (
        ({"merge": True}, "hidden variants"), ({"search": Beam(4, update="laso")}, "choose standard"),
        ({"search": Beam(4, update="early")}, "choose standard"), ({"min_count": 2}, "hidden there"),
        ({"variants": 1}, "reads hidden variants"), ({"variants": 1, "init_size": 0.5}, "is for hidden variants"),
    ):  # fmt: skip
        with pytest.raises(UsageError, match=said):
            hidden(**options).fit(data)
    assert hidden()._settings().beam.update == "max-violation"


def test_variants_carry_what_templates_do_not_see(tmp_path: Path) -> None:
    """When `now` is attached, no template reads the object that its relation depends on: a plain parser sees the same
    features for both relations, and is right for five of ten sentences at most. Variants of the arc to the object tell
    them apart, from some of the random starts."""
    seen = "s0.w s1.w\ns0.w q0.w\ns1.r.rel s0.w\n"
    (tmp_path / "plain").write_text(seen)
    (tmp_path / "hidden").write_text(seen + "s1.r.rel s1.r.v s0.w\n")
    words = [["give", f"{kind}{k}", "now"] for kind in "bc" for k in range(5)]
    trees = [[(0, "root"), (1, "obj"), (1, kind)] for kind in "bc" for _ in range(5)]

    def right(features: str, variants: int, seed: int) -> int:
        search = Beam(8, update="max-violation")
        parser = Parser(
            tmp_path / features, variants=variants, seed=seed, passes=30, estimator="last", search=search
        ).fit(words, trees)
        return sum(own == tree for own, tree in zip(parser.predict(words), trees, strict=True))

    assert all(right("plain", 1, seed) <= 5 for seed in range(1, 4))
    assert max(right("hidden", 2, seed) for seed in range(1, 9)) == 10
