"""Compact parsers: what is stored, found and dropped; how little is lost; damaged files; the command line."""

from __future__ import annotations

import json
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from cli_run import Cli
from hypothesis import given
from hypothesis import strategies as st
from naive_parse_training import Rule
from naive_small import look_up, read_buckets
from parse_cases import Bank, Taught, banks
from strategies import few
from test_parser import SENTENCES, bank, quick
from test_parser_memo import Sizes, sizes

from palmette import Parser
from palmette.data import Treebank, model_file
from palmette.errors import ModelError, UsageError
from palmette.kernels.core.compile import kernel
from palmette.kernels.core.types import I64, U8
from palmette.kernels.core.vector import SHORTS, find_short
from palmette.kernels.learning.violation import STANDARD
from palmette.parsing import ParserModel
from palmette.parsing.compact import CompactFeatures, compact_parser, compact_weights, lists_in_order, worth
from palmette.parsing.kernels.forms import SearchOptions, Small, Weights, make_workspace
from palmette.parsing.kernels.small import small_lists, small_sizes, spread_small
from palmette.parsing.kernels.train import parse
from palmette.parsing.model import frozen_weights, longest, small_weights

orders = st.lists(st.integers(0, 99), min_size=15, max_size=15)


@st.composite
def lists(draw: st.DrawFn, most_actions: int = 300) -> tuple[CompactFeatures, int]:
    """Random features, some in the same buckets, some with lists that need their length in two bytes."""
    rng = np.random.default_rng(draw(st.integers(0, 10**6)))
    actions = draw(st.integers(1, most_actions))
    n = draw(st.sampled_from([0, 1, 3, 40, 200]))
    high = rng.integers(0, draw(st.sampled_from([4, 1 << 32])), n, dtype=np.uint64)
    keys = np.unique((high << np.uint64(32)) | rng.integers(0, draw(st.sampled_from([4, 1 << 32])), n, dtype=np.uint64))
    length = rng.integers(1, 1 + min(actions, draw(st.sampled_from([1, 4, 300]))), keys.size)
    ptr = np.concatenate(([0], np.cumsum(length))).astype(np.int64)
    action = [rng.choice(actions, n, replace=False) for n in length]
    weight = rng.choice([0.01, 1.0, 1.0, 200.0], ptr[-1]) * rng.normal(size=ptr[-1])
    joined = np.concatenate(action) if action else np.zeros(0)
    return CompactFeatures(keys, ptr, joined.astype(np.int32), weight.astype(np.float32)), actions


def as_dict(given: CompactFeatures) -> dict[int, dict[int, float]]:
    pairs = list(zip(given.action.tolist(), given.weight.tolist(), strict=True))
    return {int(key): dict(pairs[a:b]) for key, (a, b) in zip(given.keys, pairwise(given.ptr.tolist()), strict=True)}


@few(2)
@given(lists())
def test_what_is_stored(drawn: tuple[CompactFeatures, int]) -> None:
    """Each weight within half a step of its own list; of features that look alike in their bucket the heavier one."""
    given, actions = drawn
    small = compact_weights(given, actions).small
    buckets = read_buckets(small.start.tolist(), small.lists.tobytes(), small.step.tolist(), actions)
    expected, B = as_dict(given), small.start.size - 1
    heavy: dict[tuple[int, int], float] = {}
    for key, own in expected.items():
        kept = {a: w for a, w in own.items() if abs(w) >= small.step[0] / 2}
        known = ((key >> 32) * B >> 32, key & 0xFFFF)
        heavy[known] = max(heavy.get(known, 0.0), sum(w * w for w in kept.values()))
    for key, own in expected.items():
        kept = {a: w for a, w in own.items() if abs(w) >= small.step[0] / 2}
        if sum(w * w for w in kept.values()) < 0.999 * heavy[(key >> 32) * B >> 32, key & 0xFFFF]:
            continue
        found = look_up(buckets, key)
        if found.keys() != kept.keys():  # as heavy as another one
            continue
        wide = any(abs(w) > 127.6 * small.step[0] for w in kept.values())
        for action, weight in kept.items():
            assert found[action] == pytest.approx(weight, abs=float(small.step[int(wide)]) * 0.51)
    assert small_sizes(small, actions) == (sum(map(len, buckets)), sum(len(w) for b in buckets for w in b.values()))


