"""The template linter: each kind of warning on the smallest set that shows it."""

from __future__ import annotations

import pytest

from palmette.errors import TemplateError
from palmette.features import parse
from palmette.features.lint import check_columns, lint


def found(text: str) -> list[tuple[int, str]]:
    return [(warning.line, warning.kind) for warning in lint(parse(text))]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("U00:%x[0,0]\nU01:%x[1,0]\nU02:%x[0,0]/%x[1,0]\nB", []),
        ("U00:%x[0,0]\n\nU00:%x[0,0]", [(3, "duplicate")]),
        ("U00:%x[0,0]\nU01:%x[0,0]", [(2, "redundant")]),
        ("U0:%x[0,0]\nU1:%x[1,0]\nUa:%x[0,0]/%x[1,0]\nUb:%x[1,0]/%x[0,0]", [(4, "redundant")]),
        ("U0:%x[0,0]\n*:%x[0,0]\nB", [(2, "redundant")]),
        ("U0:%x[0,0]\nU1:%x[0,0,lower]", []),
        ("U0:%x[0,0]\nB\nB", [(3, "duplicate")]),
        ("U0:%x[0,0]\nB\nB1", [(3, "redundant")]),
        ("U:%x[0,0]\nU:%x[1,0]", [(2, "shared")]),
        ("U0:%x[0,0]/%x[0,0]\nU1:%x[0,0]", [(1, "repeated"), (2, "redundant")]),
        ("U\nU0:%x[0,0]", [(1, "bias")]),
        ("U\nU1\nU0:%x[0,0]", [(1, "bias")]),
        ("*\nU0:%x[0,0]", []),
        ("U0:%x[0,0]/%x[1,0]\nU1:%x[0,0]", [(1, "missing")]),
        ("U0:%x[0,0]\nB0:%x[0,0]", [(2, "missing")]),
        ("B0:%x[0,0]\nB", [(1, "missing")]),
        ("U0:%x[0,0]\nT", [(2, "missing")]),
        ("U0:%x[0,0]\nB\nT", []),
    ],
)
def test_kinds(text: str, expected: list[tuple[int, str]]) -> None:
    assert found(text) == expected


def test_missing_subsets_are_told_in_one_message_and_once() -> None:
    templates = parse("U0:%x[-1,0]/%x[0,0]/%x[1,1]\nU1:%x[0,0]/%x[1,1]\nU2:%x[0,0]\nU3:%x[1,1]")
    (warning,) = lint(templates)
    assert warning.line == 1
    assert warning.message.endswith("%x[-1,0]/%x[1,1] on labels, %x[-1,0]/%x[0,0] on labels")
    (warning,) = lint(parse("B0:%x[0,0]\nU0:%x[0,0]"))
    assert warning.message.endswith("a template without macros on label pairs")


def test_messages_keep_to_the_syntax() -> None:
    (warning,) = lint(parse(r'u0:%X[@-1,0]/%t[0,0,"\u"]'))
    assert warning.message.endswith(r'%X[@-1,0] on labels, %t[0,0,"\u"] on labels')


def test_columns_that_do_not_exist() -> None:
    templates = parse("U0:%x[0,0]\n\nU1:%x[0,0]/%x[1,2]", "my.txt")
    check_columns(templates, 3)
    for call in (lint, check_columns):
        with pytest.raises(TemplateError, match=r"my\.txt:3: column 2 .*\n.*columns 0 to 1; the label column"):
            call(templates, 2)
    with pytest.raises(TemplateError, match=r"other\.txt:3: .*\n.*column 0 only"):
        check_columns(templates, 1, "other.txt")
