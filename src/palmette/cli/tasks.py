"""Which structure a command is about: `--task` says it for training, a model file for what is done with a model.

A verb has one file a task, since their options have little in common; a row of FUNCTIONS sends a command there.
"""

from __future__ import annotations

import os
from collections.abc import Sequence

from palmette.errors import UsageError

TASKS = {
    "tag": "a label for each token",
    "parse": "a dependency tree for each sentence",
    "classify": "a class for each sentence",
}
# (verb, task) -> function; what is not here is the verb's own file
FUNCTIONS: dict[tuple[str, str], str] = {
    ("train", "parse"): "palmette.cli.parser.train:train_parse",
    ("tag", "parse"): "palmette.cli.parser.parse:tag_parse",
    ("eval", "parse"): "palmette.cli.parser.eval:evaluate_parse",
    ("inspect", "parse"): "palmette.cli.parser.inspect:inspect_parse",
    ("compare", "parse"): "palmette.cli.parser.compare:compare_parse",
    ("features", "parse"): "palmette.cli.parser.features:features_parse",
    ("train", "classify"): "palmette.cli.classifier.train:train_classify",
    ("tag", "classify"): "palmette.cli.classifier.classify:tag_classify",
    ("eval", "classify"): "palmette.cli.classifier.eval:eval_classify",
    ("inspect", "classify"): "palmette.cli.classifier.inspect:inspect_classify",
}


def function_of(verb: str, task: str) -> str:
    """Where the function of a verb is, for a task."""
    own = f"palmette.cli.{verb}:{'evaluate' if verb == 'eval' else verb}"
    return FUNCTIONS.get((verb, task), own)


def other_tasks(verb: str, task: str) -> str:
    """Where to find the options that a verb has for other tasks."""
    others = [name for own, name in FUNCTIONS if own == verb and name != task]
    if not others:
        return ""
    commands = " and ".join(f"`palmette {verb} --task {name} --help`" for name in others)
    return f" Other options for other tasks: {commands}."


def routed(given: Sequence[str]) -> tuple[str, list[str]]:
    """The task of a command line, and the command line without `--task`."""
    rest, task = list(given), None
    for k, word in enumerate(rest):
        if word == "--task" or word.startswith("--task="):
            taken = 1 if "=" in word else 2
            named = word.partition("=")[2] if "=" in word else "".join(rest[k + 1 : k + 2])
            if named not in TASKS:
                raise UsageError(f"--task {named}: choose one of {', '.join(TASKS)}")
            task = named
            del rest[k : k + taken]
            break
    return task or _task_of_files(rest), rest


def _task_of_files(given: Sequence[str]) -> str:
    """The task of the first model file among the words that is no tagger, which its head tells: taggers may stand
    before it (`--tagger pos.palm parser.palm`)."""
    if any(verb == given[0] for verb, _ in FUNCTIONS if verb != "train"):
        for word in given[1:]:
            if not word.startswith("-") and os.path.isfile(word):
                from palmette.data.model_file import peek_task  # brings NumPy, which `--help` does not wait for

                task = peek_task(word)
                if task in TASKS and task != "tag":
                    return str(task)
    return "tag"
