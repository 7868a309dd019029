"""Confidences of a Tagger: against the probabilities of all label sequences, in files, in blocks, and by name."""

from __future__ import annotations

import itertools
import math
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from chain_arrays import tokens_of, weights_by_name
from fitting import flat_tagger
from naive_chain import Model, path_score

from palmette import Crf, Tagger
from palmette.data import Span, corpus_from_items, spans
from palmette.data.model_file import load, save
from palmette.datasets import load_demo
from palmette.errors import DataError, ModelError, UsageError

CHUNKS = ["O", "B-X", "I-X"]
ORDERS = {
    0: "U0:%x[0,0]\nU1:%x[-1,0]",
    1: "U0:%x[0,0]\nB\nB1:%x[0,0]",
    2: "*0:%x[0,0]\nB\nT",
}
KINDS = [(order, latent, constraints) for order in (0, 1, 2) for latent in (1, 2) for constraints in ("auto", "none")]
SENTENCES = [["a", "b", "a"], ["c"], ["b", "b"], ["a", "c", "b", "a"]]


def chunk_task() -> tuple[list[list[str]], list[list[str]]]:
    """Words that say something about spans, not everything."""
    rng = np.random.default_rng(5)
    X, y = [], []
    for _ in range(30):
        own = [str(rng.choice(["O", "B-X"]))]
        for _ in range(int(rng.integers(0, 5))):
            own.append(str(rng.choice(CHUNKS if own[-1] != "O" else CHUNKS[:2])))
        y.append(own)
        X.append(["abc"[CHUNKS.index(label)] if rng.random() < 0.7 else str(rng.choice(list("abc"))) for label in own])
    return X, y


