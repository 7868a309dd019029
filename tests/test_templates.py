"""Templates: CRF++ syntax exactly, errors that tell the place, named sets."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from naive_templates import expand

from palmette.errors import DataError, TemplateError, UsageError
from palmette.features import (
    NAMED_SETS,
    Clusters,
    Lexicon,
    Macro,
    Resources,
    TemplateSet,
    atom_function,
    boundary,
    named_set,
    named_text,
    outside,
    parse,
    read_templates,
    to_text,
)
from palmette.features.lint import lint
from palmette.features.templates import macro_text


def content(templates: TemplateSet) -> list[tuple[object, ...]]:
    """All but the line numbers, which comments and blank lines move."""
    return [(t.text, t.orders, t.literals, t.macros) for t in templates.templates]


def test_a_line_is_literals_and_macros() -> None:
    templates = parse("# words\n\nU05:%x[-1,0]/%x[+1,2,lower] # c\r\nB\n")
    first, second = templates.templates
    assert first.text == "U05:%x[-1,0]/%x[+1,2,lower] # c"  # a later # is no comment
    assert first.literals == ("U05:", "/", " # c")
    assert first.macros == (Macro(-1, 0), Macro(1, 2, "lower"))
    assert first.orders == (1,)
    assert first.line == 3
    assert (second.orders, second.literals, second.macros, second.line) == ((2,), ("B",), (), 4)
    assert templates.order == 1


def test_the_example_of_crfpp_outside_of_the_sentence() -> None:
    template = parse("U0:%x[-2,0]/%x[-1,0]/%x[1,0]/%x[2,0]").templates[0]
    sentence = [["a"], ["b"]]
    assert expand(template, "crfpp", sentence, 0) == "U0:_B-2/_B-1/b/_B+1"
    assert expand(template, "crfpp", sentence, 1) == "U0:_B-1/a/_B+1/_B+2"


def test_an_absent_atom_silences_the_attribute_but_a_boundary_is_always_present() -> None:
    template = parse("U:%x[-1,0,suffix3]").templates[0]
    sentence = [["word"], ["is"], ["so"]]
    assert [expand(template, "crfpp", sentence, i) for i in range(3)] == ["U:_B-1", "U:ord", None]


@pytest.mark.parametrize(
    ("text", "order", "orders"),
    [
        ("U:%x[0,0]", 0, [(1,)]),
        ("U:%x[0,0]\nB", 1, [(1,), (2,)]),
        ("B\nT\n*:%x[0,0]", 2, [(2,), (3,), (1, 2, 3)]),
        ("*:%x[0,0]", 1, [(1, 2)]),
        ("*:%x[0,0]\nU:%x[1,0]", 1, [(1, 2), (1,)]),
    ],
)
def test_the_order_follows_from_the_templates(text: str, order: int, orders: list[tuple[int, ...]]) -> None:
    templates = parse(text)
    assert templates.order == order
    assert [t.orders for t in templates.templates] == orders
    assert templates.syntax == "crfpp"


@pytest.mark.parametrize(
    "bad",
    [
        " U:%x[0,0]",
        "\tU",
        "X:%x[0,0]",
        "u01:%x[0,0]",
        "U:%x[0]",
        "U:%x[0 ,0]",
        "U:%x[0, 0]",
        "U:%x[ 0,0]",
        "U:%y[0,0]",
        "U:100%",
        "U:%x[0,-1]",
        "U:%x[0,0",
        "U:%x[0,0,]",
        "U:%x[0,0, lower]",
        "U:%x[0,0,lower ]",
        "U:%x[0,0,nonsense]",
        "U:%x[0,0,lower.nonsense]",
        "U:%x[0,0,lower.lexicon:city]",
        "U:%x[0,0,cluster:brown:x]",
        "U:%x[0,0,test:**]",
        "U:%x[99999999999,0]",
        "U:%x[٣,0]",
    ],
)
def test_errors_tell_the_file_the_line_and_what_to_do(bad: str) -> None:
    with pytest.raises(TemplateError) as error:
        parse(f"U:%x[0,0]\n\n{bad}\n", "my.txt")
    assert (error.value.file, error.value.line) == ("my.txt", 3)
    assert error.value.hint
    assert str(error.value).startswith("my.txt:3: ")


def test_a_file_without_templates_is_an_error() -> None:
    with pytest.raises(TemplateError, match="no template found"):
        parse("# only a comment\n   \n")


def test_an_unknown_atom_lists_the_known_ones() -> None:
    with pytest.raises(TemplateError, match=r"unknown atom `sufix3`\n.*suffix3.*cluster:"):
        parse("U:%x[0,0,sufix3]")


@pytest.mark.parametrize(
    ("text", "syntax"),
    [
        ("U:%x[0,0]\nB", "crfpp"),
        ("*:%x[0,0]", "crfpp"),
        ("*\nU:%x[0,0]\n*:%x[1,0]\nB", "crfpp"),
        ("u:%x[0,0]\nb", "wapiti"),
        ("*\nu:%x[0,0]", "wapiti"),
        ('*\nU:Caps=%t[ 0,0,"\\u"]', "wapiti"),  # Wapiti takes capitals too
        ("U:%x[0,0]\nU:%X[0,0]", "wapiti"),
        ("U:%x[@1,0]", "wapiti"),
        ("U:%x[0,0,lower]\nT", "crfpp"),
        ("# u\nU", "crfpp"),
    ],
)
def test_the_syntax_is_guessed(text: str, syntax: str) -> None:
    assert parse(text).syntax == syntax


def test_an_unknown_syntax_is_a_usage_error() -> None:
    with pytest.raises(UsageError, match="choose auto, crfpp, wapiti"):
        parse("U", syntax="crf")


def test_boundaries() -> None:
    assert [boundary("crfpp", d) for d in (-5, -1, 1, 12)] == ["_B-5", "_B-1", "_B+1", "_B+12"]
    assert outside("crfpp", -1, str.upper) == "_B-1"
    with pytest.raises(ValueError, match="inside"):
        boundary("crfpp", 0)


def test_reading_a_file(tmp_path: Path) -> None:
    path = tmp_path / "t.txt"
    path.write_bytes(b"\xef\xbb\xbfU:%x[0,0]\r\nB\r\n")
    assert to_text(read_templates(path)) == "U:%x[0,0]\nB\n"
    path.write_bytes(gzip.compress(b"U\n"))
    assert read_templates(path).name == str(path)
    path.write_bytes(b"U\nU\xff")
    with pytest.raises(DataError, match=r"t\.txt:2"):
        read_templates(path)
    with pytest.raises(DataError, match=r"missing\.txt"):
        read_templates(tmp_path / "missing.txt")


PIECES = [
    *'UBT*ub%xXtm[],0@ #"\\$^?.é\r\n\x0b\u2028',
    *("-1", "+2", "\\u", "lower", "suffix3", "test:"),
    *("%x[0,0]", "%x[-1,1]", "%X[0,0]", '%t[0,0,"\\d"]', '%m[@-1,0,"^.?"]', "%x[0,0,shape]"),
]
LINE = st.one_of(st.lists(st.sampled_from(PIECES), max_size=12).map("".join), st.text(max_size=20))


@given(st.lists(LINE, max_size=4).map("\n".join), st.sampled_from(["auto", "crfpp", "wapiti"]))
def test_any_text_is_an_error_or_survives_the_round_trip(text: str, syntax: str) -> None:
    try:
        templates = parse(text, syntax=syntax)
    except TemplateError:
        return
    again = parse(to_text(templates), syntax=templates.syntax)
    assert content(again) == content(templates)
    for template in templates.templates:
        assert len(template.literals) == len(template.macros) + 1
        for macro in template.macros:
            written = macro_text(macro, templates.syntax)
            assert parse(f"*{written}", syntax=templates.syntax).templates[0].macros == (macro,)
        width = 1 + max((macro.column for macro in template.macros), default=0)
        value = expand(template, templates.syntax, [["word"] * width] * 2, 0)
        assert value is None or value.startswith(template.literals[0])


@pytest.mark.parametrize("order", [0, 1, 2])
@pytest.mark.parametrize("n_columns", [1, 2, 4])
@pytest.mark.parametrize("name", list(NAMED_SETS))
def test_named_sets(name: str, n_columns: int, order: int) -> None:
    if name == "chunk" and n_columns == 1:
        with pytest.raises(UsageError, match="part of speech"):
            named_set(name, order, n_columns)
        return
    templates = named_set(name, order, n_columns)
    assert templates.order == order
    assert parse(named_text(name, order, n_columns)).templates == templates.templates
    kinds = {warning.kind for warning in lint(templates, n_columns)}  # and no column that does not exist
    assert kinds <= {"missing"}
    for template in templates.templates:
        for macro in template.macros:
            atom_function(macro.atom)


def test_chunk_reads_words_and_tags_at_the_places_of_the_19_templates_of_crfpp() -> None:
    words: list[tuple[int, ...]] = [(-2,), (-1,), (0,), (1,), (2,), (-1, 0), (0, 1)]
    tags = [*words, (-2, -1), (1, 2), (-2, -1, 0), (-1, 0, 1), (0, 1, 2)]
    expected = {tuple(Macro(row, 0, "lower.normal") for row in rows) for rows in words}
    expected |= {tuple(Macro(row, 1) for row in rows) for rows in tags}
    assert len(expected) == 19
    assert expected <= {template.macros for template in named_set("chunk").templates}


def test_chunk_has_no_full_shapes_and_words_beside_tags() -> None:
    chunk, ner = ({template.macros for template in named_set(name).templates} for name in ("chunk", "ner"))
    assert ner - chunk == {(Macro(row, 0, "shape"),) for row in (-1, 0, 1)}
    word = Macro(0, 0, "lower.normal")
    assert chunk - ner == {(Macro(-1, 1), word), (word, Macro(1, 1))}


def test_a_named_set_has_lines_for_what_is_given() -> None:
    resources = Resources(
        {"city": Lexicon("city", {"Rome": "city"})},
        {"brown": Clusters("brown", {"Rome": "0101"}, paths=True), "topic": Clusters("topic", {"Rome": "7"})},
    )
    atoms = {m.atom for t in named_set("ner", 1, 1, resources).templates for m in t.macros if m.atom.count(":")}
    assert atoms == {
        "lexicon:city",
        "cluster:brown",
        "cluster:brown:4",
        "cluster:brown:6",
        "cluster:brown:10",
        "cluster:topic",
    }


def test_named_set_errors() -> None:
    with pytest.raises(UsageError, match="choose pos, chunk, ner, char"):
        named_set("nre")
    with pytest.raises(UsageError, match="0, 1 or 2"):
        named_set("ner", order=3)
