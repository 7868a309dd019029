"""`learner="hmm"`: a tagger that is a hidden Markov model, against the model itself; from the command line too."""

from __future__ import annotations

import itertools
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from cli_run import Cli
from fitting import flat_tagger

from palmette import HMM, Tagger
from palmette.datasets import load_demo
from palmette.errors import DataError, TemplateError, UsageError
from palmette.features import parse
from palmette.structures import corpus_of

# Words that are written like classes and like the edge of a sentence, and words that nobody knows.
STRANGE = [["_B-1", "<unknown>", "<lower:ing>"], ["_B-2", "_B-1", "_B-1", "The"], ["zzzing"], ["1,234", "The", "Xyz"]]


def words_and_tags(part: str) -> tuple[list[list[str]], list[list[str]]]:
    X, _ = load_demo(part)
    return [[word for word, _ in x] for x in X], [[tag for _, tag in x] for x in X]


def columns(part: str) -> tuple[list, list]:
    return load_demo(part)


@pytest.mark.parametrize("order", [1, 2])
@pytest.mark.parametrize("options", [{}, {"smoothing": 0.1, "rare": 2}, {"dictionary": 3}])
def test_it_is_the_model_that_was_counted(order: int, options: dict[str, Any], tmp_path: Path) -> None:
    words, tags = words_and_tags("train")
    hmm = HMM(order, **options).fit(words, tags)
    tagger = flat_tagger(learner="hmm", order=order, **options).fit(words, tags)
    tagger.save(tmp_path / "m.palm")
    sentences = words_and_tags("test")[0] + STRANGE
    for model in (tagger, Tagger.load(tmp_path / "m.palm")):
        labels, scores = model.predict_scored(sentences)
        assert labels == hmm.predict(sentences)
        assert scores == pytest.approx(hmm.log_joint(sentences, labels), rel=1e-5)
        assert model.predict(sentences, decode="marginal") == hmm.predict_marginal(sentences)[0]


def test_a_loaded_one_can_be_fitted_again(tmp_path: Path) -> None:
    words, tags = words_and_tags("train")
    Tagger(learner="hmm", rare=2, order=2).fit(words, tags).save(tmp_path / "m.palm")
    again = Tagger.load(tmp_path / "m.palm")
    assert repr(again) == "Tagger(order=2, learner='hmm', rare=2)"
    before = again.predict(words[:20])
    assert again.fit(words, tags).predict(words[:20]) == before


def test_unseen_words_are_those_that_never_occurred() -> None:
    words, tags = words_and_tags("train")
    tagger = Tagger(learner="hmm").fit(words, tags)
    assert tagger.evaluate(corpus_of(tagger.model_, words, tags)).unseen_tokens == 0
    assert tagger.model_.encoder is not None
    assert len(tagger.model_.encoder.resources.observed["words"].known) < tagger.model_.vocabulary.size


def test_what_the_scheme_forbids_never_comes_out(logged: list[str]) -> None:
    X, y = columns("train")
    tagger = Tagger(learner="hmm").fit(X, y)
    assert any("1 other column is left out" in message for message in logged)
    free = Tagger(learner="hmm", constraints="none", ends=False).fit(X, y)
    assert tagger.model_.scheme == "IOB2"
    assert free.model_.allowed.pair.all()
    bad = ~tagger.model_.allowed.pair
    assert bad.any()
    for labels in tagger.predict(columns("test")[0]):
        numbers = [tagger.labels_.index(label) for label in labels]
        assert not any(bad[pair] for pair in itertools.pairwise(numbers))
    mine = Tagger(learner="hmm", constraints="none", forbidden=[("O", "B-NP")]).fit([["a", "b"]], [["B-NP", "O"]])
    assert mine.predict([["b", "a", "a"]])[0][:2] != ["O", "B-NP"]


