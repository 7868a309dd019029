"""The file of a pipeline: lazy, the same bytes again, and refused with a reason if it is damaged."""

from __future__ import annotations

import copy
import pickle
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from palmette import Pipeline
from palmette.data import model_file
from palmette.datasets import load_trees
from palmette.errors import ModelError, UsageError
from palmette.pipeline.model import TRAINED, component_class
from palmette.pipeline.options import COMPONENTS

TEXT = "It rains. She sings."
Change = Callable[[dict[str, np.ndarray], dict[str, Any]], object]


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("file") / "en.palm"
    Pipeline(passes=1, beam=1, jackknife=False).fit(load_trees("test")).save(made)
    return made


def test_components_are_built_when_they_are_used(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    nlp = Pipeline.load(path)
    assert nlp.components_ == ("tok", "tag", "lemma", "parse")
    assert nlp.model_.built == ()
    nlp.annotate([["It", "rains"]], components=["tag"])
    assert nlp.model_.built == ("tag",)
    nlp(TEXT)
    assert nlp.model_.built == nlp.components_


def test_a_component_is_built_once_by_many_threads(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    built = []
    found = component_class("lemma")
    monkeypatch.setattr("palmette.pipeline.model.component_class", lambda name: built.append(name) or found)
    model = Pipeline.load(path).model_
    threads = [threading.Thread(target=model.component, args=("lemma",)) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert built == ["lemma"]


@pytest.mark.parametrize("use", [False, True])
def test_what_is_loaded_is_saved_again_byte_for_byte(path: Path, tmp_path: Path, use: bool) -> None:
    nlp = Pipeline.load(path, copy=use)
    if use:
        nlp(TEXT)
    nlp.save(tmp_path / "again.palm")
    assert (tmp_path / "again.palm").read_bytes() == path.read_bytes()
    assert {one.origin for one in nlp.model_.meta.components.values()} == {TRAINED}


@pytest.mark.parametrize("copied", [copy.copy, copy.deepcopy, lambda nlp: pickle.loads(pickle.dumps(nlp))])
@pytest.mark.parametrize("used", [False, True])
def test_copies_and_pickles(path: Path, tmp_path: Path, copied: Callable[[Pipeline], Pipeline], used: bool) -> None:
    nlp = Pipeline.load(path)
    if used:
        nlp(TEXT)
        nlp.annotate([["It", "rains"]])
    again = copied(nlp)
    assert again.get_params() == nlp.get_params()
    assert again(TEXT).to_conllu() == nlp(TEXT).to_conllu()
    copied(again).save(tmp_path / "again.palm")
    assert (tmp_path / "again.palm").read_bytes() == path.read_bytes()


def test_a_new_pipeline_can_be_pickled_before_and_after_training() -> None:
    new = pickle.loads(pickle.dumps(Pipeline(passes=1, components=("tag",))))
    trained = new.fit(load_trees("test"))
    trained.annotate([["It", "rains"]])  # which makes what is remembered
    again = pickle.loads(pickle.dumps(trained))
    assert again.outcome_ == trained.outcome_
    assert again.annotate([["It", "rains"]]).column("upos").cells() == ["PRON", "VERB"]


def test_a_pickle_holds_the_file_and_damage_is_found(path: Path) -> None:
    made, (data,) = Pipeline.load(path).model_.__reduce__()
    assert data == path.read_bytes()
    with pytest.raises(ModelError, match="a pickled pipeline: damaged model file: its checksum"):
        made(data[:-1] + bytes([data[-1] ^ 1]))


def test_settings_come_back(path: Path) -> None:
    nlp = Pipeline.load(path)
    assert (nlp.passes, nlp.beam, nlp.jackknife, nlp.components) == (1, 1, False, COMPONENTS)


def changed(path: Path, folder: Path, change: Change) -> Path:
    """A copy of the file after a change, with a right checksum."""
    arrays, meta = model_file.load(path)
    arrays = dict(arrays)
    change(arrays, meta)
    model_file.save(folder / "bad.palm", arrays, meta)
    return folder / "bad.palm"


@pytest.mark.parametrize(
    ("change", "what"),
    [
        (lambda arrays, meta: meta.pop("components"), "metadata cannot be read"),
        (lambda arrays, meta: meta["components"].clear(), "no component"),
        (lambda arrays, meta: meta["components"].update(ner={"meta": {}}), "an unknown component 'ner'"),
        (lambda arrays, meta: meta["components"].pop("tag"), "belongs to no component"),
        (lambda arrays, meta: arrays.update(stray=np.zeros(1)), "the array 'stray' belongs to no component"),
        (lambda arrays, meta: meta["components"]["tag"].update(meta=[]), "metadata cannot be read"),
        (lambda arrays, meta: meta["components"]["tag"].update(origin="\ud800"), "an origin is not valid Unicode"),
        (lambda arrays, meta: meta.update(task="chain"), "a tagger, not a pipeline"),
    ],
)
def test_a_damaged_file_is_refused(path: Path, tmp_path: Path, change: Change, what: str) -> None:
    bad = changed(path, tmp_path, change)
    with pytest.raises(ModelError, match=what) as error:
        Pipeline.load(bad)
    assert str(error.value).startswith(str(bad))


@pytest.mark.parametrize("name", ["tok", "tag", "lemma", "parse"])
def test_a_damaged_component_is_refused_when_it_is_used(path: Path, tmp_path: Path, name: str) -> None:
    def change(arrays: dict[str, np.ndarray], meta: dict[str, Any]) -> None:
        for own in [own for own in arrays if own.startswith(f"{name}/")]:
            arrays[own] = arrays[own][:0]

    nlp = Pipeline.load(changed(path, tmp_path, change))
    with pytest.raises(ModelError, match="damaged model") as error:
        nlp.component(name)
    assert str(error.value).startswith(str(tmp_path))
    for other in nlp.components_:
        if other != name:
            nlp.component(other)


def test_a_changed_byte_is_found(path: Path, tmp_path: Path) -> None:
    data = bytearray(path.read_bytes())
    data[-100] ^= 1
    (tmp_path / "bit.palm").write_bytes(data)
    with pytest.raises(ModelError, match="its checksum is"):
        Pipeline.load(tmp_path / "bit.palm")


def test_use_before_training() -> None:
    with pytest.raises(UsageError, match=r"this Pipeline is not trained yet: call fit, or Pipeline.load"):
        Pipeline()(TEXT)
    with pytest.raises(UsageError, match="there is no component 'ner'"):
        Pipeline(components=("ner",)).fit(load_trees("test"))


def test_without_a_splitter_there_is_no_text(path: Path) -> None:
    nlp = Pipeline.load(path)
    nlp.model_ = nlp.model_.only(["tag"])
    with pytest.raises(UsageError, match="no component 'tok', so it does not read plain text"):
        nlp(TEXT)
    assert nlp.annotate([["It", "rains"]]).n_tokens == 2
