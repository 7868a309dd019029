"""Word atoms: each on words that decide it, in several scripts."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from palmette.errors import TemplateError
from palmette.features import Clusters, Lexicon, Resources, atom_function, lexicon_name
from palmette.features.atoms import FAMILIES, check_atom
from palmette.features.wordforms import WORD_ATOMS

CASES: dict[str, dict[str, str | None]] = {
    "lower": {"Éa": "éa", "ΣΑ": "σα"},
    "normal": {"B-52": "B-00", "٣a": "0a"},
    "shape": {"McDonald's-99": "XxXxxxxx'x-99", "北京": "cc", "Éa٣": "Xx9", "": "", "ǅ": "X"},
    "short_shape": {"McDonald's-99": "XxXx'x-9", "北京": "c", "": "", "...": "."},
    "prefix1": {"ab": "a", "": None},
    "prefix3": {"abcd": "abc", "abc": "abc", "ab": None},
    "suffix3": {"abcd": "bcd", "abc": "abc", "ab": None},
    "suffix5": {"naïveté": "ïveté"},
    "suffix9": {"evlerimizden": "erimizden", "naïveté": None},
    "capital": {"Éa": "capital", "éA": None, "": None, "ǅa": "capital"},
    "allcaps": {"NATO": "allcaps", "U.S.": "allcaps", "I": None, "B2": None, "Ab": None, "IL-2": "allcaps"},
    "digits": {"a1": "digits", "a": None, "٣": "digits"},
    "hyphen": {"well-known": "hyphen", "-": None, "--": None, ":-)": None, "1990–95": "hyphen"},
    "punctuation": {
        "...": "punctuation",
        "$": "punctuation",
        "a.": None,
        ".a": None,
        "": None,
        "。": "punctuation",
    },
    "greek": {
        "alpha": "greek",
        "IL-1beta": "greek",
        "β2": "greek",
        "alphabet": None,
        "Omega": "greek",
        "é": None,
    },
    "number": {
        **dict.fromkeys(["1", "1,000", "-5", "٣", "1,234,567"], "integer"),
        **dict.fromkeys(["3.14", ".5", "1,000.5", "0,5"], "decimal"),
        **dict.fromkeys(["5%", "3.5%"], "percent"),
        **dict.fromkeys(["1st", "22nd", "103rd", "4TH"], "ordinal"),
        **dict.fromkeys(["1/2", "½", "3½", "1-1/2"], "fraction"),
        **dict.fromkeys(["1-2", "10.5–11"], "range"),
        **dict.fromkeys(["$5", "US$5", "5€", "£1,000.50"], "money"),
        **dict.fromkeys(["II", "XIV", "MCMXCIX"], "roman"),
        **dict.fromkeys(["I", "ab", "IIII", "xiv", "1a", "", "12:30", "MIXX"], None),
    },
    "date": {
        **dict.fromkeys(["1995", "2024", "'98"], "year"),
        **dict.fromkeys(["1990s", "'90s", "90s"], "decade"),
        **dict.fromkeys(["2024-01-31", "12/31/2004", "31.12.04"], "day"),
        **dict.fromkeys(["12:30", "12:30:05", "5pm", "5:30p.m."], "time"),
        **dict.fromkeys(["January", "Sept.", "MAY"], "month"),
        **dict.fromkeys(["Monday", "Thu"], "weekday"),
        **dict.fromkeys(["may", "sat", "12.30", "3000", "1", "12/31-2004", ""], None),
    },
    "skeleton": {
        **dict.fromkeys(["evlerinde", "AVLARINDA", "İvlürönde", "évlàrïndê"], "*vl*r*nd*"),
        "мой": "м*й",
        "λόγος": "λ*γ*ς",
        "B-52": "b-52",
        "": "",
    },
    "length": {"": "0", "a": "1", "abcdef": "6-7", "a" * 10: "8-10", "a" * 15: "11-15", "a" * 16: "16+"},
    "orthography": {
        "word": "lower",
        "Word": "initial",
        "NATO": "acronym",
        "A": "letter",
        "XIV": "roman",
        "mRNA": "mixed",
        "北京": "caseless",
        "kappa": "greek",
        "1,000": "number",
        "12/31/2004": "number",
        "½": "number",
        "IL-2": "hyphen_digits",
        "Anglo-Saxon": "hyphen_capitals",
        "well-known": "hyphen",
        "P50": "capitals_digits",
        "p50": "letters_digits",
        "etc.": "abbreviation",
        "...": "punctuation",
        "a_b": "other",
        "": "other",
    },
    "type": {
        "北": "han",
        "々": "han",
        "〇": "han",
        "の": "hiragana",
        "カー": "katakana",
        "ｶ": "katakana",
        "한국": "hangul",
        "é": "latin",
        "Ａ": "latin",
        "７": "digit",
        "。": "punct",
        "・": "punct",
        "$": "punct",
        "\u3000": "space",
        "ж": "letter",
        "ก": "letter",
        "\u0e34": "mark",
        "\u200b": "other",
        "北a": "mixed",
        "": None,
    },
}


@pytest.mark.parametrize("name", CASES)
def test_word_atoms(name: str) -> None:
    function = atom_function(name)
    assert {word: function(word) for word in CASES[name]} == CASES[name]


@pytest.mark.parametrize("name", WORD_ATOMS)
@given(word=st.text(max_size=12))
def test_any_string_gives_a_string_or_nothing(name: str, word: str) -> None:
    value = WORD_ATOMS[name](word)
    assert value is None or isinstance(value, str)
    assert atom_function(f"lower.{name}")(word) == WORD_ATOMS[name](word.lower())


def test_shapes_collapse_runs() -> None:
    shape, short = WORD_ATOMS["shape"], WORD_ATOMS["short_shape"]
    for word in ("AAbb11--", "a", "IL-2Ralpha"):
        full = str(shape(word))
        assert len(full) == len(word)
        assert short(word) == "".join(c for i, c in enumerate(full) if i == 0 or full[i - 1] != c)


def test_a_word_of_a_megabyte_is_no_trouble() -> None:
    for word in ("9" * 1_000_000, "9," * 500_000, "1-" * 500_000, "a" * 1_000_000, "M" * 1_000_000):
        for function in WORD_ATOMS.values():
            made = function(word)
            assert made is None or len(made) <= 2 * len(word)


def test_the_empty_name_is_the_cell_itself() -> None:
    assert atom_function("")("Éa") == "Éa"


def test_chains_stop_at_an_absent_value() -> None:
    assert atom_function("normal.lower.suffix2")("AB12") == "00"
    assert atom_function("suffix3.lower")("ab") is None
    assert atom_function("lower.test:^a")("Ab") == "true"
    assert atom_function(".".join(["lower"] * 5000))("A") == "a"


@pytest.mark.parametrize(
    "name",
    ["nonsense", "lower.", ".lower", "lower.nonsense", "test", "cluster", "suffix10", "lower,x", "Lower"],
)
def test_unknown_atoms(name: str) -> None:
    for call in (atom_function, check_atom):
        with pytest.raises(TemplateError, match=r"unknown atom .*\n  known atoms: lower, .*lexicon:\.\.\."):
            call(name)


RESOURCES = Resources(
    {"city": Lexicon("city", {"Rome": "city"})},
    {"brown": Clusters("brown", {"Rome": "010110", "run": "1"}, True)},
)


def test_clusters() -> None:
    assert [atom_function("cluster:brown", RESOURCES)(w) for w in ("Rome", "Run", "x")] == [
        "010110",
        "1",
        None,
    ]
    assert [atom_function("cluster:brown:4", RESOURCES)(w) for w in ("Rome", "run", "x")] == [
        "0101",
        "1",
        None,
    ]
    assert atom_function("suffix3.cluster:brown", RESOURCES)("Prerun") == "1"


@pytest.mark.parametrize("name", ["cluster:", "cluster:brown:", "cluster:brown:0", "cluster:brown:-1", "cluster::4"])
def test_bad_cluster_atoms(name: str) -> None:
    for call in (atom_function, check_atom):
        with pytest.raises(TemplateError, match="bad atom"):
            call(name)


def test_resources_that_were_not_given() -> None:
    with pytest.raises(TemplateError, match=r"clusters `topic`\n  given: brown;"):
        atom_function("cluster:topic", RESOURCES)
    with pytest.raises(TemplateError, match="none was given"):
        atom_function("lexicon:city")
    check_atom("cluster:topic")  # a template may be read before the files are known


def test_a_lexicon_is_no_function_of_one_word() -> None:
    assert lexicon_name("lexicon:city") == "city"
    assert lexicon_name("lower") is None
    with pytest.raises(TypeError, match=r"resources\.match"):
        atom_function("lexicon:city", RESOURCES)
    assert set(FAMILIES) == {"test", "match", "match_lower", "cluster", "lexicon", "observed"}
