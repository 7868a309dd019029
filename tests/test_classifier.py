"""`Classifier`: learners and what they tell, the bound, the start from a chunker, the model file, wrong input."""

from __future__ import annotations

import copy
import os
import pickle
import random
import signal
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from classify_arrays import case, every_feature
from naive_classify import Twin, dot, length

from palmette import Classifier, Crf, Lclr, LclrVariant, PassiveAggressive, Tagger
from palmette.classification.scores import area, binary_scores
from palmette.data.model_file import load, save
from palmette.datasets import load_demo
from palmette.errors import DataError, ModelError, PalmetteError, UsageError


def shuffled_words(part: str, most: int = 120) -> tuple[list[Any], list[Any]]:
    """Sentences of the demo corpus, and the same with their words in another order."""
    rng = random.Random(3)
    sentences = load_demo(part)[0][:most]
    return sentences, [rng.sample(sentence, len(sentence)) for sentence in sentences]


def labelled(positives: list[Any], negatives: list[Any]) -> tuple[list[Any], list[str]]:
    """Sentences and their classes, as `fit` takes them."""
    return positives + negatives, ["1"] * len(positives) + ["0"] * len(negatives)


(TRAIN_UP, TRAIN_DOWN), (TEST_UP, TEST_DOWN) = shuffled_words("train"), shuffled_words("test")
TRAIN, TEST = labelled(TRAIN_UP, TRAIN_DOWN), labelled(TEST_UP, TEST_DOWN)


@pytest.fixture(scope="module")
def trained() -> Classifier:
    return Classifier(views="all", combine="cotrain", passes=3).fit(*TRAIN, dev=TEST)


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"views": "iob1,o+c", "combine": "vote", "estimator": "avg"},
        {"types": 2, "learner": PassiveAggressive(pa_type="PA-II", aggressiveness=1.0), "estimator": "last"},
        {"latent": 3, "normalise": False},
        {"latent": "none", "learner": PassiveAggressive(pa_type="PA-I", aggressiveness=1.0)},
        {"learner": "lclr"},
        {"learner": "lclr-variant", "views": ["ioe1", "ioe2"], "types": 1},
        {"learner": "perceptron"},
    ],
)
def test_learners_learn(options: dict[str, Any]) -> None:
    classifier = Classifier(passes=4, **options).fit(*TRAIN)
    assert classifier.score(*TRAIN) > 0.95
    assert classifier.score(*TEST) > 0.7


def test_decisions_and_structures_agree(trained: Classifier) -> None:
    sentences = TEST_UP[:5] + TEST_DOWN[:5]
    scores = trained.decision_function(sentences)
    assert trained.predict(sentences).tolist() == ["1" if score >= 0 else "0" for score in scores]
    found = trained.structures(sentences)
    assert [list(tags) for tags in found] == [["iob1", "iob2", "ioe1", "ioe2", "o+c"]] * 10
    assert all(len(tags) == len(s) for own, s in zip(found, sentences, strict=True) for tags in own.values())


def test_classes_of_any_names_in_any_order(trained: Classifier) -> None:
    """Neither the order of the sentences nor the type of the classes matters; `positive` chooses the one above 0."""
    X, y = TRAIN
    mixed = random.Random(5).sample(range(len(X)), len(X))
    names = {"1": True, "0": False}
    places = [*(k for k in mixed if y[k] == "1"), *(k for k in mixed if y[k] == "0")]
    sorted_first = Classifier(passes=2).fit([X[k] for k in places], [y[k] for k in places])
    other = Classifier(passes=2).fit([X[k] for k in mixed], [names[y[k]] for k in mixed])
    assert other.classes_.tolist() == ["False", "True"]
    assert other.decision_function(TEST_UP).tolist() == sorted_first.decision_function(TEST_UP).tolist()
    turned = Classifier(passes=2).fit(X, y, positive="0")
    assert turned.classes_.tolist() == ["1", "0"]
    assert turned.score(*TEST) > 0.7


def test_a_held_out_share() -> None:
    shared = Classifier(passes=2, dev_share=0.25).fit(*TRAIN)
    assert shared.model_.meta["sentences"] == [90, 90]
    assert all(row["dev"] is not None for row in shared.training_log_)