@few()
@given(lists(), st.integers(1, 130))
def test_rows_of_long_lists(drawn: tuple[CompactFeatures, int], least: int) -> None:
    given, actions = drawn
    if given.keys.size > 100:
        return
    small = compact_weights(given, actions).small
    buckets = read_buckets(small.start.tolist(), small.lists.tobytes(), small.step.tolist(), actions)
    rows, long = spread_small(small, 304, least)
    expected = [own for bucket in buckets for own in bucket.values() if len(own) >= least]
    assert rows.size == 304 * len(expected)
    assert np.count_nonzero(long[::2]) == len(expected)
    for row, own in zip(rows.reshape(-1, 304), expected, strict=True):
        wanted = np.zeros(304)
        wanted[list(own)] = list(own.values())
        assert row == pytest.approx(wanted, rel=1e-6)


@few()
@given(banks(), orders, st.sampled_from(["tiny", "basic", "rich"]), st.sampled_from([1, 3]), sizes)
def test_a_compact_parser_parses_as_its_weights_say(
    bank: Bank, order: list[int], templates: str, beam: int, other: Sizes
) -> None:
    """The same trees and scores as a full parser with the rounded weights, in any size of memo and row."""
    both = Taught(bank, templates, Rule("early", beam), estimator="avg")
    both.learns([s % len(bank.trees) for s in order])
    full = both.model()
    small, report = compact_parser(full)
    assert report.before is report.after is report.loss is None
    assert small.is_compact
    rounded = _as_full(small, full, _asked(small, both.treebank, beam))
    with other:
        small = ParserModel(small.templates, small.actions, small.root, _again(small))
        found = small.parse(both.treebank, beam, False)
    expected = rounded.parse(both.treebank, beam, False)
    assert found.scores.tolist() == expected.scores.tolist()
    assert found.heads.tolist() == expected.heads.tolist()
    assert found.relations.tolist() == expected.relations.tolist()


def _asked(model: ParserModel, treebank: Treebank, beam: int) -> list[int]:
    """The keys of all features that a parser looks up: some that it does not have look like others."""
    words, grammar = model.encode(treebank), model.grammar()
    how = SearchOptions(beam, False, STANDARD)
    workspace = make_workspace(grammar, longest(words), how, words=10**6)
    n, S = treebank.n_tokens, treebank.n_sentences
    heads, relations = np.zeros(n, np.int32), np.zeros(n, np.int32)
    parse(workspace, grammar, model.weights, words, np.arange(S), how, heads, relations, np.zeros(S))
    keys = workspace.memo.table[::2]
    assert workspace.memo.used[0] == np.count_nonzero(keys)
    return keys[keys > 0].tolist()


def _again(model: ParserModel) -> Weights:
    return small_weights(model.weights.small, len(model.actions))


def _as_full(small: ParserModel, full: ParserModel, keys: list[int]) -> ParserModel:
    """A full parser with these features and the weights that the compact one has for them."""
    held = small.weights.small
    step = [float(x) for x in held.step]
    buckets = read_buckets(held.start.tolist(), held.lists.tobytes(), step, len(small.actions))
    places = 1 << (2 * len(keys) + 1).bit_length()
    table, entry = np.zeros((places, 2), np.uint64), []
    for key in keys:
        own = look_up(buckets, key)
        place = key & (places - 1)
        while table[place, 0]:
            place = (place + 1) & (places - 1)
        table[place] = key, (len(entry) | len(own) << 40) if own else 0
        entry += own.items()
    made = np.zeros(2 * max(1, len(entry)), np.int32)
    made[: 2 * len(entry) : 2] = [action for action, _ in entry]
    made.view(np.float32)[1 : 2 * len(entry) : 2] = [weight for _, weight in entry]
    weights = frozen_weights(table.reshape(-1), made, len(full.actions))
    return ParserModel(full.templates, full.actions, full.root, weights)


@few()
@given(lists(), st.sampled_from([0.0, 0.1, 1.0, 100.0]))
def test_what_is_not_worth_its_bytes(drawn: tuple[CompactFeatures, int], price: float) -> None:
    given, _ = drawn
    unit = price * float(np.median(given.weight.astype(np.float64) ** 2)) if given.weight.size else 0.0
    expected = {}
    for key, own in as_dict(given).items():
        kept = {action: w for action, w in own.items() if w * w >= 2 * unit}
        if kept and sum(w * w for w in kept.values()) >= unit * (3.3 + 2 * len(kept)):
            expected[key] = kept
    assert as_dict(worth(given, price)) == expected


