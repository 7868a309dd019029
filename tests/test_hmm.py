"""Hidden Markov models: the worked examples, and tables, chains and counts against twins that list everything."""

from __future__ import annotations

import itertools
import math
import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from naive_hmm import END, START, Naive, estimated, viterbi
from strategies import few

from palmette import HMM, Tagger
from palmette.data import corpus_from_items, mask_from_items, model_file
from palmette.errors import DataError, ModelError, PalmetteError, UsageError
from palmette.features.resources import UNKNOWN, word_classes
from palmette.kernels.chain.forward_backward import log_partitions, make_sum_workspace
from palmette.lab.hmm.tables import ObservedWords, inner, learn_vocabulary
from palmette.structures import load_chain

# --- the language of two words ------------------------------------------------------------------------------

PIDGIN = Naive(
    {"D": 0.8, "V": 0.2},
    {"D": {"N": 1.0}, "N": {"D": 0.2, "N": 0.2, "V": 0.6}, "V": {"D": 0.8, "V": 0.2}},
    {"D": {"the": 1.0}, "N": {"can": 1.0}, "V": {"can": 1.0}},
)
WORDS, LABELS = ["the", "can", "can", "can", "the", "can"], ["D", "N", "V", "V", "D", "N"]
# Five sentences whose counts have exactly these shares.
HEARD = [labels.split() for labels in ("D N", "D N N V D N", "D N V V D N", "D N V D N D N", "V D N")]


@pytest.fixture(scope="module")
def pidgin() -> HMM:
    return HMM.from_tables(*PIDGIN)


def test_features_of_the_example(pidgin: HMM) -> None:
    expected = [1, 0, 0, 0, 2, 0, 0, 0, 1, 1, 0, 1, 0, 2, 2, 0, 2, 0]
    assert pidgin.feature_vector(WORDS, LABELS).tolist() == expected


def test_weights_of_the_example(pidgin: HMM) -> None:
    inf = math.inf
    first = [-0.22, -inf, -1.61, -inf, 0, -inf, -1.61, -1.61, -0.51, -0.22, -inf, -1.61]
    assert np.round(pidgin.weight_vector(), 2).tolist() == [*first, -inf, 0, 0, -inf, 0, -inf]


def test_probability_of_the_example(pidgin: HMM) -> None:
    assert math.exp(pidgin.log_joint([WORDS], [LABELS])[0]) == pytest.approx(0.0768, rel=1e-14)
    product = inner(pidgin.weight_vector(), pidgin.feature_vector(WORDS, LABELS))
    assert math.exp(product) == pytest.approx(0.0768, rel=1e-14)


def test_a_sentence_with_one_path(pidgin: HMM) -> None:
    sentence = [["can", "the", "can"]]
    assert pidgin.predict(sentence) == pidgin.predict(sentence, decode="marginal") == [["V", "D", "N"]]
    assert math.exp(pidgin.log_likelihood(sentence)[0]) == pytest.approx(0.16, rel=1e-6)
    assert pidgin.predict_marginal(sentence) == ([["V", "D", "N"]], [[1.0, 1.0, 1.0]])
    _, scores = pidgin.to_linear().tag(corpus_from_items(sentence).corpus)
    assert math.exp(scores[0]) == pytest.approx(0.16, rel=1e-6)


def test_counting_gives_the_tables_of_the_example(pidgin: HMM) -> None:
    words = [["the" if label == "D" else "can" for label in labels] for labels in HEARD]
    counted = HMM(smoothing=0, interpolate=False, rare=0, ends=False).fit(words, HEARD)
    assert counted.labels_ == pidgin.labels_
    assert counted.vocabulary_.names == pidgin.vocabulary_.names
    assert np.array_equal(counted.weight_vector(), pidgin.weight_vector())


# --- a can can can a can ------------------------------------------------------------------------------------

TAGS = {"a": ["D"], "can": ["N", "A", "V"]}
PTAG = {
    START: {"D": 1.0},
    "D": {"N": 1.0},
    "N": {"A": 0.5, "N": 0.25, END: 0.25},
    "A": {"V": 0.5, "A": 0.5},
    "V": {END: 0.5, "D": 0.5},
}
# The nonsense that a dictionary is for: "a" could be A.
PWORD = {"D": {"a": 0.5}, "N": {"can": 0.1}, "A": {"can": 0.2, "a": 0.8}, "V": {"can": 0.1}}


