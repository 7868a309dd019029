"""Edit scripts: from a form to its lemma and back, for any strings."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from palmette.pipeline.lemmas import CASINGS, applied, is_script, script_of

LETTERS = st.text(alphabet="abAB iİıIßẞéǅ:=-01", max_size=8)


@given(st.text(), st.text())
def test_script_makes_the_lemma_of_its_form(form: str, lemma: str) -> None:
    script = script_of(form, lemma)
    assert is_script(script)
    assert applied(script, form) == lemma


@given(LETTERS, LETTERS)
def test_script_makes_the_lemma_of_a_similar_form(form: str, lemma: str) -> None:
    assert applied(script_of(form, lemma), form) == lemma


@given(LETTERS, LETTERS, st.text())
def test_script_applies_to_any_form(form: str, lemma: str, other: str) -> None:
    script = script_of(form, lemma)
    made = applied(script, other)
    if not script.startswith("="):
        assert made or not other  # never an empty lemma of a form


@given(st.text())
def test_text_that_is_no_script_keeps_the_form(text: str) -> None:
    if not is_script(text):
        assert applied(text, "Form") == "Form"


@pytest.mark.parametrize(
    ("form", "lemma", "others"),
    [
        ("dogs", "dog", {"Cats": "cat", "TREES": "tree"}),
        ("Parties", "party", {"cities": "city"}),
        ("Walked", "walk", {"talked": "talk"}),
        ("NASA", "NASA", {"Paris": "Paris", "eBay": "eBay"}),
        ("paris", "Paris", {"london": "London", "LONDON": "London"}),
        ("gemacht", "machen", {"gesucht": "suchen"}),
        ("is", "be", {"are": "be"}),
        ("İyi", "iyi", {"Güzel": "güzel"}),
        ("Irmak", "ırmak", {"IŞIK": "ışık"}),
        ("kitabı", "kitap", {"Sebebi": "sebep"}),
    ],
)
def test_forms_that_inflect_alike_share_their_script(form: str, lemma: str, others: dict[str, str]) -> None:
    script = script_of(form, lemma)
    assert applied(script, form) == lemma
    for other, expected in others.items():
        assert applied(script, other) == expected
        assert script_of(other, expected) == script


def test_case_of_the_form_does_not_make_another_script() -> None:
    assert script_of("dogs", "dog") == script_of("Dogs", "dog") == script_of("DOGS", "dog") == "l0-1:0:"


def test_short_form_keeps_its_characters() -> None:
    script = script_of("parties", "party")
    assert [applied(script, form) for form in ("", "A", "Ies", "Xies")] == ["", "a", "ies", "xy"]


@pytest.mark.parametrize("text", ["", "l", "x0-0:0:", "l0-0:3:ab", "l-1-0:0:", "L0-0:0:", "l0-0", "l99999-0:0:", " =a"])
def test_what_is_no_script(text: str) -> None:
    assert not is_script(text)


@given(st.sampled_from(sorted(CASINGS)), st.text())
def test_casings_take_any_form(casing: str, form: str) -> None:
    assert isinstance(CASINGS[casing](form), str)
