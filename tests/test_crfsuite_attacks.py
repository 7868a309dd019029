"""The drop-in in the hands of careless programs, beside python-crfsuite."""

from __future__ import annotations

import copy
import pickle
import sys
import threading
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pycrfsuite
import pytest
from crfsuite_cases import BOTH, random_sequences, trained

import palmette.crfsuite as ours


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> str:
    path = tmp_path_factory.mktemp("models") / "model.crfsuite"
    trained(pycrfsuite, random_sequences(1), path)
    return str(path)


def opened(module: ModuleType, path: Any) -> Any:
    tagger = module.Tagger()
    tagger.open(str(path))
    return tagger


def changed(items: list[Any], how: str) -> None:
    """What programs do with a list that they use again."""
    if how == "cleared":
        items.clear()
    elif how == "longer":
        items.append({"w": "a"})
    else:
        items[0]["w"] = "h"
        items[0]["p"]["s"] = "y"


@pytest.mark.parametrize("how", ["cleared", "longer", "other values"])
@pytest.mark.parametrize("given", ["set", "tag"])
def test_items_may_change_after_they_were_given(model: str, given: str, how: str) -> None:
    found = []
    for module in BOTH:
        tagger, items = opened(module, model), [{"w": "a", "p": {"s": "x"}}, {"w": "h"}]
        getattr(tagger, given)(items)
        changed(items, how)
        tags = tagger.tag()
        found.append((tags, tagger.probability(tags), tagger.marginal("C", 0)))
    assert found[1][0] == found[0][0]
    assert found[1][1:] == pytest.approx(found[0][1:], rel=1e-6)


def test_sequences_that_are_refused_may_be_skipped(tmp_path: Path) -> None:
    """Also in a second training after one that was told of them."""
    tagged = []
    for module in BOTH:
        trainer = module.Trainer(verbose=False)
        for part in range(2):
            for items, labels in random_sequences(part, 12):
                trainer.append(items, labels)
                with pytest.raises((TypeError, SystemError)):
                    trainer.append([{"a": None}], ["Q"])
            trainer.train(str(tmp_path / "model"))
        tagger = opened(module, tmp_path / "model")
        tagged.append((tagger.labels(), [tagger.tag(items) for items, _ in random_sequences(2, 6)]))
    assert tagged[1] == tagged[0]


@pytest.mark.parametrize("algorithm", ["lbfgs", "l2sgd", "ap", "pa", "arow"])
@pytest.mark.parametrize("labels", [["A"], ["A", "B"]])
def test_the_smallest_data(algorithm: str, labels: list[str], tmp_path: Path) -> None:
    items = [[letter] for letter in "ab"[: len(labels)]]
    for module in BOTH:
        trained(module, [(items, labels)], tmp_path / "model", algorithm)
        for reader in BOTH:
            assert opened(reader, tmp_path / "model").tag(items) == labels


def test_a_model_with_one_weight(tmp_path: Path) -> None:
    """It lies in the file as in no array of its own."""
    trained(pycrfsuite, [([{"k": 0}], ["A"]), ([["b"]], ["Z"])], tmp_path / "model")
    assert len(opened(pycrfsuite, tmp_path / "model").info().state_features) == 1
    theirs, own = (opened(module, tmp_path / "model") for module in BOTH)
    for items in ([["b"]], [["k"]], [["b"], ["b"]]):
        assert own.tag(items) == theirs.tag(items)
        assert own.probability(["Z"] * len(items)) == pytest.approx(theirs.probability(["Z"] * len(items)), rel=1e-6)


@pytest.mark.parametrize("name", ["a\0b", "\0"])
def test_what_cannot_be_written_is_refused_before_training(name: str, tmp_path: Path) -> None:
    trainer = ours.Trainer(verbose=False)
    trainer.append([[name]], ["A"])
    with pytest.raises(ValueError, match="zero byte; a name that ends in"):
        trainer.train(tmp_path / "model.crfsuite")
    assert trainer.logparser is None, "no training has begun"
    trainer.train(tmp_path / "model.palm")
    assert opened(ours, tmp_path / "model.palm").info().attributes == {}
    for place in (tmp_path, tmp_path / "none" / "model"):
        other = ours.Trainer(verbose=False)
        other.append([["a"]], ["A"])
        with pytest.raises(ValueError, match="cannot write"):
            other.train(place)
        assert other.logparser is None


def test_long_sequences_have_marginals(model: str) -> None:
    """More than four megabytes of features in a sequence."""
    items = [{"w": "abcdefgh"[k % 8], "long": "x" * 2000} for k in range(2500)]
    theirs, own = (opened(module, model) for module in BOTH)
    assert own.tag(items) == theirs.tag(items)
    assert own.marginal("A", 2000) == pytest.approx(theirs.marginal("A", 2000), rel=1e-6)


def test_positions_are_numbers_of_any_type(model: str) -> None:
    theirs, own = (opened(module, model) for module in BOTH)
    for tagger in (theirs, own):
        tagger.set([{"w": "a"}, {"w": "h"}])
    for position in (1, 1.0, np.int64(1), True):
        assert own.marginal("A", position) == pytest.approx(theirs.marginal("A", position), rel=1e-6)


def test_a_tagger_may_be_shared_by_threads(model: str) -> None:
    """Each call is about the sequence that it is given, and a tagger that has been used can be copied."""
    tagger, crf, wrong = opened(ours, model), ours.CRF(model_filename=model), []
    sequences = [items for items, _ in random_sequences(3, 40)]
    tags = [tagger.tag(items) for items in sequences]
    marginals = [crf.predict_marginals_single(items) for items in sequences]
    for used in (copy.deepcopy(tagger), pickle.loads(pickle.dumps(crf.tagger_))):
        assert used.tag(sequences[0]) == tags[0]

    def use(start: int) -> None:
        for k in range(200):
            at = (start + k) % len(sequences)
            if tagger.tag(iter(sequences[at])) != tags[at]:
                wrong.append(("tag", at))
            if crf.predict_marginals_single(sequences[at]) != marginals[at]:
                wrong.append(("marginals", at))

    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        threads = [threading.Thread(target=use, args=(start,)) for start in range(0, 40, 10)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    finally:
        sys.setswitchinterval(before)
    assert wrong == []


def test_groups_are_whole_numbers() -> None:
    for module in BOTH:
        with pytest.raises(TypeError, match="integer"):
            module.Trainer(verbose=False).append([["a"]], ["A"], "1")
