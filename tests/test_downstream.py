"""Projects from PyPI with `palmette.crfsuite` under the name of python-crfsuite, and the pieces of bench/downstream."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from bench.downstream.dates import Template, fields, scores
from bench.downstream.side import missing, span_f1
from bench.downstream.tutorial import items

ADDRESSES = [
    "12 Main St, Springfield, IL 62701", "4500 N Elm Avenue Apt 3B Portland OR 97201", "PO Box 77, Lima, OH",
    "Oak Rd and 5th Ave, Boise", "One Grand Plaza, Suite 1200, New York, NY 10001", "Rt 9 Box 14", "77", "...",
]  # fmt: skip

PROGRAM = """
import json, sys
if sys.argv[1] == "palmette":
    import palmette.crfsuite
    sys.modules["pycrfsuite"] = palmette.crfsuite
import usaddress, probablepeople, parserator.training

def outcome(call, text):
    try:
        return call(text)
    except Exception as error:
        return type(error).__name__

texts = json.loads(sys.argv[2])
calls = (usaddress.parse, usaddress.tag, probablepeople.parse, probablepeople.tag)
found = [[outcome(call, text) for text in texts] for call in calls]
made = [(text, usaddress.parse(text)) for text in texts if usaddress.parse(text)]
parserator.training.trainModel(made, usaddress, sys.argv[3])
usaddress.TAGGER.open(sys.argv[3])
print(json.dumps([found, [usaddress.parse(text) for text in texts]]))
"""


def test_projects_do_the_same_with_our_module(tmp_path: Path) -> None:
    found = []
    for side in ("palmette", "original"):
        command = [sys.executable, "-c", PROGRAM, side, json.dumps(ADDRESSES), str(tmp_path / f"{side}.crfsuite")]
        made = subprocess.run(command, capture_output=True, text=True)
        assert made.returncode == 0, made.stderr
        found.append(json.loads(made.stdout.splitlines()[-1]))
    assert found[0] == found[1]
    assert found[0][0][0][0]  # something was parsed


def test_fields_begin_with_a_mark_or_another_type() -> None:
    labels = ["I-<day>", "I-<day>", "<day>", "<year>", "<year>", "I-<year>"]
    assert fields(labels) == {(0, 1, "<day>"), (1, 3, "<day>"), (3, 5, "<year>"), (5, 6, "<year>")}
    found = scores([["I-<day>", "I-<other>"]], [["I-<day>", "I-<year>"]])
    assert found == {"F1": 1 / 2, "F1 without <other>": 2 / 3}


def test_templates_make_what_they_mean(tmp_path: Path) -> None:
    lines = ["U00:%x[-2,0]/%x[0,1]x%x[1,0]", "# a comment", "", "U1:%x[2,1]", "U2", "B"]
    (tmp_path / "t").write_text("\n".join(lines))
    rows = [["a", "b", "L"], ["c", "d", "M"]]
    assert Template(tmp_path / "t").attributes(rows) == [
        ["U00:_B-2/bxc", "U1:_B+1", "U2"],
        ["U00:_B-1/dx_B+1", "U1:_B+2", "U2"],
    ]


def test_what_is_missing_is_said_in_a_line(tmp_path: Path) -> None:
    assert missing(("pytest",), (tmp_path,)) == ""
    assert missing(("no_such_package",), ()) == "skipped: no package no_such_package (pip install 'palmette[bench]')"
    assert missing((), (tmp_path / "x",)) == f"skipped: no file {tmp_path / 'x'}"


def test_spans_by_conlleval() -> None:
    assert span_f1([["B-X", "I-X", "O"]], [["B-X", "O", "B-X"]]) == 0
    assert span_f1([["B-X", "I-X"], ["B-Y"]], [["B-X", "I-X"], ["B-X"]]) == pytest.approx(1 / 2)


def test_features_know_the_edges_of_a_sentence() -> None:
    X, y = items([[["The", "DT", "B-NP"], ["end", "NN", "I-NP"]]])
    assert y == [["B-NP", "I-NP"]]
    assert X[0][0]["BOS"] is True
    assert X[0][1]["EOS"] is True
    assert (X[0][0]["+1:lower"], X[0][1]["-1:title"]) == ("end", True)
