"""What a score is made of, against the bags of features of the naive twin; and explanations that add up."""

from __future__ import annotations

import json
import math
from pathlib import Path

import numpy as np
import pytest
from chain_arrays import Case, chain_of, data_of
from cli_run import Cli
from fitting import flat_tagger
from hypothesis import given
from hypothesis import strategies as st
from naive_chain import path_score
from strategies import cases, few

from palmette.data import corpus_from_items
from palmette.errors import DataError
from palmette.features import parse
from palmette.structures import explain
from palmette.structures.chain.explain import parts_of

SENTENCES = [
    ["the", "dog", "barks"],
    ["a", "cat", "sleeps", "here"],
    ["dogs", "sleep"],
    ["here", "the", "cat", "barks"],
]
TAGS = [["D", "N", "V"], ["D", "N", "V", "A"], ["N", "V"], ["A", "D", "N", "V"]]


@few(3)
@given(cases(latent=True), st.integers(0, 2**32))
def test_the_parts_of_a_path_add_up_to_its_score(case: Case, seed: int) -> None:
    case = case._replace(sentences=case.sentences[:1], known=case.known[:1], weights=case.weights[:1])
    rng = np.random.default_rng(seed)
    path = tuple(rng.integers(0, case.model.n_states, len(case.sentences[0])).tolist())
    free = case.model
    free.forbidden = frozenset()
    found = math.fsum(part.weight * part.value for part in parts_of(chain_of(case), data_of(case), path))
    assert found == path_score(free, case.sentences[0], path)


@pytest.mark.parametrize("order", [0, 1, 2])
@pytest.mark.parametrize(
    "options",
    [
        {},
        {"latent": 2},
        {"learner": "crf", "passes": None, "iterations": 3},
        {"edge_features": "seen"},
        {"bias": {"N": -0.75}},
    ],
    ids=str,
)
def test_contributions_add_up_to_the_difference(order: int, options: dict) -> None:
    template = ["U0:%x[0,0]", "U1:%x[-1,0]/%x[0,0]", "U2:%x[0,0,suffix2]"]
    template += [["", "*0:%x[0,0]", "*0:%x[0,0]\nT\nT0:%x[0,0]"][order]]
    options = dict(options)
    bias = options.pop("bias", {})
    tagger = flat_tagger(template=parse("\n".join(template)), **{"passes": 3} | options).fit(SENTENCES, TAGS)
    tagger.model_.bias = bias
    for sentence in [*SENTENCES, ["unseen"], ["the", "unseen", "dog", "sleeps", "here"]]:
        first, second = tagger.nbest([sentence], 2)[0]
        found = explain(tagger.model_, corpus_from_items([sentence], None, mode="columns").corpus)
        assert (found.first.output, found.second.output) == (first.output, second.output)
        assert found.first.score == pytest.approx(first.score, rel=1e-5, abs=1e-5)
        assert found.second.score == pytest.approx(second.score, rel=1e-5, abs=1e-5)
        assert abs(found.difference - (found.first.score - found.second.score)) < 1e-12
        assert abs(found.difference - math.fsum(c.amount for c in found.contributions)) < 1e-12
        sizes = [abs(c.amount) for c in found.contributions]
        assert sizes == sorted(sizes, reverse=True)
        assert 0 not in sizes
        assert bool(bias) >= any(c.attribute == "(bias)" for c in found.contributions)
        if "latent" in options:
            assert [name.partition("#")[0] for name in found.first_states or ()] == first.output
        else:
            assert found.first_states is None


@pytest.fixture
def cli(tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Cli:
    return Cli(tmp_path, capsys, monkeypatch)


def test_the_command(cli: Cli) -> None:
    rows = [
        f"{word} {tag}"
        for words, tags in zip(SENTENCES, TAGS, strict=True)
        for word, tag in zip(words, tags, strict=True)
    ]
    cli.write("train.txt", "\n".join(rows[:3]) + "\n\n" + "\n".join(rows[3:]) + "\n")
    cli.fine("train train.txt -f pos -o m.palm -q --passes 3")
    printed = cli.fine("explain m.palm", "the dog sleeps")
    assert "runner-up" in printed
    assert "total" in printed
    told = json.loads(cli.fine("explain m.palm --json", "the dog sleeps"))
    assert told["tokens"] == ["the", "dog", "sleeps"]
    assert abs(math.fsum(row["amount"] for row in told["contributions"]) - told["difference"]) < 1e-12
    assert told["best"]["tags"] != told["runner_up"]["tags"]
    assert "probability" not in told["best"]
    of_file = json.loads(cli.fine("explain m.palm --data train.txt --sentence 2 --json"))
    assert of_file["tokens"][:2] == ["a", "cat"]
    few_rows = cli.fine("explain m.palm --top 1", "the dog sleeps")
    assert "others" in few_rows


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("explain m.palm", "a sentence"),
        ("explain m.palm a --data train.txt", "either a sentence"),
        ("explain m.palm a --sentence 2", "--data FILE"),
        ("explain m.palm --data train.txt --unit char", "typed sentence"),
        ("explain m.palm a --top 0", "--top"),
        ("explain m.palm --data train.txt --sentence 7", "no sentence 7"),
        ("explain m.palm ' '", "no word"),
    ],
)
def test_wrong_usage_is_told(cli: Cli, line: str, words: str) -> None:
    cli.write("train.txt", "a D\ndog N\n\n")
    cli.fine("train train.txt -f pos -o m.palm -q --passes 1")
    ran = cli(line)
    assert ran.code in (1, 2)
    assert words in ran.err


def test_one_possible_sequence_leaves_nothing_to_weigh(cli: Cli) -> None:
    cli.write("train.txt", "a X\nb X\n\n")
    cli.fine("train train.txt -f pos -o m.palm -q --passes 1")
    ran = cli("explain m.palm a")
    assert (ran.code, "only one possible" in ran.err) == (1, True)


def test_a_tagger_explains_sentences_of_all_kinds() -> None:
    words = flat_tagger(template=parse("U0:%x[0,0]\nB"), passes=3).fit(SENTENCES, TAGS)
    ready_made = flat_tagger(passes=3).fit([[{"U0": word} for word in sentence] for sentence in SENTENCES], TAGS)
    for tagger, sentence in ((words, SENTENCES[1]), (ready_made, [{"U0": word} for word in SENTENCES[1]])):
        first, second = tagger.nbest([sentence], 2)[0]
        found = tagger.explain(sentence)
        assert (found.first.output, found.second.output) == (first.output, second.output)
        amounts = [contribution.amount for contribution in found.contributions]
        assert math.isclose(math.fsum(amounts), found.difference, abs_tol=1e-12)
        assert amounts == sorted(amounts, key=lambda amount: -abs(amount))
    runner_up = words.nbest([["the", "dog"]], 2)[0][1].output
    assert words.explain(["the", "dog"], bias={runner_up[1]: 100.0}).first.output[1] == runner_up[1]
    with pytest.raises(DataError, match="a sentence without tokens has nothing to explain"):
        words.explain([])