def test_figures(trained: Classifier) -> None:
    found = trained.evaluate(*TEST)
    scores = trained.decision_function(TEST[0])
    truth = np.arange(scores.size) < len(TEST_UP)
    assert found.accuracy == np.mean((scores >= 0) == truth)
    pairs = [(a > b) + (a == b) / 2 for a in scores[truth] for b in scores[~truth]]
    assert found.auc == pytest.approx(np.mean(pairs))
    assert found.recall == np.mean(scores[truth] >= 0)


def test_the_area_with_ties_and_one_class() -> None:
    truth = np.array([True, True, False, False])
    assert area(truth, np.array([1.0, 0.0, 0.0, -1.0])) == pytest.approx(0.875)
    assert area(truth[:2], np.zeros(2)) is None
    assert binary_scores(truth, np.full(4, -1.0)).f1 == 0


def test_the_history(trained: Classifier) -> None:
    rows = trained.training_log_
    assert [row["number"] for row in rows] == [1, 2, 3]
    for row in rows:
        assert sum(row["again"]) == len(TRAIN_DOWN)
        again = sum(times * count for times, count in enumerate(row["again"]))
        assert row["decoded"] == len(TRAIN_UP) + len(TRAIN_DOWN) + again
        assert row["wrong"] == row["wrong_positives"] + row["wrong_negatives"]
    assert rows[0]["again"][1] > 0
    assert max(row["dev"] for row in rows) == pytest.approx(trained.score(*TEST))


def test_types_where_nobody_says_them(chunker: Tagger) -> None:
    assert Classifier()._settings().types == ("T1", "T2", "T3", "T4")
    assert Classifier(types=1)._settings().types == ("",)
    assert set(Classifier()._settings(chunker.model_).types) == {y[2:] for y in chunker.labels_ if y != "O"}


def test_the_cap_is_told() -> None:
    row = Classifier(passes=1, cap=1).fit(*TRAIN).training_log_[0]
    assert row["capped"] > 0
    assert row["again"] == [len(TRAIN_DOWN)]


def test_the_cache_ends_a_pass_when_nothing_is_new() -> None:
    classifier = Classifier(learner=Lclr(inner_rounds=100), passes=2).fit(*TRAIN)
    for row in classifier.training_log_:
        assert row["new_structures"][0] == len(TRAIN_DOWN)  # the cache is emptied between passes
        assert row["new_structures"][-1] == 0
        assert min(row["new_structures"][:-1]) > 0
        assert len(row["inner_passes"]) == len(row["new_structures"]) - 1
        assert row["capped"] == 0
        assert row["decoded"] == len(TRAIN_UP) + len(TRAIN_DOWN) * len(row["new_structures"])
    assert Classifier(learner=Lclr(inner_rounds=1), passes=1).fit(*TRAIN).training_log_[0]["capped"] == 1


def test_the_variant_decodes_once_a_pass() -> None:
    rows = Classifier(learner=LclrVariant(inner_passes=7), passes=2).fit(*TRAIN).training_log_
    assert all(row["decoded"] == len(TRAIN_UP) + len(TRAIN_DOWN) and len(row["inner_passes"]) == 1 for row in rows)
    assert rows[0]["inner_passes"][0] > 1


@pytest.mark.parametrize("normalise", [True, False])
def test_the_bound_is_kept(normalise: bool) -> None:
    rows = Classifier(passes=4, bound=True, normalise=normalise).fit(*TRAIN).training_log_
    assert all(0 < row["squared_loss"] <= row["bound"] for row in rows)
    assert rows[-1]["squared_loss"] < rows[0]["squared_loss"]


def test_the_bound_on_separable_data() -> None:
    """Attribute 0 makes a sentence positive, 1 negative. For u with a loss of 0 the squared loss is at most ||u||^2,
    and for any u at most (||u|| + 2 sqrt(its squared losses))^2."""
    data = [[[0], [2]], [[1], [2]], [[3], [0]], [[1], [3], [1]], [[0], [2], [3]], [[4], [1]]]
    y = [1, -1, 1, -1, 1, -1]
    made = case("chunks", ["iob2"], ("",), data, True)
    twin = Twin(made.views)
    for _ in range(20):
        for sentence, sign in zip(data, y, strict=True):
            twin.example(sentence, sign)
    perfect = {("iob2", "one", a, tag): sign * 10.0 for a, sign in ((0, 1), (1, -1)) for tag in "BIO"}
    rng = np.random.default_rng(0)
    others = [{f: float(rng.normal()) * scale for f in every_feature(made.views, True)} for scale in (0.0, 0.1, 1.0)]
    total = sum(loss**2 for *_, loss in twin.met)
    for u in (perfect, *others):
        own = sum(max(0.0, 1 - sign * dot(u, bag)) ** 2 for bag, sign, _ in twin.met)
        assert total <= (length(u) + 2 * own**0.5) ** 2
    assert sum(max(0.0, 1 - sign * dot(perfect, bag)) for bag, sign, _ in twin.met) == 0