def test_lists_in_order_are_those_of_the_table() -> None:
    model = quick(passes=3).fit(bank(*SENTENCES)).model_
    found = lists_in_order(model.weights)
    assert (np.diff(found.keys.astype(object)) > 0).all()
    assert sorted(found.keys.tolist()) == sorted(model.weights.table[::2][model.weights.table[::2] > 0].tolist())
    assert sorted(found.weight.tolist()) == sorted(model.weights.value[1::2].tolist())


# --- the parser -------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def small() -> Parser:
    parser = quick(passes=20, estimator="avg").fit(bank(*SENTENCES))
    report = parser.compact(bank(*SENTENCES))
    assert report.before == report.after == 1.0
    assert report.price > 0
    assert report.features[1] < report.features[0]
    assert report.weights[1] < report.weights[0]
    return parser


def test_a_saved_compact_parser_is_the_same(small: Parser, tmp_path: Path) -> None:
    small.save(tmp_path / "model")
    loaded = Parser.load(tmp_path / "model")
    assert loaded.model_.is_compact
    assert loaded.model_.counts() == small.model_.counts()
    assert loaded.predict(bank(*SENTENCES)) == small.predict(bank(*SENTENCES))
    assert [[one.score for one in own] for own in loaded.nbest(bank(*SENTENCES), 3)] == [
        [one.score for one in own] for own in small.nbest(bank(*SENTENCES), 3)
    ]
    loaded.save(tmp_path / "again")
    assert (tmp_path / "again").read_bytes() == (tmp_path / "model").read_bytes()
    with pytest.raises(UsageError, match="compact already"):
        loaded.compact()


def test_features_that_are_no_hashes() -> None:
    keys = np.arange(1, 600, dtype=np.uint64)
    given = CompactFeatures(keys, np.arange(600), np.zeros(599, np.int32), np.ones(599, np.float32))
    with pytest.raises(ModelError, match="not spread"):
        compact_weights(given, 3)


def test_bad_calls(small: Parser) -> None:
    full = quick().fit(bank(*SENTENCES))
    for loss in (-1, 101):
        with pytest.raises(UsageError, match="most_loss"):
            full.compact(bank(*SENTENCES), most_loss=loss)
    assert not full.model_.is_compact


def _step(arrays: dict[str, np.ndarray]) -> None:
    arrays["small.step"][0] = np.nan


def _starts(arrays: dict[str, np.ndarray]) -> None:
    arrays["small.start"][-1] += 1


def _count(arrays: dict[str, np.ndarray]) -> None:
    arrays["small.lists"][arrays["small.start"][0]] += 1


def _last(arrays: dict[str, np.ndarray]) -> None:
    arrays["small.lists"] = arrays["small.lists"][:-1]


def _one(arrays: dict[str, np.ndarray]) -> None:
    arrays["small.start"] = arrays["small.start"][:1]


def _head(arrays: dict[str, np.ndarray]) -> None:
    at = arrays["small.start"][0]
    arrays["small.lists"][at + 1 + 2 * arrays["small.lists"][at]] = 127


def _action(arrays: dict[str, np.ndarray]) -> None:
    at = arrays["small.start"][0]
    arrays["small.lists"][at + 1 + 3 * int(arrays["small.lists"][at])] = 250


def _missing(arrays: dict[str, np.ndarray]) -> None:
    del arrays["small.start"]


@pytest.mark.parametrize("damage", [_step, _starts, _count, _last, _one, _head, _action, _missing])
def test_damaged_files_are_refused(small: Parser, tmp_path: Path, damage: Any) -> None:
    small.save(tmp_path / "model")
    loaded, meta = model_file.load(tmp_path / "model")
    arrays = {name: array.copy() for name, array in loaded.items()}
    damage(arrays)
    model_file.save(tmp_path / "bad", arrays, meta)
    with pytest.raises(ModelError, match="small") as caught:
        Parser.load(tmp_path / "bad")
    assert str(tmp_path / "bad") in str(caught.value)


