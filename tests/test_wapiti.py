"""Wapiti's syntax: lines, macros, boundaries, and the small regular expressions against a direct matcher."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from naive_templates import expand
from time_limit import time_limit

from palmette.errors import TemplateError
from palmette.features import Macro, atom_function, boundary, parse, to_text
from palmette.features.atoms import compile_regex


def macros(line: str) -> tuple[Macro, ...]:
    return parse(line, syntax="wapiti").templates[0].macros


def test_comments_anywhere_and_the_first_character_in_lower_case() -> None:
    templates = parse("*  # bias and transitions\n\n   # nothing\nU:Wrd X=%x[ 0,0] # word\n", syntax="wapiti")
    assert [(t.text, t.orders, t.line) for t in templates.templates] == [
        ("*", (1, 2), 1),
        ("u:Wrd X=%x[ 0,0]", (1,), 4),
    ]
    assert to_text(templates) == "*\nu:Wrd X=%x[ 0,0]\n"
    assert templates.order == 1


def test_commands_become_atoms() -> None:
    assert macros("u%x[-1,0]") == (Macro(-1, 0),)
    assert macros("u%X[+1,2]") == (Macro(1, 2, "lower"),)
    assert macros(r'u%t[0,0,"^\u"]%T[0,0,"a"]') == (Macro(0, 0, r"test:^\u"), Macro(0, 0, "test:a"))
    assert macros(r'u%m[0,0,"\"]"]/%M[0,0,"."]') == (Macro(0, 0, r"match:\"]"), Macro(0, 0, "match_lower:."))


def test_the_at_sign_counts_from_the_edges() -> None:
    template = parse("u:%x[@1,0]|%x[@2,0]|%x[@-1,0]|%x[@-2,0]|%x[@0,0]|%x[@5,0]").templates[0]
    assert [m.anchor for m in template.macros] == ["first", "first", "last", "last", "first", "first"]
    sentence = [["a"], ["b"], ["c"]]
    for i in range(3):
        assert expand(template, "wapiti", sentence, i) == "u:a|b|c|b|_x-1|_x+2"


def test_the_example_of_the_manual() -> None:
    sentence = [["a1", "b1", "c1"], ["a2", "b2", "c2"], ["a3", "b3", "c3"]]
    assert expand(parse("u:%x[-1,0]/%x[+1,2]").templates[0], "wapiti", sentence, 1) == "u:a1/c3"


def test_boundaries_stop_counting_at_four() -> None:
    assert [boundary("wapiti", d) for d in (-6, -5, -4, -1)] == ["_x-#", "_x-#", "_x-4", "_x-1"]
    assert [boundary("wapiti", d) for d in (1, 4, 5)] == ["_x+1", "_x+4", "_x+#"]


def test_commands_see_the_boundary_as_a_cell() -> None:
    template = parse(r'u:%t[-1,0,"\p"]%m[-1,0,"..$"]%M[1,0,"zz"]').templates[0]
    assert expand(template, "wapiti", [["Word"]], 0) == "u:true-1"


@pytest.mark.parametrize(
    "bad",
    [
        "t:%x[0,0]",
        " u",
        "u%y[0,0]",
        "u%x[0]",
        "u%x[0 ,0]",
        "u%x[0,0,lower]",
        "u%t[0,0]",
        'u%t[0,0,"a]',
        'u%t[0,0,"a"',
        'u%t[0,0, "a"]',
        'u%m[0,0,"*a"]',
        'u%m[0,0,"a**"]',
        'u%m[0,0,"a?*"]',
        'u%m[0,0,"^*"]',
        'u%t[0,0,"#"]',
        "u%x[010,0]",
        "u%x[0,-1]",
        "u%",
    ],
)
def test_errors_tell_the_line(bad: str) -> None:
    with pytest.raises(TemplateError) as error:
        parse(f"u:%x[0,0]\n{bad}", "p.txt", "wapiti")
    assert (error.value.file, error.value.line) == ("p.txt", 2)
    assert error.value.hint


def test_a_regex_cannot_end_in_a_backslash() -> None:
    with pytest.raises(TemplateError, match="backslash ends"):
        compile_regex("a\\")


@pytest.mark.parametrize(
    ("regex", "word", "match"),
    [
        ("^.?.?.?", "abcd", "abc"),
        ("^.?.?.?", "ab", "ab"),
        (".?.?.?$", "abcd", "bcd"),
        (r"\u*", "ABc", ""),  # a star takes as few as will do
        (r"^\u*$", "ABC", "ABC"),
        (r"\d\d*\D", "ab123c", "123c"),
        ("a.b", "xaéb", "aéb"),
        ("a$b", "a$b", "a$b"),  # $ and ^ are themselves elsewhere
        ("a^b", "a^b", "a^b"),
        (r"a\$", "a$", "a$"),
        (r"\.\*", "a.*", ".*"),
        ("[a]", "[a]", "[a]"),  # no sets in this dialect
        ("a+", "aa+", "a+"),
        ("(a|b)", "a(a|b)", "(a|b)"),
        (r"\l\u", "éÀ", "éÀ"),
        (r"\a\a", "北京", "北京"),
        (r"\p", "a—b", "—"),
        (r"\p", "a+b", "+"),
        (r"\w\w", "_é9", "é9"),
        (r"\W", "é9_", "_"),
        (r"\s", "a\u00a0b", "\u00a0"),
        ("x", "abc", ""),
        ("", "abc", ""),
        ("$", "abc", ""),
    ],
)
def test_regular_expressions(regex: str, word: str, match: str) -> None:
    assert atom_function(f"match:{regex}")(word) == match
    assert atom_function(f"match_lower:{regex}")(word) == match.lower()


def test_a_test_gives_true_or_false() -> None:
    assert [atom_function(r"test:^\u")(word) for word in ("Éa", "éa", "")] == ["true", "false", "false"]


# A direct matcher, from the description of the dialect: the slow twin of the translation to `re`.

CLASSES = {
    "a": str.isalpha,
    "d": str.isdecimal,
    "l": str.islower,
    "p": lambda c: c in ".-+_\\",
    "s": str.isspace,
    "u": str.isupper,
    "w": lambda c: c.isalpha() or c.isdecimal(),
}


def fits(item: str, character: str) -> bool:
    if item == ".":
        return True
    if item[0] != "\\":
        return item == character
    kind = item[1].lower()
    if kind not in CLASSES:
        return item[1] == character
    return bool(CLASSES[kind](character)) == (item[1] == kind)


def lengths(items: list[tuple[str, str]], word: str, at: int, end: bool) -> int | None:
    """Where the first way to match `items` at `at` ends, trying in Wapiti's order."""
    if not items:
        return None if end and at < len(word) else at
    (item, repeat), rest = items[0], items[1:]
    one = at < len(word) and fits(item, word[at])
    if repeat == "*":
        found = lengths(rest, word, at, end)
        return found if found is not None or not one else lengths(items, word, at + 1, end)
    if repeat == "?":
        found = lengths(rest, word, at + 1, end) if one else None
        return found if found is not None else lengths(rest, word, at, end)
    return lengths(rest, word, at + 1, end) if one else None


