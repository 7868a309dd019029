"""Parsers that are trained further, exactly or from their weights; and features that are left out."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np
import pytest
from cli_run import Cli
from hypothesis import assume, given, note
from hypothesis import strategies as st
from naive_parse import Risky, Sentence, templates_of
from naive_parse import actions_of as naive_actions
from naive_parse_training import Rule, Training
from parse_cases import BEAMS, TEXTS, Bank, Taught, banks
from strategies import few

from palmette import Beam, Parser
from palmette.data import Treebank
from palmette.datasets import load_trees
from palmette.errors import UsageError
from palmette.parsing import ParserModel
from palmette.parsing import training as tree_training
from palmette.parsing.kernels.weights import lists_of
from palmette.parsing.training import made_projective
from palmette.training import shuffled

PASS = 15
LEARNERS = ("perceptron", "probperc", "mira", "pa", "arow")


def some(first: int, last: int) -> Treebank:
    return load_trees("train").take(np.arange(first, last))


def parser(**options: Any) -> Parser:
    return Parser("basic", **{"search": Beam(4), "seed": 3, **options})


def reloaded(model: ParserModel, folder: Path) -> ParserModel:
    model.save(str(folder / "m.palm"))
    return Parser.load(folder / "m.palm").model_


def same_bits(one: ParserModel, other: ParserModel) -> bool:
    pairs = ((one.weights.table, other.weights.table), (one.weights.entry, other.weights.entry))
    return one.actions == other.actions and all(np.array_equal(a, b) for a, b in pairs)


# --- going on exactly -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("learner", LEARNERS)
@pytest.mark.parametrize(
    "options",
    [{}, {"estimator": "mavg", "mavg_every": 2}, {"merge": True}, {"min_count": 2, "estimator": "last"}],
    ids=["avg", "mavg", "merge", "min_count"],
)
def test_three_passes_and_three_more_are_six(learner: str, options: dict[str, Any], tmp_path: Path) -> None:
    """Bit for bit, places in the file included."""
    data = some(0, 20)
    six = parser(learner=learner, passes=6, **options).fit(data)
    three = parser(learner=learner, passes=3, **options).fit(data, checkpoint=True)
    more = parser(learner=learner, passes=3, **options).fit(data, resume=reloaded(three.model_, tmp_path))
    assert same_bits(more.model_, six.model_)
    assert not same_bits(more.model_, three.model_)
    for name in ("number", "updates", "wrong"):
        assert [row[name] for row in more.training_log_] == [row[name] for row in six.training_log_]


@pytest.mark.parametrize("first", [1, 2, 4])
def test_wherever_training_stops(first: int, tmp_path: Path) -> None:
    """Little room to begin with: tables and lists grow before and after the break."""
    data = some(0, 20)
    with mock.patch.multiple(tree_training, PLACES=16, CAPACITY=64):
        five = parser(passes=5).fit(data, checkpoint=True)
        part = parser(passes=first).fit(data, checkpoint=True)
        model = reloaded(part.model_, tmp_path)
        more = parser(passes=5 - first).fit(data, resume=model, checkpoint=True)
    assert same_bits(more.model_, five.model_)
    assert five.model_.checkpoint.keys() == more.model_.checkpoint.keys()
    for name, array in five.model_.checkpoint.items():
        assert np.array_equal(array, more.model_.checkpoint[name])


@pytest.mark.parametrize("first", [2, 6])
def test_with_dev_the_best_of_both_parts_is_kept(first: int, tmp_path: Path) -> None:
    data, dev, options = some(0, 48), load_trees("test"), {"estimator": "last", "search": Beam(2, update="early")}
    whole = parser(passes=8, **options).fit(data, dev=dev)
    part = parser(passes=first, **options).fit(data, dev=dev, checkpoint=True)
    more = parser(passes=8 - first, **options).fit(data, dev=dev, resume=reloaded(part.model_, tmp_path))
    assert len(whole.training_log_) == 8
    assert [row["dev"] for row in more.training_log_] == [row["dev"] for row in whole.training_log_]
    assert more.outcome_.best_epoch == whole.outcome_.best_epoch
    assert same_bits(more.model_, whole.model_)


def test_the_old_model_is_not_changed(tmp_path: Path) -> None:
    old = parser(passes=2).fit(some(0, 10), checkpoint=True).model_
    before = {name: array.copy() for name, array in old.checkpoint.items()}
    table, entry = old.weights.table.copy(), old.weights.entry.copy()
    parser(passes=2).fit(some(5, 20), resume=old)
    assert all(np.array_equal(before[name], old.checkpoint[name]) for name in before)
    assert np.array_equal(table, old.weights.table)
    assert np.array_equal(entry, old.weights.entry)


# --- going on with other data -----------------------------------------------------------------------------------


def twin_pass(twin: Training, bank: Bank, number: int) -> None:
    for s in shuffled(1, number, len(bank.trees)).tolist():
        twin.learn(Sentence(bank.words[s], templates_of(TEXTS["basic"])), bank.trees[s])


def weights_of(model: ParserModel) -> list[float]:
    found = model.weights.entry.view(np.float32)[1::2]
    return sorted(found[found != 0].tolist())


@few()
@given(banks(most=4, relations=1), banks(most=4, relations=3), st.sampled_from(BEAMS), st.booleans())
def test_new_data_and_relations(bank: Bank, other: Bank, beam: int, exactly: bool) -> None:
    """As if the second treebank had followed the first, its relations being added to the end of the actions; without a
    checkpoint from the last weights, with a new average."""
    assume((made_projective(bank.treebank(), "skip").heads > 0).any())
    settings = {"passes": 2, "search": Beam(beam, update="max-violation"), "non_projective": "skip"}
    one = Parser("basic", estimator="last", **settings).fit(bank.treebank(), checkpoint=exactly)
    two = Parser("basic", estimator="avg", **settings).fit(other.treebank(), resume=one.model_)
    twin = Training(naive_actions(bank.trees), Rule("max-violation", beam))
    done = len(one.training_log_)
    for number in range(1, done + 1):
        twin_pass(twin, bank, number)
    if not exactly:
        twin.sums.clear()
        twin.clock = 1.0
    known = list(twin.actions)
    twin.actions = known + [action for action in naive_actions(other.trees) if action not in known]
    for number in range(done + 1, len(two.training_log_) + 1):
        twin_pass(twin, other, number)
    names = {1: "left", 2: "right"}
    assert [(names[move], name) for move, name in two.model_.actions[1:]] == list(twin.actions)[1:]
    expected = [weight for row in twin.averaged().weights.values() for weight in row.values() if weight]
    assert weights_of(two.model_) == pytest.approx(sorted(expected), rel=1e-6)


def test_partial_fit_is_fit_and_then_more_passes() -> None:
    first, second = some(0, 10), some(10, 20)
    one = parser(passes=2).partial_fit(first).partial_fit(second)
    start = parser(passes=2).fit(first, checkpoint=True)
    assert same_bits(one.model_, parser(passes=2).fit(second, resume=start.model_).model_)
    assert [row["number"] for row in one.training_log_] == [1, 2, 3, 4]
    assert len(one.predict(second)) == 10


def test_what_cannot_be_resumed(tmp_path: Path) -> None:
    data = some(0, 10)
    fitted = parser(passes=1).fit(data, checkpoint=True)
    with pytest.raises(UsageError, match="training continues with perceptron"):
        parser(learner="mira", passes=1).fit(data, resume=fitted.model_)
    fitted.compact()
    assert not fitted.model_.checkpoint
    with pytest.raises(UsageError, match="compact model cannot be trained further"):
        parser(passes=1).fit(data, resume=fitted.model_)


def test_on_the_command_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    cli = Cli(tmp_path, capsys, monkeypatch)
    cli.fine("demo --dataset trees")
    train = "parser train trees.conllu --beam 2 -q"
    cli.fine(f"{train} -f basic --ignore lemma --min-count 2 --learner mira --passes 2 -o a.palm --checkpoint")
    cli.fine(f"{train} --resume a.palm --passes 2 -o b.palm")
    cli.fine(f"{train} -f basic --ignore lemma --min-count 2 --learner mira --passes 4 -o c.palm")
    more, four = (Parser.load(tmp_path / name).model_ for name in ("b.palm", "c.palm"))
    assert same_bits(more, four)
    assert more.meta["ignored"] == ["lemma"]
    assert more.settings.min_count == 2
    for line, said in (
        ("--resume a.palm -f rich", "--resume continues with the templates"),
        ("--resume a.palm --ignore feats", "--resume continues with the templates"),
        ("--resume a.palm --learner pa", "training continues with mira"),
        ("--checkpoint --compact", "choose one of them"),
    ):
        ran = cli(f"{train} -o d.palm {line}")
        assert ran.code == 2
        assert said in ran.err


# --- features that are left out ---------------------------------------------------------------------------------


@few()
@given(
    st.booleans().flatmap(lambda varied: banks(varied=varied)), st.lists(st.integers(0, 99), min_size=7, max_size=PASS),
    st.sampled_from(["tiny", "basic"]), st.sampled_from(LEARNERS), st.sampled_from(BEAMS), st.sampled_from([1, 2, 3]),
)  # fmt: skip
def test_rare_features_have_no_weights(
    bank: Bank, order: list[int], templates: str, learner: str, beam: int, least: int
) -> None:
    """Neither in updates nor in inner products, for rules with learner state per weight too."""
    rule = Rule("max-violation", beam, learner, min(2, beam), spread=0.25 if learner == "arow" else 0.0)
    rule = replace(rule, sentences=len(bank.trees))
    both, done = Taught(bank, templates, rule, estimator="last", min_count=least), []
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
    found = both.learning.snapshot().entry.view(np.float32)[1::2]
    assert sorted(found[np.abs(found) > 1e-5].tolist()) == pytest.approx(expected, rel=1e-4, abs=1e-5)


def test_a_cut_off_leaves_little() -> None:
    data = some(0, 30)
    sizes = [parser(passes=2, min_count=least).fit(data).model_.counts()[0] for least in (0, 1, 2, 5, 10**6)]
    assert sizes[0] > sizes[1] > sizes[2] > sizes[3] > sizes[4] == 0


def test_more_data_brings_more_features() -> None:
    """Those that have weights stay, and those that are frequent in the new data are added."""
    first, second = some(0, 10), some(10, 30)
    one = parser(passes=2, min_count=2).fit(first, checkpoint=True).model_
    two = parser(passes=2, min_count=2).fit(second, resume=one, checkpoint=True).model_
    alone = parser(passes=1, min_count=2).fit(second, checkpoint=True).model_
    known, more, new = ({*m.checkpoint["table"][::2].tolist()} for m in (one, two, alone))
    assert more == known | new
    assert not known >= new
    assert lists_of(two.checkpoint["table"])[1].sum() > lists_of(one.checkpoint["table"])[1].sum()
