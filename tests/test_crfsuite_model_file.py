"""The model of `palmette.crfsuite.CRF`: before there is one, in files, in pickles, also of sklearn-crfsuite."""

from __future__ import annotations

import copy
import io
import os
import pickle
from pathlib import Path
from typing import Any

import pytest
from crf_items import TEST, TRAIN, lists

from palmette.crfsuite import CRF, load_pickle
from palmette.crfsuite.estimator import FileResource
from palmette.errors import UsageError


@pytest.fixture(scope="module")
def fitted() -> CRF:
    return CRF(c1=0.1, c2=0.1, max_iterations=30).fit(*TRAIN)


def test_before_training() -> None:
    crf = CRF()
    for name in ("tagger_", "classes_", "size_", "attributes_", "num_attributes_", "state_features_", "training_log_"):
        assert getattr(crf, name) is None
    for work in (crf.predict, crf.predict_single, crf.predict_marginals, crf.predict_marginals_single):
        with pytest.raises(UsageError, match="this CRF is not trained yet: call fit, or give model_filename"):
            work(TEST[0])


def test_a_training_that_fails_leaves_no_model() -> None:
    class Failing:
        def __init__(self, **given: Any) -> None:
            self.logparser = None

        def append(self, *given: Any) -> None:
            pass

        def train(self, name: str, **given: Any) -> None:
            raise KeyboardInterrupt

    crf = CRF(trainer_cls=Failing)
    with pytest.raises(KeyboardInterrupt):
        crf.fit(*TRAIN)
    assert crf.tagger_ is None


def test_a_named_model_file(fitted: CRF, tmp_path: Path) -> None:
    path = tmp_path / "m.crfsuite"
    with pytest.raises(OSError, match=r"m\.crfsuite|[Nn]o such file"):
        _ = CRF(model_filename=path).tagger_
    path.write_bytes(fitted.modelfile.bytes)
    other = CRF(model_filename=path)
    assert lists(other.predict(TEST[0])) == lists(fitted.predict(TEST[0]))
    assert CRF().set_params(model_filename=path).classes_ == fitted.classes_
    loaded = pickle.loads(pickle.dumps(other))
    assert loaded.modelfile.name == str(path)
    other.fit(TRAIN[0][:5], TRAIN[1][:5])
    assert other.size_ == path.stat().st_size < fitted.size_
    del other
    assert path.exists()


def test_temporary_files_go_with_their_object(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    crf = CRF(max_iterations=2).fit(*TRAIN)
    first = crf.modelfile.name
    assert [str(path) for path in tmp_path.iterdir()] == [first]
    crf.fit(*TRAIN)
    assert [str(path) for path in tmp_path.iterdir()] == [crf.modelfile.name]
    del crf
    assert not list(tmp_path.iterdir())
    CRF(max_iterations=2, keep_tempfiles=True).fit(*TRAIN)
    assert len(list(tmp_path.iterdir())) == 1


def test_a_forked_process_leaves_the_file() -> None:
    resource = FileResource()
    resource.ensure_name()
    child = os.fork()
    if child == 0:
        resource.cleanup()
        os._exit(0)
    os.waitpid(child, 0)
    assert os.path.exists(resource.name)
    resource.cleanup()
    assert resource.name is None


@pytest.mark.parametrize("again", [lambda crf: pickle.loads(pickle.dumps(crf)), copy.deepcopy])
def test_pickles_hold_the_model(again: Any) -> None:
    crf = CRF(c1=0.1, max_iterations=10).fit(*TRAIN)
    wanted, log = lists(crf.predict(TEST[0])), crf.training_log_.last_iteration
    other = again(crf)
    assert other.modelfile.name != crf.modelfile.name
    assert other.modelfile.bytes == crf.modelfile.bytes
    del crf
    assert lists(other.predict(TEST[0])) == wanted
    assert other.get_params()["c1"] == 0.1
    assert other.training_log_.last_iteration == log
    assert again(CRF(c1=3)).tagger_ is None


def test_pickles_of_the_judge(tmp_path: Path) -> None:
    import sklearn_crfsuite

    old = sklearn_crfsuite.CRF(c1=0.1, max_iterations=10).fit(*TRAIN, *TEST)
    path = tmp_path / "old.pickle"
    path.write_bytes(pickle.dumps({"model": old, "about": (1, 2)}))
    found = load_pickle(path)
    crf = found["model"]
    assert (type(crf), found["about"]) == (CRF, (1, 2))
    assert crf.get_params() == old.get_params()
    assert crf.modelfile.bytes == Path(old.modelfile.name).read_bytes()
    assert lists(crf.predict(TEST[0])) == lists(old.predict(TEST[0]))
    assert crf.training_log_.last_iteration == old.training_log_.last_iteration
    assert lists(crf.fit(*TRAIN).predict(TEST[0])) == lists(pickle.loads(pickle.dumps(crf)).predict(TEST[0]))
    with open(path, "rb") as file:
        assert load_pickle(file)["model"].score(*TEST) == pytest.approx(old.score(*TEST))
    before = load_pickle(io.BytesIO(pickle.dumps(sklearn_crfsuite.CRF(c2=7))))
    assert (before.c2, before.tagger_) == (7, None)
