"""Attributes in words."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from palmette import Tagger
from palmette.cli import main
from palmette.datasets import load_demo
from palmette.features import NAMED_SETS, named_set, parse
from palmette.features.readable import AttributeWords
from palmette.structures import attribute_words

CELL = st.text(st.characters(codec="utf-8", exclude_categories=("Zs", "Cc", "Cs")), min_size=1, max_size=4)


@pytest.mark.parametrize(
    ("attribute", "words"),
    [
        ("U42:PRP", "tag[0]=PRP"),
        ("U46:DT/NN", "tag[-1]=DT, tag[0]=NN"),
        ("U17:ing", "suffix3[0]=ing"),
        ("U00:the", "word[0]=the"),
        ("U46:1/2/3", "tag[-1]/tag[0]=1/2/3"),  # which of the two has the slash is not known
        ("a=b", "a=b"),
    ],
)
def test_named_sets_in_words(attribute: str, words: str) -> None:
    assert AttributeWords(named_set("chunk"), own_names=False)(attribute) == words


@pytest.mark.parametrize(
    ("line", "attribute", "words"),
    [
        ("U00:%x[-1,0]", "U00:the", "word[-1]=the (U00)"),
        ("B01:%x[0,2]", "B01:k", "column2[0]=k (B01)"),
        ("U", "U", "bias (U)"),
        ("U:a%x[0,0]b", "U:axb", "word[0]=x (U:a)"),
        ("u:f=%x[@1,0]", "u:f=The", "word[first+0]=The (u:f)"),
    ],
)
def test_templates_of_a_file_keep_their_names_beside(line: str, attribute: str, words: str) -> None:
    assert AttributeWords(parse(f"{line}\n"))(attribute) == words


def test_an_attribute_that_several_templates_could_have_made_stays_as_it_is() -> None:
    assert AttributeWords(parse("U:%x[0,0]\nU:%x[1,0]\n"))("U:the") == "U:the"


@given(st.sampled_from(sorted(NAMED_SETS)), st.data())
def test_the_cells_of_every_template_are_found_again(name: str, data: st.DataObject) -> None:
    """From the definition: the string is the template's text with its macros replaced."""
    templates = named_set(name)
    template = data.draw(st.sampled_from([t for t in templates.templates if t.macros]))
    cells = [data.draw(CELL.filter(lambda cell: "/" not in cell)) for _ in template.macros]
    attribute = template.literals[0] + "".join(
        cell + text for cell, text in zip(cells, template.literals[1:], strict=True)
    )
    shown = AttributeWords(templates, own_names=False)(attribute)
    values = [f"={cell}" for cell in cells]
    assert all(value in shown for value in values)
    assert shown.endswith(values[-1])


def test_ready_made_attributes_are_shown_as_they_are() -> None:
    model = Tagger(passes=1).fit([[{"a": "x"}, {"a": "y"}]], [["A", "B"]]).model_
    assert attribute_words(model)("U12:PRP") == "U12:PRP"


def test_columns_that_were_chosen_by_name(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    path.write_text('{"words": ["a", "b"], "case": ["l", "u"], "tags": ["X", "Y"]}\n', encoding="utf-8")
    (tmp_path / "t").write_text("U0:%x[0,0]\nU1:%x[0,1]\n", encoding="utf-8")
    main(["train", str(path), "-o", str(tmp_path / "m"), "-t", str(tmp_path / "t"), "--columns", "words,case", "-q"])
    words = attribute_words(Tagger.load(tmp_path / "m").model_)
    assert [words("U0:a"), words("U1:l")] == ["word[0]=a (U0)", "case[0]=l (U1)"]


def test_the_second_of_many_columns_may_be_anything() -> None:
    for width, second in ((2, "tag[0]=x (U1)"), (3, "column1[0]=x (U1)")):
        own = parse("\n".join(f"U{k}:%x[0,{k}]" for k in range(width)) + "\nB")
        model = Tagger(template=own, passes=1).fit([[("x",) * width] * 2], [["A", "B"]]).model_
        assert attribute_words(model)("U1:x") == second
    named = Tagger("chunk", passes=1).fit([[("a", "DT", "x"), ("b", "NN", "y")]], [["B-X", "O"]]).model_
    assert attribute_words(named)("U42:DT") == "tag[0]=DT"


def test_the_demo_shows_names_and_leaves_the_files_that_it_names(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    main(["demo", "-o", str(tmp_path), "-q", "--text", "Time flies."])
    text = capsys.readouterr().out
    assert "tag[0]=NN" in text
    assert {path.name for path in tmp_path.iterdir()} == {
        "train.txt", "dev.txt", "test.txt", "pos.palm", "chunk.palm",
    }  # fmt: skip
    words, _ = load_demo("train")
    assert (tmp_path / "train.txt").read_text(encoding="utf-8").startswith(" ".join(words[0][0]))


def test_the_demo_does_not_replace_other_files(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "dev.txt").write_text("mine", encoding="utf-8")
    with pytest.raises(SystemExit):
        main(["demo", "-o", str(tmp_path), "-q", "--text", "Time flies."])
    assert "dev.txt is another file" in capsys.readouterr().err
    assert [path.name for path in tmp_path.iterdir()] == ["dev.txt"]
