"""The examples of JSON in the documentation of the server are what it reads and writes."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import msgspec
import pytest

from palmette.serve import types
from palmette.serve.types import CorrectionsRequest, Overview, PickRequest, Request, RetrainState, TaggerAnswer

TEXT = (Path(__file__).parents[1] / "docs" / "serve.md").read_text(encoding="utf-8")
STRUCTS = [one for one in vars(types).values() if isinstance(one, type) and issubclass(one, msgspec.Struct)]


def examples() -> list[Any]:
    """The JSON objects in blocks of the page, one after the other."""
    found, decoder = [], json.JSONDecoder()
    for block in re.findall(r"^```(?:json|text)\n(.*?)^```", TEXT, re.M | re.S):
        at = 0
        while (begin := re.compile(r"\{(?=\s*\")").search(block, at)) is not None:
            value, at = decoder.raw_decode(block, begin.start())
            found.append(value)
    return found


def is_within(value: Any, whole: Any) -> bool:
    """Whether all that a value says is also in `whole`; what is null or empty may be left out there."""
    if isinstance(value, dict):
        return isinstance(whole, dict) and all(
            (key in whole and is_within(one, whole[key])) or (key not in whole and not one)
            for key, one in value.items()
        )
    if isinstance(value, list):
        return isinstance(whole, list) and all(map(is_within, value, whole)) and len(value) == len(whole)
    return value == whole or value is None


def kinds(value: Any) -> set[type]:
    """The types that hold all of a value."""
    found = set()
    for kind in STRUCTS:
        try:
            made = json.loads(msgspec.json.encode(msgspec.convert(value, kind)))
        except msgspec.ValidationError:
            continue
        if is_within(value, made):
            found.add(kind)
    return found


@pytest.mark.parametrize("value", examples(), ids=lambda value: ",".join(value))
def test_every_example_has_a_type(value: Any) -> None:
    assert kinds(value)


def test_the_examples_are_of_these_types() -> None:
    found = set().union(*map(kinds, examples()))
    assert found >= {Request, TaggerAnswer, Overview, PickRequest, CorrectionsRequest, RetrainState}


def test_a_field_that_is_wrong_is_found() -> None:
    good = next(value for value in examples() if "models" in value)
    assert kinds(good) == {Overview}
    assert not kinds(good | {"models": [good["models"][0] | {"columns": ["word"]}]})
    assert not kinds(good | {"colour": "blue"})