def test_a_tag_dictionary() -> None:
    words = ["a", "can", "can", "can", "a", "can"]
    expected = ["D", "N", "A", "V", "D", "N"]
    rest = {tag: row for tag, row in PTAG.items() if tag != START}
    hmm = HMM.from_tables(PTAG[START], rest, PWORD, dictionary=TAGS)
    assert hmm.predict([words]) == [expected]
    assert viterbi(words, TAGS, PTAG, PWORD) == expected
    free = HMM.from_tables(PTAG[START], rest, PWORD)
    assert free.predict([words]) == [["D", "N", "A", "A", "A", "V"]]
    # What the dictionary leaves has the same probability as before.
    joints = [math.exp(model.log_joint([words], [expected])[0]) for model in (hmm, free)]
    assert joints == pytest.approx([0.5 * 0.1 * 0.5 * 0.2 * 0.5 * 0.1 * 0.5 * 0.5 * 0.1 * 0.25] * 2)


def test_a_counted_dictionary_forbids_other_labels() -> None:
    words, labels = [["a", "can", "can"]] * 5 + [["b", "can"]], [["D", "N", "V"]] * 5 + [["V", "N"]]
    for dictionary, infeasible in ((None, False), (5, True), (6, False)):
        hmm = HMM(rare=0, smoothing=0.5, dictionary=dictionary).fit(words, labels)
        column = hmm.tables_.emission[:, hmm.vocabulary_.find("a")]
        assert (column == 0).tolist() == [False, infeasible, infeasible]
        assert hmm.tables_.emission.sum(1) == pytest.approx(1)


# --- against lists of all sequences -------------------------------------------------------------------------


def random_row(rng: np.random.Generator, outcomes: list[str], total: float = 1.0, zeros: float = 0.3) -> dict:
    p = rng.random(len(outcomes)) * (rng.random(len(outcomes)) >= zeros)
    p[rng.integers(len(outcomes))] += 0.1
    return {outcome: float(v) for outcome, v in zip(outcomes, total * p / p.sum(), strict=True) if v > 0}


