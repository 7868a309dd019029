"""Tag schemes of label sequences and of files converted into each other."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from palmette import FormatSpec, convert_file, convert_labels
from palmette.errors import DataError, UsageError

WORD = "\t_\t_\t{}\t_\t_\t_\t_\t_\t_"
FILES = {
    "x.txt": ("-DOCSTART- O\r\n\na B-X\r\nb I-X\n\nc  B-Y", "-DOCSTART- O\r\n\na B-X\r\nb E-X\n\nc  S-Y"),
    "x.conllu": (
        f"# c\n1-2{WORD.format('_')}\n1{WORD.format('B-X')}\n2{WORD.format('I-X')}\n\n1{WORD.format('B-Y')}\n",
        f"# c\n1-2{WORD.format('_')}\n1{WORD.format('B-X')}\n2{WORD.format('E-X')}\n\n1{WORD.format('S-Y')}\n",
    ),
    "x.crfsuite": ("@weight:2\nB-a\\:b\tw:2\nI-a\\:b\tv\n\nB\tx\n", "@weight:2\nB-a\\:b\tw:2\nE-a\\:b\tv\n\nS\tx\n"),
    "x.jsonl": (
        '{"id":1,"tokens":["a","b"],"ner_tags":["B-X","I-X"]}\n\n{"tokens":[],"ner_tags":[]}',
        '{"id":1,"tokens":["a","b"],"ner_tags":["B-X","E-X"]}\n\n{"tokens":[],"ner_tags":[]}',
    ),
}


@pytest.mark.parametrize("name", FILES)
@pytest.mark.parametrize("way", [("iobes", 0), ("IOB2", 1)])
def test_only_the_labels_of_a_file_change(tmp_path: Path, name: str, way: tuple[str, int]) -> None:
    to, side = way
    (tmp_path / name).write_bytes(FILES[name][side].encode())
    assert convert_file(tmp_path / name, tmp_path / "out", to) == (2 if name == "x.jsonl" else 3)
    assert (tmp_path / "out").read_bytes().decode() == FILES[name][1 - side]


def test_the_label_may_be_in_another_column_or_a_number(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("B-X,a,1\nI-X,b,2\n", encoding="utf-8")
    spec = FormatSpec(label="0", separator="comma")
    assert convert_file(tmp_path / "a.txt", tmp_path / "a.txt", "bilou", spec=spec) == 2
    assert (tmp_path / "a.txt").read_text(encoding="utf-8") == "B-X,a,1\nL-X,b,2\n"
    (tmp_path / "n.jsonl").write_text('{"tokens":["a","b"],"tags":[1,0]}\n', encoding="utf-8")
    convert_file(tmp_path / "n.jsonl", tmp_path / "out", "iobes", spec=FormatSpec(tag_names=("O", "B-X")))
    assert json.loads((tmp_path / "out").read_text(encoding="utf-8"))["tags"] == ["S-X", "O"]


def test_what_cannot_be_converted(tmp_path: Path) -> None:
    (tmp_path / "pos.txt").write_text("a O\n\nb NN\n", encoding="utf-8")
    with pytest.raises(DataError, match=r"pos.txt:3: the label 'NN' is no chunk label"):
        convert_file(tmp_path / "pos.txt", tmp_path / "out", "iob2")
    assert not (tmp_path / "out").exists()
    with pytest.raises(UsageError, match="format text has no labels"):
        convert_file(tmp_path / "pos.txt", tmp_path / "out", spec=FormatSpec(format="text"))
    with pytest.raises(UsageError, match="unknown tag scheme 'iob3'"):
        convert_file(tmp_path / "pos.txt", tmp_path / "out", "iob3")
    with pytest.raises(UsageError, match="the label 'NN' of token 1 is no chunk label"):
        convert_labels(["O", "NN"], "iob2")
    with pytest.raises(UsageError, match="list of strings"):
        convert_labels("O")


def test_letters_of_the_schemes() -> None:
    labels = ["B-X", "I-X", "I-X", "B-Y", "O"]
    made = {
        "iobes": ["B-X", "I-X", "E-X", "S-Y", "O"], "bilou": ["B-X", "I-X", "L-X", "U-Y", "O"],
        "BMES": ["B-X", "M-X", "E-X", "S-Y", "O"], "bmewo": ["B-X", "M-X", "E-X", "W-Y", "O"],
        "iob1": ["I-X", "I-X", "I-X", "I-Y", "O"],
    }  # fmt: skip
    for name, wanted in made.items():
        assert convert_labels(labels, name) == wanted
        assert convert_labels(wanted, "iob2") == labels
    assert convert_labels([labels, [], ["O"]], "bio") == [labels, [], ["O"]]
    assert convert_labels([]) == []