@few(4)
@given(st.binary(min_size=1, max_size=60), st.lists(st.integers(0, 60), max_size=4), st.sampled_from([1, 5, 300]))
def test_any_bytes_are_lists_or_refused(data: bytes, cuts: list[int], actions: int) -> None:
    """The check agrees with the twin, and what it lets pass can be spread without leaving the array."""
    start = np.array(sorted({0, len(data), *(cut for cut in cuts if cut < len(data))}), np.int32)
    small = Small(start, np.frombuffer(data, np.uint8).copy(), np.ones(2, np.float32), 1 if actions <= 256 else 2)
    try:
        buckets = read_buckets(start.tolist(), data, [1.0, 1.0], actions)
        fine = all(own and max(own) < actions for bucket in buckets for own in bucket.values())
    except (AssertionError, IndexError, ValueError):
        fine = False
    features, _ = small_sizes(small, actions)
    if features >= 0:
        spread_small(small, 304, 1)
    if not fine:
        distinct = all(len(set(_keys(data[a:b]))) == data[a] for a, b in pairwise(start.tolist()))
        assert features < 0 or not distinct
    if features < 0 and fine:  # a list with an action twice is longer than its dictionary
        assert any(data[a] for a in start[:-1].tolist())


def _keys(data: bytes) -> list[int]:
    return [int.from_bytes(data[1 + 2 * k : 3 + 2 * k], "little") for k in range(data[0])]


@kernel
def _found(lists: U8, at: int, wanted: I64, out: I64) -> None:
    for k in range(wanted.size):
        out[k] = find_short(lists, at, wanted[k])


@pytest.mark.jit
def test_sixteen_at_once() -> None:
    rng = np.random.default_rng(1)
    data = rng.integers(0, 3, 2 * SHORTS + 3).astype(np.uint8)
    for at in range(4):
        numbers = [int.from_bytes(data[at + 2 * k : at + 2 * k + 2].tobytes(), "little") for k in range(SHORTS)]
        wanted = np.array([*sorted(set(numbers)), 7777], np.int64)
        out = np.zeros(wanted.size, np.int64)
        _found(data, at, wanted, out)
        assert out.tolist() == [numbers.index(n) if n in numbers else SHORTS for n in wanted.tolist()]


def test_sorted_lists_only() -> None:
    """What the writer makes is what the reader finds, with two bytes per action."""
    keys = np.array([5, 1 << 40, (1 << 63) + 9], np.uint64)
    start, data = small_lists(
        keys, np.array([0, 1, 3, 4]), np.array([299, 0, 256, 7], np.int32), np.array([-128, 127, -1, -32768], np.int32),
        np.array([0, 0, 1]), 2, 2,
    )  # fmt: skip
    buckets = read_buckets(start.tolist(), data.tobytes(), [1.0, 1.0], 300)
    assert [look_up(buckets, int(key)) for key in keys] == [{299: -128.0}, {0: 127.0, 256: -1.0}, {7: -32768.0}]
    assert json.loads(json.dumps(small_sizes(Small(start, data, np.ones(2, np.float32), 2), 300))) == [3, 4]


# --- the command line -------------------------------------------------------------------------------------------


def test_commands(tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    cli = Cli(tmp_path, capsys, monkeypatch)
    cli.fine("demo --dataset trees")
    train = "parser train trees.conllu --dev trees_test.conllu --features basic --beam 2 --passes 3"
    cli.fine(f"{train} -o full.palm -q")
    said = cli("parser compact full.palm -o small.palm --dev trees_test.conllu").err
    assert "LAS on the development data" in said
    assert "wrote small.palm" in said
    full, small = tmp_path / "full.palm", tmp_path / "small.palm"
    assert small.stat().st_size < 0.3 * full.stat().st_size
    about = json.loads(cli.fine("parser compact full.palm -o all.palm --json"))
    assert about["loss"] is None
    assert about["features"][0] >= about["features"][1] > 0.9 * about["features"][0]
    assert json.loads(cli.fine("parser inspect small.palm --json"))["compact"]
    assert "compact: features" in cli(f"{train} -o other.palm --compact").err
    assert (tmp_path / "other.palm").read_bytes() == small.read_bytes()
    ran = cli("parser compact small.palm -o x.palm")
    assert ran.code == 2
    assert "compact already" in ran.err
