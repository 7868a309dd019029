"""Installed models: the one that ships, packages of models, names on the command line."""

from __future__ import annotations

import hashlib
import json
import subprocess
import sys
import zipfile
import zlib
from pathlib import Path

import pytest

import palmette
from palmette import Pipeline
from palmette.cli import main
from palmette.datasets import load_trees
from palmette.errors import UsageError
from palmette.models import installed, path_of
from palmette.models.card import card_text, notice_text
from palmette.models.package import completed, write_package

CARD = {
    "language": "Small English", "licence": "CC0", "about": "Sixty sentences.", "limits": ["Far too few sentences."],
    "sources": [{"name": "demo trees", "licence": "MIT", "use": "all", "attribution": "The Palmette authors",
                 "notice": "Keep this notice."}],
}  # fmt: skip


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("model") / "small.palm"
    Pipeline(passes=1, folds=2, components=("tok", "tag")).fit(load_trees("train")).save(path)
    return path


@pytest.fixture(scope="module")
def wheel(model: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("wheel")
    return Path(write_package(model, completed(CARD, "zz", "1.2", model), folder))


def test_a_file_loads_as_what_it_is(model: Path) -> None:
    assert isinstance(palmette.load(model), Pipeline)
    assert isinstance(palmette.load(str(model)), Pipeline)


def test_an_unknown_name_lists_the_models() -> None:
    with pytest.raises(UsageError, match="neither a file nor an installed model; installed models: "):
        palmette.load("klingon")


def test_a_file_goes_before_an_installed_model(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "en").write_text("a file")
    assert path_of("en") == "en"
    assert path_of("-") == "-"


def test_a_wheel_has_the_model_its_card_and_its_licence(wheel: Path, model: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        names = set(archive.namelist())
        assert archive.read("palmette_model_zz/model.palm") == model.read_bytes()
        card = json.loads(archive.read("palmette_model_zz/card.json"))
        record = archive.read("palmette_model_zz-1.2.dist-info/RECORD").decode()
    assert {line.split(",")[0] for line in record.splitlines()} == names
    assert card["sha256"] == hashlib.sha256(model.read_bytes()).hexdigest()
    assert card["licence"] == "CC0"


def test_the_same_model_is_the_same_wheel(wheel: Path, model: Path, tmp_path: Path) -> None:
    again = write_package(model, completed(CARD, "zz", "1.2", model), tmp_path)
    assert Path(again).read_bytes() == wheel.read_bytes()


def test_an_installed_package_is_found_by_its_name(wheel: Path, tmp_path: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(tmp_path)
    code = (
        "import palmette; from palmette.cli import main; "
        "print(palmette.load('zz').components_); main(['models']); main(['tag', 'zz', 'It rains.', '-q'])"
    )
    env = {"PYTHONPATH": f"{tmp_path}:{Path(palmette.__file__).parents[1]}"}
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=env, check=True)
    assert found.stdout.startswith("('tok', 'tag')\n")
    assert "Small English" in found.stdout
    assert "# text = It rains." in found.stdout


@pytest.mark.parametrize(("name", "version"), [("Zz", "1"), ("z-z", "1"), ("zz", "one")])
def test_names_and_versions_are_checked(model: Path, tmp_path: Path, name: str, version: str) -> None:
    with pytest.raises(UsageError):
        write_package(model, completed(CARD, name, version, model), tmp_path)


def test_the_command_makes_a_package(model: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    main(["pipeline", "package", str(model), "--name", "zz", "--licence", "CC0", "-o", str(tmp_path)])
    assert "palmette_model_zz-1.0-py3-none-any.whl" in capsys.readouterr().out
    assert (tmp_path / "palmette_model_zz-1.0-py3-none-any.whl").exists()


def test_cards_name_all_data() -> None:
    card = {**CARD, "name": "zz", "sha256": "0", "scores": {"test": {"text": {"LAS": 50.0}, "entities": {"F1": 40.0}}}}
    assert "| demo trees | MIT | all | The Palmette authors |" in card_text(card)
    assert "F1 40.0" in card_text(card)
    assert "demo trees, MIT" in notice_text(card)
    assert "Keep this notice." in notice_text(card)


SHIPPED = installed().get("en")
shipped = pytest.mark.skipif(SHIPPED is None, reason="built without models")


@shipped
def test_the_english_model_is_the_one_of_its_card() -> None:
    assert SHIPPED is not None
    data = Path(SHIPPED.path).read_bytes()
    assert hashlib.sha256(data).hexdigest() == SHIPPED.card["sha256"]
    assert len(data) == SHIPPED.card["bytes"]
    assert len(zlib.compress(data)) <= 10_000_000  # in a wheel


@shipped
def test_the_english_model_reads_a_text() -> None:
    doc = palmette.load("en")("Angela Merkel visited Paris on Monday. She didn't stay.")
    assert [word.form for word in doc.sentences[1].words] == ["She", "did", "n't", "stay", "."]
    assert [(one.text, one.label) for one in doc.entities] == [("Angela Merkel", "PER"), ("Paris", "LOC")]
    root = doc.sentences[0].root
    assert root is not None
    assert (root.form, root.lemma, root.upos, root.feats["Tense"]) == ("visited", "visit", "VERB", "Past")


@shipped
def test_names_of_models_are_models_for_commands(capsys: pytest.CaptureFixture[str]) -> None:
    main(["tag", "en", "Time flies."])
    assert "2\tflies\t" in capsys.readouterr().out
    main(["inspect", "en"])
    assert "entities" in capsys.readouterr().out
