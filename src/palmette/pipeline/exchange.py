"""Components out of a pipeline into files of their own, and models of one's own into a pipeline."""

from __future__ import annotations

import os
from typing import Any

from palmette.data import model_file
from palmette.data.files import FilePath
from palmette.errors import UsageError
from palmette.estimators.parser import Parser
from palmette.estimators.tagger import Tagger
from palmette.pipeline.file import TASK
from palmette.pipeline.model import PipelineModel
from palmette.pipeline.options import COMPONENTS, components_from_text
from palmette.pipeline.tags import Tags
from palmette.pipeline.trees import Trees
from palmette.structures.chain.model import ChainModel
from palmette.structures.chain.serialise import chain_parts

TAGGER = "upos"
_READING = {"format": "conllu", "columns": ["form"], "label": TAGGER}  # what the tagger of a pipeline was trained on


def extract(model: PipelineModel, what: str, path: FilePath) -> str:
    """Write a parser (`parse`), a tagger (`upos`) or a pipeline of the named components to a file; returns what it
    is."""
    if what == "parse":
        model.component("parse").parser.save(path)
        return "a parser"
    if what == TAGGER:
        arrays, meta = chain_parts(_tagger(model))
        model_file.save(path, arrays, meta | {"reading": _READING})
        return "a tagger of UPOS"
    names = components_from_text(what)
    unknown = [name for name in names if name not in COMPONENTS]
    if unknown or not names:
        known = ", ".join((*COMPONENTS, TAGGER))
        raise UsageError(
            f"there is no {unknown[0]!r} to take out: choose from {known}" if unknown else "name something"
        )
    made = model.only(names)
    made.save(path)
    return f"a pipeline of {', '.join(made.names)}"


def _tagger(model: PipelineModel) -> ChainModel:
    found: ChainModel | None = model.component("tag").upos_
    if found is None:
        raise UsageError("the pipeline does not tag UPOS")
    return found


def replaced(model: PipelineModel, name: str, path: str) -> PipelineModel:
    """The pipeline with a component from a file: a parser as `parse`, a tagger as `upos`, or a component of another
    pipeline under its own name."""
    if name not in (*COMPONENTS, TAGGER):
        raise UsageError(f"there is no component {name!r}: choose from {', '.join((*COMPONENTS, TAGGER))}")
    component = _with_tagger(model, path) if name == TAGGER else _from_file(name, path)
    return model.with_component("tag" if name == TAGGER else name, component, os.path.basename(path))


def _from_file(name: str, path: str) -> Any:
    if name == "parse" and model_file.peek_task(path) != TASK:
        return Trees(Parser.load(path))
    return PipelineModel.load(path).component(name)


def _with_tagger(model: PipelineModel, path: str) -> Tags:
    """The tags of a pipeline with another model for UPOS, which reads the words alone."""
    tagger = Tagger.load(path)
    encoder = tagger.model_.encoder
    if encoder is None or encoder.n_columns > 1:
        raise UsageError(f"{path} reads more than the words; a pipeline's tagger is trained on forms alone")
    made = Tags()
    made.upos_ = tagger.model_
    made.morphology_ = model.component("tag").morphology_ if "tag" in model.names else None
    return made