def test_development_data_and_bias(logged: list[str]) -> None:
    X, y = columns("train")
    tagger = Tagger(learner="hmm", dictionary=2, tune_bias=True).fit(X, y, dev=columns("dev"))
    (line,) = tagger.training_log_
    assert 0.5 < line["dev"] < line["train_accuracy"] < 1
    (told,) = [message for message in logged if message.startswith("bias O=")]
    assert "inf" not in told
    assert "nan" not in told


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"passes": 3}, "passes: has no effect with the learner hmm"),
        ({"latent": 2}, "states: has no effect with the learner hmm"),
        ({"beam": 4}, "search: has no effect with the learner hmm"),
        ({"l2": 1.0}, "l2: is an option of crf and dplvm and maxent; the learner is hmm"),
        ({"partial": True}, "partial: has no effect with the learner hmm"),
        ({"lexicons": {"city": "nowhere.txt"}}, "lexicons: an hmm reads only words"),
        ({"min_count": 2}, "min_count: has no effect with the learner hmm"),
        ({"features": "pos"}, "features: an hmm reads only words"),
        ({"template": parse("U0:%x[0,0]")}, "template: an hmm reads only words"),
        ({"order": 0}, "order 1 or 2"),
        ({"rare": -1}, "rare: -1 is not"),
        ({"dictionary": 0}, "dictionary: 0 is not"),
        ({"smoothing": -1.0}, "smoothing: -1.0 is not"),
        ({"learner": "perceptron", "rare": 2}, "rare: is an option of hmm; the learner is perceptron"),
        ({"learner": "crf", "dictionary": 2}, "dictionary: is an option of hmm; the learner is crf"),
    ],
)
def test_settings_that_mean_nothing_are_refused(options: dict[str, Any], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        flat_tagger(**{"learner": "hmm", **options}).fit([["a"]], [["A"]])


def test_longer_sentences_than_were_seen_are_possible() -> None:
    tagger = Tagger(learner="hmm").fit(2 * [["a"], ["b"]], 2 * [["X"], ["Y"]])
    assert tagger.predict([["a", "b", "a"]]) == [["X", "Y", "X"]]


def test_data_that_it_cannot_count() -> None:
    with pytest.raises(DataError, match="partial labels"):
        Tagger(learner="hmm").fit([["a", "b"]], [["A", None]])
    with pytest.raises(DataError, match="leave the weights out"):
        Tagger(learner="hmm").fit([["a"]], [["A"]], sample_weight=[2.0])
    tagger = Tagger(learner="hmm").fit([["a"]], [["A"]])
    with pytest.raises(UsageError, match="counted from all data at once"):
        tagger.partial_fit([["b"]], [["B"]])
    with pytest.raises(TemplateError, match="observed:words"):
        Tagger(template=parse("U0:%x[0,0,observed:words]")).fit([["a"]], [["A"]])


def test_conditional_probabilities_sum_to_one() -> None:
    words, tags = [["a", "b", "a"], ["b"]], [["X", "Y", "X"], ["Y"]]
    hmm = HMM(2, rare=0, smoothing=0.5).fit(words, tags)
    paths = [list(path) for path in itertools.product("XY", repeat=3)]
    found = hmm.log_probability([words[0]] * len(paths), paths)
    assert math.fsum(map(math.exp, found)) == pytest.approx(1, rel=1e-5)
    assert hmm.log_probability([["a"]], [["Y"]])[0] < 0
    assert np.isneginf(HMM(rare=0, smoothing=0, interpolate=False).fit(words, tags).log_probability([["a"]], [["Y"]]))


# --- the command line ---------------------------------------------------------------------------------------


@pytest.fixture
def cli(tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Cli:
    for part in ("train", "test"):
        lines = ["\n".join(map("\t".join, zip(*pair, strict=True))) for pair in zip(*words_and_tags(part), strict=True)]
        (tmp_path / f"{part}.txt").write_text("\n\n".join(lines) + "\n", encoding="utf-8")
    return Cli(tmp_path, capsys, monkeypatch)


def test_train_tag_eval_inspect(cli: Cli) -> None:
    trained = cli("train --learner hmm --order 2 --dictionary 4 train.txt -o m.palm")
    assert "counted in one pass" in trained.out
    assert "classes of rare ones, order 2" in trained.err
    assert cli("tag m.palm test.txt -o out.txt").code == 0
    assert "unseen words" in cli("eval m.palm test.txt").out
    shown = cli("inspect m.palm").out
    assert shown.split()[:2] == ["learner", "hmm"]
    assert "2, exact" in shown
    assert "dictionary 4" in shown
    assert "tolerance" not in shown
    assert "threads is for" in cli("train --learner hmm --threads 2 train.txt -o x.palm").err
    assert "--resume and --checkpoint do not apply" in cli("train --resume m.palm train.txt -o x.palm").err


def test_compare_with_learners_that_have_features(cli: Cli) -> None:
    told = cli(
        "compare --train train.txt --gold test.txt --features pos --passes 2 --seeds 1 "
        "--learners hmm,hmm:rare=2,perceptron"
    )
    assert told.code == 0, told.err
    assert "hmm:rare=2" in told.out