@pytest.fixture(scope="module", params=KINDS, ids=lambda kind: "-".join(map(str, kind)))
def tagger(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Tagger:
    """Models of all orders, plain and latent, with forbidden transitions and without, at a temperature."""
    order, latent, constraints = request.param
    template = tmp_path_factory.mktemp("templates") / "t.txt"
    template.write_text(ORDERS[order])
    options = {"latent": 2, "init_size": 0.5} if latent == 2 else {}
    made = flat_tagger(template=template, passes=2, constraints=constraints, **options).fit(*chunk_task())
    made.model_.meta["calibration"] = {"temperature": 2.5}
    return made


def every(tagger: Tagger, sentence: list[str], allowed: list | None = None) -> dict[tuple[str, ...], float]:
    """The confidence of each label sequence, by `log_probability`; among those allowed if that is given."""
    choices = [
        [y for y in tagger.labels_ if want is None or y == want or (isinstance(want, set) and y in want)]
        for want in allowed or [None] * len(sentence)
    ]
    sequences = list(itertools.product(*choices))
    found = tagger.log_probability([sentence] * len(sequences), [list(labels) for labels in sequences])
    total = math.fsum(map(math.exp, found))
    if allowed is None:
        assert total == pytest.approx(1.0, abs=1e-6)
    return {labels: math.exp(log_p) / total for labels, log_p in zip(sequences, found, strict=True)}


ALLOWED: list = [None, [None, {"O", "I-X", "B-X"}, "O", None]]


@pytest.mark.parametrize("allowed", ALLOWED)
def test_everything_is_a_sum_over_label_sequences(tagger: Tagger, allowed: list | None) -> None:
    masks = [None if allowed is None else allowed[: len(sentence)] for sentence in SENTENCES]
    asked = None if allowed is None else masks
    told = tagger.predict_confidence(SENTENCES, allowed=asked)
    marginals = tagger.predict_marginals(SENTENCES, allowed=asked)
    for sentence, mask, one, tables in zip(SENTENCES, masks, told, marginals, strict=True):
        p = every(tagger, sentence, mask)
        assert one["confidence"] == pytest.approx(p[tuple(one["tags"])], abs=2e-6)
        for i, table in enumerate(tables):
            assert list(table) == tagger.labels_
            for label, share in table.items():
                assert share == pytest.approx(sum(q for ys, q in p.items() if ys[i] == label), abs=2e-6)
            assert one["token_confidence"][i] == pytest.approx(table[one["tags"][i]], abs=2e-6)
        found = {Span(row["type"], row["start"], row["end"]): row["confidence"] for row in one["span_confidence"]}
        assert list(found) == spans(one["tags"])
        for span, share in found.items():
            assert share == pytest.approx(sum(q for ys, q in p.items() if span in spans(ys)), abs=2e-6)


def test_sequences_by_the_scores_of_their_paths(tagger: Tagger) -> None:
    """P(labels) from the definition: weights by name, every path of states, scores divided by the temperature."""
    model = tagger.model_
    names, states_per_label = model.shape.state_names(model.labels), model.shape.states_per_label
    H = model.shape.n_states
    weights = {}
    for (kind, *rest), weight in weights_by_name(replace(model, labels=names)).items():
        places = rest[1:] if kind in ("one", "two", "three") else rest
        head = rest[:1] if kind in ("one", "two", "three") else []
        weights[(kind, *head, *(names.index(name) for name in places))] = weight / 2.5
    forbidden = frozenset(
        [("start", h) for h in range(H) if model.chain.first[h] < 0]
        + [("end", h) for h in range(H) if model.chain.last[h] < 0]
        + [("pair", g, h) for g in range(H) for h in range(H) if model.chain.forbid[g, h] < 0]
    )
    naive = Model(model.chain.order, H, weights, forbidden)
    assert model.encoder is not None
    for sentence in SENTENCES:
        tokens = tokens_of(model.encoder.templates, [[word] for word in sentence])
        shares: dict[tuple[str, ...], float] = dict.fromkeys(itertools.product(model.labels, repeat=len(tokens)), 0.0)
        for path in itertools.product(range(H), repeat=len(tokens)):
            shares[tuple(model.labels[h // states_per_label] for h in path)] += math.exp(
                path_score(naive, tokens, path)
            )
        total = sum(shares.values())
        for labels, share in every(tagger, sentence).items():
            assert share == pytest.approx(shares[labels] / total, abs=1e-6)


def test_posterior_labels_are_those_with_the_largest_marginals(tagger: Tagger) -> None:
    labels = tagger.predict(SENTENCES, decode="marginal")
    for own, tables in zip(labels, tagger.predict_marginals(SENTENCES), strict=True):
        for label, table in zip(own, tables, strict=True):
            assert table[label] == pytest.approx(max(table.values()), abs=1e-9)


def test_the_exact_search_and_the_confidence_of_its_labels_agree(tagger: Tagger) -> None:
    labels, _ = tagger.predict_exact(SENTENCES)
    corpus = corpus_from_items(SENTENCES).corpus
    log_shares = tagger.model_.decode(corpus, "exact").scores
    assert tagger.log_probability(SENTENCES, labels) == pytest.approx(log_shares.tolist(), abs=1e-6)
    for sentence, own, log_share in zip(SENTENCES, labels, log_shares, strict=True):
        shares = every(tagger, sentence)
        assert shares[tuple(own)] == pytest.approx(max(shares.values()), abs=1e-6)
        assert shares[tuple(own)] == pytest.approx(math.exp(log_share), abs=1e-6)


# --- the names of things ------------------------------------------------------------------------------------


def test_a_perceptron_has_probabilities_after_calibration_only() -> None:
    X, y = load_demo("train")
    dev = load_demo("dev")
    tagger = Tagger("chunk", learner="perceptron", passes=3).fit(X, y)
    sentence = dev[0][:2]
    assert not tagger.calibrated_
    assert tagger.temperature_ == 1.0
    with pytest.raises(UsageError, match=r"not calibrated.*calibrate\(X, y\)"):
        tagger.predict_proba(sentence)
    before = tagger.predict(dev[0])
    found = tagger.calibrate(*dev)
    assert tagger.calibrated_
    assert tagger.temperature_ == found.temperature > 1
    assert tagger.predict(dev[0]) == before
    tables = tagger.predict_proba([*sentence, []])
    assert [table.shape for table in tables] == [(len(s), len(tagger.classes_)) for s in [*sentence, []]]
    assert tables[0].sum(axis=1) == pytest.approx(1.0)
    told = tagger.predict_confidence([*sentence, []])
    assert told[2] == {"tags": [], "confidence": 1.0, "token_confidence": [], "calibrated": True, "span_confidence": []}
    assert tagger.predict_marginals([[]]) == [[]]
    own = np.exp(tagger.log_probability(sentence, [row["tags"] for row in told[:2]]))
    assert own == pytest.approx([row["confidence"] for row in told[:2]], rel=1e-5)
    logs = tagger.log_probability([[], *sentence], [[], *([None] * len(s) for s in sentence)])
    assert logs == pytest.approx([0.0] * 3, abs=1e-9)
    tagger.partial_fit(X, y)
    assert not tagger.calibrated_  # other weights have another scale


def test_a_crf_has_probabilities_as_it_comes() -> None:
    tagger = Tagger(template=None, learner=Crf(iterations=5), features="pos", order=0).fit(*chunk_task())
    assert tagger.calibrated_
    assert tagger.log_probability([["a", "b"]], [["O", "B-X"]])[0] < 0
    with pytest.raises(DataError, match="the model has no label 'Z'"):
        tagger.log_probability([["a"]], [["Z"]])
    with pytest.raises(UsageError, match="is not trained yet"):
        Tagger("pos").predict_marginals([["a"]])
    with pytest.raises(DataError, match="no labelled sentence to calibrate on"):
        tagger.calibrate([], [])


def test_the_temperature_is_saved_and_checked(tmp_path: Path) -> None:
    tagger = Tagger("pos", passes=2).fit(*chunk_task())
    tagger.calibrate(*chunk_task())
    path = tmp_path / "m.palm"
    tagger.save(path, prune=True)
    again = Tagger.load(path)
    assert again.temperature_ == tagger.temperature_
    assert again.model_.meta["calibration"] == tagger.model_.meta["calibration"]
    assert again.predict_confidence(SENTENCES) == tagger.predict_confidence(SENTENCES)
    for wrong in ({"temperature": 0.0}, {"temperature": "hot"}, {}, {"temperature": 1e300}, 7):
        arrays, meta = load(str(path))
        save(str(tmp_path / "bad.palm"), arrays, meta | {"calibration": wrong})
        with pytest.raises(ModelError, match="damaged model: its metadata cannot be read"):
            Tagger.load(tmp_path / "bad.palm")


def test_marginals_that_are_no_probabilities_are_reported_once(logged: list[str]) -> None:
    X, y = [["a", "b"], ["b", "a"], ["a", "b"], ["a", "a"]], [["N", "V"], ["V", "N"], ["V", "N"], ["N", "N"]]
    tagger = Tagger("pos", passes=2).fit(X[:2], y[:2])
    for _ in range(2):
        tagger.predict_marginals(X)
    (warning,) = [message for message in logged if message.startswith("predict_marginals")]
    assert "calibrate" in warning
    tagger.calibrate(X, y)
    tagger.predict_marginals(X)
    Tagger("pos", learner=Crf(iterations=2)).fit(X, y).predict_marginals(X)
    assert len([message for message in logged if message.startswith("predict_marginals")]) == 1
