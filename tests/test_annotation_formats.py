"""Files of annotators: every writer is read by a small reader of its own written here, every reader gets what the tools
write, round trips keep all but what is reported, and hostile files are clear errors."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
from documents import TARGETS, documents, label_studio_task, write_lines
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from palmette.connect import read_documents, write_documents
from palmette.data import Document, FormatSpec, TextSpan, read_corpus
from palmette.data.analysed import joined_pieces
from palmette.errors import DataError, UsageError

Found = list[tuple[str, list[tuple[str, str]]]]


# Small readers, from the formats' descriptions: texts, and of each span its label and the text at its offsets


def read_prodigy(path: Path) -> Found:
    tasks = [json.loads(line) for line in path.read_text(encoding="utf-8").split("\n") if line]
    for task in tasks:
        for span in task["spans"]:
            if "token_start" in span:
                first, last = task["tokens"][span["token_start"]], task["tokens"][span["token_end"]]
                assert (first["start"], last["end"]) == (span["start"], span["end"])
        for token in task.get("tokens", []):
            assert task["text"][token["start"] : token["end"]] == token["text"]
    return [(t["text"], [(s["label"], t["text"][s["start"] : s["end"]]) for s in t["spans"]]) for t in tasks]


def read_doccano(path: Path) -> Found:
    """Offsets as JavaScript's `slice` counts."""
    rows = [json.loads(line) for line in path.read_text(encoding="utf-8").split("\n") if line]
    units = [row["text"].encode("utf-16-le") for row in rows]
    return [
        (row["text"], [(label, text[2 * a : 2 * b].decode("utf-16-le")) for a, b, label in row["label"]])
        for row, text in zip(rows, units, strict=True)
    ]


def read_label_studio(path: Path) -> Found:
    made = []
    for task in json.loads(path.read_text(encoding="utf-8")):
        text, found = task["data"]["text"], []
        for region in task["annotations"][0]["result"]:
            value = region["value"]
            assert region["type"] == "labels"
            assert value["text"] == text[value["start"] : value["end"]]
            found.append((value["labels"][0], value["text"]))
        made.append((text, found))
    return made


def read_brat(path: Path) -> Found:
    """The text at offsets is that of the line, pieces joined with a space, and no piece has a line end."""
    text = path.with_suffix(".txt").read_bytes().decode()
    found = []
    for line in path.read_bytes().decode().split("\n")[:-1]:
        own, head, covered = line.split("\t", 2)
        label, _, offsets = head.partition(" ")
        pieces = [[int(n) for n in piece.split(" ")] for piece in offsets.split(";")]
        assert own.startswith("T")
        assert re.sub(r"\r\n|\r|\n", " ", " ".join(text[a:b] for a, b in pieces)) == covered
        found.append((label, text[pieces[0][0] : pieces[-1][1]]))
    return [(text, found)]


READERS = {
    "prodigy": read_prodigy, "labelstudio": read_label_studio, "doccano": read_doccano, "brat": read_brat,
}  # fmt: skip


def pieces(document: Document) -> list[tuple[int, int, str]]:
    """The pieces of all spans, those with only white space between them joined, in order."""
    return [
        (a, b, span.label) for span in document.spans for a, b in joined_pieces(document.text, span.pieces)
    ]  # fmt: skip


@pytest.mark.parametrize("format", ["prodigy", "labelstudio", "doccano"])
@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(documents(gaps=True), max_size=3))
def test_what_is_written_is_what_is_meant(format: str, tmp_path: Path, given_documents: list[Document]) -> None:
    path = tmp_path / TARGETS[format]
    write_documents(given_documents, path, format)
    expected = [(d.text, [(label, d.text[a:b]) for a, b, label in pieces(d)]) for d in given_documents]
    assert READERS[format](path) == expected
    back = read_documents(path, format)
    assert [(d.text, [(s.start, s.end, s.label) for s in d.spans]) for d in back] == [
        (d.text, pieces(d)) for d in given_documents
    ]
    assert all(d.answer == "accept" for d in back)


