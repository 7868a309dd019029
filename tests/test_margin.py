"""The margins kernel against all paths, and the figures that `inspect --data` tells of a model."""

from __future__ import annotations

import json
import math
from pathlib import Path

import numpy as np
import pytest
from chain_arrays import Case, chain_of, column_corpus, data_of, in_order_of_occurrence
from cli_run import Cli, leave_demo
from fitting import TEMPLATES, fit, noisy
from hypothesis import given
from naive_chain import Model, Token, norm
from naive_latent import States, latent_twin, state_examples, state_weights
from naive_margin import longest, right_and_wrong
from strategies import cases, few

from palmette.features import parse
from palmette.kernels.chain.forms import make_trellis
from palmette.kernels.chain.max_recursion import margins
from palmette.structures import longest_features, mistakes_bound, separation


@pytest.fixture
def cli(tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Cli:
    return Cli(tmp_path, capsys, monkeypatch)


def measured(case: Case) -> list[tuple[float, float, float]]:
    n = len(case.sentences)
    right, worst, wrong = (np.full(n, np.nan) for _ in range(3))
    chain, data = chain_of(case), data_of(case)
    margins(chain, data, make_trellis(chain, data), right, worst, wrong)
    return list(zip(right.tolist(), worst.tolist(), wrong.tolist(), strict=True))


@few(2)
@given(cases(latent=True))
def test_margins_are_those_of_all_paths(case: Case) -> None:
    """Any order, several states a label, partial knowledge, forbidden transitions, biases; all sums are exact."""
    expected = [right_and_wrong(case.model, s, case.allowed(k)) for k, s in enumerate(case.sentences)]
    assert measured(case) == expected


@pytest.mark.parametrize("order", [0, 1, 2])
def test_a_latent_path_with_the_right_labels_is_no_rival(order: int) -> None:
    """States 0 and 1 are of label 0: between them there is nothing to separate."""
    model = Model(order, 3, {("one", 0, 0): 2.0, ("one", 0, 1): 1.5, ("one", 0, 2): 1.0}, ends=False)
    case = Case(model, (0, 0, 1), (1, 0, 0), [[Token(((0, 1.0),))] * 2], [[frozenset([0])] * 2], [1.0])
    assert measured(case) == [(4.0, 3.0, 3.0)]
    assert measured(case._replace(known=[[frozenset([0, 1])] * 2])) == [(4.0, 2.0, -math.inf)]


@pytest.mark.parametrize("order", [0, 1, 2])
def test_a_forbidden_gold_path_is_not_right(order: int) -> None:
    model = Model(order, 2, {("one", 0, 0): 1.0}, forbidden=frozenset({("start", 0)}))
    case = Case(model, (0, 1), (1, 0, 0), [[Token(((0, 1.0),))] * 2], [[frozenset([0])] * 2], [1.0])
    assert measured(case) == [(-math.inf, math.inf, 1.0)]


# --- M ------------------------------------------------------------------------------------------------------


def positive(case: Case) -> Case:
    """The same with values above zero, and nothing on pairs and triples where there are none yet."""

    def tokens(sentence: list[Token]) -> list[Token]:
        lists = [Token(*(tuple((a, abs(v)) for a, v in one) for one in token)) for token in sentence]
        return [Token(t.one, t.two if i > 0 else (), t.three if i > 1 else ()) for i, t in enumerate(lists)]

    model = Model(case.model.order, case.model.n_states, ends=case.model.ends, transitions=case.model.transitions)
    return case._replace(model=model, sentences=[tokens(sentence) for sentence in case.sentences])


@few()
@given(cases(latent=True, learning=True, max_tokens=3))
def test_the_longest_feature_vector(case: Case) -> None:
    case = positive(case)
    found = longest_features(chain_of(case), data_of(case))
    assert found == pytest.approx(longest(case.model, case.sentences))


def test_the_longest_feature_vector_with_negative_values() -> None:
    sentence = [Token(((0, 1.0),)), Token(((0, -1.0),))]
    case = Case(Model(0, 2, ends=False), (0, 1), (1, 0, 0), [sentence], [[frozenset([0])] * 2], [1.0])
    assert longest_features(chain_of(case), data_of(case)) >= longest(case.model, case.sentences)


# --- of a trained model -------------------------------------------------------------------------------------


@pytest.mark.parametrize("latent", [1, 2, {"N": 2, "D": 3}])
@pytest.mark.parametrize("order", [0, 1, 2])
def test_separation_of_a_trained_model(order: int, latent: int | dict[str, int]) -> None:
    sentences, labels = noisy()
    sentences, labels = [s[:3] for s in sentences], [own[:3] for own in labels]
    corpus = column_corpus(sentences, labels)
    model, _ = fit(corpus, TEMPLATES[order], latent=latent, passes=3)
    names = in_order_of_occurrence(labels)
    counts = [latent if isinstance(latent, int) else latent.get(name, 1) for name in names]
    states = States(names, counts)
    twin, _ = latent_twin(TEMPLATES[order], states)
    twin.weights = state_weights(model)
    wanted = [[{label} for label in own] for own in labels]
    examples = state_examples(parse(TEMPLATES[order]), sentences, wanted, states)
    length = norm(twin.weights)
    found = [right_and_wrong(twin, e.sentence, e.allowed) for e in examples]
    distances = np.array([(right - wrong) / length for right, _, wrong in found])
    strict = np.array([(worst - wrong) / length for _, worst, wrong in found])
    told = separation(model, corpus)
    assert told.sentences == len(sentences)
    assert told.separated == pytest.approx(np.mean(distances > 0))
    assert 0.2 < told.separated < 1
    assert told.margin == pytest.approx(distances.min(), abs=1e-5)
    assert told.strict_margin == pytest.approx(strict.min(), abs=1e-5)
    assert told.strict_margin < told.margin or latent == 1
    tied = 1.0 if latent != 1 else 0.0  # the default
    assert told.bound == pytest.approx(mistakes_bound(strict, told.longest * math.sqrt(1 + tied))[0], rel=1e-3)
    assert told.median_margin == pytest.approx(np.median(distances), abs=1e-5)
    assert told.norm == pytest.approx(length, rel=1e-5)
    # Attributes that never got a weight are not in the model, and no feature of it.
    assert told.longest <= longest(twin, [e.sentence for e in examples]) + 1e-9
    shares = {name: sum(v for k, v in told.usage.items() if k.rpartition("#")[0] == name) for name in names}
    assert told.usage == {} if latent == 1 else all(share == pytest.approx(1) for share in shares.values())


def test_what_inspect_tells_of_data(cli: Cli) -> None:
    leave_demo(cli.folder)
    cli.fine("train train.txt -o m.palm -f chunk --latent 2 --passes 4 -q")
    about = json.loads(cli.fine("inspect m.palm --data test.txt --json"))
    found = about["separation"]
    assert 0 < found["separated"] < 1
    assert found["margin"] < 0 < found["longest"]
    assert set(found["usage"]) == {f"{label}#{k}" for label in about["labels"] for k in (1, 2)}


def test_what_inspect_tells_of_separated_data(cli: Cli) -> None:
    cli.write("train.txt", "a N\nb V\n\nb V\na N\na N\n")
    cli.write("u.txt", "U0:%x[0,0]\nU\n")
    cli.fine("train train.txt -o m.palm -t u.txt --passes 9 --estimator last --no-ends -q")
    found = json.loads(cli.fine("inspect m.palm --data train.txt --json"))["separation"]
    assert found["separated"] == 1.0
    assert found["margin"] > 0
    # Three tokens of one label: U three times, a twice, b once.
    assert found["longest"] == pytest.approx(math.sqrt(9 + 4 + 1))
    assert found["bound"] == pytest.approx(2 * 14 / found["margin"] ** 2)
    assert "100.0% of 2 sentences" in cli.fine("inspect m.palm --data train.txt")
