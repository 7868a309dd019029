"""The spaCy components' models: saved, loaded, pickled, missing, of another kind; other processes; no training."""

from __future__ import annotations

import os
import pickle
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

import pytest

spacy = pytest.importorskip("spacy", reason="needs spacy: pip install '.[test-heavy]'")

from spacy.language import Language  # noqa: E402
from spacy.tokens import Doc  # noqa: E402
from spacy.training import Example  # noqa: E402
from spacy_cases import TEXTS, pipeline, told, train  # noqa: E402

from palmette import Beam, Parser, Tagger, errors  # noqa: E402
from palmette.datasets import load_trees  # noqa: E402
from palmette.errors import ModelError, UsageError  # noqa: E402

pytestmark = pytest.mark.heavy("spacy")

ROOT = Path(__file__).resolve().parents[1]


@pytest.fixture(scope="module")
def models(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return train(tmp_path_factory.mktemp("models"))


@pytest.fixture
def nlp(models: Path) -> Language:
    return pipeline(models)


SPAWN = """
import multiprocessing, sys, spacy
if __name__ == "__main__":
    multiprocessing.set_start_method("spawn")
    nlp = spacy.load(sys.argv[1])
    docs = list(nlp.pipe(["The function takes a list."] * 4, n_process=2, batch_size=2))
    print([token.tag_ for doc in docs for token in doc], [len(doc.ents) for doc in docs], "palmette" in sys.modules)
"""


def test_a_new_process_finds_the_components_by_their_entry_points(nlp: Language, models: Path, tmp_path: Path) -> None:
    """Without an import of palmette, in a process and in those that it starts anew; the model files are copies."""
    nlp.to_disk(tmp_path / "saved")
    names = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["entry-points"]["spacy_factories"]
    metadata = tmp_path / "site" / "palmette_here-0.dist-info"
    metadata.mkdir(parents=True)
    (metadata / "METADATA").write_text("Metadata-Version: 2.1\nName: palmette-here\nVersion: 0\n")
    rows = [f"{name} = {place}" for name, place in names.items()]
    (metadata / "entry_points.txt").write_text("\n".join(["[spacy_factories]", *rows, ""]))
    (tmp_path / "spawn.py").write_text(SPAWN)
    paths = [str(tmp_path / "site"), str(Path(errors.__file__).parents[1]), os.environ.get("PYTHONPATH", "")]
    made = subprocess.run(
        [sys.executable, "spawn.py", "saved"], cwd=tmp_path, capture_output=True, text=True, timeout=120,
        env=os.environ | {"PYTHONPATH": os.pathsep.join(paths)},
    )  # fmt: skip
    assert made.returncode == 0, made.stderr
    doc = nlp("The function takes a list.")
    assert made.stdout == f"{[token.tag_ for token in doc] * 4} {[len(doc.ents)] * 4} True\n"


# Keeping


def test_a_saved_pipeline_has_its_own_models(nlp: Language, tmp_path: Path, monkeypatch: Any) -> None:
    expected = [told(nlp(text)) for text in TEXTS]
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    moved = spacy.blank("en")
    for name in nlp.pipe_names:
        config = {"model": f"{name}.palm"} | ({"key": "chunks"} if name == "palmette_spans" else {})
        nlp.get_pipe(name).estimator.save(f"{name}.palm")
        moved.add_pipe(name, config=config)
    moved.to_disk("saved")
    moved.to_disk("saved")  # over itself
    for name in nlp.pipe_names:
        Path(f"{name}.palm").write_bytes(b"\x80\x05 something else")
    assert [told(spacy.load("saved")(text)) for text in TEXTS] == expected
    again = spacy.blank("en")
    for name in nlp.pipe_names:
        again.add_pipe(name, config={"key": "chunks"} if name == "palmette_spans" else {})
    again.from_bytes(nlp.to_bytes())
    assert [told(again(text)) for text in TEXTS] == expected


def test_pickles(nlp: Language, models: Path) -> None:
    for name in nlp.pipe_names:
        component = pickle.loads(pickle.dumps(nlp.get_pipe(name)))
        assert component.name == name
        assert component.labels == nlp.get_pipe(name).labels
        assert component.config == nlp.get_pipe(name).config
    unset = pickle.loads(pickle.dumps(nlp.create_pipe("palmette_tagger")))
    with pytest.raises(UsageError, match="has no model"):
        unset(nlp.make_doc("a"))


class Trap:
    def __init__(self, place: str) -> None:
        self.place = place

    def __reduce__(self) -> tuple[Any, ...]:
        return os.mkdir, (self.place,)


def test_loading_runs_nothing(nlp: Language, tmp_path: Path) -> None:
    nlp.to_disk(tmp_path / "saved")
    (tmp_path / "saved" / "palmette_ner" / "model.palm").write_bytes(pickle.dumps(Trap(str(tmp_path / "sprung"))))
    with pytest.raises(ModelError, match="not a palmette model but a pickle"):
        spacy.load(tmp_path / "saved")
    assert not (tmp_path / "sprung").exists()


def test_models_that_are_not_there_or_of_another_kind(models: Path) -> None:
    nlp = spacy.blank("en")
    nlp.add_pipe("palmette_tagger", config={"model": "nowhere.palm"})
    with pytest.raises(UsageError, match=r"palmette_tagger: nowhere.palm: cannot open the model: no such file"):
        nlp("a")
    nlp.add_pipe("palmette_parser", config={"model": str(models / "pos.palm")}, first=True)
    with pytest.raises(UsageError, match=r"palmette_parser: .*pos.palm: a tagger, not a parser"):
        nlp("a")
    nlp.add_pipe("palmette_ner", config={"model": str(models / "pos.palm")}, first=True)
    with pytest.raises(UsageError, match="palmette_ner: the labels of its model are not those of spans"):
        nlp("a")
    with pytest.raises(UsageError, match="palmette_parser: it needs a Parser, not a Tagger"):
        nlp.get_pipe("palmette_parser").use(Tagger())
    with pytest.raises(UsageError, match="fields: 'tag' is none of"):
        nlp.create_pipe("palmette_parser", config={"fields": {"tag": "tag_"}})


def test_training_is_elsewhere(nlp: Language) -> None:
    with pytest.raises(UsageError, match=r"palmette_tagger is not trained by spaCy. Train its model with"):
        nlp.initialize()
    example = Example(nlp.make_doc("The list"), nlp("The list"))
    with pytest.raises(UsageError, match=r"Tagger.*sentences.*disable it meanwhile"):
        nlp.update([example])
    with pytest.raises(UsageError, match=r"Parser.*trees"):
        nlp.get_pipe("palmette_parser").update([example])


def test_a_parser_that_reads_lemmas_warns_once(logged: list[str]) -> None:
    nlp = spacy.blank("en")
    trained = Parser("rich", passes=1, search=Beam(1)).fit(load_trees("train").take([0, 1, 2]))
    for fields, warnings in [(None, 1), ({"lemma": None, "feats": None}, 0)]:
        logged.clear()
        component = nlp.create_pipe("palmette_parser", config={"fields": fields})
        component.use(trained)
        for _ in range(2):
            component(Doc(nlp.vocab, words=["The", "list"], tags=["DT", "NN"], pos=["DET", "NOUN"]))
        assert sum("the documents have no lemma_ and no morph" in message for message in logged) == warnings