ITEM = st.tuples(
    st.sampled_from([".", "a", "B", "9", "+", *(f"\\{c}" for c in "adlpsuwADLPSUW."), "\\\\"]),
    st.sampled_from(["", "", "", "*", "?"]),
)


@given(
    st.booleans(),
    st.lists(ITEM, max_size=5),
    st.booleans(),
    st.text(alphabet="abAB9é北.-+ _\\", max_size=7),
)
def test_regular_expressions_agree_with_a_direct_matcher(
    start: bool, items: list[tuple[str, str]], end: bool, word: str
) -> None:
    regex = ("^" if start else "") + "".join(map("".join, items)) + ("$" if end else "")
    expected = None
    for at in [0] if start else range(len(word) + 1):
        stop = lengths(items, word, at, end)
        if stop is not None:
            expected = word[at:stop]
            break
    made = compile_regex(regex)
    assert made.search(word) == made.search_by_table(word) == expected


@pytest.mark.parametrize(("regex", "word", "expected"), [
    ("a*" * 40 + "b", "a" * 60, None),
    ("^" + "a*" * 40 + "b", "a" * 60, None),
    ("a?" * 40 + "a" * 40 + "b", "a" * 60, None),
    (".*.*.*c", "ab" * 4000, None),
    ("^" + "a*" * 40 + "b$", "a" * 60 + "b", "a" * 60 + "b"),
    ("x*b", "x" * 100_000 + "b", "x" * 100_000 + "b"),
])  # fmt: skip
def test_no_expression_takes_exponential_time(regex: str, word: str, expected: str | None) -> None:
    with time_limit(60):
        assert compile_regex(regex).search(word) == expected
