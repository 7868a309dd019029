"""Tag schemes of label sequences and of files converted into each other."""

from __future__ import annotations

import json
from itertools import permutations
from pathlib import Path

import pytest
from cli_run import Cli
from documents import documents
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from palmette import Tagger
from palmette.cli import main
from palmette.connect import read_documents, write_documents
from palmette.data import Conversion, Document, FormatSpec, convert_file, convert_labels, read_corpus
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
    assert convert_file(tmp_path / "a.txt", tmp_path / "b.txt", "bilou", spec=spec) == 2
    assert (tmp_path / "b.txt").read_text(encoding="utf-8") == "B-X,a,1\nL-X,b,2\n"
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


# From one format to another

SENTENCES = [[("Anna", "B-PER"), ("Lee", "I-PER"), ("saw", "O"), ("Rome", "B-LOC")], [("Bob", "B-PER"), (":", "O")]]
WRITTEN = {
    "columns": "Anna\tB-PER\nLee\tI-PER\nsaw\tO\nRome\tB-LOC\n\nBob\tB-PER\n:\tO\n\n",
    "jsonl": '{"tokens":["Anna","Lee","saw","Rome"],"tags":["B-PER","I-PER","O","B-LOC"]}\n'
    '{"tokens":["Bob",":"],"tags":["B-PER","O"]}\n',
    "conllu": "".join(
        "".join(f"{k}\t{word}\t_\t{tag}" + "\t_" * 6 + "\n" for k, (word, tag) in enumerate(sentence, 1)) + "\n"
        for sentence in SENTENCES
    ),
}
ATTRIBUTES = "B-PER\t0=Anna\nI-PER\t0=Lee\nO\t0=saw\nB-LOC\t0=Rome\n\nB-PER\t0=Bob\nO\t0=\\:\n\n"
TEXTS = ["Anna Lee saw Rome", "Bob :"]
ENTITIES = [[("PER", "Anna Lee"), ("LOC", "Rome")], [("PER", "Bob")]]
TOOLS = ("prodigy", "labelstudio", "doccano", "brat")


@pytest.mark.parametrize(("one", "other"), list(permutations(WRITTEN, 2)))
def test_formats_of_tokens(one: str, other: str, tmp_path: Path) -> None:
    (tmp_path / "in").write_text(WRITTEN[one], encoding="utf-8")
    spec = FormatSpec(format=one)
    assert convert_file(tmp_path / "in", tmp_path / "out", output_format=other, spec=spec) == 6
    assert (tmp_path / "out").read_text(encoding="utf-8") == WRITTEN[other]
    convert_file(tmp_path / "in", tmp_path / "out", output_format="attributes", spec=spec)
    assert (tmp_path / "out").read_text(encoding="utf-8") == ATTRIBUTES
    names = read_corpus(tmp_path / "out", FormatSpec(format="attributes")).attributes
    assert names is not None
    assert names.names.types == ["0=Anna", "0=Lee", "0=saw", "0=Rome", "0=Bob", "0=:"]


@pytest.mark.parametrize("tool", TOOLS)
@pytest.mark.parametrize("format", WRITTEN)
def test_tokens_for_annotators_and_back(format: str, tool: str, tmp_path: Path) -> None:
    (tmp_path / "in").write_text(WRITTEN[format], encoding="utf-8")
    target = tmp_path / ("x.ann" if tool == "brat" else "x")
    convert_file(tmp_path / "in", target, output_format=tool, spec=FormatSpec(format=format))
    found = read_documents(target, tool)
    shown = [[(s.label, d.text[s.start : s.end]) for s in d.spans] for d in found]
    if tool == "brat":  # one text, a line per sentence
        assert ([d.text for d in found], shown) == (["\n".join(TEXTS)], [ENTITIES[0] + ENTITIES[1]])
        return
    assert ([d.text for d in found], shown) == (TEXTS, ENTITIES)
    convert_file(target, tmp_path / "back", output_format=format, spec=FormatSpec(format=tool))
    back = read_corpus(tmp_path / "back", FormatSpec(format=format))
    assert back.labels is not None
    rows = list(zip(back.columns[0].cells(), back.labels.cells(), strict=True))
    assert rows == [row for sentence in SENTENCES for row in sentence]