@st.composite
def tables(draw: st.DrawFn) -> Naive:
    """Random tables with rows that sum to 1, some numbers 0; order 1 or 2, with ends or without."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    labels = list("ABC")[: draw(st.integers(1, 3))]
    words = list("xyz")[: draw(st.integers(1, 3))]
    ends, order = draw(st.booleans()), draw(st.integers(1, 2))
    stop = {label: float(rng.choice([0.0, 0.25, 0.5])) if ends else 0.0 for label in labels}
    if ends:
        stop[labels[0]] = 0.5
    transition: dict = {g: random_row(rng, labels, 1 - stop[g]) for g in labels}
    for g in labels if ends else []:
        transition[g][END] = stop[g]
    if order == 2:
        transition |= {(f, g): random_row(rng, labels, 1 - stop[g]) for f in labels for g in labels}
    return Naive(random_row(rng, labels), transition, {label: random_row(rng, words) for label in labels})


def every_sentence(twin: Naive, n: int) -> list[list[str]]:
    return [list(words) for words in itertools.product(twin.words(), repeat=n)]


def log(p: float) -> float:
    return math.log(p) if p > 0 else -math.inf


def near(log_p: float, rel: float = 1e-6):
    """Weights are float32, so logarithms of products differ in the seventh digit."""
    return pytest.approx(log_p, rel=rel, abs=rel)


@few(0.5)
@given(tables(), st.integers(1, 4))
def test_joint_probability(twin: Naive, n: int) -> None:
    hmm = HMM.from_tables(*twin)
    weights = hmm.weight_vector()
    for words in every_sentence(twin, n)[:4]:
        paths = twin.paths(words)
        found = hmm.log_joint([words] * len(paths), list(paths))
        assert found == near_all([log(p) for p in paths.values()], 1e-12)
        assert [inner(weights, hmm.feature_vector(words, y)) for y in paths] == near_all(found, 1e-12)


def near_all(expected: list[float], rel: float = 1e-6):
    return [value if math.isinf(value) else near(value, rel) for value in expected]


@few(0.5)
@given(tables(), st.integers(1, 4))
def test_each_path_of_the_chain_has_the_joint_probability(twin: Naive, n: int) -> None:
    """The sum over the paths that what is known allows, where one path is known."""
    hmm = HMM.from_tables(*twin)
    chain = hmm.to_linear()
    words = every_sentence(twin, n)[-1]
    paths = twin.paths(words)
    corpus = corpus_from_items([words] * len(paths)).corpus
    known = mask_from_items([list(labels) for labels in paths], corpus, chain.labels)
    found = np.zeros(len(paths))
    data = chain.encode(corpus, known)
    log_partitions(chain.chain, data, make_sum_workspace(chain.chain, data), found, True)
    assert found.tolist() == near_all([log(p) for p in paths.values()])


@few(0.5)
@given(tables(), st.integers(1, 4))
def test_searches_and_sums(twin: Naive, n: int) -> None:
    hmm = HMM.from_tables(*twin)
    for words in every_sentence(twin, n)[:4]:
        paths = twin.paths(words)
        total = sum(paths.values())
        assert hmm.log_likelihood([words]) == near_all([log(total)])
        if total == 0:
            with pytest.raises(DataError, match="no label sequence is possible"):
                hmm.predict([words])
            continue
        (best,) = hmm.predict([words])
        assert log(paths[tuple(best)]) == near(log(max(paths.values())))
        (labels,), (shares,) = hmm.predict_marginal([words])
        assert hmm.predict([words], decode="marginal") == [labels]
        for i in range(n):
            posterior = twin.posterior(words, i)
            assert shares[i] == pytest.approx(max(posterior.values()), rel=1e-5)
            assert posterior[labels[i]] == pytest.approx(shares[i], rel=1e-5)


@few(0.5)
@given(tables(), st.integers(1, 3))
def test_all_sequences_sum_to_one(twin: Naive, n: int) -> None:
    """Those of one length, or of all lengths up to n and what goes on after it."""
    hmm = HMM.from_tables(*twin)
    if not twin.ends:
        assert np.exp(hmm.log_likelihood(every_sentence(twin, n))).sum() == pytest.approx(1, rel=1e-6)
        return
    ended = sum(np.exp(hmm.log_likelihood(every_sentence(twin, k))).sum() for k in range(1, n + 1))
    going_on = Naive(twin.start, {c: {k: p for k, p in row.items() if k != END} for c, row in twin.transition.items()},
                     twin.emission)  # fmt: skip
    alive = sum(np.exp(HMM.from_tables(*going_on).log_likelihood(every_sentence(twin, n + 1))))
    assert ended + alive == pytest.approx(1, rel=1e-6)


# --- counting -----------------------------------------------------------------------------------------------


@st.composite
def texts(draw: st.DrawFn) -> tuple[list[list[str]], list[list[str]]]:
    tokens = st.tuples(st.sampled_from("xyz"), st.sampled_from("ABC"))
    sentences = draw(st.lists(st.lists(tokens, min_size=1, max_size=5), min_size=1, max_size=5))
    return [[w for w, _ in s] for s in sentences], [[y for _, y in s] for s in sentences]


@few(1)
@given(
    texts(), st.integers(1, 2), st.sampled_from([0.0, 0.5]), st.booleans(), st.sampled_from([None, 1, 3]), st.booleans()
)
def test_counts(text, order: int, smoothing: float, interpolate: bool, dictionary: int | None, ends: bool) -> None:
    options = {"smoothing": smoothing, "interpolate": interpolate, "dictionary": dictionary, "ends": ends}
    twin = HMM.from_tables(*estimated(*text, order=order, **options)).tables_
    found = HMM(order, rare=0, **options).fit(*text).tables_
    for name, expected in twin._asdict().items():
        block = getattr(found, name)
        assert (block is None) == (expected is None), name
        if block is not None:
            assert block == pytest.approx(expected, rel=1e-12, abs=1e-15), name


@few(0.5)
@given(texts(), st.integers(1, 2), st.integers(0, 2), st.integers(1, 3))
def test_counted_models_sum_to_one(text, order: int, rare: int, n: int) -> None:
    hmm = HMM(order, rare=rare, smoothing=0.1, ends=False).fit(*text)
    Y, V = hmm.tables_.emission.shape
    names = dict(enumerate(hmm.vocabulary_.names))
    emission = {hmm.labels_[y]: {names[v]: hmm.tables_.emission[y, v] for v in range(V)} for y in range(Y)}
    assert all(sum(row.values()) == pytest.approx(1) for row in emission.values())
    total = 0.0
    for y in itertools.product(range(Y), repeat=n):
        for x in itertools.product(range(V), repeat=n):
            total += math.exp(hmm.tables_.log_joint(np.array(y), np.array(x)))
    assert total == pytest.approx(1)


# --- unknown words ------------------------------------------------------------------------------------------


def test_classes_of_a_word() -> None:
    assert list(word_classes("Running")) == ["<initial:ing>", "<initial:ng>", "<initial:g>", "<initial>", UNKNOWN]
    assert list(word_classes("1,000")) == ["<number>", UNKNOWN]
    assert list(word_classes("at")) == ["<lower:t>", "<lower>", UNKNOWN]


def test_rare_words_become_classes() -> None:
    rare = [f"{c}ing" for c in "abcdefghij"] + ["42"]
    known = learn_vocabulary({"the": 2, **dict.fromkeys(rare, 1)}, 1)
    assert known.known == ["the"]
    assert known.classes == ["<lower:ing>", "<number>", UNKNOWN]  # <lower:ng> and <lower> have no words left
    names = [known.names[known.find(word)] for word in ("the", "aing", "skating", "7", "skate", "?")]
    assert names == ["the", "<lower:ing>", "<lower:ing>", "<number>", UNKNOWN, UNKNOWN]


def test_words_written_like_classes_are_none() -> None:
    counts = {UNKNOWN: 9, "<number>": 9, "_B-1": 9, "7": 1}
    vocabulary = learn_vocabulary(counts, 1)
    assert vocabulary.known == []
    assert vocabulary.names[vocabulary.find(UNKNOWN)] == UNKNOWN
    assert vocabulary.names[vocabulary.find("<number>")] == UNKNOWN


def test_unknown_words_are_tagged_by_their_classes() -> None:
    words = [["the", f"{a}{b}ing"] for a in "bcdfg" for b in "aeiou"] + [
        ["the", f"{a}{b}ly"] for a in "bcd" for b in "aeo"
    ]
    labels = [["D", "V" if sentence[1].endswith("ing") else "A"] for sentence in words]
    for order in (1, 2):
        hmm = HMM(order).fit(words, labels)
        assert hmm.predict([["the", "skating"], [], ["the", "sadly"]]) == [["D", "V"], [], ["D", "A"]]
        assert hmm.score([["the", "skating"]], [["D", "V"]]) == 1


# --- the chain, parameters, errors --------------------------------------------------------------------------


@pytest.mark.parametrize("order", [1, 2])
def test_the_chain_can_be_saved(order: int, tmp_path) -> None:
    words = [["the" if label == "D" else "can" for label in labels] for labels in HEARD]
    hmm = HMM(order, smoothing=0, interpolate=False, rare=0).fit(words, HEARD)
    corpus = corpus_from_items(words).corpus
    path = str(tmp_path / "hmm.palm")
    hmm.to_linear().save(path)
    found, expected = load_chain(path).tag(corpus), hmm.to_linear().tag(corpus)
    assert np.array_equal(found[0], expected[0])
    assert np.array_equal(found[1], expected[1])


@pytest.mark.parametrize(
    "hmm",
    [HMM(), HMM(2, rare=0, smoothing=0.5), HMM(ends=False, dictionary=1, interpolate=False), HMM(2, ends=False)],
    ids=repr,
)
def test_a_model_file_round_trip(hmm: HMM, tmp_path: Path) -> None:
    """Tables bit for bit, the vocabulary with its classes, the parameters; and a tagger reads the file too."""
    words = [["one", "two"], ["two", "two", "two"], ["one", "three", "walking"]]
    labels = [["A", "B"], ["B", "A", "B"], ["A", "B", "B"]]
    hmm.fit(words, labels).save(tmp_path / "hmm.palm")
    again = HMM.load(tmp_path / "hmm.palm")
    assert again.get_params() == hmm.get_params()
    assert again.labels_ == hmm.labels_
    assert again.vocabulary_.names == hmm.vocabulary_.names
    for ours, theirs in zip(again.tables_, hmm.tables_, strict=True):
        assert (ours is None) == (theirs is None)
        assert ours is None or np.array_equal(ours, theirs)
    assert again.predict(words) == hmm.predict(words) == Tagger.load(tmp_path / "hmm.palm").predict(words)
    assert again.log_joint(words, labels) == hmm.log_joint(words, labels)
    assert again.log_probability(words, labels) == hmm.log_probability(words, labels)
    again.save(tmp_path / "again.palm")
    assert (tmp_path / "again.palm").read_bytes() == (tmp_path / "hmm.palm").read_bytes()
    assert pickle.loads(pickle.dumps(hmm)).log_likelihood(words) == hmm.log_likelihood(words)


DAMAGES: dict[str, Any] = {
    "hmm.start": lambda arrays, meta: arrays.pop("hmm.start"),
    "hmm.pair": lambda arrays, meta: arrays["hmm.pair"].fill(1.5),
    "hmm.emission": lambda arrays, meta: arrays.update({"hmm.emission": arrays["hmm.emission"][:, 1:].copy()}),
    "cannot be read": lambda arrays, meta: meta["counting"].update(order=3),
    "not an HMM": lambda arrays, meta: meta.pop("counting"),
}


@pytest.mark.parametrize("message", list(DAMAGES))
def test_damaged_models_are_refused(message: str, tmp_path: Path) -> None:
    HMM().fit([["one", "two"]], [["A", "B"]]).save(tmp_path / "hmm.palm")
    loaded, meta = model_file.load(tmp_path / "hmm.palm")
    arrays = {name: array.copy() for name, array in loaded.items()}
    DAMAGES[message](arrays, meta)
    model_file.save(tmp_path / "bad.palm", arrays, meta)
    with pytest.raises(ModelError, match=message):
        HMM.load(tmp_path / "bad.palm")


def test_parameters() -> None:
    hmm = HMM(2, rare=3)
    assert repr(hmm) == "HMM(2, rare=3)"
    assert HMM().set_params(**hmm.get_params()).get_params() == hmm.get_params()
    with pytest.raises(UsageError, match="no parameter 'orders'"):
        hmm.set_params(orders=1)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"order": 3}, "order: 3 is not a whole number from 1 to 2"),
        ({"smoothing": -1.0}, "smoothing: -1.0 is not a number from 0"),
        ({"rare": -1}, "at least 0"),
        ({"dictionary": 0}, "at least 1"),
    ],
)
def test_bad_parameters(options: dict, message: str) -> None:
    with pytest.raises(UsageError, match=message):
        HMM(**options).fit([["a"]], [["A"]])


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"start": {"D": 0.8, "V": 0.3}}, "start: the probabilities sum to 1.1"),
        ({"start": {"D": -0.5}}, "is not a probability"),
        ({"start": {"X": 1.0}}, "'X' is not a label"),
        ({"start": {END: 1.0}}, "may stand in rows of transition"),
        ({"transition": {("D", "N"): {END: 1.0}}}, "put it into the row of 'N'"),
        ({"transition": {("D", "N", "V"): {"D": 1.0}}}, "one label, or two"),
        ({"transition": {("D", "N"): {"V": 0.8}, "N": {END: 0.5}}}, "sum to more than 1"),
        ({"emission": {}}, "no label with a word"),
        ({"dictionary": {"the": "D"}}, "a list of labels is expected"),
        ({"transition": {("D", "N"): {}}, "emission": {k: {"_B-1": 1.0} for k in "DNV"}}, "rename it"),
    ],
)
def test_bad_tables(change: dict, message: str) -> None:
    with pytest.raises(UsageError, match=message):
        HMM.from_tables(**{**PIDGIN._asdict(), **change})


def test_bad_data(pidgin: HMM) -> None:
    with pytest.raises(DataError, match="no word 'must'"):
        pidgin.predict([["can", "must"]])
    with pytest.raises(DataError, match="no label 'X'"):
        pidgin.log_joint([["can"]], [["X"]])
    with pytest.raises(DataError, match="partial labels"):
        HMM().fit([["can"]], [[None]])
    with pytest.raises(DataError, match="not words"):
        HMM().fit_corpus(corpus_from_items([[{"a": 1}]], [["A"]]).corpus)
    with pytest.raises(DataError, match="no labelled sentence"):
        pidgin.score([], [])
    with pytest.raises(PalmetteError, match="no sentence"):
        HMM().fit([], [])
    with pytest.raises(UsageError, match="not trained yet"):
        HMM().predict([["can"]])
    with pytest.raises(UsageError, match="there is no 'posterior'"):
        pidgin.predict([["can"]], decode="posterior")


def test_a_closed_vocabulary() -> None:
    assert ObservedWords(["b", "a"]).find("c") is None
    assert ObservedWords(["b", "a"]).find("b") == 1
