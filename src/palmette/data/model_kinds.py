"""The kinds of models by the task in their files: what they are called, and what makes and uses them. For messages."""

from __future__ import annotations

from typing import NamedTuple

from palmette.errors import either


class Kind(NamedTuple):
    """A kind of model."""

    name: str  # with its article
    trainer: str  # the command that makes one
    user: str  # the command that uses one
    loader: str  # the call that loads one
    more: str = ""  # what else is possible


KINDS = {
    "chain": Kind("a tagger", "palmette train", "palmette tag", "Tagger.load"),
    "parse": Kind("a parser", "palmette parser train", "palmette parser parse", "Parser.load"),
    "classify": Kind("a classifier", "palmette classifier train", "palmette classifier classify", "Classifier.load"),
    "lm": Kind("a language model", "palmette lm train", "palmette lm score", "LanguageModel.load"),
    "pipeline": Kind(
        "a pipeline", "palmette pipeline train", "palmette pipeline run", "Pipeline.load",
        "; `palmette pipeline extract` takes its parser or a tagger out",
    ),
}  # fmt: skip
_OTHERS = "; models of CRFsuite and Wapiti, and text models of CRF++, are read too"


def how_to_make(task: str) -> str:
    """What somebody does who has a file that is not a model of a task."""
    hint = f"make one with {either('fit and save', f'`{KINDS[task].trainer}`')}"
    return hint + _OTHERS if task == "chain" else hint


def how_to_use(found: str, wanted: str) -> str:
    """What somebody does who has a model of one task where one of another is wanted."""
    kind = KINDS[found]
    hint = f"{either(f'load it with {kind.loader}', f'use it with `{kind.user}`')}{kind.more}"
    part = {"chain": "upos", "parse": "parse"}.get(found)
    if wanted == "pipeline" and part is not None:
        hint += f"; `palmette pipeline replace PIPELINE {part}=MODEL` puts it into a pipeline"
    return hint