@pytest.mark.parametrize(("one", "other"), list(permutations(TOOLS[:3], 2)))
@settings(max_examples=15, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(documents(), max_size=3))
def test_annotators_keep_all_spans_of_each_other(one: str, other: str, tmp_path: Path, made: list[Document]) -> None:
    """Also empty and overlapping ones, which tokens could not keep."""
    write_documents(made, tmp_path / "in", one)
    account = Conversion()
    spec = FormatSpec(format=one)
    convert_file(tmp_path / "in", tmp_path / "out", output_format=other, spec=spec, report=account)
    found = read_documents(tmp_path / "out", other)
    assert [(d.text, [(s.start, s.end, s.label) for s in d.spans]) for d in found] == [
        (d.text, [(s.start, s.end, s.label) for s in d.spans]) for d in made
    ]
    assert (account.documents, account.spans) == (len(made), sum(len(d.spans) for d in made))
    assert account.notes.total("lost", "moved") == 0


def test_raw_text_becomes_tasks_and_tokens(tmp_path: Path) -> None:
    (tmp_path / "t.txt").write_text("It's me.\n\nYou\n", encoding="utf-8")
    spec = FormatSpec(format="text")
    convert_file(tmp_path / "t.txt", tmp_path / "out", output_format="doccano", spec=spec)
    assert (tmp_path / "out").read_text(encoding="utf-8") == '{"text":"It\'s me."}\n{"text":"You"}\n'
    convert_file(tmp_path / "t.txt", tmp_path / "out", output_format="columns", spec=spec)
    assert (tmp_path / "out").read_text(encoding="utf-8") == "It\n's\nme\n.\n\nYou\n\n"
    convert_file(tmp_path / "t.txt", tmp_path / "out", output_format="conllu", spec=spec)
    lines = (tmp_path / "out").read_text(encoding="utf-8").splitlines()
    assert lines[0] == "# text = It's me."
    assert [line.split("\t")[9] for line in lines[1:5]] == ["SpaceAfter=No", "_", "SpaceAfter=No", "_"]
    with pytest.raises(UsageError, match="begins with labels, and the input has none"):
        convert_file(tmp_path / "t.txt", tmp_path / "out", output_format="attributes", spec=spec)


def test_an_account_of_repairs(tmp_path: Path) -> None:
    rows = ["a B-X", "b I-X", "", "c I-Y", "d O", "", *["e B-X", "f I-X", ""] * 20]
    (tmp_path / "x.txt").write_text("\n".join(rows) + "\n", encoding="utf-8")
    account = Conversion()
    convert_file(tmp_path / "x.txt", tmp_path / "out", "iob2", report=account)
    assert (account.tokens, account.sentences, account.chunks) == (44, 22, 22)
    assert (account.scheme, account.ill_formed, account.labels_changed) == ("IOB2", 1, 1)
    assert account.ill_formed_places == [f"{tmp_path / 'x.txt'}:4"]
    assert (tmp_path / "out").read_text(encoding="utf-8").split("\n")[3] == "c B-Y"
    assert "1 of 22 chunks ill-formed in IOB2" in account.messages()[0][1]
    account = Conversion()
    convert_file(tmp_path / "out", tmp_path / "again", "iobes", report=account)
    assert (account.ill_formed, account.labels_changed) == (0, 22)  # an I that ends a chunk is E; c is S
    pos = tmp_path / "pos.txt"
    pos.write_text("a NN\nb VB\n", encoding="utf-8")
    account = Conversion()
    convert_file(pos, tmp_path / "out", output_format="jsonl", report=account)
    assert (account.scheme, account.chunks, account.tokens) == (None, 0, 2)


def test_only_the_encoding_changes(tmp_path: Path) -> None:
    (tmp_path / "x.txt").write_bytes("fa\xe7on  I-X\r\n".encode("latin-1"))
    spec = FormatSpec(encoding="latin-1")
    convert_file(tmp_path / "x.txt", tmp_path / "out", output_format="columns", spec=spec, output_encoding="utf-8")
    assert (tmp_path / "out").read_bytes() == "façon  I-X\r\n".encode()


def test_what_has_no_place_elsewhere(tmp_path: Path) -> None:
    (tmp_path / "x.jsonl").write_text('{"text": "a", "spans": []}\n', encoding="utf-8")
    with pytest.raises(UsageError, match="spans and no tag scheme"):
        convert_file(tmp_path / "x.jsonl", tmp_path / "out", "iobes", output_format="doccano")
    (tmp_path / "x.attr").write_text("O\ta\tb\n", encoding="utf-8")
    for format in ("columns", "jsonl", "prodigy"):
        with pytest.raises(UsageError, match="attributes have no"):
            convert_file(tmp_path / "x.attr", tmp_path / "out", output_format=format)
    with pytest.raises(UsageError, match="unknown output format 'xml'"):
        convert_file(tmp_path / "x.jsonl", tmp_path / "out", output_format="xml")
    (tmp_path / "y.jsonl").write_text('{"tokens": ["a b", "c\\td"], "tags": ["O", "O"]}\n', encoding="utf-8")
    for format in ("columns", "conllu", "attributes"):
        with pytest.raises(DataError, match=r"the (cell|word) 'c\\td'"):
            convert_file(tmp_path / "y.jsonl", tmp_path / "out", output_format=format)
    assert not (tmp_path / "out").exists()


