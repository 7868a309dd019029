"""The settings that a search tries: read by the declarations of the options, drawn by a seed, each once."""

from __future__ import annotations

import math
import shlex
from itertools import islice, product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from palmette import Beam, Crf, Mira, Tagger
from palmette.cli.train import Train
from palmette.data import FormatSpec, corpus_from_items
from palmette.errors import UsageError
from palmette.options import TaggerOptions
from palmette.options.spelling import as_flags
from palmette.tuning.command import parse_tries
from palmette.tuning.space import Space, ValueRange, default_space


def drawn(space: Space, seed: int = 1) -> list[dict]:
    return list(space.draws(seed))


def as_set(settings: list[dict]) -> set[frozenset]:
    return {frozenset(each.items()) for each in settings}


def test_every_setting_comes_once() -> None:
    space = Space({"order": "0,1,2", "min_count": "1,2", "ends": "true,false"}, Tagger())
    found = drawn(space)
    every = product((0, 1, 2), (1, 2), (True, False))
    wanted = [{"order": order, "min_count": least, "ends": ends} for order, least, ends in every]
    assert len(found) == len(wanted) == space.size
    assert as_set(found) == as_set(wanted)


def test_an_option_of_a_learner_is_tried_with_that_learner_alone() -> None:
    found = drawn(Space({"l2": "0.1,1", "nbest": "1,5", "learner": "perceptron,crf,mira"}, Tagger()))
    wanted = [
        {"learner": "perceptron"}, {"learner": "crf", "l2": 0.1}, {"learner": "crf", "l2": 1.0},
        {"learner": "mira", "learner_nbest": 1}, {"learner": "mira", "learner_nbest": 5},
    ]  # fmt: skip
    assert as_set(found) == as_set(wanted)
    only = drawn(Space({"l2": "0.1,1", "nbest": "1,5"}, Tagger(learner="crf")))
    assert as_set(only) == as_set([{"l2": 0.1}, {"l2": 1.0}])


def test_a_flag_that_selects_its_kind_needs_no_other() -> None:
    space = Space({"beam": [2, 4]}, Tagger())
    assert as_set(drawn(space)) == as_set([{"beam": 2}, {"beam": 4}])
    assert space.params({"beam": 2})["search"] == Beam(2)
    both = drawn(Space({"beam": [2, 4], "search": ["viterbi", "beam"]}, Tagger()))
    assert {"search": "viterbi"} in both
    assert len(both) == 3


def test_combinations_that_cannot_be_are_left_out() -> None:
    space = Space({"learner": ["crf", "perceptron"], "estimator": ["auto", "last"]}, Tagger())
    found = drawn(space)
    assert {"learner": "crf", "estimator": "last"} not in found
    assert len(found) == 3
    assert space.rejected == 1
    with pytest.raises(UsageError, match="one result, its optimum"):
        drawn(Space({"estimator": ["last"]}, Tagger(learner="crf")))


def test_the_first_settings_are_the_same_however_many_are_drawn() -> None:
    tries = {"learner": ["crf", "mira"], "l2": "0.001..100", "nbest": [1, 2, 3]}
    some = list(islice(Space(tries, Tagger()).draws(7), 5))
    more = list(islice(Space(tries, Tagger()).draws(7), 20))
    assert more[:5] == some
    assert list(islice(Space(tries, Tagger()).draws(8), 5)) != some


@given(st.floats(1e-6, 10), st.floats(1.5, 1e5), st.integers(0, 1000))
def test_numbers_of_a_range_lie_in_it(low: float, ratio: float, seed: int) -> None:
    numbers = ValueRange(low, low * ratio)
    assert all(low <= numbers.draw(np.random.default_rng([seed, k])) <= low * ratio for k in range(5))


def test_a_wide_range_is_drawn_by_its_logarithm() -> None:
    rng = np.random.default_rng(0)
    numbers = [math.log10(ValueRange(0.01, 100.0).draw(rng)) for _ in range(2000)]
    assert abs(np.mean(numbers)) < 0.1
    assert abs(np.mean(np.array(numbers) < -1) - 0.25) < 0.05
    whole = [ValueRange(1, 5, whole=True).draw(rng) for _ in range(200)]
    assert set(whole) == {1, 2, 3, 4, 5}


def test_a_range_of_whole_numbers_gives_whole_numbers() -> None:
    found = list(islice(Space({"min_count": "1..50"}, Tagger()).draws(1), 10))
    assert all(isinstance(each["min_count"], int) and 1 <= each["min_count"] <= 50 for each in found)


def test_tries_are_read_by_flag_or_by_name() -> None:
    assert parse_tries(["min-count=1,2", "--l2=0.1..10"]) == {"min_count": "1,2", "l2": "0.1..10"}


def test_values_in_python_are_checked_as_typed_ones_are() -> None:
    for wrong, message in (
        ({"min_count": [0]}, "min_count: 0 is not a whole number of at least 1"),
        ({"l2": [-1.0]}, "l2: -1.0 is not a number of at least 0"),
        ({"learner": [Mira(nbest=5)]}, "try its name, and its options by their own names"),
        ({"order": []}, "order: no value to try"),
        ({"features": ["chunks"]}, "features: there is no 'chunks'; choose one of pos, chunk"),
    ):
        with pytest.raises(UsageError, match=message):
            Space(wrong, Tagger())


def test_parameters_are_those_of_the_flags() -> None:
    space = Space({"l2": [0.5], "order": [2]}, Tagger("ner", learner=Crf(tolerance=0.1)))
    params = space.params({"l2": 0.5, "order": 2})
    assert params["learner"] == Crf(tolerance=0.1, l2=0.5)
    assert (params["order"], params["features"]) == (2, "ner")


def test_what_is_tried_by_itself_goes_by_the_labels_and_the_columns() -> None:
    def tried(tokens: list, labels: list, tagger: Tagger | None = None) -> dict:
        return default_space(corpus_from_items([tokens] * 3, [labels] * 3).corpus, tagger or Tagger())

    assert tried(["the", "cat"], ["D", "N"])["features"] == ["pos", "ner"]
    assert tried(["the", "cat"], ["O", "B-X"])["features"] == ["ner", "pos"]
    assert tried([("the", "D"), ("cat", "N")], ["O", "B-X"])["features"] == ["chunk", "ner"]
    assert tried(["t", "c"], ["B", "I"])["features"] == ["ner", "pos", "char"]
    assert "features" not in tried([{"w": "the"}, {"w": "cat"}], ["D", "N"])
    many = [f"L{k}" for k in range(600)]
    assert tried(["w"] * 600, many)["learner"] == ["perceptron"]
    fixed = tried(["the", "cat"], ["D", "N"], Tagger("char", learner=Mira(nbest=3)))
    assert not {"learner", "features", "template", "nbest"} & set(fixed)
    drawn(Space(fixed, Tagger("char", learner=Mira(nbest=3))))


def test_flags_are_what_a_command_reads_as_the_same_values() -> None:
    flat = {
        "learner": "mira", "learner_nbest": 5, "ends": False, "partial": True, "latent": {"B-NP": 2, "O": 3},
        "order": 2, "lexicons": [("places", "a file.txt")], "min_count": 3, "aggressiveness": 0.03,
    }  # fmt: skip
    data = {"columns": ("0", "2"), "separator": "comma", "encoding": "latin-1"}
    words = ["train.txt", "-o", "m.palm", *as_flags(TaggerOptions, flat), *as_flags(FormatSpec, data)]
    made = Train.parsed(shlex.split(shlex.join(words)))
    assert made.flat[TaggerOptions] == flat
    assert made.flat[FormatSpec] == data
