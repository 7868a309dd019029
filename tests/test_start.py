"""`palmette tag` on a small file: without NumPy, with the bytes that the command writes; everything else as before."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from palmette import Tagger
from palmette.cli import main as run
from palmette.features.templates import parse
from palmette.runtime import native, start

pytestmark = pytest.mark.skipif(not Path(native.library_path()).exists(), reason="built without the runtime")

WORDS = [["caf\u00e9", "X"], ["b", "Y"], ["c", "X"]]


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("start")
    (folder / "train.txt").write_text("caf\u00e9 X B-P\nb Y I-P\n\nc X O\nb Y O\n", encoding="utf-8")
    tagger = Tagger(template=parse("U0:%x[0,0]\nU1:%x[-1,0,lower]/%x[0,1]\nB"), passes=3)
    tagger.fit_file(folder / "train.txt").save(folder / "m.palm")
    return folder / "m.palm"


FILES = {
    "spaces": "caf\u00e9 X\nb Y\n\nc X\n",
    "gold too": "b Y O\nc X O\n\n\n\ncaf\u00e9 X B-P\n\n",
    "tabs": "b\tY\nc\tX\n",
    "runs": "b   Y\nc X\n",
}


@pytest.mark.parametrize("name", FILES)
def test_the_bytes_are_those_of_the_command(name: str, model: Path, tmp_path: Path) -> None:
    source, quick, slow = (tmp_path / each for each in ("in.txt", "quick.txt", "slow.txt"))
    source.write_text(FILES[name], encoding="utf-8")
    assert start.tagged([str(model), str(source), "-o", str(quick), "-q"])
    run(["tag", str(model), str(source), "-o", str(slow), "-q"])
    assert quick.read_bytes() == slow.read_bytes()


def test_one_sentence_imports_no_numpy(model: Path, tmp_path: Path) -> None:
    (tmp_path / "in.txt").write_text(FILES["spaces"], encoding="utf-8")
    command = [sys.executable, "-X", "importtime", "-m", "palmette", "tag", str(model), str(tmp_path / "in.txt")]
    ran = subprocess.run(command, capture_output=True, text=True, check=True, encoding="utf-8")
    assert [line.split()[-1] for line in ran.stdout.splitlines() if line] == ["B-P", "I-P", "O"]
    assert "palmette.runtime.native" in ran.stderr
    assert not {"numpy", "msgspec", "logging", "palmette.cli"} & {line.split()[-1] for line in ran.stderr.splitlines()}


@pytest.mark.parametrize(
    "content",
    [
        "b Y", "b Y\nc\n", "b\n", " b Y\n", "b Y\r\n", "#b Y\n", "-DOCSTART- X\n\nb Y\n", "b\tY=1\n", "\n\n", "",
        "b\x0bY\n", "\ufeffb Y\n", '{"tokens": ["b"]}\n',
    ],
)  # fmt: skip
def test_other_files_are_left_to_the_command(content: str, model: Path, tmp_path: Path) -> None:
    source = tmp_path / "in.txt"
    source.write_bytes(content.encode())
    assert not start.tagged([str(model), str(source), "-o", str(tmp_path / "o.txt"), "-q"])
    assert not (tmp_path / "o.txt").exists()


def test_other_words_are_left_to_the_command(model: Path, tmp_path: Path) -> None:
    source, out = tmp_path / "in.txt", str(tmp_path / "o.txt")
    source.write_text("b Y\n")
    name = str(model)
    for words in (
        [name], [name, str(source), "--scores"], [name, str(source), "-o", out], [name, "none.txt", "-o", out, "-q"],
        [name, str(source), "-o", str(source), "-q"], [name, str(source), "-o", "-", "-q"], [str(source), name, "-q"],
        [name, str(source), "-o", str(tmp_path / "o.txt.gz"), "-q"], [name, str(source), "-q", "--threads", "x"],
        ["en", str(source)],
    ):  # fmt: skip
        assert not start.tagged(words), words
    assert sorted(tmp_path.iterdir()) == [source]


def test_output_that_cannot_be_written(model: Path, tmp_path: Path) -> None:
    (tmp_path / "in.txt").write_text(FILES["spaces"] * 500, encoding="utf-8")
    words = [sys.executable, "-m", "palmette", "tag", str(model), str(tmp_path / "in.txt")]
    closed = subprocess.run(["sh", "-c", '"$@" | true', "sh", *words], capture_output=True, text=True, check=False)
    assert (closed.returncode, closed.stderr) == (0, "")
    nowhere = subprocess.run([*words, "-q", "-o", str(tmp_path / "no" / "o.txt")], capture_output=True, text=True)
    assert nowhere.returncode == 1
    assert nowhere.stderr.startswith("palmette: ")
    if Path("/dev/full").exists():
        with open("/dev/full", "wb") as full:
            ran = subprocess.run(words, stdout=full, stderr=subprocess.PIPE, text=True, check=False)
        assert (ran.returncode, ran.stderr) == (1, "palmette: cannot write: No space left on device\n")