def test_the_command(tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    cli = Cli(tmp_path, capsys, monkeypatch)
    spans = [{"start": 0, "end": 4, "label": "P"}, {"start": 0, "end": 3, "label": "Q"}]
    rows = [{"text": "Anna ran.", "spans": spans, "answer": "accept"}, {"text": "No", "answer": "reject"}]
    cli.write("a.jsonl", "".join(json.dumps(row) + "\n" for row in rows))
    ran = cli("convert a.jsonl --to columns -o a.txt")
    assert cli.read("a.txt") == "Anna\tB-P\nran\tO\n.\tO\n\n"
    assert "warning: 1 document left out: its answer is reject (a.jsonl:2)" in ran.err
    assert "warning: 1 span dropped: inside a longer one" in ran.err
    assert "3 tokens; wrote a.txt" in ran.err
    about = json.loads(cli.fine("convert a.jsonl --to columns --to-scheme iobes -o b.txt --json"))
    assert (about["tokens"], about["labels_changed"], about["lost"], about["output"]) == (3, 1, 2, "b.txt")
    assert about["notes"]["nested"] == {"effect": "lost", "count": 1, "places": ["a.jsonl:1"]}
    assert cli("convert a.jsonl --json").code == 2
    assert "2 documents, 2 spans; wrote c.jsonl" in cli("convert a.jsonl --to prodigy -o c.jsonl").err
    assert cli("convert a.jsonl --to xml").code == 2


def test_options_of_data_are_refused_for_models(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    Tagger("pos", passes=1).fit([["a", "b"]] * 3, [["X", "Y"]] * 3).save(tmp_path / "m.palm")
    for flags in (["--to-scheme", "iob2"], ["--to", "jsonl"], ["--json"], ["--format", "columns"]):
        with pytest.raises(SystemExit) as ended:
            main(["convert", str(tmp_path / "m.palm"), "-o", str(tmp_path / "n.palm"), *flags])
        assert ended.value.code == 2
        assert f"{flags[0]}: for data" in capsys.readouterr().err


def test_the_format_that_was_written_is_told(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    cli = Cli(tmp_path, capsys, monkeypatch)
    cli.write("a.jsonl", '{"text":"Ann left.","spans":[{"start":0,"end":3,"label":"PER"}],"answer":"accept"}\n')
    told = cli("convert a.jsonl -o b.conllu").err
    assert "warning: b.conllu has the format of the input, prodigy, and the name of another" in told
    assert "wrote b.conllu (prodigy)" in told
    for line in (
        "convert a.jsonl -o b.jsonl",
        "convert a.jsonl -o b.conll",
        "convert b.jsonl -o c.txt --to-scheme iob1",
    ):
        assert "warning" not in cli(line).err
    assert "wrote d.conllu (conllu)" in (told := cli("convert a.jsonl -o d.conllu --to conllu").err)
    assert "name of another" not in told


def test_an_output_that_is_a_model_asks_for_a_model(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    cli = Cli(tmp_path, capsys, monkeypatch)
    cli.write("crfpp.model", "d" + "\0" * 30)
    ran = cli("convert crfpp.model -o crfpp.palm")
    assert ran.code == 1
    assert "a binary model of CRF++" in ran.err


@pytest.mark.parametrize("format", ["jsonl", "conllu", "doccano", "prodigy", "labelstudio"])
def test_columns_that_a_format_does_not_have_are_reported(tmp_path: Path, format: str) -> None:
    path, account = tmp_path / "a.txt", Conversion()
    path.write_text("a X l B-P\nb Y u I-P\n\n" * 3, encoding="utf-8")
    convert_file(path, tmp_path / "out", output_format=format, report=account)
    assert account.to_dict()["notes"]["columns"]["count"] == 2
    assert account.to_dict()["lost"] == 2
    convert_file(path, tmp_path / "same", output_format="attributes", report=(kept := Conversion()))
    assert not kept.notes.counts
