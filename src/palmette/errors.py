"""The errors a user can meet, and how messages count. Each error says where, what was found, and what to do.

The command line turns them into one message on stderr and the exit code of the class; nothing here
imports anything of palmette, so that every other module may raise them.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from contextlib import contextmanager

_command_line = False  # who reads the messages: somebody who typed a command, or a Python program


@contextmanager
def for_command_line() -> Iterator[None]:
    """Messages name flags and commands meanwhile, not parameters and methods. One for all threads: those that a command
    starts speak as it does."""
    global _command_line
    before, _command_line = _command_line, True
    try:
        yield
    finally:
        _command_line = before


def on_command_line() -> bool:
    """Whether messages name flags and commands; options/spelling.py spells options."""
    return _command_line


def either(python: str, command_line: str) -> str:
    """The one of two wordings that the reader can use."""
    return command_line if _command_line else python


class PalmetteError(Exception):
    """Base of all errors that are the input's fault and not ours."""

    exit_code = 1


class UsageError(PalmetteError, ValueError):
    """A wrong option or argument on the command line, or a wrong parameter in Python."""

    exit_code = 2


class DataError(PalmetteError, ValueError):
    """A file or a value that cannot be read as what it should be.

    `file` and `line` (counted from 1) tell where; `hint` tells what to do about it.
    """

    def __init__(
        self, message: str, *, file: str | None = None, line: int | None = None, hint: str | None = None
    ) -> None:
        where = file or ""
        if line is not None:
            where = f"{where}:{line}" if where else f"line {line}"
        text = f"{where}: {message}" if where else message
        super().__init__(f"{text}\n  {hint}" if hint else text)
        self.file = file
        self.line = line
        self.hint = hint


class TemplateError(DataError):
    """A template or pattern file that cannot be understood."""


class ModelError(DataError):
    """A model file that is damaged, hostile, too new, or not a model."""


_CONTROLS = re.compile("\r(?!\n|$)|[\0-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f]")


def visible(text: str) -> str:
    """A text without control characters, which a terminal would obey: each is written as `\\u001b`, as in JSON."""
    if text.isprintable():
        return text
    return _CONTROLS.sub(lambda found: f"\\u{ord(found[0]):04x}", text)


def counted(n: int, noun: str, plural: str = "") -> str:
    """A number with its noun, in messages: "1 label", "2,000 labels"; `plural` if it is not the noun and an s."""
    return f"{n:,} {noun if n == 1 else plural or noun + 's'}"


def not_fitted(estimator: str, otherwise: str = "") -> UsageError:
    """The error for using an estimator before it is trained: scikit-learn's NotFittedError too, if that is imported.
    `otherwise`: what to do if there is a model already."""
    message = f"this {estimator} is not trained yet: call fit, or {otherwise or f'{estimator}.load'}"
    exceptions = sys.modules.get("sklearn.exceptions")
    if exceptions is None:
        return UsageError(message)
    kind = type("NotFittedError", (UsageError, exceptions.NotFittedError), {})
    made: UsageError = kind(message)
    return made
