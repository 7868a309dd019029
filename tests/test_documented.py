"""What `help` and notebooks show of methods: every parameter is explained, types and defaults are those of the code."""

from __future__ import annotations

import doctest
import inspect
from collections.abc import Iterator

import pytest

import palmette
from palmette import Classifier, Parser, Tagger
from palmette.cli import COMMANDS, load_command
from palmette.estimators.documented import EXAMPLES

ESTIMATORS = ("Tagger", "Parser", "Pipeline", "Classifier", "LinearClassifier", "HMM", "LanguageModel")


def methods(name: str) -> Iterator[tuple[str, object]]:
    for member, function in inspect.getmembers(getattr(palmette, name), callable):
        if not member.startswith("_") and not inspect.isclass(function):
            yield member, function


@pytest.mark.parametrize("name", ESTIMATORS)
def test_every_parameter_of_a_method_is_explained(name: str) -> None:
    for member, function in methods(name):
        text = inspect.getdoc(function) or ""
        if inspect.signature(function).return_annotation not in (None, "None", inspect.Signature.empty):
            assert "\nReturns\n-------\n" in text, member
        for parameter in inspect.signature(function).parameters:
            if parameter == "self":
                continue
            _, found, after = text.partition(f"\n{parameter} : ")
            assert found, f"{name}.{member}: {parameter}"
            assert after.split("\n")[1].strip(), f"{name}.{member}: {parameter}"


@pytest.mark.parametrize("name", ESTIMATORS)
def test_every_parameter_of_a_constructor_is_explained(name: str) -> None:
    text = inspect.getdoc(getattr(palmette, name)) or ""
    for option in getattr(palmette, name).__options__.values():
        assert f"\n{option.name} : " in text
        assert option.help.strip()


def test_no_flag_is_without_help() -> None:
    assert not [(name, flag.option.name) for name in COMMANDS for flag in load_command(name).flags()
                if not flag.option.help.strip()]  # fmt: skip


def test_sections_name_types_and_defaults() -> None:
    text = inspect.getdoc(Tagger.nbest) or ""
    assert "\nn : int, default 5\n" in text
    assert "\nn : int, default 5\n" in (inspect.getdoc(Parser.nbest) or "")
    assert "The class of each sentence." in (inspect.getdoc(Classifier.fit) or "")


def test_examples_hold() -> None:
    text = "\n".join(EXAMPLES.values())
    test = doctest.DocTestParser().get_doctest(text, {"Tagger": Tagger}, "examples", None, 0)
    assert doctest.DocTestRunner().run(test).failed == 0
    for name, example in EXAMPLES.items():
        owner, _, method = name.partition(".")
        assert example.split("\n")[0] in (inspect.getdoc(getattr(getattr(palmette, owner), method)) or "")