def test_no_structure_is_a_plain_classifier() -> None:
    """One state without pairs: the perceptron-like classifier of n-grams, against plain dictionaries."""
    sentences = [["a", "b"], ["b", "a"], ["a", "a"], ["b"]]
    templates = "U0:%x[0,0]\n"
    classifier = Classifier(
        latent="none", passes=1, estimator="last", seed=5, cap=1, template=_templates(templates)
    ).fit(*labelled(sentences[:2], sentences[2:]))
    weights = {"a": 0.0, "b": 0.0}
    from palmette.training import shuffled

    for s in shuffled(5, 1, 4).tolist():
        count = {word: sentences[s].count(word) for word in set(sentences[s])}
        size = sum(c * c for c in count.values()) ** 0.5
        sign = 1 if s < 2 else -1
        loss = max(0.0, 1 - sign * sum(weights[w] * c for w, c in count.items()) / size)
        for w, c in count.items():
            weights[w] += loss * sign * c / size
    expected = [weights["a"], weights["b"], (weights["a"] + weights["b"]) / 2**0.5]
    assert classifier.decision_function([["a"], ["b"], ["a", "b"]]) == pytest.approx(expected, abs=1e-5)


def _templates(text: str) -> Any:
    from palmette.features import parse

    return parse(text)


# --- starting from a chunker ----------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def chunker() -> Tagger:
    return Tagger("ngrams", order=1, passes=3).fit(*load_demo("train"))


def test_the_start_is_the_chunker(chunker: Tagger) -> None:
    """One sentence of each class and steps next to nothing: the latent chunking is that of the chunker, its weights are
    scaled, and only the view of its scheme has any."""
    classifier = Classifier(
        init=chunker,
        init_range=0.25,
        views="iob2,ioe2",
        learner=PassiveAggressive(pa_type="PA-I", aggressiveness=1e-9),
        passes=1,
        estimator="last",
    ).fit(*labelled(TRAIN_UP[:1], TRAIN_DOWN[:1]))
    found = [tags["iob2"] for tags in classifier.structures(TEST_UP)]
    assert found == chunker.predict(TEST_UP)
    model = classifier.model_
    assert np.abs(model.weights.one.w).max() == pytest.approx(0.25, rel=1e-5)
    assert np.abs(model.weights.one.w[:, model.packed.column[1] :]).max() < 1e-6
    assert set(model.settings.types) == {label[2:] for label in chunker.labels_ if label != "O"}


def test_the_range_of_a_model_from_zero(chunker: Tagger, caplog: pytest.LogCaptureFixture) -> None:
    """The default: the largest weight after three passes from zero, or fewer if the training has fewer."""
    types = Classifier(init=chunker)._settings(chunker.model_).types
    for passes, short, options in ((2, 2, {"estimator": "last"}), (5, 3, {}), (5, 3, {"normalise": False})):
        from_zero = Classifier(types=types, passes=short, **options).fit(*TRAIN)
        caplog.clear()
        with caplog.at_level("INFO", "palmette"):
            started = Classifier(init=chunker, passes=passes, **options).fit(*TRAIN)
        largest = max(np.abs(block).max() for block in (from_zero.model_.weights[0], from_zero.model_.weights[1],
                                                        from_zero.model_.weights.one.w))  # fmt: skip
        # The feature index of the chunker is there too, but nothing else differs.
        assert f"{short} passes from zero: the largest weight is {largest:.4g}" in caplog.messages
        assert started.model_.meta["start"] == pytest.approx(largest)
        assert len(started.training_log_) == passes
        fixed = Classifier(init=chunker, init_range=started.model_.meta["start"], passes=passes, **options).fit(*TRAIN)
        assert fixed.decision_function(TEST_UP).tolist() == started.decision_function(TEST_UP).tolist()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"views": "ioe1"}, "tags are IOB2"),
        ({"types": 3}, "takes the types of the chunker"),
        ({"latent": 3}, "not for latent states"),
        ({"init_range": 0}, "above 0"),
        ({"init_range": "wide"}, "nor auto"),
        ({"template": "U77:%x[0,0]\n"}, "none of the classifier's templates"),
    ],
)
def test_starts_that_make_no_sense(chunker: Tagger, options: dict[str, Any], message: str) -> None:
    if "template" in options:
        options = {"template": _templates(options["template"])}
    with pytest.raises(UsageError, match=message):
        Classifier(init=chunker, passes=1, **options).fit(*TRAIN)


