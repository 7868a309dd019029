"""The language model: against its twin, sums to one, samples as often as it says, files, bad input."""

from __future__ import annotations

import math
import random
from collections import Counter
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from naive_lm import BEGIN, NaiveModel
from strategies import EXAMPLES

from palmette import LanguageModel
from palmette.data import model_file
from palmette.errors import DataError, ModelError, UsageError
from palmette.lab.lm.estimate import FALLBACK, discounts_of
from palmette.lab.lm.ngrams import places
from palmette.lab.sentences import parse_sentences

sentences = st.lists(st.lists(st.sampled_from("abcd"), min_size=1, max_size=5), min_size=1, max_size=8)


def text(n: int, seed: int = 1) -> list[list[str]]:
    """Sentences with some order in them, so that all counts of counts are there."""
    rng = random.Random(seed)
    made = []
    for _ in range(n):
        row = [min(40, int(rng.paretovariate(0.6)))]
        while len(row) < 9 and rng.random() < 0.8:
            row.append(row[-1] % 7 if rng.random() < 0.5 else min(60, int(rng.paretovariate(0.6))))
        made.append([f"w{k}" for k in row])
    return made


# --- probabilities ------------------------------------------------------------------------------------------


@settings(max_examples=EXAMPLES)
@given(train=sentences, order=st.integers(1, 4), min_count=st.integers(1, 2), tried=st.lists(st.sampled_from("abcdz")))
def test_probabilities_are_those_of_the_definition_and_sum_to_one(
    train: list[list[str]], order: int, min_count: int, tried: list[str]
) -> None:
    model, twin = LanguageModel(order, min_count=min_count).fit(train), NaiveModel(train, order, min_count)
    assert set(model.vocabulary_) == twin.words | {BEGIN}
    for n in range(len(tried) + 1):
        found = model.distribution(tried[:n])
        assert found.sum() == pytest.approx(1, abs=1e-12)
        for word, p in zip(model.vocabulary_, found.tolist(), strict=True):
            assert p == pytest.approx(0 if word == BEGIN else twin.probability(word, [BEGIN, *tried[:n]]), abs=1e-12)


def test_discounts_from_counts_of_counts_agree_with_the_definition() -> None:
    train = text(150)
    model, twin = LanguageModel(3).fit(train), NaiveModel(train, 3)
    assert model.fell_back_ == []
    assert model.discounts_ == [pytest.approx(own) for own in twin.discounts]
    for sentence in text(10, seed=2):
        words, log = [*sentence, "</s>"], 0.0
        for i, word in enumerate(words):
            log += math.log(twin.probability(word, [BEGIN, *sentence[:i]]))
        assert model.log_likelihood(sentence) == pytest.approx(log, rel=1e-12)


