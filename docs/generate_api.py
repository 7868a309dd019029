"""The page of the Python interface, from docstrings and signatures; `generate_reference.py` writes it."""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterator
from typing import Any

import palmette
from palmette.estimators.base import Estimator
from palmette.options.declare import Options, own_text

ABOUT = """# Python interface

What `from palmette import ...` offers, and below it the public names of other modules, such as
`from palmette.data import read_treebank`. Constructor parameters are in [options of the estimators](estimators.md) and
[learners, searches and states](learners.md); [Python data](../python_data.md) shows what sentences and labels may be.
Programs for python-crfsuite and sklearn-crfsuite have [modules of their own](../crfsuite.md).
"""
SCORES = "Scores: palmette.metrics"


def api_page() -> str:
    """The page, in Markdown."""
    parts = [ABOUT]
    for group, names in palmette._groups().items():
        if names == ["metrics"]:
            entries = [_entry(one, getattr(palmette.metrics, one)) for one in palmette.metrics.__all__]
            parts.append(f"## {SCORES}\n\n" + "\n".join(entries))
        else:
            parts.append(f"## {group}\n\n" + "\n".join(_entry(name, getattr(palmette, name)) for name in names))
    for room, names in palmette._ROOMS.items():
        module = getattr(palmette, room)
        entries = [_entry(name, getattr(module, name)) for name in names]
        parts.append(f"## palmette.{room}\n\n" + "\n".join(entries))
    return "\n".join(parts)


def _entry(name: str, made: Any) -> str:
    if not inspect.isclass(made):
        return f"### {name}\n\n`{name}{_signature(made)}`\n\n{_text(made)}\n"
    if issubclass(made, Options) and not issubclass(made, Estimator):
        return f"### {name}\n\n{_text(made)}\n"
    rows = [f"| `{member}{_signature(function)}` | {_cell(_text(function))} |" for member, function in _methods(made)]
    table = "\n| | |\n|---|---|\n" + "\n".join(rows) + "\n" if rows else ""
    return f"### {name}\n\n{_text(made)}\n{table}"


def _methods(made: type) -> Iterator[tuple[str, Any]]:
    """Public methods, classmethods and properties with a docstring, in the order of the alphabet."""
    for name, member in inspect.getmembers_static(made):
        if name.startswith("_") or isinstance(member, type):
            continue
        if isinstance(member, property):
            if member.fget is not None and inspect.getdoc(member):
                yield name, member
        elif isinstance(member, classmethod | staticmethod) or inspect.isfunction(member):
            function = getattr(made, name)
            if inspect.getdoc(function) and not function.__module__.startswith("palmette.options"):
                yield name, function


def _signature(function: Any) -> str:
    """Names of parameters and their defaults; types are in the editor."""
    if isinstance(function, property):
        return ""
    parameters = [
        parameter.replace(annotation=inspect.Parameter.empty)
        for parameter in inspect.signature(function).parameters.values()
        if parameter.name != "self"
    ]
    return _cell(str(inspect.Signature(parameters)))


def _text(made: Any) -> str:
    """The docstring on one line, without its examples, which are indented."""
    text = inspect.cleandoc(own_text(made)) if inspect.isclass(made) else inspect.getdoc(made) or ""
    lines = re.split(r"\n\n(?:Parameters|Returns)\n-", text)[0].split("\n")
    return " ".join(line.strip() for line in lines if line.strip() and not line.startswith("    "))


def _cell(text: str) -> str:
    return text.replace("|", "\\|")