def test_a_start_that_is_no_chunker() -> None:
    words, tags = [[w for w, _ in s] for s in TRAIN_UP[:9]], [[t for _, t in s] for s in TRAIN_UP[:9]]
    with pytest.raises(UsageError, match="not a chunker"):
        Classifier(init=Tagger("pos", passes=1).fit(words, tags)).fit(*TRAIN)


# --- parts of speech, keeping -------------------------------------------------------------------------------------


def test_parts_of_speech_from_a_tagger() -> None:
    words = [[w for w, _ in s] for s in TRAIN_UP]
    tagger = Tagger("pos", passes=2).fit(words, [[t for _, t in s] for s in TRAIN_UP])
    X, y = TRAIN
    bare = [[w for w, _ in s] for s in X]
    by_tagger = Classifier(tagger=tagger, passes=2).fit(bare, y)
    tagged = [list(zip(s, t, strict=True)) for s, t in zip(bare, tagger.predict(bare), strict=True)]
    by_hand = Classifier(passes=2).fit(tagged, y)
    assert by_tagger.decision_function(bare).tolist() == by_hand.decision_function(tagged).tolist()


def test_a_model_file_round_trip(trained: Classifier, tmp_path: Path) -> None:
    trained.save(tmp_path / "m.palm")
    again = Classifier.load(tmp_path / "m.palm")
    assert again.decision_function(TEST_DOWN).tolist() == trained.decision_function(TEST_DOWN).tolist()
    assert again.structures(TEST_UP[:3]) == trained.structures(TEST_UP[:3])
    assert again.training_log_ == [
        {k: v for k, v in row.items() if k != "seconds"} | {"seconds": 0.0} for row in trained.training_log_
    ]
    assert again.combine == "cotrain"
    again.save(tmp_path / "n.palm")
    assert (tmp_path / "m.palm").read_bytes() == (tmp_path / "n.palm").read_bytes()


def test_a_seed_gives_the_same_model(trained: Classifier, tmp_path: Path) -> None:
    Classifier(views="all", combine="cotrain", passes=3).fit(*TRAIN, dev=TEST).save(tmp_path / "a.palm")
    trained.save(tmp_path / "b.palm")
    Classifier(views="all", combine="cotrain", passes=3, seed=2).fit(*TRAIN, dev=TEST).save(tmp_path / "c.palm")
    a, b, c = ((tmp_path / f"{name}.palm").read_bytes() for name in "abc")
    assert a == b
    assert a != c


DAMAGE: dict[str, Any] = {
    "slot": lambda arrays, meta: arrays.update(slot=arrays["slot"] + 10**6),
    "row 0": lambda arrays, meta: arrays.update(weights=arrays["weights"] + 1),
    "nan": lambda arrays, meta: arrays["pair"].fill(np.nan),
    "width": lambda arrays, meta: arrays.update(end=arrays["end"][:, 1:].copy()),
    "numbers": lambda arrays, meta: arrays.update({"attribute.numbers": arrays["attribute.numbers"] + 10**6}),
    "classes": lambda arrays, meta: meta.update(classes=["1", "1"]),
    "views": lambda arrays, meta: meta["settings"].update(views=["iob2"]),
    "learner": lambda arrays, meta: meta["settings"].update(learner="best"),
    "types": lambda arrays, meta: meta["settings"].update(types=["X", "X"]),
    "history": lambda arrays, meta: meta.update(history=[{"number": "one"}]),
    "missing": lambda arrays, meta: meta.pop("templates"),
    "pairs": lambda arrays, meta: meta["templates"].update(text="B1:%x[0,0]\n"),
    "task": lambda arrays, meta: meta.update(task="chain"),
}