def test_small_texts_fall_back_to_fixed_discounts_and_say_so(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level("INFO", "palmette"):
        model = LanguageModel(2).fit(["a b", "a c"])
    assert model.fell_back_ == [1, 2]
    assert model.discounts_ == [FALLBACK, FALLBACK]
    assert [line for line in caplog.messages if "are taken" in line and line.startswith("order 2")]
    assert discounts_of(np.array([1] * 10 + [2] + [3] * 5)) is None  # D2 would be below zero
    assert discounts_of(np.array([1] * 9 + [2] * 3 + [3, 4])) == pytest.approx((0.6, 1.4, 0.6))


def test_text_scores_count_unknown_words_and_ends() -> None:
    model = LanguageModel().fit(text(50))
    found = model.evaluate(["w1 w2 zzz", "", "w3"])
    assert (found.sentences, found.tokens, found.unknown) == (3, 4, 1)
    assert found.logprob == pytest.approx(sum(model.log_likelihood(s) for s in ("w1 w2 zzz", "", "w3")))
    assert found.perplexity == pytest.approx(math.exp(-found.logprob / 7))
    assert model.score(["w1 w2 zzz", "", "w3"]) == pytest.approx(-math.log(found.perplexity))
    without = found.logprob - math.log(model.probability("zzz", "w1 w2"))
    assert found.perplexity_without_unknown == pytest.approx(math.exp(-without / 6))


def test_the_next_word() -> None:
    model = LanguageModel(3).fit(["a b c", "a b c", "a b d", "b a"])
    assert model.predict(["a b", "a b c", []]) == ["c", "</s>", "a"]
    for context in ("a", "b a", "zzz"):
        p = {word: model.probability(word, context) for word in model.vocabulary_ if word not in ("<unk>", "<s>")}
        assert p[model.predict([context])[0]] == max(p.values())


# --- samples ------------------------------------------------------------------------------------------------


def test_sentences_are_drawn_as_often_as_their_probability_says() -> None:
    """Chi-square over the fifty most probable sentences that were drawn and the rest; its 99.99% point is about 93."""
    model = LanguageModel(3).fit(["a b", "a b a", "b", "b a", "a c b", "c"])
    n = 40_000
    drawn = Counter(map(tuple, model.sample(n, seed=5)))
    assert 5 < _chi_square(model, drawn, n) < 93


def _chi_square(model: LanguageModel, drawn: Counter[tuple[str, ...]], n: int) -> float:
    kept = _mass_without_unknown(model) - math.exp(model.log_likelihood([]))  # an empty sentence is not kept either
    share = {s: math.exp(model.log_likelihood(s)) / kept for s in drawn}
    common = sorted(share, key=share.__getitem__, reverse=True)[:50]
    chi = sum((drawn[s] - n * share[s]) ** 2 / (n * share[s]) for s in common)
    left = n * (1 - sum(share[s] for s in common))
    chi += (n - sum(drawn[s] for s in common) - left) ** 2 / left
    return chi


def _mass_without_unknown(model: LanguageModel) -> float:
    """The probability of all sentences without <unk>: over lengths, the last two words being all that counts."""
    state, ended = {(): 1.0}, 0.0
    for _ in range(100):
        after: Counter[tuple[str, ...]] = Counter()
        for context, mass in state.items():
            for word, p in zip(model.vocabulary_, model.distribution(context).tolist(), strict=True):
                if word == "</s>":
                    ended += mass * p
                elif word not in ("<unk>", "<s>"):
                    after[(*context, word)[-2:]] += mass * p
        state = after
    return ended


def test_equal_seeds_give_equal_samples() -> None:
    model = LanguageModel().fit(text(100))
    assert model.sample(20, seed=3) == model.sample(20, seed=3)
    assert model.sample(20, seed=3) != model.sample(20, seed=4)


def test_wishes_are_fulfilled() -> None:
    train = text(300)
    model = LanguageModel().fit(train)
    known = {tuple(s) for s in train}
    assert any(tuple(s) in known for s in model.sample(300))
    assert not any(tuple(s) in known for s in model.sample(300, new=True))
    assert not any(tuple(s) in known for s in model.sample(300, exclude=train))
    half = {f"w{k}" for k in range(25)}
    assert {w for s in model.sample(100, vocabulary=half) for w in s} <= half
    assert max(map(len, model.sample(300, max_length=4))) == 4


def test_lengths_are_matched() -> None:
    model = LanguageModel().fit(text(300))
    lengths = [1] * 10 + [5] * 20 + [7] * 10
    assert Counter(map(len, model.sample(40, lengths=lengths))) == Counter(lengths)
    assert Counter(map(len, model.sample(80, lengths=lengths)))[5] == 40
    rare = model.draw(20, lengths=[60] * 20, max_length=80)  # hardly ever drawn: the nearest ones are taken, and told
    assert rare.length_slack > 0
    assert places(np.array([1, 1, 2]), 2, 9).tolist()[:4] == [0, 1, 1, 0]


def test_wishes_that_leave_nothing_are_told() -> None:
    model = LanguageModel().fit(["a b"])
    with pytest.raises(DataError, match="only 0 of 5 sentences after"):
        model.sample(5, vocabulary=["c"])
    with pytest.raises(DataError, match="to match the lengths of"):
        model.sample(5, lengths=[200])
    with pytest.raises(UsageError, match="1 or more"):
        model.sample(0)
    with pytest.raises(UsageError, match="seed 0 or more"):
        model.sample(1, seed=-1)


# --- an order between two whole numbers ---------------------------------------------------------------------


@settings(max_examples=EXAMPLES)
@given(
    train=sentences,
    lower=st.integers(1, 3),
    share=st.sampled_from([0.125, 0.4, 0.9]),
    tried=st.lists(st.sampled_from("abcdz"), max_size=4),
)
def test_an_order_between_two_is_the_mixture_of_both(
    train: list[list[str]], lower: int, share: float, tried: list[str]
) -> None:
    """From the definition: P = share P_n + (1 - share) P_{n-1}, each counted from the text by itself."""
    model = LanguageModel(lower + share).fit(train)
    below, above = NaiveModel(train, lower), NaiveModel(train, lower + 1)
    log = 0.0
    for n in range(len(tried) + 1):
        found = model.distribution(tried[:n])
        assert found.sum() == pytest.approx(1, abs=1e-12)
        mixed = {
            word: (1 - share) * below.probability(word, [BEGIN, *tried[:n]])
            + share * above.probability(word, [BEGIN, *tried[:n]])
            for word in below.words
        }
        for word, p in zip(model.vocabulary_, found.tolist(), strict=True):
            assert p == pytest.approx(0 if word == BEGIN else mixed[word], abs=1e-12)
        probability = mixed[below.known(tried[n]) if n < len(tried) else "</s>"]
        log += math.log(probability) if probability > 0 else -math.inf
    assert model.log_likelihood(tried) == pytest.approx(log, rel=1e-9)


def test_sentences_of_a_mixture_are_drawn_as_often_as_their_probability_says() -> None:
    """As above: chi-square over the fifty most probable sentences and the rest."""
    model = LanguageModel(2.4).fit(["a b", "a b a", "b", "b a", "a c b", "c"])
    n = 40_000
    drawn = Counter(map(tuple, model.sample(n, seed=5)))
    assert 5 < _chi_square(model, drawn, n) < 93
    for order in (2, 3):  # what is drawn from the models on both sides is told from it
        other = Counter(map(tuple, LanguageModel(order).fit(["a b", "a b a", "b", "b a", "a c b", "c"]).sample(n)))
        assert _chi_square(model, other, n) > 93


def test_whole_numbers_are_plain_models() -> None:
    train = text(100)
    plain, dialled = LanguageModel(2).fit(train), LanguageModel(2.0).fit(train)
    assert dialled.sample(20, seed=3) == plain.sample(20, seed=3)
    assert np.array_equal(dialled.distribution("w1"), plain.distribution("w1"))


def test_the_training_text_becomes_more_probable_with_the_order() -> None:
    train = text(200)
    found = [LanguageModel(order).fit(train).perplexity(train) for order in (1, 1.25, 1.5, 1.75, 2, 2.25, 2.5, 2.75, 3)]
    assert found == sorted(found, reverse=True)
    assert len(set(found)) == len(found)


def test_a_mixture_is_stored(tmp_path: Path) -> None:
    model = LanguageModel(2.4, min_count=2).fit(text(60))
    model.save(tmp_path / "m.palm")
    again = LanguageModel.load(tmp_path / "m.palm")
    assert (again.order, again.sizes_) == (2.4, model.sizes_)
    for context in ([], ["w1"], ["w3", "w9"], ["zzz", "w4"]):
        assert np.array_equal(again.distribution(context), model.distribution(context))
    assert again.sample(5, new=True) == model.sample(5, new=True)
    with pytest.raises(UsageError, match=r"order 2\.4 is a mixture of two models"):
        model.save(tmp_path / "m.arpa")


# --- files --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["m.palm", "m.arpa", "m.arpa.gz"])
@pytest.mark.parametrize("order", [1, 3])
def test_files_give_the_model_back(tmp_path: Path, name: str, order: int) -> None:
    model = LanguageModel(order).fit(text(60))
    model.save(tmp_path / name)
    again = LanguageModel.load(tmp_path / name)
    assert (again.order, again.sizes_, again.vocabulary_) == (order, model.sizes_, model.vocabulary_)
    for context in ([], ["w1"], ["w3", "w9"], ["zzz", "w4"]):
        np.testing.assert_allclose(again.distribution(context), model.distribution(context), rtol=1e-8)
    assert again.sample(5) == model.sample(5)
    if name == "m.palm":
        assert again.sample(5, new=True) == model.sample(5, new=True)
    else:
        with pytest.raises(UsageError, match="exclude=sentences"):
            again.sample(5, new=True)


def test_a_known_arpa_file(tmp_path: Path) -> None:
    """Written by hand: p(a) = .5, p(b | a) = .75, the rest backs off."""
    rows = ["\\data\\", "ngram 1=4", "ngram 2=1", "", "\\1-grams:", "-99 <s> -0.30103", "-0.30103 a -0.60206",
            "-0.60206 b", "-0.60206 </s>", "", "\\2-grams:", "-0.124939 a b", "", "\\end\\", ""]  # fmt: skip
    path = tmp_path / "hand"
    path.write_text("\n".join(rows))
    model = LanguageModel.load(path)
    assert math.exp(model.log_likelihood("a b")) == pytest.approx(0.5 * 0.5 * 0.75 * 0.25, rel=1e-5)
    assert model.evaluate(["zzz"]).perplexity == math.inf  # it has no <unk>
    with pytest.raises(DataError, match="not interpolated"):
        model.sample(1)


@pytest.mark.parametrize(
    ("old", "new", "told"),
    [
        ("\\data\\", "\\dada\\", "no \\\\data"),
        ("ngram 2=", "ngram 4=", "order 4 where 2 is expected"),
        ("\\end\\", "", "end"),
        ("\ta\t", "\ta a\t", "cells"),
        ("a b", "a q", "'q' is not among the 1-grams"),
        ("a b", "a <s>", "occurs twice|not"),
        ("\t</s>", "\tend", "lack </s>|not among"),
    ],
)
def test_damaged_arpa_files_are_told(tmp_path: Path, old: str, new: str, told: str) -> None:
    path = tmp_path / "m.arpa"
    LanguageModel(2).fit(["a b", "b a"]).save(path)
    broken = path.read_text().replace(old, new)
    path.write_text(broken if old != "a b" or new != "a <s>" else broken.replace("\tb a", "\ta <s>"))
    with pytest.raises(DataError, match=told):
        LanguageModel.load(path)


def test_damaged_models_are_told(tmp_path: Path) -> None:
    from palmette.data import model_file

    path = tmp_path / "m.palm"
    LanguageModel(2).fit(text(30)).save(path)
    arrays, meta = model_file.load(path)
    for name, place, value in (
        ("word", -1, 10**6),
        ("first", 5, 0),
        ("suffix", -1, -1),
        ("p", 4, 7.0),
        ("backoff", 0, -1),
    ):
        broken = {key: array.copy() for key, array in arrays.items()}
        broken[name][place] = value
        model_file.save(path, broken, meta)
        with pytest.raises(ModelError, match="damaged"):
            LanguageModel.load(path)
    model_file.save(path, arrays, meta | {"task": "tag"})
    with pytest.raises(ModelError, match="not a language model"):
        LanguageModel.load(path)


def test_sentences_are_lines_cut_at_white_space() -> None:
    text = parse_sentences("a  é\r\n\n \t\n\tc\x0bd\x0c\n e".encode())
    assert text.texts() == ["a é", "c d", "e"]
    assert text.lines.tolist() == [0, 3, 4]
    assert text.lengths.tolist() == [2, 2, 1]
    for nothing in (b"", b"\n", b" \n\n"):
        assert parse_sentences(nothing).n_sentences == 0
    with pytest.raises(DataError, match=r"x:2: not UTF-8"):
        parse_sentences(b"a\n\xff\n", "x")


def test_bad_input_is_told(tmp_path: Path) -> None:
    (tmp_path / "x.txt").write_text("a b\n\nc </s> d\n")
    with pytest.raises(DataError, match=r"x.txt:3: </s> inside of a sentence"):
        LanguageModel().fit_file(tmp_path / "x.txt")
    (tmp_path / "none.txt").write_text(" \n")
    with pytest.raises(DataError, match="no sentence"):
        LanguageModel().fit_file(tmp_path / "none.txt")
    for order, min_count in ((0, 1), (6, 1), (3, 0)):
        with pytest.raises(UsageError, match=r"is not a (whole )?number"):
            LanguageModel(order, min_count=min_count).fit(["a"])
    with pytest.raises(DataError, match="a list of sentences"):
        LanguageModel().fit("a b")
    with pytest.raises(DataError, match="sentence 0 has 'a b'"):
        LanguageModel().fit([["a b"]])
    with pytest.raises(UsageError, match="call fit"):
        LanguageModel().log_likelihood("a")


def test_a_share_that_vanishes_beside_the_order_is_refused(tmp_path: Path) -> None:
    """1 + 1e-20 is 1: a model of that order could not be saved again."""
    path = tmp_path / "m.palm"
    LanguageModel(1.5).fit([["a", "b"], ["b", "a"]]).save(path)
    arrays, meta = model_file.load(path)
    arrays = {name: np.array(array) for name, array in arrays.items()}
    model_file.save(path, arrays, dict(meta) | {"share": 1e-20})
    with pytest.raises(ModelError, match="share of 1e-20"):
        LanguageModel.load(path)