@settings(max_examples=100, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(documents(gaps=True))
def test_brat_keeps_gaps_and_reports_lost_line_ends(tmp_path: Path, logged: list[str], document: Document) -> None:
    path = tmp_path / "a.ann"
    for each in tmp_path.iterdir():
        each.unlink()
    logged.clear()
    write_documents([document], path, "brat")
    ((text, found),) = read_brat(path)
    assert text == document.text
    assert [label for label, _ in found] == [span.label for span in document.spans]
    for span, line in zip(document.spans, path.read_bytes().decode().split("\n"), strict=False):
        numbers = [int(number) for number in re.findall(r"[0-9]+", line.split("\t")[1].partition(" ")[2])]
        start, end = span.pieces[0][0], span.pieces[-1][1]
        assert not (text[start : numbers[0]] + text[numbers[-1] : end]).strip("\r\n")
    covered = [[text[a:b] for a, b in span.pieces] for span in document.spans]
    moved = sum(any(inner.strip("\r\n") not in ("", inner) for inner in each) for each in covered)
    told = [message for message in logged if "white space at the edges left out" in message]
    assert [message.split()[0] for message in told] == ([str(moved)] if moved else [])
    (back,) = read_documents(path, "brat")
    if not moved and all(a < b for span in document.spans for a, b in span.pieces):
        assert pieces(back) == pieces(document)


@pytest.mark.parametrize("format", TARGETS)
def test_scores_answers_and_other_keys(format: str, tmp_path: Path, logged: list[str]) -> None:
    """What a format has no place for is reported."""
    given_documents = [
        Document("a b", [TextSpan(0, 1, "X", score=0.5)], {"source": "s"}),
        Document("c", [], answer="reject", place="p:2"), Document("d", [], answer="ignore", place="p:3"),
        Document("e", [], answer=None),
    ]  # fmt: skip
    target = tmp_path / ("folder" if format == "brat" else "file")
    write_documents(given_documents, target, format)
    back = read_documents(target, format)
    kept = {
        "prodigy": ["accept", "reject", "ignore", None], "labelstudio": ["accept", "ignore", None],
        "doccano": ["accept", None], "brat": ["accept", "accept"],
    }[format]  # fmt: skip
    assert [document.answer for document in back] == kept
    told = " ".join(logged)
    assert ("answer is reject (p:2)" in told) == (format != "prodigy")
    assert ("answer is ignore (p:3)" in told) == (format not in ("prodigy", "labelstudio"))
    assert ("without meta data" in told) == (format in ("doccano", "brat"))
    assert ("without a score" in told) == (format == "doccano")
    assert back[0].spans[0].score == (0.5 if format in ("prodigy", "labelstudio") else None)
    if format == "brat":
        assert (target / "1.ann").read_text() == "T1\tX 0 1\ta\n#1\tAnnotatorNotes T1\tscore 0.5\n"


# What the tools write


def test_prodigy(tmp_path: Path) -> None:
    task = {
        "text": "Hi 😀 Bob", "_input_hash": 5, "_task_hash": 6, "meta": {"n": 1}, "answer": "accept",
        "tokens": [{"text": "Hi", "start": 0, "end": 2, "id": 0}, {"text": "😀", "start": 3, "end": 4, "id": 1},
                   {"text": "Bob", "start": 5, "end": 8, "id": 2}],
        "spans": [{"start": 5, "end": 8, "label": "P", "token_start": 2, "token_end": 2, "source": "me"}],
    }  # fmt: skip
    path = write_lines(tmp_path, "a.jsonl", task, {"text": "bare"})
    one, bare = read_documents(path)
    assert (one.text, one.meta, one.answer, one.tokens) == ("Hi 😀 Bob", {"n": 1}, "accept", [(0, 2), (3, 4), (5, 8)])
    assert one.spans == [TextSpan(5, 8, "P", extra={"source": "me"})]
    assert (bare.answer, bare.spans) == (None, [])
    write_documents([one, bare], tmp_path / "b.jsonl", "prodigy")
    again, other = [json.loads(line) for line in (tmp_path / "b.jsonl").read_text(encoding="utf-8").splitlines()]
    for token, ws in zip(task["tokens"], (True, True, False), strict=True):
        token["ws"] = ws
    assert (again, other) == (task, {"text": "bare"})


def test_label_studio_counts_what_its_texts_show(tmp_path: Path, logged: list[str]) -> None:
    """Versions until 2022 counted UTF-16 units; browsers may count CR LF once."""
    text = "😀\r\nBob 😀 Ann"
    bob = {"": (3, 6), "utf16": (4, 7), "crlf": (2, 5), "both": (3, 6)}
    ann = {"": (9, 12), "utf16": (11, 14), "crlf": (8, 11), "both": (10, 13)}
    tasks = []
    for way in bob:
        values = [(*bob[way], "Bob"), (*ann[way], "Ann")]
        result = [
            {"value": {"start": a, "end": b, "text": t, "labels": ["P"]}, "from_name": "ner", "to_name": "t", "id": t,
             "type": "labels"} for a, b, t in values
        ]  # fmt: skip
        tasks.append({"id": 1, "data": {"text": text}, "annotations": [{"result": result}]})
    path = tmp_path / "ls.json"
    path.write_text(json.dumps(tasks), encoding="utf-8")
    for document in read_documents(path):
        assert [text[s.start : s.end] for s in document.spans] == ["Bob", "Ann"]
    assert "2 documents with offsets in UTF-16 units, which became characters" in " ".join(logged)
    assert "1 document with offsets that count CR LF as one" in " ".join(logged)
    forced = read_documents(path, spec=FormatSpec(format="labelstudio", offsets="utf16"))
    assert [(s.start, s.end) for s in forced[1].spans] == [(3, 6), (9, 12)]


def test_label_studio(tmp_path: Path, logged: list[str]) -> None:
    choice = {"value": {"choices": ["x"]}, "from_name": "c", "to_name": "t", "type": "choices"}
    task = label_studio_task()
    task["annotations"][0]["result"].append(choice)
    several = label_studio_task(
        annotations=[{"result": [], "was_cancelled": True}, {"result": []}, {"result": [], "ground_truth": True}]
    )
    cancelled = label_studio_task(annotations=[{"result": [], "was_cancelled": True}])
    old = label_studio_task(completions=task["annotations"])
    del old["annotations"]
    predicted = label_studio_task(
        annotations=[], predictions=[{"result": task["annotations"][0]["result"], "score": 0.5}]
    )
    path = tmp_path / "ls.json"
    path.write_text(json.dumps([task, several, cancelled, old, predicted]), encoding="utf-8")
    found = read_documents(path)
    assert [d.answer for d in found] == ["accept", "accept", "ignore", "accept", "predicted"]
    assert [[(s.start, s.end, s.label) for s in d.spans] for d in found] == [
        [(0, 3, "P")],
        [],
        [],
        *[[(0, 3, "P")]] * 2,
    ]
    assert [d.others for d in found] == [1, 0, 0, 1, 1]
    assert "1 task annotated several times" in " ".join(logged)
    write_documents(found, tmp_path / "out.json", "labelstudio")
    again = json.loads((tmp_path / "out.json").read_text(encoding="utf-8"))
    assert again == [task, several, cancelled, old, predicted]
    write_documents(found[:1], tmp_path / "out.jsonl", "prodigy")
    assert "1 annotation left out: no span" in " ".join(logged)
    assert "task 1: id, n)" in " ".join(logged)  # keys that Prodigy does not get


def test_label_studio_minimal(tmp_path: Path) -> None:
    rows = [
        {"text": "Bob left", "id": 1, "label": [{"start": 0, "end": 3, "text": "Bob", "labels": ["P", "Q"]}],
         "annotator": 1, "annotation_id": 2},
        {"text": "none", "id": 2, "annotation_id": 3},
    ]  # fmt: skip
    path = tmp_path / "min.json"
    path.write_text(json.dumps(rows), encoding="utf-8")
    one, none = read_documents(path)
    assert [(s.start, s.end, s.label) for s in one.spans] == [(0, 3, "P"), (0, 3, "Q")]
    assert (none.answer, none.spans) == ("accept", [])


def test_doccano(tmp_path: Path, logged: list[str]) -> None:
    relation = {"id": 1, "from_id": 5, "to_id": 6, "type": "r"}
    entities = {"id": 3, "text": "😀 Bob, Ann", "Comments": [], "relations": [relation],
                "entities": [{"id": 5, "label": "P", "start_offset": 3, "end_offset": 6},
                             {"id": 6, "label": "P", "start_offset": 8, "end_offset": 11}]}  # fmt: skip
    rows = [
        entities, {"text": "😀 Bob", "labels": [[3, 6, "P"]]}, {"text": "Bob 😀", "label": [[0, 3, "P"]]},
        {"data": "Bob"}, {"text": "😀x", "label": [[1, 2, "P"]]},
    ]  # fmt: skip
    path = write_lines(tmp_path, "d.jsonl", *rows)
    found = read_documents(path)
    assert [[d.text[s.start : s.end] for s in d.spans] for d in found] == [["Bob", "Ann"], ["Bob"], ["Bob"], [], ["x"]]
    assert "2 documents with offsets in UTF-16 units" in " ".join(logged)
    assert "1 document with characters beyond U+FFFF" in " ".join(logged)  # 1 is inside the emoji: characters
    write_documents(found, tmp_path / "out.jsonl", "doccano")
    made = [json.loads(line) for line in (tmp_path / "out.jsonl").read_text(encoding="utf-8").splitlines()]
    assert made[:4] == rows[:4]
    assert made[4] == {"text": "😀x", "label": [[2, 3, "P"]]}
    spec = FormatSpec(format="doccano", offsets="characters")
    path = write_lines(tmp_path, "e.jsonl", {"text": "😀 Bob", "label": [[2, 5, "P"]]})
    assert [(s.start, s.end) for s in read_documents(path, spec=spec)[0].spans] == [(2, 5)]


def test_brat(tmp_path: Path) -> None:
    text = "\ufeffBob and\r\nAnn Lee 😀 left"
    ann = (
        "T1\tPer 1 4\tBob\nT7\tPer 10 13;18 19\tAnn 😀\n#1\tAnnotatorNotes T1\tsure\nR1\tWith Arg1:T1 Arg2:T7\n"
        "E1\tLeave:T9 Who:T1\nT9\tLeave 20 24\tleft\nA1\tSure E1\n*\tEquiv T1 T7\n"
    )
    folder = tmp_path / "in"
    (folder / "sub").mkdir(parents=True)
    (folder / "b.txt").write_bytes(text.encode())
    (folder / "b.ann").write_bytes(ann.encode())
    (folder / "sub" / "c.txt").write_bytes(b"bare")
    one, bare = read_documents(folder)
    assert [(s.label, s.pieces, s.id) for s in one.spans] == [
        ("Per", ((1, 4),), "T1"), ("Per", ((10, 13), (18, 19)), "T7"), ("Leave", ((20, 24),), "T9"),
    ]  # fmt: skip
    assert (one.name, one.others, bare.name, bare.answer) == ("b", 5, "sub/c", None)
    write_documents([one, bare], tmp_path / "out", "brat")
    assert (tmp_path / "out" / "b.txt").read_bytes() == text.encode()
    assert sorted((tmp_path / "out" / "b.ann").read_text(encoding="utf-8").split("\n")) == sorted(ann.split("\n"))
    assert (tmp_path / "out" / "sub" / "c.ann").read_bytes() == b""
    with pytest.raises(DataError, match="it exists already"):
        write_documents([bare], tmp_path / "out", "brat")
    assert read_documents(folder / "b.txt", "brat") == read_documents(folder / "b.ann")
    (tmp_path / "x.txt").write_text("mine")
    with pytest.raises(DataError, match=r"x.ann: cannot read: no such file"):
        read_documents(tmp_path / "x.ann")
    assert read_documents(tmp_path / "x.txt", "brat")[0].answer is None
    with pytest.raises(DataError, match=r"x.txt: cannot write: it exists, and is not the text"):
        write_documents([bare], tmp_path / "x.ann", "brat")
    assert not (tmp_path / "x.ann").exists()
    with pytest.raises(UsageError, match="two files per text"):
        write_documents([bare], "-", "brat")
    with pytest.raises(DataError, match="types have no spaces"):
        write_documents([Document("a", [TextSpan(0, 1, "a b")])], tmp_path / "y.ann", "brat")
    with pytest.raises(DataError, match="not valid Unicode"):
        write_documents([Document("\ud83d")], tmp_path / "y.jsonl", "prodigy")
    with pytest.raises(DataError, match="cannot be the name of a file"):
        write_documents([Document("a", name="../a")], tmp_path / "z", "brat")
    assert sorted(each.name for each in tmp_path.iterdir()) == ["in", "out", "x.txt"]


def test_spans_with_wrong_offsets_are_dropped_with_a_warning(tmp_path: Path, logged: list[str]) -> None:
    spans = [{"start": a, "end": b, "label": "X"} for a, b in ((0, 9), (-1, 1), (2, 1), (0, 1))]
    path = write_lines(tmp_path, "a.jsonl", {"text": "abc", "spans": spans})
    assert [(s.start, s.end) for s in read_documents(path)[0].spans] == [(0, 1)]
    assert f"3 spans dropped: offsets not in the text ({path}:1 ...)" in logged


DEEP = "[" * 100_000
HOSTILE = {
    "prodigy": [
        ('{"text": "a", "spans": [{"start": 0, "end": true}]}', ":1: the end of span 1 is true, not a whole number"),
        ('{"text": "a", "spans": [{"start": 0.5, "end": 1}]}', "the start of span 1 is the number 0.5"),
        ('{"text": "a", "spans": [{"start": 0, "end": 1' + "0" * 50 + "}]}", "a number of 51 digits"),
        ('{"text": "a", "spans": [{"start": 0, "end": 1' + "0" * 5000 + "}]}", "JSON that cannot be read"),
        ('\n{"text": "a", "spans": {}}', ":2: spans is an object, not a list"),
        ('{"text": "a", "text": "b"}', "the key 'text' comes twice"),
        ('{"text": 5}', "the text is the number 5, not a string"),
        ('{"spans": []}', "no key 'text'"),
        ('{"text": "\\ud83d", "spans": []}', "half of a surrogate pair"),
        ('{"text": "a", "spans": [{"start": 0, "end": 1, "score": NaN}]}', "NaN is not a JSON number"),
        ('{"text": "a", "spans": [{"start": 0, "end": 1, "score": 1e999}]}', "the number 1e999 is too large"),
        ('{"text": "a", "spans": [], "x": [1e400]}', "the number 1e400 is too large"),
        ('{"text": "a", "meta": {"k": ["\\ud83d"]}}', "half of a surrogate pair"),
        ('{"text": "a", "spans": [{"start": 0, "end": 1, "id": [1]}]}', "the id of span 1 is a list, neither"),
        ('{"text": "a", "answer": "maybe"}', "the answer is 'maybe'"),
        ('{"text": "ab", "tokens": [{"start": 1, "end": 2}, {"start": 0, "end": 1}]}', "token 1 is at 0 to 1, before"),
        ('{"text": "ab", "tokens": [{"start": 0, "end": 1, "text": "x"}]}', "token 0 is 'x', and the text has 'a'"),
        ('{"text": "a", "x": ' + DEEP, "JSON nested too deeply"),
        ("[1]", "the task is a list, not an object"),
        ("{", ":1: not JSON:"),
    ],
    "doccano": [
        ('{"text": "a", "label": [[0, 1]]}', "span 1 has 2 items"),
        ('{"text": "a", "label": ["X"]}', "span 1 is neither a list nor an object"),
        ('{"text": "a", "label": "X"}', "label is the string 'X', not a list"),
        ('{"text": "a", "label": [[0, "1", "X"]]}', "the end of span 1 is the string '1'"),
    ],
    "labelstudio": [
        ("5", "the file is the number 5"),
        ('[{"data": {"text": "a"}}, 5]', "task 2: the task is the number 5"),
        ('[{"data": {"a": "x", "b": "y"}}]', "task 1: no key 'text' in the data: it has a, b"),
        ('[{"data": {"text": "a"}, "annotations": [5]}]', "task 1: each of annotations is the number 5"),
        ('[{"data": {"text": "a"}, "annotations": [{"result": [{"value": {"start": "/p[1]", "end": 1}}]}]}]',
         "the start of region 1 is the string '/p"),
        ('[{"data": {"text": "a"}, "annotations": [{"result": [{"value": {"start": 0, "end": 1, "labels": "X"}}]}]}]',
         "the labels of region 1 is the string 'X'"),
        ('[{"data": {"text": "a"}},\n {"data": }]', ":2: not JSON:"),
        (DEEP, "JSON nested too deeply"),
    ],
    "brat": [
        ("T1 X 0 1\ta", "not an annotation: 'T1 X 0 1"), ("T1\tX 0\ta", "not a span: 'X 0"),
        ("T1\tX 0 1\ta\nT1\tX 0 1\ta", ":2: the ID T1 comes twice"), ("T1\tX -1 1\ta", "not a span"),
        ("T1\tX 0 99999999999999999999\ta", "not a span"), ("\xff", None),
    ],
}  # fmt: skip


@pytest.mark.parametrize(("format", "content", "message"), [(f, *row) for f, rows in HOSTILE.items() for row in rows])
def test_hostile_files(format: str, content: str, message: str | None, tmp_path: Path) -> None:
    path = tmp_path / ("x.ann" if format == "brat" else "x")
    path.write_bytes(b"\xff" if message is None else content.encode())
    (tmp_path / "x.txt").write_bytes(b"a")
    for read in (lambda: read_documents(path, format), lambda: read_corpus(path, FormatSpec(format=format))):
        with pytest.raises(DataError, match=re.escape(message or "not UTF-8")) as found:
            read()
        assert str(path) in str(found.value)


junk = st.recursive(
    st.none() | st.booleans() | st.integers(-2, 4) | st.floats() | st.sampled_from(["", "a", "text", "accept"]),
    lambda inner: st.lists(inner, max_size=3)
    | st.dictionaries(
        st.sampled_from(["text", "spans", "tokens", "start", "end", "label", "labels", "data", "annotations", "result",
                         "value", "answer", "meta", "entities", "predictions", "score", "id", "relations"]),
        inner, max_size=4,
    ),
    max_leaves=12,
)  # fmt: skip


@pytest.mark.parametrize("format", ["prodigy", "doccano", "labelstudio"])
@settings(max_examples=80, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
@given(st.dictionaries(st.sampled_from(["text", "data", "spans", "label", "annotations", "tokens"]), junk).map(
    lambda row: {"text": "ab c", **row}
))  # fmt: skip
def test_any_json_is_read_or_an_error(format: str, tmp_path: Path, row: dict[str, Any]) -> None:
    path = tmp_path / "x"
    path.write_text(json.dumps([row] if format == "labelstudio" else row), encoding="utf-8")
    try:
        found = read_documents(path, format)
    except DataError:
        return
    assert all(0 <= a <= b <= len(d.text) for d in found for span in d.spans for a, b in span.pieces)
    write_documents(found, tmp_path / "y", format)
    again = read_documents(tmp_path / "y", format)
    assert [[s.label for s in d.spans] for d in again] == [[s.label for s in d.spans] for d in found]