@pytest.mark.parametrize("damage", list(DAMAGE))
def test_damaged_models(trained: Classifier, tmp_path: Path, damage: str) -> None:
    path = tmp_path / "m.palm"
    trained.save(path)
    arrays, meta = load(path)
    arrays = {name: array.copy() for name, array in arrays.items()}
    DAMAGE[damage](arrays, meta)
    save(path, arrays, meta)
    with pytest.raises(ModelError):
        Classifier.load(path)


# --- wrong input ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "options",
    [
        {"learner": "svm"}, {"views": "iob3"}, {"views": ()}, {"views": ("iob2", "bio")}, {"combine": "vote"},
        {"combine": "sum", "views": "all"}, {"types": 0}, {"types": ["X", "X"]}, {"latent": 1}, {"latent": "some"},
        {"learner": "crf"}, {"learner": Crf()}, {"estimator": "mavg"}, {"passes": 0}, {"cap": 0}, {"seed": -1},
        {"patience": 1}, {"bound": True, "learner": PassiveAggressive()}, {"bound": True, "learner": "lclr"},
        {"features": "none"},
        {"template": "no such file"}, {"init": "no such file"}, {"combine": "vote", "views": "all", "latent": 4},
    ],
)  # fmt: skip
def test_wrong_settings(options: dict[str, Any]) -> None:
    with pytest.raises(PalmetteError):
        Classifier(**options).fit(*TRAIN)


def test_wrong_data(trained: Classifier) -> None:
    X, y = TRAIN
    with pytest.raises(DataError, match=r"1 class \(1\): two are expected"):
        Classifier().fit(TRAIN_UP, ["1"] * len(TRAIN_UP))
    with pytest.raises(DataError, match="240 sentences and 239 classes"):
        Classifier().fit(X, y[1:])
    with pytest.raises(DataError, match="this is a string"):
        Classifier().fit("a sentence", y)
    with pytest.raises(UsageError, match="dev is a pair"):
        Classifier().fit(*TRAIN, dev=(TEST_UP,))  # type: ignore[arg-type]
    with pytest.raises(DataError, match="'2' is not one of 0, 1"):
        Classifier().fit(*TRAIN, dev=(TEST_UP[:1], [2]))
    with pytest.raises(UsageError, match="which class is positive, ham or spam"):
        Classifier().fit(X, ["ham" if one == "0" else "spam" for one in y])
    with pytest.raises(UsageError, match="pa_type"):
        PassiveAggressive(pa_type="PA-III")
    with pytest.raises(DataError, match="2 columns"):
        trained.decision_function([["bare", "words"]])
    with pytest.raises(UsageError, match="not trained yet"):
        Classifier().predict(TEST_UP)
    with pytest.raises(UsageError, match="no parameter"):
        Classifier().set_params(depth=3)


def test_an_interruption_keeps_what_was_learnt() -> None:
    def press(number: int, done: int, total: int, finished: Any) -> None:
        if number == 2 and finished is None:
            os.kill(os.getpid(), signal.SIGINT)

    classifier = Classifier(passes=5).fit(*TRAIN, dev=TEST, progress=press)
    assert classifier.outcome_.interrupted
    assert len(classifier.training_log_) == 1
    assert classifier.score(*TEST) == pytest.approx(classifier.training_log_[0]["dev"])
    batch = Classifier(learner="lclr", passes=5).fit(*TRAIN, progress=press)
    assert batch.outcome_.interrupted
    assert batch.score(*TRAIN) > 0.9


def test_nothing_and_the_unknown(trained: Classifier) -> None:
    assert trained.decision_function([]).size == 0
    assert trained.decision_function([[], TEST_UP[0]])[0] == 0.0
    assert trained.structures([[]]) == [{name: [] for name in trained.views_}]
    assert np.isfinite(trained.decision_function([[("zzz", "QQ")]])).all()
    assert repr(trained) == "Classifier(passes=3, views='all', combine='cotrain')"


def test_copies_and_pickles(trained: Classifier) -> None:
    expected = trained.predict(TEST[0])
    for copied in (copy.copy, copy.deepcopy, lambda given: pickle.loads(pickle.dumps(given))):
        again = copied(trained)
        assert again.get_params() == trained.get_params()
        assert again.predict(TEST[0]).tolist() == expected.tolist()
