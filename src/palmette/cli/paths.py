"""The files of a command, by the declarations of its options: no output replaces an input, or a file of others."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from palmette.data.files import check_apart, is_standard, peek
from palmette.errors import DataError

if TYPE_CHECKING:
    from palmette.cli.command import Command

CRFSUITE, MARK = ".crfsuite", b"lCRF"


def check_paths(command: Command) -> bool:
    """Raise an error if an output is the same file as an input, or a model would replace a file that is not one.
    Returns whether the command writes files."""
    named = list(command.paths())
    outputs = [(option, file) for option, file in named if option.path in ("output", "model")]
    if all(is_standard(file) for _, file in outputs):
        return any(option.path == "folder" for option, _ in named)
    inputs = [file for option, file in named if option.path == "input" and option.name not in command.updates]
    check_apart([file for _, file in outputs], inputs)
    for option, file in outputs:
        if option.path == "model":
            check_replaced(command, file)
    return True


def check_replaced(command: Command, output: str) -> None:
    """Raise DataError if a model would replace a file that is not a model and not empty, unless --force is given."""
    if getattr(command, "force", False) or not os.path.isfile(output) or _of_another_tool(command, output):
        return
    from palmette.data.model_file import peek_task

    if os.path.getsize(output) and peek_task(output) is None:
        hint = "choose another name, or replace it with --force"
        raise DataError("exists and is not a Palmette model", file=output, hint=hint)


def _of_another_tool(command: Command, output: str) -> bool:
    """Whether the format of another tool is written over a model of that format."""
    if not output.lower().endswith(CRFSUITE):
        return command.writes_over(output)
    return peek(output, lambda data: len(data) >= len(MARK)).startswith(MARK)
